"""Questions about two directions: reversal within lengths, walks from both ends, merging, the summary of a sequence."""

from typing import Any

import numpy as np

from refcells.autotest.array_probes import on_tensors
from refcells.autotest.arrays import Array, B, D, H, T, away_from_zero, weights
from refcells.autotest.compare import Output
from refcells.autotest.mistakes import mistake, within
from refcells.autotest.vector_rnn import STEP_MISTAKES, rnn_step
from refcells.autotest.verdict import Case, Question

LAYERS = 3


def reverse(x: Array, lengths: Array) -> Array:
    """Each sequence (batch, time, input) backwards within its own length; the padding stays where it is."""
    reversed_x = x.copy()
    for row, length in enumerate(lengths):
        reversed_x[row, :length] = x[row, :length][::-1]
    return reversed_x


def rnn_walk(x: Array, lengths: Array, W_x: Array, W_h: Array, b: Array) -> tuple[Array, Array]:
    """A plain RNN over padded sequences, from a state of zero: a padded step holds the state, and its output is 0.

    Returns outputs (batch, time, hidden) and last hidden states (batch, hidden).
    """
    h = np.zeros((x.shape[0], W_h.shape[1]))
    outputs = []
    for t in range(x.shape[1]):
        alive = (t < np.asarray(lengths))[:, None]
        new = rnn_step(x[:, t], h, W_x, W_h, b)
        h = np.where(alive, new, h)
        outputs.append(np.where(alive, h, 0.0))
    return np.stack(outputs, axis=1), h


def bidirectional_forward(
    x: Array, lengths: Array, forward: tuple[Array, ...], backward: tuple[Array, ...]
) -> tuple[Array, Array]:
    """Two RNNs, one from each end: outputs (batch, time, 2 hidden), 0 at padded steps, and summary (batch, 2 hidden)."""
    hidden = forward[1].shape[1]
    output = np.zeros((x.shape[0], x.shape[1], 2 * hidden))
    summary = np.zeros((x.shape[0], 2 * hidden))
    for row, length in enumerate(lengths):
        h = np.zeros((1, hidden))
        for t in range(length):
            h = rnn_step(x[row : row + 1, t], h, *forward)
            output[row, t, :hidden] = h
        summary[row, :hidden] = h
        h = np.zeros((1, hidden))
        for t in reversed(range(length)):
            h = rnn_step(x[row : row + 1, t], h, *backward)
            output[row, t, hidden:] = h
        summary[row, hidden:] = h
    return output, summary


def merge(forward: Array, backward: Array, mode: str) -> Array:
    """Two directions' values (..., hidden) as one array: 'concat' keeps both, 'sum', 'mean' and 'product' mix them."""
    if mode == "concat":
        return np.concatenate([forward, backward], axis=-1)
    if mode == "sum":
        return forward + backward
    if mode == "mean":
        return (forward + backward) / 2
    return forward * backward


def last_state(output: Array, lengths: Array) -> Array:
    """The summary of each sequence, read off concatenated outputs (batch, time, 2 hidden): (batch, 2 hidden)."""
    hidden = output.shape[2] // 2
    rows, last = np.arange(len(output)), np.asarray(lengths) - 1
    forward, backward = output[rows, last, :hidden], output[:, 0, hidden:]
    return np.concatenate([forward, backward], axis=1)


def summary(output: Any, h_n: Any) -> Any:
    """What a bidirectional torch layer says of each sequence: both directions' last states of the last layer."""
    import torch

    return torch.cat([h_n[-2], h_n[-1]], dim=-1)


# --- cases ----------------------------------------------------------------------------------------------------------


def _reverse_cases(seed: int) -> list[Case]:
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(3, T, D))
    return [
        Case("full sequences", (x, np.array([T, T, T]))),
        Case("different lengths", (x, np.array([2, T, 3]))),
        Case("a sequence of one step", (x, np.array([T, 1, 4]))),
    ]


def _walk_cases(seed: int) -> list[Case]:
    rng = np.random.default_rng(seed)
    W_x, W_h, b = weights(rng, 1, high=0.6)
    # The padding holds numbers, so that whatever reads it shows.
    x = rng.normal(size=(3, T, D))
    lengths = np.array([2, T, 3])
    silent = np.where(np.arange(T)[None, :, None] < lengths[:, None, None], x, 0.0)
    return [
        Case("a single step", (x[:, :1], np.array([1, 1, 1]), W_x, W_h, b)),
        Case("full sequences", (x, np.array([T, T, T]), W_x, W_h, b)),
        Case("different lengths, zeros in the padding", (silent, lengths, W_x, W_h, b)),
        Case("different lengths, other numbers in the padding", (x, lengths, W_x, W_h, b)),
    ]


def _merge_cases(seed: int) -> list[Case]:
    rng = np.random.default_rng(seed)
    sequences = away_from_zero(rng, B, T, H), away_from_zero(rng, B, T, H)
    states = away_from_zero(rng, B, H), away_from_zero(rng, B, H)
    return [
        *(Case(f"mode {mode!r}", (*sequences, mode)) for mode in ("concat", "sum", "mean", "product")),
        Case("mode 'concat' for last states", (*states, "concat")),
    ]


def _last_state_cases(seed: int) -> list[Case]:
    rng = np.random.default_rng(seed)
    output = away_from_zero(rng, 3, T, 2 * H)
    lengths = np.array([2, T, 3])
    padded = np.where(np.arange(T)[None, :, None] < lengths[:, None, None], output, 0.0)
    return [
        Case("a single step", (output[:, :1], np.array([1, 1, 1]))),
        Case("full sequences", (output, np.array([T, T, T]))),
        Case("different lengths", (padded, lengths)),
    ]


def _forward_cases(seed: int) -> list[Case]:
    rng = np.random.default_rng(seed)
    forward, backward = weights(rng, 1, high=0.6), weights(rng, 1, high=0.6)
    x = rng.normal(size=(3, T, D))
    return [
        Case("a single step", (x[:, :1], np.array([1, 1, 1]), forward, backward)),
        Case("full sequences", (x, np.array([T, T, T]), forward, backward)),
        # Not in order of length, so that a batch that was sorted and not put back shows.
        Case("different lengths", (x, np.array([2, T, 3]), forward, backward)),
    ]


def _summary_cases(seed: int) -> list[Case]:
    rng = np.random.default_rng(seed)
    return [
        Case(f"{layers} layers", (away_from_zero(rng, B, T, 2 * H), away_from_zero(rng, 2 * layers, B, H)))
        for layers in (1, LAYERS)
    ]


# --- mistakes -------------------------------------------------------------------------------------------------------

_TURN = "reversed_x[row, :length] = x[row, :length][::-1]"

REVERSE_MISTAKES = (
    mistake(
        "reversed with the padding",
        "the whole padded array is reversed: the backward direction would start in the padding.",
        "pytorch#1811, haste#12",
        reverse,
        (_TURN, "reversed_x[row] = x[row][::-1]"),
    ),
    mistake("nothing reversed", "nothing is reversed.", "stanfordmlgroup/nlc#8", reverse, (_TURN, "pass")),
    mistake(
        "batch reversed",
        "the order of the sequences in the batch is reversed; asked is the order of the time steps.",
        "the exercise",
        reverse,
        (_TURN, "reversed_x[row] = x[len(x) - 1 - row]"),
    ),
    mistake(
        "features reversed",
        "the last axis is reversed, which holds the features; time is the axis in the middle.",
        "the exercise",
        reverse,
        (_TURN, "reversed_x[row, :length] = x[row, :length, ::-1]"),
    ),
    mistake(
        "padding moved to the front",
        "the padding is moved to the front; it stays where it is, behind the sequence.",
        "pytorch#1811, haste#12",
        reverse,
        (_TURN, "reversed_x[row] = np.concatenate([x[row, length:], x[row, :length][::-1]])"),
    ),
    mistake(
        "one length for all",
        "the first sequence's length is used for all of them.",
        "the exercise",
        reverse,
        (_TURN, "length = lengths[0]; reversed_x[row, :length] = x[row, :length][::-1]"),
    ),
)

_ALIVE = "alive = (t < np.asarray(lengths))[:, None]"
_HOLD = "h = np.where(alive, new, h)"
_SHOW = "outputs.append(np.where(alive, h, 0.0))"
_STACK = "np.stack(outputs, axis=1)"

WALK_MISTAKES = (
    *within(rnn_walk, "rnn_step", STEP_MISTAKES, skip=("no recurrence",)),
    mistake(
        "no state carried",
        "no state is carried: every step starts from zero again, or the recurrent term is left out.",
        "makemore PR#3",
        rnn_walk,
        ("new = rnn_step(x[:, t], h,", "new = rnn_step(x[:, t], 0 * h,"),
    ),
    mistake(
        "lengths ignored",
        "the lengths are ignored: the padding is read like any other step.",
        "pytorch#1811, haste#12",
        rnn_walk,
        (_ALIVE, "alive = True"),
    ),
    mistake(
        "padding set to zero",
        "the padding is set to 0 and then read: a step with input 0 still moves the state, by the bias and the old "
        "state.",
        "haste#12",
        rnn_walk,
        (_ALIVE, "alive = True"),
        ("x[:, t], h", "x[:, t] * (t < np.asarray(lengths))[:, None], h"),
    ),
    mistake(
        "state not held",
        "the outputs of padded steps are 0, but the state moves on underneath: h_n is not the state at the end of "
        "each sequence.",
        "haste#12",
        rnn_walk,
        (_HOLD, "h = new"),
    ),
    mistake(
        "state set to zero",
        "a padded step sets the state to 0; it has to hold it, so that h_n is the state at the end of each sequence.",
        "the exercise",
        rnn_walk,
        (_HOLD, "h = new * alive"),
    ),
    mistake(
        "held state as output",
        "the output of a padded step is the state that is held; it has to be 0, as PyTorch's packed sequences give it.",
        "the exercise",
        rnn_walk,
        (_SHOW, "outputs.append(h)"),
    ),
    mistake(
        "one step too many",
        "each sequence is read one step too far: the first padded step counts as a step.",
        "the exercise",
        rnn_walk,
        ("t < np", "t <= np"),
    ),
    mistake(
        "one length for all",
        "the first sequence's length is used for all of them.",
        "the exercise",
        rnn_walk,
        ("np.asarray(lengths))[:, None]", "np.full(len(x), lengths[0]))[:, None]"),
    ),
    mistake(
        "time first",
        "the outputs come as (time, batch, hidden); asked is (batch, time, hidden).",
        "pytorch#4145",
        rnn_walk,
        (_STACK, "np.stack(outputs)"),
    ),
    mistake(
        "reshape for a transpose",
        "the collected outputs are brought to (batch, time, hidden) by reshape; that mixes sequences, transpose them.",
        "sherjilozair/ctc#1, neon#311",
        rnn_walk,
        (_STACK, "np.stack(outputs).reshape(len(x), -1, h.shape[1])"),
    ),
)

_BACK = "for t in reversed(range(length)):"
_BACK_OUT = "output[row, t, hidden:] = h"
_RETURN = "return output, summary"

FORWARD_MISTAKES = (
    mistake(
        "backward direction reads forwards",
        "the backward direction reads the inputs in forward order.",
        "stanfordmlgroup/nlc#8",
        bidirectional_forward,
        (_BACK, "for t in list(range(length)):"),
    ),
    mistake(
        "backward outputs not put back",
        "the backward direction's outputs are not put back in the order of time.",
        "d2l-en#2306",
        bidirectional_forward,
        (_BACK_OUT, "output[row, length - 1 - t, hidden:] = h"),
    ),
    mistake(
        "last output as summary",
        "the last time step's output is the summary: there the backward direction has read a single step. Its last "
        "state belongs to the first time step.",
        "pytorch-tutorial#149, TensorFlow-Examples#201",
        bidirectional_forward,
        (_RETURN, "return output, output[np.arange(len(x)), np.array(lengths) - 1]"),
    ),
    mistake(
        "padding read",
        "the backward direction starts in the padding: each sequence ends at its own length.",
        "pytorch#1811, haste#12",
        bidirectional_forward,
        (_BACK, "for t in reversed(range(x.shape[1])):"),
        (_BACK_OUT, "output[row, t, hidden:] = h if t < length else 0"),
    ),
    mistake(
        "whole array reversed",
        "the whole padded array is reversed for the backward direction, which then takes the padding for the end of "
        "each sequence; reverse within the lengths.",
        "pytorch#1811, haste#12",
        bidirectional_forward,
        (_BACK, "for t in range(x.shape[1] - 1, x.shape[1] - 1 - length, -1):"),
    ),
    mistake(
        "sorted and not put back",
        "the sequences come back in the order of their lengths, not in the order in which they were given.",
        "vsepp PR#36",
        bidirectional_forward,
        (
            _RETURN,
            "order = np.argsort(-np.array(lengths), kind='stable'); return output[order], summary[order]",
        ),
    ),
    mistake(
        "one cell for both",
        "both directions use the forward direction's weights; each has its own.",
        "the exercise",
        bidirectional_forward,
        ("*backward)", "*forward)"),
    ),
    mistake(
        "directions exchanged",
        "the backward direction comes first in the concatenation; asked is forward, then backward.",
        "ml-toolkit#1",
        bidirectional_forward,
        (
            _RETURN,
            "turn = lambda a: np.concatenate([a[..., hidden:], a[..., :hidden]], axis=-1); "
            "return turn(output), turn(summary)",
        ),
    ),
)

_CONCAT = "return np.concatenate([forward, backward], axis=-1)"

MERGE_MISTAKES = (
    mistake(
        "directions exchanged",
        "the backward direction comes first in the concatenation; asked is forward, then backward.",
        "ml-toolkit#1",
        merge,
        (_CONCAT, _CONCAT.replace("forward, backward", "backward, forward")),
    ),
    mistake(
        "concatenated along time",
        "the directions are put one after the other along axis 1, which is time in a sequence; features are the last "
        "axis.",
        "the exercise",
        merge,
        ("axis=-1", "axis=1"),
    ),
    mistake(
        "concatenated along the batch",
        "the directions are put one after the other along the batch; features are the last axis.",
        "the exercise",
        merge,
        ("axis=-1", "axis=0"),
    ),
    mistake(
        "interleaved",
        "the two directions' units alternate; all of the forward direction's come first. A stack and a reshape gives "
        "this.",
        "neon#311",
        merge,
        (_CONCAT, "return np.stack([forward, backward], axis=-1).reshape(*forward.shape[:-1], -1)"),
    ),
    mistake(
        "mean without the half",
        "'mean' gives the sum; the mean of two is half of it.",
        "the exercise",
        merge,
        (" / 2", ""),
    ),
    mistake(
        "always concatenated",
        "the mode is ignored: every mode concatenates.",
        "the exercise",
        merge,
        ('mode == "concat"', "mode"),
    ),
)

_FORWARD_LAST, _BACKWARD_FIRST = "output[rows, last, :hidden]", "output[:, 0, hidden:]"

LAST_STATE_MISTAKES = (
    mistake(
        "last time step",
        "output[:, -1] is taken: in a padded batch that is 0, and even in a full one the backward direction has read "
        "a single step there.",
        "pytorch-tutorial#149, TensorFlow-Examples#201",
        last_state,
        (_FORWARD_LAST, "output[:, -1, :hidden]"),
        (_BACKWARD_FIRST, "output[:, -1, hidden:]"),
    ),
    mistake(
        "both at the last step",
        "both halves are taken at each sequence's last step; there the backward direction has read a single step. Its "
        "last state stands at the first step.",
        "pytorch-tutorial#149, TensorFlow-Examples#201",
        last_state,
        (_BACKWARD_FIRST, "output[rows, last, hidden:]"),
    ),
    mistake(
        "both at the first step",
        "both halves are taken at the first step; there the forward direction has read a single step.",
        "the exercise",
        last_state,
        (_FORWARD_LAST, "output[:, 0, :hidden]"),
    ),
    mistake(
        "ends exchanged",
        "the forward half is taken at the first step and the backward half at the last: each direction's state after "
        "a single step. It is the other way round.",
        "ml-toolkit#1",
        last_state,
        (_FORWARD_LAST, "output[:, 0, :hidden]"),
        (_BACKWARD_FIRST, "output[rows, last, hidden:]"),
    ),
    mistake(
        "lengths ignored",
        "the forward half is taken at the last step of the array, which is padding for a shorter sequence.",
        "pytorch#1811",
        last_state,
        (_FORWARD_LAST, "output[:, -1, :hidden]"),
    ),
    mistake(
        "one step too far",
        "the length is used as an index: indices count from 0, so the last step of L is at L - 1.",
        "the exercise",
        last_state,
        (" - 1", ""),
    ),
    mistake(
        "directions exchanged",
        "the backward direction comes first in the result; asked is forward, then backward.",
        "ml-toolkit#1",
        last_state,
        ("[forward, backward]", "[backward, forward]"),
    ),
    mistake(
        "forward half alone",
        "the forward direction's half alone is returned; the summary has both.",
        "the exercise",
        last_state,
        ("return np.concatenate([forward, backward], axis=1)", "return forward"),
    ),
)

_CAT = "return torch.cat([h_n[-2], h_n[-1]], dim=-1)"

SUMMARY_MISTAKES = (
    mistake(
        "last output",
        "output[:, -1] is taken: there the backward direction has read a single time step.",
        "pytorch-tutorial#149, TensorFlow-Examples#201",
        summary,
        (_CAT, "return output[:, -1]"),
    ),
    mistake(
        "viewed without a transpose",
        "h_n is brought to (batch, ...) by view or reshape, which mixes the sequences: its first axis is layers and "
        "directions, its second the batch.",
        "Sentence-VAE#15",
        summary,
        (_CAT, "return h_n[-2:].reshape(h_n.shape[1], -1)"),
    ),
    mistake(
        "first layer",
        "the first layer's states are taken; h_n lists layer by layer, so the last layer's are h_n[-2] and h_n[-1].",
        "ml-toolkit#1, yzhangcs/parser#48",
        summary,
        (_CAT, "return torch.cat([h_n[0], h_n[1]], dim=-1)"),
    ),
    mistake(
        "one direction over two layers",
        "h_n is taken for direction-major, and one direction's states come from two layers; it lists layer by layer.",
        "yzhangcs/parser#48",
        summary,
        (_CAT, "return torch.cat([h_n[h_n.shape[0] // 2 - 1], h_n[-1]], dim=-1)"),
    ),
    mistake(
        "directions exchanged",
        "the backward direction comes first; h_n[-2] is the forward one.",
        "ml-toolkit#1",
        summary,
        (_CAT, _CAT.replace("h_n[-2], h_n[-1]", "h_n[-1], h_n[-2]")),
    ),
    mistake(
        "backward direction alone",
        "h_n[-1] is the backward direction alone.",
        "ml-toolkit#1",
        summary,
        (_CAT, "return h_n[-1]"),
    ),
    mistake(
        "batch first assumed",
        "h_n is read as (batch, ...): batch_first concerns the inputs and outputs, never the states.",
        "pytorch#4145, #19675, #3851",
        summary,
        (_CAT, "return torch.cat([h_n[:, -2], h_n[:, -1]], dim=-1)"),
    ),
)

# --- questions ------------------------------------------------------------------------------------------------------

QUESTIONS = {
    question.name: question
    for question in (
        Question(
            "bidirectional.reverse",
            reverse,
            (Output("reversed sequences", ("batch", "time", "input")),),
            _reverse_cases,
            REVERSE_MISTAKES,
        ),
        Question(
            "bidirectional.rnn_walk",
            rnn_walk,
            (
                Output("output", ("batch", "time", "hidden")),
                Output("last hidden state h_n", ("batch", "hidden")),
            ),
            _walk_cases,
            WALK_MISTAKES,
        ),
        Question(
            "bidirectional.merge",
            merge,
            (Output("merged values"),),
            _merge_cases,
            MERGE_MISTAKES,
        ),
        Question(
            "bidirectional.last_state",
            last_state,
            (Output("summary", ("batch", "2 hidden")),),
            _last_state_cases,
            LAST_STATE_MISTAKES,
        ),
        Question(
            "bidirectional.bidirectional_forward",
            bidirectional_forward,
            (
                Output("output", ("batch", "time", "2 hidden")),
                Output("summary", ("batch", "2 hidden")),
            ),
            _forward_cases,
            FORWARD_MISTAKES,
        ),
        Question(
            "bidirectional.summary",
            summary,
            (Output("summary", ("batch", "2 hidden")),),
            _summary_cases,
            SUMMARY_MISTAKES,
            probe=on_tensors,
        ),
    )
}

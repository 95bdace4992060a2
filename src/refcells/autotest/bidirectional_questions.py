"""Questions about two directions: reversal within lengths, walks from both ends, and the summary of a sequence."""

from typing import Any

import numpy as np

from refcells.autotest.arrays import Array, B, D, H, T, away_from_zero, weights
from refcells.autotest.compare import Output
from refcells.autotest.mistakes import mistake
from refcells.autotest.vector_rnn import rnn_step
from refcells.autotest.verdict import Case, Question

LAYERS = 3


def reverse(x: Array, lengths: Array) -> Array:
    """Each sequence (batch, time, input) backwards within its own length; the padding stays where it is."""
    reversed_x = x.copy()
    for row, length in enumerate(lengths):
        reversed_x[row, :length] = x[row, :length][::-1]
    return reversed_x


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


def _on_tensors(work: Any, output: Array, h_n: Array) -> Array:
    """Call a function with tensors, and give an array back."""
    import torch

    from refcells.autotest.verdict import Unfit

    result = work(torch.tensor(output), torch.tensor(h_n))
    if not isinstance(result, torch.Tensor):
        raise Unfit(f"a {type(result).__name__} came back; expected a tensor")
    return result.detach().numpy()


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
            probe=_on_tensors,
        ),
    )
}

"""Questions about a plain RNN in NumPy on sequences of different lengths, and about the layer that reads its states."""

import numpy as np

from refcells.autotest.arrays import Array, D, H, T, away_from_zero
from refcells.autotest.compare import Output
from refcells.autotest.mistakes import mistake, within
from refcells.autotest.vector_rnn import STEP_MISTAKES, _weights, rnn_step
from refcells.autotest.verdict import Case, Question

# Unlike every other size, so that no wrong axis goes unseen.
B, K = 3, 6


def rnn_forward_padded(
    x: Array, lengths: Array, W_x: Array, W_h: Array, b: Array, h0: Array
) -> tuple[Array, Array]:
    """`rnn_step` over padded sequences: a padded step holds the state, and its output is 0."""
    h = h0
    outputs = []
    for t in range(x.shape[1]):
        alive = (t < lengths)[:, None]
        new = rnn_step(x[:, t], h, W_x, W_h, b)
        h = np.where(alive, new, h)
        outputs.append(np.where(alive, new, 0.0))
    return np.stack(outputs, axis=1), h


def softmax(scores: Array) -> Array:
    """Probabilities along the last axis, without overflow."""
    e = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


def read_every_step(output: Array, W_y: Array, b_y: Array) -> Array:
    """Many to many: probabilities (batch, time, classes) from the outputs (batch, time, hidden)."""
    return softmax(output @ W_y.T + b_y)


def read_last_step(output: Array, lengths: Array, W_y: Array, b_y: Array) -> Array:
    """Many to one: probabilities (batch, classes) from the output of each sequence's own last step."""
    last = output[np.arange(len(output)), lengths - 1]
    return softmax(last @ W_y.T + b_y)


# --- cases ----------------------------------------------------------------------------------------------------------


def _padded_cases(seed: int) -> list[Case]:
    rng = np.random.default_rng(seed)
    W_x, W_h, b = _weights(rng)
    x, h0 = rng.normal(size=(B, T, D)), away_from_zero(rng, B, H, high=0.9)
    lengths = np.array([3, T, 1])
    silent = x.copy()
    for row, length in enumerate(lengths):
        silent[row, length:] = 0.0
    return [
        Case("full lengths", (x, np.full(B, T), W_x, W_h, b, h0)),
        Case("three lengths and a padding of zeros", (silent, lengths, W_x, W_h, b, h0)),
        Case("three lengths and an initial state of zero", (silent, lengths, W_x, W_h, b, 0 * h0)),
        Case("three lengths and a padding of other numbers", (x, lengths, W_x, W_h, b, h0)),
        Case("more padding than any sequence needs", (x, np.array([1, 2, T - 1]), W_x, W_h, b, h0)),
    ]


def _softmax_cases(seed: int) -> list[Case]:
    rng = np.random.default_rng(seed)
    return [
        Case("scores (batch, classes)", (rng.normal(size=(B, K)),)),
        Case("scores (batch, time, classes)", (rng.normal(size=(B, T, K)),)),
        Case("scores around +-1000", (1000.0 * away_from_zero(rng, B, T, K, low=0.8),)),
    ]


def _every_step_cases(seed: int) -> list[Case]:
    rng = np.random.default_rng(seed)
    output, W_y, b_y = rng.uniform(-1, 1, (B, T, H)), away_from_zero(rng, K, H), away_from_zero(rng, K)
    return [
        Case("a bias of zero", (output, W_y, np.zeros(K))),
        Case("outputs of zero", (0 * output, W_y, b_y)),
        Case("everything at once", (output, W_y, b_y)),
        Case("a batch of one", (output[:1], W_y, b_y)),
    ]


def _last_step_cases(seed: int) -> list[Case]:
    rng = np.random.default_rng(seed)
    output, W_y, b_y = rng.uniform(-1, 1, (B, T, H)), away_from_zero(rng, K, H), away_from_zero(rng, K)
    lengths = np.array([3, T, 1])
    padded = output.copy()
    for row, length in enumerate(lengths):
        padded[row, length:] = 0.0
    return [
        Case("full lengths", (output, np.full(B, T), W_y, b_y)),
        Case("three lengths", (padded, lengths, W_y, b_y)),
        Case("a batch of one", (padded[:1], lengths[:1], W_y, b_y)),
    ]


# --- mistakes -------------------------------------------------------------------------------------------------------

_STEP = "new = rnn_step(x[:, t], h, W_x, W_h, b)"
_HOLD = "h = np.where(alive, new, h)"
_SHOW = "outputs.append(np.where(alive, new, 0.0))"
_ALIVE = "alive = (t < lengths)[:, None]"
_STACK = "return np.stack(outputs, axis=1), h"

PADDED_MISTAKES = (
    mistake(
        "state moves in the padding",
        "the state goes on moving in the padding, where it is held. A padding of zeros is not neutral: the bias and the "
        "recurrent weights still act.",
        "pytorch#1811, haste#12",
        rnn_forward_padded,
        (_HOLD, "h = new"),
    ),
    mistake(
        "padded outputs are not 0",
        "a padded step's output is the held state; asked is 0.",
        "the exercise",
        rnn_forward_padded,
        (_SHOW, "outputs.append(h)"),
    ),
    mistake(
        "lengths ignored",
        "the lengths are ignored: every sequence is walked to the end of the padding.",
        "haste#12",
        rnn_forward_padded,
        (_ALIVE, "alive = (t < 0 * lengths + x.shape[1])[:, None]"),
    ),
    mistake(
        "one step too many",
        "one step too many is taken: a sequence of length n has the steps 0 to n - 1.",
        "the exercise",
        rnn_forward_padded,
        (_ALIVE, _ALIVE.replace("<", "<=")),
    ),
    mistake(
        "one step too few",
        "the last step of each sequence is left out: a sequence of length n has the steps 0 to n - 1.",
        "the exercise",
        rnn_forward_padded,
        (_ALIVE, _ALIVE.replace("lengths", "lengths - 1")),
    ),
    mistake(
        "last state is 0",
        "the last state of a shorter sequence is 0. It is the state after the sequence's own last step, and not the last "
        "column of the output; nor does the padding set the state to 0.",
        "Sentence-VAE#15",
        rnn_forward_padded,
        (_STACK, "return np.stack(outputs, axis=1), outputs[-1]"),
    ),
    mistake(
        "sorted, not put back",
        "the sequences are sorted by length and not put back: row k of the results belongs to row k of x.",
        "vsepp PR#36",
        rnn_forward_padded,
        (
            "h = h0",
            "order = np.argsort(-lengths, kind='stable'); x, lengths, h = x[order], lengths[order], h0[order]",
        ),
    ),
    mistake(
        "state never updated",
        "every step starts from the initial state again: the new h has to go into the next step.",
        "makemore PR#3",
        rnn_forward_padded,
        (_STEP, _STEP.replace("t], h,", "t], h0,")),
    ),
    mistake(
        "initial state ignored",
        "h0 is ignored: the walk starts from zeros.",
        "handson-mlp PR#4",
        rnn_forward_padded,
        ("h = h0", "h = 0 * h0"),
    ),
    mistake(
        "reshape for a transpose",
        "the collected outputs are brought to (batch, time, hidden) by reshape; that mixes sequences, transpose them.",
        "neon#311, sherjilozair/ctc#1",
        rnn_forward_padded,
        (_STACK, "return np.stack(outputs).reshape(len(x), -1, h.shape[1]), h"),
    ),
    mistake(
        "time first",
        "the outputs come as (time, batch, hidden); asked is (batch, time, hidden).",
        "pytorch#4145",
        rnn_forward_padded,
        (_STACK, "return np.stack(outputs), h"),
    ),
    *within(rnn_forward_padded, "rnn_step", STEP_MISTAKES),
)

_E = "e = np.exp(scores - scores.max(axis=-1, keepdims=True))"
_SHARE = "return e / e.sum(axis=-1, keepdims=True)"

SOFTMAX_MISTAKES = (
    mistake(
        "over all numbers",
        "the sum runs over all numbers of the array; the probabilities of each step add up to 1 by themselves.",
        "the exercise",
        softmax,
        (_SHARE, "return e / e.sum()"),
    ),
    mistake(
        "over another axis",
        "the sum runs along axis 1, which is time when there are three axes; the classes are the last axis.",
        "the exercise",
        softmax,
        (_E, "e = np.exp(scores - scores.max(axis=1, keepdims=True))"),
        (_SHARE, "return e / e.sum(axis=1, keepdims=True)"),
    ),
    mistake(
        "over the batch",
        "the sum runs along axis 0, the batch; the classes are the last axis.",
        "the exercise",
        softmax,
        (_E, "e = np.exp(scores - scores.max(axis=0, keepdims=True))"),
        (_SHARE, "return e / e.sum(axis=0, keepdims=True)"),
    ),
    mistake(
        "no maximum subtracted",
        "exp overflows: subtract each row's largest score first, which changes nothing else.",
        "karpathy/neuraltalk#2",
        softmax,
        (_E, "e = np.exp(scores)"),
    ),
    mistake(
        "not divided",
        "the exponentials are returned without being divided by their sum.",
        "the exercise",
        softmax,
        (_SHARE, "return e"),
    ),
    mistake(
        "logarithm",
        "the logarithms of the probabilities are returned.",
        "flashlight#139",
        softmax,
        (
            _SHARE,
            "return scores - scores.max(axis=-1, keepdims=True) - np.log(e.sum(axis=-1, keepdims=True))",
        ),
    ),
)

_READ = "return softmax(output @ W_y.T + b_y)"

EVERY_STEP_MISTAKES = (
    mistake(
        "scores without softmax",
        "the scores are returned; asked are probabilities.",
        "flashlight#139",
        read_every_step,
        (_READ, "return output @ W_y.T + b_y"),
    ),
    mistake(
        "no bias",
        "the bias is left out.",
        "variant of numpy-ml#42",
        read_every_step,
        (_READ, _READ.replace(" + b_y", "")),
    ),
    mistake(
        "last step alone",
        "the last step alone is read; asked are the probabilities at every step.",
        "the exercise",
        read_every_step,
        (_READ, "return softmax(output[:, -1] @ W_y.T + b_y)"),
    ),
    mistake(
        "reshape for a transpose",
        "the steps are taken apart time first and brought back by reshape: that mixes sequences, although the shape is "
        "right.",
        "sherjilozair/ctc#1, neon#311",
        read_every_step,
        (
            _READ,
            "return softmax(output.swapaxes(0, 1) @ W_y.T + b_y).reshape(*output.shape[:2], -1)",
        ),
    ),
    mistake(
        "steps and batch exchanged",
        "the result is (time, batch, classes); asked is (batch, time, classes).",
        "pytorch#4145",
        read_every_step,
        (_READ, "return softmax(output.swapaxes(0, 1) @ W_y.T + b_y)"),
    ),
    *within(read_every_step, "softmax", SOFTMAX_MISTAKES, skip=("no maximum subtracted", "not divided")),
)

_LAST = "last = output[np.arange(len(output)), lengths - 1]"

LAST_STEP_MISTAKES = (
    mistake(
        "last column",
        "the last column is read, which is padding where a sequence is shorter: read each sequence's own last step.",
        "pytorch-tutorial#149",
        read_last_step,
        (_LAST, "last = output[:, -1]"),
    ),
    mistake(
        "one step too early",
        "the step before each sequence's last is read: of length n the last step is n - 1.",
        "the exercise",
        read_last_step,
        (_LAST, _LAST.replace("lengths - 1", "lengths - 2")),
    ),
    mistake(
        "one step too late",
        "the step after each sequence's last is read: counted from 0, the last step of length n is n - 1.",
        "the exercise",
        read_last_step,
        (_LAST, "last = np.concatenate([output, 0 * output[:, :1]], 1)[np.arange(len(output)), lengths]"),
    ),
    mistake(
        "index past the end",
        "the index is past the end: counted from 0, the last step of length n is n - 1.",
        "the exercise",
        read_last_step,
        (_LAST, _LAST.replace("lengths - 1", "lengths")),
    ),
    mistake(
        "every length for every sequence",
        "output[:, lengths - 1] takes every length from every sequence; pair each row with its own length.",
        "the exercise",
        read_last_step,
        (_LAST, "last = output[:, lengths - 1]"),
    ),
    mistake(
        "mean over the steps",
        "the mean over the steps is read; asked is the last step.",
        "the exercise",
        read_last_step,
        (_LAST, "last = output.mean(axis=1)"),
    ),
    mistake(
        "no bias",
        "the bias is left out.",
        "variant of numpy-ml#42",
        read_last_step,
        ("W_y.T + b_y", "W_y.T"),
    ),
    mistake(
        "scores without softmax",
        "the scores are returned; asked are probabilities.",
        "flashlight#139",
        read_last_step,
        ("softmax(last @ W_y.T + b_y)", "last @ W_y.T + b_y"),
    ),
)

# --- questions ------------------------------------------------------------------------------------------------------

EVERY = Output("probabilities", ("batch", "time", "classes"))
ONE = Output("probabilities", ("batch", "classes"))

QUESTIONS = {
    question.name: question
    for question in (
        Question(
            "vector.rnn_forward_padded",
            rnn_forward_padded,
            (
                Output("output", ("batch", "time", "hidden")),
                Output("last hidden state h_n", ("batch", "hidden")),
            ),
            _padded_cases,
            PADDED_MISTAKES,
        ),
        Question("vector.softmax", softmax, (EVERY,), _softmax_cases, SOFTMAX_MISTAKES, quiet=True),
        Question("vector.read_every_step", read_every_step, (EVERY,), _every_step_cases, EVERY_STEP_MISTAKES),
        Question("vector.read_last_step", read_last_step, (ONE,), _last_step_cases, LAST_STEP_MISTAKES),
    )
}

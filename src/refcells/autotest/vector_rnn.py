"""Questions about the plain RNN in NumPy and its backpropagation through time."""

import numpy as np

from refcells.autotest.arrays import Array, B, D, H, T, away_from_zero, weights
from refcells.autotest.compare import Output
from refcells.autotest.mistakes import mistake, within
from refcells.autotest.verdict import Case, Question


def rnn_step(x: Array, h_prev: Array, W_x: Array, W_h: Array, b: Array) -> Array:
    """One time step for a batch: the new hidden state."""
    a = x @ W_x.T + h_prev @ W_h.T + b
    return np.tanh(a)


def rnn_forward(x: Array, W_x: Array, W_h: Array, b: Array, h0: Array) -> tuple[Array, Array]:
    """`rnn_step` over all time steps: outputs (batch, time, hidden) and the last hidden state."""
    h = h0
    outputs = []
    for t in range(x.shape[1]):
        h = rnn_step(x[:, t], h, W_x, W_h, b)
        outputs.append(h)
    return np.stack(outputs, axis=1), h


def rnn_step_backward(
    d_h: Array, x: Array, h_prev: Array, W_x: Array, W_h: Array, b: Array
) -> tuple[Array, Array, Array, Array, Array]:
    """Gradients of x, h_prev, W_x, W_h and b for one step."""
    a = x @ W_x.T + h_prev @ W_h.T + b
    h = np.tanh(a)
    d_a = d_h * (1 - h**2)
    return d_a @ W_x, d_a @ W_h, d_a.T @ x, d_a.T @ h_prev, d_a.sum(axis=0)


def rnn_backward(
    d_output: Array, x: Array, W_x: Array, W_h: Array, b: Array, h0: Array
) -> tuple[Array, Array, Array, Array, Array]:
    """Gradients of x, W_x, W_h, b and h0 for a whole sequence."""
    states = [h0]
    for t in range(x.shape[1]):
        states.append(rnn_step(x[:, t], states[-1], W_x, W_h, b))
    d_x, d_W_x, d_W_h, d_b = np.zeros_like(x), np.zeros_like(W_x), np.zeros_like(W_h), np.zeros_like(b)
    d_h = np.zeros_like(h0)
    for t in reversed(range(x.shape[1])):
        d_h = d_h + d_output[:, t]
        step = rnn_step_backward(d_h, x[:, t], states[t], W_x, W_h, b)
        d_x[:, t], d_h, step_W_x, step_W_h, step_b = step
        d_W_x += step_W_x
        d_W_h += step_W_h
        d_b += step_b
    return d_x, d_W_x, d_W_h, d_b, d_h


def rnn_step_jacobian(x: Array, h_prev: Array, W_x: Array, W_h: Array, b: Array) -> Array:
    """Jacobian d h[i] / d h_prev[j] of one sequence's step, (hidden, hidden): diag(1 - h**2) W_h."""
    h = np.tanh(W_x @ x + W_h @ h_prev + b)
    return (1 - h**2)[:, None] * W_h


# --- cases ----------------------------------------------------------------------------------------------------------


def _weights(rng: np.random.Generator) -> tuple[Array, Array, Array]:
    # Small enough that tanh does not saturate: where its derivative is 0 no mistake in BPTT shows.
    return weights(rng, 1, high=0.6)


def _step_cases(seed: int) -> list[Case]:
    rng = np.random.default_rng(seed)
    W_x, W_h, b = _weights(rng)
    x, h, zeros = rng.normal(size=(B, D)), away_from_zero(rng, B, H, high=0.9), np.zeros((B, H))
    return [
        Case("only the biases", (np.zeros((B, D)), zeros, W_x, W_h, b)),
        Case("only the input x", (x, zeros, W_x, W_h, np.zeros_like(b))),
        Case("only the hidden state h_prev", (np.zeros((B, D)), h, W_x, W_h, np.zeros_like(b))),
        Case("everything at once", (x, h, W_x, W_h, b)),
        Case("a batch of one", (x[:1], h[:1], W_x, W_h, b)),
    ]


def _forward_cases(seed: int) -> list[Case]:
    rng = np.random.default_rng(seed)
    W_x, W_h, b = _weights(rng)
    x, h0 = rng.normal(size=(B, T, D)), away_from_zero(rng, B, H, high=0.9)
    return [
        Case("a single step", (x[:, :1], W_x, W_h, b, h0)),
        Case("an initial state of zero", (x, W_x, W_h, b, np.zeros((B, H)))),
        Case("an initial state that is not zero", (x, W_x, W_h, b, h0)),
    ]


def _step_backward_cases(seed: int) -> list[Case]:
    rng = np.random.default_rng(seed)
    W_x, W_h, b = _weights(rng)
    x, h = rng.normal(size=(B, D)), away_from_zero(rng, B, H, high=0.9)
    d_h = away_from_zero(rng, B, H)
    return [
        Case("a batch of one", (d_h[:1], x[:1], h[:1], W_x, W_h, b)),
        Case("a previous state of zero", (d_h, x, np.zeros((B, H)), W_x, W_h, b)),
        Case("everything at once", (d_h, x, h, W_x, W_h, b)),
    ]


def _backward_cases(seed: int) -> list[Case]:
    rng = np.random.default_rng(seed)
    W_x, W_h, b = _weights(rng)
    x, h0 = rng.normal(size=(B, T, D)), away_from_zero(rng, B, H, high=0.9)
    d_output = away_from_zero(rng, B, T, H)
    last = np.zeros_like(d_output)
    last[:, -1] = d_output[:, -1]
    return [
        Case("a single step", (d_output[:, :1], x[:, :1], W_x, W_h, b, h0)),
        Case("a loss on the last output", (last, x, W_x, W_h, b, h0)),
        Case("a loss on every output", (d_output, x, W_x, W_h, b, h0)),
    ]


def _jacobian_cases(seed: int) -> list[Case]:
    return [
        Case(case.label, (case.arguments[0][0], case.arguments[1][0], *case.arguments[2:]))
        for case in _step_cases(seed)[:4]
    ]


# --- mistakes -------------------------------------------------------------------------------------------------------

_SUM = "a = x @ W_x.T + h_prev @ W_h.T + b"

STEP_MISTAKES = (
    mistake(
        "recurrent weights not transposed",
        "the recurrent weights are used without the transpose: h_prev @ W_h.T, not h_prev @ W_h.",
        "sherjilozair/ctc#1",
        rnn_step,
        (_SUM, _SUM.replace("W_h.T", "W_h")),
    ),
    mistake(
        "no bias",
        "the bias is left out.",
        "variant of numpy-ml#42",
        rnn_step,
        (_SUM, _SUM.replace(" + b", "")),
    ),
    mistake(
        "no recurrence",
        "the previous hidden state is left out.",
        "makemore PR#3",
        rnn_step,
        (_SUM, _SUM.replace(" + h_prev @ W_h.T", "")),
    ),
    mistake(
        "no tanh",
        "the pre-activation is returned, without the tanh.",
        "the exercise",
        rnn_step,
        ("np.tanh(a)", "a"),
    ),
    mistake(
        "sigmoid",
        "the sigmoid stands in for tanh: a state is content, between -1 and 1.",
        "the exercise",
        rnn_step,
        ("np.tanh(a)", "1 / (1 + np.exp(-a))"),
    ),
    mistake(
        "relu",
        "relu stands in for tanh; that is nn.RNN with nonlinearity='relu', asked is tanh.",
        "the exercise",
        rnn_step,
        ("np.tanh(a)", "np.maximum(a, 0)"),
    ),
    mistake(
        "tanh of the input alone",
        "tanh is applied before the recurrent term is added; it comes last, over the whole sum.",
        "the exercise",
        rnn_step,
        ("np.tanh(a)", "np.tanh(x @ W_x.T + b) + h_prev @ W_h.T"),
    ),
)

_CALL = "h = rnn_step(x[:, t], h, W_x, W_h, b)"

FORWARD_MISTAKES = (
    mistake(
        "state never updated",
        "every step starts from the initial state again: the new h has to go into the next step.",
        "makemore PR#3",
        rnn_forward,
        (_CALL, _CALL.replace("t], h,", "t], h0,")),
    ),
    mistake(
        "initial state ignored",
        "h0 is ignored: the walk starts from zeros.",
        "handson-mlp PR#4",
        rnn_forward,
        ("h = h0", "h = 0 * h0"),
    ),
    mistake(
        "walked backwards",
        "the sequence is walked from its last step to its first.",
        "stanfordmlgroup/nlc#8",
        rnn_forward,
        ("range(x.shape[1])", "reversed(range(x.shape[1]))"),
        ("np.stack(outputs, axis=1)", "np.stack(outputs[::-1], axis=1)"),
    ),
    mistake(
        "states before the steps",
        "the states before each step are collected instead of those after it.",
        "the exercise",
        rnn_forward,
        ("np.stack(outputs, axis=1)", "np.stack([h0, *outputs[:-1]], axis=1)"),
    ),
    mistake(
        "reshape for a transpose",
        "the collected outputs are brought to (batch, time, hidden) by reshape; that mixes sequences, transpose them.",
        "neon#311",
        rnn_forward,
        ("np.stack(outputs, axis=1)", "np.stack(outputs).reshape(len(x), -1, h.shape[1])"),
    ),
    mistake(
        "time first",
        "the outputs come as (time, batch, hidden); asked is (batch, time, hidden).",
        "pytorch#4145",
        rnn_forward,
        ("np.stack(outputs, axis=1)", "np.stack(outputs)"),
    ),
    *within(rnn_forward, "rnn_step", STEP_MISTAKES),
)

_D_A = "d_a = d_h * (1 - h**2)"
_RETURN = "return d_a @ W_x, d_a @ W_h, d_a.T @ x, d_a.T @ h_prev, d_a.sum(axis=0)"

STEP_BACKWARD_MISTAKES = (
    mistake(
        "tanh for its derivative",
        "tanh stands where its derivative belongs: 1 - h**2, with h the state's value.",
        "CaptainE/RNN-LSTM-in-numpy#1",
        rnn_step_backward,
        (_D_A, "d_a = d_h * h"),
    ),
    mistake(
        "tanh' with the pre-activation",
        "tanh' is computed as 1 - a**2 from the pre-activation; from the value it is 1 - h**2.",
        "deep-learning-from-scratch-2#26",
        rnn_step_backward,
        (_D_A, "d_a = d_h * (1 - a**2)"),
    ),
    mistake(
        "tanh' of the value",
        "the derivative is taken at the state's value, 1 - tanh(h)**2: h is tanh(a) already, so it is 1 - h**2.",
        "deep-learning-from-scratch-2#26",
        rnn_step_backward,
        (_D_A, "d_a = d_h * (1 - np.tanh(h) ** 2)"),
    ),
    mistake(
        "tanh' of the previous state",
        "tanh' is taken from the previous state; it belongs to the new one.",
        "the exercise",
        rnn_step_backward,
        (_D_A, "d_a = d_h * (1 - h_prev**2)"),
    ),
    mistake(
        "no derivative",
        "the derivative of tanh is left out: the gradient stops at the state.",
        "the exercise",
        rnn_step_backward,
        (_D_A, "d_a = d_h"),
    ),
    mistake(
        "recurrent weights transposed",
        "d_h_prev uses the recurrent weights transposed: forwards it is h @ W_h.T, so backwards d_a @ W_h.",
        "the exercise",
        rnn_step_backward,
        (_RETURN, _RETURN.replace("d_a @ W_h,", "d_a @ W_h.T,")),
    ),
    mistake(
        "gradient of W_h transposed",
        "the gradient of W_h is transposed: it has the shape and the layout of W_h, d_a.T @ h_prev.",
        "the exercise",
        rnn_step_backward,
        (_RETURN, _RETURN.replace("d_a.T @ h_prev", "h_prev.T @ d_a")),
    ),
    mistake(
        "new state in the gradient of W_h",
        "the gradient of W_h uses the new state; W_h multiplied the previous one.",
        "the exercise",
        rnn_step_backward,
        (_RETURN, _RETURN.replace("d_a.T @ h_prev", "d_a.T @ h")),
    ),
    mistake(
        "mean over the batch",
        "the weights' gradients are means over the batch; the loss's gradient is the sum.",
        "the exercise",
        rnn_step_backward,
        (
            _RETURN,
            _RETURN.replace(
                "d_a.T @ x, d_a.T @ h_prev, d_a.sum(axis=0)",
                "d_a.T @ x / len(x), d_a.T @ h_prev / len(x), d_a.mean(axis=0)",
            ),
        ),
    ),
)

BACKWARD_MISTAKES = (
    mistake(
        "dh_next not carried",
        "the gradient of h_prev is not carried to the step before: add it to that step's d_output.",
        "CaptainE/RNN-LSTM-in-numpy#1",
        rnn_backward,
        ("d_h = d_h + d_output[:, t]", "d_h = d_output[:, t]"),
    ),
    mistake(
        "d_output only at the last step",
        "only the last step's d_output is used; a loss may look at every output.",
        "Halfish/cs231n#4",
        rnn_backward,
        ("d_h = d_h + d_output[:, t]", "d_h = d_h + (d_output[:, t] if t == x.shape[1] - 1 else 0)"),
    ),
    mistake(
        "weight gradients overwritten",
        "the weights' gradients are those of one step alone: a weight is used at every step, so they add up.",
        "karpathy/micrograd#2",
        rnn_backward,
        ("d_W_x += step_W_x", "d_W_x = step_W_x"),
        ("d_W_h += step_W_h", "d_W_h = step_W_h"),
        ("d_b += step_b", "d_b = step_b"),
    ),
    mistake(
        "gradient of W_h overwritten",
        "the gradient of W_h is that of one step alone: the weight is used at every step, so its gradients add up.",
        "mxnet#4057, karpathy/micrograd#2",
        rnn_backward,
        ("d_W_h += step_W_h", "d_W_h = step_W_h"),
    ),
    mistake(
        "initial state's gradient missing",
        "the gradient of h0 is zeros: what is left after the first step is its.",
        "sagarnildass/andrew_ng_deep_learning_specialization#1",
        rnn_backward,
        ("return d_x, d_W_x, d_W_h, d_b, d_h", "return d_x, d_W_x, d_W_h, d_b, 0 * d_h"),
    ),
    mistake(
        "state after the step",
        "each step's backward pass is given the state after that step; it needs the one before it.",
        "the exercise",
        rnn_backward,
        ("x[:, t], states[t], W_x", "x[:, t], states[t + 1], W_x"),
    ),
    mistake(
        "walked forwards",
        "the backward pass walks from the first step to the last.",
        "the exercise",
        rnn_backward,
        ("in reversed(range(x.shape[1]))", "in list(range(x.shape[1]))"),
    ),
    *within(rnn_backward, "rnn_step_backward", STEP_BACKWARD_MISTAKES),
)

_JACOBIAN = "return (1 - h**2)[:, None] * W_h"

JACOBIAN_MISTAKES = (
    mistake(
        "transposed",
        "the Jacobian is transposed: here row i, column j is d h[i] / d h_prev[j].",
        "layouts differ between libraries",
        rnn_step_jacobian,
        (_JACOBIAN, "return ((1 - h**2)[:, None] * W_h).T"),
    ),
    mistake(
        "derivatives on the columns",
        "the derivatives of tanh scale the columns; diag(1 - h**2) W_h scales the rows.",
        "layouts differ between libraries",
        rnn_step_jacobian,
        (_JACOBIAN, "return (1 - h**2) * W_h"),
    ),
    mistake(
        "no derivative",
        "the derivative of tanh is left out: the Jacobian is not W_h alone.",
        "the exercise",
        rnn_step_jacobian,
        (_JACOBIAN, "return 1 * W_h"),
    ),
    mistake(
        "tanh for its derivative",
        "tanh stands where its derivative belongs: 1 - h**2, with h the state's value.",
        "CaptainE/RNN-LSTM-in-numpy#1",
        rnn_step_jacobian,
        (_JACOBIAN, "return h[:, None] * W_h"),
    ),
)

# --- questions ------------------------------------------------------------------------------------------------------

STATE = Output("hidden state h", ("batch", "hidden"))
WEIGHT_GRADIENTS = (
    Output("gradient of W_x", ("hidden", "input")),
    Output("gradient of W_h", ("hidden", "previous hidden")),
    Output("gradient of b", ("hidden",)),
)

QUESTIONS = {
    question.name: question
    for question in (
        Question("vector.rnn_step", rnn_step, (STATE,), _step_cases, STEP_MISTAKES),
        Question(
            "vector.rnn_forward",
            rnn_forward,
            (
                Output("output", ("batch", "time", "hidden")),
                Output("last hidden state h_n", ("batch", "hidden")),
            ),
            _forward_cases,
            FORWARD_MISTAKES,
        ),
        Question(
            "vector.rnn_step_backward",
            rnn_step_backward,
            (
                Output("gradient of x", ("batch", "input")),
                Output("gradient of h_prev", ("batch", "hidden")),
                *WEIGHT_GRADIENTS,
            ),
            _step_backward_cases,
            STEP_BACKWARD_MISTAKES,
        ),
        Question(
            "vector.rnn_backward",
            rnn_backward,
            (
                Output("gradient of x", ("batch", "time", "input")),
                *WEIGHT_GRADIENTS,
                Output("gradient of h0", ("batch", "hidden")),
            ),
            _backward_cases,
            BACKWARD_MISTAKES,
        ),
        Question(
            "vector.rnn_step_jacobian",
            rnn_step_jacobian,
            (Output("Jacobian", ("hidden", "previous hidden")),),
            _jacobian_cases,
            JACOBIAN_MISTAKES,
        ),
    )
}

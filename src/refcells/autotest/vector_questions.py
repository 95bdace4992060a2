"""Questions about batched cells in NumPy and their hand-written backward passes.

The references of whole sequences are written here in their plain form, step by step: it is the form that the exercises
ask for and that mistakes are made in. Tests hold them equal to the fast forms in `refcells.vector` and
`refcells.backward`.
"""

import numpy as np

from refcells.autotest import vector_gradients, vector_gru, vector_padded, vector_rnn
from refcells.autotest.arrays import Array, B, D, H, T, away_from_zero, biased, weights
from refcells.autotest.compare import Output
from refcells.autotest.mistakes import Mistake, edited, mistake, within
from refcells.autotest.verdict import Case, Question
from refcells.vector import lstm_step, sigmoid


def stack_gates(i: Array, f: Array, g: Array, o: Array) -> Array:
    """Blocks of the four gates, stacked along the first axis in PyTorch's order."""
    return np.concatenate([i, f, g, o], axis=0)


def count_parameters(input_size: int, hidden_size: int) -> int:
    """Numbers in an LSTM's W_x, W_h and b."""
    return 4 * hidden_size * (input_size + hidden_size + 1)


def lstm_forward(
    x: Array, W_x: Array, W_h: Array, b: Array, h0: Array, c0: Array
) -> tuple[Array, Array, Array]:
    """`lstm_step` over all time steps: outputs (batch, time, hidden), last hidden state, last cell state."""
    h, c = h0, c0
    outputs = []
    for t in range(x.shape[1]):
        h, c = lstm_step(x[:, t], h, c, W_x, W_h, b)
        outputs.append(h)
    return np.stack(outputs, axis=1), h, c


def lstm_step_backward(
    d_h: Array, d_c: Array, x: Array, h_prev: Array, c_prev: Array, W_x: Array, W_h: Array, b: Array
) -> tuple[Array, Array, Array, Array, Array, Array]:
    """Gradients of x, h_prev, c_prev, W_x, W_h and b for one step."""
    a = x @ W_x.T + h_prev @ W_h.T + b
    a_i, a_f, a_g, a_o = np.split(a, 4, axis=1)
    i, f, g, o = sigmoid(a_i), sigmoid(a_f), np.tanh(a_g), sigmoid(a_o)
    tanh_c = np.tanh(f * c_prev + i * g)
    d_c = d_c + d_h * o * (1 - tanh_c**2)
    d_a_i = d_c * g * i * (1 - i)
    d_a_f = d_c * c_prev * f * (1 - f)
    d_a_g = d_c * i * (1 - g**2)
    d_a_o = d_h * tanh_c * o * (1 - o)
    d_a = np.concatenate([d_a_i, d_a_f, d_a_g, d_a_o], axis=1)
    return d_a @ W_x, d_a @ W_h, d_c * f, d_a.T @ x, d_a.T @ h_prev, d_a.sum(axis=0)


def lstm_backward(
    d_output: Array, d_c_n: Array, x: Array, W_x: Array, W_h: Array, b: Array, h0: Array, c0: Array
) -> tuple[Array, Array, Array, Array, Array, Array]:
    """Gradients of x, W_x, W_h, b, h0 and c0 for a whole sequence, `lstm_step_backward` from the last step back."""
    states = [(h0, c0)]
    for t in range(x.shape[1]):
        states.append(lstm_step(x[:, t], *states[-1], W_x, W_h, b))
    d_x, d_W_x, d_W_h, d_b = np.zeros_like(x), np.zeros_like(W_x), np.zeros_like(W_h), np.zeros_like(b)
    d_h, d_c = np.zeros_like(h0), d_c_n
    for t in reversed(range(x.shape[1])):
        h_prev, c_prev = states[t]
        d_h = d_h + d_output[:, t]
        step = lstm_step_backward(d_h, d_c, x[:, t], h_prev, c_prev, W_x, W_h, b)
        d_x[:, t], d_h, d_c, step_W_x, step_W_h, step_b = step
        d_W_x += step_W_x
        d_W_h += step_W_h
        d_b += step_b
    return d_x, d_W_x, d_W_h, d_b, d_h, d_c


# --- cases ----------------------------------------------------------------------------------------------------------


def _states(rng: np.random.Generator) -> tuple[Array, Array]:
    return away_from_zero(rng, B, H, high=0.9), away_from_zero(rng, B, H, low=1.5, high=2.5)


def _stack_cases(seed: int) -> list[Case]:
    rng = np.random.default_rng(seed)
    return [
        Case("input weights", tuple(rng.normal(size=(H, D)) for _ in range(4))),
        Case("biases", tuple(rng.normal(size=H) for _ in range(4))),
    ]


def _step_cases(seed: int) -> list[Case]:
    rng = np.random.default_rng(seed)
    W_x, W_h, b = weights(rng, 4)
    x, (h, c) = rng.normal(size=(B, D)), _states(rng)
    zeros = np.zeros((B, H))
    return [
        Case("only the biases", (np.zeros((B, D)), zeros, zeros, W_x, W_h, b)),
        Case("only the input x", (x, zeros, zeros, W_x, W_h, np.zeros_like(b))),
        Case("only the hidden state h_prev", (np.zeros((B, D)), h, zeros, W_x, W_h, np.zeros_like(b))),
        Case(
            "a saturated copy (f open, i closed)", (x, h, c, W_x, W_h, biased(b, "ifgo", {"f": 30, "i": -30}))
        ),
        Case("f and i both open", (x, h, c, W_x, W_h, biased(b, "ifgo", {"f": 30, "i": 30}))),
        Case("everything at once", (x, h, c, W_x, W_h, b)),
        Case("a batch of one", (x[:1], h[:1], c[:1], W_x, W_h, b)),
    ]


def _extreme_cases(seed: int) -> list[Case]:
    rng = np.random.default_rng(seed)
    W_x, W_h, b = weights(rng, 4)
    x, (h, c) = rng.normal(size=(B, D)), _states(rng)
    return [
        Case("pre-activations around 1000", (x, h, c, W_x, W_h, b + 1000)),
        Case("pre-activations around -1000", (x, h, c, W_x, W_h, b - 1000)),
        Case("inputs around +-1000", (1000 * np.sign(x), h, c, W_x, W_h, b)),
    ]


def _forward_cases(seed: int) -> list[Case]:
    rng = np.random.default_rng(seed)
    W_x, W_h, b = weights(rng, 4)
    x, (h0, c0) = rng.normal(size=(B, T, D)), _states(rng)
    zeros = np.zeros((B, H))
    return [
        Case("a single step", (x[:, :1], W_x, W_h, b, h0, c0)),
        Case("initial states of zero", (x, W_x, W_h, b, zeros, zeros)),
        Case("initial states that are not zero", (x, W_x, W_h, b, h0, c0)),
        Case(
            "a saturated copy (f open, i closed)",
            (x, W_x, W_h, biased(b, "ifgo", {"f": 30, "i": -30}), h0, c0),
        ),
    ]


def _step_backward_cases(seed: int) -> list[Case]:
    rng = np.random.default_rng(seed)
    W_x, W_h, b = weights(rng, 4)
    x, (h, c) = rng.normal(size=(B, D)), _states(rng)
    d_h, d_c = away_from_zero(rng, B, H), away_from_zero(rng, B, H)
    zeros = np.zeros((B, H))
    return [
        Case("a gradient of c alone (d_h = 0)", (zeros, d_c, x, h, c, W_x, W_h, b)),
        Case("a gradient of h alone (d_c = 0)", (d_h, zeros, x, h, c, W_x, W_h, b)),
        Case("an empty cell state", (d_h, d_c, x, h, zeros, W_x, W_h, b)),
        Case("both gradients", (d_h, d_c, x, h, c, W_x, W_h, b)),
    ]


def _backward_cases(seed: int) -> list[Case]:
    rng = np.random.default_rng(seed)
    W_x, W_h, b = weights(rng, 4)
    x, (h0, c0) = rng.normal(size=(B, T, D)), _states(rng)
    d_output, d_c = away_from_zero(rng, B, T, H), away_from_zero(rng, B, H)
    last = np.zeros_like(d_output)
    last[:, -1] = d_output[:, -1]
    none = np.zeros((B, H))
    return [
        Case("a single step", (d_output[:, :1], d_c, x[:, :1], W_x, W_h, b, h0, c0)),
        Case("a loss on the last output", (last, none, x, W_x, W_h, b, h0, c0)),
        Case("a loss on the last cell state", (np.zeros_like(d_output), d_c, x, W_x, W_h, b, h0, c0)),
        Case("a loss on every output", (d_output, none, x, W_x, W_h, b, h0, c0)),
        Case("a loss on every output and on the last cell state", (d_output, d_c, x, W_x, W_h, b, h0, c0)),
    ]


# --- mistakes -------------------------------------------------------------------------------------------------------


_SUM = "a = x @ W_x.T + h_prev @ W_h.T + b"
_SPLIT = "a_i, a_f, a_g, a_o = np.split(a, 4, axis=1)"
_WRITE = "c = f * c_prev + i * g"
_SHOW = "h = o * np.tanh(c)"

_STEP = (
    (
        "gates swapped i f",
        "the input gate and the forget gate are swapped, or the blocks are read in the order f, i, g, o.",
        "NX-AI/xlstm#98",
        (_SPLIT, _SPLIT.replace("a_i, a_f", "a_f, a_i")),
    ),
    (
        "order i f o g",
        "the blocks are read in the order i, f, o, g (CS231n's); this course and PyTorch have i, f, g, o.",
        "coremltools PR#93",
        (_SPLIT, _SPLIT.replace("a_g, a_o", "a_o, a_g")),
    ),
    (
        "order i o f g",
        "the blocks are read in ONNX's order i, o, f, g; this course and PyTorch have i, f, g, o.",
        "ngraph PR#2080",
        (_SPLIT, _SPLIT.replace("a_f, a_g, a_o", "a_o, a_f, a_g")),
    ),
    (
        "recurrent blocks not transposed",
        "the recurrent weights of each gate are used without the transpose: h_prev @ W.T, not h_prev @ W.",
        "sherjilozair/ctc#1",
        (_SUM, _SUM.replace("W_h.T", "np.concatenate(np.split(W_h, 4), axis=1)")),
    ),
    (
        "one bias for all",
        "one gate's bias is used for all four.",
        "numpy-ml#42",
        (_SUM, _SUM.replace("+ b", "+ np.tile(b[: len(b) // 4], 4)")),
    ),
    ("no bias", "the biases are left out.", "variant of numpy-ml#42", (_SUM, _SUM.replace(" + b", ""))),
    (
        "no recurrence",
        "the previous hidden state does not reach the gates.",
        "makemore PR#3",
        (_SUM, _SUM.replace(" + h_prev @ W_h.T", "")),
    ),
    (
        "candidate by sigmoid",
        "the candidate g goes through the sigmoid; it is content, between -1 and 1, and goes through tanh.",
        "the exercise",
        ("g = np.tanh(a_g)", "g = sigmoid(a_g)"),
    ),
    (
        "no tanh in h",
        "h is o * c, without the tanh: h must stay between -1 and 1, however large c has grown.",
        "nicodjimenez/lstm#47, #7",
        (_SHOW, "h = o * c"),
    ),
    (
        "tanh written into c",
        "tanh(c) is written back into the cell state; only h gets the tanh, c itself is carried on as it is.",
        "nicodjimenez/lstm#43",
        (_SHOW, "c = np.tanh(c); h = o * c"),
    ),
    (
        "i + g",
        "the candidate is added to the input gate instead of being multiplied by it.",
        "torchrecurrent#22",
        (_WRITE, _WRITE.replace("i * g", "(i + g)")),
    ),
    (
        "h from the old c",
        "h is computed from the old cell state; it shows the new one.",
        "borelien/entailment-neural-attention-lstm-tf#3",
        (_SHOW, _SHOW.replace("(c)", "(c_prev)")),
    ),
    (
        "no forget gate",
        "the forget gate is missing: the old cell state is kept whole (the cell of 1997).",
        "glample/tagger#17",
        (_WRITE, _WRITE.replace("f * ", "")),
    ),
    (
        "coupled gates",
        "the forget gate is replaced by 1 - i; in the LSTM the two gates are independent.",
        "glample/tagger#25",
        (_WRITE, _WRITE.replace("f * ", "(1 - i) * ")),
    ),
    (
        "candidate written whole",
        "the candidate is written whole, without the input gate.",
        "the exercise",
        (_WRITE, _WRITE.replace("i * g", "g")),
    ),
    (
        "output gate missing",
        "the output gate is missing: h = tanh(c).",
        "the exercise",
        (_SHOW, "h = np.tanh(c)"),
    ),
    (
        "states exchanged",
        "the two results are exchanged; they are returned as (h, c), as PyTorch does.",
        "the exercise",
        ("return h, c", "return c, h"),
    ),
)

STEP_MISTAKES = tuple(mistake(name, hint, source, lstm_step, edit) for name, hint, source, edit in _STEP)

EXTREME_MISTAKES = (
    Mistake(
        "sigmoid overflow",
        "sigma is written 1 / (1 + exp(-a)), which asks for exp(1000) at a = -1000; take a form that never does.",
        "karpathy/neuraltalk#2",
        lambda: edited(lstm_step, sigmoid=lambda a: 1 / (1 + np.exp(-a))),
    ),
    Mistake(
        "sigmoid as a quotient",
        "sigma is written exp(a) / (1 + exp(a)), which is infinity over infinity at a = 1000; take a form that never "
        "asks for so large a number.",
        "karpathy/neuraltalk#2",
        lambda: edited(lstm_step, sigmoid=lambda a: np.exp(a) / (1 + np.exp(a))),
    ),
)


_CALL = "h, c = lstm_step(x[:, t], h, c, W_x, W_h, b)"

FORWARD_MISTAKES = (
    mistake(
        "state never updated",
        "every step starts from the initial states again: the new h and c have to go into the next step.",
        "makemore PR#3",
        lstm_forward,
        (_CALL, _CALL.replace("h, c = lstm_step(x[:, t], h, c", "h, c = lstm_step(x[:, t], h0, c0")),
    ),
    mistake(
        "cell state never updated",
        "the hidden state is carried on, but every step starts from the initial cell state again.",
        "variant of makemore PR#3",
        lstm_forward,
        (_CALL, _CALL.replace("h, c, W_x", "h, c0, W_x")),
    ),
    mistake(
        "hidden state never updated",
        "the cell state is carried on, but every step starts from the initial hidden state again.",
        "variant of makemore PR#3",
        lstm_forward,
        (_CALL, _CALL.replace("h, c, W_x", "h0, c, W_x")),
    ),
    mistake(
        "initial state ignored",
        "h0 and c0 are ignored: the walk starts from zeros.",
        "handson-mlp PR#4",
        lstm_forward,
        ("h, c = h0, c0", "h, c = 0 * h0, 0 * c0"),
    ),
    mistake(
        "walked backwards",
        "the sequence is walked from its last step to its first.",
        "stanfordmlgroup/nlc#8",
        lstm_forward,
        ("range(x.shape[1])", "reversed(range(x.shape[1]))"),
        ("np.stack(outputs, axis=1)", "np.stack(outputs[::-1], axis=1)"),
    ),
    mistake(
        "reshape for a transpose",
        "the collected outputs are brought to (batch, time, hidden) by reshape; that mixes sequences, transpose them.",
        "neon#311",
        lstm_forward,
        ("np.stack(outputs, axis=1)", "np.stack(outputs).reshape(len(x), -1, h.shape[1])"),
    ),
    mistake(
        "time first",
        "the outputs come as (time, batch, hidden); asked is (batch, time, hidden).",
        "pytorch#4145",
        lstm_forward,
        ("np.stack(outputs, axis=1)", "np.stack(outputs)"),
    ),
    *within(lstm_forward, "lstm_step", STEP_MISTAKES),
)

_TOTAL = "d_c = d_c + d_h * o * (1 - tanh_c**2)"
_D_I = "d_a_i = d_c * g * i * (1 - i)"
_D_F = "d_a_f = d_c * c_prev * f * (1 - f)"
_D_G = "d_a_g = d_c * i * (1 - g**2)"
_D_O = "d_a_o = d_h * tanh_c * o * (1 - o)"
_RETURN = "return d_a @ W_x, d_a @ W_h, d_c * f, d_a.T @ x, d_a.T @ h_prev, d_a.sum(axis=0)"

STEP_BACKWARD_MISTAKES = (
    mistake(
        "dc assigned",
        "the gradient of c takes the path through h alone: d_c, which comes from the next step, has to be added.",
        "mxnet#4057",
        lstm_step_backward,
        (_TOTAL, _TOTAL.replace("d_c + ", "")),
    ),
    mistake(
        "path through h missing",
        "the gradient of c does not take the path through h = o * tanh(c).",
        "Halfish/cs231n#4",
        lstm_step_backward,
        (_TOTAL, "d_c = d_c.copy()"),
    ),
    mistake(
        "sigma for its derivative",
        "sigma stands where its derivative belongs: s * (1 - s), with s the gate's value.",
        "CaptainE/RNN-LSTM-in-numpy#1",
        lstm_step_backward,
        (_D_I, _D_I.replace(" * (1 - i)", "")),
        (_D_F, _D_F.replace(" * (1 - f)", "")),
        (_D_O, _D_O.replace(" * (1 - o)", "")),
    ),
    mistake(
        "gate derivatives missing",
        "the derivatives of the gates' own sigmoid and tanh are missing: the gradient stops at the gates' values.",
        "the exercise",
        lstm_step_backward,
        (_D_I, "d_a_i = d_c * g"),
        (_D_F, "d_a_f = d_c * c_prev"),
        (_D_G, "d_a_g = d_c * i"),
        (_D_O, "d_a_o = d_h * tanh_c"),
    ),
    mistake(
        "one gate's gradient for all",
        "one gate's gradient is copied to the others.",
        "hanbt/learn_dl#53",
        lstm_step_backward,
        ("[d_a_i, d_a_f, d_a_g, d_a_o]", "[d_a_i, d_a_i, d_a_i, d_a_i]"),
    ),
    mistake(
        "blocks of d_a in another order",
        "the blocks of the gates' gradients are stacked f, i, g, o; they have to be i, f, g, o.",
        "coremltools PR#93",
        lstm_step_backward,
        ("[d_a_i, d_a_f, d_a_g, d_a_o]", "[d_a_f, d_a_i, d_a_g, d_a_o]"),
    ),
    mistake(
        "tanh' of c without its square",
        "the derivative of tanh is written 1 - tanh(c); it is 1 - tanh(c)**2.",
        "the exercise",
        lstm_step_backward,
        (_TOTAL, _TOTAL.replace("tanh_c**2", "tanh_c")),
    ),
    mistake(
        "tanh' with the pre-activation",
        "tanh' of the candidate is computed as 1 - a**2 from the pre-activation; from the value it is 1 - g**2.",
        "deep-learning-from-scratch-2#26",
        lstm_step_backward,
        (_D_G, _D_G.replace("g**2", "a_g**2")),
    ),
    mistake(
        "new c in the forget gate's gradient",
        "the forget gate's gradient uses the new cell state; f multiplied the old one.",
        "the exercise",
        lstm_step_backward,
        (_D_F, _D_F.replace("c_prev", "(f * c_prev + i * g)")),
    ),
    mistake(
        "forget gate left out of d_c_prev",
        "the gradient of c_prev lacks the forget gate: c = f * c_prev + ..., so it is d_c * f.",
        "the exercise",
        lstm_step_backward,
        (_RETURN, _RETURN.replace("d_c * f", "d_c")),
    ),
    mistake(
        "recurrent weights transposed",
        "d_h_prev uses each gate's recurrent weights transposed: it is d_a @ W_h.",
        "the exercise",
        lstm_step_backward,
        (_RETURN, _RETURN.replace("d_a @ W_h", "d_a @ np.concatenate([w.T for w in np.split(W_h, 4)])")),
    ),
    mistake(
        "mean over the batch",
        "the weights' gradients are means over the batch; the loss's gradient is the sum.",
        "the exercise",
        lstm_step_backward,
        (
            _RETURN,
            _RETURN.replace(
                "d_a.T @ x, d_a.T @ h_prev, d_a.sum(axis=0)",
                "d_a.T @ x / len(x), d_a.T @ h_prev / len(x), d_a.mean(axis=0)",
            ),
        ),
    ),
)

_BACK = "d_x[:, t], d_h, d_c, step_W_x, step_W_h, step_b = step"

BACKWARD_MISTAKES = (
    mistake(
        "dh_next not carried",
        "the gradient of h_prev is not carried to the step before: add it to that step's d_output.",
        "CaptainE/RNN-LSTM-in-numpy#1",
        lstm_backward,
        ("d_h = d_h + d_output[:, t]", "d_h = d_output[:, t]"),
    ),
    mistake(
        "dc_next not carried",
        "the gradient of c_prev is not carried to the step before.",
        "CaptainE/RNN-LSTM-in-numpy#1",
        lstm_backward,
        (_BACK, _BACK + "\n        last, d_c = d_c, np.zeros_like(c0)"),
        ("return d_x, d_W_x, d_W_h, d_b, d_h, d_c", "return d_x, d_W_x, d_W_h, d_b, d_h, last"),
    ),
    mistake(
        "d_output only at the last step",
        "only the last step's d_output is used; a loss may look at every output.",
        "Halfish/cs231n#4",
        lstm_backward,
        ("d_h = d_h + d_output[:, t]", "d_h = d_h + (d_output[:, t] if t == x.shape[1] - 1 else 0)"),
    ),
    mistake(
        "d_c_n ignored",
        "the gradient of the last cell state, d_c_n, is ignored.",
        "mxnet#4057",
        lstm_backward,
        ("np.zeros_like(h0), d_c_n", "np.zeros_like(h0), np.zeros_like(d_c_n)"),
    ),
    mistake(
        "weight gradients overwritten",
        "the weights' gradients are those of one step alone: a weight is used at every step, so they add up.",
        "karpathy/micrograd#2",
        lstm_backward,
        ("d_W_x += step_W_x", "d_W_x = step_W_x"),
        ("d_W_h += step_W_h", "d_W_h = step_W_h"),
        ("d_b += step_b", "d_b = step_b"),
    ),
    mistake(
        "initial state's gradient missing",
        "the gradients of h0 and c0 are zeros: what is left after the first step is theirs.",
        "sagarnildass/andrew_ng_deep_learning_specialization#1",
        lstm_backward,
        ("return d_x, d_W_x, d_W_h, d_b, d_h, d_c", "return d_x, d_W_x, d_W_h, d_b, 0 * d_h, 0 * d_c"),
    ),
    mistake(
        "state after the step",
        "each step's backward pass is given the states after that step; it needs those before it.",
        "the exercise",
        lstm_backward,
        ("h_prev, c_prev = states[t]", "h_prev, c_prev = states[t + 1]"),
    ),
    mistake(
        "walked forwards",
        "the backward pass walks from the first step to the last.",
        "the exercise",
        lstm_backward,
        ("in reversed(range(x.shape[1]))", "in list(range(x.shape[1]))"),
    ),
    *within(lstm_backward, "lstm_step_backward", STEP_BACKWARD_MISTAKES),
)

# --- questions ------------------------------------------------------------------------------------------------------

STATES = (Output("hidden state h", ("batch", "hidden")), Output("cell state c", ("batch", "hidden")))
WEIGHT_GRADIENTS = (
    Output("gradient of W_x", ("4 hidden", "input")),
    Output("gradient of W_h", ("4 hidden", "hidden")),
    Output("gradient of b", ("4 hidden",)),
)

QUESTIONS = (
    {
        question.name: question
        for question in (
            Question(
                "vector.stack_gates",
                stack_gates,
                (Output("stack of blocks"),),
                _stack_cases,
                (
                    mistake(
                        "order f i g o",
                        "the blocks are stacked f, i, g, o; this course and PyTorch have i, f, g, o.",
                        "coremltools PR#93",
                        stack_gates,
                        ("[i, f, g, o]", "[f, i, g, o]"),
                    ),
                    mistake(
                        "order i f o g",
                        "the blocks are stacked i, f, o, g (CS231n's order); this course and PyTorch have i, f, g, o.",
                        "coremltools PR#93",
                        stack_gates,
                        ("[i, f, g, o]", "[i, f, o, g]"),
                    ),
                    mistake(
                        "order i o f g",
                        "the blocks are stacked in ONNX's order i, o, f, g; this course and PyTorch have i, f, g, o.",
                        "ngraph PR#2080",
                        stack_gates,
                        ("[i, f, g, o]", "[i, o, f, g]"),
                    ),
                    mistake(
                        "last axis",
                        "the blocks are joined along the last axis; each gate's rows go below the last gate's.",
                        "the exercise",
                        stack_gates,
                        ("axis=0", "axis=-1"),
                    ),
                ),
            ),
            Question("vector.lstm_step", lstm_step, STATES, _step_cases, STEP_MISTAKES),
            Question(
                "vector.lstm_step_extremes",
                lstm_step,
                STATES,
                _extreme_cases,
                EXTREME_MISTAKES,
                quiet=True,
                title="lstm_step",
            ),
            Question(
                "vector.lstm_forward",
                lstm_forward,
                (
                    Output("output", ("batch", "time", "hidden")),
                    Output("last hidden state h_n", ("batch", "hidden")),
                    Output("last cell state c_n", ("batch", "hidden")),
                ),
                _forward_cases,
                FORWARD_MISTAKES,
            ),
            Question(
                "vector.lstm_step_backward",
                lstm_step_backward,
                (
                    Output("gradient of x", ("batch", "input")),
                    Output("gradient of h_prev", ("batch", "hidden")),
                    Output("gradient of c_prev", ("batch", "hidden")),
                    *WEIGHT_GRADIENTS,
                ),
                _step_backward_cases,
                STEP_BACKWARD_MISTAKES,
            ),
            Question(
                "vector.lstm_backward",
                lstm_backward,
                (
                    Output("gradient of x", ("batch", "time", "input")),
                    *WEIGHT_GRADIENTS,
                    Output("gradient of h0", ("batch", "hidden")),
                    Output("gradient of c0", ("batch", "hidden")),
                ),
                _backward_cases,
                BACKWARD_MISTAKES,
            ),
        )
    }
    | vector_rnn.QUESTIONS
    | vector_gru.QUESTIONS
    | vector_padded.QUESTIONS
    | vector_gradients.QUESTIONS
)

"""Questions about the GRU in NumPy: the reset gate before the product, and z as the share that is written."""

import numpy as np

from refcells.autotest.arrays import Array, B, D, H, T, away_from_zero, biased, weights
from refcells.autotest.compare import Output
from refcells.autotest.mistakes import Mistake, edited, mistake, within
from refcells.autotest.verdict import Case, Question
from refcells.vector import sigmoid


def gru_step(x: Array, h_prev: Array, W_x: Array, W_h: Array, b: Array) -> Array:
    """One time step for a batch: the new hidden state."""
    W_xr, W_xz, W_xn = np.split(W_x, 3)
    W_hr, W_hz, W_hn = np.split(W_h, 3)
    b_r, b_z, b_n = np.split(b, 3)
    r = sigmoid(x @ W_xr.T + h_prev @ W_hr.T + b_r)
    z = sigmoid(x @ W_xz.T + h_prev @ W_hz.T + b_z)
    n = np.tanh(x @ W_xn.T + (r * h_prev) @ W_hn.T + b_n)
    return (1 - z) * h_prev + z * n


def gru_forward(x: Array, W_x: Array, W_h: Array, b: Array, h0: Array) -> tuple[Array, Array]:
    """`gru_step` over all time steps: outputs (batch, time, hidden) and the last hidden state."""
    h = h0
    outputs = []
    for t in range(x.shape[1]):
        h = gru_step(x[:, t], h, W_x, W_h, b)
        outputs.append(h)
    return np.stack(outputs, axis=1), h


def gru_step_backward(
    d_h: Array, x: Array, h_prev: Array, W_x: Array, W_h: Array, b: Array
) -> tuple[Array, Array, Array, Array, Array]:
    """Gradients of x, h_prev, W_x, W_h and b for one step."""
    W_hr, W_hz, W_hn = np.split(W_h, 3)
    a_xr, a_xz, a_xn = np.split(x @ W_x.T + b, 3, axis=1)
    r, z = sigmoid(a_xr + h_prev @ W_hr.T), sigmoid(a_xz + h_prev @ W_hz.T)
    n = np.tanh(a_xn + (r * h_prev) @ W_hn.T)
    d_a_n = d_h * z * (1 - n**2)
    d_s = d_a_n @ W_hn
    d_a_r = d_s * h_prev * r * (1 - r)
    d_a_z = d_h * (n - h_prev) * z * (1 - z)
    d_a = np.concatenate([d_a_r, d_a_z, d_a_n], axis=1)
    d_h_prev = d_h * (1 - z) + d_s * r + d_a_r @ W_hr + d_a_z @ W_hz
    d_W_h = np.concatenate([d_a_r.T @ h_prev, d_a_z.T @ h_prev, d_a_n.T @ (r * h_prev)])
    return d_a @ W_x, d_h_prev, d_a.T @ x, d_W_h, d_a.sum(axis=0)


def gru_step_jacobian(x: Array, h_prev: Array, W_x: Array, W_h: Array, b: Array) -> Array:
    """Jacobian of one step of one sequence, dh / dh_prev: row i, column j is d h[i] / d h_prev[j]."""
    W_hr, W_hz, W_hn = np.split(W_h, 3)
    a_xr, a_xz, a_xn = np.split(W_x @ x + b, 3)
    r, z = sigmoid(a_xr + W_hr @ h_prev), sigmoid(a_xz + W_hz @ h_prev)
    n = np.tanh(a_xn + W_hn @ (r * h_prev))
    kept = np.diag(1 - z)
    by_z = ((n - h_prev) * z * (1 - z))[:, None] * W_hz
    inner = np.diag(r) + (h_prev * r * (1 - r))[:, None] * W_hr
    by_n = (z * (1 - n**2))[:, None] * (W_hn @ inner)
    return kept + by_z + by_n


# --- cases ----------------------------------------------------------------------------------------------------------


def _step_cases(seed: int) -> list[Case]:
    rng = np.random.default_rng(seed)
    W_x, W_h, b = weights(rng, 3)
    x, h, zeros = rng.normal(size=(B, D)), away_from_zero(rng, B, H, high=0.9), np.zeros((B, H))

    def saturated(**gates: float) -> Array:
        return biased(b, "rzn", gates)

    return [
        Case("only the biases", (np.zeros((B, D)), zeros, W_x, W_h, b)),
        Case("only the input x", (x, zeros, W_x, W_h, np.zeros_like(b))),
        Case("only the hidden state h_prev", (np.zeros((B, D)), h, W_x, W_h, np.zeros_like(b))),
        Case("a saturated copy (z = 0)", (x, h, W_x, W_h, saturated(z=-30))),
        Case("everything written (z = 1)", (x, h, W_x, W_h, saturated(z=30))),
        Case("the past reset in the candidate (r = 0, z = 1)", (x, h, W_x, W_h, saturated(r=-30, z=30))),
        Case("everything at once", (x, h, W_x, W_h, b)),
        Case("a batch of one", (x[:1], h[:1], W_x, W_h, b)),
    ]


def _extreme_cases(seed: int) -> list[Case]:
    rng = np.random.default_rng(seed)
    W_x, W_h, b = weights(rng, 3)
    x, h = rng.normal(size=(B, D)), away_from_zero(rng, B, H, high=0.9)
    return [
        Case("pre-activations around 1000", (x, h, W_x, W_h, b + 1000)),
        Case("pre-activations around -1000", (x, h, W_x, W_h, b - 1000)),
        Case("inputs around +-1000", (1000 * np.sign(x), h, W_x, W_h, b)),
    ]


def _forward_cases(seed: int) -> list[Case]:
    rng = np.random.default_rng(seed)
    W_x, W_h, b = weights(rng, 3)
    x, h0 = rng.normal(size=(B, T, D)), away_from_zero(rng, B, H, high=0.9)
    return [
        Case("a single step", (x[:, :1], W_x, W_h, b, h0)),
        Case("an initial state of zero", (x, W_x, W_h, b, np.zeros((B, H)))),
        Case("an initial state that is not zero", (x, W_x, W_h, b, h0)),
        Case("a saturated copy (z = 0)", (x, W_x, W_h, biased(b, "rzn", {"z": -30}), h0)),
    ]


def _step_backward_cases(seed: int) -> list[Case]:
    rng = np.random.default_rng(seed)
    W_x, W_h, b = weights(rng, 3, high=0.6)
    x, h, d_h = rng.normal(size=(B, D)), away_from_zero(rng, B, H, high=0.9), away_from_zero(rng, B, H)
    return [
        Case("a saturated copy (z = 0)", (d_h, x, h, W_x, W_h, biased(b, "rzn", {"z": -30}))),
        Case("the past reset (r = 0)", (d_h, x, h, W_x, W_h, biased(b, "rzn", {"r": -30}))),
        Case("a previous state of zero", (d_h, x, np.zeros((B, H)), W_x, W_h, b)),
        Case("everything at once", (d_h, x, h, W_x, W_h, b)),
    ]


def _jacobian_cases(seed: int) -> list[Case]:
    rng = np.random.default_rng(seed)
    W_x, W_h, b = weights(rng, 3, high=0.6)
    x, h = rng.normal(size=D), away_from_zero(rng, H, high=0.9)
    return [
        Case("a saturated copy (z = 0)", (x, h, W_x, W_h, biased(b, "rzn", {"z": -30}))),
        Case("recurrent weights of zero", (x, h, W_x, 0 * W_h, b)),
        Case("everything written (z = 1)", (x, h, W_x, W_h, biased(b, "rzn", {"z": 30}))),
        Case("the past reset (r = 0)", (x, h, W_x, W_h, biased(b, "rzn", {"r": -30}))),
        Case("a previous state of zero", (x, 0 * h, W_x, W_h, b)),
        Case("everything at once", (x, h, W_x, W_h, b)),
    ]


# --- mistakes -------------------------------------------------------------------------------------------------------

_N = "n = np.tanh(x @ W_xn.T + (r * h_prev) @ W_hn.T + b_n)"
_BLEND = "return (1 - z) * h_prev + z * n"
_AFTER = _N.replace("(r * h_prev) @ W_hn.T + b_n", "r * (h_prev @ W_hn.T) + b_n")
_AFTER_B = _N.replace("(r * h_prev) @ W_hn.T + b_n", "r * (h_prev @ W_hn.T + b_n)")
_KEEP = "return z * h_prev + (1 - z) * n"

STEP_MISTAKES = (
    mistake(
        "reset ignored",
        "the reset gate is not used: the candidate sees the whole previous state.",
        "zhiyongc/GRU-D#2",
        gru_step,
        (_N, _N.replace("(r * h_prev)", "h_prev")),
    ),
    mistake(
        "reset after the product",
        "the reset gate is applied after the matrix product, r * (h_prev @ W.T). That is a right GRU of another kind, "
        "the one of PyTorch and cuDNN; this course has (r * h_prev) @ W.T.",
        "Dive-into-DL-PyTorch#88",
        gru_step,
        (_N, _AFTER),
    ),
    mistake(
        "reset after the product and the bias",
        "the reset gate is applied after the matrix product and its bias, r * (h_prev @ W.T + b). That is a right GRU "
        "of another kind, the one of PyTorch and cuDNN; this course has (r * h_prev) @ W.T + b.",
        "Dive-into-DL-PyTorch#88",
        gru_step,
        (_N, _AFTER_B),
    ),
    mistake(
        "z reversed",
        "the update gate is reversed, z * h_prev + (1 - z) * n. That is a right GRU in the convention of PyTorch, Keras "
        "and Cho et al., where z is the share that is kept; in this course it is the share that is written.",
        "ageron/handson-ml#563, keras#785",
        gru_step,
        (_BLEND, _KEEP),
    ),
    mistake(
        "z reversed, reset after the product",
        "the cell is PyTorch's: the reset gate after the matrix product, and z the share that is kept. It is a right "
        "GRU; this course has (r * h_prev) @ W.T, and z is the share that is written.",
        "Dive-into-DL-PyTorch#88, keras#785",
        gru_step,
        (_N, _AFTER),
        (_BLEND, _KEEP),
    ),
    mistake(
        "reset state in the blend",
        "the blend takes the reset state r * h_prev; the reset gate belongs to the candidate alone.",
        "D-Nilsson/GRFP#6",
        gru_step,
        (_BLEND, _BLEND.replace("* h_prev", "* (r * h_prev)")),
    ),
    mistake(
        "r and z swapped",
        "the reset gate and the update gate are swapped, or the blocks are read in the order z, r, n of Keras and ONNX; "
        "this course and PyTorch have r, z, n.",
        "distillpub/post--memorization-in-rnns#24",
        gru_step,
        ("W_xr, W_xz, W_xn =", "W_xz, W_xr, W_xn ="),
        ("W_hr, W_hz, W_hn =", "W_hz, W_hr, W_hn ="),
        ("b_r, b_z, b_n =", "b_z, b_r, b_n ="),
    ),
    mistake(
        "old state left out",
        "the old state is left out of the blend: the share 1 - z of it is kept.",
        "mquad/hgru4rec#11",
        gru_step,
        (_BLEND, "return z * n"),
    ),
    mistake(
        "old state kept whole",
        "the old state is kept whole and z * n is added; the blend keeps the share 1 - z of it.",
        "mquad/hgru4rec#11",
        gru_step,
        (_BLEND, "return h_prev + z * n"),
    ),
    mistake(
        "candidate alone",
        "the candidate is returned, without the blend.",
        "the exercise",
        gru_step,
        (_BLEND, "return n"),
    ),
    mistake(
        "candidate by sigmoid",
        "the candidate goes through the sigmoid; it is content, between -1 and 1, and goes through tanh.",
        "the exercise",
        gru_step,
        (_N, _N.replace("np.tanh", "sigmoid")),
    ),
    mistake(
        "one bias for all",
        "one gate's bias is used for all three blocks.",
        "numpy-ml#42",
        gru_step,
        ("b_r, b_z, b_n = np.split(b, 3)", "b_r = b_z = b_n = np.split(b, 3)[0]"),
    ),
    mistake(
        "no bias",
        "the biases are left out.",
        "variant of numpy-ml#42",
        gru_step,
        ("b_r, b_z, b_n = np.split(b, 3)", "b_r = b_z = b_n = 0"),
    ),
    mistake(
        "no recurrence in the gates",
        "the previous hidden state does not reach the two gates.",
        "makemore PR#3",
        gru_step,
        (" + h_prev @ W_hr.T", ""),
        (" + h_prev @ W_hz.T", ""),
    ),
    mistake(
        "recurrent blocks not transposed",
        "the recurrent weights of each gate are used without the transpose: h_prev @ W.T, not h_prev @ W.",
        "sherjilozair/ctc#1",
        gru_step,
        ("np.split(W_h, 3)", "(W.T for W in np.split(W_h, 3))"),
    ),
)

EXTREME_MISTAKES = (
    Mistake(
        "sigmoid overflow",
        "sigma is written 1 / (1 + exp(-a)), which asks for exp(1000) at a = -1000; take a form that never does.",
        "karpathy/neuraltalk#2",
        lambda: edited(gru_step, sigmoid=lambda a: 1 / (1 + np.exp(-a))),
    ),
    Mistake(
        "sigmoid as a quotient",
        "sigma is written exp(a) / (1 + exp(a)), which is infinity over infinity at a = 1000; take a form that never "
        "asks for so large a number.",
        "karpathy/neuraltalk#2",
        lambda: edited(gru_step, sigmoid=lambda a: np.exp(a) / (1 + np.exp(a))),
    ),
)

_CALL = "h = gru_step(x[:, t], h, W_x, W_h, b)"

FORWARD_MISTAKES = (
    mistake(
        "state never updated",
        "every step starts from the initial state again: the new h has to go into the next step.",
        "makemore PR#3",
        gru_forward,
        (_CALL, _CALL.replace("t], h,", "t], h0,")),
    ),
    mistake(
        "initial state ignored",
        "h0 is ignored: the walk starts from zeros.",
        "handson-mlp PR#4",
        gru_forward,
        ("h = h0", "h = 0 * h0"),
    ),
    mistake(
        "walked backwards",
        "the sequence is walked from its last step to its first.",
        "stanfordmlgroup/nlc#8",
        gru_forward,
        ("range(x.shape[1])", "reversed(range(x.shape[1]))"),
        ("np.stack(outputs, axis=1)", "np.stack(outputs[::-1], axis=1)"),
    ),
    mistake(
        "reshape for a transpose",
        "the collected outputs are brought to (batch, time, hidden) by reshape; that mixes sequences, transpose them.",
        "neon#311",
        gru_forward,
        ("np.stack(outputs, axis=1)", "np.stack(outputs).reshape(len(x), -1, h.shape[1])"),
    ),
    mistake(
        "time first",
        "the outputs come as (time, batch, hidden); asked is (batch, time, hidden).",
        "pytorch#4145",
        gru_forward,
        ("np.stack(outputs, axis=1)", "np.stack(outputs)"),
    ),
    *within(gru_forward, "gru_step", STEP_MISTAKES),
)

_PATHS = "d_h_prev = d_h * (1 - z) + d_s * r + d_a_r @ W_hr + d_a_z @ W_hz"
_D_R = "d_a_r = d_s * h_prev * r * (1 - r)"
_D_Z = "d_a_z = d_h * (n - h_prev) * z * (1 - z)"
_D_N = "d_a_n = d_h * z * (1 - n**2)"

STEP_BACKWARD_MISTAKES = (
    mistake(
        "path through the blend missing",
        "d_h_prev lacks the path through the blend, d_h * (1 - z).",
        "Halfish/cs231n#4",
        gru_step_backward,
        (_PATHS, _PATHS.replace("d_h * (1 - z) + ", "")),
    ),
    mistake(
        "path through the candidate missing",
        "d_h_prev lacks the path through the candidate, where the state is multiplied by r.",
        "Halfish/cs231n#4",
        gru_step_backward,
        (_PATHS, _PATHS.replace("d_s * r + ", "")),
    ),
    mistake(
        "paths through the gates missing",
        "d_h_prev lacks the paths through the two gates: both see the previous state.",
        "the exercise",
        gru_step_backward,
        (_PATHS, _PATHS.replace(" + d_a_r @ W_hr + d_a_z @ W_hz", "")),
    ),
    mistake(
        "reset gate left out of the candidate's path",
        "the candidate's path to h_prev lacks the reset gate: the candidate saw r * h_prev.",
        "the exercise",
        gru_step_backward,
        (_PATHS, _PATHS.replace("d_s * r", "d_s")),
    ),
    mistake(
        "whole state in the candidate's weights",
        "the gradient of the candidate's recurrent weights uses h_prev; they multiplied r * h_prev.",
        "the exercise",
        gru_step_backward,
        ("d_a_n.T @ (r * h_prev)", "d_a_n.T @ h_prev"),
    ),
    mistake(
        "sign of the update gate's gradient",
        "the update gate's gradient has the wrong sign: h grows with z where n is larger, so it is n - h_prev.",
        "ageron/handson-ml#563",
        gru_step_backward,
        (_D_Z, _D_Z.replace("n - h_prev", "h_prev - n")),
    ),
    mistake(
        "sigma for its derivative",
        "sigma stands where its derivative belongs: s * (1 - s), with s the gate's value.",
        "CaptainE/RNN-LSTM-in-numpy#1",
        gru_step_backward,
        (_D_R, _D_R.replace(" * (1 - r)", "")),
        (_D_Z, _D_Z.replace(" * (1 - z)", "")),
    ),
    mistake(
        "tanh' without its square",
        "the derivative of tanh is written 1 - n; it is 1 - n**2.",
        "deep-learning-from-scratch-2#26",
        gru_step_backward,
        (_D_N, _D_N.replace("n**2", "n")),
    ),
    mistake(
        "update gate left out of the candidate",
        "the candidate's gradient lacks the update gate: only the share z of it is written.",
        "the exercise",
        gru_step_backward,
        (_D_N, _D_N.replace("z * ", "")),
    ),
    mistake(
        "z reversed",
        "z is taken to be the share that is kept, as in PyTorch; here h is (1 - z) * h_prev + z * n.",
        "ageron/handson-ml#563, keras#785",
        gru_step_backward,
        (_PATHS, _PATHS.replace("d_h * (1 - z)", "d_h * z")),
        (_D_Z, _D_Z.replace("n - h_prev", "h_prev - n")),
        (_D_N, _D_N.replace("z * ", "(1 - z) * ")),
    ),
    mistake(
        "gate derivatives missing",
        "the derivatives of the gates' own sigmoid and tanh are missing: the gradient stops at the gates' values.",
        "the exercise",
        gru_step_backward,
        (_D_R, _D_R.replace(" * r * (1 - r)", "")),
        (_D_Z, _D_Z.replace(" * z * (1 - z)", "")),
        (_D_N, "d_a_n = d_h * z"),
    ),
    mistake(
        "mean over the batch",
        "the weights' gradients are means over the batch; the loss's gradient is the sum.",
        "the exercise",
        gru_step_backward,
        (
            "return d_a @ W_x, d_h_prev, d_a.T @ x, d_W_h, d_a.sum(axis=0)",
            "return d_a @ W_x, d_h_prev, d_a.T @ x / len(x), d_W_h / len(x), d_a.mean(axis=0)",
        ),
    ),
    mistake(
        "one gate's gradient for all",
        "one gate's gradient is copied to the others.",
        "hanbt/learn_dl#53",
        gru_step_backward,
        ("[d_a_r, d_a_z, d_a_n]", "[d_a_r, d_a_r, d_a_r]"),
    ),
    mistake(
        "blocks in another order",
        "the blocks of the gates' gradients are stacked z, r, n; they have to be r, z, n.",
        "distillpub/post--memorization-in-rnns#24",
        gru_step_backward,
        ("[d_a_r, d_a_z, d_a_n]", "[d_a_z, d_a_r, d_a_n]"),
    ),
)

_KEPT = "kept = np.diag(1 - z)"
_BY_Z = "by_z = ((n - h_prev) * z * (1 - z))[:, None] * W_hz"
_INNER = "inner = np.diag(r) + (h_prev * r * (1 - r))[:, None] * W_hr"
_BY_N = "by_n = (z * (1 - n**2))[:, None] * (W_hn @ inner)"
_SUM_OF_PATHS = "return kept + by_z + by_n"

JACOBIAN_MISTAKES = (
    mistake(
        "transposed",
        "the Jacobian is transposed: here row i, column j is d h[i] / d h_prev[j].",
        "layouts differ between libraries",
        gru_step_jacobian,
        (_SUM_OF_PATHS, "return (kept + by_z + by_n).T"),
    ),
    mistake(
        "blend alone",
        "only the direct path is there, diag(1 - z): h_prev also moves both gates and the candidate.",
        "the exercise",
        gru_step_jacobian,
        (_SUM_OF_PATHS, "return kept"),
    ),
    mistake(
        "path through the blend missing",
        "the direct path through the blend is missing: diag(1 - z).",
        "Halfish/cs231n#4",
        gru_step_jacobian,
        (_SUM_OF_PATHS, "return by_z + by_n"),
    ),
    mistake(
        "path through the update gate missing",
        "the path through the update gate is missing: h_prev moves z, and z decides between h_prev and n.",
        "Halfish/cs231n#4",
        gru_step_jacobian,
        (_SUM_OF_PATHS, "return kept + by_n"),
    ),
    mistake(
        "path through the candidate missing",
        "the path through the candidate is missing.",
        "Halfish/cs231n#4",
        gru_step_jacobian,
        (_SUM_OF_PATHS, "return kept + by_z"),
    ),
    mistake(
        "path through the reset gate missing",
        "the reset gate is treated as a constant: h_prev moves r, and r scales what the candidate sees.",
        "the exercise",
        gru_step_jacobian,
        (_INNER, "inner = np.diag(r)"),
    ),
    mistake(
        "reset gate ignored in the candidate",
        "the candidate's path lacks the reset gate: the candidate saw r * h_prev.",
        "zhiyongc/GRU-D#2",
        gru_step_jacobian,
        (_INNER, "inner = np.eye(len(r))"),
    ),
    mistake(
        "sign of the update gate's path",
        "the update gate's path has the wrong sign: h grows with z where n is larger, so it is n - h_prev.",
        "ageron/handson-ml#563",
        gru_step_jacobian,
        (_BY_Z, _BY_Z.replace("n - h_prev", "h_prev - n")),
    ),
    mistake(
        "z reversed",
        "z is taken to be the share that is kept, as in PyTorch; here the direct path is 1 - z and the candidate's z.",
        "ageron/handson-ml#563, keras#785",
        gru_step_jacobian,
        (_KEPT, "kept = np.diag(z)"),
        (_BY_Z, _BY_Z.replace("n - h_prev", "h_prev - n")),
        (_BY_N, _BY_N.replace("(z *", "((1 - z) *")),
    ),
    mistake(
        "sigma for its derivative",
        "sigma stands where its derivative belongs: s * (1 - s), with s the gate's value.",
        "CaptainE/RNN-LSTM-in-numpy#1",
        gru_step_jacobian,
        (_BY_Z, _BY_Z.replace(" * (1 - z)", "")),
        (_INNER, _INNER.replace(" * (1 - r)", "")),
    ),
    mistake(
        "derivatives on the columns",
        "the derivatives of the gates and of tanh scale the columns; a row of the Jacobian belongs to one new unit, so "
        "they scale the rows.",
        "layouts differ between libraries",
        gru_step_jacobian,
        (_BY_Z, _BY_Z.replace("[:, None]", "")),
        (_INNER, _INNER.replace("[:, None]", "")),
        (_BY_N, _BY_N.replace("[:, None]", "")),
    ),
)

# --- questions ------------------------------------------------------------------------------------------------------

QUESTIONS = {
    question.name: question
    for question in (
        Question(
            "vector.gru_step",
            gru_step,
            (Output("hidden state h", ("batch", "hidden")),),
            _step_cases,
            STEP_MISTAKES,
        ),
        Question(
            "vector.gru_step_extremes",
            gru_step,
            (Output("hidden state h", ("batch", "hidden")),),
            _extreme_cases,
            EXTREME_MISTAKES,
            quiet=True,
            title="gru_step",
        ),
        Question(
            "vector.gru_forward",
            gru_forward,
            (
                Output("output", ("batch", "time", "hidden")),
                Output("last hidden state h_n", ("batch", "hidden")),
            ),
            _forward_cases,
            FORWARD_MISTAKES,
        ),
        Question(
            "vector.gru_step_backward",
            gru_step_backward,
            (
                Output("gradient of x", ("batch", "input")),
                Output("gradient of h_prev", ("batch", "hidden")),
                Output("gradient of W_x", ("3 hidden", "input")),
                Output("gradient of W_h", ("3 hidden", "hidden")),
                Output("gradient of b", ("3 hidden",)),
            ),
            _step_backward_cases,
            STEP_BACKWARD_MISTAKES,
        ),
        Question(
            "vector.gru_step_jacobian",
            gru_step_jacobian,
            (Output("Jacobian", ("hidden", "previous hidden")),),
            _jacobian_cases,
            JACOBIAN_MISTAKES,
        ),
    )
}

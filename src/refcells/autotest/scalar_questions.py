"""Questions about one unit on plain floats. Nothing here needs NumPy or torch."""

import math
import random
from collections.abc import Callable, Sequence
from typing import Any

from refcells import scalar
from refcells.autotest import scalar_gru
from refcells.autotest.compare import Output
from refcells.autotest.mistakes import Mistake, edited, mistake, within
from refcells.autotest.verdict import Case, Question


def _weights(rng: random.Random) -> tuple[list[float], list[float], list[float]]:
    """Input weights, recurrent weights and biases, all different and none of them near 0."""

    def four() -> list[float]:
        return [rng.choice((-1, 1)) * rng.uniform(0.3, 1.5) for _ in range(4)]

    return four(), four(), four()


def _with(values: Sequence[float], **gates: float) -> list[float]:
    """`values` with some gates' entries replaced."""
    changed = list(values)
    for name, value in gates.items():
        changed["ifgo".index(name)] = value
    return changed


ZEROS = [0.0, 0.0, 0.0, 0.0]


def _sigmoid_cases(seed: int) -> list[Case]:
    rng = random.Random(seed)
    return [
        Case("a = 0", (0.0,)),
        Case("a moderate positive number", (rng.uniform(0.5, 3),)),
        Case("a moderate negative number", (-rng.uniform(0.5, 3),)),
        Case("a large positive number", (rng.uniform(800, 1200),)),
        Case("a large negative number", (-rng.uniform(800, 1200),)),
    ]


def _gates_cases(seed: int) -> list[Case]:
    rng = random.Random(seed)
    x, h = rng.uniform(0.5, 1.5), -rng.uniform(0.4, 0.9)
    w_x, w_h, b = _weights(rng)
    return [
        Case("only the biases", (0.0, 0.0, w_x, w_h, b)),
        Case("only the input x", (x, 0.0, w_x, w_h, ZEROS)),
        Case("only the hidden state h_prev", (0.0, h, w_x, w_h, ZEROS)),
        Case("everything at once", (x, h, w_x, w_h, b)),
    ]


def _update_cases(seed: int) -> list[Case]:
    rng = random.Random(seed)
    i, f, o = (rng.uniform(0.2, 0.45), rng.uniform(0.55, 0.7), rng.uniform(0.75, 0.95))
    g, c = -rng.uniform(0.3, 0.9), rng.uniform(1.5, 2.5)
    return [
        Case("an empty cell state", (i, f, g, o, 0.0)),
        Case("nothing to write (g = 0)", (i, f, 0.0, o, c)),
        Case("f = 1 and i = 0, a pure copy", (0.0, 1.0, g, 1.0, 3.0)),
        Case("f = 1 and i = 1", (1.0, 1.0, g, o, c)),
        Case("a closed output gate (o = 0)", (i, f, g, 0.0, c)),
        Case("everything at once", (i, f, g, o, c)),
    ]


def _step_cases(seed: int) -> list[Case]:
    rng = random.Random(seed)
    w_x, w_h, b = _weights(rng)
    x, h, c = rng.uniform(0.5, 1.5), -rng.uniform(0.4, 0.9), rng.choice((-1, 1)) * rng.uniform(1.5, 2.5)
    return [
        Case("all states zero", (x, 0.0, 0.0, w_x, w_h, b)),
        Case("a saturated copy (f open, i closed)", (x, h, c, w_x, w_h, _with(b, f=30.0, i=-30.0))),
        Case("a saturated write (f closed, i open)", (x, h, c, w_x, w_h, _with(b, f=-30.0, i=30.0))),
        Case("f and i both open", (x, h, c, w_x, w_h, _with(b, f=30.0, i=30.0))),
        Case("everything at once", (x, h, c, w_x, w_h, b)),
    ]


def _forward_cases(seed: int) -> list[Case]:
    rng = random.Random(seed)
    w_x, w_h, b = _weights(rng)
    xs = [rng.uniform(-1.5, 1.5) for _ in range(5)]
    h0, c0 = -rng.uniform(0.4, 0.9), rng.uniform(1.0, 2.0)
    return [
        Case("a single step", (xs[:1], w_x, w_h, b, h0, c0)),
        Case("initial states of zero", (xs, w_x, w_h, b, 0.0, 0.0)),
        Case("initial states that are not zero", (xs, w_x, w_h, b, h0, c0)),
        Case("a saturated copy (f open, i closed)", (xs, w_x, w_h, _with(b, f=30.0, i=-30.0), h0, c0)),
    ]


def steps_to_half(a_f: float) -> int:
    r"""Number of steps after which a forget gate $f = \sigma(a_f)$ has kept at most half: the smallest n, $f^n \le 1/2$."""
    f = scalar.sigmoid(a_f)
    kept, steps = 1.0, 0
    while kept > 0.5:
        kept *= f
        steps += 1
    return steps


def _half_cases(seed: int) -> list[Case]:
    rng = random.Random(seed)
    cases = [Case("a closed gate (a_f = -8)", (-8.0,)), Case("a_f = 0", (0.0,)), Case("a_f = 1", (1.0,))]
    while len(cases) < 6:
        a = rng.uniform(1.5, 5.0)
        exact = math.log(0.5) / math.log(scalar.sigmoid(a))
        if 0.1 < exact % 1 < 0.9:  # well away from the next whole number
            cases.append(Case(f"a_f = {a:.2f}", (a,)))
    return cases


def _naive_sigmoid() -> Any:
    return edited(
        scalar.sigmoid,
        ("e = math.exp(-abs(a))", "e = 0.0"),
        ("return 1.0 / (1.0 + e) if a >= 0 else e / (1.0 + e)", "return 1.0 / (1.0 + math.exp(-a))"),
    )


def _quotient_sigmoid() -> Any:
    return edited(
        scalar.sigmoid,
        ("e = math.exp(-abs(a))", "e = math.exp(a)"),
        ("return 1.0 / (1.0 + e) if a >= 0 else e / (1.0 + e)", "return e / (1.0 + e)"),
    )


def _gates_mistake(*edits: tuple[str, str]) -> Any:
    return lambda: edited(scalar.lstm_gates, *edits)


def _update_mistake(*edits: tuple[str, str]) -> Any:
    return lambda: edited(scalar.lstm_update, *edits)


_WRITE = 'c = f * _number("c_prev", c_prev) + i * g'
_SHOW = "return o * math.tanh(c), c"
_GATES = "return sigmoid(a_i), sigmoid(a_f), math.tanh(a_g), sigmoid(a_o)"
_SUM = "w_x[k] * x + w_h[k] * h_prev + b[k]"

GATES_MISTAKES = (
    Mistake(
        "gates swapped i f",
        "the input gate and the forget gate are swapped, or the blocks are read in the order f, i, g, o.",
        "NX-AI/xlstm#98",
        _gates_mistake(("a_i, a_f, a_g, a_o = (", "a_f, a_i, a_g, a_o = (")),
    ),
    Mistake(
        "order i f o g",
        "the weights are read in the order i, f, o, g; this course and PyTorch have i, f, g, o.",
        "coremltools PR#93",
        _gates_mistake(("a_i, a_f, a_g, a_o = (", "a_i, a_f, a_o, a_g = (")),
    ),
    Mistake(
        "order i o f g",
        "the weights are read in ONNX's order i, o, f, g; this course and PyTorch have i, f, g, o.",
        "ngraph PR#2080",
        _gates_mistake(("a_i, a_f, a_g, a_o = (", "a_i, a_o, a_f, a_g = (")),
    ),
    Mistake(
        "one bias for all",
        "one gate's bias is used for all four.",
        "numpy-ml#42",
        _gates_mistake((_SUM, _SUM.replace("b[k]", "b[0]"))),
    ),
    Mistake(
        "no bias",
        "the biases are left out.",
        "variant of numpy-ml#42",
        _gates_mistake((_SUM, _SUM.replace(" + b[k]", ""))),
    ),
    Mistake(
        "no recurrence",
        "the previous hidden state does not reach the gates.",
        "makemore PR#3",
        _gates_mistake((_SUM, _SUM.replace(" + w_h[k] * h_prev", ""))),
    ),
    Mistake(
        "weights exchanged",
        "w_x and w_h are exchanged.",
        "the exercise",
        _gates_mistake((_SUM, _SUM.replace("w_x[k] * x + w_h[k] * h_prev", "w_h[k] * x + w_x[k] * h_prev"))),
    ),
    Mistake(
        "candidate by sigmoid",
        "the candidate g goes through the sigmoid; it is content, between -1 and 1, and goes through tanh.",
        "the exercise",
        _gates_mistake((_GATES, _GATES.replace("math.tanh(a_g)", "sigmoid(a_g)"))),
    ),
    Mistake(
        "gates by tanh",
        "the gates go through tanh; a gate is a share between 0 and 1 and goes through the sigmoid.",
        "the exercise",
        _gates_mistake((_GATES, "return math.tanh(a_i), math.tanh(a_f), math.tanh(a_g), math.tanh(a_o)")),
    ),
    Mistake(
        "pre-activations returned",
        "the pre-activations are returned, without sigmoid and tanh.",
        "the exercise",
        _gates_mistake((_GATES, "return a_i, a_f, a_g, a_o")),
    ),
)

UPDATE_MISTAKES = (
    Mistake(
        "no tanh in h",
        "h is o * c, without the tanh: h must stay between -1 and 1, however large c has grown.",
        "nicodjimenez/lstm#47, #7",
        _update_mistake((_SHOW, "return o * c, c")),
    ),
    Mistake(
        "tanh written into c",
        "tanh(c) is written back into the cell state; only h gets the tanh, c itself is carried on as it is.",
        "nicodjimenez/lstm#43",
        _update_mistake((_WRITE, _WRITE.replace("c = ", "c = math.tanh(") + ")"), (_SHOW, "return o * c, c")),
    ),
    Mistake(
        "tanh written into c twice",
        "tanh is applied to the cell state before it is kept, and again for h; c itself is carried on as it is.",
        "nicodjimenez/lstm#43",
        _update_mistake((_WRITE, _WRITE.replace("c = ", "c = math.tanh(") + ")")),
    ),
    Mistake(
        "i + g",
        "the candidate is added to the input gate instead of being multiplied by it.",
        "torchrecurrent#22",
        _update_mistake((_WRITE, _WRITE.replace("i * g", "(i + g)"))),
    ),
    Mistake(
        "i and f swapped",
        "the input gate and the forget gate are swapped: f multiplies the old cell state, i the candidate.",
        "NX-AI/xlstm#98",
        _update_mistake((_WRITE, _WRITE.replace("f * ", "i * ").replace("+ i * g", "+ f * g"))),
    ),
    Mistake(
        "h from the old c",
        "h is computed from the old cell state; it shows the new one.",
        "borelien/entailment-neural-attention-lstm-tf#3",
        _update_mistake((_SHOW, _SHOW.replace("math.tanh(c)", "math.tanh(c_prev)"))),
    ),
    Mistake(
        "no forget gate",
        "the forget gate is missing: the old cell state is kept whole (the cell of 1997).",
        "glample/tagger#17",
        _update_mistake((_WRITE, _WRITE.replace("f * ", ""))),
    ),
    Mistake(
        "coupled gates",
        "the forget gate is replaced by 1 - i; in the LSTM the two gates are independent.",
        "glample/tagger#25",
        _update_mistake((_WRITE, _WRITE.replace("f * ", "(1 - i) * "))),
    ),
    Mistake(
        "candidate written whole",
        "the candidate is written whole, without the input gate.",
        "the exercise",
        _update_mistake((_WRITE, _WRITE.replace("i * g", "g"))),
    ),
    Mistake(
        "output gate missing",
        "the output gate is missing: h = tanh(c).",
        "the exercise",
        _update_mistake((_SHOW, "return math.tanh(c), c")),
    ),
    Mistake(
        "states exchanged",
        "the two results are exchanged; they are returned as (h, c), as PyTorch does.",
        "the exercise",
        _update_mistake((_SHOW, "return c, o * math.tanh(c)")),
    ),
    Mistake(
        "cell state overwritten",
        "the old cell state is written over: the new content is added to what f kept of it.",
        "the exercise",
        _update_mistake((_WRITE, "c = i * g")),
    ),
)


# Seen from outside a step, swapping i and f in the update is the same function as swapping them in the gates.
STEP_MISTAKES = (
    *within(scalar.lstm_step, "lstm_gates", GATES_MISTAKES),
    *within(scalar.lstm_step, "lstm_update", UPDATE_MISTAKES, skip=["i and f swapped"]),
)

_STEP = "h, c = lstm_step(x, h, c, w_x, w_h, b)"

FORWARD_MISTAKES = (
    Mistake(
        "state never updated",
        "every step starts from the initial state again: the new h and c have to go into the next step.",
        "makemore PR#3",
        lambda: edited(
            scalar.lstm_forward,
            (_STEP, "h_new, c_new = lstm_step(x, h, c, w_x, w_h, b)"),
            ("hs.append(h)", "hs.append(h_new)"),
            ("cs.append(c)", "cs.append(c_new)"),
        ),
    ),
    Mistake(
        "cell state never updated",
        "the hidden state is carried on, but every step starts from the initial cell state again.",
        "variant of makemore PR#3",
        lambda: edited(
            scalar.lstm_forward,
            (_STEP, "h, c_new = lstm_step(x, h, c, w_x, w_h, b)"),
            ("cs.append(c)", "cs.append(c_new)"),
        ),
    ),
    Mistake(
        "hidden state never updated",
        "the cell state is carried on, but every step starts from the initial hidden state again.",
        "variant of makemore PR#3",
        lambda: edited(
            scalar.lstm_forward,
            (_STEP, "h_new, c = lstm_step(x, h, c, w_x, w_h, b)"),
            ("hs.append(h)", "hs.append(h_new)"),
        ),
    ),
    Mistake(
        "initial state ignored",
        "h0 and c0 are ignored: the walk starts from zeros.",
        "handson-mlp PR#4",
        lambda: edited(scalar.lstm_forward, ("    for x in", "    h, c = 0.0, 0.0\n    for x in")),
    ),
    Mistake(
        "state before the step",
        "the states before each step are collected instead of those after it.",
        "the exercise",
        lambda: edited(
            scalar.lstm_forward,
            ("return hs, cs", "return [h0, *hs[:-1]], [c0, *cs[:-1]]"),
        ),
    ),
    *within(scalar.lstm_forward, "lstm_step", STEP_MISTAKES),
)

# --- the plain RNN and the GRU -------------------------------------------------------------------------------------


def _numbers(rng: random.Random, count: int) -> list[float]:
    return [rng.choice((-1, 1)) * rng.uniform(0.3, 1.2) for _ in range(count)]


def _rnn_step_cases(seed: int) -> list[Case]:
    w_x, w_h, b, x, h = _numbers(random.Random(seed), 5)
    return [
        Case("only the bias", (0.0, 0.0, w_x, w_h, b)),
        Case("only the input x", (x, 0.0, w_x, w_h, 0.0)),
        Case("only the hidden state h_prev", (0.0, h, w_x, w_h, 0.0)),
        Case("everything at once", (x, h, w_x, w_h, b)),
    ]


def _rnn_forward_cases(seed: int) -> list[Case]:
    rng = random.Random(seed)
    w_x, w_h, b, h0 = _numbers(rng, 4)
    xs = _numbers(rng, 5)
    return [
        Case("a single step", (xs[:1], w_x, w_h, b, h0)),
        Case("an initial state of zero", (xs, w_x, w_h, b, 0.0)),
        Case("an initial state that is not zero", (xs, w_x, w_h, b, h0)),
    ]


def _three(rng: random.Random) -> tuple[list[float], list[float], list[float]]:
    return _numbers(rng, 3), _numbers(rng, 3), _numbers(rng, 3)


def _gru_gates_cases(seed: int) -> list[Case]:
    rng = random.Random(seed)
    w_x, w_h, b = _three(rng)
    x, h = _numbers(rng, 2)
    return [
        Case("only the biases", (0.0, 0.0, w_x, w_h, b)),
        Case("only the input x", (x, 0.0, w_x, w_h, ZEROS[:3])),
        Case("only the hidden state h_prev", (0.0, h, w_x, w_h, ZEROS[:3])),
        Case("everything at once", (x, h, w_x, w_h, b)),
    ]


def _gru_candidate_cases(seed: int) -> list[Case]:
    rng = random.Random(seed)
    r = rng.uniform(0.3, 0.7)
    cases = _gru_gates_cases(seed + 1)
    drawn = [Case(c.label, (c.arguments[0], c.arguments[1], r, *c.arguments[2:])) for c in cases]
    x, h, _, *weights = drawn[-1].arguments
    return [
        *drawn,
        Case("r = 0, the past reset", (x, h, 0.0, *weights)),
        Case("r = 1", (x, h, 1.0, *weights)),
    ]


def _gru_update_cases(seed: int) -> list[Case]:
    rng = random.Random(seed)
    z, n, h = rng.uniform(0.6, 0.9), -rng.uniform(0.3, 0.9), rng.uniform(0.3, 0.9)
    return [
        Case("z = 0, a pure copy", (0.0, n, h)),
        Case("z = 1, everything written", (1.0, n, h)),
        Case("everything at once", (z, n, h)),
    ]


def _gru_step_cases(seed: int) -> list[Case]:
    rng = random.Random(seed)
    w_x, w_h, b = _three(rng)
    x, h = _numbers(rng, 2)
    return [
        Case("a state of zero", (x, 0.0, w_x, w_h, b)),
        Case("a saturated copy (z = 0)", (x, h, w_x, w_h, [b[0], -30.0, b[2]])),
        Case("everything written (z = 1)", (x, h, w_x, w_h, [b[0], 30.0, b[2]])),
        Case("the past reset in the candidate (r = 0, z = 1)", (x, h, w_x, w_h, [-30.0, 30.0, b[2]])),
        Case("everything at once", (x, h, w_x, w_h, b)),
    ]


def _gru_forward_cases(seed: int) -> list[Case]:
    rng = random.Random(seed)
    w_x, w_h, b = _three(rng)
    xs, (h0,) = _numbers(rng, 5), _numbers(rng, 1)
    return [
        Case("a single step", (xs[:1], w_x, w_h, b, h0)),
        Case("an initial state of zero", (xs, w_x, w_h, b, 0.0)),
        Case("an initial state that is not zero", (xs, w_x, w_h, b, h0)),
    ]


def _walk_mistakes(
    forward: Callable[..., Any], step: str, mistakes: Sequence[Mistake]
) -> tuple[Mistake, ...]:
    """Mistakes of a walk with one state, and those of its step."""
    call = f"h = {step}(x, h, w_x, w_h, b)"
    return (
        mistake(
            "state never updated",
            "every step starts from the initial state again: the new h has to go into the next step.",
            "makemore PR#3",
            forward,
            (call, call.replace("(x, h,", "(x, h0,")),
        ),
        mistake(
            "initial state ignored",
            "h0 is ignored: the walk starts from zero.",
            "handson-mlp PR#4",
            forward,
            ("    for x in", "    h = 0.0\n    for x in"),
        ),
        mistake(
            "state before the step",
            "the states before each step are collected instead of those after it.",
            "the exercise",
            forward,
            ("return hs", "return [h0, *hs[:-1]]"),
        ),
        *within(forward, step, mistakes),
    )


_TANH = 'return math.tanh(_number("w_x", w_x) * x + _number("w_h", w_h) * h_prev + b)'

RNN_STEP_MISTAKES = (
    mistake(
        "no tanh",
        "the tanh is left out.",
        "the exercise",
        scalar.rnn_step,
        (_TANH, "return w_x * x + w_h * h_prev + b"),
    ),
    mistake(
        "sigmoid",
        "the sigmoid stands in for tanh: a state is content, between -1 and 1.",
        "the exercise",
        scalar.rnn_step,
        (_TANH, "return sigmoid(w_x * x + w_h * h_prev + b)"),
    ),
    mistake(
        "no bias",
        "the bias is left out.",
        "variant of numpy-ml#42",
        scalar.rnn_step,
        (_TANH, "return math.tanh(w_x * x + w_h * h_prev)"),
    ),
    mistake(
        "no recurrence",
        "the previous hidden state is left out.",
        "makemore PR#3",
        scalar.rnn_step,
        (_TANH, "return math.tanh(w_x * x + b)"),
    ),
    mistake(
        "weights exchanged",
        "w_x and w_h are exchanged.",
        "the exercise",
        scalar.rnn_step,
        (_TANH, "return math.tanh(w_h * x + w_x * h_prev + b)"),
    ),
)

_RZ = "a_r, a_z = (w_x[k] * x + w_h[k] * h_prev + b[k] for k in range(2))"
_RZ_OUT = "return sigmoid(a_r), sigmoid(a_z)"
_CANDIDATE = "return math.tanh(w_x[2] * x + w_h[2] * (r * h_prev) + b[2])"
_BLEND = "return (1.0 - z) * h_prev + z * n"

GRU_GATES_MISTAKES = (
    mistake(
        "r and z swapped",
        "the reset gate and the update gate are swapped, or the weights are read in the order z, r, n of Keras and "
        "ONNX; this course and PyTorch have r, z, n.",
        "distillpub/post--memorization-in-rnns#24",
        scalar.gru_gates,
        (_RZ, _RZ.replace("a_r, a_z =", "a_z, a_r =")),
    ),
    mistake(
        "one bias for all",
        "one gate's bias is used for both.",
        "numpy-ml#42",
        scalar.gru_gates,
        (_RZ, _RZ.replace("b[k]", "b[0]")),
    ),
    mistake(
        "no bias",
        "the biases are left out.",
        "variant of numpy-ml#42",
        scalar.gru_gates,
        (_RZ, _RZ.replace(" + b[k]", "")),
    ),
    mistake(
        "no recurrence",
        "the previous hidden state does not reach the gates.",
        "makemore PR#3",
        scalar.gru_gates,
        (_RZ, _RZ.replace(" + w_h[k] * h_prev", "")),
    ),
    mistake(
        "gates by tanh",
        "the gates go through tanh; a gate is a share between 0 and 1 and goes through the sigmoid.",
        "the exercise",
        scalar.gru_gates,
        (_RZ_OUT, "return math.tanh(a_r), math.tanh(a_z)"),
    ),
)

GRU_CANDIDATE_MISTAKES = (
    mistake(
        "reset ignored",
        "the reset gate is not used: the candidate sees the whole previous state.",
        "zhiyongc/GRU-D#2",
        scalar.gru_candidate,
        (_CANDIDATE, _CANDIDATE.replace("(r * h_prev)", "h_prev")),
    ),
    mistake(
        "bias reset too",
        "the reset gate multiplies the bias too, as in PyTorch's GRU; here it multiplies the previous state alone.",
        "Dive-into-DL-PyTorch#88",
        scalar.gru_candidate,
        (_CANDIDATE, "return math.tanh(w_x[2] * x + r * (w_h[2] * h_prev + b[2]))"),
    ),
    mistake(
        "everything reset",
        "the reset gate multiplies the whole sum; it multiplies the previous state alone.",
        "the exercise",
        scalar.gru_candidate,
        (_CANDIDATE, "return math.tanh(r * (w_x[2] * x + w_h[2] * h_prev + b[2]))"),
    ),
    mistake(
        "candidate by sigmoid",
        "the candidate goes through the sigmoid; it is content, between -1 and 1, and goes through tanh.",
        "the exercise",
        scalar.gru_candidate,
        (_CANDIDATE, _CANDIDATE.replace("math.tanh", "sigmoid")),
    ),
    mistake(
        "another block's weights",
        "the candidate uses the update gate's weights; its own are the third.",
        "distillpub/post--memorization-in-rnns#24",
        scalar.gru_candidate,
        (_CANDIDATE, _CANDIDATE.replace("[2]", "[1]")),
    ),
)

GRU_UPDATE_MISTAKES = (
    mistake(
        "z reversed",
        "the update gate is reversed, z * h_prev + (1 - z) * n. That is a right GRU in the convention of PyTorch, Keras "
        "and Cho et al., where z is the share that is kept; in this course it is the share that is written.",
        "ageron/handson-ml#563, keras#785",
        scalar.gru_update,
        (_BLEND, "return z * h_prev + (1.0 - z) * n"),
    ),
    mistake(
        "candidate alone",
        "the candidate is returned, without the blend.",
        "the exercise",
        scalar.gru_update,
        (_BLEND, "return n"),
    ),
    mistake(
        "old state left out",
        "the old state is left out of the blend: the share 1 - z of it is kept.",
        "mquad/hgru4rec#11",
        scalar.gru_update,
        (_BLEND, "return z * n"),
    ),
    mistake(
        "old state kept whole",
        "the old state is kept whole and z * n is added; the blend keeps the share 1 - z of it.",
        "mquad/hgru4rec#11",
        scalar.gru_update,
        (_BLEND, "return h_prev + z * n"),
    ),
)


GRU_STEP_MISTAKES = (
    mistake(
        "reset state in the blend",
        "the blend takes the reset state r * h_prev; the reset gate belongs to the candidate alone.",
        "D-Nilsson/GRFP#6",
        scalar.gru_step,
        ("return gru_update(z, n, h_prev)", "return gru_update(z, n, r * h_prev)"),
    ),
    mistake(
        "z as the reset gate",
        "the candidate is reset by z instead of r.",
        "distillpub/post--memorization-in-rnns#24",
        scalar.gru_step,
        ("gru_candidate(x, h_prev, r,", "gru_candidate(x, h_prev, z,"),
    ),
    *within(scalar.gru_step, "gru_gates", GRU_GATES_MISTAKES),
    *within(scalar.gru_step, "gru_candidate", GRU_CANDIDATE_MISTAKES),
    *within(scalar.gru_step, "gru_update", GRU_UPDATE_MISTAKES),
)


H, C = Output("hidden state h"), Output("cell state c")

QUESTIONS = {
    question.name: question
    for question in (
        Question(
            "scalar.sigmoid",
            scalar.sigmoid,
            (Output("sigmoid(a)"),),
            _sigmoid_cases,
            (
                Mistake(
                    "tanh",
                    "tanh stands in for the sigmoid.",
                    "the exercise",
                    lambda: math.tanh,
                ),
                Mistake(
                    "overflow",
                    "sigma is written 1 / (1 + exp(-a)), which asks for exp(1000) at a = -1000; take another form for "
                    "negative a.",
                    "karpathy/neuraltalk#2",
                    _naive_sigmoid,
                ),
                Mistake(
                    "overflow on the other side",
                    "sigma is written exp(a) / (1 + exp(a)), which asks for exp(1000) at a = 1000; take another form "
                    "for positive a.",
                    "karpathy/neuraltalk#2",
                    _quotient_sigmoid,
                ),
                Mistake(
                    "sign",
                    "the sign in the exponent is missing: 1 / (1 + exp(a)) is sigmoid(-a).",
                    "the exercise",
                    lambda: lambda a: scalar.sigmoid(-a),
                ),
            ),
            quiet=True,
        ),
        Question(
            "scalar.lstm_gates",
            scalar.lstm_gates,
            (Output("input gate i"), Output("forget gate f"), Output("candidate g"), Output("output gate o")),
            _gates_cases,
            GATES_MISTAKES,
        ),
        Question("scalar.lstm_update", scalar.lstm_update, (H, C), _update_cases, UPDATE_MISTAKES),
        Question("scalar.lstm_step", scalar.lstm_step, (H, C), _step_cases, STEP_MISTAKES),
        Question(
            "scalar.lstm_forward",
            scalar.lstm_forward,
            (Output("hidden state hs", ("time",)), Output("cell state cs", ("time",))),
            _forward_cases,
            FORWARD_MISTAKES,
        ),
        Question(
            "scalar.steps_to_half",
            steps_to_half,
            (Output("number of steps"),),
            _half_cases,
            (
                Mistake(
                    "pre-activation as gate",
                    "the gate's value is taken to be a_f itself; the gate is sigmoid(a_f).",
                    "the exercise",
                    lambda: lambda a_f: 1 if a_f <= 0.5 else 10**6,
                ),
                Mistake(
                    "one step short",
                    "the last step at which more than half is left is counted; asked is the first with at most half.",
                    "the exercise",
                    lambda: lambda a_f: steps_to_half(a_f) - 1,
                ),
                Mistake(
                    "one step over",
                    "one step too many is counted; after 0 steps everything is left, after 1 step f of it.",
                    "the exercise",
                    lambda: lambda a_f: steps_to_half(a_f) + 1,
                ),
            ),
        ),
        Question("scalar.rnn_step", scalar.rnn_step, (H,), _rnn_step_cases, RNN_STEP_MISTAKES),
        Question(
            "scalar.rnn_forward",
            scalar.rnn_forward,
            (Output("hidden states", ("time",)),),
            _rnn_forward_cases,
            _walk_mistakes(scalar.rnn_forward, "rnn_step", RNN_STEP_MISTAKES),
        ),
        Question(
            "scalar.gru_gates",
            scalar.gru_gates,
            (Output("reset gate r"), Output("update gate z")),
            _gru_gates_cases,
            GRU_GATES_MISTAKES,
        ),
        Question(
            "scalar.gru_candidate",
            scalar.gru_candidate,
            (Output("candidate n"),),
            _gru_candidate_cases,
            GRU_CANDIDATE_MISTAKES,
        ),
        Question("scalar.gru_update", scalar.gru_update, (H,), _gru_update_cases, GRU_UPDATE_MISTAKES),
        Question("scalar.gru_step", scalar.gru_step, (H,), _gru_step_cases, GRU_STEP_MISTAKES),
        Question(
            "scalar.gru_forward",
            scalar.gru_forward,
            (Output("hidden states", ("time",)),),
            _gru_forward_cases,
            _walk_mistakes(scalar.gru_forward, "gru_step", GRU_STEP_MISTAKES),
        ),
    )
} | scalar_gru.QUESTIONS

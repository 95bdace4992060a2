"""Questions about one unit on plain floats. Nothing here needs NumPy or torch."""

import math
import random
from collections.abc import Sequence
from typing import Any

from refcells import scalar
from refcells.autotest.compare import Output
from refcells.autotest.mistakes import Mistake, edited
from refcells.autotest.verdict import Case, Question

I, F, G, O = 0, 1, 2, 3  # noqa: E741  (the blocks of an LSTM's weights)


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


def _in_step(mistakes: Sequence[Mistake], name: str) -> tuple[Mistake, ...]:
    """The same mistakes, made inside a step: the step calls the wrong `name`."""
    return tuple(
        Mistake(
            m.name,
            m.hint,
            m.source,
            lambda m=m: edited(scalar.lstm_step, **{name: m.make()}),  # type: ignore[misc]
        )
        for m in mistakes
    )


# Seen from outside a step, swapping i and f in the update is the same function as swapping them in the gates.
STEP_MISTAKES = (
    *_in_step(GATES_MISTAKES, "lstm_gates"),
    *_in_step([m for m in UPDATE_MISTAKES if m.name != "i and f swapped"], "lstm_update"),
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
    *(
        Mistake(m.name, m.hint, m.source, lambda m=m: edited(scalar.lstm_forward, lstm_step=m.make()))  # type: ignore[misc]
        for m in STEP_MISTAKES
    ),
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
            tolerance=1e-9,
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
    )
}

"""Questions about the plain RNN in torch: a cell, its walk, the layer, a loss at every step, and a training."""

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from refcells.autotest import probes, rnn_probes, trained_probes
from refcells.autotest.arrays import away_from_zero, torch_state
from refcells.autotest.compare import Output
from refcells.autotest.mistakes import Mistake, mistake
from refcells.autotest.modules import drawn, in_a_list, made, own, transposed
from refcells.autotest.verdict import AtLeast, Case, Question
from refcells.tasks import remember_first
from refcells.torch_cells import RNNCell
from refcells.training import LastStepClassifier, redraw

# All different, so that no wrong axis goes unseen.
B, T, D, H, K = 2, 5, 3, 6, 8
NAMES = ("weight_ih", "weight_hh", "bias_ih", "bias_hh")

# What the training has to reach, and with how many updates; chance is 1/8.
STEPS, LEARNED, UPDATES = 6, 0.95, 150


def unroll(cell: nn.Module, x: Tensor, h0: Tensor) -> tuple[Tensor, Tensor]:
    """Walk an RNN cell over (batch, time, input): outputs and the last state."""
    h = h0
    outputs = []
    for t in range(x.shape[1]):
        h = cell(x[:, t], h)
        outputs.append(h)
    return torch.stack(outputs, dim=1), h


def as_layer(cell: nn.RNNCell) -> nn.RNN:
    """A batch-first nn.RNN with the weights of a cell."""
    layer = nn.RNN(cell.input_size, cell.hidden_size, batch_first=True)
    layer.load_state_dict({f"{name}_l0": value for name, value in cell.state_dict().items()})
    return layer


def sequence_loss(scores: Tensor, targets: Tensor) -> Tensor:
    """Mean cross-entropy over all steps that have a target, from scores (batch, time, classes)."""
    return nn.functional.cross_entropy(scores.transpose(1, 2), targets)


def train_to_remember(steps: int, generator: torch.Generator) -> nn.Module:
    """A plain RNN trained on remember-first."""
    model = LastStepClassifier(nn.RNN(K, 32, batch_first=True), 32, K)
    redraw(model, generator)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(UPDATES):
        x, y = remember_first(32, steps, K, generator=generator)
        loss = nn.functional.cross_entropy(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return model


# --- cases ----------------------------------------------------------------------------------------------------------


_away = functools.partial(away_from_zero, low=0.2, high=0.6)


def _state(rng: np.random.Generator) -> dict[str, np.ndarray]:
    return torch_state(rng, 1, D, H, low=0.2, high=0.6)


def _shapes_cases(seed: int) -> list[Case]:
    return [
        Case("input size 3 and hidden size 4", ((3, 4), NAMES, 1)),
        Case("input size 5 and hidden size 2", ((5, 2), NAMES, 1)),
    ]


def _cell_cases(seed: int) -> list[Case]:
    rng = np.random.default_rng(seed)
    state = _state(rng)
    x, h = rng.normal(size=(B, D)), _away(rng, B, H)
    no_bias = {name: np.zeros_like(array) if "bias" in name else array for name, array in state.items()}
    return [
        Case("only the input x", ((D, H), no_bias, x, 0 * h)),
        Case("only the hidden state", ((D, H), no_bias, 0 * x, h)),
        Case("bias_ih zero", ((D, H), {**state, "bias_ih": np.zeros(H)}, x, h)),
        Case("everything at once", ((D, H), state, x, h)),
    ]


def _gradient_cases(seed: int) -> list[Case]:
    rng = np.random.default_rng(seed)
    state = _state(rng)
    return [Case("a loss on h", ((D, H), state, rng.normal(size=(B, D)), _away(rng, B, H), _away(rng, B, H)))]


def _unroll_cases(seed: int) -> list[Case]:
    rng = np.random.default_rng(seed)
    state = _state(rng)
    x, h = rng.normal(size=(B, T, D)), _away(rng, B, H)
    return [
        Case("a single step", ((D, H), state, x[:, :1], h)),
        Case("an initial state of zero", ((D, H), state, x, 0 * h)),
        Case("an initial state that is not zero", ((D, H), state, x, h)),
    ]


def _loss_cases(seed: int) -> list[Case]:
    rng = np.random.default_rng(seed)
    scores, targets = rng.normal(size=(B, T, 4)), rng.integers(1, 4, (B, T))
    padded = targets.copy()
    padded[0, 2:] = -100
    return [
        Case("a single step", (scores[:, :1], targets[:, :1])),
        Case("a batch of one", (scores[:1], targets[:1])),
        Case("a target at every step", (scores, targets)),
        Case("padded steps", (scores, padded)),
    ]


def _remember_cases(seed: int) -> list[Case]:
    return [Case(f"{STEPS} time steps", (STEPS, K, UPDATES, LEARNED, 1000 + seed, "rnn"))]


_LEARNED = AtLeast(
    LEARNED,
    f"the best of three trained models names {{score:.0%}} of the held-out symbols; expected at least {LEARNED:.0%} "
    "(chance is 12%)",
)


# --- mistakes -------------------------------------------------------------------------------------------------------


_own = functools.partial(own, 1)


PARAMETERS_MISTAKES = (
    in_a_list(1),
    transposed(1),
    made(
        "a single bias",
        "there is a single bias vector; PyTorch has two, bias_ih and bias_hh, and adds them.",
        "numpy-ml#42",
        lambda d, h: {name: value for name, value in _own(d, h).items() if name != "bias_hh"},
    ),
    made(
        "four gates' rows",
        "the weights have 4H rows, as an LSTM's have; a plain RNN has one block of H rows.",
        "the exercise",
        lambda d, h: {
            "weight_ih": drawn(h, 4 * h, d),
            "weight_hh": drawn(h, 4 * h, h),
            "bias_ih": drawn(h, 4 * h),
            "bias_hh": drawn(h, 4 * h),
        },
    ),
)


def _step(name: str, hint: str, source: str, step: Callable[[Any, Tensor, Tensor], Tensor]) -> Mistake:
    """A mistake in the module's step."""

    class Cell(RNNCell):
        def forward(self, x: Tensor, state: Tensor | None = None) -> Tensor:
            assert state is not None
            return step(self, x, state)

    return Mistake(name, hint, source, lambda: Cell)


def _in(m: Any, x: Tensor) -> Tensor:
    return x @ m.weight_ih.T + m.bias_ih


def _back(m: Any, h: Tensor) -> Tensor:
    return h @ m.weight_hh.T + m.bias_hh


CELL_MISTAKES = (
    _step(
        "bias_hh left out",
        "bias_hh is left out: PyTorch adds both biases.",
        "numpy-ml#42",
        lambda m, x, h: torch.tanh(_in(m, x) + h @ m.weight_hh.T),
    ),
    _step(
        "bias_ih left out",
        "bias_ih is left out: PyTorch adds both biases.",
        "numpy-ml#42",
        lambda m, x, h: torch.tanh(x @ m.weight_ih.T + _back(m, h)),
    ),
    _step(
        "no recurrence",
        "the previous hidden state is left out.",
        "makemore PR#3",
        lambda m, x, h: torch.tanh(_in(m, x) + m.bias_hh),
    ),
    _step(
        "recurrent weights not transposed",
        "the recurrent weights are used without the transpose: h @ weight_hh.T, not h @ weight_hh.",
        "sherjilozair/ctc#1",
        lambda m, x, h: torch.tanh(_in(m, x) + h @ m.weight_hh + m.bias_hh),
    ),
    _step(
        "no tanh",
        "the pre-activation is returned, without the tanh.",
        "the exercise",
        lambda m, x, h: _in(m, x) + _back(m, h),
    ),
    _step(
        "relu",
        "relu stands in for tanh; that is nn.RNNCell with nonlinearity='relu', asked is tanh.",
        "the exercise",
        lambda m, x, h: torch.relu(_in(m, x) + _back(m, h)),
    ),
    _step(
        "sigmoid",
        "the sigmoid stands in for tanh: a state is content, between -1 and 1.",
        "the exercise",
        lambda m, x, h: torch.sigmoid(_in(m, x) + _back(m, h)),
    ),
    _step(
        "tanh of the input alone",
        "tanh is applied before the recurrent term is added; it comes last, over the whole sum.",
        "the exercise",
        lambda m, x, h: torch.tanh(_in(m, x)) + _back(m, h),
    ),
)


def _detached(m: Any, x: Tensor, h: Tensor) -> Tensor:
    return torch.tanh(_in(m, x) + _back(m, h.detach()))


def _without_gradients(m: Any, x: Tensor, h: Tensor) -> Tensor:
    with torch.no_grad():
        return torch.tanh(_in(m, x) + _back(m, h))


GRADIENT_MISTAKES = (
    _step(
        "state detached",
        "the previous state is detached inside the step: no gradient goes back in time.",
        "pyGRU4REC#8",
        _detached,
    ),
    _step(
        "computed without gradients",
        "the step is computed under torch.no_grad(), through .data or in NumPy: autograd does not see it.",
        "pyGRU4REC#8",
        _without_gradients,
    ),
)

_WALK = "h = cell(x[:, t], h)"

UNROLL_MISTAKES = (
    mistake(
        "state never updated",
        "every step starts from the initial state again: the new h has to go into the next step.",
        "makemore PR#3",
        unroll,
        (_WALK, "h = cell(x[:, t], h0)"),
    ),
    mistake(
        "initial state ignored",
        "h0 is ignored: the walk starts from zeros.",
        "handson-mlp PR#4",
        unroll,
        ("h = h0", "h = 0 * h0"),
    ),
    mistake(
        "time first",
        "the outputs come as (time, batch, hidden); asked is (batch, time, hidden).",
        "pytorch#4145",
        unroll,
        ("dim=1", "dim=0"),
    ),
    mistake(
        "reshape for a transpose",
        "the collected outputs are brought to (batch, time, hidden) by reshape; that mixes sequences, transpose them.",
        "neon#311, sherjilozair/ctc#1",
        unroll,
        ("torch.stack(outputs, dim=1)", "torch.stack(outputs).reshape(len(x), -1, h.shape[1])"),
    ),
    mistake(
        "states written in place",
        "the new state is written into the old one in place; backward() still needs the old one.",
        "pytorch/rl#1742, pytorch#165621",
        unroll,
        ("h = h0", "h = h0.clone()"),
        (_WALK, "h[:] = cell(x[:, t], h)"),
        ("outputs.append(h)", "outputs.append(h.clone())"),
    ),
    mistake(
        "detached at every step",
        "the state is detached at every step: no gradient goes back in time.",
        "pyGRU4REC#8",
        unroll,
        (_WALK, "h = cell(x[:, t], h.detach())"),
    ),
    mistake(
        "walked backwards",
        "the sequence is walked from its last step to its first.",
        "stanfordmlgroup/nlc#8",
        unroll,
        ("range(x.shape[1])", "reversed(range(x.shape[1]))"),
        ("torch.stack(outputs, dim=1)", "torch.stack(outputs[::-1], dim=1)"),
    ),
    mistake(
        "states before the steps",
        "the states before each step are collected instead of those after it.",
        "the exercise",
        unroll,
        ("torch.stack(outputs, dim=1)", "torch.stack([h0, *outputs[:-1]], dim=1)"),
    ),
)

_LOAD = 'layer.load_state_dict({f"{name}_l0": value for name, value in cell.state_dict().items()})'

LAYER_MISTAKES = (
    mistake(
        "time first",
        "the layer is not batch first, which is PyTorch's default: it takes (batch, time, input) for "
        "(time, batch, input).",
        "pytorch#4145, #19675, #3851",
        as_layer,
        (", batch_first=True", ""),
    ),
    mistake(
        "recurrent weights transposed",
        "the recurrent weights are transposed; cell and layer have the same layout.",
        "layouts differ between libraries",
        as_layer,
        (
            _LOAD,
            'weights = cell.state_dict()\n    weights["weight_hh"] = weights["weight_hh"].T\n    '
            + _LOAD.replace("cell.state_dict()", "weights"),
        ),
    ),
    mistake(
        "one bias left out",
        "only one of the two biases holds the cell's numbers; PyTorch adds both.",
        "numpy-ml#42",
        as_layer,
        (
            _LOAD,
            'weights = cell.state_dict()\n    weights["bias_hh"] = 0 * weights["bias_hh"]\n    '
            + _LOAD.replace("cell.state_dict()", "weights"),
        ),
    ),
    mistake(
        "names without the layer",
        "the names do not fit: those of a layer end in the layer's number, as in weight_ih_l0.",
        "the exercise",
        as_layer,
        (_LOAD, "layer.load_state_dict(cell.state_dict())"),
    ),
    mistake(
        "relu",
        "the layer has relu; the cell has tanh, which is PyTorch's default for both.",
        "the exercise",
        as_layer,
        ("batch_first=True", "batch_first=True, nonlinearity='relu'"),
    ),
)

_LOSS = "return nn.functional.cross_entropy(scores.transpose(1, 2), targets)"

LOSS_MISTAKES = (
    mistake(
        "reshape for a transpose",
        "the classes are brought to the second axis by reshape or view, which mixes steps and classes; transpose them.",
        "sherjilozair/ctc#1, neon#311",
        sequence_loss,
        (_LOSS, _LOSS.replace("transpose(1, 2)", "reshape(len(scores), scores.shape[2], -1)")),
    ),
    mistake(
        "classes on the last axis",
        "the scores are handed over as they are: cross_entropy takes the second axis for the classes.",
        "the exercise",
        sequence_loss,
        (_LOSS, _LOSS.replace(".transpose(1, 2)", "")),
    ),
    mistake(
        "steps of other sequences",
        "scores and targets are flattened in different orders: one batch first, the other time first.",
        "sherjilozair/ctc#1",
        sequence_loss,
        (_LOSS, "return nn.functional.cross_entropy(scores.flatten(0, 1), targets.T.flatten())"),
    ),
    mistake(
        "NLL on raw scores",
        "nll_loss is applied to raw scores; it expects log-probabilities, cross_entropy takes scores.",
        "flashlight#139, pytorch/examples PR#732",
        sequence_loss,
        (_LOSS, _LOSS.replace("cross_entropy", "nll_loss")),
    ),
    mistake(
        "softmax before cross_entropy",
        "softmax is applied before cross_entropy, which applies it itself.",
        "flashlight#139",
        sequence_loss,
        (_LOSS, _LOSS.replace("scores.transpose", "scores.softmax(-1).transpose")),
    ),
    mistake(
        "padding counted",
        "the padded steps count too, as class 0; their target of -100 says that they do not.",
        "the exercise",
        sequence_loss,
        (_LOSS, _LOSS.replace("targets)", "targets.clamp(min=0))")),
    ),
    mistake(
        "padding in the mean",
        "the sum is divided by the number of all steps; the padded ones do not count.",
        "the exercise",
        sequence_loss,
        (_LOSS, _LOSS.replace("targets)", 'targets, reduction="none").mean()')),
    ),
    mistake(
        "sum",
        "the losses are added up; asked is their mean over the steps that count.",
        "the exercise",
        sequence_loss,
        (_LOSS, _LOSS.replace("targets)", 'targets, reduction="sum")')),
    ),
    mistake(
        "last step alone",
        "the last step alone is looked at; every step has a target.",
        "the exercise",
        sequence_loss,
        (_LOSS, "return nn.functional.cross_entropy(scores[:, -1], targets[:, -1])"),
    ),
    mistake(
        "no gradient",
        "the loss carries no gradient: item(), detach() or a detour through NumPy cuts it off.",
        "the exercise",
        sequence_loss,
        (_LOSS, _LOSS.replace("scores.transpose", "scores.detach().transpose")),
    ),
)

REMEMBER_MISTAKES = (
    mistake(
        "parameters not from the generator",
        "the model keeps the parameters that it was built with, or a batch is drawn without the generator.",
        "the exercise",
        train_to_remember,
        ("redraw(model, generator)", "pass"),
    ),
    mistake(
        "more updates than allowed",
        "the training goes on for more updates than the exercise allows.",
        "the exercise",
        train_to_remember,
        ("range(UPDATES)", "range(200)"),
    ),
)

# --- questions ------------------------------------------------------------------------------------------------------

OUTPUT = Output("output", ("batch", "time", "hidden"))

QUESTIONS = {
    question.name: question
    for question in (
        Question(
            "torch.TanhRNNCell_parameters",
            RNNCell,
            (Output("list of shapes of weight_ih, weight_hh, bias_ih, bias_hh"),),
            _shapes_cases,
            PARAMETERS_MISTAKES,
            probe=probes.parameter_shapes,
            title="TanhRNNCell",
        ),
        Question(
            "torch.TanhRNNCell",
            RNNCell,
            (Output("hidden state h", ("batch", "hidden")),),
            _cell_cases,
            CELL_MISTAKES,
            probe=rnn_probes.cell_step,
        ),
        Question(
            "torch.TanhRNNCell_gradients",
            RNNCell,
            (
                Output("gradient of x", ("batch", "input")),
                Output("gradient of h_prev", ("batch", "hidden")),
                *(Output(f"gradient of {name}") for name in NAMES),
            ),
            _gradient_cases,
            GRADIENT_MISTAKES,
            probe=rnn_probes.cell_gradients,
            title="TanhRNNCell",
        ),
        Question(
            "torch.unroll_rnn",
            unroll,
            (
                OUTPUT,
                Output("last hidden state h_n", ("batch", "hidden")),
                Output("gradient of x", ("batch", "time", "input")),
            ),
            _unroll_cases,
            UNROLL_MISTAKES,
            probe=rnn_probes.unrolled,
            title="unroll",
        ),
        Question(
            "torch.as_layer",
            as_layer,
            (OUTPUT, Output("last hidden state h_n", ("layer", "batch", "hidden"))),
            _unroll_cases,
            LAYER_MISTAKES,
            probe=rnn_probes.layer_outputs,
        ),
        Question(
            "torch.sequence_loss",
            sequence_loss,
            (Output("loss"), Output("gradient of the scores", ("batch", "time", "class"))),
            _loss_cases,
            LOSS_MISTAKES,
            probe=rnn_probes.loss_and_gradient,
        ),
        Question(
            "torch.train_rnn_to_remember",
            train_to_remember,
            (Output("accuracy"),),
            _remember_cases,
            REMEMBER_MISTAKES,
            probe=probes.remembered,
            title="train_to_remember",
            score=trained_probes.remembered,
            accept=_LEARNED,
            seconds=50.0,
        ),
    )
}

"""Questions about torch modules and training. Students' work is used through `refcells.autotest.probes`."""

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from refcells import torch_cells
from refcells.autotest import probes, torch_bptt, torch_gru, torch_rnn, trained_probes
from refcells.autotest.arrays import away_from_zero, torch_state
from refcells.autotest.compare import Output
from refcells.autotest.mistakes import Mistake, edited, mistake
from refcells.autotest.modules import drawn, in_a_list, made, own, transposed
from refcells.autotest.verdict import AtLeast, Case, Question
from refcells.tasks import remember_first
from refcells.torch_cells import LSTMCell
from refcells.training import LastStepClassifier, redraw

# H is more than 4: chunks of the wrong number are right for less.
B, T, D, H, K = 2, 5, 3, 6, 8
NAMES = ("weight_ih", "weight_hh", "bias_ih", "bias_hh")

# Held-out accuracy that counts as having learnt remember-first; chance is 1/8.
LEARNED = 0.95

# Seconds for a question that makes the process's first optimiser: PyTorch then loads its compiler, which takes several
# seconds on a busy machine.
FIRST_OPTIMISER = 40.0

# Updates that the training may take.
UPDATES = 200


def gate_block(bias: Tensor, gate: str) -> Tensor:
    """View of one gate's block of a stacked LSTM bias."""
    hidden = bias.shape[0] // 4
    k = "ifgo".index(gate)
    return bias[k * hidden : (k + 1) * hidden]


def set_forget_bias(bias_ih: Tensor, bias_hh: Tensor, value: float) -> None:
    """Make the two forget-gate biases add up to `value`, in place."""
    with torch.no_grad():
        gate_block(bias_ih, "f").fill_(value)
        gate_block(bias_hh, "f").fill_(0.0)


def unroll(cell: nn.Module, x: Tensor, state: tuple[Tensor, Tensor]) -> tuple[Tensor, tuple[Tensor, Tensor]]:
    """Walk an LSTM cell over (batch, time, input): outputs and the last states."""
    h, c = state
    outputs = []
    for t in range(x.shape[1]):
        h, c = cell(x[:, t], (h, c))
        outputs.append(h)
    return torch.stack(outputs, dim=1), (h, c)


class StackedLSTM(nn.Module):
    """LSTM layers on top of each other, each reading the outputs of the one below, from states of zero."""

    def __init__(self, input_size: int, hidden_size: int, layers: int) -> None:
        super().__init__()
        widths = [input_size] + [hidden_size] * (layers - 1)
        self.hidden_size = hidden_size
        self.cells = nn.ModuleList([nn.LSTMCell(width, hidden_size) for width in widths])

    def forward(self, x: Tensor) -> Tensor:
        """Outputs (batch, time, hidden) of the last layer for x (batch, time, input)."""
        for cell in self.cells:
            zeros = x.new_zeros(len(x), self.hidden_size)
            x, _ = unroll(cell, x, (zeros, zeros))
        return x


def train_step(
    model: nn.Module, optimizer: torch.optim.Optimizer, x: Tensor, y: Tensor, clip: float
) -> float:
    """One update: loss, gradients, clipping by global norm, step. Returns the loss before the update, in nats."""
    loss = nn.functional.cross_entropy(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), clip)
    optimizer.step()
    return loss.item()


def train_to_remember(steps: int, generator: torch.Generator) -> nn.Module:
    """A classifier trained on remember-first with forget bias 3."""
    layer = nn.LSTM(K, 32, batch_first=True)
    model = LastStepClassifier(layer, 32, K)
    redraw(model, generator)
    bias = dict(layer.named_parameters())
    set_forget_bias(bias["bias_ih_l0"], bias["bias_hh_l0"], 3.0)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    for _ in range(UPDATES):
        x, y = remember_first(64, steps, K, generator=generator)
        train_step(model, optimizer, x, y, 1.0)
    return model


def train_in_chunks(
    layer: nn.LSTM, linear: nn.Linear, optimizer: torch.optim.Optimizer, x: Tensor, y: Tensor, chunk: int
) -> list[float]:
    """Truncated backpropagation: an update a chunk of the sequence, the state carried on without its history."""
    state = None
    losses = []
    for start in range(0, x.shape[1], chunk):
        output, state = layer(x[:, start : start + chunk], state)
        loss = nn.functional.mse_loss(linear(output), y[:, start : start + chunk])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        state = tuple(s.detach() for s in state)
        losses.append(loss.item())
    return losses


# --- cases ----------------------------------------------------------------------------------------------------------


_away = functools.partial(away_from_zero, low=0.3, high=0.9)


def _state(rng: np.random.Generator) -> dict[str, np.ndarray]:
    return torch_state(rng, 4, D, H, low=0.3, high=0.9)


def _shapes_cases(seed: int) -> list[Case]:
    return [
        Case("input size 3 and hidden size 4", ((3, 4), NAMES)),
        Case("input size 5 and hidden size 2", ((5, 2), NAMES)),
    ]


def _cell_cases(seed: int) -> list[Case]:
    rng = np.random.default_rng(seed)
    state = _state(rng)
    x, h, c = rng.normal(size=(B, D)), _away(rng, B, H), _away(rng, B, H, low=1.5, high=2.5)
    zeros = np.zeros((B, H))
    no_bias = {name: np.zeros_like(array) if "bias" in name else array for name, array in state.items()}
    one_bias = {**state, "bias_ih": np.zeros(4 * H)}
    copy = {**state, "bias_ih": state["bias_ih"] + np.repeat([-40.0, 40.0, 0.0, 0.0], H)}
    return [
        Case("only the input x", ((D, H), no_bias, x, zeros, zeros)),
        Case("only the hidden state", ((D, H), no_bias, np.zeros((B, D)), h, zeros)),
        Case("bias_ih zero", ((D, H), one_bias, x, h, c)),
        Case("a saturated copy (f open, i closed)", ((D, H), copy, x, h, c)),
        Case("everything at once", ((D, H), state, x, h, c)),
    ]


def _gradient_cases(seed: int) -> list[Case]:
    rng = np.random.default_rng(seed)
    state = _state(rng)
    x, h, c = rng.normal(size=(B, D)), _away(rng, B, H), _away(rng, B, H, low=1.5, high=2.5)
    return [Case("a loss on h and c", ((D, H), state, x, h, c, _away(rng, B, H), _away(rng, B, H)))]


def _unroll_cases(seed: int) -> list[Case]:
    rng = np.random.default_rng(seed)
    state = _state(rng)
    x, h, c = rng.normal(size=(B, T, D)), _away(rng, B, H), _away(rng, B, H, low=1.5, high=2.5)
    return [
        Case("a single step", ((D, H), state, x[:, :1], h, c)),
        Case("initial states of zero", ((D, H), state, x, 0 * h, 0 * c)),
        Case("initial states that are not zero", ((D, H), state, x, h, c)),
    ]


def _stack_cases(seed: int) -> list[Case]:
    rng = np.random.default_rng(seed)

    def state(layers: int) -> dict[str, np.ndarray]:
        return {
            f"cells.{k}.{name}": _away(rng, *array.shape[:1], H) if k and name == "weight_ih" else array
            for k in range(layers)
            for name, array in _state(rng).items()
        }

    x = rng.normal(size=(B, T, D))
    return [
        Case("one layer", ((D, H), 1, state(1), x)),
        Case("two layers", ((D, H), 2, state(2), x)),
        Case("three layers", ((D, H), 3, state(3), x)),
    ]


def _bias_cases(seed: int) -> list[Case]:
    rng = np.random.default_rng(seed)
    return [
        Case("hidden size 4 and value 1", (_away(rng, 16), _away(rng, 16), 1.0)),
        Case("hidden size 3 and value -2.5", (_away(rng, 12), _away(rng, 12), -2.5)),
    ]


def _train_cases(seed: int) -> list[Case]:
    rng = np.random.default_rng(seed)
    weight, x, y = _away(rng, 3, D), 4 * rng.normal(size=(6, D)), rng.integers(0, 3, 6)
    small = 0.05 * x
    return [
        Case("one update, gradients too small to be clipped", (weight, small, y, 0.5, 100.0, 1)),
        Case("three updates, gradients too small to be clipped", (weight, small, y, 0.5, 100.0, 3)),
        Case("one update, gradients that are clipped", (weight, x, y, 1.0, 0.1, 1)),
        Case("three updates, gradients that are clipped", (weight, x, y, 1.0, 0.1, 3)),
    ]


def _remember_cases(seed: int) -> list[Case]:
    return [Case("20 time steps", (20, K, UPDATES, LEARNED, 1000 + seed, "lstm"))]


def _chunk_cases(seed: int) -> list[Case]:
    rng = np.random.default_rng(seed)
    layer = {f"{name}_l0": array for name, array in _state(rng).items()}
    linear = {"weight": _away(rng, 2, H), "bias": _away(rng, 2)}
    x, y = rng.normal(size=(B, 6, D)), rng.normal(size=(B, 6, 2))
    return [
        Case("a single chunk", (layer, linear, x, y, 0.1, 6)),
        Case("two chunks", (layer, linear, x, y, 0.1, 3)),
        Case("three chunks", (layer, linear, x, y, 0.1, 2)),
        Case("a last chunk that is shorter", (layer, linear, x, y, 0.1, 4)),
    ]


_LEARNED = AtLeast(
    LEARNED,
    f"the best of three trained models names {{score:.0%}} of the held-out symbols; expected at least {LEARNED:.0%} "
    "(chance is 12%)",
)


# --- mistakes -------------------------------------------------------------------------------------------------------


_CHUNK = "a_i, a_f, a_g, a_o = a.chunk(4, dim=-1)"
_C = "c = torch.sigmoid(a_f) * c_prev + torch.sigmoid(a_i) * torch.tanh(a_g)"
_H = "return torch.sigmoid(a_o) * torch.tanh(c), c"


def _cell(name: str, hint: str, source: str, *edits: tuple[str, str]) -> Mistake:
    """A mistake in the update that the module's step ends with."""

    def make() -> Callable[..., Any]:
        wrong = edited(torch_cells._lstm_update, *edits)

        class Cell(LSTMCell):
            def forward(self, x: Tensor, state: Any = None) -> tuple[Tensor, Tensor]:
                h, c = state
                return wrong(x @ self.weight_ih.T + self.bias_ih + h @ self.weight_hh.T + self.bias_hh, c)

        return Cell

    return Mistake(name, hint, source, make)


def _sum(name: str, hint: str, source: str, pre_activation: Callable[..., Tensor]) -> Mistake:
    """A mistake in the pre-activations of the module's step."""

    class Cell(LSTMCell):
        def forward(self, x: Tensor, state: Any = None) -> tuple[Tensor, Tensor]:
            h, c = state
            return torch_cells._lstm_update(pre_activation(self, x, h), c)

    return Mistake(name, hint, source, lambda: Cell)


CELL_MISTAKES = (
    _cell(
        "gates swapped i f",
        "the input gate and the forget gate are swapped, or the blocks are taken in the order f, i, g, o.",
        "NX-AI/xlstm#98",
        (_CHUNK, _CHUNK.replace("a_i, a_f", "a_f, a_i")),
    ),
    _cell(
        "order i f o g",
        "the blocks are taken in the order i, f, o, g (CS231n's); PyTorch has i, f, g, o.",
        "coremltools PR#93",
        (_CHUNK, _CHUNK.replace("a_g, a_o", "a_o, a_g")),
    ),
    _cell(
        "order i o f g",
        "the blocks are taken in ONNX's order i, o, f, g; PyTorch has i, f, g, o.",
        "ngraph PR#2080",
        (_CHUNK, _CHUNK.replace("a_f, a_g, a_o", "a_o, a_f, a_g")),
    ),
    _cell(
        "no tanh in h",
        "h is o * c, without the tanh.",
        "nicodjimenez/lstm#47, #7",
        (_H, _H.replace("torch.tanh(c)", "c")),
    ),
    _cell(
        "tanh written into c",
        "tanh(c) is written back into the cell state; only h gets the tanh.",
        "nicodjimenez/lstm#43",
        (_H, "c = torch.tanh(c); return torch.sigmoid(a_o) * c, c"),
    ),
    _cell(
        "i + g",
        "the candidate is added to the input gate instead of being multiplied by it.",
        "torchrecurrent#22",
        (_C, _C.replace("torch.sigmoid(a_i) * torch.tanh(a_g)", "torch.sigmoid(a_i) + torch.tanh(a_g)")),
    ),
    _cell(
        "h from the old c",
        "h is computed from the old cell state; it shows the new one.",
        "borelien/entailment-neural-attention-lstm-tf#3",
        (_H, _H.replace("torch.tanh(c)", "torch.tanh(c_prev)")),
    ),
    _cell(
        "no forget gate",
        "the forget gate is missing: the old cell state is kept whole (the cell of 1997).",
        "glample/tagger#17",
        (_C, _C.replace("torch.sigmoid(a_f) * ", "")),
    ),
    _cell(
        "coupled gates",
        "the forget gate is replaced by 1 - i; in the LSTM the two gates are independent.",
        "glample/tagger#25",
        (_C, _C.replace("torch.sigmoid(a_f)", "(1 - torch.sigmoid(a_i))")),
    ),
    _cell(
        "candidate by sigmoid",
        "the candidate goes through the sigmoid; it is content and goes through tanh.",
        "the exercise",
        (_C, _C.replace("torch.tanh(a_g)", "torch.sigmoid(a_g)")),
    ),
    _cell(
        "states exchanged",
        "the two results are exchanged; they are returned as (h, c).",
        "the exercise",
        (
            _H,
            "return c, torch.sigmoid(a_o) * torch.tanh(c)",
        ),
    ),
    _sum(
        "bias_hh left out",
        "bias_hh is left out: PyTorch adds both biases.",
        "numpy-ml#42",
        lambda m, x, h: x @ m.weight_ih.T + m.bias_ih + h @ m.weight_hh.T,
    ),
    _sum(
        "bias_ih left out",
        "bias_ih is left out: PyTorch adds both biases.",
        "numpy-ml#42",
        lambda m, x, h: x @ m.weight_ih.T + h @ m.weight_hh.T + m.bias_hh,
    ),
    _sum(
        "no recurrence",
        "the previous hidden state does not reach the gates.",
        "makemore PR#3",
        lambda m, x, h: x @ m.weight_ih.T + m.bias_ih + m.bias_hh,
    ),
)

_WALK = "h, c = cell(x[:, t], (h, c))"


_own = functools.partial(own, 4)


PARAMETERS_MISTAKES = (
    in_a_list(4),
    transposed(4),
    made(
        "one gate's rows",
        "the weights and biases have one gate's rows; all four gates are stacked, which gives 4H rows.",
        "the exercise",
        lambda d, h: {
            "weight_ih": drawn(h, h, d),
            "weight_hh": drawn(h, h, h),
            "bias_ih": drawn(h, h),
            "bias_hh": drawn(h, h),
        },
    ),
    made(
        "a single bias",
        "there is a single bias vector; PyTorch has two, bias_ih and bias_hh, and adds them.",
        "numpy-ml#42",
        lambda d, h: {name: value for name, value in _own(d, h).items() if name != "bias_hh"},
    ),
)


class _DetachedCell(LSTMCell):
    def forward(self, x: Tensor, state: Any = None) -> tuple[Tensor, Tensor]:
        h, c = state
        return super().forward(x, (h.detach(), c.detach()))


class _DataCell(LSTMCell):
    def forward(self, x: Tensor, state: Any = None) -> tuple[Tensor, Tensor]:
        with torch.no_grad():
            return super().forward(x, state)


GRADIENT_MISTAKES = (
    Mistake(
        "states detached",
        "the previous states are detached inside the step: no gradient goes back in time.",
        "pyGRU4REC#8",
        lambda: _DetachedCell,
    ),
    Mistake(
        "computed without gradients",
        "the step is computed under torch.no_grad(), through .data or in NumPy: autograd does not see it.",
        "pyGRU4REC#8",
        lambda: _DataCell,
    ),
)

UNROLL_MISTAKES = (
    mistake(
        "state never updated",
        "every step starts from the initial states again: the new h and c have to go into the next step.",
        "makemore PR#3",
        unroll,
        (_WALK, "h, c = cell(x[:, t], state)"),
    ),
    mistake(
        "initial state ignored",
        "the initial state is ignored: the walk starts from zeros.",
        "handson-mlp PR#4",
        unroll,
        ("h, c = state", "h, c = 0 * state[0], 0 * state[1]"),
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
        "neon#311",
        unroll,
        ("torch.stack(outputs, dim=1)", "torch.stack(outputs).reshape(len(x), -1, h.shape[1])"),
    ),
    mistake(
        "states written in place",
        "the new states are written into the old ones in place; backward() still needs the old ones.",
        "pytorch/rl#1742, pytorch#165621",
        unroll,
        ("h, c = state", "h, c = (s.clone() for s in state)"),
        (_WALK, "h_new, c_new = cell(x[:, t], (h, c)); h[:] = h_new; c[:] = c_new"),
        ("outputs.append(h)", "outputs.append(h.clone())"),
    ),
    mistake(
        "detached at every step",
        "the states are detached at every step: no gradient goes back in time.",
        "pyGRU4REC#8",
        unroll,
        (_WALK, "h, c = cell(x[:, t], (h.detach(), c.detach()))"),
    ),
    mistake(
        "cell states as outputs",
        "the cell states are collected as outputs; what the next layer sees is h.",
        "the exercise",
        unroll,
        ("outputs.append(h)", "outputs.append(c)"),
    ),
)


class _CellsInAList(nn.Module):
    def __init__(self, input_size: int, hidden_size: int, layers: int) -> None:
        super().__init__()
        widths = [input_size] + [hidden_size] * (layers - 1)
        self.cells = [nn.LSTMCell(width, hidden_size) for width in widths]


class _OneCellForAll(StackedLSTM):
    def __init__(self, input_size: int, hidden_size: int, layers: int) -> None:
        super().__init__(input_size, hidden_size, layers)
        upper = nn.LSTMCell(hidden_size, hidden_size)
        self.cells = nn.ModuleList([self.cells[0]] + [upper] * (layers - 1))


class _FirstLayerAlone(StackedLSTM):
    def forward(self, x: Tensor) -> Tensor:
        zeros = x.new_zeros(len(x), self.hidden_size)
        return unroll(self.cells[0], x, (zeros, zeros))[0]


class _StatesHandedUp(StackedLSTM):
    def forward(self, x: Tensor) -> Tensor:
        zeros = x.new_zeros(len(x), self.hidden_size)
        state = (zeros, zeros)
        for cell in self.cells:
            x, state = unroll(cell, x, state)
        return x


STACK_MISTAKES = (
    Mistake(
        "cells kept in a Python list",
        "the cells are kept in a Python list: a module finds only modules that are its own attributes, or stand in an "
        "nn.ModuleList.",
        "pytorch#715",
        lambda: _CellsInAList,
    ),
    Mistake(
        "one cell for all upper layers",
        "the upper layers are one and the same cell; each layer has weights of its own.",
        "the exercise",
        lambda: _OneCellForAll,
    ),
    Mistake(
        "first layer's outputs",
        "the outputs are the first layer's: each layer reads those of the one below, and the last one's come back.",
        "the exercise",
        lambda: _FirstLayerAlone,
    ),
    Mistake(
        "states handed up",
        "a layer starts from the last states of the layer below; each layer starts from zeros.",
        "handson-mlp PR#4",
        lambda: _StatesHandedUp,
    ),
)

_F_IH, _F_HH = 'gate_block(bias_ih, "f").fill_(value)', 'gate_block(bias_hh, "f").fill_(0.0)'

BIAS_MISTAKES = (
    mistake(
        "both biases",
        "both biases are set to the value: PyTorch adds them, so the gate's bias is twice the value.",
        "PyTorch's two biases",
        set_forget_bias,
        (_F_HH, _F_HH.replace("0.0", "value")),
    ),
    mistake(
        "the other bias left as it was",
        "only one of the two biases is set: PyTorch adds the other one's random numbers.",
        "PyTorch's two biases",
        set_forget_bias,
        (_F_HH, "pass"),
    ),
    mistake(
        "input gate's block",
        "the first block is set, which is the input gate's; the forget gate's is the second.",
        "coremltools PR#93",
        set_forget_bias,
        (_F_IH, _F_IH.replace('"f"', '"i"')),
        (_F_HH, _F_HH.replace('"f"', '"i"')),
    ),
    mistake(
        "whole bias",
        "all four gates' biases are set; only the forget gate's block should be.",
        "the exercise",
        set_forget_bias,
        (_F_IH, "bias_ih.fill_(value)"),
        (_F_HH, "bias_hh.fill_(0.0)"),
    ),
    mistake(
        "added",
        "the value is added to what was there; it should replace it.",
        "the exercise",
        set_forget_bias,
        (_F_IH, 'gate_block(bias_ih, "f").add_(value)'),
        (_F_HH, "pass"),
    ),
)

_CLIP = "nn.utils.clip_grad_norm_(model.parameters(), clip)"

TRAIN_MISTAKES = (
    mistake(
        "not clipped in time",
        "the gradients are not clipped, or only after optimizer.step(), when the update has been made without it.",
        "VGRNN#4",
        train_step,
        (f"    {_CLIP}\n    optimizer.step()", f"    optimizer.step()\n    {_CLIP}"),
    ),
    mistake(
        "clipped by value",
        "each gradient is clipped by its value; asked is clipping by the global norm, which keeps the direction.",
        "the exercise",
        train_step,
        (_CLIP, "nn.utils.clip_grad_value_(model.parameters(), clip)"),
    ),
    mistake(
        "gradients not cleared",
        "the gradients are not set to zero first: each update also repeats the ones before it.",
        "OpenNMT-py#891",
        train_step,
        ("optimizer.zero_grad()", "pass"),
    ),
    mistake(
        "nothing changes",
        "optimizer.step() is missing, or the gradients are cleared between backward() and step(): nothing is learnt.",
        "OpenNMT-py#891",
        train_step,
        ("    optimizer.zero_grad()\n    loss.backward()", "    loss.backward()\n    optimizer.zero_grad()"),
    ),
    mistake(
        "NLL on raw scores",
        "nll_loss is applied to raw scores; it expects log-probabilities, cross_entropy takes scores.",
        "flashlight#139, pytorch/examples PR#732",
        train_step,
        ("cross_entropy", "nll_loss"),
    ),
    mistake(
        "softmax before cross_entropy",
        "softmax is applied before cross_entropy, which applies it itself.",
        "flashlight#139",
        train_step,
        ("model(x), y)", "model(x).softmax(-1), y)"),
    ),
    mistake(
        "sum over the batch",
        "the loss is summed over the batch; cross_entropy's own default, the mean, is asked for.",
        "the exercise",
        train_step,
        ("model(x), y)", 'model(x), y, reduction="sum")'),
    ),
    mistake(
        "loss after the update",
        "the loss is computed again after the update; asked is the one before it.",
        "the exercise",
        train_step,
        ("return loss.item()", "return nn.functional.cross_entropy(model(x), y).item()"),
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
        ("range(UPDATES)", "range(300)"),
    ),
)

_DETACH = "state = tuple(s.detach() for s in state)"
_SECOND = (
    "the state keeps its history: the second backward() goes back into the first chunk. Detach both states after each "
    "chunk, and keep the result; h.detach() alone changes nothing."
)

CHUNK_MISTAKES = (
    mistake(
        "no detach", _SECOND, "MorvanZhou tutorials #57, OpenNMT-py#403", train_in_chunks, (_DETACH, "pass")
    ),
    mistake(
        "state reset in every chunk",
        "every chunk starts from a state of zero: the state has to be carried on, without its history.",
        "handson-mlp PR#4, fastbook PR#469",
        train_in_chunks,
        (_DETACH, "state = None"),
    ),
    mistake(
        "history kept by retain_graph",
        "the state keeps its history and backward(retain_graph=True) goes back through all chunks, which in-place "
        "updates of the weights do not allow; detach the states instead.",
        "MorvanZhou tutorials #57",
        train_in_chunks,
        (_DETACH, "pass"),
        ("loss.backward()", "loss.backward(retain_graph=True)"),
    ),
    mistake(
        "no update in the chunks",
        "the gradients are cleared in each chunk and an update is made after the last alone, or none at all: the "
        "weights have to change after every chunk.",
        "OpenNMT-py#891",
        train_in_chunks,
        ("        optimizer.step()\n", ""),
        ("    return losses", "    optimizer.step()\n    return losses"),
    ),
    mistake(
        "gradients not cleared",
        "the gradients are not set to zero first: each update also repeats the ones before it.",
        "OpenNMT-py#891",
        train_in_chunks,
        ("optimizer.zero_grad()", "pass"),
    ),
    mistake(
        "last chunk left out",
        "the last, shorter chunk is left out.",
        "the exercise",
        train_in_chunks,
        ("range(0, x.shape[1], chunk)", "range(0, x.shape[1] - chunk + 1, chunk)"),
    ),
)

# --- questions ------------------------------------------------------------------------------------------------------

STATES = (Output("hidden state h", ("batch", "hidden")), Output("cell state c", ("batch", "hidden")))
GRADIENTS: Sequence[Output] = (
    Output("gradient of x", ("batch", "input")),
    Output("gradient of h_prev", ("batch", "hidden")),
    Output("gradient of c_prev", ("batch", "hidden")),
    *(Output(f"gradient of {name}") for name in NAMES),
)

QUESTIONS = (
    {
        question.name: question
        for question in (
            Question(
                "torch.FusedLSTMCell_parameters",
                LSTMCell,
                (Output("list of shapes of weight_ih, weight_hh, bias_ih, bias_hh"),),
                _shapes_cases,
                PARAMETERS_MISTAKES,
                probe=probes.parameter_shapes,
                title="FusedLSTMCell",
            ),
            Question(
                "torch.FusedLSTMCell",
                LSTMCell,
                STATES,
                _cell_cases,
                CELL_MISTAKES,
                probe=probes.cell_step,
            ),
            Question(
                "torch.FusedLSTMCell_gradients",
                LSTMCell,
                tuple(GRADIENTS),
                _gradient_cases,
                GRADIENT_MISTAKES,
                probe=probes.cell_gradients,
                title="FusedLSTMCell",
            ),
            Question(
                "torch.unroll",
                unroll,
                (
                    Output("output", ("batch", "time", "hidden")),
                    Output("last hidden state h_n", ("batch", "hidden")),
                    Output("last cell state c_n", ("batch", "hidden")),
                    Output("gradient of x", ("batch", "time", "input")),
                ),
                _unroll_cases,
                UNROLL_MISTAKES,
                probe=probes.unrolled,
            ),
            Question(
                "torch.StackedLSTM",
                StackedLSTM,
                (Output("number of parameters"), Output("output", ("batch", "time", "hidden"))),
                _stack_cases,
                STACK_MISTAKES,
                probe=probes.stacked,
            ),
            Question(
                "torch.set_forget_bias",
                set_forget_bias,
                (Output("sum of bias_ih and bias_hh", ("4 hidden",)), Output("bias of the other gates")),
                _bias_cases,
                BIAS_MISTAKES,
                probe=probes.biases_after,
            ),
            Question(
                "torch.train_step",
                train_step,
                (
                    Output("loss", ("update",)),
                    Output("weight after each update", ("update", "class", "input")),
                ),
                _train_cases,
                TRAIN_MISTAKES,
                probe=probes.trained,
                seconds=FIRST_OPTIMISER,
            ),
            Question(
                "torch.train_in_chunks",
                train_in_chunks,
                (
                    Output("losses", ("chunk",)),
                    Output("weight_ih after training", ("4 hidden", "input")),
                    Output("weight_hh after training", ("4 hidden", "hidden")),
                ),
                _chunk_cases,
                CHUNK_MISTAKES,
                probe=probes.trained_in_chunks,
                seconds=FIRST_OPTIMISER,
            ),
            Question(
                "torch.train_to_remember",
                train_to_remember,
                (Output("accuracy"),),
                _remember_cases,
                REMEMBER_MISTAKES,
                probe=probes.remembered,
                score=trained_probes.remembered,
                accept=_LEARNED,
                seconds=50.0,
            ),
        )
    }
    | torch_rnn.QUESTIONS
    | torch_bptt.QUESTIONS
    | torch_gru.QUESTIONS
)

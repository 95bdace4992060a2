"""Questions about the GRU in PyTorch: the module, its weights in two conventions, and a comparison with the LSTM."""

import functools
import time
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from refcells import torch_cells
from refcells.autotest import gru_probes, probes, trained_probes
from refcells.autotest.arrays import away_from_zero, torch_state
from refcells.autotest.compare import Output
from refcells.autotest.mistakes import Mistake, edited, mistake
from refcells.autotest.modules import drawn, in_a_list, made, own, transposed
from refcells.autotest.verdict import AtLeast, Case, Question
from refcells.tasks import remember_first
from refcells.torch_cells import GRUCell
from refcells.training import LastStepClassifier, accuracy, redraw

B, D, H, K, UNITS = 2, 3, 6, 8, 32
NAMES = ("weight_ih", "weight_hh", "bias_ih", "bias_hh")

# What counts as learnt, the updates that a training may take, and the number between two measurements.
LEARNED, UPDATES, EVERY = 0.95, 300, 25

Result = dict[str, float]


def from_torch(state: Mapping[str, Tensor]) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """W_x, W_h, b and b_hn of this course's convention from the state dict of an nn.GRUCell."""
    sign = torch.ones(3, 1, 1, dtype=state["weight_ih"].dtype)
    sign[1] = -1
    W_x = (sign * state["weight_ih"].unflatten(0, (3, -1))).flatten(0, 1)
    W_h = (sign * state["weight_hh"].unflatten(0, (3, -1))).flatten(0, 1)
    r_ih, z_ih, n_ih = state["bias_ih"].chunk(3)
    r_hh, z_hh, n_hh = state["bias_hh"].chunk(3)
    b = torch.cat([r_ih + r_hh, -(z_ih + z_hh), n_ih])
    b_hn = n_hh.clone()
    return W_x, W_h, b, b_hn


def to_torch(W_x: Tensor, W_h: Tensor, b: Tensor, b_hn: Tensor) -> dict[str, Tensor]:
    """The state dict of an nn.GRUCell that computes the same function."""
    sign = torch.ones(3, 1, 1, dtype=W_x.dtype)
    sign[1] = -1
    weight_ih = (sign * W_x.unflatten(0, (3, -1))).flatten(0, 1)
    weight_hh = (sign * W_h.unflatten(0, (3, -1))).flatten(0, 1)
    bias_ih = (sign[:, 0] * b.unflatten(0, (3, -1))).flatten()
    bias_hh = torch.cat([torch.zeros_like(b_hn), torch.zeros_like(b_hn), b_hn])
    return {"weight_ih": weight_ih, "weight_hh": weight_hh, "bias_ih": bias_ih, "bias_hh": bias_hh}


def set_keep_bias(bias_ih: Tensor, bias_hh: Tensor, blocks: int, value: float) -> None:
    """Make the two biases of the gate that keeps, the second block in both layers of PyTorch, add up to `value`."""
    with torch.no_grad():
        bias_ih.chunk(blocks)[1].fill_(value)
        bias_hh.chunk(blocks)[1].fill_(0.0)


def train_until(model: nn.Module, steps: int, most: int, generator: torch.Generator) -> Result:
    """Train a classifier on remember-first until it has learnt it, or `most` updates are made."""
    held_x, held_y = remember_first(256, steps, K, generator=generator)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    score, update = 0.0, 0
    started = time.perf_counter()
    while update < most and score < LEARNED:
        x, y = remember_first(64, steps, K, generator=generator)
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(x), y).backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        update += 1
        if update % EVERY == 0 or update == most:
            with torch.no_grad():
                score = accuracy(model(held_x), held_y)
    seconds = time.perf_counter() - started
    return {"accuracy": score, "updates": update, "seconds": seconds}


def compare(steps: int, bias: float, generator: torch.Generator) -> dict[str, Result]:
    """Train an LSTM and a GRU whose gates start with the same bias; the report of each."""
    results = {}
    for name, make, blocks in (("lstm", nn.LSTM, 4), ("gru", nn.GRU, 3)):
        layer = make(K, UNITS, batch_first=True)
        model = LastStepClassifier(layer, UNITS, K)
        redraw(model, generator)
        own = dict(layer.named_parameters())
        set_keep_bias(own["bias_ih_l0"], own["bias_hh_l0"], blocks, bias)
        results[name] = train_until(model, steps, UPDATES, generator)
    return results


# --- cases ----------------------------------------------------------------------------------------------------------


def _state(rng: np.random.Generator, high: float = 0.9) -> dict[str, np.ndarray]:
    return torch_state(rng, 3, D, H, low=0.3, high=high)


def _shapes_cases(seed: int) -> list[Case]:
    return [
        Case("input size 3 and hidden size 4", ((3, 4), NAMES, 3)),
        Case("input size 5 and hidden size 2", ((5, 2), NAMES, 3)),
    ]


def _shifted(state: dict[str, np.ndarray], **gates: float) -> dict[str, np.ndarray]:
    """A state whose gates' biases are moved far out."""
    return {
        **state,
        "bias_ih": state["bias_ih"] + np.repeat([gates.get("r", 0.0), gates.get("z", 0.0), 0.0], H),
    }


def _cell_cases(seed: int) -> list[Case]:
    rng = np.random.default_rng(seed)
    state = _state(rng)
    x, h, zeros = rng.normal(size=(B, D)), away_from_zero(rng, B, H, high=0.9), np.zeros((B, H))
    no_bias = {name: np.zeros_like(array) if "bias" in name else array for name, array in state.items()}
    return [
        Case("only the input x", ((D, H), no_bias, x, zeros)),
        Case("only the hidden state", ((D, H), no_bias, np.zeros((B, D)), h)),
        Case("bias_ih zero", ((D, H), {**state, "bias_ih": np.zeros(3 * H)}, x, h)),
        Case("a saturated copy (PyTorch's z = 1)", ((D, H), _shifted(state, z=40.0), x, h)),
        Case(
            "the past reset in the candidate (r = 0, z = 0)",
            ((D, H), _shifted(state, r=-40.0, z=-40.0), x, h),
        ),
        Case("everything at once", ((D, H), state, x, h)),
    ]


def _gradient_cases(seed: int) -> list[Case]:
    rng = np.random.default_rng(seed)
    x, h, d_h = rng.normal(size=(B, D)), away_from_zero(rng, B, H, high=0.9), away_from_zero(rng, B, H)
    return [Case("a loss on h", ((D, H), _state(rng), x, h, d_h))]


def _from_cases(seed: int) -> list[Case]:
    rng = np.random.default_rng(seed)
    state = _state(rng)
    return [
        Case("no biases", ((D, H), {**state, "bias_ih": np.zeros(3 * H), "bias_hh": np.zeros(3 * H)})),
        Case("random weights and biases", ((D, H), state)),
    ]


def _to_cases(seed: int) -> list[Case]:
    rng = np.random.default_rng(seed)
    W_x, W_h, b, b_hn = (*_state(rng).values(),)
    x, h, zeros = rng.normal(size=(B, D)), away_from_zero(rng, B, H, high=0.9), np.zeros((B, H))
    none, copy = np.zeros(3 * H), b + np.repeat([0.0, -40.0, 0.0], H)
    write = b + np.repeat([-40.0, 40.0, 0.0], H)
    b_hn = b_hn[:H]
    return [
        Case("no biases", ((D, H), (W_x, W_h, none, none[:H]), x, h)),
        Case("biases, and a state of zero", ((D, H), (W_x, W_h, b, b_hn), x, zeros)),
        Case("a saturated copy (this course's z = 0)", ((D, H), (W_x, W_h, copy, b_hn), x, h)),
        Case("everything written (z = 1), the past reset", ((D, H), (W_x, W_h, write, b_hn), x, h)),
        Case("everything at once", ((D, H), (W_x, W_h, b, b_hn), x, h)),
    ]


def _bias_cases(seed: int) -> list[Case]:
    rng = np.random.default_rng(seed)
    return [
        Case("a GRU and value 1", (away_from_zero(rng, 12), away_from_zero(rng, 12), 3, 1.0)),
        Case("a GRU and value -2.5", (away_from_zero(rng, 9), away_from_zero(rng, 9), 3, -2.5)),
        Case("an LSTM and value 3", (away_from_zero(rng, 12), away_from_zero(rng, 12), 4, 3.0)),
    ]


def _until_cases(seed: int) -> list[Case]:
    return [Case("10 time steps", (10, UPDATES, LEARNED, 1000 + seed))]


def _compare_cases(seed: int) -> list[Case]:
    return [Case("10 time steps and a bias of 3", (10, 3.0, UPDATES, LEARNED, 1000 + seed))]


_LEARNED = AtLeast(
    LEARNED,
    f"the best of three trained models names {{score:.0%}} of the held-out symbols; expected at least {LEARNED:.0%} "
    "(chance is 12%)",
)
_BOTH_LEARNED = AtLeast(
    LEARNED,
    "in the best of three comparisons one of the two layers names {score:.0%} of the held-out symbols; expected at "
    f"least {LEARNED:.0%} of both (chance is 12%)",
)


# --- mistakes -------------------------------------------------------------------------------------------------------


_own = functools.partial(own, 3)


PARAMETERS_MISTAKES = (
    in_a_list(3),
    transposed(3),
    made(
        "four blocks",
        "there are 4H rows, as an LSTM has; a GRU has three blocks, r, z and n.",
        "the exercise",
        lambda d, h: {
            "weight_ih": drawn(h, 4 * h, d),
            "weight_hh": drawn(h, 4 * h, h),
            "bias_ih": drawn(h, 4 * h),
            "bias_hh": drawn(h, 4 * h),
        },
    ),
    made(
        "two blocks",
        "there are 2H rows: the candidate's block is missing beside those of the two gates.",
        "the exercise",
        lambda d, h: {
            "weight_ih": drawn(h, 2 * h, d),
            "weight_hh": drawn(h, 2 * h, h),
            "bias_ih": drawn(h, 2 * h),
            "bias_hh": drawn(h, 2 * h),
        },
    ),
    made(
        "a single bias",
        "there is a single bias vector; this cell needs two, since one of them stands inside the reset.",
        "Dive-into-DL-PyTorch#88",
        lambda d, h: {name: value for name, value in _own(d, h).items() if name != "bias_hh"},
    ),
)

_R_Z = (
    "r, z = torch.sigmoid(a_xr + a_hr), torch.sigmoid(a_xz + a_hz)\n        n = torch.tanh(a_xn + r * a_hn)"
)
_NEW = "n = torch.tanh(a_xn + r * a_hn)"
_BLEND = "return (1.0 - z) * n + z * h_prev"


def _cell(name: str, hint: str, source: str, *edits: tuple[str, str]) -> Mistake:
    """A mistake in the update that the module's step ends with."""

    def make() -> Callable[..., Any]:
        wrong = edited(torch_cells._gru_update, *edits)

        class Cell(GRUCell):
            def forward(self, x: Tensor, state: Any = None) -> Tensor:
                return wrong(
                    x @ self.weight_ih.T + self.bias_ih, state, self.weight_hh, self.bias_hh, self.reset_after
                )

        return Cell

    return Mistake(name, hint, source, make)


def _before() -> Callable[..., Any]:
    return lambda d, h: GRUCell(d, h, reset_after=False)


CELL_MISTAKES = (
    Mistake(
        "reset before the product",
        "the reset gate is applied before the matrix product, (r * h) W^T. That is a right GRU, this course's own; "
        "PyTorch's applies it after the product and its bias, r * (h W^T + b).",
        "Dive-into-DL-PyTorch#88",
        _before,
    ),
    _cell(
        "recurrent bias outside the reset",
        "the candidate's recurrent bias is added outside the reset; PyTorch has r * (h W^T + b_hh).",
        "Dive-into-DL-PyTorch#88",
        (_NEW, "b_hn = b_hh[2 * hidden :]; n = torch.tanh(a_xn + r * (a_hn - b_hn) + b_hn)"),
    ),
    _cell(
        "z reversed",
        "the update gate is reversed, (1 - z) * h + z * n. That is this course's convention; in PyTorch's z is the "
        "share that is kept.",
        "ageron/handson-ml#563, keras#785",
        (_BLEND, "return (1.0 - z) * h_prev + z * n"),
    ),
    _cell(
        "z reversed, reset before the product",
        "the cell is this course's: the reset gate before the product, and z the share that is written. PyTorch's has "
        "r * (h W^T + b), and z is the share that is kept.",
        "Dive-into-DL-PyTorch#88, keras#785",
        (_NEW, "n = torch.tanh(a_xn + linear(r * h_prev, W_hh[2 * hidden :], b_hh[2 * hidden :]))  #"),
        (_BLEND, "return (1.0 - z) * h_prev + z * n"),
    ),
    _cell(
        "reset ignored",
        "the reset gate is not used: the candidate sees the whole previous state.",
        "zhiyongc/GRU-D#2",
        (_NEW, "n = torch.tanh(a_xn + a_hn)"),
    ),
    _cell(
        "everything reset",
        "the reset gate multiplies the input's share too; it multiplies the state's share alone.",
        "the exercise",
        (_NEW, "n = torch.tanh(r * (a_xn + a_hn))"),
    ),
    _cell(
        "r and z swapped",
        "the reset gate and the update gate are swapped, or the blocks are taken in the order z, r, n of Keras and ONNX; "
        "PyTorch has r, z, n.",
        "distillpub/post--memorization-in-rnns#24",
        (_R_Z, _R_Z.replace("r, z =", "z, r =")),
    ),
    _cell(
        "reset state in the blend",
        "the blend takes the reset state r * h; the reset gate belongs to the candidate alone.",
        "D-Nilsson/GRFP#6",
        (_BLEND, "return (1.0 - z) * n + z * (r * h_prev)"),
    ),
    _cell(
        "old state left out",
        "the old state is left out of the blend: the share z of it is kept.",
        "mquad/hgru4rec#11",
        (_BLEND, "return (1.0 - z) * n"),
    ),
    _cell(
        "candidate by sigmoid",
        "the candidate goes through the sigmoid; it is content and goes through tanh.",
        "the exercise",
        (_NEW, _NEW.replace("tanh", "sigmoid")),
    ),
    _cell(
        "bias_hh left out",
        "bias_hh is left out: it is added to the state's product, inside the reset for the candidate.",
        "numpy-ml#42",
        ("a_hr, a_hz, a_hn = linear(h_prev, W_hh, b_hh)", "a_hr, a_hz, a_hn = linear(h_prev, W_hh)"),
    ),
    Mistake(
        "bias_ih left out",
        "bias_ih is left out: it is added to the input's product.",
        "numpy-ml#42",
        lambda: _WithoutInputBias,
    ),
)


class _WithoutInputBias(GRUCell):
    def forward(self, x: Tensor, state: Any = None) -> Tensor:
        return torch_cells._gru_update(x @ self.weight_ih.T, state, self.weight_hh, self.bias_hh, True)


class _DetachedCell(GRUCell):
    def forward(self, x: Tensor, state: Any = None) -> Tensor:
        return super().forward(x, state.detach())


class _DataCell(GRUCell):
    def forward(self, x: Tensor, state: Any = None) -> Tensor:
        with torch.no_grad():
            return super().forward(x, state)


GRADIENT_MISTAKES = (
    Mistake(
        "state detached",
        "the previous state is detached inside the step: no gradient goes back in time.",
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

_SIGN = "sign[1] = -1"
_B = "b = torch.cat([r_ih + r_hh, -(z_ih + z_hh), n_ih])"
_B_HN = "b_hn = n_hh.clone()"
_NOT_TURNED = "the update gate is not turned round: z is kept in PyTorch and written here, and 1 - sigmoid(a) is sigmoid(-a)."
_ALL_TURNED = (
    "all three blocks are negated; the reset gate and the candidate mean the same in both conventions."
)
_R_TURNED = "the first block is negated, which is the reset gate's; the update gate's is the second."
_BIAS_NOT_TURNED = "z's weights are negated and its bias is not; the whole pre-activation has to change sign."
_IN_PLACE = "the numbers are negated in place: a state dict shares its memory with the cell, which then computes something else."

FROM_MISTAKES = (
    mistake(
        "z not turned",
        _NOT_TURNED,
        "keras#785",
        from_torch,
        (_SIGN, "pass"),
        (_B, _B.replace("-(z_ih + z_hh)", "z_ih + z_hh")),
    ),
    mistake(
        "bias not turned",
        _BIAS_NOT_TURNED,
        "keras#785",
        from_torch,
        (_B, _B.replace("-(z_ih + z_hh)", "z_ih + z_hh")),
    ),
    mistake(
        "weights not turned",
        "z's bias is negated and its weights are not; the whole pre-activation has to change sign.",
        "keras#785",
        from_torch,
        (_SIGN, "pass"),
    ),
    mistake(
        "everything turned",
        _ALL_TURNED,
        "keras#785",
        from_torch,
        (_SIGN, "sign = -sign"),
        (_B, "b = -torch.cat([r_ih + r_hh, z_ih + z_hh, n_ih])"),
        (_B_HN, "b_hn = -n_hh"),
    ),
    mistake(
        "reset gate turned",
        _R_TURNED,
        "distillpub/post--memorization-in-rnns#24",
        from_torch,
        (_SIGN, "sign[0] = -1"),
        (_B, "b = torch.cat([-(r_ih + r_hh), z_ih + z_hh, n_ih])"),
    ),
    mistake(
        "candidate's biases added",
        "the candidate's two biases are added up. The recurrent one stands inside the reset, r * (h W^T + b_hn), so the "
        "two cannot be one number: b takes bias_ih's, b_hn takes bias_hh's.",
        "Dive-into-DL-PyTorch#88",
        from_torch,
        (_B, _B.replace("n_ih]", "n_ih + n_hh]")),
    ),
    mistake(
        "candidate's biases exchanged",
        "the candidate's two biases are exchanged: b_hn is the one beside the state, bias_hh's.",
        "Dive-into-DL-PyTorch#88",
        from_torch,
        (_B, _B.replace("n_ih]", "n_hh]")),
        (_B_HN, "b_hn = n_ih.clone()"),
    ),
    mistake(
        "one bias left out",
        "the gates' biases are bias_ih's alone; PyTorch adds bias_hh's.",
        "numpy-ml#42",
        from_torch,
        (_B, "b = torch.cat([r_ih, -z_ih, n_ih])"),
    ),
    mistake(
        "r and z exchanged",
        "the blocks of the two gates are exchanged; the order is r, z, n in both.",
        "distillpub/post--memorization-in-rnns#24",
        from_torch,
        (
            "return W_x, W_h, b, b_hn",
            "return *(torch.cat([*(v.chunk(3)[k] for k in (1, 0, 2))]) for v in (W_x, W_h, b)), b_hn",
        ),
    ),
    mistake(
        "negated in place",
        _IN_PLACE,
        "pytorch/rl#1742",
        from_torch,
        (_SIGN, '[state[name].chunk(3)[1].neg_() for name in ("weight_ih", "weight_hh")]'),
    ),
)

_BIAS = "bias_ih = (sign[:, 0] * b.unflatten(0, (3, -1))).flatten()"
_BIAS_HH = "bias_hh = torch.cat([torch.zeros_like(b_hn), torch.zeros_like(b_hn), b_hn])"

TO_MISTAKES = (
    mistake("z not turned", _NOT_TURNED, "keras#785", to_torch, (_SIGN, "pass")),
    mistake("bias not turned", _BIAS_NOT_TURNED, "keras#785", to_torch, (_BIAS, "bias_ih = b.clone()")),
    mistake(
        "weights not turned",
        "z's bias is negated and its weights are not; the whole pre-activation has to change sign.",
        "keras#785",
        to_torch,
        (_SIGN, "pass"),
        (_BIAS, "bias_ih = torch.cat([b[:H], -b[H : 2 * H], b[2 * H :]])"),
    ),
    mistake(
        "everything turned",
        _ALL_TURNED,
        "keras#785",
        to_torch,
        (_SIGN, "sign = -sign"),
        (_BIAS_HH, _BIAS_HH.replace("b_hn])", "-b_hn])")),
    ),
    mistake(
        "reset gate turned",
        _R_TURNED,
        "distillpub/post--memorization-in-rnns#24",
        to_torch,
        (_SIGN, "sign[0] = -1"),
    ),
    mistake(
        "b_hn left out",
        "b_hn is left out: it is the candidate's block of bias_hh, inside the reset.",
        "Dive-into-DL-PyTorch#88",
        to_torch,
        (_BIAS_HH, "bias_hh = torch.zeros_like(b)"),
    ),
    mistake(
        "b_hn outside the reset",
        "b_hn is added to the candidate's block of bias_ih, outside the reset; bias_hh's is the one inside.",
        "Dive-into-DL-PyTorch#88",
        to_torch,
        (_BIAS_HH, "bias_ih[2 * len(b_hn) :] += b_hn; bias_hh = torch.zeros_like(b)"),
    ),
    mistake(
        "b in both biases",
        "b is put into both biases: PyTorch adds them, so the gates get it twice.",
        "PyTorch's two biases",
        to_torch,
        (_BIAS_HH, "bias_hh = torch.cat([bias_ih[: 2 * len(b_hn)], b_hn])"),
    ),
    mistake(
        "negated in place",
        _IN_PLACE,
        "pytorch/rl#1742",
        to_torch,
        (_SIGN, "[v.chunk(3)[1].neg_() for v in (W_x, W_h, b)]"),
    ),
)

_IH, _HH = "bias_ih.chunk(blocks)[1].fill_(value)", "bias_hh.chunk(blocks)[1].fill_(0.0)"

BIAS_MISTAKES = (
    mistake(
        "both biases",
        "both biases are set to the value: PyTorch adds them, so the gate's bias is twice the value.",
        "PyTorch's two biases",
        set_keep_bias,
        (_HH, _HH.replace("0.0", "value")),
    ),
    mistake(
        "the other bias left as it was",
        "only one of the two biases is set: PyTorch adds the other one's random numbers.",
        "PyTorch's two biases",
        set_keep_bias,
        (_HH, "pass"),
    ),
    mistake(
        "sign of this course's z",
        "the GRU's value has its sign turned, as this course's z would need it; PyTorch's z is the share that is kept.",
        "keras#785",
        set_keep_bias,
        (_IH, "bias_ih.chunk(blocks)[1].fill_(value if blocks == 4 else -value)"),
    ),
    mistake(
        "first block",
        "the first block is set; the forget gate's and the update gate's is the second.",
        "coremltools PR#93",
        set_keep_bias,
        (_IH, _IH.replace("[1]", "[0]")),
        (_HH, _HH.replace("[1]", "[0]")),
    ),
    mistake(
        "last block",
        "the last block is set; the forget gate's and the update gate's is the second.",
        "coremltools PR#93",
        set_keep_bias,
        (_IH, _IH.replace("[1]", "[-1]")),
        (_HH, _HH.replace("[1]", "[-1]")),
    ),
    mistake(
        "whole bias",
        "all blocks are set; only the second should be.",
        "the exercise",
        set_keep_bias,
        (_IH, "bias_ih.fill_(value)"),
        (_HH, "bias_hh.fill_(0.0)"),
    ),
    mistake(
        "added",
        "the value is added to what was there; it should replace it.",
        "the exercise",
        set_keep_bias,
        (_IH, _IH.replace("fill_", "add_")),
        (_HH, "pass"),
    ),
)

_DRAW = "x, y = remember_first(64, steps, K, generator=generator)"
_REPORT = 'return {"accuracy": score, "updates": update, "seconds": seconds}'

UNTIL_MISTAKES = (
    mistake(
        "batches not from the generator",
        "a batch is drawn without the generator, so that no run can be repeated.",
        "the exercise",
        train_until,
        (_DRAW, "x, y = remember_first(64, steps, K, generator=torch.default_generator)"),
    ),
    mistake(
        "updates miscounted",
        "the number of updates is not the optimiser's: measurements are counted in place of updates, or it is one off.",
        "the exercise",
        train_until,
        (_REPORT, _REPORT.replace("update,", "update // EVERY,")),
    ),
    mistake(
        "no update",
        "optimizer.step() is missing: nothing is learnt.",
        "OpenNMT-py#891",
        train_until,
        ("        optimizer.step()\n", ""),
    ),
    mistake(
        "more updates than allowed",
        "the training goes on for more updates than `most`: it has to end there, measured or not.",
        "the exercise",
        train_until,
        ("while update < most and", "while"),
    ),
    mistake(
        "accuracy in percent",
        "the accuracy is a percentage, a count or a loss; asked is a share between 0 and 1.",
        "the exercise",
        train_until,
        (_REPORT, _REPORT.replace("score,", "100 * score,")),
    ),
    mistake(
        "milliseconds",
        "the time is in milliseconds, or a reading of the clock in place of a difference of two.",
        "the exercise",
        train_until,
        (_REPORT, _REPORT.replace("seconds}", "1000 * seconds}")),
    ),
    mistake(
        "no early end",
        "the training never looks whether it has learnt: it ends at the first measurement that reaches the target.",
        "the exercise",
        train_until,
        ("while update < most and score < LEARNED:", "while update < most:"),
    ),
)

_SET = 'set_keep_bias(own["bias_ih_l0"], own["bias_hh_l0"], blocks, bias)'

COMPARE_MISTAKES = (
    mistake(
        "parameters not from the generator",
        "a model keeps the parameters that it was built with, or a batch is drawn without the generator.",
        "the exercise",
        compare,
        ("redraw(model, generator)", "pass"),
    ),
    mistake(
        "forget gates not set",
        "the LSTM's forget bias is not set, or set before redraw, which draws it anew.",
        "the exercise",
        compare,
        (_SET, f"if blocks == 3: {_SET}"),
    ),
    mistake(
        "update gates not set",
        "the GRU's update bias is not set, or has the sign of this course's z; PyTorch's z is the share that is kept.",
        "keras#785",
        compare,
        (_SET, _SET.replace(", bias)", ", bias if blocks == 4 else -bias)")),
    ),
    mistake(
        "one layer twice",
        "the GRU is trained under both names; the LSTM never is.",
        "the exercise",
        compare,
        ('("lstm", nn.LSTM, 4)', '("lstm", nn.GRU, 3)'),
    ),
)

# --- questions ------------------------------------------------------------------------------------------------------

QUESTIONS = {
    question.name: question
    for question in (
        Question(
            "torch.ResetAfterGRUCell_parameters",
            GRUCell,
            (Output("list of shapes of weight_ih, weight_hh, bias_ih, bias_hh"),),
            _shapes_cases,
            PARAMETERS_MISTAKES,
            probe=probes.parameter_shapes,
            title="ResetAfterGRUCell",
        ),
        Question(
            "torch.ResetAfterGRUCell",
            GRUCell,
            (Output("hidden state h", ("batch", "hidden")),),
            _cell_cases,
            CELL_MISTAKES,
            probe=gru_probes.gru_cell_step,
        ),
        Question(
            "torch.ResetAfterGRUCell_gradients",
            GRUCell,
            (
                Output("gradient of x", ("batch", "input")),
                Output("gradient of h_prev", ("batch", "hidden")),
                *(Output(f"gradient of {name}") for name in NAMES),
            ),
            _gradient_cases,
            GRADIENT_MISTAKES,
            probe=gru_probes.gru_cell_gradients,
            title="ResetAfterGRUCell",
        ),
        Question(
            "torch.from_torch",
            from_torch,
            (
                Output("W_x", ("3 hidden", "input")),
                Output("W_h", ("3 hidden", "previous hidden")),
                Output("b", ("3 hidden",)),
                Output("b_hn", ("hidden",)),
            ),
            _from_cases,
            FROM_MISTAKES,
            probe=gru_probes.weights_from_state,
        ),
        Question(
            "torch.to_torch",
            to_torch,
            (Output("the state of an nn.GRUCell that loads it", ("batch", "hidden")),),
            _to_cases,
            TO_MISTAKES,
            probe=gru_probes.weights_put_to_use,
        ),
        Question(
            "torch.set_keep_bias",
            set_keep_bias,
            (Output("sum of bias_ih and bias_hh"), Output("bias of the other blocks")),
            _bias_cases,
            BIAS_MISTAKES,
            probe=probes.gate_biases_after,
        ),
        Question(
            "torch.train_until",
            train_until,
            (Output("accuracy"),),
            _until_cases,
            UNTIL_MISTAKES,
            probe=gru_probes.trained_until,
            score=trained_probes.remembered_by_gru,
            accept=_LEARNED,
            seconds=50.0,
        ),
        Question(
            "torch.compare",
            compare,
            (Output("accuracy"),),
            _compare_cases,
            COMPARE_MISTAKES,
            probe=gru_probes.compared,
            score=trained_probes.both_remembered,
            accept=_BOTH_LEARNED,
            seconds=50.0,
        ),
    )
}

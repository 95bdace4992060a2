"""Questions about backpropagation through time in torch: clipping, chunks, and what truncation loses."""

import functools
from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor, nn

from refcells.autotest import rnn_probes
from refcells.autotest.arrays import away_from_zero, torch_state
from refcells.autotest.compare import Output
from refcells.autotest.mistakes import mistake, within
from refcells.autotest.verdict import Case, Question

# All different, so that no wrong axis goes unseen.
B, T, D, H = 2, 6, 3, 4

# Seconds for a question that makes the process's first optimiser: PyTorch then loads its compiler, which takes several
# seconds on a busy machine.
FIRST_OPTIMISER = 40.0


def clip_by_global_norm(gradients: Sequence[Tensor], most: float) -> tuple[list[Tensor], float]:
    """Gradients whose global norm is at most so large, and the norm that they had."""
    norm = sum(float((g**2).sum()) for g in gradients) ** 0.5
    scale = min(1.0, most / norm) if norm > 0 else 1.0
    return [g * scale for g in gradients], norm


def forward_in_chunks(layer: nn.RNN, x: Tensor, chunk: int) -> Tensor:
    """Outputs of a batch-first layer that reads x chunk by chunk; the state goes on, its history does not."""
    outputs, state = [], None
    for start in range(0, x.shape[1], chunk):
        output, state = layer(x[:, start : start + chunk], state)
        state = state.detach()
        outputs.append(output)
    return torch.cat(outputs, dim=1)


def last_step_gradients(layer: nn.RNN, x: Tensor, chunk: int) -> Tensor:
    """Gradient of the sum of the last step's outputs with respect to x, when the layer reads x in chunks."""
    x = x.detach().clone().requires_grad_()
    output = forward_in_chunks(layer, x, chunk)
    output[:, -1].sum().backward()
    return x.grad  # type: ignore[return-value]


def train_in_chunks(
    layer: nn.RNN,
    readout: nn.Linear,
    optimizer: torch.optim.Optimizer,
    x: Tensor,
    y: Tensor,
    chunk: int,
    clip: float,
) -> list[float]:
    """Truncated BPTT: an update a chunk, clipped by the global norm of both modules' gradients."""
    parameters = [*layer.parameters(), *readout.parameters()]
    losses, state = [], None
    for start in range(0, x.shape[1], chunk):
        output, state = layer(x[:, start : start + chunk], state)
        state = state.detach()
        loss = nn.functional.mse_loss(readout(output), y[:, start : start + chunk])
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(parameters, clip)
        optimizer.step()
        losses.append(loss.item())
    return losses


# --- cases ----------------------------------------------------------------------------------------------------------


_away = functools.partial(away_from_zero, low=0.2, high=0.6)


def _state(rng: np.random.Generator) -> dict[str, np.ndarray]:
    return torch_state(rng, 1, D, H, "_l0", low=0.2, high=0.6)


def _clip_cases(seed: int) -> list[Case]:
    rng = np.random.default_rng(seed)
    gradients = [_away(rng, 3, 2), _away(rng, 4), 3 * _away(rng, 2, 2)]
    return [
        Case("one gradient, shortened", (gradients[:1], 0.1)),
        Case("one gradient that is short enough", (gradients[:1], 10.0)),
        Case("three gradients, shortened", (gradients, 0.5)),
        Case("three gradients that are short enough", (gradients, 100.0)),
        Case("one of them short, together too long", (gradients, 2.0)),
        Case("gradients of zero", ([0 * gradients[0], 0 * gradients[1]], 1.0)),
    ]


def _forward_cases(seed: int) -> list[Case]:
    rng = np.random.default_rng(seed)
    state, x, weight = _state(rng), rng.normal(size=(B, T, D)), _away(rng, B, T, H)
    return [
        Case("a single chunk", ((D, H), state, x, weight, T)),
        Case("two chunks of 3 steps", ((D, H), state, x, weight, 3)),
        Case("chunks of 2 steps", ((D, H), state, x, weight, 2)),
        Case("a last chunk that is shorter", ((D, H), state, x, weight, 4)),
    ]


def _last_cases(seed: int) -> list[Case]:
    return [Case(case.label, (*case.arguments[:3], case.arguments[4])) for case in _forward_cases(seed)]


def _train_cases(seed: int) -> list[Case]:
    rng = np.random.default_rng(seed)
    layer, linear = _state(rng), {"weight": _away(rng, 2, H), "bias": _away(rng, 2)}
    x, y = rng.normal(size=(B, T, D)), rng.normal(size=(B, T, 2))
    return [
        Case("a single chunk", (layer, linear, x, y, 0.1, T, 100.0)),
        Case("two chunks", (layer, linear, x, y, 0.1, 3, 100.0)),
        Case("three chunks", (layer, linear, x, y, 0.1, 2, 100.0)),
        Case("a last chunk that is shorter", (layer, linear, x, y, 0.1, 4, 100.0)),
        Case("three chunks, gradients that are clipped", (layer, linear, x, y, 1.0, 2, 0.1)),
    ]


# --- mistakes -------------------------------------------------------------------------------------------------------

_NORM = "norm = sum(float((g**2).sum()) for g in gradients) ** 0.5"
_SCALE = "scale = min(1.0, most / norm) if norm > 0 else 1.0"
_CLIPPED = "return [g * scale for g in gradients], norm"

CLIP_MISTAKES = (
    mistake(
        "each gradient by itself",
        "each gradient is clipped by its own norm, which turns the direction; the global norm is that of all together.",
        "the exercise",
        clip_by_global_norm,
        (_CLIPPED, "return [g * min(1.0, most / (float(g.norm()) + 1e-300)) for g in gradients], norm"),
    ),
    mistake(
        "clipped by value",
        "each number is clipped; asked is clipping by the global norm, which keeps the direction.",
        "the exercise",
        clip_by_global_norm,
        (_CLIPPED, "return [g.clamp(-most, most) for g in gradients], norm"),
    ),
    mistake(
        "always scaled",
        "gradients that are short enough are lengthened; they stay as they are.",
        "the exercise",
        clip_by_global_norm,
        (_SCALE, "scale = most / norm if norm > 0 else 1.0"),
    ),
    mistake(
        "norms added up",
        "the norms are added up: the global norm is the square root of the sum of their squares.",
        "the exercise",
        clip_by_global_norm,
        (_NORM, "norm = sum(float(g.norm()) for g in gradients)"),
    ),
    mistake(
        "no square root",
        "the square root is missing: the sum of squares is the norm squared.",
        "the exercise",
        clip_by_global_norm,
        (_NORM, _NORM.replace(" ** 0.5", "")),
    ),
    mistake(
        "largest norm",
        "the largest of the norms is taken; the global norm is that of all gradients together.",
        "the exercise",
        clip_by_global_norm,
        (_NORM, "norm = max(float(g.norm()) for g in gradients)"),
    ),
    mistake(
        "norm after clipping",
        "the norm after clipping is returned; asked is the one before.",
        "the exercise",
        clip_by_global_norm,
        (_CLIPPED, "return [g * scale for g in gradients], norm * scale"),
    ),
    mistake(
        "zero by zero",
        "the norm is 0 when all gradients are 0: most / norm has to be avoided then.",
        "the exercise",
        clip_by_global_norm,
        (_SCALE, "scale = min(1.0, most / norm)"),
    ),
    mistake(
        "changed in place",
        "the gradients are scaled in place; return new ones.",
        "the exercise",
        clip_by_global_norm,
        (_CLIPPED, "return [g.mul_(scale) for g in gradients], norm"),
    ),
)

_DETACH = "state = state.detach()"
_CALL = "output, state = layer(x[:, start : start + chunk], state)"
_HISTORY = (
    "the state keeps its history, and the gradient goes back into earlier chunks. Detach it after each chunk, and keep "
    "the result; state.detach() alone changes nothing."
)

FORWARD_MISTAKES = (
    mistake(
        "no detach",
        _HISTORY,
        "MorvanZhou tutorials #57, OpenNMT-py#403",
        forward_in_chunks,
        (_DETACH, "state.detach()"),
    ),
    mistake(
        "state reset in every chunk",
        "every chunk starts from a state of zero: the state has to be carried on, without its history.",
        "handson-mlp PR#4, fastbook PR#469",
        forward_in_chunks,
        (_DETACH, "state = None"),
    ),
    mistake(
        "detached at every step",
        "the state is detached at every step: inside a chunk the gradient goes back to the chunk's start.",
        "pyGRU4REC#8",
        forward_in_chunks,
        ("for start in", "chunk = 1\n    for start in"),
    ),
    mistake(
        "state of the first chunk",
        "every chunk after the first starts from the state that the first one left: carry the newest one on.",
        "fastbook PR#469",
        forward_in_chunks,
        (_CALL, "output, new = layer(x[:, start : start + chunk], state)"),
        (_DETACH, "state = new.detach() if state is None else state"),
    ),
    mistake(
        "outputs detached",
        "the outputs are detached too, so that no gradient is left; only the state between chunks is.",
        "the exercise",
        forward_in_chunks,
        ("outputs.append(output)", "outputs.append(output.detach())"),
    ),
    mistake(
        "last chunk left out",
        "the last, shorter chunk is left out.",
        "the exercise",
        forward_in_chunks,
        ("range(0, x.shape[1], chunk)", "range(0, x.shape[1] - chunk + 1, chunk)"),
    ),
    mistake(
        "chunks along the batch",
        "the chunks are joined along the batch; they follow each other in time, which is axis 1.",
        "pytorch#4145",
        forward_in_chunks,
        ("torch.cat(outputs, dim=1)", "torch.cat(outputs, dim=0)"),
    ),
)

LAST_MISTAKES = (
    mistake(
        "every output",
        "the loss looks at every output; asked is the last step's alone.",
        "the exercise",
        last_step_gradients,
        ("output[:, -1].sum()", "output.sum()"),
    ),
    mistake(
        "mean for sum",
        "the loss is the mean of the last step's outputs; asked is their sum.",
        "the exercise",
        last_step_gradients,
        ("output[:, -1].sum()", "output[:, -1].mean()"),
    ),
    mistake(
        "last sequence of the batch",
        "the loss looks at the last sequence of the batch; the time axis is the second one.",
        "pytorch#4145",
        last_step_gradients,
        ("output[:, -1]", "output[-1]"),
    ),
    mistake(
        "chunks ignored",
        "the gradient reaches every step, as if the sequence had not been cut: the chunks are ignored, or the state keeps "
        "its history.",
        "OpenNMT-py#403",
        last_step_gradients,
        ("forward_in_chunks(layer, x, chunk)", "forward_in_chunks(layer, x, x.shape[1])"),
    ),
    *within(
        last_step_gradients,
        "forward_in_chunks",
        FORWARD_MISTAKES,
        skip=("no detach", "chunks along the batch", "last chunk left out", "outputs detached"),
    ),
)

_CLIP = "nn.utils.clip_grad_norm_(parameters, clip)"
_SECOND = (
    "the state keeps its history: the second backward() goes back into the first chunk. Detach it after each chunk, and "
    "keep the result; state.detach() alone changes nothing."
)

TRAIN_MISTAKES = (
    mistake(
        "no detach", _SECOND, "MorvanZhou tutorials #57, OpenNMT-py#403", train_in_chunks, (_DETACH, "pass")
    ),
    mistake(
        "history kept by retain_graph",
        "the state keeps its history and backward(retain_graph=True) goes back through all chunks, which in-place "
        "updates of the weights do not allow; detach the state instead.",
        "MorvanZhou tutorials #57",
        train_in_chunks,
        (_DETACH, "pass"),
        ("loss.backward()", "loss.backward(retain_graph=True)"),
    ),
    mistake(
        "state reset in every chunk",
        "every chunk starts from a state of zero: the state has to be carried on, without its history.",
        "handson-mlp PR#4, fastbook PR#469",
        train_in_chunks,
        (_DETACH, "state = None"),
    ),
    mistake(
        "clipped after the step",
        "the gradients are clipped only after optimizer.step(), or not at all: the update has been made without it.",
        "VGRNN#4",
        train_in_chunks,
        (f"        {_CLIP}\n        optimizer.step()\n", f"        optimizer.step()\n        {_CLIP}\n"),
    ),
    mistake(
        "clipped by value",
        "each number of the gradients is clipped; asked is clipping by the global norm, which keeps the direction.",
        "the exercise",
        train_in_chunks,
        (_CLIP, "nn.utils.clip_grad_value_(parameters, clip)"),
    ),
    mistake(
        "layer clipped alone",
        "only the layer's gradients are clipped; the global norm is that of the layer's and the readout's together.",
        "the exercise",
        train_in_chunks,
        (_CLIP, _CLIP.replace("parameters, clip", "layer.parameters(), clip")),
    ),
    mistake(
        "each module by itself",
        "the layer and the readout are clipped by a norm of their own; the global norm is that of both together.",
        "the exercise",
        train_in_chunks,
        (
            _CLIP,
            "nn.utils.clip_grad_norm_(layer.parameters(), clip); "
            "nn.utils.clip_grad_norm_(readout.parameters(), clip)",
        ),
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
        "OpenNMT-py#891, karpathy/micrograd#2",
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
    mistake(
        "targets of the first chunk",
        "every chunk is compared with the first chunk's targets; cut y as x is cut.",
        "the exercise",
        train_in_chunks,
        ("y[:, start : start + chunk])", "y[:, : output.shape[1]])"),
    ),
)

# --- questions ------------------------------------------------------------------------------------------------------

QUESTIONS = {
    question.name: question
    for question in (
        Question(
            "torch.clip_by_global_norm",
            clip_by_global_norm,
            (Output("list of the clipped gradients' numbers"), Output("norm")),
            _clip_cases,
            CLIP_MISTAKES,
            probe=rnn_probes.clipped,
        ),
        Question(
            "torch.forward_in_chunks",
            forward_in_chunks,
            (
                Output("output", ("batch", "time", "hidden")),
                Output("gradient of x", ("batch", "time", "input")),
            ),
            _forward_cases,
            FORWARD_MISTAKES,
            probe=rnn_probes.in_chunks,
        ),
        Question(
            "torch.last_step_gradients",
            last_step_gradients,
            (Output("gradient of x", ("batch", "time", "input")),),
            _last_cases,
            LAST_MISTAKES,
            probe=rnn_probes.input_gradients,
        ),
        Question(
            "torch.train_rnn_in_chunks",
            train_in_chunks,
            (
                Output("losses", ("chunk",)),
                Output("weight_ih after training", ("hidden", "input")),
                Output("weight_hh after training", ("hidden", "hidden")),
                Output("readout's weight after training", ("output", "hidden")),
            ),
            _train_cases,
            TRAIN_MISTAKES,
            probe=rnn_probes.trained_in_chunks,
            title="train_in_chunks",
            seconds=FIRST_OPTIMISER,
        ),
    )
}

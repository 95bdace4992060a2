"""One small training loop for all experiments, and readouts that turn a layer into a classifier.

This module holds no cell: it trains what it is given, so a notebook may import it while it is graded.
"""

import math
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any, Literal

import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

__all__ = [
    "EveryStepClassifier",
    "History",
    "LastStepClassifier",
    "accuracy",
    "fit",
    "mean_squared_error",
    "redraw",
    "step_cross_entropy",
]

Batch = tuple[Tensor | tuple[Tensor, ...], Tensor]
"""What a model takes, one tensor or a tuple of them such as `(x, lengths)`, and the targets."""


class LastStepClassifier(nn.Module):
    """Class scores from the output of the last time step: `linear(layer(x)[0][:, -1])`.

    Args:
        layer: a batch-first recurrent layer that returns `(output, state)`, ours or PyTorch's.
        hidden_size: width of the layer's output.
        classes: number of classes.
    """

    def __init__(self, layer: nn.Module, hidden_size: int, classes: int) -> None:
        super().__init__()
        self.layer = layer
        self.linear = nn.Linear(hidden_size, classes)

    def forward(self, x: Tensor) -> Tensor:
        """Scores (batch, classes) for sequences x (batch, time, input)."""
        output, _ = self.layer(x)
        return self.linear(output[:, -1])


class EveryStepClassifier(nn.Module):
    """Class scores from the output of every time step: `linear(layer(x)[0])`, for tagging and copying.

    Args:
        layer: a batch-first recurrent layer that returns `(output, state)`, ours or PyTorch's.
        output_size: width of the layer's output: the hidden size, twice that for two directions.
        classes: number of classes.
    """

    def __init__(self, layer: nn.Module, output_size: int, classes: int) -> None:
        super().__init__()
        self.layer = layer
        self.linear = nn.Linear(output_size, classes)

    def forward(self, x: Tensor, lengths: Tensor | None = None) -> Tensor:
        """Scores (batch, time, classes) for sequences x (batch, time, input), padded if `lengths` are given.

        PyTorch's layers get a packed sequence, ours the lengths: the outputs are the same.
        """
        if lengths is None:
            output = self.layer(x)[0]
        elif isinstance(self.layer, nn.RNNBase):
            packed = pack_padded_sequence(x, lengths.cpu(), batch_first=True, enforce_sorted=False)
            output, _ = pad_packed_sequence(self.layer(packed)[0], batch_first=True, total_length=x.shape[1])
        else:
            output = self.layer(x, lengths=lengths)[0]
        return self.linear(output)


@torch.no_grad()
def redraw(model: nn.Module, generator: torch.Generator) -> None:
    r"""Draw all parameters anew from PyTorch's default distribution, with an explicit generator.

    The default is uniform in $\pm 1/\sqrt{n}$ for recurrent and linear modules, with n the hidden size or
    the number of input features.

    Args:
        model: a module made of recurrent and linear modules.
        generator: source of the random numbers.

    Raises:
        ValueError: if a module holds parameters and has neither `hidden_size` nor `in_features`.
    """
    for module in model.modules():
        own = list(module.parameters(recurse=False))
        if not own:
            continue
        size = getattr(module, "hidden_size", None) or getattr(module, "in_features", None)
        if not isinstance(size, int):
            raise ValueError(
                f"{type(module).__name__} has neither hidden_size nor in_features: no default to draw from"
            )
        for parameter in own:
            nn.init.uniform_(parameter, -1 / math.sqrt(size), 1 / math.sqrt(size), generator=generator)


def accuracy(scores: Tensor, y: Tensor) -> float:
    """Share of targets whose largest score is at the right class, between 0 and 1.

    Args:
        scores: (..., classes).
        y: right classes (...), negative where there is nothing to be right about, such as at padded steps.

    Returns:
        The share among the targets that are not negative.

    Raises:
        ValueError: if the shapes do not fit, or no target counts.
    """
    if scores.shape[:-1] != y.shape:
        raise ValueError(
            f"y has shape {tuple(y.shape)}; expected {tuple(scores.shape[:-1])}, as the scores have"
        )
    counted = y >= 0
    if not counted.any():
        raise ValueError("y holds no class; expected at least one target that is not negative")
    return (scores.argmax(dim=-1) == y)[counted].float().mean().item()


def mean_squared_error(prediction: Tensor, y: Tensor) -> float:
    """Mean of the squared differences; as a metric it goes with `better='smaller'`.

    Args:
        prediction: numbers of any shape.
        y: targets, same shape.

    Returns:
        The mean.

    Raises:
        ValueError: if the shapes differ: broadcasting (batch, 1) against (batch,) would compare all with all.
    """
    if prediction.shape != y.shape:
        raise ValueError(
            f"y has shape {tuple(y.shape)}; expected {tuple(prediction.shape)}, as the prediction has"
        )
    return (prediction - y).square().mean().item()


def step_cross_entropy(scores: Tensor, y: Tensor) -> Tensor:
    """Cross-entropy over all time steps that count, in nats: the loss that goes with `EveryStepClassifier`.

    Args:
        scores: (batch, time, classes).
        y: right classes (batch, time), -100 at padded steps.

    Returns:
        The mean over the steps that count, to call `backward` on.

    Raises:
        ValueError: if the shapes do not fit.
    """
    if scores.dim() != 3 or scores.shape[:2] != y.shape:
        raise ValueError(
            f"scores have shape {tuple(scores.shape)} and y {tuple(y.shape)}; "
            "expected (batch, time, classes) and (batch, time)"
        )
    return nn.functional.cross_entropy(scores.flatten(0, 1), y.flatten())


@dataclass
class History:
    """What happened during `fit`, one entry a measurement.

    Attributes:
        updates: number of updates done at each measurement.
        loss: training loss at that update, in nats for cross-entropy.
        metric: metric on the held-out batch.
        gradient_norm: global gradient norm before clipping.
        reached: number of updates after which the target was met, None if it was not.
        seconds: duration of the whole call.
    """

    updates: list[int] = field(default_factory=list)
    loss: list[float] = field(default_factory=list)
    metric: list[float] = field(default_factory=list)
    gradient_norm: list[float] = field(default_factory=list)
    reached: int | None = None
    seconds: float = 0.0


def fit(
    model: nn.Module,
    draw: Callable[[], Batch],
    held_out: Batch,
    *,
    loss: Callable[[Tensor, Tensor], Tensor] = nn.functional.cross_entropy,
    metric: Callable[[Tensor, Tensor], float] = accuracy,
    lr: float = 1e-2,
    updates: int = 300,
    clip: float | None = 1.0,
    every: int = 25,
    target: float | None = None,
    better: Literal["larger", "smaller"] = "larger",
    progress: bool = False,
) -> History:
    """Train with Adam on fresh batches, measure on a held-out one, stop early when the target is met.

    Args:
        model: maps x to scores. While it is measured it is in evaluation mode, as `model.eval()` sets it.
        draw: gives a fresh training batch `(x, y)` at each call. Where x is a tuple, the model is called
            with its parts, such as `model(x, lengths)`.
        held_out: the batch `(x, y)` that the metric is taken on.
        loss: loss of scores and targets.
        metric: metric of scores and targets.
        lr: Adam's learning rate.
        updates: largest number of updates.
        clip: largest global gradient norm; None leaves gradients as they are.
        every: number of updates between measurements.
        target: metric at which to stop; None trains to the end.
        better: whether a larger or a smaller metric is better.
        progress: show a tqdm bar (on stderr, so leave it off in pages and test cells).

    Returns:
        The history of the run. The model is trained in place.

    Raises:
        ValueError: if `updates`, `every`, `lr` or `clip` is not positive, or for another `better`.
    """
    for name, value in (("updates", updates), ("every", every)):
        if value < 1:
            raise ValueError(f"{name} is {value}; expected at least 1")
    for name, rate in (("lr", lr), ("clip", clip)):
        if rate is not None and not rate > 0:
            raise ValueError(f"{name} is {rate}; expected a positive number")
    if better not in ("larger", "smaller"):
        raise ValueError(f"better is {better!r}; expected 'larger' or 'smaller'")

    optimizer = torch.optim.Adam(model.parameters(), lr=lr)
    history = History()
    started = time.perf_counter()
    steps: Iterable[int] = range(1, updates + 1)
    if progress:
        from tqdm.auto import tqdm

        steps = tqdm(steps, unit="update")
    for step in steps:
        x, y = draw()
        cost = loss(_call(model, x), y)
        optimizer.zero_grad()
        cost.backward()
        norm = nn.utils.clip_grad_norm_(model.parameters(), math.inf if clip is None else clip)
        optimizer.step()
        if step % every == 0 or step == updates:
            score = _measure(model, held_out, metric)
            history.updates.append(step)
            history.loss.append(cost.item())
            history.metric.append(score)
            history.gradient_norm.append(norm.item())
            if target is not None and (score >= target if better == "larger" else score <= target):
                history.reached = step
                break
    history.seconds = time.perf_counter() - started
    return history


def _call(model: nn.Module, x: Tensor | tuple[Tensor, ...]) -> Any:
    """The model's answer to one tensor, or to several."""
    return model(*x) if isinstance(x, tuple) else model(x)


@torch.no_grad()
def _measure(model: nn.Module, batch: Batch, metric: Callable[[Tensor, Tensor], float]) -> float:
    """The metric on a batch in evaluation mode; the model is left in the mode it had."""
    training = model.training
    model.eval()
    score = metric(_call(model, batch[0]), batch[1])
    model.train(training)
    return score

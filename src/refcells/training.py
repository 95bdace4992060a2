"""One small training loop for all experiments, and the readout that turns a recurrent layer into a classifier.

This module holds no cell: it trains what it is given, so a notebook may import it while it is graded.
"""

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, field

import torch
from torch import Tensor, nn

__all__ = ["History", "LastStepClassifier", "accuracy", "fit", "redraw"]

Batch = tuple[Tensor, Tensor]


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


@torch.no_grad()
def redraw(model: nn.Module, generator: torch.Generator) -> None:
    r"""Draw all parameters anew from PyTorch's default distribution, with an explicit generator.

    The default is uniform in $\pm 1/\sqrt{n}$ for recurrent and linear modules, with n the hidden size or the number
    of input features.

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
            raise ValueError(f"{type(module).__name__} has neither hidden_size nor in_features: no default to draw from")
        for parameter in own:
            nn.init.uniform_(parameter, -1 / math.sqrt(size), 1 / math.sqrt(size), generator=generator)


def accuracy(scores: Tensor, y: Tensor) -> float:
    """Share of rows whose largest score is at the right class, between 0 and 1."""
    return (scores.argmax(dim=-1) == y).float().mean().item()


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
    progress: bool = False,
) -> History:
    """Train with Adam on fresh batches, measure on a held-out one, stop early when the target is met.

    Args:
        model: maps x to scores.
        draw: gives a fresh training batch `(x, y)` at each call.
        held_out: the batch `(x, y)` that the metric is taken on.
        loss: loss of scores and targets.
        metric: metric of scores and targets; larger is better.
        lr: Adam's learning rate.
        updates: largest number of updates.
        clip: largest global gradient norm; None leaves gradients as they are.
        every: number of updates between measurements.
        target: metric at which to stop; None trains to the end.
        progress: show a tqdm bar (on stderr, so leave it off in pages and test cells).

    Returns:
        The history of the run. The model is trained in place.

    Raises:
        ValueError: if `updates` or `every` is not positive.
    """
    for name, value in (("updates", updates), ("every", every)):
        if value < 1:
            raise ValueError(f"{name} is {value}; expected at least 1")
    optimizer = torch.optim.Adam(model.parameters(), lr=lr)
    history = History()
    started = time.perf_counter()
    steps = range(1, updates + 1)
    if progress:
        from tqdm.auto import tqdm

        steps = tqdm(steps, unit="update")
    for step in steps:
        x, y = draw()
        value = loss(model(x), y)
        optimizer.zero_grad()
        value.backward()
        norm = nn.utils.clip_grad_norm_(model.parameters(), math.inf if clip is None else clip)
        optimizer.step()
        if step % every == 0 or step == updates:
            with torch.no_grad():
                score = metric(model(held_out[0]), held_out[1])
            history.updates.append(step)
            history.loss.append(value.item())
            history.metric.append(score)
            history.gradient_norm.append(norm.item())
            if target is not None and score >= target:
                history.reached = step
                break
    history.seconds = time.perf_counter() - started
    return history

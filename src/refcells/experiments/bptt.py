"""Experiments of the chapter on BPTT: what clipping does, and what truncation costs."""

import math
from typing import Any

from refcells.experiments.record import Experiment

__all__ = ["EXPERIMENTS", "clipping_run", "truncation_run"]

HIDDEN, BATCH, SYMBOLS, HELD_OUT = 32, 64, 8, 512


def clipping_run(clip: float | None, lr: float, seed: int, updates: int = 400) -> dict[str, Any]:
    """Plain SGD on remember-first with distractors, 20 steps, from an orthogonal RNN, with or without clipping.

    Args:
        clip: largest global gradient norm; None leaves gradients as they are.
        lr: learning rate of SGD.
        seed: seed of weights and of all sequences.
        updates: number of updates.

    Returns:
        Held-out `accuracy` after the last update; `loss` (nats, mean) and `norm` (the largest global norm
        before clipping) of every 10 updates, in order.
    """
    import torch
    from torch import nn

    from refcells.figures.measure import layer_with
    from refcells.tasks import remember_first
    from refcells.training import LastStepClassifier, accuracy, redraw

    steps, window = 20, 10
    generator = torch.Generator().manual_seed(seed)
    layer = layer_with("RNN, orthogonal", SYMBOLS, HIDDEN, steps, generator)
    model = LastStepClassifier(layer, HIDDEN, SYMBOLS)
    redraw(model.linear, generator)
    optimizer = torch.optim.SGD(model.parameters(), lr=lr)
    x_held, y_held = remember_first(HELD_OUT, steps, SYMBOLS, generator=generator, distractors=True)
    losses, norms = [], []
    for _ in range(updates):
        x, y = remember_first(BATCH, steps, SYMBOLS, generator=generator, distractors=True)
        loss = nn.functional.cross_entropy(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        norms.append(nn.utils.clip_grad_norm_(model.parameters(), math.inf if clip is None else clip).item())
        optimizer.step()
        losses.append(loss.item())
    with torch.no_grad():
        score = accuracy(model(x_held), y_held)
    return {
        "accuracy": round(score, 4),
        "loss": [float(f"{sum(losses[k : k + window]) / window:.4g}") for k in range(0, updates, window)],
        "norm": [float(f"{max(norms[k : k + window]):.4g}") for k in range(0, updates, window)],
    }


def truncation_run(
    initialisation: str, chunk: int, lr: float, seed: int, updates: int = 300
) -> dict[str, Any]:
    """One plain RNN on remember-first, 20 steps, whose gradient may travel only `chunk` steps.

    The state is carried through the whole sequence; its gradient is cut at every multiple of `chunk`.

    Args:
        initialisation: 'RNN, default' or 'RNN, orthogonal'.
        chunk: time steps in a chunk.
        lr: Adam's learning rate; gradients are clipped at 1.
        seed: seed of weights and of all sequences.
        updates: number of updates.

    Returns:
        Held-out `accuracy` after the last update.
    """
    import torch
    from torch import nn

    from refcells.figures.measure import layer_with
    from refcells.tasks import remember_first
    from refcells.training import fit, redraw

    steps = 20

    class Truncated(nn.Module):
        """A classifier that reads the sequence chunk by chunk and detaches the state in between."""

        def __init__(self) -> None:
            super().__init__()
            self.layer = layer_with(initialisation, SYMBOLS, HIDDEN, steps, generator)
            self.linear = nn.Linear(HIDDEN, SYMBOLS)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            h = x.new_zeros(1, x.shape[0], HIDDEN)
            for part in x.split(chunk, dim=1):
                _, h = self.layer(part, h.detach())
            return self.linear(h[0])

    generator = torch.Generator().manual_seed(seed)
    model = Truncated()
    redraw(model.linear, generator)
    history = fit(
        model,
        lambda: remember_first(BATCH, steps, SYMBOLS, generator=generator),
        remember_first(HELD_OUT, steps, SYMBOLS, generator=generator),
        lr=lr,
        updates=updates,
        target=0.995,
    )
    return {"accuracy": round(history.metric[-1], 4), "reached": history.reached}


def _same_side(kept: dict[str, Any], again: dict[str, Any]) -> bool:
    """Solved or not solved, as before; accuracies within 0.15, for training runs drift apart."""
    return abs(kept["accuracy"] - again["accuracy"]) <= 0.15


def _clipping_close(kept: dict[str, Any], again: dict[str, Any]) -> bool:
    """The same first updates within 1 percent, before trajectories drift, and an accuracy as good or as bad."""
    first = all(abs(kept[key][0] - again[key][0]) <= 0.01 * kept[key][0] for key in ("loss", "norm"))
    return first and (kept["accuracy"] > 0.6) == (again["accuracy"] > 0.6)


SEEDS = range(5)
EXPERIMENTS = [
    Experiment(
        "bptt-clipping",
        clipping_run,
        [
            {"clip": clip, "lr": lr, "seed": seed}
            for clip in (None, 1.0)
            for lr in (0.01, 0.03, 0.1, 0.3, 1.0)
            for seed in SEEDS
        ],
        # Not an unclipped run at a higher rate: which of these diverge, another processor's rounding decides.
        sample=[5, 35],
        close=_clipping_close,
    ),
    Experiment(
        "bptt-truncation",
        truncation_run,
        [
            {"initialisation": name, "chunk": chunk, "lr": lr, "seed": seed}
            for name in ("RNN, default", "RNN, orthogonal")
            for chunk in (5, 10, 20)
            for lr in (0.003, 0.01)
            for seed in SEEDS
        ],
        sample=[0, 25],
        close=_same_side,
    ),
]

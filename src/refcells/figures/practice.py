"""Figures of the chapter on practice: padding, dropout masks, a tuning grid and training curves."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.patches import Rectangle
from matplotlib.ticker import MaxNLocator

from refcells.figures.style import COLOURS, GRID, INK, MUTED, CourseFigure, figure, in_style

__all__ = ["dropout_masks", "padded_batches", "training_curves", "tuning_grid"]


@in_style
def padded_batches(batches: Mapping[str, Sequence[Sequence[int]]]) -> CourseFigure:
    """The lengths in a few batches as bars, with the padding that each batch needs.

    Args:
        batches: for each way of making batches, the lengths of the sequences of each batch, in time steps.
    """
    longest = max(max(batch) for way in batches.values() for batch in way)
    fig, axes = figure(5.0, 2.4 * len(batches), rows=len(batches), sharex=True, squeeze=False)
    for ax, (name, way) in zip(axes[:, 0], batches.items(), strict=True):
        y, steps, real = 0.0, 0, 0
        for batch in way:
            for length in batch:
                ax.add_patch(Rectangle((0, y), length, 0.8, facecolor=COLOURS["blue"], edgecolor="none"))
                padding = max(batch) - length
                ax.add_patch(
                    Rectangle((length, y), padding, 0.8, facecolor=GRID, edgecolor=MUTED, lw=0, hatch="/////")
                )
                y += 1
            steps += max(batch) * len(batch)
            real += sum(batch)
            y += 1.2
        ax.set_title(f"{name}: {100 * (1 - real / steps):.0f} % padding")
        ax.set(xlim=(0, longest), ylim=(y, -0.6), yticks=[])
        ax.grid(False)
        ax.spines["left"].set_visible(False)
    axes[-1, 0].xaxis.set_major_locator(MaxNLocator(integer=True))
    axes[-1, 0].set_xlabel("time steps")
    return fig


@in_style
def dropout_masks(keep: float = 0.7, units: int = 6, steps: int = 10, seed: int = 3) -> CourseFigure:
    """What dropout leaves of the units over time: a fresh mask at each step, and one mask for the sequence."""
    rng = np.random.default_rng(seed)
    fresh = rng.random((units, steps)) < keep
    fig, axes = figure(4.8, 4.6, rows=2)
    for ax, title, mask in (
        (axes[0], "a fresh mask at each step", fresh),
        (axes[1], "one mask for the sequence", np.repeat(fresh[:, :1], steps, axis=1)),
    ):
        lives = np.cumprod(mask, axis=1).astype(bool)
        for u in range(units):
            for t in range(steps):
                kept = bool(mask[u, t])
                ax.add_patch(
                    Rectangle(
                        (t + 0.06, -u - 0.94),
                        0.88,
                        0.88,
                        facecolor=COLOURS["blue"] if lives[u, t] else "white" if kept else GRID,
                        edgecolor=COLOURS["blue"] if kept else MUTED,
                        hatch=None if kept else "////",
                        lw=1.2,
                    )
                )
        ax.set(xlim=(-0.05, steps + 0.05), ylim=(-units - 0.05, 0.05), aspect="equal")
        ax.set_title(title)
        ax.set_yticks([-units / 2], ["units"])
        ax.set_xticks([])
        ax.tick_params(length=0)
        ax.grid(False)
        for spine in ax.spines.values():
            spine.set_visible(False)
    axes[1].set_xlabel("time steps")
    return fig


@in_style
def tuning_grid(rates: Sequence[float], sizes: Sequence[int], scores: np.ndarray) -> CourseFigure:
    """Validation accuracy in percent by learning rate and hidden size; the best is framed.

    Args:
        rates: learning rates, one a row.
        sizes: numbers of units, one a column.
        scores: accuracy between 0 and 1, (rates, sizes).

    Raises:
        ValueError: if `scores` has another shape.
    """
    scores = np.asarray(scores, dtype=float)
    if scores.shape != (len(rates), len(sizes)):
        raise ValueError(f"scores has shape {scores.shape}; expected ({len(rates)}, {len(sizes)})")
    fig, ax = figure(4.6, 0.5 * len(rates) + 0.9)
    low, high = float(scores.min()), float(scores.max())
    ax.imshow(
        scores, cmap="Blues", vmin=low - 0.1 * (high - low), vmax=high + 0.35 * (high - low), aspect="auto"
    )
    for r in range(len(rates)):
        for c in range(len(sizes)):
            bright = (scores[r, c] - low) / (high - low) < 0.72
            shade = "black" if bright else "white"
            ax.text(c, r, f"{100 * scores[r, c]:.1f}", ha="center", va="center", color=shade)
    row, column = (float(k) for k in np.unravel_index(int(scores.argmax()), scores.shape))
    ax.add_patch(
        Rectangle((column - 0.46, row - 0.44), 0.92, 0.88, fill=False, edgecolor=COLOURS["orange"], lw=2.6)
    )
    ax.set_xticks(range(len(sizes)), [str(size) for size in sizes])
    ax.set_yticks(range(len(rates)), [f"{rate:g}" for rate in rates])
    ax.set(xlabel="units in each direction", ylabel="learning rate")
    ax.tick_params(length=0)
    ax.grid(False)
    for spine in ax.spines.values():
        spine.set_visible(False)
    return fig


@in_style
def training_curves(runs: Mapping[str, Mapping[str, Any]], chance: float) -> CourseFigure:
    """Training and held-out loss of a few runs, a panel each, on one logarithmic axis.

    Args:
        runs: for each name 'at', numbers of updates, and at each the 'training' and the 'held_out' loss, in nats.
        chance: loss of guessing all classes alike, in nats.
    """
    fig, axes = figure(5.0, 5.0, rows=2, columns=2, sharex=True, sharey=True)
    for ax, (name, run) in zip(axes.flat, runs.items(), strict=True):
        ax.axhline(chance, color=MUTED, lw=1, ls=(0, (2, 2)))
        # Where nothing is left to learn from the few lines, the loss goes on to fall below what matters.
        ax.semilogy(
            run["at"],
            np.maximum(run["training"], 1e-3),
            color=COLOURS["blue"],
            lw=1.3,
            label="training batch",
        )
        ax.semilogy(run["at"], run["held_out"], color=COLOURS["orange"], ls="--", label="held out")
        ax.set_title(name)
        ax.set(xlim=(0, run["at"][-1]))
    fig.supxlabel("updates", fontsize=11.5, color=INK)
    fig.supylabel("loss, in nats", fontsize=11.5, color=INK)
    fig.legend(*axes[0, 0].get_legend_handles_labels(), loc="outside upper center", ncols=2)
    return fig

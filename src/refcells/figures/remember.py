"""Remember-first by sequence length and learning rate: the best rate of each network, and the sweep that it comes from.

The functions take the parts of an experiment as `refcells.experiments.load` gives them, with any networks of
`measure.LAYERS`.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.patches import Rectangle

from refcells.figures.style import COLOURS, INK, MUTED, CourseFigure, figure, in_style

__all__ = ["Rate", "accuracy_by_length", "best_rate", "rates_by_length", "rates_of"]

# Line style and marker tell the networks apart as well as the colour does.
LOOK = {
    "RNN, default": (MUTED, ":", "s"),
    "RNN, orthogonal": (COLOURS["green"], (0, (1, 1)), "D"),
    "LSTM, default": (COLOURS["orange"], "--", "v"),
    "LSTM, forget bias 1": (COLOURS["purple"], "-.", "o"),
    "LSTM, chrono": (COLOURS["blue"], "-", "^"),
    "GRU, default": (COLOURS["gold"], "--", "<"),
    "GRU, chrono": (COLOURS["gold"], "-", ">"),
}


@dataclass(frozen=True)
class Rate:
    """The runs of one network at one sequence length and one learning rate, one entry a seed.

    Attributes:
        lr: Adam's learning rate.
        accuracy: held-out accuracies after training.
        reached: numbers of updates after which 99.5 percent were reached, None where they were not.
    """

    lr: float
    accuracy: list[float]
    reached: list[int | None]

    @property
    def solved(self) -> int:
        """Number of runs that reached 99.5 percent."""
        return sum(updates is not None for updates in self.reached)

    @property
    def updates(self) -> float:
        """Median number of updates of the runs that were solved; infinite if none was."""
        done = [updates for updates in self.reached if updates is not None]
        return float(np.median(done)) if done else float("inf")


def rates_of(parts: Sequence[dict[str, Any]], initialisation: str, steps: int) -> list[Rate]:
    """The runs of one network at one length, by learning rate, ascending.

    Raises:
        ValueError: if there is none.
    """
    runs = [p for p in parts if p["initialisation"] == initialisation and p["steps"] == steps]
    if not runs:
        raise ValueError(f"no run has initialisation {initialisation!r} and {steps} steps")
    return [
        Rate(
            lr, [p["accuracy"] for p in runs if p["lr"] == lr], [p["reached"] for p in runs if p["lr"] == lr]
        )
        for lr in sorted({p["lr"] for p in runs})
    ]


def best_rate(parts: Sequence[dict[str, Any]], initialisation: str, steps: int) -> Rate:
    """The rate that suits a network best at a length: most runs solved, then highest mean accuracy, then fewest updates.

    Args:
        parts: runs with 'initialisation', 'steps', 'lr', 'accuracy' and 'reached'.
        initialisation: one of `measure.LAYERS`.
        steps: sequence length, in time steps.

    Raises:
        ValueError: if no such run is there.
    """
    return max(
        rates_of(parts, initialisation, steps),
        key=lambda rate: (rate.solved, round(float(np.mean(rate.accuracy)), 2), -rate.updates, -rate.lr),
    )


def networks_and_lengths(parts: Sequence[dict[str, Any]]) -> tuple[list[str], list[int]]:
    """Which networks there are, in the order of the legends, and which lengths, ascending."""
    names = [name for name in LOOK if any(p["initialisation"] == name for p in parts)]
    return names, sorted({p["steps"] for p in parts})


@in_style
def accuracy_by_length(parts: Sequence[dict[str, Any]], chance: float) -> CourseFigure:
    """Held-out accuracy by sequence length, each network at its best rate: a mark a run, a line through the means.

    Args:
        parts: runs with 'initialisation', 'steps', 'lr', 'accuracy' and 'reached'.
        chance: accuracy of guessing.
    """
    names, lengths = networks_and_lengths(parts)
    fig, ax = figure(5.0, 4.3)
    for k, name in enumerate(names):
        colour, style, marker = LOOK[name]
        aside = 0.13 * (k - (len(names) - 1) / 2)
        means = []
        for place, steps in enumerate(lengths):
            scores = best_rate(parts, name, steps).accuracy
            ax.plot([place + aside] * len(scores), scores, marker, color=colour, ms=4.5, alpha=0.75, mew=0)
            means.append(np.mean(scores))
        places = [place + aside for place in range(len(lengths))]
        ax.plot(places, means, color=colour, ls=style, lw=1.6)
        ax.plot([], [], color=colour, ls=style, lw=1.6, marker=marker, ms=5, label=name)  # for the legend
    ax.axhline(chance, color=MUTED, lw=1, ls=(0, (2, 2)))
    ax.text(-0.42, chance + 0.015, "chance", color=MUTED, ha="left", va="bottom", fontsize=10)
    ax.set(
        xlabel="sequence length $T$, in time steps",
        ylabel="held-out accuracy at the best rate",
        ylim=(0, 1.04),
        xlim=(-0.45, len(lengths) - 0.55),
    )
    ax.set_xticks(range(len(lengths)), [str(steps) for steps in lengths])
    fig.legend(loc="outside lower center", ncols=2)
    return fig


@in_style
def rates_by_length(parts: Sequence[dict[str, Any]]) -> CourseFigure:
    """The whole sweep: a panel a network, a column a length, a row a rate; in each square the mean accuracy.

    The best rate of each length is framed; a square that was not run is empty.

    Args:
        parts: runs with 'initialisation', 'steps', 'lr', 'accuracy' and 'reached'.
    """
    names, lengths = networks_and_lengths(parts)
    rates = sorted({p["lr"] for p in parts})
    rows = (len(names) + 1) // 2
    fig, axes = figure(5.2, 0.55 + 1.75 * rows, rows=rows, columns=2, sharex=True, sharey=True)
    flat = list(np.ravel(axes))
    for ax, name in zip(flat, names, strict=False):
        values = np.full((len(rates), len(lengths)), np.nan)
        for column, steps in enumerate(lengths):
            for rate in rates_of(parts, name, steps):
                values[rates.index(rate.lr), column] = np.mean(rate.accuracy)
        ax.imshow(values, cmap="Blues", vmin=0, vmax=1.15, aspect="auto", origin="lower")
        for (row, column), value in np.ndenumerate(values):
            if np.isfinite(value):
                text = f"{value:.2f}".removeprefix("0") if value < 0.995 else "1"
                shade = "white" if value > 0.62 else "black"
                ax.text(column, row, text, ha="center", va="center", color=shade, fontsize=9.5)
        for column, steps in enumerate(lengths):
            row = rates.index(best_rate(parts, name, steps).lr)
            frame = Rectangle((column - 0.46, row - 0.46), 0.92, 0.92, fill=False)
            frame.set(edgecolor=COLOURS["orange"], lw=2.2, zorder=3)
            ax.add_patch(frame)
        ax.set_title(name)
        ax.set_xticks(range(len(lengths)), [str(steps) for steps in lengths])
        ax.set_yticks(range(len(rates)), [f"{rate:g}" for rate in rates])
        ax.tick_params(length=0)
        ax.grid(False)
        for spine in ax.spines.values():
            spine.set_visible(False)
    for ax in flat[len(names) :]:
        ax.set_visible(False)
    if len(flat) > len(names):  # the panel above the empty one has the last row's labels
        flat[len(names) - 2].tick_params(labelbottom=True)
    fig.supxlabel("sequence length $T$, in time steps", fontsize=11.5, color=INK)
    fig.supylabel("Adam's learning rate", fontsize=11.5, color=INK)
    return fig

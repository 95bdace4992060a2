"""The figures of the chapter on choosing, and the timeline."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from refcells.figures.style import COLOURS, GRID, INK, MUTED, CourseFigure, figure, in_style

__all__ = [
    "HISTORY",
    "chain_and_attention",
    "cost_by_length",
    "forecast_errors",
    "slope",
    "step_cost",
    "timeline",
]

LOOK = {
    "RNN": (MUTED, ":", "s"),
    "LSTM": (COLOURS["blue"], "-", "^"),
    "GRU": (COLOURS["green"], "--", "o"),
    "attention": (COLOURS["orange"], "-.", "D"),
}


@in_style
def chain_and_attention(steps: int = 6) -> CourseFigure:
    """Which steps a step reads: a chain for a recurrent network, every earlier step for causal attention."""
    fig, axes = figure(5.0, 2.7, columns=2)
    for ax, title, colour in zip(
        axes,
        ("recurrent: a chain", "causal attention: all before"),
        (COLOURS["blue"], COLOURS["orange"]),
        strict=True,
    ):
        read = np.eye(steps, k=-1) if ax is axes[0] else np.tri(steps, k=-1)
        for t in range(steps):
            for s in range(steps):
                if read[t, s] or s == t:
                    ax.plot(s, t, "s", ms=13, color=colour if s != t else INK, mew=0)
                else:
                    ax.plot(s, t, "s", ms=13, mfc="none", mec=GRID)
        ax.set_title(title, fontsize=10.5)
        ax.set(xlim=(-0.6, steps - 0.4), ylim=(steps - 0.4, -0.6), xlabel="step read", aspect="equal")
        ax.set_xticks(range(steps), [str(k + 1) for k in range(steps)])
        ax.set_yticks(range(steps), [str(k + 1) for k in range(steps)])
        ax.tick_params(length=0)
        ax.grid(False)
        for spine in ax.spines.values():
            spine.set_visible(False)
    axes[0].set_ylabel("step computed")
    return fig


def slope(steps: Sequence[int], seconds: Sequence[float], last: int = 3) -> float:
    """Slope of a time against length on two logarithmic axes, over the last points: 1 is linear, 2 quadratic."""
    x, y = np.log(np.asarray(steps[-last:])), np.log(np.asarray(seconds[-last:]))
    return float(np.polyfit(x, y, 1)[0])


def _cost(ax: Any, measured: Sequence[dict[str, Any]]) -> None:
    for name, (colour, style, marker) in LOOK.items():
        rows = [part for part in measured if part["layer"] == name]
        if rows:
            lengths = [part["steps"] for part in rows]
            times = [1000 * part["seconds"] for part in rows]
            ax.loglog(lengths, times, color=colour, ls=style, marker=marker, ms=5, label=name)
    lengths = sorted({part["steps"] for part in measured})
    ax.set_xticks(lengths[::2], [f"{n:,}" for n in lengths[::2]])
    ax.minorticks_off()


@in_style
def cost_by_length(measured: Sequence[dict[str, Any]]) -> CourseFigure:
    """Time of a forward pass against sequence length, on two logarithmic axes."""
    fig, ax = figure(5.0, 3.6)
    _cost(ax, measured)
    ax.legend(loc="upper left")
    ax.set(xlabel="sequence length, in time steps", ylabel="time, in milliseconds")
    return fig


@in_style
def step_cost(measured: Sequence[dict[str, Any]], width: int) -> CourseFigure:
    """Time of one more step, and numbers to be kept, against the number of steps before."""
    fig, (top, bottom) = figure(5.0, 4.6, rows=2, sharex=True)
    _cost(top, measured)
    top.legend(loc="upper left")
    top.set(ylabel="one more step, in ms")
    lengths = np.array(sorted({part["steps"] for part in measured}))
    for name, kept in (
        ("LSTM", np.full(len(lengths), 2 * width)),
        ("GRU", np.full(len(lengths), width)),
        ("attention", 2 * width * lengths),
    ):
        colour, style, marker = LOOK[name]
        bottom.loglog(lengths, kept, color=colour, ls=style, marker=marker, ms=5)
    bottom.set(xlabel="time steps before", ylabel="numbers kept")
    bottom.minorticks_off()
    return fig


@in_style
def forecast_errors(baselines: dict[str, float], cells: dict[str, Sequence[float]]) -> CourseFigure:
    """Errors of forecasts: a line for each baseline, a mark for each seed of a trained network."""
    fig, ax = figure(5.0, 0.36 * (len(baselines) + len(cells)) + 0.9)
    rows = [*baselines, *cells]
    for k, name in enumerate(rows):
        if name in baselines:
            ax.plot(baselines[name], k, "|", ms=16, mew=2.5, color=INK)
        else:
            colour, _, marker = LOOK[name]
            spread = np.linspace(-0.15, 0.15, len(cells[name]))
            ax.plot(cells[name], k + spread, marker, ms=6, color=colour, mew=0, ls="none", alpha=0.85)
    ax.set_yticks(range(len(rows)), rows)
    ax.tick_params(axis="y", length=0)
    ax.grid(axis="y", visible=False)
    ax.set(ylim=(len(rows) - 0.4, -0.6), xlim=(0, None), xlabel="root-mean-square error, in sunspot numbers")
    return fig


# Year and what happened; the page 'History' cites each.
HISTORY: tuple[tuple[int, str], ...] = (
    (1986, "back-propagation, also through time"),
    (1990, "Elman's simple recurrent network"),
    (1991, "vanishing gradients, first analysed"),
    (1997, "LSTM; bidirectional networks"),
    (2000, "the forget gate; peepholes"),
    (2005, "full gradients through the LSTM"),
    (2013, "clipping by norm"),
    (2014, "GRU; sequence to sequence; attention"),
    (2017, "the Transformer"),
    (2018, "chrono initialisation"),
    (2022, "structured state spaces (S4)"),
    (2023, "selective state spaces (Mamba)"),
    (2024, "xLSTM; minimal GRU and LSTM"),
)


@in_style
def timeline(events: Sequence[tuple[int, str]] = HISTORY) -> CourseFigure:
    """Events down a line of years to scale; texts that would overlap are moved down and led to their year."""
    fig, ax = figure(5.0, 5.6)
    first, last = events[0][0] - 1, events[-1][0] + 1
    gap = (last - first) / (len(events) + 0.5)
    ax.plot([0, 0], [first, last], color=INK, lw=2)
    place = -np.inf
    places = []
    for year, _ in events:
        place = max(year, place + gap)
        places.append(place)
    # Texts pushed beyond the end move back up together.
    for k in range(len(places) - 1, -1, -1):
        limit = last if k == len(places) - 1 else places[k + 1] - gap
        places[k] = min(places[k], limit)
    for (year, text), at in zip(events, places, strict=True):
        ax.plot(0, year, "o", ms=6, color=COLOURS["blue"], zorder=3)
        ax.plot([0.02, 0.1, 0.14], [year, at, at], color=MUTED, lw=0.9)
        ax.text(0.16, at, f"{year}", va="center", color=COLOURS["blue"], fontsize=10.5)
        ax.text(0.29, at, text, va="center", fontsize=10.5)
    ax.set(xlim=(-0.03, 1.2), ylim=(last + 0.5, first - 0.5))
    ax.axis("off")
    return fig

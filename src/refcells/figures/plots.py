"""Plots of what `refcells.figures.measure` measured."""

from collections.abc import Mapping, Sequence

import numpy as np

from refcells.figures.measure import DirectAgainstFull
from refcells.figures.style import COLOURS, GATES, MUTED, CourseFigure, figure, in_style

__all__ = ["direct_against_full", "gate_heatmap", "gradient_by_lag"]

# Line style and marker tell the initialisations apart as well as the colour does.
LOOK = {
    "RNN, default": (MUTED, ":", "s"),
    "LSTM, default": (COLOURS["orange"], "--", "v"),
    "LSTM, forget bias 1": (COLOURS["purple"], "-.", "o"),
    "LSTM, chrono": (COLOURS["blue"], "-", "^"),
}


@in_style
def direct_against_full(measured: Sequence[DirectAgainstFull]) -> CourseFigure:
    """Norm of the product of forget gates beside that of the full Jacobian, by lag; one line a network."""
    fig, ax = figure(5.0, 3.3)
    for k, m in enumerate(measured):
        named = k == 0
        ax.semilogy(m.lags, m.full, color=GATES["f"], lw=1.5, label="full Jacobian" if named else None)
        ax.semilogy(
            m.lags,
            m.direct,
            color=GATES["g"],
            lw=1.5,
            ls="--",
            label="product of forget gates" if named else None,
        )
    ax.legend(loc="upper right")
    ax.set(
        xlabel="lag $k$, in time steps", ylabel="norm, over " + r"$\sqrt{H}$", xlim=(0, measured[0].lags[-1])
    )
    return fig


@in_style
def gradient_by_lag(lags: Sequence[int], norms: Mapping[str, Sequence[np.ndarray]]) -> CourseFigure:
    """Norm of d h_T / d state_{T-k} by lag: the median of several networks, and the range they span."""
    fig, ax = figure(5.0, 3.6)
    for name, curves in norms.items():
        colour, style, marker = LOOK[name]
        stack = np.array(curves)
        ax.fill_between(lags, stack.min(axis=0), stack.max(axis=0), color=colour, alpha=0.16, lw=0)
        ax.semilogy(lags, np.median(stack, axis=0), color=colour, ls=style, marker=marker, ms=4.5, label=name)
    ax.set(
        xlabel="lag $k$, in time steps",
        ylabel=r"norm of $\mathrm{d}h_T/\mathrm{d}c_{T-k}$, over $\sqrt{H}$",
        xlim=(0, max(lags)),
        ylim=(1e-30, 10),
    )
    ax.legend(loc="lower left")
    return fig


@in_style
def gate_heatmap(words: Sequence[str], rows: Mapping[str, np.ndarray]) -> CourseFigure:
    """Gate values of one unit over a sequence: a row a gate, a column a time step, the value in each square.

    Args:
        words: what was read at each step.
        rows: name of each row, and its values by step. Colours saturate beyond -1.25 and 1.25.

    Raises:
        ValueError: if a row has not one value for each word.
    """
    values = np.array(list(rows.values()), dtype=float)
    if values.shape != (len(rows), len(words)):
        raise ValueError(
            f"rows have shape {values.shape}; expected ({len(rows)}, {len(words)}), one value a word"
        )
    fig, ax = figure(5.2, 0.42 * len(rows) + 0.75)
    image = ax.imshow(values, cmap="PuOr", vmin=-1.25, vmax=1.25, aspect="auto")
    for r, row in enumerate(values):
        for t, value in enumerate(row):
            red, green, blue, _ = image.cmap(image.norm(value))
            light = 0.2126 * red**2.2 + 0.7152 * green**2.2 + 0.0722 * blue**2.2  # relative luminance
            shade = "white" if light < 0.2 else "black"
            text = f"{value:.2f}".replace("0.", ".", 1).replace("-", "−")
            ax.text(t, r, text, ha="center", va="center", color=shade, fontsize=10)
    ax.set_xticks(range(len(words)), list(words), fontsize=10.5)
    ax.set_yticks(range(len(rows)), list(rows), fontsize=13)
    ax.tick_params(length=0)
    ax.xaxis.tick_top()
    ax.grid(False)
    for spine in ax.spines.values():
        spine.set_visible(False)
    return fig

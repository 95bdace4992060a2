"""Figures of the chapter on the GRU: its cell beside the others, its gates at work, its gradient."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.colors import to_rgb

from refcells import scalar
from refcells.figures.gru_measure import Terms
from refcells.figures.shapes import Canvas
from refcells.figures.style import COLOURS, GATES, INK, MUTED, CourseFigure, figure, in_style

__all__ = [
    "blend_against_full",
    "blended_paths",
    "dynamic_gates",
    "gradient_of_all_cells",
    "gru_cell",
    "sweep_map",
    "three_cells",
]

STATE = COLOURS["gold"]
KEEP, WRITE, CANDIDATE, READ = (GATES[name] for name in "figo")

# Line style and marker tell the networks apart as well as the colour does.
LOOK = {
    "RNN, default": (MUTED, ":", "s"),
    "LSTM, default": (COLOURS["orange"], "--", "v"),
    "LSTM, chrono": (COLOURS["blue"], "-", "^"),
    "GRU, default": (COLOURS["gold"], "--", "<"),
    "GRU, chrono": (COLOURS["gold"], "-", ">"),
}


@in_style
def gru_cell() -> CourseFigure:
    """The GRU cell: its only state runs along the top, one gate keeps and writes, another guards what is read."""
    d = Canvas(10, 6.9)
    d.frame(1.5, 0.8, 8.7, 6.4)
    lane, joint, below, layers, read, write = 5.3, 1.75, 1.2, 2.65, 3.5, 4.15

    # The state, along the top: keep, write.
    d.wire([(0.5, lane), (3.83, lane)], STATE, lw=3.0)
    d.wire([(4.4, lane), (6.33, lane)], STATE, lw=3.0)
    d.wire([(6.9, lane), (9.5, lane)], STATE, lw=3.0)

    # Reset and update gate read the state and the input.
    d.wire([(1.95, lane), (1.95, joint)], STATE, arrow=False)
    d.fork(1.95, lane, STATE)
    d.wire([(1.95, 0.45), (1.95, joint)], arrow=False)
    d.wire([(1.95, joint), (4.1, joint), (4.1, layers - 0.36)])
    d.wire([(2.75, joint), (2.75, layers - 0.36)])
    d.fork(2.75, joint)
    d.join(1.95, joint)
    # The candidate reads the input and what the reset gate lets through.
    d.wire([(2.75, lane), (2.75, read + 0.28)], STATE)
    d.fork(2.75, lane, STATE)
    d.wire([(2.75, layers + 0.36), (2.75, read - 0.28)], READ)
    d.wire([(3.02, read), (5.3, read), (5.3, below)], READ, arrow=False)
    d.operation(2.75, read, "×", READ)
    d.wire([(1.95, below), (6.6, below), (6.6, layers - 0.36)])
    d.fork(1.95, below)
    d.join(5.3, below)

    d.layer(2.75, layers, r"$\sigma$", READ)
    d.layer(4.1, layers, r"$\sigma$", WRITE)
    d.layer(6.6, layers, "tanh", CANDIDATE)

    # One gate, used twice: z writes, 1 - z keeps.
    d.wire([(4.1, layers + 0.36), (4.1, 4.32)], WRITE)
    d.wire([(4.1, 4.86), (4.1, lane - 0.28)], KEEP)
    d.operation(4.1, 4.59, "1 −", KEEP)
    d.operation(4.1, lane, "×", KEEP)
    d.wire([(4.1, write - 0.13), (6.33, write - 0.13)], WRITE)
    d.fork(4.1, write - 0.13, WRITE)
    d.wire([(6.6, layers + 0.36), (6.6, write - 0.4)], CANDIDATE)
    d.operation(6.6, write - 0.13, "×", WRITE)
    d.wire([(6.6, write + 0.14), (6.6, lane - 0.28)])
    d.operation(6.6, lane, "+")

    for x, y, name, colour in (
        (2.42, 3.15, "r", READ),
        (3.85, 3.15, "z", WRITE),
        (6.88, 3.3, "n", CANDIDATE),
    ):
        d.port(x, y, f"${name}$", colour)
    for x, y, word, colour in (
        (4.1, 5.9, "keep", KEEP),
        (6.6, 5.9, "write", WRITE),
        (4.75, 3.22, "read", READ),
    ):
        d.port(x, y, word, colour, size=10)
    d.port(0.25, lane + 0.4, "$h_{t{-}1}$", STATE, ha="left")
    d.port(1.95, 0.2, "$x_t$")
    d.port(9.45, lane + 0.4, "$h_t$", STATE)
    return d.figure


@in_style
def three_cells() -> CourseFigure:
    """RNN, LSTM and GRU by role: who keeps, who writes, what is written, and who decides what is read."""
    d = Canvas(10.4, 11.0, scale=0.5)
    keep, write, content, show = 2.9, 4.5, 6.1, 8.0
    for x, word, colour in (
        (keep, "keep", KEEP),
        (write, "write", WRITE),
        (content, "candidate", CANDIDATE),
        (show, "read", READ),
    ):
        d.port(x, 10.7, word, colour, size=10.5)

    # The plain cell: the state passes the layer.
    lane = 9.5
    d.port(0.2, lane + 0.45, "RNN", size=11, ha="left")
    d.wire([(0.5, lane), (content - 0.55, lane)], STATE, lw=3.0)
    d.layer(content, lane, "tanh", CANDIDATE, width=1.05)
    d.wire([(content + 0.53, lane), (9.6, lane)], STATE, lw=3.0)
    for x in (keep, write, show):
        d.port(x, lane - 0.75, "–", MUTED, size=13)
    d.port(9.95, lane, "$h_t$", STATE)

    # The LSTM: a gate for each role.
    base = 4.2
    boxes, mid, lane = base + 0.5, base + 1.5, base + 2.75
    d.port(0.2, lane + 0.45, "LSTM", size=11, ha="left")
    d.wire([(0.5, lane), (keep - 0.27, lane)], STATE, lw=3.0)
    d.wire([(keep + 0.3, lane), (content - 0.27, lane)], STATE, lw=3.0)
    d.wire([(content + 0.3, lane), (9.6, lane)], STATE, lw=3.0)
    d.wire([(keep, boxes + 0.36), (keep, lane - 0.28)], KEEP)
    d.operation(keep, lane, "×", KEEP)
    d.wire([(write, boxes + 0.36), (write, mid), (content - 0.28, mid)], WRITE)
    d.wire([(content, boxes + 0.36), (content, mid - 0.28)], CANDIDATE)
    d.operation(content, mid, "×", WRITE)
    d.wire([(content, mid + 0.28), (content, lane - 0.28)])
    d.operation(content, lane, "+")
    d.wire([(show, lane), (show, lane - 0.35)], STATE)
    d.fork(show, lane, STATE)
    d.operation(show, lane - 0.62, "tanh")
    d.wire([(show, lane - 0.89), (show, mid + 0.15)])
    d.operation(show, mid - 0.13, "×", READ)
    d.wire([(show, boxes + 0.36), (show, mid - 0.4)], READ)
    d.wire([(show + 0.27, mid - 0.13), (9.6, mid - 0.13)])
    for x, name, squash, colour in (
        (keep, "f", r"$\sigma$", KEEP),
        (write, "i", r"$\sigma$", WRITE),
        (content, "g", "tanh", CANDIDATE),
        (show, "o", r"$\sigma$", READ),
    ):
        d.layer(x, boxes, squash, colour)
        d.port(x, boxes - 0.62, f"${name}$", colour)
    d.port(9.95, lane, "$c_t$", STATE)
    d.port(9.95, mid - 0.13, "$h_t$")

    # The GRU: one gate keeps and writes, and the last one acts before the candidate.
    base = 0.5
    boxes, mid, lane = base + 0.7, base + 1.7, base + 2.75
    d.port(0.2, lane + 0.45, "GRU", size=11, ha="left")
    d.wire([(0.5, lane), (keep - 0.27, lane)], STATE, lw=3.0)
    d.wire([(keep + 0.3, lane), (content - 0.27, lane)], STATE, lw=3.0)
    d.wire([(content + 0.3, lane), (9.6, lane)], STATE, lw=3.0)
    d.layer((keep + write) / 2, boxes, r"$\sigma$", WRITE, width=write - keep + 0.92)
    d.wire([(keep, boxes + 0.36), (keep, mid - 0.28)], WRITE)
    d.operation(keep, mid, "1 −", KEEP)
    d.wire([(keep, mid + 0.27), (keep, lane - 0.28)], KEEP)
    d.operation(keep, lane, "×", KEEP)
    d.wire([(write, boxes + 0.36), (write, mid), (content - 0.28, mid)], WRITE)
    d.wire([(content, boxes + 0.36), (content, mid - 0.28)], CANDIDATE)
    d.operation(content, mid, "×", WRITE)
    d.wire([(content, mid + 0.28), (content, lane - 0.28)])
    d.operation(content, lane, "+")
    d.layer(content, boxes, "tanh", CANDIDATE)
    gate = show + 0.55
    product = (content + gate) / 2
    d.layer(gate, boxes, r"$\sigma$", READ)
    d.wire([(gate - 0.47, boxes), (product + 0.28, boxes)], READ)
    d.wire([(1.2, lane), (1.2, base - 0.3), (product, base - 0.3), (product, boxes - 0.28)], STATE)
    d.fork(1.2, lane, STATE)
    d.operation(product, boxes, "×", READ)
    d.wire([(product - 0.27, boxes), (content + 0.47, boxes)])
    d.port((keep + write) / 2, boxes - 0.62, "$z$", WRITE)
    d.port(content, boxes - 0.62, "$n$", CANDIDATE)
    d.port(gate, boxes - 0.62, "$r$", READ)
    d.port(9.95, lane, "$h_t$", STATE)
    return d.figure


@in_style
def blended_paths(z_values: Sequence[float] = (0.05, 0.2, 0.69), candidate: float = 0.7) -> CourseFigure:
    """A unit that starts at -0.8 and is drawn to one candidate by a constant z, beside one that adds to it."""
    steps = np.arange(0, 13)
    fig, ax = figure(5.0, 3.3)
    for z, (colour, style, marker) in zip(
        z_values,
        ((COLOURS["blue"], "-", "o"), (COLOURS["purple"], "-", "s"), (COLOURS["green"], "-", "^")),
        strict=True,
    ):
        h = [-0.8]
        for _ in steps[1:]:
            h.append(scalar.gru_update(z, candidate, h[-1]))
        ax.plot(steps, h, color=colour, ls=style, marker=marker, ms=4.5)
        where = {0.05: (10.5, h[10], -10), 0.2: (5.2, h[5], -8)}.get(z, (3.7, h[3], -7))
        ax.annotate(
            f"$z = {z:g}$",
            where[:2],
            xytext=(0, where[2]),
            textcoords="offset points",
            color=colour,
            ha="center",
            va="top",
        )
    c = [-0.8]
    for _ in steps[1:]:
        c.append(scalar.lstm_update(1.0, 1.0, candidate, 1.0, c[-1])[1])
    shown = [k for k, value in enumerate(c) if value < 2.6]
    ax.plot(steps[shown], np.array(c)[shown], color=COLOURS["orange"], ls="--", marker="v", ms=4.5)
    ax.text(4.6, 1.9, "LSTM, $f = i = 1$:\nadds each time", color=COLOURS["orange"], ha="left", va="center")
    ax.axhline(candidate, color=MUTED, lw=1, ls=(0, (2, 2)))
    ax.text(12.2, candidate + 0.06, "candidate", color=MUTED, ha="right", va="bottom")
    ax.set(xlabel="step", ylabel="state", xlim=(-0.3, 12.4), ylim=(-1.15, 2.4))
    return fig


@in_style
def dynamic_gates(
    sentences: Sequence[Sequence[str]], values: Sequence[np.ndarray], name: str = "z"
) -> CourseFigure:
    """One gate of all units over several sentences: a panel a sentence, a row a unit, a column a time step.

    Args:
        sentences: the words that were read, by sentence.
        values: gate values (time, hidden) between 0 and 1, by sentence.
        name: the gate's letter.

    Raises:
        ValueError: if values have not one row for each word.
    """
    for words, rows in zip(sentences, values, strict=True):
        if len(words) != len(rows):
            raise ValueError(f"{len(rows)} rows of values came for {len(words)} words; expected one a word")
    hidden = values[0].shape[1]
    fig, axes = figure(5.2, len(sentences) * (0.36 * hidden + 0.55), rows=len(sentences), squeeze=False)
    for ax, words, rows in zip(axes.flat, sentences, values, strict=True):
        image = ax.imshow(rows.T, cmap="Greens", vmin=0, vmax=1, aspect="auto")
        for t, row in enumerate(rows):
            for k, value in enumerate(row):
                red, green, blue, _ = image.cmap(image.norm(value))
                light = 0.2126 * red**2.2 + 0.7152 * green**2.2 + 0.0722 * blue**2.2  # relative luminance
                text = f"{value:.2f}".removeprefix("0")
                ax.text(
                    t,
                    k,
                    text,
                    ha="center",
                    va="center",
                    color="white" if light < 0.2 else "black",
                    fontsize=10,
                )
        ax.set_xticks(range(len(words)), list(words), fontsize=10.5)
        ax.set_yticks(range(hidden), [f"${name}_{k + 1}$" for k in range(hidden)], fontsize=12)
        ax.tick_params(length=0)
        ax.xaxis.tick_top()
        ax.grid(False)
        for spine in ax.spines.values():
            spine.set_visible(False)
    return fig


@in_style
def blend_against_full(measured: Mapping[str, Sequence[Terms]]) -> CourseFigure:
    """Norm of the product of blends beside that of the full Jacobian, by lag: medians of several networks."""
    fig, ax = figure(5.0, 3.6)
    looks = ((COLOURS["gold"], "<"), (COLOURS["purple"], "o"), (COLOURS["green"], "D"))
    for (name, runs), (colour, marker) in zip(measured.items(), looks, strict=False):
        lags = runs[0].lags
        full = np.median([run.full for run in runs], axis=0)
        direct = np.median([run.direct for run in runs], axis=0)
        ax.semilogy(lags, full, color=colour, marker=marker, ms=4.5, label=name)
        ax.semilogy(lags, direct, color=colour, marker=marker, ms=4.5, mfc="none", ls="--", lw=1.3)
    ax.plot([], [], color=INK, ls="--", lw=1.3, label="product of $1 - z$ alone")
    ax.legend(loc="lower left")
    ax.set(
        xlabel="lag $k$, in time steps",
        ylabel="norm, over " + r"$\sqrt{H}$",
        xlim=(0, max(lags)),
        ylim=(1e-28, 10),
    )
    return fig


@in_style
def gradient_of_all_cells(lags: Sequence[int], norms: Mapping[str, Sequence[np.ndarray]]) -> CourseFigure:
    """Norm of d h_T / d state_{T-k} by lag: the median of several networks, and the range they span."""
    fig, ax = figure(5.0, 3.8)
    for name, curves in norms.items():
        colour, style, marker = LOOK[name]
        stack = np.array(curves)
        ax.fill_between(lags, stack.min(axis=0), stack.max(axis=0), color=colour, alpha=0.14, lw=0)
        ax.semilogy(lags, np.median(stack, axis=0), color=colour, ls=style, marker=marker, ms=4.5, label=name)
    ax.set(
        xlabel="lag $k$, in time steps",
        ylabel="norm of the gradient, over " + r"$\sqrt{H}$",
        xlim=(0, max(lags)),
        ylim=(1e-31, 10),
    )
    ax.legend(loc="lower left")
    return fig


@in_style
def sweep_map(parts: Sequence[Mapping[str, Any]], networks: Sequence[str]) -> CourseFigure:
    """A whole sweep in one picture: how many seeds solved the task, by network, sequence length and learning rate.

    A dash stands where no run was made.

    Args:
        parts: runs with 'initialisation', 'steps', 'lr', 'seed' and 'reached' (None if the target was not reached).
        networks: the rows, from top to bottom.
    """
    columns = sorted({(part["steps"], part["lr"]) for part in parts})
    lengths = sorted({steps for steps, _ in columns})
    gap = 0.6
    place = {column: k + gap * lengths.index(column[0]) for k, column in enumerate(columns)}
    fig, ax = figure(5.4, 0.42 * len(networks) + 1.15)
    for y, name in enumerate(networks):
        for column, x in place.items():
            runs = [p for p in parts if (p["steps"], p["lr"]) == column and p["initialisation"] == name]
            if not runs:
                ax.text(x, y, "–", ha="center", va="center", color=MUTED, fontsize=10)
                continue
            solved = sum(part["reached"] is not None for part in runs)
            share = solved / len(runs)
            ax.add_patch(_square(x, y, face=_shade(share), edge=MUTED if share == 0 else "none"))
            shade = "white" if share > 0.55 else INK
            ax.text(x, y, str(solved), ha="center", va="center", color=shade, fontsize=10)
    ax.set(xlim=(-0.7, max(place.values()) + 0.7), ylim=(len(networks) - 0.4, -0.6))
    ax.set_yticks(range(len(networks)), networks)
    ax.set_xticks(
        list(place.values()), [f"{lr:g}".removeprefix("0") for _, lr in columns], rotation=90, fontsize=9.5
    )
    for steps in lengths:
        middle = np.mean([x for (length, _), x in place.items() if length == steps])
        seeds = len({part["seed"] for part in parts if part["steps"] == steps})
        ax.text(middle, -1.1, str(steps), ha="center", va="bottom")
        ax.text(middle, -0.62, f"of {seeds}", ha="center", va="bottom", fontsize=9.5, color=MUTED)
    ax.text(-0.9, -1.1, "$T$ =", ha="right", va="bottom")
    ax.set_xlabel("Adam's learning rate")
    ax.tick_params(length=0)
    ax.grid(False)
    for spine in ax.spines.values():
        spine.set_visible(False)
    return fig


def _shade(share: float) -> tuple[float, float, float]:
    """From white to the course's blue."""
    blue = np.array(to_rgb(COLOURS["blue"]))
    red, green, blue_ = 1 - share * (1 - blue)
    return float(red), float(green), float(blue_)


def _square(x: float, y: float, face: tuple[float, float, float], edge: str) -> Any:
    """A square of a map, centred at (x, y)."""
    from matplotlib.patches import Rectangle

    return Rectangle((x - 0.46, y - 0.44), 0.92, 0.88, facecolor=face, edgecolor=edge, linewidth=0.6)

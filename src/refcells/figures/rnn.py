"""Figures of the RNN chapter: diagrams in the vocabulary of `shapes`, and plots of what `measure_rnn` measured."""

from collections.abc import Sequence

import numpy as np
from matplotlib.patches import Rectangle

from refcells import scalar
from refcells.figures.shapes import Canvas
from refcells.figures.style import COLOURS, GATES, INK, MUTED, CourseFigure, figure, in_style

__all__ = ["echoes", "loss_by_context", "rnn_unrolled", "sequence_tasks", "text_heatmap", "three_readers"]

INPUT, RECURRENT, READOUT = COLOURS["green"], COLOURS["blue"], COLOURS["purple"]
CELL = GATES["g"]


@in_style
def three_readers() -> CourseFigure:
    """What reaches the last answer: a weight a position, a window that slides, a state that is handed on."""
    d = Canvas(10, 11.2)
    places = [1.0 + 1.3 * k for k in range(6)]

    def row(base: float, title: str, unread: Sequence[int], extra: bool) -> None:
        d.port(0.2, base + 2.95, title, size=10.5, ha="left")
        for k, x in enumerate(places):
            d.port(x, base, f"$x_{k + 1}$", MUTED if k in unread else INK)
        if extra:
            d.port(places[-1] + 1.3, base, "$x_7$", MUTED)
            d.port(places[-1] + 1.3, base + 1.1, "?", MUTED, size=13)

    base = 7.75
    row(base, "MLP: weights for each position", (), extra=True)
    for x, colour in zip(places, [*COLOURS.values(), INK], strict=True):
        d.wire([(x, base + 0.35), (x, base + 1.05)], colour)
    d.layer((places[0] + places[-1]) / 2, base + 1.4, "one layer, six blocks of weights", CELL, width=7.4)
    d.wire([(places[-1], base + 1.75), (places[-1], base + 2.45)])

    base = 4.05
    row(base, "CNN: one window that slides", (0,), extra=False)
    first, second = base + 1.05, base + 1.95
    for k in (3, 4, 5):
        for back, colour in ((2, COLOURS["blue"]), (1, COLOURS["green"]), (0, COLOURS["purple"])):
            start = places[k - back]
            d.wire([(start, base + 0.35), (places[k], first - 0.22)], colour, lw=1.3, arrow=False)
        d.layer(places[k], first, "", CELL, width=0.6, height=0.44)
    for back, colour in ((2, COLOURS["blue"]), (1, COLOURS["green"]), (0, COLOURS["purple"])):
        d.wire([(places[5 - back], first + 0.22), (places[5], second - 0.22)], colour, lw=1.3, arrow=False)
    d.layer(places[5], second, "", CELL, width=0.6, height=0.44)
    d.wire([(places[5], second + 0.22), (places[5], base + 2.6)])
    d.port(places[0], base + 0.75, "out of reach", MUTED, size=9.5)

    base = 0.4
    row(base, "RNN: one cell, and a state that is handed on", (), extra=False)
    level = base + 1.4
    for k, x in enumerate(places):
        d.wire([(x, base + 0.35), (x, level - 0.35)], INPUT)
        d.layer(x, level, "cell", CELL, width=0.8)
        if k:
            d.wire([(places[k - 1] + 0.4, level), (x - 0.4, level)], RECURRENT)
    d.wire([(places[-1], level + 0.35), (places[-1], base + 2.5)])
    d.wire([(places[-1] + 0.4, level), (places[-1] + 1.1, level)], RECURRENT)
    d.port(places[-1] + 1.5, level, "…", RECURRENT, size=13)
    return d.figure


@in_style
def rnn_unrolled(steps: int = 4) -> CourseFigure:
    """The same network twice: with its loop, and laid out over the time steps, the same weights at each."""
    d = Canvas(10, 4.1)
    level = 2.0
    # Folded.
    d.wire([(1.05, 0.75), (1.05, level - 0.35)], INPUT)
    d.layer(1.05, level, "tanh", CELL)
    d.wire([(1.05, level + 0.35), (1.05, 3.3)])
    d.fork(1.05, level + 0.62)
    d.wire([(1.05, level + 0.62), (2.05, level + 0.62), (2.05, level), (1.52, level)], RECURRENT)
    d.port(1.05, 0.45, "$x_t$")
    d.port(1.05, 3.62, "$h_t$")
    d.port(0.62, 1.2, "$W_x$", INPUT, size=11.5)
    d.port(2.05, level - 0.42, "$W_h$", RECURRENT, size=11.5)
    d.port(2.78, level, "=", size=17)
    # Unrolled.
    places = [4.55 + 1.6 * k for k in range(steps)]
    d.port(3.38, level + 0.42, "$h_0$", size=13)
    for k, x in enumerate(places):
        before = 3.2 if k == 0 else places[k - 1] + 0.44
        d.wire([(before, level), (x - 0.44, level)], RECURRENT)
        d.port((max(before, 3.5) + x - 0.44) / 2, level - 0.36, "$W_h$", RECURRENT, size=11)
        d.wire([(x, 0.75), (x, level - 0.35)], INPUT)
        d.port(x - 0.4, 1.1, "$W_x$", INPUT, size=11)
        d.layer(x, level, "tanh", CELL, width=0.88)
        d.wire([(x, level + 0.35), (x, 3.3)])
        d.port(x, 0.45, f"$x_{k + 1}$")
        d.port(x, 3.62, f"$h_{k + 1}$")
    return d.figure


@in_style
def sequence_tasks() -> CourseFigure:
    """What is read in and what is asked for: four ways to use one cell."""
    d = Canvas(10, 8.6)
    columns = [0.85, 2.15, 3.45]

    def cells(left: float, base: float, title: str, read: Sequence[int], asked: Sequence[int]) -> list[float]:
        places = [left + x for x in columns]
        level = base + 1.5
        d.port(left + 0.3, base + 3.75, title, size=10.5, ha="left")
        for k, x in enumerate(places):
            d.layer(x, level, "cell", CELL, width=0.8)
            if k:
                d.wire([(places[k - 1] + 0.4, level), (x - 0.4, level)], RECURRENT)
            if k in read:
                d.wire([(x, base + 0.5), (x, level - 0.35)], INPUT)
                d.port(x, base + 0.2, f"$x_{k + 1}$")
            if k in asked:
                d.wire([(x, level + 0.35), (x, base + 2.75)], READOUT)
                d.port(x, base + 3.05, f"$y_{k + 1}$" if len(asked) > 1 else "$y$", READOUT)
        return places

    cells(0.0, 4.5, "many to one", (0, 1, 2), (2,))
    cells(5.2, 4.5, "many to many, in step", (0, 1, 2), (0, 1, 2))
    places = cells(0.0, 0.2, "one to many", (0,), (0, 1, 2))
    for k in (1, 2):  # what was answered is read next
        x, before = places[k], places[k - 1]
        d.wire(
            [(before, 2.45), (before + 0.65, 2.45), (before + 0.65, 0.75), (x, 0.75), (x, 1.35)],
            READOUT,
            lw=1.3,
        )
        d.fork(before, 2.45, READOUT)
    places = cells(5.2, 0.2, "many to many, delayed", (0, 1), ())
    d.wire([(places[2], 2.05), (places[2], 2.95)], READOUT)
    d.port(places[2], 3.25, "$y_1$", READOUT)
    d.wire([(places[2] + 0.4, 1.7), (places[2] + 0.95, 1.7)], RECURRENT)
    d.port(places[2] + 1.2, 1.7, "…", RECURRENT, size=13)
    return d.figure


@in_style
def echoes(weights: Sequence[float] = (0.5, 0.9, -0.9, 1.5), steps: int = 30) -> CourseFigure:
    """What one unit still holds of a single input at step 1, for several recurrent weights."""
    fig, ax = figure(5.0, 3.2)
    looks = [(":", "orange"), ("--", "purple"), ("-.", "green"), ("-", "blue")]
    inputs = [1.0] + [0.0] * (steps - 1)
    for w_h, (style, colour) in zip(weights, looks, strict=True):
        hs = scalar.rnn_forward(inputs, w_x=1.0, w_h=w_h, b=0.0)
        label = f"$w_h = {w_h:g}$".replace("-", "{-}")
        ax.plot(range(1, steps + 1), hs, ls=style, color=COLOURS[colour], label=label)
    ax.axhline(0, color=MUTED, lw=0.9)
    ax.legend(ncols=2, loc="lower right")
    ax.set(xlabel="time step $t$", ylabel="hidden state $h_t$", xlim=(1, steps), ylim=(-0.85, 1.05))
    return fig


@in_style
def loss_by_context(losses: Sequence[np.ndarray], tables: np.ndarray) -> CourseFigure:
    """Held-out loss of trained networks by the characters read so far, beside tables of counts.

    Args:
        losses: one line a network, nats by number of characters read.
        tables: nats of tables that look back at 0, 1, 2, ... characters.
    """
    fig, ax = figure(5.0, 3.6)
    steps = len(losses[0])
    for k, loss in enumerate(tables):
        ax.axhline(loss, color=MUTED, lw=1.1, ls=(0, (3, 2)))
        below = k == len(tables) - 1  # the curves are just above the last line
        ax.text(
            steps,
            loss + (-0.025 if below else 0.025),
            f"table, {k} back",
            color=MUTED,
            ha="right",
            va="top" if below else "bottom",
            fontsize=10,
        )
    looks = [("-", "o"), ("--", "s"), (":", "^")]
    for k, loss in enumerate(losses):
        style, marker = looks[k % 3]
        ax.plot(
            range(1, steps + 1),
            loss,
            color=COLOURS["blue"],
            ls=style,
            marker=marker,
            ms=3.5,
            lw=1.4,
            label=f"RNN, seed {k}",
        )
    ax.legend(loc="upper center", bbox_to_anchor=(0.5, 0.86))
    ax.set(
        xlabel="characters read since the zero state",
        ylabel="nats a character",
        xlim=(0, steps + 0.5),
        ylim=(min(tables) - 0.2, max(tables) + 0.25),
    )
    return fig


@in_style
def text_heatmap(text: str, values: np.ndarray) -> CourseFigure:
    """A text with one unit's state behind each character: the value after that character was read.

    Args:
        text: a few lines. A space is shown as a dot, the end of a line as an arrow.
        values: one number a character, between -1 and 1.

    Raises:
        ValueError: if there is not one value a character.
    """
    if len(values) != len(text):
        raise ValueError(f"{len(values)} values came for {len(text)} characters; expected one each")
    lines = text.split("\n")
    columns = max(len(line) for line in lines) + 1
    fig, ax = figure(5.3, 0.2 * len(lines) + 0.85)
    values = np.asarray(values, dtype=float)
    grid = np.full((len(lines), columns), np.nan)
    at = 0
    for r, line in enumerate(lines):
        end = min(at + len(line) + 1, len(text))
        grid[r, : end - at] = values[at:end]
        at = end
    image = ax.imshow(np.ma.masked_invalid(grid), cmap="PuOr", vmin=-1, vmax=1, aspect="auto")
    for r, line in enumerate(lines):
        shown = line.replace(" ", "·") + ("↵" if r < len(lines) - 1 else "")
        for k, character in enumerate(shown):
            red, green, blue, _ = image.cmap(image.norm(grid[r, k]))
            light = 0.2126 * red**2.2 + 0.7152 * green**2.2 + 0.0722 * blue**2.2  # relative luminance
            ax.text(
                k,
                r,
                character if character != "$" else r"\$",
                ha="center",
                va="center",
                fontfamily="DejaVu Sans Mono",
                fontsize=9,
                color="white" if light < 0.2 else "black",
            )
    for r in range(1, len(lines)):
        ax.add_patch(Rectangle((-0.5, r - 0.54), columns, 0.08, color="white", lw=0))
    bar = fig.colorbar(image, ax=ax, orientation="horizontal", fraction=0.09, pad=0.04, aspect=40)
    bar.set_ticks([-1, -0.5, 0, 0.5, 1])
    bar.outline.set_visible(False)
    bar.set_label("state $h_t$ of the unit")
    ax.axis("off")
    return fig

"""Figures of the chapter on two directions: the wiring, reversal by length, which state is which, and the taggers."""

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.patches import Rectangle

from refcells.bidirectional import reverse
from refcells.figures.shapes import Canvas
from refcells.figures.style import COLOURS, GRID, INK, MUTED, CourseFigure, figure, in_style

__all__ = ["confusions", "recall_by_tag", "reversals", "two_directions", "which_state"]

FORWARD, BACKWARD = COLOURS["blue"], COLOURS["orange"]
# Marker and colour of each way of reading.
LOOK = {
    "left to right": (FORWARD, ">"),
    "right to left": (BACKWARD, "<"),
    "both": (COLOURS["green"], "D"),
}


@in_style
def two_directions(words: Sequence[str] = ("the", "bark", "of", "the", "dog")) -> CourseFigure:
    """Two networks over one sentence, unrolled: one row for each direction, and a merge at each step."""
    step, low, high, top = 1.95, 1.9, 3.35, 4.75
    d = Canvas(0.9 + step * len(words) + 0.5, 5.6, scale=0.47)
    for k, word in enumerate(words):
        x = 1.5 + step * k
        d.layer(x, low, "cell", FORWARD, width=1.0, height=0.75)
        d.layer(x, high, "cell′", BACKWARD, width=1.0, height=0.75)
        # The word goes up into both; it passes the forward cell on its left.
        d.port(x, 0.35, word, size=11)
        d.wire([(x, 0.65), (x, low - 0.38)])
        d.fork(x, 1.05)
        d.wire([(x, 1.05), (x - 0.72, 1.05), (x - 0.72, 2.65), (x - 0.2, 2.65), (x - 0.2, high - 0.38)])
        # Both states go up to the ring; the forward one passes the backward cell on its right.
        d.wire([(x + 0.2, low + 0.38), (x + 0.2, 2.65), (x + 0.72, 2.65), (x + 0.72, top - 0.4), (x + 0.12, top - 0.06)], FORWARD, arrow=False)  # fmt: skip
        d.wire([(x, high + 0.38), (x, top - 0.13)], BACKWARD, arrow=False)
        d.join(x, top)
        d.wire([(x, top + 0.13), (x, top + 0.5)])
        d.port(x, top + 0.68, f"$y_{k + 1}$", size=12)
    for k in range(len(words) + 1):
        x = 1.5 + step * k - step
        d.wire([(x + 0.5 if k else 0.45, low), (x + step - 0.5, low)] if k < len(words) else [(x + 0.5, low), (x + 1.25, low)], FORWARD)  # fmt: skip
        d.wire([(x + step - 0.5, high), (x + 0.5 if k else 0.45, high)] if k < len(words) else [(x + 1.25, high), (x + 0.5, high)], BACKWARD)  # fmt: skip
    return d.figure


@in_style
def reversals(texts: Sequence[str] = ("HELLO", "TWO", "PADS")) -> CourseFigure:
    """A padded batch, reversed within its lengths and reversed as a whole."""
    lengths = np.array([len(text) for text in texts])
    steps = int(lengths.max())
    codes = np.zeros((len(texts), steps, 1))
    for row, text in enumerate(texts):
        codes[row, : len(text), 0] = [ord(letter) for letter in text]
    panels = (
        ("the batch", codes),
        ("reversed by length: padding stays behind", reverse(codes, lengths)),
        ("the array reversed: padding comes first", codes[:, ::-1]),
    )
    fig, axes = figure(4.4, 4.9, rows=3)
    for ax, (title, batch) in zip(axes, panels, strict=True):
        for row in range(len(texts)):
            for t in range(steps):
                code = int(batch[row, t, 0])
                ax.add_patch(
                    Rectangle(
                        (t + 0.04, -row - 0.94),
                        0.92,
                        0.88,
                        facecolor="white" if code else GRID,
                        edgecolor=INK if code else MUTED,
                        lw=1.2,
                        hatch=None if code else "////",
                    )
                )
                if code:
                    ax.text(t + 0.5, -row - 0.52, chr(code), ha="center", va="center", fontsize=12)
        ax.set(xlim=(0, steps), ylim=(-len(texts), 0), aspect="equal")
        ax.set_title(title)
        ax.axis("off")
    return fig


@in_style
def which_state(steps: int = 5) -> CourseFigure:
    """The outputs of two directions over time, and where each one's last state stands among them."""
    fig, ax = figure(4.9, 2.9)
    for row, (name, colour) in enumerate((("forward half", FORWARD), ("backward half", BACKWARD))):
        for t in range(steps):
            seen = t + 1 if row == 0 else steps - t
            last = seen == steps
            ax.add_patch(
                Rectangle(
                    (t + 0.06, -row - 0.92),
                    0.88,
                    0.84,
                    facecolor=colour if last else "white",
                    edgecolor=colour,
                    lw=1.6,
                )
            )
            arrow = r"\overrightarrow" if row == 0 else r"\overleftarrow"
            ax.text(
                t + 0.5,
                -row - 0.36,
                f"${arrow}{{h}}_{t + 1}$",
                ha="center",
                va="center",
                fontsize=13,
                color="white" if last else colour,
            )
            ax.text(
                t + 0.5,
                -row - 0.72,
                f"read {seen}",
                ha="center",
                va="center",
                fontsize=9,
                color="white" if last else INK,
            )
        ax.text(-0.12, -row - 0.5, name, ha="right", va="center", color=colour, fontsize=10.5)
    ax.add_patch(
        Rectangle(
            (steps - 1 - 0.02, -2.02), 1.04, 2.04, facecolor="none", edgecolor=INK, lw=1.4, ls=(0, (4, 2))
        )
    )
    ax.text(steps + 0.02, -2.42, "output[:, −1]", ha="right", va="center", fontsize=10)
    for x, y, tip, name, colour in (
        (steps - 0.5, 0.5, 0.0, "h_n[−2]", FORWARD),
        (0.5, -2.42, -1.92, "h_n[−1]", BACKWARD),
    ):
        ax.text(x, y, name, ha="center", va="center", fontsize=10, color=colour)
        start = y - 0.14 if y > tip else y + 0.16
        ax.annotate(
            "", (x, tip), xytext=(x, start), arrowprops={"arrowstyle": "-|>", "color": colour, "lw": 1.4}
        )
    ax.set(xlim=(-1.75, steps + 0.1), ylim=(-2.65, 0.75), aspect="equal")
    ax.axis("off")
    return fig


@in_style
def recall_by_tag(tags: Sequence[str], recalls: Mapping[str, Sequence[np.ndarray]]) -> CourseFigure:
    """For each tag, the share that each way of reading finds: a mark a run.

    Args:
        tags: names of the tags.
        recalls: for each of the ways of reading, one array of shares a run.
    """
    fig, ax = figure(5.0, 4.0)
    for k, (name, runs) in enumerate(recalls.items()):
        colour, marker = LOOK[name]
        for n, run in enumerate(runs):
            ax.plot(
                run,
                np.arange(len(tags)) + 0.25 * (k - 1),
                marker,
                color=colour,
                ms=6,
                mew=0,
                alpha=0.7,
                label=name if n == 0 else None,
            )
    for k in range(1, len(tags)):
        ax.axhline(k - 0.5, color=GRID, lw=0.8)
    ax.grid(axis="y", visible=False)
    ax.set_yticks(range(len(tags)), list(tags))
    ax.set(xlim=(-0.03, 1.03), ylim=(len(tags) - 0.5, -0.5), xlabel="share of these names that is found")
    fig.legend(*ax.get_legend_handles_labels(), loc="outside upper center", ncols=3, handletextpad=0.1)
    return fig


@in_style
def confusions(tags: Sequence[str], counts: Mapping[str, np.ndarray]) -> CourseFigure:
    """Which tag was answered for which, in percent of each row; one panel a way of reading.

    Args:
        tags: names of the tags.
        counts: for each way of reading a matrix, rows the right tag, columns the answer.

    Raises:
        ValueError: if a matrix has another shape.
    """
    size = len(tags)
    fig, axes = figure(4.7, 3.5 * len(counts), rows=len(counts), squeeze=False)
    for ax, (name, matrix) in zip(axes[:, 0], counts.items(), strict=True):
        matrix = np.asarray(matrix, dtype=float)
        if matrix.shape != (size, size):
            raise ValueError(f"{name} has shape {matrix.shape}; expected ({size}, {size}), one row a tag")
        share = 100 * matrix / np.maximum(matrix.sum(axis=1, keepdims=True), 1)
        ax.imshow(share, cmap="Blues", vmin=0, vmax=130, aspect="auto")
        for r in range(size):
            for c in range(size):
                if share[r, c] >= 0.5:
                    shade = "white" if share[r, c] > 75 else "black"
                    weight = "bold" if r == c else "normal"
                    ax.text(c, r, f"{share[r, c]:.0f}", ha="center", va="center", color=shade, weight=weight)
        ax.set_xticks(range(size), list(tags), rotation=35, ha="right", rotation_mode="anchor")
        ax.set_yticks(range(size), list(tags))
        ax.tick_params(length=0)
        ax.set_title(name)
        ax.set_ylabel("what it is")
        ax.grid(False)
        for spine in ax.spines.values():
            spine.set_visible(False)
    axes[-1, 0].set_xlabel("what was answered")
    return fig

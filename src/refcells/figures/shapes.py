"""The vocabulary of the cell diagrams: a few shapes that mean the same in every one of them.

A **layer** is a box: it has weights. An **operation** is a circle: it has none and works element by element.
A **wire** carries one vector; a **fork** (dot) copies it and a **join** (ring) puts two side by side.
A **port** names what enters or leaves. The **frame** is the cell.
"""

from collections.abc import Sequence

import numpy as np
from matplotlib.patches import Circle, FancyArrowPatch, FancyBboxPatch, PathPatch
from matplotlib.path import Path

from refcells.figures.style import INK, MUTED, CourseFigure

__all__ = ["Canvas"]

Point = tuple[float, float]


class Canvas:
    """A drawing area of `width` by `height` units, with `scale` inches to the unit.

    Attributes:
        figure: the figure drawn on.
    """

    def __init__(self, width: float, height: float, scale: float = 0.5) -> None:
        self.figure = CourseFigure(figsize=(width * scale, height * scale))
        self._ax = self.figure.add_axes((0, 0, 1, 1))
        self._ax.set_xlim(0, width)
        self._ax.set_ylim(0, height)
        self._ax.set_aspect("equal")
        self._ax.axis("off")

    def frame(self, x0: float, y0: float, x1: float, y1: float, colour: str = MUTED, lw: float = 1.3) -> None:
        """The outline of a cell, from its lower left to its upper right corner."""
        self._ax.add_patch(
            FancyBboxPatch(
                (x0, y0),
                x1 - x0,
                y1 - y0,
                boxstyle="round,pad=0,rounding_size=0.35",
                facecolor="none",
                edgecolor=colour,
                linewidth=lw,
                zorder=1,
            )
        )

    def layer(
        self, x: float, y: float, text: str, colour: str, width: float = 0.92, height: float = 0.7
    ) -> None:
        """A box with weights, centred at (x, y); `text` is its squashing function."""
        self._ax.add_patch(
            FancyBboxPatch(
                (x - width / 2, y - height / 2),
                width,
                height,
                boxstyle="round,pad=0,rounding_size=0.12",
                facecolor=colour,
                edgecolor=colour,
                zorder=4,
            )
        )
        self._ax.text(x, y - 0.02, text, color="white", ha="center", va="center", fontsize=11, zorder=5)

    def operation(self, x: float, y: float, sign: str, colour: str = INK, radius: float = 0.27) -> None:
        """A circle without weights: `sign` is '×', '+' or a function's name."""
        if len(sign) == 1:
            self._ax.add_patch(Circle((x, y), radius, facecolor="white", edgecolor=colour, lw=1.7, zorder=4))
            arm = radius * 0.48
            ends = {"+": [(arm, 0), (0, arm)], "×": [(arm * 0.8, arm * 0.8), (arm * 0.8, -arm * 0.8)]}[sign]
            for dx, dy in ends:
                self._ax.plot([x - dx, x + dx], [y - dy, y + dy], color=colour, lw=1.7, zorder=5)
        else:
            self._ax.add_patch(
                FancyBboxPatch(
                    (x - 0.42, y - radius),
                    0.84,
                    2 * radius,
                    boxstyle=f"round,pad=0,rounding_size={radius}",
                    facecolor="white",
                    edgecolor=colour,
                    lw=1.7,
                    zorder=4,
                )
            )
            self._ax.text(x, y - 0.02, sign, color=colour, ha="center", va="center", fontsize=9.5, zorder=5)

    def wire(
        self,
        points: Sequence[Point],
        colour: str = INK,
        lw: float = 1.7,
        arrow: bool = True,
        bend: float = 0.22,
    ) -> None:
        """A line through `points`, its corners rounded, with an arrowhead at the end."""
        path = _rounded(points, bend)
        if arrow:
            self._ax.add_patch(
                FancyArrowPatch(
                    path=path,
                    arrowstyle="-|>,head_length=4.5,head_width=2.6",
                    color=colour,
                    lw=lw,
                    joinstyle="miter",
                    capstyle="butt",
                    shrinkA=0,
                    shrinkB=0,
                    fill=True,
                    zorder=3,
                )
            )
        else:
            self._ax.add_patch(PathPatch(path, facecolor="none", edgecolor=colour, lw=lw, zorder=2))

    def fork(self, x: float, y: float, colour: str = INK) -> None:
        """A dot: the same vector goes on in two directions."""
        self._ax.add_patch(Circle((x, y), 0.085, color=colour, zorder=5))

    def join(self, x: float, y: float, colour: str = INK) -> None:
        """A ring: two vectors, side by side from here on."""
        self._ax.add_patch(Circle((x, y), 0.13, facecolor="white", edgecolor=colour, lw=1.7, zorder=5))

    def port(
        self, x: float, y: float, text: str, colour: str = INK, size: float = 14, ha: str = "center"
    ) -> None:
        """The name of a vector, or a word, at (x, y)."""
        self._ax.text(x, y, text, color=colour, ha=ha, va="center", fontsize=size, zorder=6)


def _rounded(points: Sequence[Point], bend: float) -> Path:
    """A path through `points` whose corners are cut by curves that start `bend` before them."""
    vertices, codes = [points[0]], [Path.MOVETO]
    for before, corner, after in zip(points, points[1:], points[2:], strict=False):
        into = np.subtract(corner, before)
        out = np.subtract(after, corner)
        start = np.subtract(corner, into / np.hypot(*into) * bend)
        end = np.add(corner, out / np.hypot(*out) * bend)
        vertices += [(float(start[0]), float(start[1])), corner, (float(end[0]), float(end[1]))]
        codes += [Path.LINETO, Path.CURVE3, Path.CURVE3]
    return Path([*vertices, points[-1]], [*codes, Path.LINETO])

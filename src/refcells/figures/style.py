"""One look for all figures.

Ink is dark and the ground transparent: the site's style sheet turns the lightness round in dark mode and
leaves the hues as they are. Each colour has a contrast of at least 4.5 against white, and in dark mode against the
page's dark ground; any two stay apart for readers who lack a kind of cone, since they differ in lightness where hue
fails. No figure tells lines apart by colour alone. tests/book/test_palette.py computes all of this from the values below.
"""

import functools
import io
from collections.abc import Callable, Iterable
from typing import Any, TypeVar

import matplotlib as mpl
from cycler import cycler
from matplotlib.figure import Figure

__all__ = ["COLOURS", "GATES", "GRID", "INK", "MUTED", "CourseFigure", "figure", "in_style"]

Draw = TypeVar("Draw", bound=Callable[..., "CourseFigure"])

INK = "#1f2a35"
MUTED = "#5a6773"
GRID = "#d3d9df"
COLOURS = {
    "blue": "#052bc0",
    "orange": "#a13a12",
    "green": "#037354",
    "purple": "#785497",
    "gold": "#9e6c00",
}
# One colour a role, in every figure: what keeps, what writes, what is written, what shows.
GATES = {
    "f": COLOURS["blue"],
    "i": COLOURS["green"],
    "g": COLOURS["orange"],
    "o": COLOURS["purple"],
}

RC: dict[str, Any] = {
    "axes.edgecolor": MUTED,
    "axes.grid": True,
    "axes.labelcolor": INK,
    "axes.labelsize": 11.5,
    "axes.linewidth": 0.9,
    "axes.prop_cycle": cycler(color=list(COLOURS.values())),
    "axes.spines.right": False,
    "axes.spines.top": False,
    "axes.titlelocation": "left",
    "axes.titlesize": 11.5,
    "figure.facecolor": "none",
    "axes.facecolor": "none",
    "savefig.facecolor": "none",
    "font.family": "DejaVu Sans",
    "font.size": 11,
    "grid.color": GRID,
    "grid.linewidth": 0.7,
    "legend.fontsize": 10.5,
    "legend.frameon": False,
    "lines.linewidth": 2.0,
    "lines.solid_capstyle": "round",
    "mathtext.fontset": "cm",
    "svg.fonttype": "path",
    "svg.hashsalt": "learning-to-remember",
    "text.color": INK,
    "xtick.color": MUTED,
    "xtick.labelcolor": INK,
    "xtick.labelsize": 10.5,
    "ytick.color": MUTED,
    "ytick.labelcolor": INK,
    "ytick.labelsize": 10.5,
}


class CourseFigure(Figure):
    """A figure in the course's style that a notebook shows as SVG, the same bytes each time."""

    def svg(self) -> str:
        """The figure as an SVG document: transparent, without a date, with fixed identifiers."""
        buffer = io.StringIO()
        with mpl.rc_context(RC):
            # Lay out once: laying out anew from the last result would move things by a hair.
            self.draw_without_rendering()
            self.set_layout_engine("none")
            self.savefig(
                buffer,
                format="svg",
                transparent=True,
                bbox_inches="tight",
                pad_inches=0.04,
                metadata={"Date": None, "Creator": None},
            )
        return buffer.getvalue()

    def _repr_mimebundle_(
        self, include: Iterable[str] | None = None, exclude: Iterable[str] | None = None
    ) -> dict:
        """What Jupyter shows: the SVG alone."""
        return {"image/svg+xml": self.svg(), "text/plain": repr(self)}


def in_style(draw: Draw) -> Draw:
    """Decorate a figure function: draw with the course's settings, and leave the caller's alone."""

    @functools.wraps(draw)
    def wrapper(*args: Any, **kwargs: Any) -> CourseFigure:
        with mpl.rc_context(RC):
            return draw(*args, **kwargs)

    return wrapper  # type: ignore[return-value]


def figure(
    width: float = 5.0, height: float = 3.0, rows: int = 1, columns: int = 1, **subplots: Any
) -> tuple[CourseFigure, Any]:
    """A new figure and its axes, as `plt.subplots` gives them, outside pyplot's global state.

    Args:
        width: in inches; 5 keeps 10-point text legible on a telephone.
        height: in inches.
        rows: number of rows of axes.
        columns: number of columns of axes.
        **subplots: handed to `Figure.subplots`.

    Returns:
        The figure, and one Axes or an array of them.
    """
    fig = CourseFigure(figsize=(width, height), layout="constrained")
    return fig, fig.subplots(rows, columns, **subplots)

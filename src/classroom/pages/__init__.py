"""Pages that instructors open from disk: one file each, with nothing from the network and no script."""

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import jinja2

__all__ = ["Bin", "bins", "nice_edges", "render"]


@dataclass(frozen=True)
class Bin:
    """One bar of a histogram.

    Attributes:
        label: what it holds, in words.
        tick: what stands below it.
        count: how many.
    """

    label: str
    tick: str
    count: int


def bins(values: Sequence[float], edges: Sequence[float], unit: str) -> list[Bin]:
    """Count values between edges; a bar holds its lower edge, the last one its upper edge as well.

    Args:
        values: none below the first edge or above the last.
        edges: ascending.
        unit: what follows a number in a label.
    """
    found = []
    for low, high in itertools.pairwise(edges):
        last = high == edges[-1]
        count = sum(low <= value < high or (last and value == high) for value in values)
        label = f"{low:g} to {high:g}{unit}" if last else f"{low:g} to under {high:g}{unit}"
        found.append(Bin(label, f"{low:g}", count))
    return found


def nice_edges(largest: float, most: int = 10) -> list[float]:
    """Round edges from 0 to the largest value or just beyond it, in at most so many steps."""
    if largest <= 0:
        return [0.0, 1.0]
    power = 10.0 ** math.floor(math.log10(largest / most))
    step = next(power * nice for nice in (1, 2, 5, 10) if math.ceil(largest / (power * nice)) <= most)
    return [round(step * place, 9) for place in range(math.ceil(largest / step) + 1)]


def render(template: str, **content: Any) -> str:
    """One of the templates beside this file, filled in; whatever a student wrote is text in it and never markup.

    Args:
        template: its file's name.
        content: what it shows.
    """
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("classroom", "pages"),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
    )
    environment.filters |= {"number": _number, "fixed": _fixed, "share": _share, "seconds": _seconds}
    return environment.get_template(template).render(**content) + "\n"


def _number(value: float | None, digits: int = 2) -> str:
    """A number without trailing zeros, with a minus sign that reads as one."""
    if value is None:
        return "–"
    text = f"{value:.{digits}f}".rstrip("0").rstrip(".") if digits else f"{value:.0f}"
    return "0" if text in ("-0", "") else text.replace("-", "−")


def _fixed(value: float) -> str:
    """Two decimals."""
    text = f"{value:.2f}"
    return "0.00" if text == "-0.00" else text.replace("-", "−")


def _share(value: float | None) -> str:
    return "–" if value is None else f"{100 * value:.0f}\u202f%"


def _seconds(value: float | None) -> str:
    if value is None:
        return "–"
    if value < 100:
        return f"{value:.1f}\u202fs"
    minutes, seconds = divmod(round(value), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{seconds:02}\u202fh" if hours else f"{minutes}:{seconds:02}\u202fmin"

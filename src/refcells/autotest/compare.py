"""Two results side by side: are they the same numbers, and if not, where do they part?

Results are brought to nested lists of floats, so the same few lines compare floats, lists, NumPy arrays and tensors,
and need none of those libraries.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from numbers import Real
from typing import Any

# Relative to max(1, largest expected number). A right answer computed in float32 stays within it, and every mistake
# that the course knows of leaves it by a factor of a thousand.
TOLERANCE = 1e-5

Nested = float | list[Any]


@dataclass(frozen=True)
class Output:
    """One result of a function: its name, as the text has it, and its axes, such as ("batch", "hidden")."""

    name: str
    axes: tuple[str, ...] = ()


class Unreadable(Exception):
    """A result that is no number, array or list of numbers; the message says what it is."""


def numbers(value: Any) -> tuple[tuple[int, ...], Nested]:
    """Shape and content of a number, a list of numbers, an array or a tensor.

    Raises:
        Unreadable: if `value` is something else, or a list whose rows differ in length.
    """
    if isinstance(value, bool) or value is None or isinstance(value, str):
        raise Unreadable(f"is {value!r}; expected numbers")
    if isinstance(value, Real):
        return (), float(value)
    if hasattr(value, "detach"):
        value = value.detach()
    if hasattr(value, "tolist") and hasattr(value, "dtype"):
        held = str(value.dtype)
        if any(kind in held for kind in ("object", "complex", "str", "bool")):
            raise Unreadable(f"holds {value.dtype} values; expected floating-point numbers")
        shape = tuple(int(n) for n in value.shape)
        content = value.tolist()
        # A library's own array of floats gives floats; what only looks like one is read number by number.
        own = type(value).__module__ in ("numpy", "torch") and "float" in held
        return shape, content if own else _floats(content)
    if isinstance(value, list | tuple):
        parts = [numbers(part) for part in value]
        shapes = {shape for shape, _ in parts}
        if len(shapes) > 1:
            raise Unreadable(f"is a {type(value).__name__} whose elements have different shapes")
        return (len(parts), *(shapes.pop() if shapes else ())), [content for _, content in parts]
    raise Unreadable(f"is {a_or_an(type(value).__name__)}; expected numbers")


def _floats(content: Any) -> Nested:
    return [_floats(part) for part in content] if isinstance(content, list) else float(content)


def _flat(content: Nested, index: tuple[int, ...] = ()) -> Iterator[tuple[tuple[int, ...], float]]:
    """All numbers with their indices, in order."""
    if isinstance(content, list):
        for k, part in enumerate(content):
            yield from _flat(part, (*index, k))
    else:
        yield index, content


def _values(content: Nested) -> list[float]:
    """All numbers, in order."""
    if not isinstance(content, list):
        return [content]
    if content and not isinstance(content[0], list):
        return content
    return [value for part in content for value in _values(part)]


def a_or_an(noun: str) -> str:
    """A noun with its article."""
    return f"{'an' if noun[:1].lower() in 'aeio' else 'a'} {noun}"


def axes_text(axes: Sequence[str], shape: Sequence[int]) -> str:
    """A shape with its axes' names: (batch 2, hidden 4)."""
    if len(axes) != len(shape):
        return "(" + ", ".join(map(str, shape)) + ")"
    return "(" + ", ".join(f"{axis} {size}" for axis, size in zip(axes, shape, strict=True)) + ")"


def position(axes: Sequence[str], index: Sequence[int]) -> str:
    """Where in an array, in words; time steps are counted from 1, as in the text."""
    if len(axes) != len(index):
        return f" at index {list(index)}"
    words = []
    for axis, k in zip(axes, index, strict=True):
        words.append(f"time step {k + 1}" if axis == "time" else f"{axis} {k}")
    return " at " + ", ".join(words) if words else ""


def difference(output: Output, actual: Any, expected: Any, tolerance: float = TOLERANCE) -> str | None:
    """What is wrong with `actual`, in a sentence or two; None if it equals `expected` within the tolerance."""
    try:
        shape, content = numbers(actual)
    except Unreadable as reason:
        return f"{output.name} {reason}"
    wanted_shape, wanted = numbers(expected)
    if shape != wanted_shape:
        if not wanted_shape:
            return f"{output.name} has shape {axes_text((), shape)}; expected a single number"
        return (
            f"{output.name} has shape {axes_text((), shape)}; "
            f"expected {axes_text((), wanted_shape)} = {axes_text(output.axes, wanted_shape)}"
        )
    wants = _values(wanted)
    scale = max([1.0, *(abs(want) for want in wants if math.isfinite(want))])

    def differs(came: float, want: float) -> bool:
        # Written so that a NaN differs; equal infinities do not.
        return came != want and not abs(came - want) <= tolerance * scale

    # Most results are right, and need no indices.
    if not any(map(differs, _values(content), wants)):
        return None
    pairs = [
        (index, came, want) for (index, came), (_, want) in zip(_flat(content), _flat(wanted), strict=True)
    ]
    wrong = [(index, came, want) for index, came, want in pairs if differs(came, want)]
    if "time" in output.axes:
        axis = output.axes.index("time")
        # BPTT walks backwards, so its first wrong step is the last in time.
        steps = sorted({index[axis] for index, _, _ in wrong})
        total = wanted_shape[axis]
        span = (
            "every step" if len(steps) == total else "time step " + ", ".join(str(k + 1) for k in steps[:8])
        )
        where = f", at {span} of {total}"
        index, came, want = next(w for w in wrong if w[0][axis] == steps[0])
    else:
        where = ""
        index, came, want = wrong[0]
    share = f" ({len(wrong)} of {len(pairs)} numbers)" if len(pairs) > 1 else ""
    what = "is NaN" if math.isnan(came) else "is infinite" if math.isinf(came) else "differs"
    worst = max((abs(c - w) for _, c, w in wrong), default=0.0)
    by = "" if math.isnan(worst) or math.isinf(worst) else f", by up to {worst:.3g}"
    return (
        f"{output.name} {what}{where}{by}{share}:\n"
        f"  expected {want:.6g}, got {came:.6g}{position(output.axes, index)}"
    )

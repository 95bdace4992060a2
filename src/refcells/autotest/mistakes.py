"""Mistakes as edits: each is a reference function with one piece of its source replaced.

A catalogue written this way reads as a list of mistakes. The edit names what is right and what people write instead,
and it fails loudly when the reference changes and the piece is no longer there.
"""

import functools
import importlib
import inspect
import textwrap
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Mistake:
    """One way to get a function wrong.

    Attributes:
        name: short name, unique among the mistakes of a question.
        hint: what the student is told, when the results equal this mistake's.
        source: where people made it.
        make: builds the wrong function from the reference.
    """

    name: str
    hint: str
    source: str
    make: Callable[[], Callable[..., Any]]


def edited(function: Callable[..., Any], *edits: tuple[str, str], **names: Any) -> Callable[..., Any]:
    """`function` with pieces of its source replaced.

    Args:
        function: a plain function whose source is at hand.
        edits: pairs (what stands there, what shall stand there); each has to occur exactly once.
        names: further names that the function's body shall see, in place of its module's.

    Returns:
        The new function. It sees the module of the original, so what it calls is the real thing.

    Raises:
        LookupError: if a piece does not occur exactly once.
    """
    plain = inspect.unwrap(function)
    source = _source(plain)
    for old, new in edits:
        if source.count(old) != 1:
            raise LookupError(
                f"{old!r} occurs {source.count(old)} times in {plain.__qualname__}; expected once"
            )
        source = source.replace(old, new)
    module = importlib.import_module(plain.__module__)
    namespace: dict[str, Any] = {**vars(module), **names}
    exec(compile(source, f"<mistake in {plain.__name__}>", "exec"), namespace)
    return namespace[plain.__name__]


def mistake(
    name: str, hint: str, source: str, function: Callable[..., Any], *edits: tuple[str, str]
) -> Mistake:
    """A mistake that is an edit of `function`."""
    return Mistake(name, hint, source, functools.partial(edited, function, *edits))


def within(
    function: Callable[..., Any], calls: str, mistakes: Sequence[Mistake], skip: Sequence[str] = ()
) -> tuple[Mistake, ...]:
    """Mistakes of a part, as they show in the `function` that `calls` it.

    Args:
        function: the whole, such as a walk over a sequence.
        calls: the name by which it calls the part, such as "lstm_step".
        mistakes: the part's.
        skip: names of those that are another mistake of the whole, seen from outside.
    """

    def make(part: Mistake) -> Callable[..., Any]:
        return edited(function, **{calls: part.make()})

    return tuple(
        Mistake(m.name, m.hint, m.source, functools.partial(make, m)) for m in mistakes if m.name not in skip
    )


@functools.cache
def _source(function: Callable[..., Any]) -> str:
    """A function's source, without decorators."""
    lines = textwrap.dedent(inspect.getsource(function)).splitlines(keepends=True)
    start = next(k for k, line in enumerate(lines) if line.startswith(("def ", "class ")))
    return "".join(lines[start:])

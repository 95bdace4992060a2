"""Using a student's work: within bounds, and with a sentence for whatever goes wrong.

This module runs where the student's code runs, in the same process as it, and holds nothing of any answer.
"""

import inspect
import linecache
import traceback
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from refcells.autotest.limits import Allowance, OutOfBounds, TimeUp, limited, quiet_streams

__all__ = ["NOT_WRITTEN", "Answer", "Unfit", "WrongAnswer", "answers", "raised", "reason"]

# What is said of a stub.
NOT_WRITTEN = "it is not written yet (it raises NotImplementedError)"


class WrongAnswer(AssertionError):
    """A failed test. A notebook shows its message alone, without the frames of the course's own code.

    Args:
        message: what is wrong, in the student's terms.
        question: the question that was judged, if one was.
        mistake: name of the known mistake whose results these are, if any.
    """

    def __init__(self, message: str = "", question: str = "", mistake: str | None = None) -> None:
        super().__init__(message)
        self.question, self.mistake = question, mistake

    def _render_traceback_(self) -> list[str]:
        return [f"Not right yet. {self}"]


class Unfit(Exception):
    """A probe could not use the student's work; the message says why, in the student's terms."""


@dataclass
class Answer:
    """What a student's work gave for one set of arguments.

    Attributes:
        results: what it returned; None if it raised.
        arguments: its arguments after the call, to see whether it wrote into them.
        problem: what went wrong, in words, with the student's own line; None if nothing did.
        reason: the same without the line, so that the same mistake gives the same reason; None for a stub or a timeout.
        plain: what `read` made of the results, where there was such a function.
    """

    results: Any = None
    arguments: tuple[Any, ...] = ()
    problem: str | None = None
    reason: str | None = None
    plain: Any = None


def answers(
    work: Callable[..., Any],
    probe: Callable[..., Any] | None,
    cases: Sequence[tuple[Any, ...]],
    quiet: bool,
    seconds: float,
    read: Callable[[Any], Any] | None = None,
) -> Iterator[Answer]:
    """What the work gives for each set of arguments; no more are tried once the time is over.

    Args:
        work: the student's function or class.
        probe: how to use it, if not by calling it: a function of the work and the arguments.
        cases: the arguments, which are handed over as they are.
        quiet: whether a warning counts as an error.
        seconds: of processor time, what all calls together may take.
        read: looks at the results while the student's time still runs, since a student's object may have its own idea
            of being looked at.
    """
    together = Allowance(seconds)
    for arguments in cases:
        yield _answer(work, probe, arguments, quiet, together, read)
        if together.over:
            break


def _answer(
    work: Callable[..., Any],
    probe: Callable[..., Any] | None,
    arguments: tuple[Any, ...],
    quiet: bool,
    together: Allowance,
    read: Callable[[Any], Any] | None,
) -> Answer:
    answer = Answer(arguments=arguments)

    def call() -> tuple[Any, Any]:
        results = probe(work, *arguments) if probe else work(*arguments)
        return results, read(results) if read else None

    try:
        with quiet_streams(), warnings.catch_warnings():
            warnings.simplefilter("error" if quiet else "ignore")
            answer.results, answer.plain = limited(call, together)
    except Exception as error:
        if not isinstance(error, TimeUp | NotImplementedError):
            answer.reason = reason(error)
        answer.problem = raised(error, work)
    return answer


def raised(error: BaseException, work: Any) -> str:
    """An exception in a sentence, with the student's own last line."""
    what = reason(error)
    if isinstance(error, Unfit | OutOfBounds | NotImplementedError):
        return what
    own = getattr(inspect.unwrap(work), "__code__", None) if callable(work) else None
    frames = traceback.extract_tb(error.__traceback__)
    theirs = [frame for frame in frames if own is not None and frame.filename == own.co_filename]
    if not theirs:
        theirs = [
            frame
            for frame in frames
            if "ipykernel" in frame.filename or frame.filename.startswith("<ipython")
        ]
    line = ""
    if theirs:
        line = theirs[-1].line or linecache.getline(theirs[-1].filename, theirs[-1].lineno or 0).strip()
    return f"it stopped with {what}" + (f"\n  in your line: {line[:200]}" if line else "")


def reason(error: BaseException) -> str:
    """An exception in words, without the place."""
    try:
        text = " ".join(str(error).split())
    except Exception:  # an exception of the student's own that cannot be printed
        text = ""
    if isinstance(error, Unfit | OutOfBounds):
        return text
    if type(error).__name__ == "StdinNotImplementedError":
        return "it asks for input, and nobody answers while a test runs"
    if isinstance(error, NotImplementedError):
        return NOT_WRITTEN
    if isinstance(error, RecursionError):
        return "RecursionError: it calls itself without end"
    if isinstance(error, RuntimeWarning):
        return f"NumPy's warning '{text[:200]}'"
    return f"{type(error).__name__}: {text[:200]}" if text else type(error).__name__

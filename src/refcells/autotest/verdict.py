"""From a student's function to a verdict: run it on the question's cases, compare, and say what is wrong.

The student's work is reached by calling it with plain numbers or arrays and by nothing else.
"""

import contextlib
import copy
import importlib
import inspect
import io
import linecache
import traceback
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from refcells.autotest.compare import TOLERANCE, Output, difference, numbers
from refcells.autotest.mistakes import Mistake

__all__ = ["Case", "Question", "Verdict", "WrongAnswer", "calling", "judge", "question"]


class WrongAnswer(AssertionError):
    """A failed test. A notebook shows its message alone, without the frames of the course's own code."""

    def _render_traceback_(self) -> list[str]:
        return [f"Not right yet. {self}"]


class Unfit(Exception):
    """A probe could not use the student's work; the message says why, in the student's terms."""


@dataclass(frozen=True)
class Verdict:
    """The outcome of a comparison.

    Attributes:
        passed: whether all cases agree.
        message: what is wrong, in under ten lines; empty if nothing is.
        mistake: name of the known mistake whose results these are, if any.
    """

    passed: bool
    message: str = ""
    mistake: str | None = None

    def __repr__(self) -> str:
        return "passed" if self.passed else f"failed: {self.message}"


@dataclass(frozen=True)
class Case:
    """One set of arguments, and what is special about it, in words that fit after 'wrong with'."""

    label: str
    arguments: tuple[Any, ...]

    def copied(self) -> tuple[Any, ...]:
        """The arguments, each copied by itself: two of them that are one array become two arrays."""
        return tuple(copy.deepcopy(argument) for argument in self.arguments)


@dataclass(frozen=True)
class Question:
    """What a student's function is compared with, and on what.

    Attributes:
        name: the module's name and the function's, such as "vector.lstm_step".
        reference: the right answer.
        outputs: the results, in order; one output means that the function returns it bare.
        cases: draws the cases for a seed, the simplest first.
        mistakes: the known ways to get it wrong.
        probe: how to use the student's work, if not by calling it: a function of the work and a case's arguments.
        quiet: whether a warning (an overflow, say) counts as wrong.
        tolerance: relative to max(1, largest expected number).
        title: what messages call the student's work; the function's name by default.
        accept: decides about the results by a property (an accuracy reached, say) instead of by comparison; gives the
            problem in words, or None.
    """

    name: str
    reference: Callable[..., Any]
    outputs: tuple[Output, ...]
    cases: Callable[[int], Sequence[Case]]
    mistakes: tuple[Mistake, ...] = ()
    probe: Callable[..., Any] | None = None
    quiet: bool = False
    tolerance: float = TOLERANCE
    title: str = ""
    accept: Callable[[Any], str | None] | None = None

    @property
    def called(self) -> str:
        """What messages call the student's work."""
        return self.title or self.name.partition(".")[2]

    def run(self, work: Callable[..., Any], case: Case) -> Any:
        """The results of `work` on a case, on copies of the arguments."""
        arguments = case.copied()
        return self.probe(work, *arguments) if self.probe else work(*arguments)


@dataclass
class _Outcome:
    """What came of one case: results, or the reason why there are none."""

    case: Case
    problem: str | None = None
    results: Any = field(default=None, repr=False)


def question(name: str) -> Question:
    """The question of that name.

    Raises:
        LookupError: lists the questions that there are.
    """
    part, _, _ = name.partition(".")
    try:
        questions = importlib.import_module(f"refcells.autotest.{part}_questions").QUESTIONS
    except ModuleNotFoundError as error:
        if error.name and not error.name.startswith("refcells"):
            raise
        raise LookupError(
            f"no questions about {part!r}; expected a name such as 'scalar.lstm_step'"
        ) from None
    if name not in questions:
        raise LookupError(f"no question {name!r}; there are {', '.join(questions)}")
    return questions[name]


def judge(name: str, work: Callable[..., Any], seed: int = 0) -> Verdict:
    """Compare a student's function with the reference of the same name.

    Args:
        name: the question's name, such as "scalar.lstm_step".
        work: the student's function or class.
        seed: seed of the cases; visible and hidden tests use different ones.

    Returns:
        A verdict; its message says which result differs, in which case, where and by how much.

    Raises:
        LookupError: if there is no such question.
    """
    asked = question(name)
    if not callable(work):
        return Verdict(False, f"{asked.called} is {_brief(work)}; expected a function")
    cases = asked.cases(seed)
    outcomes = [_outcome(asked, work, case) for case in cases]
    wrong = [outcome for outcome in outcomes if outcome.problem]
    if not wrong:
        return Verdict(True)
    first = wrong[0]
    if len({outcome.problem for outcome in outcomes}) == 1:
        # The same in every case, as when nothing is written yet: the case is not the point.
        return Verdict(False, f"{asked.called}: {first.problem}")
    lines = [f"{asked.called}: with {first.case.label}, {first.problem}"]
    right = [outcome.case.label for outcome in outcomes if not outcome.problem]
    if right:
        lines.append(f"Right with: {'; '.join(right)}.")
        lines.append(f"Wrong with: {'; '.join(outcome.case.label for outcome in wrong)}.")
    elif len(cases) > 1:
        lines.append("Wrong in every case.")
    known = _recognise(asked, outcomes)
    if known:
        lines.append(f"This is what comes out when {known.hint}")
    return Verdict(False, "\n".join(lines), known.name if known else None)


def _recognise(asked: Question, outcomes: list[_Outcome]) -> Mistake | None:
    """The known mistake that gives the same results in every case."""
    if any(outcome.results is None for outcome in outcomes):
        return None
    for mistake in asked.mistakes:
        try:
            wrong = mistake.make()
        except LookupError:
            # A reference has changed under the catalogue. Tests find that; a student's verdict does not depend on it.
            continue
        for outcome in outcomes:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                try:
                    expected = asked.run(wrong, outcome.case)
                except Exception:
                    break
            problem = asked.accept(outcome.results) if asked.accept else None
            if problem or _problem(asked, outcome.results, expected):
                break
        else:
            return mistake
    return None


def _outcome(asked: Question, work: Callable[..., Any], case: Case) -> _Outcome:
    """Run one case and compare its results with the reference's."""
    outcome = _Outcome(case)
    arguments = case.copied()
    try:
        with quiet_streams(), warnings.catch_warnings():
            warnings.simplefilter("error" if asked.quiet else "ignore")
            results = asked.probe(work, *arguments) if asked.probe else work(*arguments)
    except (Exception, SystemExit) as error:
        outcome.problem = raised(error, work)
        return outcome
    if asked.probe is None:
        changed = _changed(asked, case.arguments, arguments)
        if changed:
            outcome.problem = changed
            return outcome
    outcome.results = results
    if asked.accept:
        outcome.problem = asked.accept(results)
    else:
        outcome.problem = _problem(asked, results, asked.run(asked.reference, case))
    return outcome


def _problem(asked: Question, results: Any, expected: Any) -> str | None:
    """What is wrong with a function's results, None if nothing is."""
    if len(asked.outputs) == 1:
        return difference(asked.outputs[0], results, expected, asked.tolerance)
    names = ", ".join(output.name for output in asked.outputs)
    if not isinstance(results, tuple | list):
        return f"{_brief(results)} was returned; expected {len(asked.outputs)} results: {names}"
    if len(results) != len(asked.outputs):
        return f"{len(results)} results were returned; expected {len(asked.outputs)}: {names}"
    for output, came, want in zip(asked.outputs, results, expected, strict=True):
        problem = difference(output, came, want, asked.tolerance)
        if problem:
            return problem
    return None


def _changed(asked: Question, before: tuple[Any, ...], after: tuple[Any, ...]) -> str | None:
    """Which argument the function wrote into, None if it left all as they were."""
    names = list(inspect.signature(asked.reference).parameters)
    for name, old, new in zip(names, before, after, strict=False):
        if isinstance(old, int | float | str) or old is None:
            continue
        if numbers(old) != numbers(new):
            return f"the argument {name} was changed; work on a copy, the caller still needs it"
    return None


def _brief(value: Any) -> str:
    """A value in a few words."""
    kind = type(value).__name__
    if value is None:
        return "None"
    shape = getattr(value, "shape", None)
    if isinstance(shape, tuple):
        return f"an array of shape {tuple(shape)}"
    return f"a {kind}" if kind[0] not in "aeio" else f"an {kind}"


def raised(error: BaseException, work: Any) -> str:
    """An exception in a sentence, with the student's own last line."""
    if isinstance(error, Unfit):
        return str(error)
    if isinstance(error, NotImplementedError):
        return "it is not written yet (it raises NotImplementedError)"
    own = getattr(inspect.unwrap(work), "__code__", None) if callable(work) else None
    frames = traceback.extract_tb(error.__traceback__)
    theirs = [frame for frame in frames if own is not None and frame.filename == own.co_filename]
    if not theirs:
        theirs = [
            frame
            for frame in frames
            if "ipykernel" in frame.filename or frame.filename.startswith("<ipython")
        ]
    text = " ".join(str(error).split())[:200]
    what = f"{type(error).__name__}: {text}" if text else type(error).__name__
    if isinstance(error, RecursionError):
        what = "RecursionError: it calls itself without end"
    if isinstance(error, Warning):
        what = f"NumPy's warning '{text}'" if isinstance(error, RuntimeWarning) else what
    if not theirs:
        return f"it stopped with {what}"
    line = theirs[-1].line or linecache.getline(theirs[-1].filename, theirs[-1].lineno or 0).strip()
    return f"it stopped with {what}\n  in your line: {line}"


@contextlib.contextmanager
def quiet_streams() -> Iterator[None]:
    """Keep what a student's function prints out of the test cell, where text on stderr would cost the points."""
    with contextlib.redirect_stdout(_Sink()), contextlib.redirect_stderr(_Sink()):
        yield


class _Sink(io.TextIOBase):
    """A stream that forgets what is written, and that cannot be closed."""

    def write(self, text: str) -> int:
        return len(text)

    def writable(self) -> bool:
        return True

    def close(self) -> None:
        """Stay open: a student's `sys.stdout.close()` closes nothing."""


@contextlib.contextmanager
def calling(message: str) -> Iterator[None]:
    """Turn whatever a student's code raises into a WrongAnswer that names the call."""
    try:
        with quiet_streams(), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    except (Exception, SystemExit) as error:
        if isinstance(error, WrongAnswer):
            raise
        raise WrongAnswer(f"{message}: {raised(error, None)}") from None

"""From a student's function to a verdict: run it on the question's cases, compare, and say what is wrong.

The student's work is reached by calling it with plain numbers or arrays and by nothing else.
"""

import copy
import functools
import importlib
import inspect
import warnings
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from refcells.autotest.calls import Answer, Unfit, WrongAnswer, answers, raised
from refcells.autotest.compare import TOLERANCE, Output, Unreadable, a_or_an, difference, numbers
from refcells.autotest.limits import SECONDS, limited, quiet_streams
from refcells.autotest.mistakes import Mistake

__all__ = [
    "COMES_OUT",
    "AtLeast",
    "Case",
    "Question",
    "Verdict",
    "WrongAnswer",
    "called",
    "judge",
    "question",
    "questions",
]

# A class's copy of this package holds no references and no mistakes. Its questions come with their results, in this file.
STORED = Path(__file__).with_name("questions.json")

# How a message's last line begins, if there is a hint: what follows is the same for all numbers.
COMES_OUT = "This is what comes out when "


@dataclass(frozen=True)
class Verdict:
    """The outcome of a comparison.

    Attributes:
        passed: whether all cases agree.
        message: what is wrong, in under ten lines; empty if nothing is.
        mistake: name of the known mistake whose results these are, if any.
        question: the question's name.
    """

    passed: bool
    message: str = ""
    mistake: str | None = None
    question: str = ""

    def __repr__(self) -> str:
        return "passed" if self.passed else f"failed: {self.message}"


@dataclass(frozen=True)
class Case:
    """One set of arguments, and what is special about it, in words that fit after 'wrong with'.

    Attributes:
        label: what is special.
        arguments: the arguments.
        expected: the right results, where they are stored and not computed by a reference.
    """

    label: str
    arguments: tuple[Any, ...]
    expected: Any = None

    def copied(self) -> tuple[Any, ...]:
        """The arguments, each copied by itself: two of them that are one array become two arrays."""
        return tuple(copy.deepcopy(argument) for argument in self.arguments)


@dataclass(frozen=True)
class AtLeast:
    """Accepts a number that is large enough; otherwise gives the problem in words, in which {score} is the number."""

    enough: float
    problem: str

    def __call__(self, score: Any) -> str | None:
        """The problem, None if there is none."""
        return None if score >= self.enough else self.problem.format(score=score)


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
        score: the number that `accept` decides about, from what the probe gave and a case's arguments. It is computed by
            whoever judges, so that a claim of the student's process does not count.
        accept: decides about the results, or the score, by a property (an accuracy reached, say) instead of by comparison;
            gives the problem in words, or None.
        seconds: what the student's work may take for all cases together.
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
    score: Callable[..., Any] | None = None
    accept: Callable[[Any], str | None] | None = None
    seconds: float = SECONDS

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
    """What came of one case.

    Attributes:
        case: the case.
        problem: what is wrong, in words; None if nothing is.
        results: the results as plain numbers, if they are numbers at all.
        reason: why there are no results, without the student's own line; the same mistake gives the same reason.
    """

    case: Case
    problem: str | None = None
    results: Any = field(default=None, repr=False)
    reason: str | None = None


def question(name: str) -> Question:
    """The question of that name.

    Raises:
        LookupError: lists the questions that there are.
    """
    part, _, _ = name.partition(".")
    if STORED.exists():
        if name not in _stored():
            raise LookupError(f"no question {name!r}; there are {', '.join(_stored())}")
        return _stored()[name]
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


def questions() -> dict[str, Question]:
    """All questions that the course can ask, whether or not a notebook asks them."""
    if STORED.exists():
        return dict(_stored())
    found: dict[str, Question] = {}
    for path in sorted(Path(__file__).parent.glob("*_questions.py")):
        found |= importlib.import_module(f"refcells.autotest.{path.stem}").QUESTIONS
    return found


@functools.cache
def _stored() -> dict[str, Question]:
    """The questions of a class's copy."""
    return importlib.import_module("refcells.autotest.stored").load(STORED)


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
        return Verdict(False, f"{asked.called} is {_brief(work)}; expected a function", question=name)
    cases = asked.cases(seed)
    outcomes = _outcomes(asked, work, cases)
    wrong = [outcome for outcome in outcomes if outcome.problem]
    if not wrong:
        return Verdict(True, question=name)
    first = wrong[0]
    same = len(outcomes) == len(cases) and len({outcome.problem for outcome in outcomes}) == 1
    if same:
        # The same in every case, as when nothing is written yet: the case is not the point.
        lines = [f"{asked.called}: {first.problem}"]
    else:
        lines = [f"{asked.called}: with {first.case.label}, {first.problem}"]
        right = [outcome.case.label for outcome in outcomes if not outcome.problem]
        if right:
            lines.append(f"Right with: {'; '.join(right)}.")
            lines.append(f"Wrong with: {'; '.join(outcome.case.label for outcome in wrong)}.")
        elif len(outcomes) == len(cases) > 1:
            lines.append("Wrong in every case.")
    known = _recognise(asked, outcomes) if len(outcomes) == len(cases) else None
    if known:
        lines.append(f"{COMES_OUT}{known.hint}")
    return Verdict(False, "\n".join(lines), known.name if known else None, name)


def _recognise(asked: Question, outcomes: Sequence[_Outcome]) -> Mistake | None:
    """The known mistake that gives the same in every case: the same numbers, or the same reason for none."""
    if any(outcome.results is None and outcome.reason is None for outcome in outcomes):
        return None
    for mistake in asked.mistakes:
        try:
            wrong = mistake.make()
        except LookupError:
            # A reference has changed under the catalogue. Tests find that; a student's verdict does not depend on it.
            continue
        if all(_alike(asked, outcome, wrong) for outcome in outcomes):
            return mistake
    return None


def _alike(asked: Question, outcome: _Outcome, wrong: Callable[..., Any]) -> bool:
    """Whether the student's outcome of a case is a wrong function's."""
    if outcome.results is None:
        return _outcomes(asked, wrong, [outcome.case])[0].reason == outcome.reason
    if asked.accept:
        # There is no one right result: what is missing is a property, and the problem names it.
        return False
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            expected = asked.run(wrong, outcome.case)
        except Exception:
            return False
    return _problem(asked, outcome.results, expected) is None


def _outcomes(asked: Question, work: Callable[..., Any], cases: Sequence[Case]) -> list[_Outcome]:
    """What comes of each case; no more are tried once the time is over."""
    arguments = [case.copied() for case in cases]
    # A student's work in another process answers there.
    elsewhere = getattr(work, "answers_elsewhere", None)
    came: Iterable[Answer]
    if elsewhere is not None:
        came = elsewhere(asked.probe, arguments, asked.quiet, asked.seconds)
    else:
        read = None if asked.score else lambda results: _plain(asked, results)
        came = answers(work, asked.probe, arguments, asked.quiet, asked.seconds, read)
    return [
        _outcome(asked, case, answer, plain=elsewhere is None)
        for case, answer in zip(cases, came, strict=False)
    ]


def _outcome(asked: Question, case: Case, answer: Answer, plain: bool) -> _Outcome:
    """Compare what came of one case with the reference's results."""
    outcome = _Outcome(case, answer.problem, reason=answer.reason)
    if outcome.problem:
        return outcome
    try:
        if asked.score:
            outcome.results = _score(asked, case, answer.results)
        else:
            outcome.results = answer.plain if plain else _plain(asked, answer.results)
    except Unfit as error:
        outcome.problem = str(error)
        # No mistake gives what no score can be made of: a probe says so first. To look for one would train many models.
        outcome.reason = None if asked.score else outcome.problem
        return outcome
    if asked.probe is None:
        changed = _changed(asked, case.arguments, answer.arguments)
        if changed:
            outcome.problem = changed
            outcome.results = None
            return outcome
    if asked.accept:
        outcome.problem = asked.accept(outcome.results if asked.score else answer.results)
    else:
        # Numbers are compared as they were read; what is none is looked at again only to say what it is.
        came = answer.results if outcome.results is None else outcome.results
        expected = asked.run(asked.reference, case) if case.expected is None else case.expected
        outcome.problem = _problem(asked, came, expected)
    return outcome


def _score(asked: Question, case: Case, results: Any) -> float:
    """The score of what a probe gave.

    Raises:
        Unfit: if nothing can be made of it.
    """
    assert asked.score is not None
    try:
        return float(asked.score(results, *case.copied()))
    except Unfit:
        raise
    except Exception as error:  # what came is a claim of another process
        raise Unfit(f"its result cannot be read ({type(error).__name__} when it is looked at)") from None


def _plain(asked: Question, results: Any) -> Any:
    """Results as nested lists of floats, read once; None if they are no numbers, or not as many as asked for.

    What was read cannot change when it is compared later, and has no opinion of its own on being equal.
    """
    try:
        if len(asked.outputs) == 1:
            return _read(results)
        if not isinstance(results, tuple | list):
            return None
        parts = list(results)
        return [_read(part) for part in parts] if len(parts) == len(asked.outputs) else None
    except Unreadable:
        return None
    except Exception as error:
        raise Unfit(f"its result cannot be read ({type(error).__name__} when it is looked at)") from None


def _read(value: Any) -> Any:
    """One result as nested lists, unless its shape would not show in them."""
    shape, content = numbers(value)
    if 0 in shape:
        raise Unreadable("is empty")
    return content


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
        if not _same(old, new):
            return f"the argument {name} was changed; work on a copy, the caller still needs it"
    return None


def _same(old: Any, new: Any) -> bool:
    """Whether an argument holds what it held."""
    if isinstance(old, int | float | str) or old is None:
        return True
    if type(old).__module__ == "numpy" and type(old) is type(new):
        # The usual case, and quicker than number by number.
        told = [(array.dtype, array.shape, array.tobytes()) for array in (old, new)]
        if told[0] == told[1]:
            return True
    try:
        return numbers(old) == numbers(new)
    except Unreadable:
        # Several arrays of different shapes, such as a cell's weights.
        return len(old) == len(new) and all(map(_same, old, new))


def _brief(value: Any) -> str:
    """A value in a few words."""
    kind = type(value).__name__
    if value is None:
        return "None"
    shape = getattr(value, "shape", None)
    if isinstance(shape, tuple):
        return f"an array of shape {tuple(shape)}"
    return a_or_an(kind)


def called(call: Callable[[], Any], message: str) -> Any:
    """The result of a directive's call; whatever a student's code raises becomes a WrongAnswer that names the call."""
    try:
        with quiet_streams(), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return limited(call)
    except WrongAnswer:
        raise
    except Exception as error:
        raise WrongAnswer(f"{message}: {raised(error, None)}") from None

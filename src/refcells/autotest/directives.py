"""What nbgrader's `### AUTOTEST` directives turn into; `autotests.yml` at the course's root names these functions.

A directive's value is computed once, when the release is generated, and stands in the test cell as text. `show` writes
that text and `check` reads it back: numbers are compared as numbers, within a tolerance, never as text.
"""

import ast
import hashlib
from collections.abc import Callable
from typing import Any

from refcells.autotest.compare import Output, Unreadable, difference, numbers
from refcells.autotest.verdict import Verdict, WrongAnswer, called

__all__ = ["check", "hashed", "kind", "show"]

# Characters of a value that a test cell may show.
LONGEST = 2000


def kind(value: Any) -> str:
    """The name of a value's template in autotests.yml.

    Raises:
        TypeError: for a value that a test cannot be made of.
    """
    if isinstance(value, Verdict):
        return "verdict"
    for name, types in (("bool", bool), ("int", int), ("str", str), ("float", float)):
        if isinstance(value, types):
            return name
    if hasattr(value, "detach"):
        return "tensor"
    if hasattr(value, "tolist") and hasattr(value, "dtype"):
        return "array" if getattr(value, "ndim", 0) else "float"
    if isinstance(value, tuple | list):
        return "tuple"
    raise TypeError(
        f"an autotest cannot be made of a {type(value).__name__}; expected numbers, text or a verdict"
    )


class _Shown(str):
    """The text of a value, with the value itself."""

    value: Any

    def __repr__(self) -> str:
        return str(self)


def show(value: Any) -> str:
    """The text that stands for `value` in a generated test cell: exact, short, and without quotation marks.

    A value that no test can be made of gives a text that begins with 'unusable', a verdict that did not pass one that
    begins with 'failed'; generating the release refuses both.
    """
    text = _text(value)
    if len(text) > LONGEST:
        text = f"unusable: {len(text)} characters are too long for a cell; use judge instead"
    shown = _Shown(text)
    shown.value = value
    return shown


def _text(value: Any) -> str:
    """The family of a value, a space, and the value."""
    if isinstance(value, Verdict):
        return repr(value)
    if isinstance(value, bool | str):
        return f"{type(value).__name__} {value}"
    try:
        _, content = numbers(value)
        return f"{'int' if isinstance(value, int) else 'numbers'} {content!r}"
    except Unreadable as reason:
        if isinstance(value, tuple | list):
            # Results of different kinds, such as a float and an array: each for itself.
            texts = [_text(part) for part in value]
            bad = next((text for text in texts if text.startswith("unusable")), None)
            return bad or f"parts {texts!r}"
        return f"unusable: it {reason}"


def hashed(value: Any, salt: str) -> str:
    """SHA-1 of a discrete value and a salt, for answers that the released cell should not show.

    Raises:
        WrongAnswer: if `value` is not a whole number, bool, str or a verdict: a hash knows no tolerance.
    """
    if isinstance(value, _Shown):
        value = value.value
    if isinstance(value, Verdict):
        text = "passed" if value.passed else value.message
    elif isinstance(value, bool | str):
        text = f"{type(value).__name__} {value}"
    else:
        try:
            shape, number = numbers(value)
        except Unreadable as reason:
            raise WrongAnswer(f"the result {reason}") from None
        if shape or not isinstance(number, float) or not number.is_integer():
            raise WrongAnswer(f"{value!r} came; expected a whole number")
        text = f"int {int(number)}"
    return hashlib.sha1(f"{text}{salt}".encode()).hexdigest()


def check(call: Callable[[], Any], expected: str, message: str) -> None:
    """Run one generated test: nothing happens if it holds.

    Args:
        call: computes the value again, now with the student's work.
        expected: what `show` or `hashed` gave for the instructor's.
        message: names what is tested, for the error.

    Raises:
        WrongAnswer: says what came and what was expected.
    """
    actual = called(call, message)
    value = actual.value if isinstance(actual, _Shown) else actual
    if isinstance(value, Verdict):
        if not value.passed:
            raise WrongAnswer(value.message, value.question, value.mistake)
        return
    _compare(value, actual, expected, message)


def _compare(value: Any, actual: Any, expected: str, message: str) -> None:
    """Hold one value against the text of the expected one.

    Raises:
        WrongAnswer: says what came and what was expected.
    """
    family, _, text = expected.partition(" ")
    if family in ("int", "numbers"):
        problem = difference(Output(message), value, ast.literal_eval(text))
        if problem:
            raise WrongAnswer(problem)
    elif family in ("bool", "str"):
        came = f"{type(value).__name__} {value}"
        if came != expected:
            raise WrongAnswer(f"{message} is {value!r}; expected {text!r}")
    elif family == "parts":
        texts = ast.literal_eval(text)
        if not isinstance(value, tuple | list) or len(value) != len(texts):
            came = f"{len(value)} results" if isinstance(value, tuple | list) else f"a {type(value).__name__}"
            raise WrongAnswer(f"{message} gave {came}; expected {len(texts)} results")
        for k, (part, wanted) in enumerate(zip(value, texts, strict=True), start=1):
            _compare(part, part, wanted, f"result {k} of {message}")
    elif actual != expected:
        raise WrongAnswer(f"{message} is {value!r}, which is not the expected value")

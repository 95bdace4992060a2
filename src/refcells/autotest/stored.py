"""Questions as data: cases and right results as numbers, with no reference that computes them and no known mistakes.

A class's copy of the package judges with these (`python -m classroom.handout` makes it). A verdict there says which
result differs, where and by how much, as ever; the names of mistakes come with the graded submission.
"""

import importlib
import inspect
import json
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

from refcells.autotest.compare import Output, numbers
from refcells.autotest.verdict import AtLeast, Case, Question, question

__all__ = ["dump", "load"]

# Digits of a stored result: far more than the tolerance asks for, and the same on every machine.
DIGITS = 12


def dump(names: Iterable[str]) -> str:
    """The visible cases (seed 0) of the named questions, as JSON text.

    Raises:
        ValueError: for a question that cannot be stored; says why.
    """
    stored = {name: _stored(question(name)) for name in sorted(names)}
    # In the order in which the arguments are: a module's parameters are told apart by it.
    return json.dumps(stored, separators=(",", ":"))


def _stored(asked: Question) -> dict[str, Any]:
    if asked.accept is not None and not isinstance(asked.accept, AtLeast):
        raise ValueError(
            f"{asked.name} accepts by a function of its own; expected AtLeast, which can be stored"
        )
    for what, function in (("probed", asked.probe), ("scored", asked.score)):
        if function is not None and not function.__module__.endswith("probes"):
            raise ValueError(f"{asked.name} is {what} by {function.__module__}; expected a module of probes")
    return {
        "accept": [asked.accept.enough, asked.accept.problem] if asked.accept else None,
        "arguments": list(inspect.signature(asked.reference).parameters),
        "cases": [
            [case.label, [_packed(argument) for argument in case.arguments], _results(asked, case)]
            for case in asked.cases(0)
        ],
        "outputs": [[output.name, list(output.axes)] for output in asked.outputs],
        "probe": _place(asked.probe),
        "quiet": asked.quiet,
        "score": _place(asked.score),
        "seconds": asked.seconds,
        "title": asked.title,
        "tolerance": asked.tolerance,
    }


def _place(function: Callable[..., Any] | None) -> list[str] | None:
    """Where a function is found."""
    return [function.__module__, function.__name__] if function else None


def _results(asked: Question, case: Case) -> Any:
    """The right results of a case as nested lists; None where a property is asked for."""
    if asked.accept:
        return None
    results = asked.run(asked.reference, case)
    parts = [results] if len(asked.outputs) == 1 else results
    plain = [_rounded(numbers(part)[1]) for part in parts]
    return plain[0] if len(asked.outputs) == 1 else plain


def _rounded(content: Any) -> Any:
    if isinstance(content, list):
        return [_rounded(part) for part in content]
    return float(f"{content:.{DIGITS}g}")


def _packed(value: Any) -> Any:
    """An argument as JSON can hold it; what JSON has no word for is wrapped in a dictionary that names its kind."""
    if hasattr(value, "dtype") and hasattr(value, "tolist"):
        return {"array": value.tolist(), "dtype": str(value.dtype)} if value.ndim else value.tolist()
    if isinstance(value, tuple):
        return {"tuple": [_packed(part) for part in value]}
    if isinstance(value, list):
        return [_packed(part) for part in value]
    if isinstance(value, dict):
        return {"dict": {name: _packed(part) for name, part in value.items()}}
    if value is None or isinstance(value, bool | int | float | str):
        return value
    raise ValueError(
        f"an argument is a {type(value).__name__}; expected numbers, text, arrays, or groups of them"
    )


def _unpacked(value: Any) -> Any:
    if isinstance(value, list):
        return [_unpacked(part) for part in value]
    if not isinstance(value, dict):
        return value
    if "array" in value:
        import numpy as np

        return np.array(value["array"], dtype=value["dtype"])
    if "tuple" in value:
        return tuple(_unpacked(part) for part in value["tuple"])
    return {name: _unpacked(part) for name, part in value["dict"].items()}


def load(path: Path) -> dict[str, Question]:
    """The questions that `dump` stored."""
    return {
        name: _question(name, stored) for name, stored in json.loads(path.read_text(encoding="utf-8")).items()
    }


def _question(name: str, stored: dict[str, Any]) -> Question:
    def cases(seed: int) -> Sequence[Case]:
        if seed != 0:
            raise LookupError("only the visible tests are here, seed 0; others are run when you are graded")
        return [
            Case(label, tuple(_unpacked(argument) for argument in arguments), expected)
            for label, arguments, expected in stored["cases"]
        ]

    return Question(
        name,
        _kept_back(stored["arguments"]),
        tuple(Output(output, tuple(axes)) for output, axes in stored["outputs"]),
        cases,
        probe=_found(*stored["probe"]) if stored["probe"] else None,
        quiet=stored["quiet"],
        tolerance=stored["tolerance"],
        title=stored["title"],
        score=_found(*stored["score"]) if stored["score"] else None,
        accept=AtLeast(*stored["accept"]) if stored["accept"] else None,
        seconds=stored["seconds"],
    )


def _found(module: str, name: str) -> Callable[..., Any]:
    """A function that is imported when it is first called: many need PyTorch, which a student may not have."""

    def function(*arguments: Any) -> Any:
        return getattr(importlib.import_module(module), name)(*arguments)

    return function


def _kept_back(names: Sequence[str]) -> Callable[..., Any]:
    """A stand-in for the reference, with the names of its arguments."""

    def reference(*arguments: Any) -> Any:
        raise LookupError("the reference is not part of a class's copy")

    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    reference.__signature__ = inspect.Signature([inspect.Parameter(name, kind) for name in names])  # type: ignore[attr-defined]
    return reference

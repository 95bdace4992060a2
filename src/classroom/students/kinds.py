"""A student of the sample class, and the mistakes that one makes."""

from collections.abc import Iterable
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Edit:
    """One mistake in one solution cell: what stands in the model solution, and what the student wrote instead."""

    notebook: str
    cell: str
    right: str
    wrong: str


@dataclass(frozen=True)
class Student:
    """One student of the sample class.

    Attributes:
        name: the student's id.
        edits: mistakes, against the model solutions.
        loses: the test cells that the mistakes cost, as (notebook, grade id).
        words: share of the points that a person gives for the answers in words; None if nobody has read them yet.
        blank: hands in the release as it came.
    """

    name: str
    edits: tuple[Edit, ...] = ()
    loses: frozenset[tuple[str, str]] = field(default_factory=frozenset)
    words: float | None = 1.0
    blank: bool = False


def student(name: str, *edits: Edit, loses: Iterable[str] = (), words: float | None = 1.0) -> Student:
    """A student with mistakes; `loses` names what they cost as 'notebook/grade id'."""
    pairs = frozenset((loss.split("/")[0], loss.split("/")[1]) for loss in loses)
    return Student(name, edits, pairs, words)

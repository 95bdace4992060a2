"""The gradebook: which database it is in, points by student and question, and tables of them."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from nbgrader.api import Gradebook, MissingEntry
from sqlalchemy import make_url
from sqlalchemy.exc import ArgumentError, NoSuchModuleError, SQLAlchemyError

from classroom.course import configuration
from classroom.errors import CourseError

__all__ = [
    "COURSE_ID",
    "Score",
    "connect",
    "database",
    "find_assignment",
    "open_gradebook",
    "scores",
    "text_table",
]

COURSE_ID = "learning-to-remember"


@dataclass(frozen=True)
class Score:
    """Points of one student on one graded cell.

    Attributes:
        notebook: the notebook's name.
        question: the cell's grade id.
        auto: points from the test cell; None if a person gives them.
        manual: points that a person gave; None if nobody has.
        most: points that can be had.
        waiting: whether the answer still needs a person.
    """

    notebook: str
    question: str
    auto: float | None
    manual: float | None
    most: float
    waiting: bool

    @property
    def points(self) -> float:
        """The points that count: a person's if there are any, else the test cell's."""
        return self.manual if self.manual is not None else self.auto or 0.0


def database(course: Path, given: str | None = None) -> str:
    """The URL of a course's gradebook, as SQLAlchemy writes it.

    It is the one given, else the one that nbgrader's commands use in that folder: what its `nbgrader_config.py` sets, or
    `gradebook.db` beside it.

    Args:
        course: the course's folder.
        given: a URL that goes before the configuration.
    """
    if given:
        return given
    if url := configuration(course).get("CourseDirectory", {}).get("db_url"):
        return str(url)
    return f"sqlite:///{(course / 'gradebook.db').resolve()}"


def connect(url: str) -> Gradebook:
    """Open a gradebook; the caller closes it.

    Args:
        url: the database, as SQLAlchemy writes it: `sqlite:////path/gradebook.db`, `postgresql://user:password@host/name`.

    Raises:
        CourseError: if there is no such database, it does not answer, or its driver is not installed.
    """
    try:
        where = make_url(url)
        if where.get_backend_name() == "sqlite" and where.database and not Path(where.database).exists():
            raise CourseError(f"no gradebook at {where.database}; generate the assignment first")
        return Gradebook(url, COURSE_ID)
    except (ArgumentError, NoSuchModuleError):
        raise CourseError(
            f"{url!r} names no database; expected sqlite:////path/gradebook.db or postgresql://user:password@host/name"
        ) from None
    except ModuleNotFoundError as missing:
        raise CourseError(
            f"{make_url(url)} needs the Python package {missing.name!r}; "
            "for PostgreSQL install the course with its extra 'postgresql', and write postgresql+psycopg://..."
        ) from None
    except SQLAlchemyError as error:
        reason = str(getattr(error, "orig", None) or error).strip().partition("\n")[0]
        raise CourseError(f"the gradebook {make_url(url)} cannot be opened: {reason}") from None


def open_gradebook(course: Path, db_url: str | None = None) -> Gradebook:
    """The gradebook of a course directory; the caller closes it.

    Args:
        course: the course's folder.
        db_url: its database; what the folder's configuration says by default.

    Raises:
        CourseError: if there is none.
    """
    return connect(database(course, db_url))


def find_assignment(gradebook: Gradebook, name: str) -> Any:
    """An assignment's row in the gradebook.

    Args:
        gradebook: open.
        name: the assignment's.

    Raises:
        CourseError: if the gradebook does not hold it.
    """
    try:
        return gradebook.find_assignment(name)
    except MissingEntry:
        known = ", ".join(sorted(one.name for one in gradebook.assignments))
        raise CourseError(
            f"the gradebook holds no assignment {name!r}; it holds: {known or 'none'}. "
            f"To generate it: nbgrader generate_assignment {name}"
        ) from None


def scores(course: Path, assignment: str, db_url: str | None = None) -> dict[str, list[Score]]:
    """All scores of an assignment by student, questions in the notebooks' order.

    Args:
        course: the course's folder.
        assignment: its name.
        db_url: the gradebook's database; what the folder's configuration says by default.

    Raises:
        CourseError: if the assignment is not in the gradebook.
    """
    with open_gradebook(course, db_url) as gradebook:
        found = find_assignment(gradebook, assignment)
        order = {
            (notebook.name, cell.name): place
            for notebook in sorted(found.notebooks, key=lambda n: n.name)
            for place, cell in enumerate(notebook.source_cells)
        }
        table: dict[str, list[Score]] = {}
        for submission in found.submissions:
            rows = []
            for notebook in submission.notebooks:
                for grade in notebook.grades:
                    by_hand = grade.cell.cell_type == "markdown"
                    rows.append(
                        Score(
                            notebook.name,
                            grade.cell.name,
                            None if by_hand and grade.auto_score is None else grade.auto_score,
                            grade.manual_score,
                            grade.cell.max_score,
                            bool(grade.needs_manual_grade),
                        )
                    )
            rows.sort(key=lambda score: (score.notebook, order.get((score.notebook, score.question), 0)))
            table[submission.student.id] = rows
        return dict(sorted(table.items()))


def text_table(table: dict[str, list[Score]]) -> str:
    """Points of every student on every question, a table a notebook; a dot marks what waits for a person."""
    lines: list[str] = []
    notebooks = sorted({score.notebook for rows in table.values() for score in rows})
    width = max((len(student) for student in table), default=7)
    for notebook in notebooks:
        first = next(rows for rows in table.values() if any(score.notebook == notebook for score in rows))
        questions = [score for score in first if score.notebook == notebook]
        names = [score.question.removeprefix("test-") for score in questions]
        widths = [max(len(name), 4) for name in names]
        lines.append(f"{notebook}")
        header = "  ".join(name.rjust(w) for name, w in zip(names, widths, strict=True))
        lines.append(f"  {'':{width}}  {header}  {'sum':>5}")
        of = "  ".join(f"{score.most:g}".rjust(w) for score, w in zip(questions, widths, strict=True))
        lines.append(f"  {'points to be had':{width}}  {of}  {sum(score.most for score in questions):>5g}")
        for student, rows in table.items():
            own = {score.question: score for score in rows if score.notebook == notebook}
            cells = []
            for question, w in zip(questions, widths, strict=True):
                score = own.get(question.question)
                text = "-" if score is None else "." if score.waiting else f"{score.points:g}"
                cells.append(text.rjust(w))
            total = sum(score.points for score in own.values())
            lines.append(f"  {student:{width}}  {'  '.join(cells)}  {total:>5g}")
        lines.append("")
    return "\n".join(lines)

"""The one writer to the gradebook, and what it remembers of each notebook: the points and the record in one transaction."""

import hashlib
import json
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeVar

import nbformat
from nbgrader.api import BaseCell, Grade, Gradebook, InvalidEntry, MissingEntry
from sqlalchemy import Column, Float, MetaData, String, Table, Text, delete, insert, select
from sqlalchemy.exc import DBAPIError, IntegrityError, InterfaceError, OperationalError

from classroom.course import read_notebook, sources
from classroom.errors import CourseError
from classroom.gradebook import connect
from classroom.grading.log import step
from classroom.grading.work import NOT_GRADED, Master, Result
from classroom.late import apply_penalties

__all__ = ["Record", "Store", "masters"]

Told = TypeVar("Told")

_meta = MetaData()

# How often a transaction gives way to another process that writes the same.
MEETINGS = 3

# Beside nbgrader's own tables, in the same database, so that one commit holds both.
RECORDS = Table(
    "course_grading",
    _meta,
    Column("assignment", String(128), primary_key=True),
    Column("student", String(128), primary_key=True),
    Column("notebook", String(128), primary_key=True),
    Column("digest", String(64), nullable=False),
    Column("status", String(16), nullable=False),
    Column("notes", Text, nullable=False),
    Column("seconds", Float, nullable=False),
    Column("finished", String(32), nullable=False),
)

# A digest of each answer that was graded, which tells whether a person's points are for the answer that is there now.
ANSWERS = Table(
    "course_answers",
    _meta,
    Column("assignment", String(128), primary_key=True),
    Column("student", String(128), primary_key=True),
    Column("notebook", String(128), primary_key=True),
    Column("answers", Text, nullable=False),
)


@dataclass(frozen=True)
class Record:
    """How a notebook was graded last.

    Attributes:
        student: the student's id.
        notebook: the notebook's name.
        digest: of the submission and the tests that graded it.
        status: 'graded', 'repaired', 'failed' or 'missing'; 'not graded' where the grader itself failed.
        notes: what was repaired, or why it failed.
        seconds: how long it took.
        finished: when, in ISO format, UTC.
    """

    student: str
    notebook: str
    digest: str
    status: str
    notes: list[str]
    seconds: float
    finished: str


def masters(gradebook: Gradebook, assignment: str, release: Path) -> list[Master]:
    """The notebooks of an assignment with the sources that nbgrader stored, hidden tests included.

    Args:
        gradebook: the open gradebook.
        assignment: its name.
        release: the folder of the released notebooks, which have the cells in order.

    Raises:
        CourseError: if the assignment was not generated, or the release does not belong to the gradebook.
    """
    try:
        notebooks = gradebook.find_assignment(assignment).notebooks
    except MissingEntry:
        raise CourseError(
            f"the gradebook holds no assignment {assignment!r}; run: nbgrader generate_assignment {assignment}"
        ) from None
    found = []
    for notebook in sorted(notebooks, key=lambda notebook: notebook.name):
        frame = read_notebook(release / f"{notebook.name}.ipynb")
        stored = {cell.name: cell for cell in notebook.source_cells}
        for cell in frame.cells:
            marks = cell.metadata.get("nbgrader", {})
            name = marks.get("grade_id")
            if name is None:
                continue  # the cell that installs the package
            if name not in stored:
                raise CourseError(
                    f"{notebook.name} was released with a cell {name!r} that the gradebook does not know; generate it again"
                )
            # An answer is a student's; everything else is as it was generated, with its hidden tests.
            if not marks.get("solution"):
                cell.source = stored[name].source
        found.append(Master(notebook.name, nbformat.writes(frame)))
    if not found:
        raise CourseError(f"the gradebook holds no notebook of {assignment!r}; generate it again")
    known = {source.stem for source in _sources(assignment)}
    if known and known != {master.name for master in found}:
        raise CourseError(
            f"the gradebook holds {sorted(m.name for m in found)} of {assignment!r}, the sources are {sorted(known)}; "
            f"run: nbgrader generate_assignment {assignment} --force"
        )
    return found


def _sources(assignment: str) -> list[Path]:
    try:
        return sources(assignment)
    except CourseError:
        return []  # an assignment of another course directory


class Store:
    """The gradebook of a course, open for writing.

    Args:
        db_url: the database, as SQLAlchemy writes it.
        patience: seconds for which a lost connection or a locked database is tried again.

    Raises:
        CourseError: if there is no such database, or it does not answer.
    """

    def __init__(self, db_url: str, patience: float = 60.0) -> None:
        self.gradebook = connect(db_url)
        self.patience = patience
        _meta.create_all(self.gradebook.db.get_bind(), checkfirst=True)

    def close(self) -> None:
        """Give the database back."""
        self.gradebook.close()

    def __enter__(self) -> "Store":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def records(self, assignment: str) -> dict[tuple[str, str], Record]:
        """What was graded, by student and notebook.

        Raises:
            CourseError: if the database does not answer any more.
        """
        wanted = select(RECORDS).where(RECORDS.c.assignment == assignment)
        rows = self._transaction(lambda: self.gradebook.db.execute(wanted).all())
        return {
            (row.student, row.notebook): Record(
                row.student,
                row.notebook,
                row.digest,
                row.status if row.digest else NOT_GRADED,
                json.loads(row.notes),
                row.seconds,
                row.finished,
            )
            for row in rows
        }

    def save(self, assignment: str, results: Iterable[Result], submitted: datetime | None = None) -> None:
        """Write one student's results, all or none of them.

        Automatic points are replaced, also by 0. Points and comments that a person gave stay; what a person has to look at
        again, because the answer is another one, is marked as nbgrader marks it.

        Args:
            assignment: its name.
            results: of one student's notebooks.
            submitted: when the student handed in, for the late policy.

        Raises:
            CourseError: if the database does not answer any more.
        """
        results = list(results)

        def work() -> None:
            step("write gradebook", results[0].student)
            submission = self._submission(assignment, results[0].student, submitted)
            for result in results:
                self._save(assignment, result, submission)
            self.gradebook.db.flush()
            step("commit", results[0].student)

        self._transaction(work)

    def _transaction(self, work: Callable[[], Told]) -> Told:
        """Do something in one transaction; once more from its start where the connection was lost or the database locked.

        So it is where another process added the same student or record at the same moment. A connection that is lost while it
        commits leaves open whether it did, so `work` has to be the same done twice.
        """
        db = self.gradebook.db
        until = time.monotonic() + self.patience
        pause, met = 0.05, 0
        while True:
            try:
                told = work()
                db.commit()
                return told
            except BaseException as raised:
                _undo(db)
                # nbgrader raises another error in the place of the database's.
                error = raised.__context__ if isinstance(raised, InvalidEntry) else raised
                if isinstance(error, IntegrityError) and met < MEETINGS:
                    met += 1  # another process has written the same rows since these were looked for
                    continue
                if not isinstance(error, OperationalError | InterfaceError):
                    raise
                if time.monotonic() > until:
                    raise CourseError(
                        f"the gradebook {self.gradebook.engine.url} has not answered for {self.patience:.0f} seconds "
                        f"({str(error.orig).strip().partition(chr(10))[0]}); what was written before stands, "
                        "and the same command goes on from there"
                    ) from None
                time.sleep(pause)
                pause = min(2 * pause, 2.0)

    def _submission(self, assignment: str, student: str, submitted: datetime | None) -> Any:
        """The row of a submission, made if there is none. nbgrader commits it, so nothing of the results may be written yet."""
        book = self.gradebook
        try:
            book.find_student(student)
        except MissingEntry:
            book.update_or_create_student(student)
        more = {} if submitted is None else {"timestamp": submitted}
        with book.db.no_autoflush:  # nbgrader builds a submission piece by piece
            return book.update_or_create_submission(assignment, student, **more)

    def _save(self, assignment: str, result: Result, submission: Any) -> None:
        db = self.gradebook.db
        notebook = next(found for found in submission.notebooks if found.name == result.notebook)
        before, answers = self._answers(assignment, result)
        # The cells' names in one query, not one for each grade; what is written goes out once, at the end.
        named = select(BaseCell.id, BaseCell.name).where(BaseCell.notebook_id == notebook.notebook_id)
        names = {row.id: row.name for row in db.execute(named)}
        with db.no_autoflush:
            for grade in notebook.grades:
                name = names[grade.cell_id]
                points = result.points.get(name, 0.0)
                if name in result.unanswered:
                    points = 0.0
                if grade.manual_score is None:
                    grade.needs_manual_grade = points is None
                elif not _stands(grade, name, points, before, answers):
                    grade.needs_manual_grade = True
                grade.auto_score = points
            for comment in notebook.comments:
                unanswered = names[comment.cell_id] in result.unanswered
                comment.auto_comment = "No response." if unanswered else None
        keys = (
            (RECORDS.c.assignment == assignment)
            & (RECORDS.c.student == result.student)
            & (RECORDS.c.notebook == result.notebook)
        )
        db.execute(delete(RECORDS).where(keys))
        db.execute(
            insert(RECORDS).values(
                assignment=assignment,
                student=result.student,
                notebook=result.notebook,
                digest=result.digest,
                status=result.status,
                # In ASCII: a reason may quote characters that no database takes.
                notes=json.dumps(result.notes),
                seconds=result.seconds,
                finished=datetime.now(UTC).isoformat(timespec="seconds"),
            )
        )

    def _answers(self, assignment: str, result: Result) -> tuple[dict[str, str], dict[str, str]]:
        """Digests of the answers that were graded before, and of these, which are written down."""
        db = self.gradebook.db
        keys = (
            (ANSWERS.c.assignment == assignment)
            & (ANSWERS.c.student == result.student)
            & (ANSWERS.c.notebook == result.notebook)
        )
        row = db.execute(select(ANSWERS.c.answers).where(keys)).first()
        if not result.digest:  # nothing was graded, so the answers are those of before
            before = json.loads(row.answers) if row else {}
            return before, before
        cells = json.loads(result.executed)["cells"] if result.executed else []
        answers = {
            cell["metadata"]["nbgrader"]["grade_id"]: hashlib.sha256(
                "".join(cell["source"]).encode()
            ).hexdigest()[:16]
            for cell in cells
            if cell["metadata"].get("nbgrader", {}).get("solution")
        }
        db.execute(delete(ANSWERS).where(keys))
        db.execute(
            insert(ANSWERS).values(
                assignment=assignment,
                student=result.student,
                notebook=result.notebook,
                answers=json.dumps(answers, sort_keys=True),
            )
        )
        return (json.loads(row.answers) if row else {}), answers

    def assign_penalties(self, course: Path, assignment: str) -> None:
        """Bring the penalties of everybody up to date, as the late policy has them.

        Args:
            course: the course's folder.
            assignment: its name.

        Raises:
            CourseError: if the database does not answer any more.
        """
        self._transaction(lambda: apply_penalties(self.gradebook, course, assignment))


def _stands(
    grade: Grade, name: str, points: float | None, before: dict[str, str], answers: dict[str, str]
) -> bool:
    """Whether a person's points are for what is there now: the same answer, or, of a test, the same answers and outcome."""
    if name in answers:
        return before.get(name) == answers[name]
    return bool(before) and before == answers and grade.auto_score == points


def _undo(db: Any) -> None:
    """Roll back; where the connection is gone, the database has done so itself."""
    with suppress(DBAPIError):
        db.rollback()

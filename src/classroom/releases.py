"""Releases of an assignment: a record of each, which one a submission answers, and a new release that loses no grade.

nbgrader regenerates a notebook in place. It refuses to add or remove a cell once there are submissions, and drops the released
folder when it refuses. Here a question can be added; one that somebody has points in is removed only on demand, and its points
are kept; the released folder comes back when a generation fails.
"""

import hashlib
import json
import shutil
import subprocess
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import jupytext
from nbformat.notebooknode import NotebookNode
from nbgrader.api import (
    Comment,
    Grade,
    Gradebook,
    GradeCell,
    MissingEntry,
    SolutionCell,
    SourceCell,
    TaskCell,
)
from nbgrader.preprocessors import NbGraderPreprocessor, SaveCells
from sqlalchemy import Column, Float, Integer, MetaData, String, Table, Text, delete, insert, inspect, select
from traitlets import Bool

from classroom.course import nbgrader
from classroom.errors import CourseError
from classroom.gradebook import connect, database, open_gradebook

__all__ = ["GuardedSaveCells", "RecordRelease", "Release", "Released", "Releases", "record_lines", "release"]

Resources = dict[str, Any]

_meta = MetaData()

RELEASES = Table(
    "course_release",
    _meta,
    Column("assignment", String(128), primary_key=True),
    Column("notebook", String(128), primary_key=True),
    Column("digest", String(64), primary_key=True),
    Column("number", Integer, nullable=False),
    Column("version", String(64), nullable=False),
    Column("revision", String(64), nullable=False),
    Column("made", String(32), nullable=False),
    Column("cells", Text, nullable=False),
)

# Points and comments of questions that a release removed.
REMOVED = Table(
    "course_removed",
    _meta,
    Column("assignment", String(128), primary_key=True),
    Column("notebook", String(128), primary_key=True),
    Column("cell", String(128), primary_key=True),
    Column("student", String(128), primary_key=True),
    Column("auto_score", Float),
    Column("manual_score", Float),
    Column("extra_credit", Float),
    Column("manual_comment", Text),
    Column("removed", String(32), nullable=False),
)


@dataclass(frozen=True)
class Release:
    """One notebook as it was handed out.

    Attributes:
        notebook: its name.
        number: 1 for the first release of this notebook, and so on.
        version: the course's version, which is stamped into the notebook.
        revision: git's, '+' after it if files had been changed since; empty without git.
        made: when it was generated first, UTC.
        digest: of the cells as students get them.
        cells: nbgrader's checksum and points by grade id.
    """

    notebook: str
    number: int
    version: str
    revision: str
    made: str
    digest: str
    cells: dict[str, tuple[str, float]]

    @property
    def name(self) -> str:
        """For tables: '2 (0.1.0)'."""
        return f"{self.number} ({self.version})"


def _checksums(notebook: Any) -> dict[str, tuple[str, float]]:
    """What a released notebook, or a submission, says of the course's cells."""
    found: dict[str, tuple[str, float]] = {}
    cells = notebook.get("cells", []) if isinstance(notebook, dict) else []
    for cell in cells if isinstance(cells, list) else []:
        metadata = cell.get("metadata") if isinstance(cell, dict) else None
        marks = metadata.get("nbgrader") if isinstance(metadata, dict) else None
        if isinstance(marks, dict) and isinstance(marks.get("grade_id"), str):
            points = marks.get("points", 0)
            found[marks["grade_id"]] = (
                str(marks.get("checksum", "")),
                # A student may have written any number there; longer ones than these are no float.
                float(points) if isinstance(points, int | float) and abs(points) < 2**53 else 0.0,
            )
    return found


class Releases:
    """The record of releases of an assignment, beside nbgrader's tables.

    Args:
        gradebook: the open gradebook.
        assignment: its name.
    """

    def __init__(self, gradebook: Gradebook, assignment: str) -> None:
        self.by_notebook: dict[str, list[Release]] = {}
        if not inspect(gradebook.db.get_bind()).has_table(RELEASES.name):
            return
        rows = gradebook.db.execute(
            select(RELEASES).where(RELEASES.c.assignment == assignment).order_by(RELEASES.c.number)
        )
        for row in rows:
            self.by_notebook.setdefault(row.notebook, []).append(
                Release(
                    row.notebook,
                    row.number,
                    row.version,
                    row.revision,
                    row.made,
                    row.digest,
                    {name: (mark[0], mark[1]) for name, mark in json.loads(row.cells).items()},
                )
            )

    def answered(self, notebook: str, content: bytes | None) -> str:
        """Which release a submission answers.

        The version is the notebook's stamp. Which release of that version it is shows in the checksums that nbgrader gave to
        the cells, so that a fix without a new version is told apart, and a student's edits do not matter.

        Args:
            notebook: its name.
            content: the file; None if there is none.

        Returns:
            A release's name, with 'older' where there is a newer one; the version alone where no release was recorded;
            'unknown' for a file without a stamp.
        """
        try:
            found = json.loads((content or b"").decode("utf-8-sig"))
            version = found["metadata"]["course"]["version"]
        except (ValueError, KeyError, TypeError, RecursionError):
            return "unknown"
        # As long as a version is, and of characters that every terminal and table takes.
        if not (isinstance(version, str) and len(version) <= 64 and version.isprintable()):
            return "unknown"
        if notebook not in self.by_notebook:
            return str(version)  # generated before releases were recorded
        mine = _checksums(found)
        known = [one for one in self.by_notebook[notebook] if one.version == version]
        # The newest of those that fit best: a release that was taken back is the one before it.
        best = max(
            known,
            key=lambda one: (
                sum(mine.get(name) == mark for name, mark in one.cells.items())
                # Both ways: a release before a question came holds nothing that the one after it lacks.
                - len(mine.keys() ^ one.cells.keys()),
                one.number,
            ),
            default=None,
        )
        if best is None:
            return f"{version}, not of this class"
        return best.name if best is self.by_notebook[notebook][-1] else f"{best.name}, older"


class RecordRelease(NbGraderPreprocessor):
    """The last of `nbgrader generate_assignment`: writes down what students get, once for each different notebook."""

    def preprocess(self, nb: NotebookNode, resources: Resources) -> tuple[NotebookNode, Resources]:
        """Record the notebook; it is not changed."""
        about = resources["nbgrader"]
        cells = _checksums(nb)
        digest = hashlib.sha256(
            json.dumps(
                [[cell.cell_type, cell.source, cell.metadata.get("nbgrader")] for cell in nb.cells],
                sort_keys=True,
            ).encode()
        ).hexdigest()
        with Gradebook(about["db_url"]) as gradebook:
            try:
                gradebook.find_notebook(about["notebook"], about["assignment"])
            except MissingEntry:
                return nb, resources  # generated without a gradebook
            _meta.create_all(gradebook.db.get_bind(), checkfirst=True)
            mine = (RELEASES.c.assignment == about["assignment"]) & (RELEASES.c.notebook == about["notebook"])
            rows = gradebook.db.execute(select(RELEASES).where(mine)).all()
            known = next((row for row in rows if row.digest == digest), None)
            newest = max((row.number for row in rows), default=0)
            if known is None or known.number != newest:
                if known is not None:
                    # Taken back to what it was: that is the newest again.
                    gradebook.db.execute(delete(RELEASES).where(mine & (RELEASES.c.digest == digest)))
                gradebook.db.execute(
                    insert(RELEASES).values(
                        assignment=about["assignment"],
                        notebook=about["notebook"],
                        digest=digest,
                        number=newest + 1,
                        version=nb.metadata.get("course", {}).get("version", ""),
                        revision=_revision(),
                        made=datetime.now(UTC).isoformat(timespec="seconds"),
                        cells=json.dumps(cells, sort_keys=True),
                    )
                )
                gradebook.db.commit()
        return nb, resources


def _revision() -> str:
    """Git's revision of the course in the current folder."""
    try:
        told = subprocess.run(
            ["git", "describe", "--always", "--dirty=+", "--exclude=*"],
            capture_output=True,
            text=True,
            timeout=20,
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return told.stdout.strip()[:64] if told.returncode == 0 else ""


class GuardedSaveCells(SaveCells):
    """nbgrader's SaveCells for a notebook that has submissions: questions can be added, and none is removed by mistake."""

    remove = Bool(
        False,
        help="Remove questions that somebody has points in; these are kept in the table course_removed.",
    ).tag(config=True)

    def _create_notebook(self, nb: NotebookNode) -> None:
        try:
            notebook = self.gradebook.find_notebook(self.notebook_id, self.assignment_id)
        except MissingEntry:
            notebook = None
        if notebook is not None and notebook.submissions:
            _meta.create_all(self.gradebook.db.get_bind(), checkfirst=True)
            try:
                self._adapt(notebook)
                self.gradebook.db.commit()
            except BaseException:
                self.gradebook.db.rollback()
                raise
        super()._create_notebook(nb)

    def _adapt(self, notebook: Any) -> None:
        """Bring the notebook's cells to the new set, so that nbgrader finds nothing to add or remove."""
        kinds = (
            (notebook.grade_cells, self.new_grade_cells, GradeCell),
            (notebook.solution_cells, self.new_solution_cells, SolutionCell),
            (notebook.task_cells, self.new_task_cells, TaskCell),
        )
        gone = [cell for old, new, _ in kinds for cell in old if cell.name not in new]
        came = [
            (kind, name, info)
            for old, new, kind in kinds
            for name, info in new.items()
            if name not in {cell.name for cell in old}
        ]
        if gone and not self.remove:
            self._refuse(gone, [name for _, name, _ in came])
        for cell in gone:
            self._remove(cell)
        for cell in list(notebook.source_cells):
            if cell.name not in self.new_source_cells:
                self.gradebook.db.delete(cell)
        self.gradebook.db.flush()
        for kind, name, info in came:
            self._add(notebook, kind, name, info)
        self.gradebook.db.flush()
        for name, info in self.new_source_cells.items():
            if name not in {cell.name for cell in notebook.source_cells}:
                self.gradebook.db.add(SourceCell(name=name, notebook=notebook, **info))

    def _refuse(self, gone: list[Any], came: list[str]) -> None:
        """Stop before points would be lost.

        Raises:
            CourseError: if anybody has points or a comment in a question that is to go.
        """
        lost = []
        for name in dict.fromkeys(cell.name for cell in gone):
            # An answer in words is a grade cell and a solution cell of one name.
            work = [_work_of(self.gradebook, cell) for cell in gone if cell.name == name]
            grades, comments = (
                [g for found, _ in work for g in found],
                [c for _, found in work for c in found],
            )
            by_hand = sum(grade.manual_score is not None for grade in grades)
            if grades or comments:
                lost.append(
                    f"{name!r} ({len(grades)} students have points in it, {by_hand} by hand, {len(comments)} comments)"
                )
        if lost:
            renamed = f" If it was renamed to {', '.join(came)}, give it its old name back." if came else ""
            raise CourseError(
                f"{self.notebook_id} has no {', '.join(lost)} any more, and generating it would remove them.{renamed} To remove "
                f"them: classroom release {self.assignment_id} --remove; the points are kept in the gradebook's table course_removed"
            )

    def _remove(self, cell: Any) -> None:
        """Delete a cell with its grades and comments, which are written to the table of removed ones first."""
        db = self.gradebook.db
        rows: dict[str, dict[str, Any]] = {}
        grades = db.query(Grade).filter(Grade.cell_id == cell.id).all()
        comments = db.query(Comment).filter(Comment.cell_id == cell.id).all()
        for grade in grades:
            rows.setdefault(grade.student.id, {}).update(
                auto_score=grade.auto_score, manual_score=grade.manual_score, extra_credit=grade.extra_credit
            )
        for comment in comments:
            rows.setdefault(comment.student.id, {})["manual_comment"] = comment.manual_comment
        for student, values in rows.items():
            if any(value is not None for value in values.values()):
                key = self._key(cell.name) & (REMOVED.c.student == student)
                # An answer in words is a grade cell and a solution cell of one name: one row.
                before = db.execute(select(REMOVED).where(key)).mappings().first() or {}
                db.execute(delete(REMOVED).where(key))
                kept = {
                    name: values.get(name) if values.get(name) is not None else before.get(name)
                    for name in ("auto_score", "manual_score", "extra_credit", "manual_comment")
                }
                db.execute(
                    insert(REMOVED).values(
                        assignment=self.assignment_id,
                        notebook=self.notebook_id,
                        cell=cell.name,
                        student=student,
                        removed=datetime.now(UTC).isoformat(timespec="seconds"),
                        **kept,
                    )
                )
        for one in (*grades, *comments):
            db.delete(one)
        db.flush()
        db.delete(cell)

    def _add(self, notebook: Any, kind: type, name: str, info: dict[str, Any]) -> None:
        """Add a cell, and what each submission needs of it; points that it had before it was removed come back."""
        db = self.gradebook.db
        cell = kind(name=name, notebook=notebook, **info)
        db.add(cell)
        db.flush()
        before = {row.student: row for row in db.execute(select(REMOVED).where(self._key(name)))}
        for submission in notebook.submissions:
            row = before.get(submission.student.id)
            if kind in (GradeCell, TaskCell):
                grade = Grade(cell_id=cell.id, notebook=submission, needs_manual_grade=False)
                if row is not None:
                    grade.auto_score, grade.manual_score, grade.extra_credit = (
                        row.auto_score,
                        row.manual_score,
                        row.extra_credit,
                    )
                db.add(grade)
            if kind in (SolutionCell, TaskCell):
                db.add(
                    Comment(
                        cell_id=cell.id,
                        notebook=submission,
                        manual_comment=row.manual_comment if row is not None else None,
                    )
                )

    def _key(self, cell: str) -> Any:
        return (
            (REMOVED.c.assignment == self.assignment_id)
            & (REMOVED.c.notebook == self.notebook_id)
            & (REMOVED.c.cell == cell)
        )


def _work_of(gradebook: Gradebook, cell: Any) -> tuple[list[Any], list[Any]]:
    """Grades with points, and comments, that hang on a cell."""
    grades = gradebook.db.query(Grade).filter(Grade.cell_id == cell.id).all()
    comments = gradebook.db.query(Comment).filter(Comment.cell_id == cell.id).all()
    return (
        [one for one in grades if one.auto_score is not None or one.manual_score is not None],
        [one for one in comments if one.manual_comment],
    )


@dataclass
class Released:
    """What a release changed.

    Attributes:
        changes: by notebook what is new, gone or different, in sentences.
        outdated: submissions that were graded by other tests and are graded again next.
        above: manual points that are more than a question gives now.
    """

    changes: list[str] = field(default_factory=list)
    outdated: int = 0
    above: list[str] = field(default_factory=list)


def release(course: Path, assignment: str, *, remove: bool = False, db_url: str | None = None) -> Released:
    """Generate an assignment, for the first time or again after a fix; a generation that fails changes nothing.

    Args:
        course: the course's folder.
        assignment: its name.
        remove: remove questions that somebody has points in.
        db_url: the gradebook's database; what nbgrader uses in the course's folder by default.

    Returns:
        What changed since the release before.

    Raises:
        CourseError: if there is no such assignment, generating fails, or points would be lost.
    """
    folder = course / "solutions" / assignment
    if not any(folder.glob("*.py")) and not any(folder.glob("*.ipynb")):
        raise CourseError(f"no assignment {assignment!r} in {course / 'solutions'}")
    for source in sorted(folder.glob("*.py")):
        target = source.with_suffix(".ipynb")
        if not target.exists() or target.stat().st_mtime < source.stat().st_mtime:
            jupytext.write(jupytext.read(source), target)
    released = course / "exercises" / assignment
    before = _state(course, assignment, db_url)
    with tempfile.TemporaryDirectory(prefix="release-") as scratch:
        if released.exists():
            shutil.copytree(released, Path(scratch) / "before")
        options = ["--force"]
        if remove:
            options.append("--GuardedSaveCells.remove=True")
        if db_url:
            options.append(f"--db={db_url}")
        try:
            nbgrader(course, "generate_assignment", assignment, *options)
        except BaseException as error:
            # nbgrader has removed it, and somebody may have lost patience with it.
            if (Path(scratch) / "before").exists():
                shutil.rmtree(released, ignore_errors=True)
                shutil.copytree(Path(scratch) / "before", released)
            if not isinstance(error, CourseError):
                raise
            reason = str(error).rpartition("CourseError: ")[2]
            raise CourseError(reason.partition("\n")[0] if reason != str(error) else reason) from None
    return _compare(before, _state(course, assignment, db_url), course, assignment, db_url)


def _state(course: Path, assignment: str, db_url: str | None) -> dict[str, dict[str, tuple[str, float]]]:
    """Source and points of each cell as the gradebook has them, hidden tests included."""
    url = database(course, db_url)
    if url == f"sqlite:///{(course / 'gradebook.db').resolve()}" and not (course / "gradebook.db").exists():
        return {}  # the first release
    with connect(url) as gradebook:
        try:
            found = gradebook.find_assignment(assignment)
        except MissingEntry:
            return {}
        return {
            notebook.name: {
                cell.name: (
                    cell.source or "",
                    next((grade.max_score for grade in notebook.grade_cells if grade.name == cell.name), 0.0),
                )
                for cell in notebook.source_cells
            }
            for notebook in found.notebooks
        }


def _compare(
    before: dict[str, dict[str, tuple[str, float]]],
    after: dict[str, dict[str, tuple[str, float]]],
    course: Path,
    assignment: str,
    db_url: str | None,
) -> Released:
    from classroom.grading.status import status_rows

    told = Released()
    for notebook in sorted(after):
        old, new = before.get(notebook, {}), after[notebook]
        if not old:
            told.changes.append(f"{notebook}: new, {sum(points for _, points in new.values()):g} points")
            continue
        for name in sorted(old.keys() | new.keys()):
            if name not in new:
                told.changes.append(f"{notebook}: {name} is gone")
            elif name not in old:
                told.changes.append(f"{notebook}: {name} is new, {new[name][1]:g} points")
            else:
                if new[name][1] != old[name][1]:
                    told.changes.append(
                        f"{notebook}: {name} gives {new[name][1]:g} points, not {old[name][1]:g}"
                    )
                if new[name][0] != old[name][0]:
                    told.changes.append(f"{notebook}: {name} reads otherwise")
    with open_gradebook(course, db_url) as gradebook:
        for submission in gradebook.find_assignment(assignment).submissions:
            for notebook in submission.notebooks:
                for grade in notebook.grades:
                    if grade.manual_score is not None and grade.manual_score > grade.cell.max_score:
                        told.above.append(
                            f"{submission.student.id}/{notebook.name}: {grade.manual_score:g} points by hand in "
                            f"{grade.cell.name}, which gives {grade.cell.max_score:g}"
                        )
    told.outdated = len(
        {row["student"] for row in status_rows(course, assignment, db_url) if row["status"] == "outdated"}
    )
    return told


def record_lines(releases: Releases) -> Iterable[str]:
    """The record as lines of text, the newest last."""
    for notebook in sorted(releases.by_notebook):
        for one in releases.by_notebook[notebook]:
            yield f"{notebook}  {one.name}  {one.made}  {one.revision or '-'}  {one.digest[:12]}"

"""Grades as tables: nbgrader's own export with quotes, and files that Canvas and Moodle import.

Canvas's gradebook import (lib/gradebook_importer.rb) wants the columns Student, ID, SIS User ID, SIS Login ID and Section, a
column 'Name (id)' for the assignment and the row 'Points Possible'; it finds a student by ID. Moodle's import of a grading
worksheet (mod/assign/feedback/offline) wants Identifier, Grade and 'Last modified (grade)', and takes 'Feedback comments';
Moodle's gradebook import finds a student by a column of one's choice, such as the address.
"""

import csv
import html
import io
import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from nbgrader.api import Gradebook, MissingEntry
from nbgrader.plugins import CsvExportPlugin
from sqlalchemy import inspect, select

from classroom.collect.roster import Person, Roster, read_csv
from classroom.collect.run import record_of
from classroom.errors import CourseError
from classroom.gradebook import find_assignment, open_gradebook

__all__ = ["Exported", "QuotedCsvExport", "StudentGrade", "class_grades", "export", "safe_cell", "write_csv"]

_FORMULA = re.compile(r"\s*[=+\-@\t\r\uff1d\uff0b\uff0d\uff20]")
# A spreadsheet that expects another separator than the file has begins a cell within the text.
_WITHIN = re.compile(r"([,;\t\r\n][\s\"]*)(?=[=+\-@\uff1d\uff0b\uff0d\uff20])")
_NUMBER = re.compile(r"[+-]?[\d.,]*%?$")


def safe_cell(value: Any) -> Any:
    """A cell that no spreadsheet runs: what starts like a formula, also after a separator in the text, gets an apostrophe before it.

    Args:
        value: what the cell holds; numbers stay numbers.
    """
    if not isinstance(value, str) or _NUMBER.match(value.strip()):
        return value
    marked = _WITHIN.sub(r"\1'", value)
    return f"'{marked}" if _FORMULA.match(value) else marked


def write_csv(
    path: Path, rows: Iterable[Iterable[Any]], delimiter: str = ",", raw: Iterable[int] = ()
) -> None:
    """Write a table, quoted where it has to be, whole or not at all; marked as UTF-8 where a spreadsheet could misread it.

    Args:
        path: the file.
        rows: lines, the first with the columns' names.
        delimiter: between columns.
        raw: columns that stay as they are, since a platform looks them up.
    """
    raw = set(raw)
    text = io.StringIO(newline="")
    writer = csv.writer(text, delimiter=delimiter)
    for row in rows:
        writer.writerow([cell if place in raw else safe_cell(cell) for place, cell in enumerate(row)])
    if not path.name or path.is_dir():
        raise CourseError(f"cannot write {path}: it is a folder; expected a file's name")
    scratch = path.with_name(f"{path.name}.tmp")
    try:
        # Excel takes a file for its own code page unless it starts with the mark.
        encoding = "utf-8" if text.getvalue().isascii() else "utf-8-sig"
        # A folder's name may hold bytes that are no text.
        scratch.write_text(text.getvalue(), encoding=encoding, errors="backslashreplace", newline="")
        scratch.replace(path)
    except OSError as error:
        raise CourseError(f"cannot write {path}: {error.strerror}") from None


class QuotedCsvExport(CsvExportPlugin):
    """What `nbgrader export` writes: nbgrader's columns, quoted, and what became of each submission.

    nbgrader writes 0 for a student who handed in nothing or waits to be graded. Here these have a status and no points.
    """

    def export(self, gradebook: Gradebook) -> None:
        """Write the table.

        Args:
            gradebook: open for reading.
        """
        from classroom.grading.status import has_points

        columns = [
            "assignment",
            "duedate",
            "timestamp",
            "student_id",
            "last_name",
            "first_name",
            "email",
            "raw_score",
            "late_submission_penalty",
            "score",
            "max_score",
            "status",
            "waiting",
        ]
        rows: list[list[Any]] = [columns]
        for assignment in gradebook.assignments:
            if self.assignment and assignment.name not in map(str, self.assignment):
                continue
            statuses = _statuses(gradebook, assignment.name)
            for student in gradebook.students:
                if self.student and student.id not in map(str, self.student):
                    continue
                cells: dict[str, Any] = {
                    "assignment": assignment.name,
                    "duedate": assignment.duedate,
                    "student_id": student.id,
                    "last_name": student.last_name,
                    "first_name": student.first_name,
                    "email": student.email,
                    "max_score": assignment.max_score,
                    "status": "missing",
                }
                try:
                    submission = gradebook.find_submission(assignment.name, student.id)
                except MissingEntry:
                    pass
                else:
                    # Of what nbgrader graded there is no record, and the points tell.
                    told = statuses.get(student.id) or [
                        "graded" if has_points(book) else "not graded" for book in submission.notebooks
                    ]
                    status = _together(told)
                    cells |= {"timestamp": submission.timestamp, "status": status}
                    if not _unfinished(status):
                        penalty = submission.late_submission_penalty
                        cells |= {
                            "raw_score": submission.score,
                            "late_submission_penalty": penalty,
                            "score": max(0.0, submission.score - penalty),
                        }
                    cells |= {
                        "waiting": sum(
                            bool(g.needs_manual_grade) for n in submission.notebooks for g in n.grades
                        ),
                    }
                rows.append(["" if (cell := cells.get(name)) is None else cell for name in columns])
        write_csv(Path(self.to or "grades.csv"), rows)


def _statuses(gradebook: Gradebook, assignment: str) -> dict[str, list[str]]:
    """What `classroom grade` wrote of each student's notebooks; nothing where nbgrader graded."""
    from classroom.grading.store import RECORDS

    if not inspect(gradebook.db.get_bind()).has_table(RECORDS.name):
        return {}
    found: dict[str, list[str]] = {}
    for row in gradebook.db.execute(select(RECORDS).where(RECORDS.c.assignment == assignment)):
        found.setdefault(row.student, []).append(row.status if row.digest else "not graded")
    return found


def _together(statuses: list[str]) -> str:
    """One word for a student's notebooks: the same for all, or the one that needs a look."""
    kinds = set(statuses)
    if len(kinds) == 1:
        return statuses[0]
    return next(
        (f"partly {kind}" for kind in ("not graded", "outdated", "failed", "missing") if kind in kinds),
        "repaired",
    )


def _unfinished(status: str) -> bool:
    """Whether that status gives no points, not even 0."""
    return status == "missing" or status.endswith(("not graded", "outdated"))


@dataclass
class StudentGrade:
    """What a student has reached in an assignment.

    Attributes:
        student: nbgrader's id.
        points: after the penalty; None where there is no grade yet.
        most: points that can be had.
        status: of all notebooks together: 'graded', 'waiting' for a person, 'not graded', 'missing', 'failed' ...
        comment: what the student should know besides the number, one line.
    """

    student: str
    points: float | None
    most: float
    status: str
    comment: str


def class_grades(course: Path, assignment: str, db_url: str | None = None) -> list[StudentGrade]:
    """Everybody's grade. Only a grade that is finished has points: an answer that waits leaves them open.

    Args:
        course: the course's folder.
        assignment: its name.
        db_url: the gradebook's database; what nbgrader uses in the course's folder by default.

    Raises:
        CourseError: if the gradebook does not hold the assignment.
    """
    from classroom.grading.status import status_rows
    from classroom.late import apply_penalties

    with open_gradebook(course, db_url) as gradebook:
        most = find_assignment(gradebook, assignment).max_score
        apply_penalties(gradebook, course, assignment)
    by_student: dict[str, list[dict[str, Any]]] = {}
    for row in status_rows(course, assignment, db_url):
        by_student.setdefault(row["student"], []).append(row)
    grades = []
    for student, rows in by_student.items():
        status = _together([row["status"] for row in rows])
        waiting = sum(row["waiting"] for row in rows)
        points: float | None = None
        if _unfinished(status):
            comment = ""
        elif waiting:
            status, comment = "waiting", ""
        else:
            points = sum(float(row["points"] or 0) - float(row["penalty"] or 0) for row in rows)
            comment = _comment(rows)
        grades.append(StudentGrade(student, points, most, status, comment))
    return grades


def _comment(rows: list[dict[str, Any]]) -> str:
    parts = []
    for row in rows:
        if row["status"] in ("failed", "missing"):
            part = f"{row['notebook']}: {row['notes'] or row['status']}"
        else:
            part = f"{row['notebook']}: {row['points']:g} of {row['most']:g}"
        if row["status"] == "repaired":
            part += " (repaired before it was graded, see the feedback)"
        if row["penalty"]:
            part += f", {row['penalty']:g} taken off for {row['late']} of lateness"
        parts.append(part)
    return "; ".join(parts)


@dataclass
class Exported:
    """What an export did.

    Attributes:
        written: students whose points stand in the file.
        left: students whose cell was left as it was, and why.
        notes: what else a person should know.
    """

    written: list[str] = field(default_factory=list)
    left: list[tuple[str, str]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


def export(
    course: Path,
    assignment: str,
    to: str,
    out: Path,
    template: Path | None = None,
    *,
    column: str | None = None,
    scale: bool = False,
    missing_zero: bool = False,
    db_url: str | None = None,
) -> Exported:
    """Write a file that a platform imports.

    A student whose grade is not finished keeps what the template has, or an empty cell, which neither platform takes for a 0. A
    submission that could not be read is a 0; in Moodle the comment says why.

    Args:
        course: the course's folder.
        assignment: its name.
        to: 'moodle' or 'canvas'.
        out: the file to write.
        template: Moodle's grading worksheet of this assignment, or Canvas's gradebook export.
        column: Canvas's name of the assignment, 'Name (id)'; the one column of the template that has the assignment's name
            by default.
        scale: bring points to the platform's own maximum, where that is another.
        missing_zero: write 0 for those who handed in nothing.
        db_url: the gradebook's database; what nbgrader uses in the course's folder by default.

    Raises:
        CourseError: if the template is not the platform's, or its maximum is another and `scale` is not set.
    """
    if to not in ("moodle", "canvas"):
        raise CourseError(f"{to!r} is no platform that is known; expected 'moodle' or 'canvas'")
    grades = {grade.student: grade for grade in class_grades(course, assignment, db_url)}
    if missing_zero:
        for grade in grades.values():
            if grade.status == "missing":
                grade.points, grade.comment = 0.0, "nothing was handed in"
    roster = Roster.read(course / "students.csv")
    numbers = record_of(course, assignment)["numbers"]
    told = Exported()
    writer = _Canvas if to == "canvas" else _Moodle
    writer(assignment, grades, roster, numbers, told, scale).write(out, template, column)
    for grade in grades.values():
        if grade.points is None:
            told.left.append((grade.student, grade.status))
        elif grade.student not in told.written:
            told.notes.append(f"{grade.student} has a grade and no line in {template}")
        if grade.points is not None and ("failed" in grade.status or "missing" in grade.status):
            told.notes.append(f"{grade.student}: {grade.status}, {grade.points:g} points: {grade.comment}")
    return told


class _Platform:
    """What both exports share: finding students, and the number that is written."""

    def __init__(
        self,
        assignment: str,
        grades: dict[str, StudentGrade],
        roster: Roster,
        numbers: dict[str, str],
        told: Exported,
        scale: bool,
    ) -> None:
        self.assignment, self.grades, self.roster, self.numbers = assignment, grades, roster, numbers
        self.told, self.scale = told, scale

    def write(self, out: Path, template: Path | None, column: str | None) -> None:
        raise NotImplementedError

    def student(self, platform: str, number: str, keys: list[str], name: str) -> str | None:
        """The student whom a line of a template is about."""
        if (known := self.numbers.get(f"{platform} {number}")) is not None:
            return known
        people = self.roster.people.values()
        tests = [
            lambda p: platform == "canvas" and number and p.lms_user_id == number,
            lambda p: any(key and key.casefold() in (p.id.casefold(), p.email.casefold()) for key in keys),
            lambda p: (
                name
                and name.casefold() in (p.full_name.casefold(), f"{p.last_name}, {p.first_name}".casefold())
            ),
        ]
        for test in tests:
            found = [person for person in people if test(person)]
            if len(found) == 1:
                return found[0].id
            if found:
                return None
        # A class that was not collected here: the gradebook's ids are the platform's own.
        return next((key for key in (*keys, number) if key in self.grades), None)

    def number(self, grade: StudentGrade, most: str, where: Path | str) -> str:
        """A grade's points, in the platform's own maximum."""
        assert grade.points is not None
        points = grade.points
        own = _float(most)
        if own is not None and abs(own - grade.most) > 1e-6:
            if not self.scale:
                raise CourseError(
                    f"{where} counts {own:g} points for the assignment, the gradebook {grade.most:g}; set the same on the "
                    "platform, or add --scale to bring the points to its own"
                )
            points = points * own / grade.most
        return f"{points:.2f}".rstrip("0").rstrip(".")


def _float(text: str) -> float | None:
    try:
        return float(text.strip().replace(",", "."))
    except ValueError:
        return None


def _place(header: list[str], *names: str) -> int | None:
    lower = [name.strip().casefold() for name in header]
    return next((lower.index(name.casefold()) for name in names if name.casefold() in lower), None)


class _Moodle(_Platform):
    def write(self, out: Path, template: Path | None, column: str | None) -> None:
        if template is None:
            self._gradebook(out)
            return
        (header, *lines), delimiter = read_csv(template)
        who, grade_at = _place(header, "Identifier"), _place(header, "Grade")
        if who is None or grade_at is None or _place(header, "Last modified (grade)") is None:
            raise CourseError(
                f"{template} has the columns {', '.join(header)}; expected Moodle's grading worksheet, downloaded in English, "
                "with Identifier, Grade and Last modified (grade)"
            )
        comment_at, most_at = _place(header, "Feedback comments"), _place(header, "Maximum Grade")
        open_at = _place(header, "Grade can be changed")
        keys_at = [
            at
            for name in ("Email address", "ID number", "Username")
            if (at := _place(header, name)) is not None
        ]
        name_at = _place(header, "Full name")
        if comment_at is None:
            self.told.notes.append(
                f"{template} has no column 'Feedback comments', so no comments are written"
            )
        for line in lines:
            line += [""] * (len(header) - len(line))
            number = re.sub(r"^\D*", "", line[who])
            name = line[name_at] if name_at is not None else ""
            student = self.student("moodle", number, [line[at] for at in keys_at], name)
            grade = self.grades.get(student or "")
            if grade is None or grade.points is None:
                continue
            if open_at is not None and line[open_at].strip().casefold() == "no":
                self.told.notes.append(f"{grade.student}: Moodle says that this grade cannot be changed")
            line[grade_at] = self.number(grade, line[most_at] if most_at is not None else "", template)
            if comment_at is not None:
                line[comment_at] = safe_cell(html.escape(grade.comment, quote=False))
            self.told.written.append(grade.student)
        # What a teacher has written already goes back as it was: Moodle would take an apostrophe for a change.
        raw = [who, grade_at] if comment_at is None else [who, grade_at, comment_at]
        write_csv(out, [header, *lines], delimiter, raw=raw)

    def _gradebook(self, out: Path) -> None:
        """For Grades, Import, CSV file, where a teacher says which column is which."""
        rows: list[list[Any]] = [["Full name", "ID number", "Email address", self.assignment, "Feedback"]]
        for grade in self.grades.values():
            if grade.points is None:
                continue
            person = self.roster.people.get(grade.student, Person(grade.student))
            rows.append(
                [
                    person.full_name or person.id,
                    person.id,
                    person.email,
                    self.number(grade, "", out),
                    html.escape(grade.comment, quote=False),
                ]
            )
            self.told.written.append(grade.student)
        write_csv(out, rows, raw=[1, 2, 3])


class _Canvas(_Platform):
    known = (
        "Student",
        "ID",
        "SIS User ID",
        "SIS Login ID",
        "Integration ID",
        "Root Account",
        "Section",
        "LastName",
        "FirstName",
    )

    def write(self, out: Path, template: Path | None, column: str | None) -> None:
        if template is None:
            self._own(out, column)
            return
        (header, *lines), delimiter = read_csv(template)
        id_at = _place(header, "ID")
        if id_at is None or not {"Student", "LastName"} & set(header) or "Section" not in header:
            raise CourseError(
                f"{template} has the columns {', '.join(header[:8])}; expected Canvas's gradebook export with Student, ID and Section"
            )
        ours = self._column(header, template, column)
        # Other assignments and columns stay out: importing their old values would undo what has changed since.
        kept = [at for at, name in enumerate(header) if name in self.known]
        keys_at = [at for name in ("SIS Login ID", "SIS User ID") if (at := _place(header, name)) is not None]
        most = ""
        rows = [[*(header[at] for at in kept), header[ours]]]
        for line in lines:
            line += [""] * (len(header) - len(line))
            if not line[id_at].strip() and "Points Possible" in line[0]:
                most = line[ours]
            elif line[id_at].strip():
                name = line[0] if header[0] == "Student" else f"{line[0]}, {line[1]}"
                student = self.student("canvas", line[id_at].strip(), [line[at] for at in keys_at], name)
                grade = self.grades.get(student or "")
                if grade is not None and grade.points is not None:
                    line[ours] = self.number(grade, most, template)
                    self.told.written.append(grade.student)
            rows.append([*(line[at] for at in kept), line[ours]])
        write_csv(out, rows, delimiter, raw=[kept.index(id_at), len(kept)])

    def _column(self, header: list[str], template: Path, column: str | None) -> int:
        if column is not None:
            if column not in header:
                raise CourseError(f"{template} has no column {column!r}; it has {', '.join(header)}")
            return header.index(column)
        with_id = [at for at, name in enumerate(header) if re.search(r" \(\d+\)$", name)]
        found = [at for at in with_id if self.assignment.casefold() in header[at].casefold()]
        if len(found) != 1:
            raise CourseError(
                f"{template} has {len(found)} columns with {self.assignment!r} in their names; say which with --column: "
                + ", ".join(repr(header[at]) for at in with_id)
            )
        return found[0]

    def _own(self, out: Path, column: str | None) -> None:
        """Without Canvas's own table: its numbers from the class's list."""
        if column is None:
            self.told.notes.append(
                f"without --template or --column 'Name (id)' Canvas takes the column for a new assignment unless it has one "
                f"called {self.assignment!r}"
            )
        most = next((grade.most for grade in self.grades.values()), 0)
        rows: list[list[Any]] = [
            ["Student", "ID", "SIS User ID", "SIS Login ID", "Section", column or self.assignment],
            ["    Points Possible", "", "", "", "", f"{most:g}"],
        ]
        for grade in self.grades.values():
            person = self.roster.people.get(grade.student, Person(grade.student))
            if grade.points is None:
                continue
            if not person.lms_user_id:
                self.told.notes.append(
                    f"{grade.student} has no Canvas id in students.csv, and is looked up by name"
                )
            name = (
                f"{person.last_name}, {person.first_name}"
                if person.last_name
                else person.full_name or person.id
            )
            rows.append([name, person.lms_user_id, "", "", "", self.number(grade, "", out)])
            self.told.written.append(grade.student)
        write_csv(out, rows, raw=[1, 5])

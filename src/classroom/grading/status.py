"""What became of each submission, so that an earned 0 can be told from one that was never graded."""

from pathlib import Path
from typing import Any

from nbgrader.api import MissingEntry

from classroom.errors import CourseError
from classroom.gradebook import database
from classroom.grading.run import students_of
from classroom.grading.store import Store

__all__ = ["status_rows"]


def status_rows(course: Path, assignment: str, db_url: str | None = None) -> list[dict[str, Any]]:
    """A row for each student and notebook: status, points, points that can be had, answers that wait, notes.

    A student who handed in but was not graded yet is 'not graded'; one in the gradebook who handed in nothing is 'missing'.

    Args:
        course: the course's folder.
        assignment: its name.
        db_url: the gradebook's database; what nbgrader uses in the course's folder by default.

    Raises:
        CourseError: if the gradebook is not there or holds no such assignment.
    """
    rows: list[dict[str, Any]] = []
    with Store(database(course, db_url)) as store:
        records = store.records(assignment)
        try:
            found = store.gradebook.find_assignment(assignment)
        except MissingEntry:
            raise CourseError(f"the gradebook holds no assignment {assignment!r}") from None
        notebooks = sorted(notebook.name for notebook in found.notebooks)
        submissions = {submission.student.id: submission for submission in found.submissions}
        handed_in = set(students_of(course, assignment))
        everybody = handed_in | submissions.keys() | {student.id for student in store.gradebook.students}
        for student in sorted(everybody):
            graded = (
                {book.name: book for book in submissions[student].notebooks} if student in submissions else {}
            )
            for name in notebooks:
                record, book = records.get((student, name)), graded.get(name)
                status = record.status if record else "not graded" if student in handed_in else "missing"
                waiting = sum(bool(grade.needs_manual_grade) for grade in book.grades) if book else 0
                rows.append(
                    {
                        "student": student,
                        "notebook": name,
                        "status": status,
                        "points": "" if record is None or book is None else round(book.score, 2),
                        "most": "" if book is None else book.max_score,
                        "waiting": waiting,
                        "notes": "; ".join(record.notes) if record else "",
                    }
                )
    return rows

"""What became of each submission, so that an earned 0 can be told from one that was never graded."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from classroom.collect.run import record_of
from classroom.errors import CourseError
from classroom.gradebook import database, find_assignment
from classroom.grading.run import checked, students_of, tasks_of
from classroom.grading.store import Store, masters
from classroom.grading.work import GRADED, MISSING, NOT_GRADED, Task
from classroom.late import late_text
from classroom.releases import Releases

__all__ = ["has_points", "status_rows"]


def has_points(book: Any) -> bool:
    """Whether tests gave a notebook points; so it tells what nbgrader's own command graded, which leaves no record of ours.

    Args:
        book: nbgrader's row of a submitted notebook; None if there is none.
    """
    return book is not None and any(grade.auto_score is not None for grade in book.grades)


def status_rows(course: Path, assignment: str, db_url: str | None = None) -> list[dict[str, Any]]:
    """A row for each student and notebook: status, points, points that can be had, answers that wait, notes.

    A student who handed in but was not graded yet is 'not graded'; one in the gradebook who handed in nothing is 'missing'. A
    notebook that changed since it was graded, or whose tests did, is 'outdated'; of one that nbgrader's own command or button
    graded this cannot be told. Lateness is 'yes' where the platform says so
    and nothing says by how much.

    Args:
        course: the course's folder.
        assignment: its name.
        db_url: the gradebook's database; what nbgrader uses in the course's folder by default.

    Raises:
        CourseError: if the gradebook is not there or holds no such assignment, or a folder's name is no student's id.
    """
    rows: list[dict[str, Any]] = []
    with Store(database(course, db_url)) as store:
        records = store.records(assignment)
        found = find_assignment(store.gradebook, assignment)
        notebooks = sorted(notebook.name for notebook in found.notebooks)
        submissions = {submission.student.id: submission for submission in found.submissions}
        record = record_of(course, assignment)["students"]
        releases = Releases(store.gradebook, assignment)

        tasks_now = _tasks_now(course, assignment, store)
        handed_in = set(checked(students_of(course, assignment)))
        everybody = handed_in | submissions.keys() | {student.id for student in store.gradebook.students}
        for student in sorted(everybody):
            submission = submissions.get(student)
            late = late_text(submission.total_seconds_late) if submission else ""
            if not late and any(
                attempt["late"] and not attempt["submitted"] for attempt in _counting(record, student)
            ):
                late = "yes"  # the platform says so, and not by how much
            graded = (
                {book.name: book for book in submissions[student].notebooks} if student in submissions else {}
            )
            tasks = tasks_now(student)
            for name in notebooks:
                done, book, task = records.get((student, name)), graded.get(name), tasks.get(name)
                if done:
                    status = done.status
                elif has_points(book):
                    status = GRADED
                else:
                    status = NOT_GRADED if student in handed_in else MISSING
                if done and done.digest and task and done.digest != task.digest:
                    status = "outdated"
                waiting = sum(bool(grade.needs_manual_grade) for grade in book.grades) if book else 0
                rows.append(
                    {
                        "student": student,
                        "notebook": name,
                        "status": status,
                        "points": round(book.score, 2)
                        if book and (done or status == GRADED) and status != NOT_GRADED
                        else "",
                        "most": "" if book is None else book.max_score,
                        "waiting": waiting,
                        "release": releases.answered(name, task.content)
                        if task and task.content is not None
                        else "",
                        "late": late,
                        "penalty": round(book.late_submission_penalty or 0, 2) or "" if book else "",
                        "notes": "; ".join(done.notes) if done else "",
                    }
                )
    return rows


def _tasks_now(course: Path, assignment: str, store: Store) -> Callable[[str], dict[str, Task]]:
    """A function that gives what there is to grade of a student now, by notebook; nothing where that cannot be told."""
    try:
        found = masters(store.gradebook, assignment, course / "exercises" / assignment)
    except CourseError:
        return lambda student: {}
    return lambda student: {task.master.name: task for task in tasks_of(course, assignment, student, found)}


def _counting(record: dict[str, Any], student: str) -> list[dict[str, Any]]:
    """The attempts that give a student's notebooks."""
    mine = record.get(student, {"attempts": [], "current": {}})
    folders = {place.partition("/")[0] for place in mine["current"].values()}
    return [attempt for attempt in mine["attempts"] if attempt["folder"] in folders]

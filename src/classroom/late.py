"""Lateness: the policy that nbgrader asks for a penalty, due dates, and the penalties of a class."""

import math
from collections.abc import Iterable
from datetime import UTC, datetime, tzinfo
from pathlib import Path

import dateutil.parser
from nbgrader.api import Gradebook
from nbgrader.plugins import LateSubmissionPlugin
from nbgrader.preprocessors import AssignLatePenalties
from nbgrader.utils import parse_utc
from traitlets import Float

from classroom.course import configuration
from classroom.errors import CourseError
from classroom.gradebook import find_assignment

__all__ = ["LatePolicy", "apply_penalties", "due_date", "late_text", "set_due_date"]

DAY = 86400


class LatePolicy(LateSubmissionPlugin):
    """A share of the points for each day that has begun, after some minutes of grace, up to a share that is the most.

    By default the share is 0: lateness is shown and costs nothing. nbgrader's own `penalty_method = "zero"` works as there.
    """

    grace_minutes = Float(10, min=0, help="Minutes after the due date that do not count as late.").tag(
        config=True
    )
    share_per_day = Float(
        0, min=0, max=1, help="Share of the points reached that each day costs, from its first minute on."
    ).tag(config=True)
    most = Float(1, min=0, max=1, help="Share of the points reached that lateness costs at most.").tag(
        config=True
    )

    def late_submission_penalty(
        self, student_id: str, score: float, total_seconds_late: float
    ) -> float | None:
        """What nbgrader takes off a notebook's points.

        Args:
            student_id: whose it is; the same for everybody.
            score: points reached in the notebook.
            total_seconds_late: seconds after the due date.

        Returns:
            Points to take off; None if there is no penalty.
        """
        over = total_seconds_late - 60 * self.grace_minutes
        if over <= 0:
            return None
        if self.penalty_method != "none":
            return super().late_submission_penalty(student_id, score, total_seconds_late)
        if self.share_per_day == 0:
            return None
        # Grace is not given once more to somebody who is past it.
        days = math.ceil(total_seconds_late / DAY)
        return score * min(self.most, days * self.share_per_day)


def apply_penalties(
    gradebook: Gradebook, course: Path, assignment: str, students: Iterable[str] | None = None
) -> None:
    """Bring penalties up to date: with due dates, times and points as they are now, by the policy that nbgrader is set to.

    nbgrader sets a penalty when it runs a notebook's tests, from the points of that moment; a due date that is moved, or points
    that a person gives later, would not reach it.

    Args:
        gradebook: open for writing; it is committed.
        course: the course's folder, with the configuration and `submitted/`.
        assignment: its name.
        students: these alone; all by default.
    """
    assigning = AssignLatePenalties(config=configuration(course))
    assigning.init_plugin()
    chosen = None if students is None else set(students)
    for submission in gradebook.find_assignment(assignment).submissions:
        student = submission.student.id
        if chosen is not None and student not in chosen:
            continue
        folder = course / "submitted" / student / assignment
        if folder.is_dir():
            submission.timestamp = _handed_in(folder)
        for notebook in submission.notebooks:
            notebook.late_submission_penalty = None
            if submission.total_seconds_late > 0:
                points = sum(
                    (grade.auto_score or 0.0 if grade.manual_score is None else grade.manual_score)
                    + (grade.extra_credit or 0.0)
                    for grade in notebook.grades
                )
                penalty = assigning.plugin_inst.late_submission_penalty(
                    student, points, submission.total_seconds_late
                )
                if penalty is not None:
                    notebook.late_submission_penalty = min(max(penalty, 0.0), points)
    gradebook.db.commit()


def _handed_in(folder: Path) -> datetime | None:
    try:
        return parse_utc((folder / "timestamp.txt").read_text(encoding="utf-8").strip())
    except (OSError, ValueError):
        return None


def late_text(seconds: float) -> str:
    """A lateness for people: '2 d 3 h', '40 min', nothing if there is none."""
    if seconds <= 0:
        return ""
    days, rest = divmod(int(seconds), DAY)
    hours, minutes = rest // 3600, rest % 3600 // 60
    if days:
        return f"{days} d {hours} h" if hours else f"{days} d"
    return f"{hours} h {minutes} min" if hours else f"{minutes} min" if minutes else f"{int(seconds)} s"


def set_due_date(
    gradebook: Gradebook, assignment: str, when: str | None, zone: tzinfo | None = None
) -> datetime | None:
    """Set an assignment's due date, as nbgrader keeps it: UTC without a zone.

    Args:
        gradebook: open for writing; it is committed.
        assignment: its name.
        when: the date and time; None takes the due date away.
        zone: the time zone that it is in, if it does not say; this machine's by default.

    Raises:
        CourseError: if there is no such assignment, or it is no date with a time.
    """
    found = find_assignment(gradebook, assignment)
    moment: datetime | None = None
    if when is not None:
        try:
            read = dateutil.parser.isoparse(when.strip().replace(" ", "T", 1))
        except ValueError:
            raise CourseError(f"{when!r} is no due date; expected one like '2026-03-01 23:59'") from None
        if len(when.strip()) <= 10:
            raise CourseError(f"{when!r} has no time of day; expected one like '2026-03-01 23:59'")
        try:
            if read.tzinfo is None:
                read = read.replace(tzinfo=zone) if zone else read.astimezone()
            moment = read.astimezone(UTC).replace(tzinfo=None)
        except (ValueError, OverflowError):
            raise CourseError(f"{when!r} is out of range; expected a date like '2026-03-01 23:59'") from None
    found.duedate = moment
    gradebook.db.commit()
    return moment


def due_date(gradebook: Gradebook, assignment: str) -> datetime | None:
    """An assignment's due date, UTC; None if it has none.

    Raises:
        CourseError: if there is no such assignment.
    """
    return find_assignment(gradebook, assignment).duedate

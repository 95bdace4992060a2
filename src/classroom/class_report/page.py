"""The report as a page: one HTML file that an instructor opens from disk."""

import math
import statistics
from pathlib import Path
from typing import Any

from classroom.class_report.numbers import (
    FEWEST,
    SLOW_MORE,
    SLOW_TIMES,
    ClassNumbers,
    Question,
    class_numbers,
)
from classroom.grading.work import FAILED, GRADED, MISSING, NOT_GRADED, REPAIRED
from classroom.pages import bins, nice_edges, render

__all__ = ["report_page", "write_report"]

SECTIONS = [
    ("todo", "What needs you"),
    ("scores", "Scores"),
    ("questions", "Questions"),
    ("mistakes", "Misconceptions"),
    ("time", "Time of grading"),
    ("students", "Students"),
]

# What makes a question worth a look.
HARD, EASY, FLAT = 0.4, 0.95, 0.1


def write_report(course: Path, assignment: str, out: Path, db_url: str | None = None) -> ClassNumbers:
    """Write the page about an assignment; gives the numbers on it.

    Args:
        course: the course's folder.
        assignment: its name.
        out: the file to write; its folder is made.
        db_url: the gradebook's database; `gradebook.db` in the course's folder by default.

    Raises:
        CourseError: if there is no gradebook, or it does not hold the assignment.
    """
    numbers = class_numbers(course, assignment, db_url)
    out.parent.mkdir(parents=True, exist_ok=True)
    out.write_text(report_page(numbers), encoding="utf-8")
    return numbers


def report_page(numbers: ClassNumbers) -> str:
    """The page as text: the same for the same numbers, to the byte."""
    books = list(dict.fromkeys(question.notebook for question in numbers.questions))
    shares = [100 * points / numbers.total_most for points in numbers.totals.values() if numbers.total_most]
    times = _times(numbers)
    edges = nice_edges(max(times, default=0.0))
    return render(
        "report.html",
        numbers=numbers,
        books=books,
        sections=SECTIONS,
        cards=_cards(numbers),
        waiting=[question for question in numbers.questions if question.waiting],
        odd=[one for one in numbers.submissions if one.status != GRADED or one.slow],
        slow_times=SLOW_TIMES,
        slow_more=SLOW_MORE,
        score_bins=bins([min(max(share, 0.0), 100.0) for share in shares], range(0, 101, 10), " %"),
        score_text=_score_text(shares),
        summary=_summary(list(numbers.totals.values())),
        fewest=FEWEST,
        questions=[(question, _remarks(question)) for question in numbers.questions],
        graded_students=max(len({one.student for one in numbers.submissions if one.counts}), 1),
        failures=[
            (found, first, found.message[:2000] if rest or len(first) > 160 else "")
            for found in numbers.failures
            for first, _, rest in [found.message.partition("\n")]
        ],
        time_bins=bins(times, edges, " s"),
        time_last=f"{edges[-1]:g}",
        time_text=_time_text(times),
        students=_students(numbers),
    )


def _cards(numbers: ClassNumbers) -> list[tuple[int, str, bool]]:
    """Counts for the top of the page: the number, what it counts, and whether it asks for attention."""
    return [
        (numbers.count(GRADED), "notebooks graded", False),
        (numbers.count(REPAIRED), "repaired and graded", False),
        (numbers.waiting, "answers wait for you", True),
        (numbers.count(FAILED), "could not be graded", True),
        (numbers.count(MISSING), "not handed in", True),
        (numbers.count(NOT_GRADED), "handed in, not graded yet", True),
        (sum(one.slow for one in numbers.submissions), "slow", True),
    ]


def _summary(totals: list[float]) -> list[tuple[str, float]]:
    """Mean, median, quartiles and extremes of the totals."""
    if not totals:
        return []
    rows = [("highest", max(totals))]
    if len(totals) > 1:
        low, _, high = statistics.quantiles(totals, n=4, method="inclusive")
        rows += [
            ("upper quartile", high),
            ("median", statistics.median(totals)),
            ("lower quartile", low),
        ]
    return [*rows, ("lowest", min(totals)), ("mean", statistics.fmean(totals))]


def _score_text(shares: list[float]) -> str:
    """The histogram in a sentence."""
    if not shares:
        return ""
    return (
        f"Scores of {_counted(len(shares), 'student')} from {min(shares):.0f} % to {max(shares):.0f} %, "
        f"half of them above {statistics.median(shares):.0f} %. A bar holds its lower edge, the last also 100 %."
    )


def _time_text(times: list[float]) -> str:
    """The histogram in a sentence."""
    if not times:
        return ""
    return (
        f"Grading took {math.fsum(times):.0f} s of work for {_counted(len(times), 'submission')}: "
        f"{statistics.median(times):.1f} s in the median, {max(times):.1f} s for the longest."
    )


def _counted(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"


def _remarks(question: Question) -> list[str]:
    """What about a question is worth a look."""
    remarks = []
    if question.mean is not None and len(question.shares) >= FEWEST:
        if question.mean < HARD:
            remarks.append("hard")
        elif question.mean > EASY:
            remarks.append("easy")
        if question.discrimination.r is not None and question.discrimination.r < FLAT:
            remarks.append("does not tell students apart")
    if question.waiting:
        remarks.append(f"{_counted(question.waiting, 'answer')} to read")
    return remarks


def _times(numbers: ClassNumbers) -> list[float]:
    """Seconds of each student whose notebooks have a time."""
    found: dict[str, float] = {}
    for one in numbers.submissions:
        if one.seconds is not None:
            found[one.student] = found.get(one.student, 0.0) + one.seconds
    return list(found.values())


def _students(numbers: ClassNumbers) -> list[dict[str, Any]]:
    """A row for each student."""
    table = []
    most = math.fsum(question.most for question in numbers.questions)
    for student in numbers.students:
        rows = [one for one in numbers.submissions if one.student == student]
        seconds = [one.seconds for one in rows if one.seconds is not None]
        points = [one.points for one in rows if one.points is not None]
        table.append(
            {
                "name": student,
                "rows": rows,
                "points": math.fsum(points) if points else None,
                "most": most,
                "waiting": sum(one.waiting for one in rows),
                "seconds": math.fsum(seconds) if seconds else None,
            }
        )
    return table

"""What more workers would give: a model of a class's grading with few terms, each of them measured.

A worker grades one notebook at a time, in `worker` seconds, and workers do not wait for one another. One grader reads the
submissions, sends them out, takes the results and writes them down, in `serial` seconds a notebook, whatever the number of
workers. So with N workers

    notebooks a second = min(N / worker, 1 / serial)
    seconds for n notebooks = start + worker + (n - 1) / (notebooks a second)

where `start` is what passes before the first worker begins, and the first notebook has to go through a whole worker. More
than N = worker / serial workers wait for the grader. The model knows no network: add the time that a submission and its
result take to cross it to `serial` where one link carries all of them.
"""

import contextlib
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from classroom.errors import CourseError
from classroom.grading.work import GRADED, Result, Task

__all__ = ["Cluster", "Line", "at_once", "fit", "serial_seconds"]


@dataclass(frozen=True)
class Line:
    """Seconds by the number of submissions: `start + each * n`.

    Attributes:
        start: seconds that a run takes before and after its submissions.
        each: seconds a submission.
        off: largest distance of a measurement from the line, in seconds.
    """

    start: float
    each: float
    off: float


def fit(sizes: Sequence[int], seconds: Sequence[float]) -> Line:
    """The line through measurements, by least squares.

    Args:
        sizes: numbers of submissions.
        seconds: what each run took.

    Raises:
        CourseError: if there are fewer than two sizes, or not as many times.
    """
    if len(set(sizes)) < 2 or len(sizes) != len(seconds):
        raise CourseError(
            f"{len(sizes)} sizes and {len(seconds)} times came; expected two sizes or more, each with its time"
        )
    n, total, rest = len(sizes), sum(sizes), sum(seconds)
    squares = sum(size * size for size in sizes) - total * total / n
    each = (sum(a * b for a, b in zip(sizes, seconds, strict=True)) - total * rest / n) / squares
    start = (rest - each * total) / n
    off = max(abs(b - start - each * a) for a, b in zip(sizes, seconds, strict=True))
    return Line(start, each, off)


@dataclass(frozen=True)
class Cluster:
    """The terms of the model, in seconds.

    Attributes:
        start: before the first worker begins.
        worker: one notebook in one worker.
        serial: what the grader itself does for one notebook.
    """

    start: float
    worker: float
    serial: float

    def rate(self, workers: int) -> float:
        """Notebooks a second with so many workers.

        Raises:
            CourseError: if there is none.
        """
        if workers < 1:
            raise CourseError(f"{workers} workers came; expected at least 1")
        return min(workers / self.worker, 1 / self.serial)

    def seconds(self, notebooks: int, workers: int) -> float:
        """Seconds that a class takes."""
        return self.start + self.worker + (notebooks - 1) / self.rate(workers)

    @property
    def most_workers(self) -> float:
        """Workers that one grader keeps busy; more of them wait."""
        return self.worker / self.serial


def at_once(task: Task) -> Result:
    """A worker's answer without its work: what a run still takes with it is the grader's own."""
    content = (task.content or b"").decode("utf-8", errors="replace")
    return Result(task.student, task.master.name, task.digest, GRADED, executed=content)


def serial_seconds(course: Path, assignment: str, students: Sequence[str]) -> tuple[float, float]:
    """Seconds that the grader itself takes for a submission, and how much of that is writing.

    Points are overwritten: use a copy of a course.

    Args:
        course: the course's folder.
        assignment: its name, generated, with one notebook.
        students: who has handed in.
    """
    from classroom.grading import run

    writing, ends = 0.0, []

    @contextlib.contextmanager
    def replaced() -> Iterator[None]:
        work, write = run.grade_one, run.write

        def timed(*arguments: object, **keywords: object) -> None:
            nonlocal writing
            began = time.perf_counter()
            write(*arguments, **keywords)  # type: ignore[arg-type]
            ends.append(time.perf_counter())
            writing += ends[-1] - began

        run.grade_one, run.write = at_once, timed
        try:
            yield
        finally:
            run.grade_one, run.write = work, write

    with replaced():
        run.grade_class(course, assignment, students, workers=1, again=True, progress=False)
    # From the first that was written on: the cluster's start is no part of it.
    return (ends[-1] - ends[0]) / (len(ends) - 1), writing / len(ends)

"""What a worker does: one notebook of one student, from bytes to points. It reads no disk of the grader's and no gradebook."""

import asyncio
import contextvars
import functools
import hashlib
import time
import traceback
from dataclasses import dataclass, field
from pathlib import Path

import nbformat
from nbformat import NotebookNode
from nbgrader import utils

import refcells
from classroom.grading.log import step
from classroom.grading.repair import Unreadable, repair

__all__ = [
    "FAILED",
    "GRADED",
    "MISSING",
    "NOT_GRADED",
    "REPAIRED",
    "Master",
    "Result",
    "Task",
    "grade_one",
    "not_graded",
]

GRADED, REPAIRED, FAILED, MISSING = "graded", "repaired", "failed", "missing"
NOT_GRADED = "not graded"


@functools.cache
def judges() -> str:
    """A hash of what test cells call: the reference cells, their cases and tolerances."""
    package = Path(refcells.__file__).parent
    sha = hashlib.sha256()
    for path in sorted([*package.glob("*.py"), *(package / "autotest").rglob("*.py")]):
        sha.update(path.name.encode() + b"\0" + path.read_bytes() + b"\0")
    return sha.hexdigest()


@functools.cache
def grader() -> str:
    """A hash of what grades: this package."""
    package = Path(__file__).parents[1]
    sha = hashlib.sha256()
    for path in sorted(package.rglob("*.py")):
        sha.update(path.relative_to(package).as_posix().encode() + b"\0" + path.read_bytes() + b"\0")
    return sha.hexdigest()


@dataclass(frozen=True)
class Master:
    """One notebook of an assignment as the grader needs it.

    Attributes:
        name: the notebook's name.
        content: the notebook with its hidden tests, as JSON.
        judges: a hash of what the tests call, as the grader has it.
    """

    name: str
    content: str
    judges: str = field(default_factory=judges)

    @property
    def digest(self) -> str:
        """A hash that changes when a test, what it calls, a point or the wording changes."""
        return hashlib.sha256(f"{self.judges}{self.content}".encode()).hexdigest()[:16]


@dataclass(frozen=True)
class Task:
    """One notebook of one student.

    Attributes:
        student: the student's id.
        master: the course's notebook.
        content: the file as it came; None if there is none.
        timeout: seconds that a cell may take.
        file: the file's name, where that is not the notebook's.
        grader: a hash of what grades, as the grader has it.
    """

    student: str
    master: Master
    content: bytes | None
    timeout: int = 120
    file: str = ""
    grader: str = field(default_factory=grader)

    @property
    def digest(self) -> str:
        """A hash of the submission and of the tests that grade it."""
        came = b"none" if self.content is None else b"file" + self.content
        return hashlib.sha256(self.master.digest.encode() + came).hexdigest()


@dataclass
class Result:
    """What came of a task.

    Attributes:
        student: the student's id.
        notebook: the notebook's name.
        digest: the task's.
        status: 'graded', 'repaired', 'failed' or 'missing'.
        notes: what was repaired, or why nothing could be graded.
        points: points by grade id; None for an answer that a person reads.
        unanswered: answer cells that are as they were handed out.
        executed: the notebook with its outputs, as JSON; None if there is none.
        seconds: how long it took.
    """

    student: str
    notebook: str
    digest: str
    status: str
    notes: list[str] = field(default_factory=list)
    points: dict[str, float | None] = field(default_factory=dict)
    unanswered: list[str] = field(default_factory=list)
    executed: str | None = None
    seconds: float = 0.0


def grade_one(task: Task) -> Result:
    """Grade one notebook. Whatever it holds, a result comes back.

    Args:
        task: what to grade.
    """
    if (task.master.judges, task.grader) != (judges(), grader()):
        return not_graded(
            task, "the worker that took it has another version of the course's package than the grader"
        )
    step("begin", f"{task.student}/{task.master.name}")
    start = time.perf_counter()
    master = nbformat.reads(task.master.content, as_version=4)
    result = Result(task.student, task.master.name, task.digest, GRADED)
    graded = [cell for cell in master.cells if utils.is_grade(cell)]
    result.points = {cell.metadata.nbgrader.grade_id: 0.0 for cell in graded}
    try:
        if task.content is None:
            result.status = MISSING
            result.notes = ["the notebook was not handed in"]
        else:
            repaired = repair(task.content, master)
            renamed = [f"the notebook was found in {task.file!r}"] if task.file else []
            result.notes = renamed + repaired.notes
            result.status = REPAIRED if result.notes else GRADED
            _execute(repaired.notebook, task.timeout)
            _count(repaired.notebook, result)
    except Unreadable as reason:
        result.status, result.notes = FAILED, [str(reason)]
        result.executed = told_why(str(reason))
    except Exception as error:
        # The grader's own failure, not the submission's: without a digest the next run tries again.
        result.status, result.digest = FAILED, ""
        where = traceback.extract_tb(error.__traceback__)[-1]
        result.notes = [f"grading stopped with {type(error).__name__}: {str(error)[:300]} ({where.name})"]
        result.executed = None
    result.seconds = time.perf_counter() - start
    step("end", f"{task.student}/{task.master.name}")
    return result


def told_why(reason: str) -> str:
    """A notebook in the place of one that cannot be read: its student gets a page that says why.

    Args:
        reason: why.
    """
    text = f"**This notebook could not be graded:** {reason}."
    cell = nbformat.v4.new_markdown_cell(text, id="reason")
    return nbformat.writes(nbformat.v4.new_notebook(cells=[cell]))


def not_graded(task: Task, reason: str) -> Result:
    """What becomes of a task that gave no result: 0 points, the reason, and another try at the next run.

    Args:
        task: what was to be graded.
        reason: why it was not.
    """
    master = nbformat.reads(task.master.content, as_version=4)
    points: dict[str, float | None] = {
        cell.metadata.nbgrader.grade_id: 0.0 for cell in master.cells if utils.is_grade(cell)
    }
    return Result(task.student, task.master.name, "", FAILED, [reason], points)


def _execute(notebook: NotebookNode, timeout: int) -> None:
    """Run the student's cells in their kernel and the tests here, in an event loop that ends with them."""
    from jupyter_core.utils import ensure_event_loop

    from classroom.separate import SeparateExecute

    def run() -> None:
        # Jupyter's tools keep their loop in the context. Dask gives each task another context, so each would leave a loop and
        # its threads behind, to be closed by whichever thread collects garbage.
        with asyncio.Runner(loop_factory=ensure_event_loop) as runner:
            runner.get_loop()
            SeparateExecute(timeout=timeout).preprocess(notebook, {"metadata": {"path": None}})

    try:
        contextvars.Context().run(run)
    finally:
        asyncio.set_event_loop(None)  # it is closed


def _count(notebook: NotebookNode, result: Result) -> None:
    """Points by nbgrader's own rules, and the executed notebook."""
    for cell in notebook.cells:
        if not cell.metadata.get("nbgrader"):
            continue
        name = cell.metadata.nbgrader.grade_id
        if utils.is_grade(cell):
            points, most = utils.determine_grade(cell)
            result.points[name] = None if points is None else min(max(float(points), 0.0), most)
        if utils.is_solution(cell) and cell.metadata.nbgrader.get("checksum") == utils.compute_checksum(cell):
            result.unanswered.append(name)
    if result.notes:
        text = "**This notebook was repaired before it was graded:** " + "; ".join(result.notes) + "."
        notebook.cells.insert(0, nbformat.v4.new_markdown_cell(text, id="repairs"))
    result.executed = nbformat.writes(notebook)

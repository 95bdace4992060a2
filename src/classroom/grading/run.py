"""Grading an assignment: what is new goes to the workers, what comes back goes to the gradebook."""

import itertools
import json
import time
import warnings
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import CancelledError
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

from nbgrader.utils import parse_utc
from tqdm import tqdm

from classroom.errors import CourseError
from classroom.gradebook import database
from classroom.grading.log import step
from classroom.grading.store import Record, Store, masters
from classroom.grading.work import Master, Result, Task, grade_one, not_graded
from classroom.sandbox import confine

__all__ = [
    "Summary",
    "checked",
    "content_of",
    "grade_class",
    "grade_each",
    "renamed",
    "students_of",
    "tasks_of",
    "write",
]

# Workers that may die with a task before it is suspected of it.
DEATHS = 3


# How often the grader asks how many workers there are.
SECONDS_TO_LOOK = 10.0

# How long another machine's scheduler may take to answer, and to have a worker.
SECONDS_TO_ANSWER = 30.0
SECONDS_TO_JOIN = 120.0

GONE = "the Dask scheduler is gone; the same command goes on from what was graded"

# What nbgrader's tables hold of a student's id.
LONGEST_ID = 128


@dataclass
class Summary:
    """What a run did.

    Attributes:
        graded: students that were graded in it.
        kept: students whose grades stood already.
        records: all notebooks of the assignment.
        seconds: processor-near time of each student's notebooks that were graded in it.
    """

    graded: list[str] = field(default_factory=list)
    kept: list[str] = field(default_factory=list)
    records: list[Record] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)


def students_of(course: Path, assignment: str) -> list[str]:
    """Students who have a folder for the assignment in `submitted/`."""
    folder = course / "submitted"
    if not folder.is_dir():
        return []
    return sorted(path.name for path in folder.iterdir() if (path / assignment).is_dir())


def checked(students: Iterable[str]) -> list[str]:
    """The students, sorted, if a gradebook can hold all their ids.

    Raises:
        CourseError: if a folder's name is too long, or is not UTF-8, as in archives of old systems.
    """
    told = sorted(set(students))
    for student in told:
        text = student.encode("utf-8", "replace").decode("utf-8")
        if text != student or len(student) > LONGEST_ID:
            raise CourseError(
                f"no gradebook can hold the name of the folder {student!a} in submitted/; "
                f"expected a student's id in UTF-8 of at most {LONGEST_ID} characters: rename the folder"
            )
    return told


def content_of(path: Path) -> bytes | None:
    """A file's bytes; None if there is no such file."""
    try:
        return path.read_bytes() if path.is_file() else None
    except OSError:
        return None


def _handed_in(folder: Path) -> datetime | None:
    """When it was handed in, if a file says so, as nbgrader's collecting writes it."""
    try:
        return parse_utc((folder / "timestamp.txt").read_text(encoding="utf-8").strip())
    except (OSError, ValueError):
        return None


def tasks_of(
    course: Path, assignment: str, student: str, found: list[Master], timeout: int = 120
) -> list[Task]:
    """What there is to grade of one student, a task for each notebook of the assignment.

    Args:
        course: the course's folder.
        assignment: its name.
        student: the student's id.
        found: the notebooks of the assignment.
        timeout: seconds that a cell may take.
    """
    folder = course / "submitted" / student / assignment
    handed_in = {master.name: content_of(folder / f"{master.name}.ipynb") for master in found}
    others = renamed(folder, found) if None in handed_in.values() else {}
    tasks = []
    for master in found:
        content, file = handed_in[master.name], ""
        if content is None and master.name in others:
            file = others[master.name]
            content = content_of(folder / file)
        tasks.append(Task(student, master, content, timeout, file))
    return tasks


def renamed(folder: Path, found: list[Master]) -> dict[str, str]:
    """Notebooks that lie in a submission's folder under another name, as browsers and people rename them: the file, by notebook.

    Args:
        folder: the submission's.
        found: the notebooks of the assignment.
    """
    from classroom.collect.run import cells_of, which

    names = {f"{master.name}.ipynb" for master in found}
    try:
        files = sorted(path for path in folder.iterdir() if path.is_file() and path.name not in names)
    except OSError:
        return {}
    released = {f"{master.name}.ipynb": cells_of(json.loads(master.content)) for master in found if files}
    told: dict[str, list[str]] = {}
    for path in files:
        name, _ = which(path, Path(path.name), "", released)
        if name is not None:
            told.setdefault(name.removesuffix(".ipynb"), []).append(path.name)
    # Where two could be it, nobody but the student knows.
    return {name: same[0] for name, same in told.items() if len(same) == 1}


@contextmanager
def _pool(
    workers: int, scheduler: str | None, say: Callable[[str], None]
) -> Iterator[tuple[Callable[[Task], Any], Callable[[], int]]]:
    """A Dask cluster of this machine's, or the one at an address: what takes tasks, and what tells how many it works on.

    What the workers' machines do not enforce is said.
    """
    import dask
    from distributed import Client, LocalCluster

    cluster: Any = None
    if scheduler is None:
        # A worker starts the server that kernels are forked from, which a daemonic process may not.
        dask.config.set(
            {
                "distributed.worker.daemon": False,
                "distributed.scheduler.allowed-failures": DEATHS - 1,
                # A worker that has used much memory would take no task any more, and the grader would wait for it for ever.
                # One that uses still more is ended, and gets a successor.
                "distributed.worker.memory.pause": False,
                # The profiler asks Python for all threads' frames a hundred times a second. In Python 3.11 a collection of
                # garbage in the middle of that can stop all threads for ever.
                "distributed.worker.profile.enabled": False,
            }
        )
        # Processes, since grading a notebook is bound to one: it forks kernels and waits for them.
        cluster = LocalCluster(
            n_workers=workers,
            threads_per_worker=1,
            processes=True,
            dashboard_address="127.0.0.1:0",  # any free port; None means 8787, and a warning if that is taken
            silence_logs=40,
        )
    # A notebook of 50 MB is rare enough.
    warnings.filterwarnings("ignore", "Sending large graph")
    try:
        client = Client(cluster or scheduler, timeout=SECONDS_TO_ANSWER)
    except (OSError, ValueError) as error:
        if cluster is not None:
            cluster.close()
            raise
        raise CourseError(f"no Dask scheduler answers at {scheduler!r}: {error}") from None
    try:
        if cluster is None:
            try:
                client.wait_for_workers(1, timeout=SECONDS_TO_JOIN)
            except TimeoutError:
                raise CourseError(
                    f"no worker has joined {scheduler} within {SECONDS_TO_JOIN:.0f} seconds"
                ) from None
            told = client.run(confine.missing, on_error="return").values()
            unbound = sorted({sentence for sentence in told if isinstance(sentence, str)} - {""})
            if silent := sum(not isinstance(sentence, str) for sentence in told):
                unbound.append(
                    f"{silent} of {len(told)} workers do not tell what they enforce; have they this version of the package?"
                )
        else:
            unbound = [sentence] if (sentence := confine.missing()) else []
        for sentence in unbound:
            say(sentence)
        yield (
            lambda task: client.submit(grade_one, task, pure=False),
            lambda: sum(client.nthreads().values()),
        )
    finally:
        client.close()
        if cluster is not None:
            cluster.close()


def grade_class(
    course: Path,
    assignment: str,
    students: Iterable[str] | None = None,
    *,
    workers: int = 2,
    scheduler: str | None = None,
    db_url: str | None = None,
    timeout: int = 120,
    again: bool = False,
    progress: bool = True,
    say: Callable[[str], None] = warnings.warn,
) -> Summary:
    """Grade what has not been graded yet, in parallel; an interrupted run goes on where it stopped.

    Args:
        course: the course's folder, with `submitted/`, the release in `exercises/`, and the gradebook.
        assignment: its name.
        students: these alone; all who have a folder by default.
        workers: processes of the local cluster.
        scheduler: address of a Dask scheduler, instead of a local cluster.
        db_url: the gradebook's database; what nbgrader uses in the course's folder by default.
        timeout: seconds that a cell may take.
        again: grade also what has been graded already.
        progress: whether to show a bar on stderr.
        say: takes sentences for the instructor, such as what the workers' machines do not enforce; by default warnings.

    Raises:
        CourseError: if the assignment was not generated, a student has handed in nothing or has a folder that is no id, the
            database or the scheduler does not answer, or the course lies where a student's code may read.
    """
    everybody = students_of(course, assignment)
    chosen = checked(students if students is not None else everybody)
    if unknown := [student for student in chosen if student not in everybody]:
        raise CourseError(
            f"no submission of {unknown[0]!r} in {course / 'submitted'}; there are {len(everybody)} others"
        )
    confine.check_place(course)
    summary = Summary()
    with Store(database(course, db_url)) as store:
        found = masters(store.gradebook, assignment, course / "exercises" / assignment)
        before = store.records(assignment)
        todo: list[str] = []
        for student in chosen:
            tasks = tasks_of(course, assignment, student, found, timeout)
            done = all(
                (record := before.get((student, task.master.name))) and record.digest == task.digest
                for task in tasks
            )
            if done and not again:
                summary.kept.append(student)
            else:
                todo.append(student)
        if todo:
            each = _grade(course, assignment, todo, found, store, workers, scheduler, timeout, say)
            bar = tqdm(
                each, desc=f"grading {assignment}", total=len(todo), unit="submission", disable=not progress
            )
            for student, seconds in bar:
                summary.graded.append(student)
                summary.seconds.append(seconds)
        # Also where nothing was graded: a due date may have moved.
        store.assign_penalties(course, assignment)
        summary.records = sorted(store.records(assignment).values(), key=lambda r: (r.student, r.notebook))
    return summary


def _grade(
    course: Path,
    assignment: str,
    todo: list[str],
    found: list[Master],
    store: Store,
    workers: int,
    scheduler: str | None,
    timeout: int,
    say: Callable[[str], None],
) -> Iterator[tuple[str, float]]:
    """Send tasks out, a few more than there are workers; write down and name each student whose last notebook is back."""
    from distributed import KilledWorker, wait

    waiting: dict[str, list[Result]] = {}
    sent: dict[Any, Task] = {}
    suspects: set[Task] = set()
    with _pool(min(workers, len(todo) * len(found)), scheduler, say) as (submit, width):
        queue = (task for student in todo for task in tasks_of(course, assignment, student, found, timeout))

        def send(task: Task) -> Any:
            step("send", f"{task.student}/{task.master.name}")
            future = submit(task)
            sent[future] = task
            return future

        # Not all at once: a class of hundreds stays on the disk until its turn comes. Workers may join and leave.
        most, looked = 2 * width() + 2, time.monotonic()
        for task in itertools.islice(queue, most):
            send(task)
        alone = 0.0
        while sent:
            try:
                ended = wait(list(sent), timeout=SECONDS_TO_LOOK, return_when="FIRST_COMPLETED").done
            except TimeoutError:
                alone = 0.0 if width() else alone + SECONDS_TO_LOOK
                if alone >= SECONDS_TO_JOIN:
                    raise CourseError(
                        f"no worker has been there for {alone:.0f} seconds; the same command goes on from what was graded"
                    ) from None
                continue
            except CancelledError:
                raise CourseError(GONE) from None
            alone = 0.0
            if time.monotonic() - looked > SECONDS_TO_LOOK:
                most, looked = 2 * width() + 2, time.monotonic()
            for future in ended:
                task = sent.pop(future)
                try:
                    result = future.result()
                except KilledWorker:
                    # Tasks that waited for a worker that died are suspected with the one that it was at: it gets another chance.
                    if task not in suspects:
                        suspects.add(task)
                        send(task)
                        continue
                    result = not_graded(task, f"the workers that graded it ended, {2 * DEATHS} times")
                except CancelledError:
                    raise CourseError(GONE) from None
                except Exception as error:
                    result = not_graded(
                        task, f"no worker could take it: {type(error).__name__}: {str(error)[:300]}"
                    )
                for following in itertools.islice(queue, max(most - len(sent), 0)):
                    send(following)
                results = waiting.setdefault(result.student, [])
                results.append(result)
                if len(results) == len(found):
                    write(course, assignment, waiting.pop(result.student), store)
                    yield result.student, sum(one.seconds for one in results)


def grade_each(
    course: Path, assignment: str, students: list[str], workers: int = 2, timeout: int = 120
) -> Iterator[str]:
    """Grade these students' submissions, whether or not they were graded before; gives each name when it is done.

    Args:
        course: the course's folder.
        assignment: its name.
        students: who has handed in.
        workers: processes.
        timeout: seconds that a cell may take.

    Raises:
        CourseError: if the assignment was not generated.
    """
    with Store(database(course)) as store:
        found = masters(store.gradebook, assignment, course / "exercises" / assignment)
        if students:
            for student, _ in _grade(
                course, assignment, students, found, store, workers, None, timeout, warnings.warn
            ):
                yield student


def write(course: Path, assignment: str, results: list[Result], store: Store) -> None:
    """One student's notebooks and points: the files first, so that points without a notebook cannot be."""
    student = results[0].student
    step("write files", student)
    folder = course / "autograded" / student / assignment
    folder.mkdir(parents=True, exist_ok=True)
    for result in results:
        path = folder / f"{result.notebook}.ipynb"
        if result.executed is None:
            path.unlink(missing_ok=True)  # no old result stands beside a new 0
            continue
        scratch = path.with_suffix(".tmp")
        scratch.write_text(result.executed, encoding="utf-8", errors="replace")
        scratch.replace(path)
    store.save(assignment, results, _handed_in(course / "submitted" / student / assignment))
    step("written", student)

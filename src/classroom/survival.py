"""A class graded under kill -9, and its grades compared with those of a class that nobody disturbed.

Grader, worker, student's kernel, the kernels' server and the database connection are ended again and again. Run as
`python -m classroom.survival`; it needs Linux. What each victim was at is read from the grader's own log
(`classroom.grading.log`): the last step of a process that is dead.
"""

import argparse
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import nbformat
import psutil
from sqlalchemy import Connection, text
from tqdm import tqdm

from classroom.course import ROOT, make_course, nbgrader, read_notebook, sources
from classroom.errors import CourseError
from classroom.gradebook import database, scores
from classroom.grading.log import LOG
from classroom.grading.run import grade_class
from classroom.grading.store import Store
from classroom.postgresql import server
from classroom.sample import submission
from classroom.sandbox import leftovers
from classroom.students import CLASS, Student

__all__ = ["WRITING", "main", "survive"]

# The cheapest of the course's torch notebooks, as an assignment of its own.
SOURCE, NOTEBOOK, ASSIGNMENT = "bptt", "truncated_bptt", "class"

# The steps in which a kill hits a write to the gradebook.
WRITING = ("write gradebook", "commit")

# Who is killed, and how often in a hundred kills; a file has no connection.
TARGETS = {
    "grader": 20,
    "grader, aimed at a write": 20,
    "worker": 15,
    "kernel": 20,
    "kernel server": 5,
    "connection": 10,
    "connection, aimed at a write": 10,
}

# Seconds without any progress after which something is stuck.
STUCK = 300.0

Points = dict[str, dict[str, float | None]]


def _grades(course: Path) -> Points:
    return {
        student: {score.question: score.auto for score in rows}
        for student, rows in scores(course, ASSIGNMENT).items()
    }


def _hand_in(course: Path, students: int, rng: random.Random) -> None:
    """A class of right, wrong and untouched answers, no two notebooks alike; some leave a process running."""
    released = read_notebook(course / "exercises" / ASSIGNMENT / f"{NOTEBOOK}.ipynb")
    solved = read_notebook(next(path for path in sources(SOURCE) if path.stem == NOTEBOOK))
    edits = [edit for student in CLASS[SOURCE] for edit in student.edits if edit.notebook == NOTEBOOK]
    by_cell = {
        cell: [None, *(e for e in edits if e.cell == cell)] for cell in sorted({e.cell for e in edits})
    }
    for number in range(students):
        chosen = [edit for choices in by_cell.values() if (edit := rng.choice(choices))]
        student = Student(f"student-{number:03}", tuple(chosen), blank=rng.random() < 0.1)
        notebook = submission(student, released, solved, NOTEBOOK)
        own = f"# {student.name}"
        if number % 10 == 0:
            own += "\nimport subprocess\nsubprocess.Popen(['sleep', '3600'])"
        notebook.cells.insert(0, nbformat.v4.new_code_cell(own, id="own"))
        folder = course / "submitted" / student.name / ASSIGNMENT
        folder.mkdir(parents=True)
        nbformat.write(notebook, folder / f"{NOTEBOOK}.ipynb")


def _make(folder: Path, students: int, seed: int, db_url: str | None = None) -> Path:
    """A course with the one assignment, and a class that has handed in; the same for the same seed."""
    work = folder / "source" / "solutions" / ASSIGNMENT
    if not work.exists():
        work.mkdir(parents=True)
        shutil.copyfile(ROOT / "solutions" / SOURCE / f"{NOTEBOOK}.py", work / f"{NOTEBOOK}.py")
        for name in ("autotests.yml", "nbgrader_config.py"):
            shutil.copyfile(ROOT / name, folder / "source" / name)
    course = make_course(folder / ("disturbed" if db_url else "undisturbed"), folder / "source", db_url)
    nbgrader(course, "generate_assignment", ASSIGNMENT, "--force")
    _hand_in(course, students, random.Random(seed))
    return course


class _Log:
    """The grader's log, read as it grows."""

    def __init__(self, path: Path) -> None:
        path.touch()
        self._file = path.open(encoding="utf-8")
        self.last: dict[int, str] = {}
        self.written: set[str] = set()

    def read(self) -> list[tuple[int, str]]:
        """What has come since: process and step; the last step of each process and who was written are kept."""
        new: list[tuple[int, str]] = []
        while line := self._file.readline():
            if not line.endswith("\n"):  # half a line: the rest comes
                self._file.seek(self._file.tell() - len(line.encode()))
                break
            _, process, step, about = line.rstrip("\n").split("\t")
            new.append((int(process), step))
            self.last[int(process)] = step
            if step == "written":
                self.written.add(about)
        return new

    def phase(self, process: int) -> str:
        """What a process was at last."""
        self.read()
        return self.last.get(process, "start")


@dataclass
class _Run:
    """A grader that is killed and started again."""

    course: Path
    log: _Log
    path: Path
    rng: random.Random
    cutter: Connection | None
    name: str
    process: "subprocess.Popen[bytes] | None" = None
    starts: int = 0
    kills: list[dict[str, str]] = field(default_factory=list)
    finished: dict[str, str] = field(default_factory=dict)
    users: set[int] = field(default_factory=set)

    def start(self) -> int:
        """Start the grader unless it runs; gives its process id."""
        if self.process is None:
            self.starts += 1
            with (self.course.parent / "printed").open("ab") as printed:
                self.process = subprocess.Popen(
                    [sys.executable, "-m", "classroom", "--course", str(self.course), "grade", ASSIGNMENT],
                    env=os.environ | {LOG: str(self.path)},
                    stdout=printed,
                    stderr=printed,
                    start_new_session=True,
                )
        return self.process.pid

    def ended(self) -> bool:
        """Whether the grader has come to its end."""
        return self.process is not None and self.process.poll() is not None

    def workers(self) -> list[psutil.Process]:
        """Dask's workers."""
        return _below(self.start(), "spawn_main")

    def servers(self) -> list[psutil.Process]:
        """The servers that kernels are forked from."""
        return [server for worker in self.workers() for server in _below(worker.pid, "forkserver")]

    def kernels(self) -> list[psutil.Process]:
        """The students' kernels."""
        found = [kernel for server in self.servers() for kernel in _below(server.pid, "forkserver")]
        for kernel in found:
            with suppress(psutil.Error):
                self.users.add(kernel.uids().real)
        return found

    def kill(self, target: str) -> bool:
        """Kill one now; gives whether there was one."""
        grader = self.start()
        if target.startswith("connection"):
            return self._cut(grader, target)
        if target.startswith("grader"):
            self.kernels()
            os.kill(grader, signal.SIGKILL)
            assert self.process is not None
            self.process.wait()
            self.process = None
            self.kills.append({"target": target, "phase": self.log.phase(grader)})
            self._remember()
            return True
        found = {"worker": self.workers, "kernel": self.kernels, "kernel server": self.servers}[target]()
        if not found:
            return False
        victim = self.rng.choice(found)
        try:
            # What a worker's kernel is at, the worker knows.
            owner = {"worker": 0, "kernel": 2, "kernel server": 1}[target]
            at = victim
            for _ in range(owner):
                parent = at.parent()
                if parent is None:
                    return False
                at = parent
            phase = self.log.phase(at.pid)
            victim.send_signal(signal.SIGKILL)
        except psutil.Error:
            return False
        self.kills.append(
            {"target": target, "phase": self.log.phase(at.pid) if target == "worker" else phase}
        )
        return True

    def _cut(self, grader: int, target: str) -> bool:
        """End the grader's connection to the database."""
        assert self.cutter is not None
        cut = self.cutter.execute(text(CUT), {"database": self.name}).mappings().all()
        for row in cut:
            at = self.log.phase(grader)
            # Between two writes the grader is at something else, and the connection at nothing.
            phase = at if row["state"] != "idle" and at in WRITING else f"{row['state']} ({at})"
            self.kills.append({"target": target, "phase": phase})
        return bool(cut)

    def _remember(self) -> None:
        """Who stands in the gradebook while no grader runs, and since when: it must not change any more."""
        with Store(database(self.course)) as store:
            for record in store.records(ASSIGNMENT).values():
                if record.digest:
                    self.finished.setdefault(record.student, record.finished)


CUT = """
SELECT state, pg_terminate_backend(pid) AS cut FROM pg_stat_activity
WHERE datname = :database AND pid <> pg_backend_pid() AND backend_type = 'client backend'
"""


def _below(process: int, what: str) -> list[psutil.Process]:
    """Children of a process whose command says what they are."""
    try:
        children = psutil.Process(process).children()
    except psutil.Error:
        return []
    found = []
    for child in children:
        with suppress(psutil.Error):
            if what in " ".join(child.cmdline()) and child.status() != psutil.STATUS_ZOMBIE:
                found.append(child)
    return found


def _plan(kills: int, targets: dict[str, int], rng: random.Random) -> list[str]:
    """Targets in a random order, in the given proportions, each at least once if there are enough."""
    total = sum(targets.values())
    plan = [name for name, share in targets.items() for _ in range(max(1, round(kills * share / total)))]
    rng.shuffle(plan)
    return plan[:kills]


def survive(
    students: int = 200,
    db: str = "sqlite",
    kills: int = 40,
    seed: int = 0,
    undisturbed: Points | None = None,
    progress: bool = False,
) -> dict[str, Any]:
    """Grade a class while its grader and what belongs to it are killed, and compare with an undisturbed run.

    Args:
        students: how many hand in.
        db: where the gradebook is: 'sqlite' or 'postgresql', a server that is started for this.
        kills: how many processes and connections are ended, spread over the class.
        seed: of the class and of the moments.
        undisturbed: points of the undisturbed run of the same class, if it was made; key 'points' of an earlier result.
        progress: whether to show a bar on stderr.

    Returns:
        'students'; 'kills', a list of dicts with 'target' and 'phase'; 'lost', students without a grade; 'double', students
        graded again after their grade was written; 'different', students with other points than in the undisturbed run;
        'left', processes and folders that outlived the grader; 'starts' of the grader; 'seconds'; 'points' of the
        undisturbed run.

    Raises:
        CourseError: if PostgreSQL is wanted and not installed, or nothing goes on any more.
        ValueError: if `db` is neither.
    """
    if db not in ("sqlite", "postgresql"):
        raise ValueError(f"db: {db!r} came; expected 'sqlite' or 'postgresql'")
    began = time.monotonic()
    rng = random.Random(seed)
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="survival-")))
        if undisturbed is None:
            course = _make(folder, students, seed)
            grade_class(course, ASSIGNMENT, progress=progress)
            undisturbed = _grades(course)
        postgresql = stack.enter_context(server()) if db == "postgresql" else None
        url = postgresql.create("disturbed") if postgresql else f"sqlite:///{folder}/disturbed/gradebook.db"
        course = _make(folder, students, seed, url)
        path = folder / "log"
        # One connection for all cuts: to open one takes longer than a write.
        cutter = stack.enter_context(postgresql.connection()) if postgresql else None
        run = _Run(course, _Log(path), path, rng, cutter, "disturbed")
        targets = {
            name: share for name, share in TARGETS.items() if postgresql or not name.startswith("connection")
        }
        with _ended(run):
            _disturb(run, _plan(kills, targets, rng), students, progress)
        graded = _grades(course)
        with Store(database(course)) as store:
            records = {record.student: record for record in store.records(ASSIGNMENT).values()}
        left = _left(run)
    return {
        "students": students,
        "kills": run.kills,
        "lost": sum(not (name in records and records[name].digest) for name in undisturbed),
        "double": sum(records[name].finished != when for name, when in run.finished.items()),
        "different": sum(graded.get(name) != points for name, points in undisturbed.items()),
        "left": left,
        "starts": run.starts,
        "seconds": time.monotonic() - began,
        "points": undisturbed,
    }


def _disturb(run: _Run, plan: list[str], students: int, progress: bool) -> None:
    """Carry the plan out, each kill after its share of the class, and let the grader come to its end."""
    quiet_since = time.monotonic()

    def wait(until: Callable[[], bool]) -> bool:
        """Until something holds; False if the grader has ended before."""
        nonlocal quiet_since
        while not until():
            if run.log.read():
                quiet_since = time.monotonic()
                bar.update(len(run.log.written) - bar.n)
            if run.ended():
                return False
            if time.monotonic() - quiet_since > STUCK:
                raise CourseError(f"the grader has done nothing for {STUCK:.0f} seconds")
            time.sleep(0.001)
        return True

    with tqdm(total=students, desc="under kill -9", unit="submission", disable=not progress) as bar:
        for number, target in enumerate(plan):
            grader = run.start()
            share = number * students / (len(plan) + 1)
            # Its share of the class is done, and this grader is at work, not only starting.
            if not wait(lambda s=share: len(run.log.written) >= s):  # type: ignore[misc]
                break
            if not wait(lambda g=grader: run.log.last.get(g) is not None and bool(run.kernels())):  # type: ignore[misc]
                break
            quiet_since = time.monotonic()
            if "aimed" in target:
                run.log.read()
                if not wait(lambda g=grader: (g, "write gradebook") in run.log.read()):  # type: ignore[misc]
                    break
                # At once, or a little later: a write takes some hundredths of a second.
                time.sleep(run.rng.choice([0, 0, run.rng.uniform(0, 0.03)]))
            else:
                later = time.monotonic() + run.rng.uniform(0, 2)
                if not wait(lambda t=later: time.monotonic() > t):  # type: ignore[misc]
                    break
            if not wait(lambda t=target: run.kill(t)):  # type: ignore[misc]
                break
        run.start()
        wait(run.ended)
        if run.process is None or run.process.returncode:
            printed = (run.course.parent / "printed").read_text(encoding="utf-8", errors="replace")
            raise CourseError(f"the last grader failed:\n{printed[-2000:]}")


@contextmanager
def _ended(run: _Run) -> Iterator[None]:
    """No grader outlives this, whatever happens."""
    try:
        yield
    finally:
        if run.process is not None and run.process.poll() is None:
            run.process.kill()
            run.process.wait()


def _left(run: _Run) -> int:
    """Processes of the students' and folders of kernels that are still there."""
    until = time.monotonic() + 10
    while True:
        users = Counter(process.uids().real for process in _all())
        processes = sum(users[user] for user in run.users - {os.getuid()})
        if not processes or time.monotonic() > until:
            return processes + len(leftovers.sweep())
        time.sleep(0.2)


def _all() -> Iterator[psutil.Process]:
    for process in psutil.process_iter():
        with suppress(psutil.Error):
            process.uids()
            yield process


def main(arguments: list[str] | None = None) -> int:
    """Command line: one run, its result as JSON without the points."""
    parser = argparse.ArgumentParser(
        prog="python -m classroom.survival", description=(__doc__ or "").split("\n\n")[0]
    )
    parser.add_argument("--students", type=int, default=200)
    parser.add_argument("--db", choices=["sqlite", "postgresql"], default="sqlite")
    parser.add_argument("--kills", type=int, default=40)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args(arguments)
    # Asked to end, it ends what it started.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    told = survive(options.students, options.db, options.kills, options.seed, progress=True)
    print(json.dumps({name: value for name, value in told.items() if name != "points"}, indent=1))
    return int(bool(told["lost"] or told["double"] or told["different"] or told["left"]))


if __name__ == "__main__":
    raise SystemExit(main())

"""Kill -9 at any moment: of the grader, a worker, a student's kernel, the kernels' server, the database connection."""

import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from contextlib import contextmanager
from types import SimpleNamespace

import nbformat
import psutil
import pytest
from distributed import KilledWorker
from small import RIGHT, hand_in, small_course

from classroom.course import read_notebook
from classroom.grading import run as grading_run
from classroom.grading.work import NOT_GRADED, Master, Task, grade_one
from classroom.postgresql import programs
from classroom.sandbox import leftovers
from classroom.survival import WRITING, survive

pytestmark = [
    pytest.mark.pipeline,
    pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc, as Linux has it"),
]

needs_postgresql = pytest.mark.skipif(
    programs() is None and not os.environ.get("CI"),
    reason="PostgreSQL is not installed (on Debian: apt-get install postgresql)",
)


@pytest.fixture(scope="module")
def undisturbed():
    """Points of the class of 200 without kills, made once for both databases."""
    return {}


@pytest.mark.long
@pytest.mark.parametrize(
    ("db", "kills"), [("sqlite", 20), pytest.param("postgresql", 30, marks=needs_postgresql)]
)
def test_a_class_of_200_gets_the_grades_of_an_undisturbed_run(db, kills, undisturbed, capsys):
    """As `make grading-report` does it with forty kills."""
    told = survive(200, db, kills=kills, seed=7, undisturbed=undisturbed.get("points"))
    undisturbed["points"] = told["points"]
    with capsys.disabled():
        hits = Counter((kill["target"], kill["phase"]) for kill in told["kills"])
        print(f"\n{db}: {told['starts']} starts, {told['seconds']:.0f} seconds")
        for (target, phase), times in sorted(hits.items()):
            print(f"  {times:3} x {target}: {phase}")
    assert (told["lost"], told["double"], told["different"], told["left"]) == (0, 0, 0, 0)
    assert len(told["points"]) == 200
    assert len({tuple(sorted(points.items())) for points in told["points"].values()}) > 3, (
        "a class is not one answer"
    )
    assert len(told["kills"]) >= kills - 5
    killed = Counter(kill["target"].partition(",")[0] for kill in told["kills"])
    assert set(killed) == {"grader", "worker", "kernel", "kernel server"} | (
        {"connection"} if db == "postgresql" else set()
    )
    writing = Counter(kill["target"].partition(",")[0] for kill in told["kills"] if kill["phase"] in WRITING)
    assert writing["grader"] >= 3
    if db == "postgresql":
        assert writing["connection"] >= 1
    assert {kill["phase"] for kill in told["kills"] if kill["target"] == "kernel"} & {"cell", "test"}


@pytest.fixture(scope="module")
def course(tmp_path_factory):
    return small_course(tmp_path_factory.mktemp("survival"))


def _kernels(server_of):
    """Kernels of a process's own server."""
    for server in psutil.Process(server_of).children():
        if "forkserver" in " ".join(server.cmdline()):
            yield from server.children()


MARK = "3599.25"


def test_what_a_student_left_running_ends_with_a_grader_that_was_killed(course):
    """A process that a student's code started, in a session of its own, does not outlive a grader that can clean up nothing."""
    answer = f"import subprocess\nsubprocess.Popen(['sleep', '{MARK}'])\nimport time\ntime.sleep(600)"
    hand_in(course, "leaves", RIGHT | {"half": answer})
    command = [sys.executable, "-m", "classroom", "--course", str(course), "grade", "small", "--workers", "1"]
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "start_new_session": True}

    def sleepers():
        found = []
        for process in psutil.process_iter(["cmdline", "status"]):
            if process.info["cmdline"] == ["sleep", MARK] and process.info["status"] != psutil.STATUS_ZOMBIE:
                found.append(process)
        return found

    grader = subprocess.Popen(command, **quiet)
    try:
        until = time.monotonic() + 120
        while not sleepers():
            assert time.monotonic() < until
            assert grader.poll() is None
            time.sleep(0.05)
        # The grader alone: its worker ends with it, the server that kernels are forked from clears away.
        grader.kill()
        until = time.monotonic() + 30
        while sleepers():
            assert time.monotonic() < until, "a student's process outlives the grader"
            time.sleep(0.1)
    finally:
        grader.kill()
        grader.wait()
        for process in sleepers():
            process.kill()


def test_the_next_process_clears_away_what_another_left(tmp_path, monkeypatch):
    """Folders of the dead go, those of the living and those that are just being made stay."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    code = (
        "import os, signal, sys, tempfile; tempfile.tempdir = sys.argv[1]\n"
        "from classroom.sandbox.leftovers import folder_of_this_process\n"
        "folder = folder_of_this_process(); (folder / 'kernel-x').mkdir(); print(folder, flush=True)\n"
        "sys.stdin.read() if sys.argv[2] == 'lives' else os.kill(os.getpid(), signal.SIGKILL)"
    )
    command = [sys.executable, "-c", code, str(tmp_path)]
    living = subprocess.Popen([*command, "lives"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        kept = living.stdout.readline().strip()
        dead = subprocess.run([*command, "dies"], stdout=subprocess.PIPE, text=True)
        assert dead.returncode == -signal.SIGKILL
        fresh = tmp_path / "kernels-fresh"
        fresh.mkdir()
        assert [str(path) for path in leftovers.sweep()] == [dead.stdout.strip()]
        assert {str(path) for path in tmp_path.iterdir()} == {kept, str(fresh)}
        os.utime(fresh, (0, 0))
        assert leftovers.sweep() == [fresh]
    finally:
        living.communicate()
    assert list(tmp_path.iterdir()) == []


def test_a_worker_that_dies_with_a_task_again_and_again_is_a_status_and_the_batch_goes_on(
    course, monkeypatch
):
    """A task that ends its worker, as running out of memory does, costs its student this grading and nobody else."""

    class Lost:
        def __init__(self, task):
            self.task = task

        def result(self):
            if self.task.student == "dies":
                raise KilledWorker("task", None, 2)
            return grade_one(self.task)

    def first(futures, timeout, return_when):
        return SimpleNamespace(done=futures[:1])

    sent = []

    @contextmanager
    def pool(workers, scheduler, say):
        yield lambda task: sent.append(task.student) or Lost(task), lambda: 1

    monkeypatch.setattr("distributed.wait", first)
    monkeypatch.setattr(grading_run, "_pool", pool)
    for student in ("dies", "lives"):
        hand_in(course, student, RIGHT)
    told = grading_run.grade_class(course, "small", ["dies", "lives"], workers=1, timeout=10, progress=False)
    status = {record.student: (record.status, record.digest) for record in told.records}
    assert status["dies"] == (NOT_GRADED, "")
    assert status["lives"][0] == "graded"
    assert Counter(sent) == {"dies": 2, "lives": 1}
    assert "ended" in next(record.notes[0] for record in told.records if record.student == "dies")
    # Without a digest it is not done: the next run tries again.
    again = grading_run.grade_class(course, "small", ["dies", "lives"], workers=1, timeout=10, progress=False)
    assert again.graded == ["dies"]


@pytest.mark.parametrize("victim", ["kernel", "server"])
def test_a_kernel_that_is_killed_from_outside_costs_nothing(course, victim):
    released = read_notebook(course / "exercises" / "small" / "one.ipynb")
    master = Master("one", nbformat.writes(released))
    answers = RIGHT | {"half": "import time\ntime.sleep(0.5)\n" + RIGHT["half"]}
    for cell in released.cells:
        cell.source = answers.get(cell.id, cell.source)
    task = Task("s", master, nbformat.writes(released).encode(), 10)
    killed = []

    def kill():
        until = time.monotonic() + 60
        while not killed and time.monotonic() < until:
            for kernel in _kernels(os.getpid()):
                time.sleep(0.2)
                process = kernel if victim == "kernel" else psutil.Process(kernel.ppid())
                process.kill()
                killed.append(process.pid)
                return
            time.sleep(0.01)

    thread = threading.Thread(target=kill)
    thread.start()
    result = grade_one(task)
    thread.join()
    assert killed
    assert (result.status, result.notes) == ("graded", [])

    assert "KernelGone" not in (result.executed or "")

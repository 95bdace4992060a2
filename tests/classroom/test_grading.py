"""Grading a class: every submission gets an answer, nothing is graded twice, nothing is lost when the grader is killed."""

import asyncio
import contextlib
import contextvars
import csv
import gc
import importlib.util
import json
import os
import random
import re
import signal
import socket
import subprocess
import sys
import threading
import time
import warnings
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace

import nbformat
import pytest
from distributed import LocalCluster
from nbgrader.api import MissingEntry
from small import PLAIN, RIGHT, generate, hand_in, quick_course, small_course, solved, source

from classroom.__main__ import main
from classroom.course import ROOT, make_course, nbgrader, read_notebook
from classroom.errors import CourseError
from classroom.export import class_grades
from classroom.gradebook import database, open_gradebook, scores
from classroom.grading import grade_class, run
from classroom.grading.run import _pool, checked
from classroom.grading.status import status_rows
from classroom.grading.store import Store, masters
from classroom.grading.work import Task, grade_one, not_graded
from classroom.sample import submission
from classroom.sandbox import confine
from classroom.students import Student

pytestmark = [pytest.mark.pipeline]


@pytest.fixture(scope="module")
def course(tmp_path_factory):
    return small_course(tmp_path_factory.mktemp("grading"))


def points(course):
    return {who: {s.question: s.auto for s in rows} for who, rows in scores(course, "small").items()}


BOTH, HALF, TWICE, NONE = (2, 2), (2, 0), (0, 2), (0, 0)
ODD = {
    "right": (RIGHT, BOTH, "graded"),
    "half-right": (RIGHT | {"twice": "def twice(x):\n    return x"}, HALF, "graded"),
    "knows-the-visible-test": (RIGHT | {"twice": "def twice(x):\n    return 6.0"}, HALF, "graded"),
    "untouched": ({}, NONE, "graded"),
    "ends-the-kernel": (RIGHT | {"twice": "import os\nos._exit(0)"}, HALF, "graded"),
    "ends-in-a-call": (RIGHT | {"half": "def half(x):\n    import os\n    os._exit(0)"}, NONE, "graded"),
    "crashes": (RIGHT | {"twice": "import ctypes\nctypes.string_at(0)"}, HALF, "graded"),
    "asks": (RIGHT | {"half": "def half(x):\n    return float(input())"}, TWICE, "graded"),
    "prints-50-mb": (
        RIGHT | {"half": "print('x' * 50_000_000)\ndef half(x):\n    return x / 2"},
        BOTH,
        "graded",
    ),
    "syntax": (RIGHT | {"half": "def half(x) return"}, TWICE, "graded"),
    "empty": (b"", NONE, "failed"),
    "binary": (bytes(range(256)), NONE, "failed"),
    "cut-off": (b'{"cells": [{"cell_ty', NONE, "failed"),
    "renamed-file": (None, BOTH, "repaired"),
}


@pytest.fixture(scope="module")
def graded(course):
    for student, (work, _, _) in ODD.items():
        if work is None:
            hand_in(course, student, RIGHT, name="my solution (final).ipynb")
        else:
            hand_in(course, student, **({"content": work} if isinstance(work, bytes) else {"answers": work}))
    return grade_class(course, "small", workers=2, timeout=10, progress=False)


@pytest.mark.parametrize("student", ODD)
def test_every_submission_gets_its_points_and_status(course, graded, student):
    _, expected, status = ODD[student]
    assert points(course)[student] == {"test-half": expected[0], "test-twice": expected[1]}
    record = next(record for record in graded.records if record.student == student)
    assert record.status == status
    assert bool(record.notes) == (status != "graded")


def test_a_second_run_grades_nothing_and_an_edit_alone_is_graded(course, graded):
    before = points(course)
    again = grade_class(course, "small", workers=1, timeout=10, progress=False)
    assert (again.graded, len(again.kept)) == ([], len(ODD))
    hand_in(course, "untouched", RIGHT)
    try:
        third = grade_class(course, "small", workers=1, timeout=10, progress=False)
        assert third.graded == ["untouched"]
        assert points(course) == before | {"untouched": {"test-half": 2, "test-twice": 2}}
    finally:
        hand_in(course, "untouched", {})
        grade_class(course, "small", workers=1, timeout=10, progress=False)
    assert points(course) == before


def test_a_regrade_replaces_automatic_points_and_keeps_a_persons(course, graded):
    with open_gradebook(course) as gradebook:
        grade = gradebook.find_grade("test-half", "one", "small", "right")
        grade.manual_score = 1.5
        gradebook.find_comment("half", "one", "small", "right").manual_comment = "neat"
        gradebook.db.commit()
    # A kernel that dies now must not leave the old points standing.
    hand_in(course, "right", RIGHT | {"half": "import os\nos._exit(1)"})
    try:
        grade_class(course, "small", ["right"], workers=1, timeout=10, progress=False)
        with open_gradebook(course) as gradebook:
            grade = gradebook.find_grade("test-half", "one", "small", "right")
            assert (grade.auto_score, grade.manual_score, grade.needs_manual_grade) == (0, 1.5, True)
            assert gradebook.find_comment("half", "one", "small", "right").manual_comment == "neat"
            grade.manual_score, grade.needs_manual_grade = None, False
            gradebook.db.commit()
    finally:
        hand_in(course, "right", RIGHT)
        grade_class(course, "small", ["right"], workers=1, timeout=10, progress=False)
    assert points(course)["right"] == {"test-half": 2, "test-twice": 2}


def test_status_tells_a_zero_that_was_earned_from_one_that_was_not(course, graded, capsys, tmp_path):
    with open_gradebook(course) as gradebook:
        gradebook.update_or_create_student('Nobody, "Jr."')
    hand_in(course, "late", RIGHT)
    try:
        told = {row["student"]: row for row in status_rows(course, "small")}
        assert (told["untouched"]["status"], told["untouched"]["points"]) == ("graded", 0)
        assert (told["late"]["status"], told["late"]["points"]) == ("not graded", "")
        assert (told['Nobody, "Jr."']["status"], told['Nobody, "Jr."']["points"]) == ("missing", "")
        assert "empty" in told["empty"]["notes"]
        path = tmp_path / "status.csv"
        assert main(["--course", str(course), "status", "small", "--csv", str(path)]) == 0
        with path.open(encoding="utf-8", newline="") as file:
            assert {row["student"] for row in csv.DictReader(file)} == set(told)
        assert "not graded" in capsys.readouterr().out
    finally:
        (course / "submitted" / "late" / "small" / "one.ipynb").unlink()
        (course / "submitted" / "late" / "small").rmdir()
        with open_gradebook(course) as gradebook:
            gradebook.remove_student('Nobody, "Jr."')


def test_the_command_says_what_it_did_and_what_is_wrong(course, graded, capsys):
    assert main(["--course", str(course), "grade", "small", "--workers", "1"]) == 0
    out = capsys.readouterr().out
    assert f"0 submissions graded, {len(ODD)} stood already" in out
    assert "failed     binary/one: the file is not text: no notebook" in out
    for arguments, says in (
        (["grade", "nothing"], "no assignment 'nothing'"),
        (["grade", "small", "--students", "nobody"], "no submission of 'nobody'"),
        (["grade", "small", "--workers", "0"], "0 workers came; expected at least 1"),
    ):
        assert main(["--course", str(course), *arguments]) == 2
        assert says in capsys.readouterr().err
    with pytest.raises(CourseError, match="no gradebook at"):
        grade_class(course / "elsewhere", "small", progress=False)


@pytest.mark.filterwarnings("error:Port:UserWarning")
def test_two_classes_may_be_graded_at_once():
    """Each run has a scheduler of its own, on any port that is free."""
    with socket.socket() as taken:
        with contextlib.suppress(OSError):  # somebody else has it: as good
            taken.bind(("127.0.0.1", 8787))
            taken.listen()
        with _pool(1, None, warnings.warn):
            pass


def test_no_setting_of_a_worker_can_make_the_grader_wait_for_ever(monkeypatch):
    """Dask's own worker takes no task once it has used much memory; its profiler can stop all threads of Python 3.11."""

    def settings(task):
        from distributed import get_worker

        worker = get_worker()
        return worker.memory_manager.memory_pause_fraction, sorted(worker.periodic_callbacks)

    monkeypatch.setattr(run, "grade_one", settings)
    with _pool(1, None, warnings.warn) as (submit, _):
        share, callbacks = submit(None).result(60)
    assert share is False
    assert "heartbeat" in callbacks, "expected the names of what a worker does again and again"
    assert not [name for name in callbacks if "profile" in name]


def test_a_notebook_leaves_no_event_loop_and_no_thread(course):
    """Dask gives each task a context of its own, and jupyter's tools make a loop in each."""
    with Store(database(course)) as store:
        [master] = masters(store.gradebook, "small", course / "exercises" / "small")
    task = Task("somebody", master, solved(course, RIGHT))

    def left():
        loops = (one for one in gc.get_objects() if issubclass(type(one), asyncio.BaseEventLoop))
        threads = (one for one in threading.enumerate() if one.name.startswith("asyncio_"))
        return [loop for loop in loops if not loop.is_closed()] + list(threads)

    before = left()
    with ThreadPoolExecutor(1) as worker:
        for _ in range(2):
            result = worker.submit(contextvars.copy_context().run, grade_one, task).result()
            assert result.status == "graded"
        assert [one for one in left() if one not in before] == []


def test_a_scheduler_that_is_not_there_or_has_no_workers_is_said(monkeypatch):
    with monkeypatch.context() as soon:
        soon.setattr(run, "SECONDS_TO_ANSWER", 0.5)
        with (
            pytest.raises(CourseError, match=r"no Dask scheduler answers at 'tcp://127\.0\.0\.1:1'"),
            _pool(1, "tcp://127.0.0.1:1", warnings.warn),
        ):
            pass
    monkeypatch.setattr(run, "SECONDS_TO_JOIN", 0.5)
    with (
        LocalCluster(n_workers=0, processes=False, dashboard_address="127.0.0.1:0") as cluster,
        pytest.raises(CourseError, match="no worker has joined"),
        _pool(1, cluster.scheduler_address, warnings.warn),
    ):
        pass


def test_a_worker_that_cannot_tell_what_it_enforces_is_said(monkeypatch):
    """One with an older package knows no such question; that it has one is no reason to end."""
    monkeypatch.setattr(confine, "missing", lambda: {}["no such name"])
    said = []
    with (
        LocalCluster(n_workers=1, processes=False, dashboard_address="127.0.0.1:0") as cluster,
        _pool(1, cluster.scheduler_address, said.append) as (_, width),
    ):
        assert width() > 0
    assert said == ["1 of 1 workers do not tell what they enforce; have they this version of the package?"]


@pytest.mark.skipif(sys.platform == "darwin", reason="its file system takes UTF-8 alone")
def test_a_folder_that_is_no_students_id_is_named_before_anything_is_graded(tmp_path):
    made = quick_course(tmp_path)
    (made / "submitted" / os.fsdecode(b"m\xfcller") / "small").mkdir(parents=True)
    with pytest.raises(CourseError, match=r"folder 'm\\udcfcller'.*rename the folder"):
        grade_class(made, "small", progress=False)
    with pytest.raises(CourseError, match="rename the folder"):
        status_rows(made, "small")
    with pytest.raises(CourseError, match="at most 128 characters"):
        checked(["a" * 129])


class Never:
    """A cluster whose workers are all gone."""

    def __call__(self, futures, timeout, return_when):
        time.sleep(0.01)
        raise TimeoutError


def test_a_cluster_that_loses_all_its_workers_is_said(tmp_path, monkeypatch):
    made = quick_course(tmp_path)
    hand_in(made, "ana", RIGHT)

    @contextlib.contextmanager
    def pool(workers, scheduler, say):
        yield lambda task: object(), lambda: 0

    monkeypatch.setattr(run, "_pool", pool)
    monkeypatch.setattr("distributed.wait", Never())
    with pytest.raises(
        CourseError, match=r"no worker has been there for 120 seconds; the same command goes on"
    ):
        grade_class(made, "small", progress=False)


def test_the_first_cell_installs_the_package_where_it_is_missing(tmp_path):
    """With an address in the site's settings the release begins with a cell that no gradebook knows, and grading is as before."""
    made = quick_course(tmp_path)
    assert read_notebook(made / "exercises" / "small" / "one.ipynb").cells[0].cell_type == "code"
    assert b"pip" not in (made / "exercises" / "small" / "one.ipynb").read_bytes()
    (tmp_path / "source" / "_config.yml").write_text(
        "repository:\n  url: https://github.com/some/course\n  branch: taught\n", encoding="utf-8"
    )
    generate(made)
    released = read_notebook(made / "exercises" / "small" / "one.ipynb")
    cell = released.cells[0]
    assert (cell.id, cell.metadata) == ("install", {})

    ran = []
    names = {"get_ipython": lambda: SimpleNamespace(run_line_magic=lambda *words: ran.append(words))}
    exec(cell.source, names)  # here the package is there
    assert ran == []
    with pytest.MonkeyPatch.context() as without:
        without.setattr(importlib.util, "find_spec", lambda name: None)
        exec(cell.source, names)
    package = "learning-to-remember @ git+https://github.com/some/course@taught"
    assert ran == [("pip", f"install --quiet '{package}'")]

    hand_in(made, "with-it", RIGHT)
    content = json.loads(solved(made, RIGHT))
    content["cells"] = content["cells"][1:]
    hand_in(made, "without-it", content=json.dumps(content).encode())
    told = grade_class(made, "small", progress=False)
    assert [(record.status, record.notes) for record in told.records] == [("graded", [])] * 2
    assert {tuple(grades.values()) for grades in points(made).values()} == {(2, 2)}


def test_a_renamed_notebook_is_found_where_it_is_the_only_one(tmp_path):
    made = quick_course(tmp_path)
    hand_in(made, "by-name", RIGHT, name="One (1).ipynb")
    hand_in(made, "by-cells", RIGHT, name="my solution, final.ipynb")
    for name in ("a.ipynb", "b.ipynb"):
        hand_in(made, "two", RIGHT, name=name)
    hand_in(made, "other", content=b'{"cells": []}', name="other.ipynb")
    told = grade_class(made, "small", progress=False)
    became = {record.student: (record.status, *record.notes) for record in told.records}
    assert became == {
        "by-cells": ("repaired", "the notebook was found in 'my solution, final.ipynb'"),
        "by-name": ("repaired", "the notebook was found in 'One (1).ipynb'"),
        "other": ("missing", "the notebook was not handed in"),
        "two": ("missing", "the notebook was not handed in"),
    }
    assert points(made)["by-cells"] == {"test-half": 2, "test-twice": 2}
    assert {row["status"] for row in status_rows(made, "small")} == {"repaired", "missing"}
    assert grade_class(made, "small", progress=False).graded == []


def test_what_the_tests_call_decides_whether_grades_stand(tmp_path, monkeypatch):
    """A case that is put right in the package changes no notebook, and all grades."""
    made = quick_course(tmp_path)
    hand_in(made, "ana", RIGHT)
    assert grade_class(made, "small", progress=False).graded == ["ana"]
    assert grade_class(made, "small", progress=False).graded == []
    before = points(made)
    monkeypatch.setattr(
        "classroom.grading.store.Master", lambda name, content: run.Master(name, content, "other")
    )
    assert [row["status"] for row in status_rows(made, "small")] == ["outdated"]
    # A worker with the package as it was grades by the old cases, which would then pass for the new ones.
    [record] = grade_class(made, "small", progress=False).records
    assert (record.status, record.digest) == ("not graded", "")
    assert record.notes == [
        "the worker that took it has another version of the course's package than the grader"
    ]
    monkeypatch.undo()
    assert [row["status"] for row in status_rows(made, "small")] == ["not graded"]
    assert grade_class(made, "small", progress=False).graded == ["ana"]
    assert points(made) == before


def test_what_is_not_enforced_is_said_when_grading_begins(tmp_path, monkeypatch, capsys):
    made = quick_course(tmp_path)
    hand_in(made, "ana", RIGHT)
    monkeypatch.setattr(confine, "_landlock", lambda: None)
    assert main(["--course", str(made), "grade", "small", "--workers", "1"]) == 0
    told = [line for line in capsys.readouterr().err.splitlines() if "is not bound here in:" in line]
    assert len(told) == 1
    assert "files" in told[0]


def test_what_could_not_be_graded_is_no_zero_and_keeps_what_a_person_gave(tmp_path):
    made = quick_course(tmp_path, source(PLAIN, words=3, plain=True))
    hand_in(made, "ana", RIGHT | {"words": "Since the gate is open."})
    grade_class(made, "small", progress=False)
    with open_gradebook(made) as gradebook:
        [grade] = [
            g for g in gradebook.find_submission_notebook("one", "small", "ana").grades if g.name == "words"
        ]
        grade.manual_score, grade.needs_manual_grade = 2.0, False
        gradebook.db.commit()
    with Store(database(made)) as store:
        [master] = masters(store.gradebook, "small", made / "exercises" / "small")
        store.save("small", [not_graded(Task("ana", master, None), "the workers ended")])
    [row] = status_rows(made, "small")
    assert (row["status"], row["points"], row["notes"]) == ("not graded", "", "the workers ended")
    [grade] = class_grades(made, "small")
    assert (grade.points, grade.status) == (None, "not graded")
    grade_class(made, "small", progress=False)
    [row] = status_rows(made, "small")
    assert (row["status"], row["points"], row["waiting"]) == ("graded", 6, 0)


def test_one_students_notebooks_are_written_together_or_not_at_all(tmp_path, monkeypatch):
    made = quick_course(tmp_path)
    with Store(database(made)) as store:
        [master] = masters(store.gradebook, "small", made / "exercises" / "small")
        result = not_graded(Task("ana", master, None), "why")
        save, saved = store._save, []

        def stops_at_the_second(assignment, result, submission):
            if saved:
                raise RuntimeError("killed")
            saved.append(result)
            save(assignment, result, submission)

        monkeypatch.setattr(store, "_save", stops_at_the_second)
        with pytest.raises(RuntimeError):
            store.save("small", [result, result])
    with Store(database(made)) as store:
        assert store.records("small") == {}


def test_a_file_that_cannot_be_read_has_a_page_that_says_why(tmp_path):
    made = quick_course(tmp_path)
    hand_in(made, "ana", RIGHT)
    grade_class(made, "small", progress=False)
    nbgrader(made, "generate_feedback", "small")
    hand_in(made, "ana", content=b"{")
    grade_class(made, "small", progress=False)
    nbgrader(made, "generate_feedback", "small", "--force")
    page = (made / "feedback" / "ana" / "small" / "one.html").read_text(encoding="utf-8")
    assert "This notebook could not be graded:" in page
    assert "def half" not in page


def test_a_course_among_pythons_files_is_refused(tmp_path, monkeypatch):
    made = quick_course(tmp_path)
    hand_in(made, "ana", RIGHT)
    monkeypatch.setattr(confine, "readable_paths", lambda: [str(tmp_path)])
    monkeypatch.setattr(confine, "_landlock", lambda: True)
    with pytest.raises(CourseError, match=r"lies below .* which a student's code may read"):
        grade_class(made, "small", progress=False)


def test_a_checkout_among_pythons_files_is_hidden(tmp_path, monkeypatch):
    """A container's working directory is often below /usr, and a clone may lie inside an environment's folder."""
    monkeypatch.setattr(sys, "prefix", str(ROOT.parent))
    readable = [Path(path) for path in confine.readable_paths()]
    assert not any(path in (ROOT, *ROOT.parents) for path in readable)
    beside = next(path for path in sorted(ROOT.parent.iterdir()) if path != ROOT)
    assert beside in readable


def test_two_graders_may_meet_at_a_student_whom_the_gradebook_does_not_know(tmp_path):
    made = quick_course(tmp_path)
    with Store(database(made)) as one, Store(database(made)) as other:
        [master] = masters(one.gradebook, "small", made / "exercises" / "small")
        result, find, looked = not_graded(Task("ana", master, None), "why"), one.gradebook.find_student, []

        def find_student(student):
            # Grading looks, and so does nbgrader; then the other one is faster.
            looked.append(student)
            if len(looked) == 2:
                other.save("small", [result])
            if len(looked) <= 2:
                raise MissingEntry
            return find(student)

        one.gradebook.find_student = find_student
        one.save("small", [result])
        assert len(looked) > 2
        assert list(one.records("small")) == [("ana", "one")]


def test_feedback_is_written_by_nbgrader_from_what_was_graded(course, graded):
    nbgrader(course, "generate_feedback", "small", "--student", "half-right", "--force")
    page = (course / "feedback" / "half-right" / "small" / "one.html").read_text(encoding="utf-8")
    assert "(Score: 2.0 / 2.0)" in page
    assert "(Score: 0.0 / 2.0)" in page


def test_of_a_failing_hidden_test_a_student_reads_neither_case_nor_numbers(course, graded):
    who = "knows-the-visible-test"
    kept = (course / "autograded" / who / "small" / "one.ipynb").read_text(encoding="utf-8")
    assert "twice(9.0) differs" in kept
    nbgrader(course, "generate_feedback", "small", "--student", who, "--force")
    page = (course / "feedback" / who / "small" / "one.html").read_text(encoding="utf-8")
    assert "A hidden test, which asks the same with other numbers, does not pass." in page
    assert [told for told in ("twice(9.0)", "18.0", "differs") if told in page] == []


def test_workers_of_a_cluster_need_no_folder_in_common(course, graded, tmp_path):
    """A scheduler and two workers, each in a folder of its own, with the points of this machine's own cluster."""
    dask, running = str(Path(sys.executable).with_name("dask")), []
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "start_new_session": True}
    # What the guide says.
    guide = (ROOT / "book" / "instructor-guide.md").read_text(encoding="utf-8")
    environment = os.environ | dict(re.findall(r"(DASK_DISTRIBUTED__\w+)=(\w+)", guide))
    assert environment["DASK_DISTRIBUTED__WORKER__DAEMON"] == "False"
    file = tmp_path / "scheduler.json"
    try:
        command = [
            dask,
            "scheduler",
            "--scheduler-file",
            str(file),
            "--port",
            "0",
            "--no-dashboard",
            "--host",
            "127.0.0.1",
        ]
        running.append(subprocess.Popen(command, cwd=tmp_path, **quiet))
        until = time.monotonic() + 60
        while not file.exists() or not file.read_text(encoding="utf-8").strip():
            assert time.monotonic() < until, "the scheduler does not start"
            time.sleep(0.1)
        address = json.loads(file.read_text(encoding="utf-8"))["address"]
        for name in ("one", "two"):
            (tmp_path / name).mkdir()
            command = [
                dask,
                "worker",
                address,
                "--nthreads",
                "1",
                "--no-dashboard",
                "--local-directory",
                str(tmp_path / name),
            ]
            running.append(subprocess.Popen(command, cwd=tmp_path / name, env=environment, **quiet))
        before = points(course)
        students = ["right", "half-right", "untouched", "binary"]
        summary = grade_class(
            course, "small", students, scheduler=address, timeout=10, again=True, progress=False
        )
        assert sorted(summary.graded) == sorted(students)
        assert points(course) == before
        assert {r.student: r.status for r in summary.records if r.student in students} == {
            student: ODD[student][2] for student in students
        }
    finally:
        for process in running:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)


def test_killed_at_random_moments_nothing_is_lost_and_nothing_graded_twice(course, graded):
    """The grader and all it started, killed with SIGKILL again and again, then left to finish."""
    names = [f"killed-{k:02}" for k in range(12)]
    for k, name in enumerate(names):
        hand_in(course, name, RIGHT if k % 2 else {"twice": RIGHT["twice"]})
    command = [
        sys.executable,
        "-m",
        "classroom",
        "--course",
        str(course),
        "grade",
        "small",
        "--students",
        *names,
    ]
    rng, kept, seen = random.Random(0), [], {}
    try:
        for _ in range(4):
            process = subprocess.Popen(
                command, start_new_session=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
            )
            with Store(database(course)) as store:
                until = time.monotonic() + 60
                # Not before something new was written, so that the kill hits a run that is under way.
                while time.monotonic() < until and process.poll() is None:
                    records = {
                        r.student: r.finished
                        for r in store.records("small").values()
                        if r.student in names and r.digest
                    }
                    store.gradebook.db.rollback()
                    if len(records) > len(seen):
                        break
                    time.sleep(0.05)
            time.sleep(rng.uniform(0, 0.5))
            with contextlib.suppress(ProcessLookupError):  # a fast machine is through by then
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            with Store(database(course)) as store:
                records = {
                    r.student: r.finished
                    for r in store.records("small").values()
                    if r.student in names and r.digest
                }
            assert all(records[name] == when for name, when in seen.items()), "graded twice"
            seen = records
            kept.append(len(seen))
        assert kept[0] < len(names), "the first kill came too late to show anything"
        last = grade_class(course, "small", names, workers=2, timeout=10, progress=False)
        assert len(last.graded) + len(last.kept) == len(names)
        assert set(last.kept) == set(seen)
        after = points(course)
        for k, name in enumerate(names):
            assert after[name] == {"test-half": 2 if k % 2 else 0, "test-twice": 2}
    finally:
        with open_gradebook(course) as gradebook:
            for name in {student.id for student in gradebook.students} & set(names):
                gradebook.remove_student(name)


def test_a_perfect_notebook_of_the_course_gets_all_its_points(tmp_path):
    course = make_course(tmp_path / "course")
    nbgrader(course, "generate_assignment", "lstm", "--force")
    folder = course / "submitted" / "perfect" / "lstm"
    folder.mkdir(parents=True)
    released = read_notebook(course / "exercises" / "lstm" / "vector_lstm.ipynb")
    solved = read_notebook(ROOT / "solutions" / "lstm" / "vector_lstm.py")
    nbformat.write(
        submission(Student("perfect"), released, solved, "vector_lstm"), folder / "vector_lstm.ipynb"
    )
    summary = grade_class(course, "lstm", workers=1, progress=False)
    assert [(r.notebook, r.status) for r in summary.records] == [
        ("scalar_lstm", "missing"),
        ("torch_lstm", "missing"),
        ("vector_lstm", "graded"),
    ]
    rows = [
        s for s in scores(course, "lstm")["perfect"] if s.notebook == "vector_lstm" and s.auto is not None
    ]
    assert rows
    assert all(score.auto == score.most for score in rows)
    executed = json.loads(
        (course / "autograded" / "perfect" / "lstm" / "vector_lstm.ipynb").read_text("utf-8")
    )
    assert not any(
        output["output_type"] == "error" for cell in executed["cells"] for output in cell.get("outputs", [])
    )

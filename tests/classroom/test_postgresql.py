"""The gradebook in PostgreSQL: every command writes to it and reads from it, and neither a lost connection nor a killed grader
loses a grade. The server is started here."""

import os
import signal
import subprocess
import sys
import threading
import time

import pytest
from small import RIGHT, hand_in, small_course

from classroom.__main__ import main
from classroom.course import nbgrader
from classroom.errors import CourseError
from classroom.gradebook import connect, database, open_gradebook, scores
from classroom.grading import grade_class
from classroom.grading.status import status_rows
from classroom.grading.store import Store
from classroom.grading.work import GRADED, Result
from classroom.postgresql import programs, server

if programs() is None and not os.environ.get("CI"):
    pytest.skip(
        "PostgreSQL is not installed (on Debian: apt-get install postgresql)", allow_module_level=True
    )

pytestmark = [pytest.mark.pipeline]

NAME = "Grades"
ANSWERS = {
    "both": (RIGHT, (2, 2)),
    "half": (RIGHT | {"twice": "def twice(x):\n    return x"}, (2, 0)),
    "none": ({}, (0, 0)),
    'Ünï, "Çödé" 学生': (RIGHT | {"half": "import os\nos._exit(0)"}, (0, 0)),
}


@pytest.fixture(scope="module")
def postgresql():
    with server() as started:
        yield started


@pytest.fixture(scope="module")
def course(postgresql, tmp_path_factory):
    course = small_course(tmp_path_factory.mktemp("postgresql"), postgresql.create(NAME))
    for student, (answers, _) in ANSWERS.items():
        hand_in(course, student, answers)
    assert main(["--course", str(course), "grade", "small", "--timeout", "10"]) == 0
    return course


def points(course):
    return {
        who: tuple(score.auto for score in sorted(rows, key=lambda score: score.question))
        for who, rows in scores(course, "small").items()
    }


def test_the_configuration_says_where_the_gradebook_is_and_nothing_else_is_written(course, postgresql):
    assert database(course) == postgresql.url(NAME)
    assert not (course / "gradebook.db").exists()
    assert points(course) == {student: expected for student, (_, expected) in ANSWERS.items()}


def test_an_environment_variable_names_it_for_nbgraders_commands_and_for_ours(
    course, postgresql, monkeypatch
):
    configuration = course.parent / "source"
    monkeypatch.setenv("COURSE_DB", postgresql.url(NAME))
    assert database(configuration) == postgresql.url(NAME)
    monkeypatch.delenv("COURSE_DB")
    assert database(configuration) == f"sqlite:///{configuration / 'gradebook.db'}"


def test_a_folder_made_from_a_course_never_writes_to_its_gradebook(course, postgresql, monkeypatch, tmp_path):
    from classroom.course import make_course

    monkeypatch.setenv("COURSE_DB", postgresql.url(NAME))
    other = make_course(tmp_path / "other", course.parent / "source")
    assert database(other) == f"sqlite:///{other / 'gradebook.db'}"


def test_grade_and_status_by_option(course, postgresql, capsys, tmp_path):
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    for name in ("submitted", "exercises"):
        (elsewhere / name).symlink_to(course / name)
    option = ["--db", postgresql.url(NAME)]
    assert main(["--course", str(elsewhere), "grade", "small", *option]) == 0
    assert f"0 submissions graded, {len(ANSWERS)} stood already" in capsys.readouterr().out
    assert main(["--course", str(elsewhere), "status", "small", *option]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 1 + len(ANSWERS)
    assert {row["student"]: row["points"] for row in status_rows(course, "small")} == {
        student: sum(expected) for student, (_, expected) in ANSWERS.items()
    }


def test_nbgraders_own_commands_feedback_and_export(course, tmp_path):
    nbgrader(course, "autograde", "small", "--student", "half", "--force")
    assert points(course)["half"] == (2, 0)
    nbgrader(course, "generate_feedback", "small", "--student", "half", "--force")
    page = (course / "feedback" / "half" / "small" / "one.html").read_text(encoding="utf-8")
    assert "(Score: 2.0 / 2.0)" in page
    nbgrader(course, "export", "--to", str(tmp_path / "grades.csv"))
    table = (tmp_path / "grades.csv").read_text(encoding="utf-8")
    assert "half" in table
    assert "学生" in table


CUT = """
SELECT pid, state, query, pg_terminate_backend(pid) AS cut FROM pg_stat_activity
WHERE datname = :database AND pid <> pg_backend_pid() AND state <> 'idle'
"""


def test_connections_cut_while_grades_are_written_lose_none(course, postgresql):
    """Points written again and again, while another session ends the writer's connection in the middle of it."""
    stop, cut, written = threading.Event(), [], []

    def cutting():
        spared = 0
        while not stop.is_set():
            # Not before the last one was got over: cut fast enough, nobody would ever come to an end.
            if len(written) >= spared:
                found = postgresql.execute(CUT, database=NAME)
                cut.extend(found)
                spared = len(written) + (1 if found else 0)
            stop.wait(0.002)

    thread, names = threading.Thread(target=cutting), []
    try:
        with Store(database(course)) as store:
            thread.start()
            while len(cut) < 5:
                k = len(names)
                assert k < 500
                names.append(f"cut-{k:03}")
                given = {"test-half": 2.0 * (k % 2), "test-twice": float(k % 3)}
                store.save("small", [Result(names[k], "one", f"digest {k}", GRADED, points=given)])
                written.append(names[k])
            stop.set()
            thread.join()
            records = store.records("small")
        assert all(row["cut"] for row in cut)
        after = points(course)
        for k, name in enumerate(names):
            assert after[name] == (2.0 * (k % 2), float(k % 3))
            assert records[name, "one"].digest == f"digest {k}"
    finally:
        stop.set()
        _forget(course, names)


def test_a_database_that_is_gone_is_said_and_what_was_written_stands(course, postgresql):
    url = postgresql.copy(NAME, "short")
    with Store(url, patience=0.2) as store:
        before = store.records("small")
        postgresql.execute("ALTER DATABASE short ALLOW_CONNECTIONS false")
        postgresql.execute(CUT.partition("AND state")[0], database="short")
        with pytest.raises(
            CourseError, match=r"has not answered for 0 seconds.*what was written before stands"
        ):
            store.save("small", [Result("both", "one", "another", GRADED)])
        postgresql.execute("ALTER DATABASE short ALLOW_CONNECTIONS true")
        assert store.records("small") == before


def test_a_killed_grader_goes_on_and_a_regrade_keeps_a_persons_points(course):
    names = [f"killed-{k}" for k in range(6)]
    for k, name in enumerate(names):
        hand_in(course, name, RIGHT if k % 2 else {"twice": RIGHT["twice"]})
    command = [sys.executable, "-m", "classroom", "--course", str(course), "grade", "small"]
    command += ["--workers", "1", "--students", *names]
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "start_new_session": True}

    def finished():
        with Store(database(course)) as store:
            return {r.student: r.finished for r in store.records("small").values() if r.student in names}

    with open_gradebook(course) as gradebook:
        gradebook.find_grade("test-half", "one", "small", "both").manual_score = 1.5
        gradebook.find_comment("half", "one", "small", "both").manual_comment = "neat"
        gradebook.db.commit()
    # A kernel that dies now must not leave the old points standing.
    hand_in(course, "both", RIGHT | {"half": "import os\nos._exit(1)"})
    try:
        process = subprocess.Popen(command, **quiet)
        until = time.monotonic() + 120
        while not finished():
            assert time.monotonic() < until
            assert process.poll() is None
            time.sleep(0.05)
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        seen = finished()
        assert len(seen) < len(names), "the kill came too late to show anything"
        last = grade_class(course, "small", ["both", *names], workers=1, timeout=10, progress=False)
        assert set(last.kept) == set(seen)
        assert {name: finished()[name] for name in seen} == seen
        after = points(course)
        for k, name in enumerate(names):
            assert after[name] == (2 if k % 2 else 0, 2)
        with open_gradebook(course) as gradebook:
            grade = gradebook.find_grade("test-half", "one", "small", "both")
            assert (grade.auto_score, grade.manual_score, grade.needs_manual_grade) == (0, 1.5, True)
            assert gradebook.find_comment("half", "one", "small", "both").manual_comment == "neat"
    finally:
        _forget(course, names)


def _forget(course, names):
    with open_gradebook(course) as gradebook:
        for name in {student.id for student in gradebook.students} & set(names):
            gradebook.remove_student(name)


@pytest.mark.parametrize(
    ("url", "says"),
    [
        ("nonsense", "'nonsense' names no database; expected sqlite"),
        ("oracles://x/y", "names no database"),
        ("postgresql+pg8000://x/y", "needs the Python package 'pg8000'"),
        (
            "postgresql+psycopg://me:secret@127.0.0.1:1/x",
            r"me:\*\*\*@127.0.0.1:1/x cannot be opened: .*refused",
        ),
        ("sqlite:////nowhere/gradebook.db", "no gradebook at /nowhere/gradebook.db"),
    ],
)
def test_a_database_that_is_none_is_named(url, says, tmp_path, capsys):
    with pytest.raises(CourseError, match=says) as caught:
        connect(url)
    assert "secret" not in str(caught.value)
    assert main(["--course", str(tmp_path), "status", "small", "--db", url]) == 2
    assert "classroom: " in capsys.readouterr().err

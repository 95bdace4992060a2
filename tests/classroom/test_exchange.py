"""A term with an exchange, by nbgrader's own commands: release, fetch, submit, collect, grade, give back.

The instructor and the student are two folders and two homes; what any of their processes writes is recorded.
"""

import csv
import os
import re
import subprocess
import sys
import textwrap
from dataclasses import dataclass
from pathlib import Path

import nbformat
import pytest

from classroom.course import make_course, read_notebook, sources
from classroom.gradebook import Score, scores
from classroom.sample import Student, submission

pytestmark = [
    pytest.mark.pipeline,
    pytest.mark.skipif(sys.platform == "win32", reason="nbgrader's exchange does not run on Windows"),
]

COURSE = "learning-to-remember"
NOTEBOOK = "scalar_lstm"  # one is enough here, and quick

# Loaded by every Python process of the term, kernels too: notes each path that is written, made or removed.
RECORDER = """
import os, sys

def _start():
    log = os.open(os.environ["WRITES"], os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    writing = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
    made = {"os.mkdir", "os.rename", "os.remove", "os.rmdir", "os.link", "os.truncate", "os.chmod", "os.chown",
            "sqlite3.connect"}

    def hook(event, args):
        if event == "open":
            if not (args[2] or 0) & writing:
                return
            paths = args[:1]
        elif event in made:
            paths = args[: 2 if event in ("os.rename", "os.link") else 1]
        else:
            return
        for path in paths:
            if isinstance(path, (str, bytes, os.PathLike)):
                text = os.fsdecode(path).removeprefix("file:").split("?")[0]
                if text and text != ":memory:":
                    os.write(log, (os.path.abspath(text) + "\\n").encode())

    sys.addaudithook(hook)

_start()
"""


@dataclass
class Person:
    """Somebody with a folder to work in and a home of their own."""

    folder: Path
    environment: dict[str, str]

    def nbgrader(self, command: str, *arguments: str) -> str:
        """Run an nbgrader command; gives what it printed, and fails the test if it fails."""
        done = subprocess.run(
            [sys.executable, "-m", "nbgrader", command, *arguments],
            cwd=self.folder,
            env=self.environment,
            capture_output=True,
            text=True,
            timeout=180,
        )
        output = done.stdout + done.stderr
        assert done.returncode == 0, f"nbgrader {command} {' '.join(arguments)}\n{output[-3000:]}"
        return output


@dataclass
class Term:
    """What there is at the end of the term."""

    root: Path
    exchange: Path
    instructor: Person
    student: Person
    listed: str
    fetched: dict[str, bytes]
    validated: str
    table: dict[str, list[Score]]
    exported: list[dict[str, str]]

    def writes(self) -> list[Path]:
        return [Path(line) for line in (self.root / "writes.log").read_text(encoding="utf-8").splitlines()]


def person(root: Path, name: str, **more: str) -> Person:
    home = root / "homes" / name
    for folder in (home, root / "temporary", root / "recorder"):
        folder.mkdir(parents=True, exist_ok=True)
    (root / "recorder" / "sitecustomize.py").write_text(RECORDER, encoding="utf-8")
    # Nothing of the tester's own Jupyter: what is not set here has its default, under the home.
    kept = {
        k: v for k, v in os.environ.items() if not k.startswith(("JUPYTER", "IPYTHON", "XDG", "NBGRADER"))
    }
    environment = {
        **kept,
        "HOME": str(home),
        "TMPDIR": str(root / "temporary"),
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', '')}",
        "PYTHONPATH": str(root / "recorder"),
        "PYTHONDONTWRITEBYTECODE": "1",
        "PYTHONWARNINGS": "ignore",
        "WRITES": str(root / "writes.log"),
        **more,
    }
    folder = root / name
    folder.mkdir(exist_ok=True)
    return Person(folder, environment)


@pytest.fixture(scope="module")
def term(tmp_path_factory) -> Term:
    root = tmp_path_factory.mktemp("term").resolve()
    exchange = root / "exchange"
    instructor = person(root, "instructor", NBGRADER_EXCHANGE=str(exchange))
    make_course(instructor.folder)
    for notebook in (instructor.folder / "solutions" / "lstm").glob("*.ipynb"):
        if notebook.stem != NOTEBOOK:
            notebook.unlink()
    instructor.nbgrader("generate_assignment", "lstm")
    instructor.nbgrader("release_assignment", "lstm")

    student = person(root, "student")
    # The whole of a student's configuration: which course, and where its exchange is.
    settings = Path(student.environment["HOME"]) / ".jupyter" / "nbgrader_config.py"
    settings.parent.mkdir()
    settings.write_text(
        textwrap.dedent(f"""\
            c = get_config()
            c.CourseDirectory.course_id = {COURSE!r}
            c.Exchange.root = {str(exchange)!r}
            """),
        encoding="utf-8",
    )
    listed = student.nbgrader("list")
    student.nbgrader("fetch_assignment", "lstm")
    folder = student.folder / "lstm"
    fetched = {path.name: path.read_bytes() for path in folder.iterdir()}

    source = next(path for path in sources("lstm") if path.stem == NOTEBOOK)
    path = folder / f"{NOTEBOOK}.ipynb"
    # Handed in twice: first as it came, then solved. The later one counts.
    student.nbgrader("submit", "lstm", "--student", "ada")
    nbformat.write(submission(Student("ada"), read_notebook(path), read_notebook(source), NOTEBOOK), path)
    validated = student.nbgrader("validate", str(path))
    student.nbgrader("submit", "lstm", "--student", "ada")

    instructor.nbgrader("collect", "lstm")
    instructor.nbgrader("autograde", "lstm")
    instructor.nbgrader("generate_feedback", "lstm")
    instructor.nbgrader("release_feedback", "lstm")
    student.nbgrader("fetch_feedback", "lstm")
    instructor.nbgrader("export", "--to", "grades.csv")
    with (instructor.folder / "grades.csv").open(encoding="utf-8", newline="") as file:
        exported = list(csv.DictReader(file))
    table = scores(instructor.folder, "lstm")
    return Term(root, exchange, instructor, student, listed, fetched, validated, table, exported)


def test_student_sees_the_assignment_and_gets_the_release(term):
    assert re.search(rf"{COURSE}\s+lstm", term.listed)
    released = term.instructor.folder / "exercises" / "lstm"
    assert term.fetched == {path.name: path.read_bytes() for path in released.iterdir()}
    assert list(term.fetched) == [f"{NOTEBOOK}.ipynb"]


def test_validate_accepts_the_solved_notebook(term):
    assert "Success! Your notebook passes all the tests." in term.validated


def test_collect_takes_the_latest(term):
    inbound = [path.name.split("+")[0] for path in (term.exchange / COURSE / "inbound").iterdir()]
    assert inbound == ["ada", "ada"]
    assert [path.name for path in (term.instructor.folder / "submitted").iterdir()] == ["ada"]
    collected = term.instructor.folder / "submitted" / "ada" / "lstm"
    assert {path.name for path in collected.iterdir()} == {
        f"{NOTEBOOK}.ipynb",
        "timestamp.txt",
        "submission_secret.txt",
    }
    own = term.student.folder / "lstm" / f"{NOTEBOOK}.ipynb"
    assert (collected / own.name).read_bytes() == own.read_bytes()
    assert term.fetched[own.name] != own.read_bytes()


def test_the_collected_submission_gets_its_points(term):
    assert list(term.table) == ["ada"]
    tested = [score for score in term.table["ada"] if score.question.startswith("test-")]
    assert len(tested) == 6
    assert all(score.auto == score.most for score in tested)
    words = [score for score in term.table["ada"] if score not in tested]
    assert len(words) == 2
    assert all(score.waiting for score in words)


def test_feedback_comes_back_to_the_student(term):
    (page,) = (term.student.folder / "lstm" / "feedback").rglob(f"{NOTEBOOK}.html")
    assert "test-sigmoid" in page.read_text(encoding="utf-8")


def test_export_gives_the_gradebooks_points(term):
    (row,) = term.exported
    assert row["student_id"] == "ada"
    assert float(row["score"]) == sum(score.points for score in term.table["ada"]) > 0
    assert float(row["max_score"]) == sum(score.most for score in term.table["ada"])


def test_nothing_is_written_outside(term):
    written = term.writes()
    # The record is one: it holds what must have been written, by the command line and by a kernel.
    assert term.instructor.folder / "gradebook.db" in written
    assert any(path.is_relative_to(term.exchange / COURSE / "inbound") for path in written)
    assert any(path.name == "history.sqlite" for path in written)
    outside = {
        path for path in written if not path.is_relative_to(term.root) and not path.is_relative_to("/dev")
    }
    assert outside == set()


def test_without_a_named_exchange_release_stays_in_the_course(term):
    environment = {k: v for k, v in term.instructor.environment.items() if k != "NBGRADER_EXCHANGE"}
    Person(term.instructor.folder, environment).nbgrader("release_assignment", "lstm")
    inside = term.instructor.folder / "exchange" / COURSE / "outbound" / "lstm"
    assert (inside / f"{NOTEBOOK}.ipynb").is_file()
    outside = {
        path
        for path in term.writes()
        if not path.is_relative_to(term.root) and not path.is_relative_to("/dev")
    }
    assert outside == set()

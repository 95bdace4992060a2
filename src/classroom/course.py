"""Course directories: where nbgrader keeps a class's sources, release, submissions, grades and feedback.

The repository's root is one, for a real class. The functions here lay out others, for the sample class and for tests,
that use the same sources and the same configuration and share nothing else with it.
"""

import os
import queue
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import jupytext
import nbformat
from nbformat import NotebookNode
from traitlets.config import Config, PyFileConfigLoader

from classroom.errors import CourseError

# What `classroom.many` prints before the name of a student whom it is done with.
DONE = "done: "

ROOT = Path(__file__).resolve().parents[2]


def assignments(root: Path = ROOT) -> list[str]:
    """Names of the assignments that the course has sources of."""
    return sorted(path.name for path in (root / "solutions").iterdir() if any(path.glob("*.py")))


def sources(assignment: str, root: Path = ROOT) -> list[Path]:
    """Text notebooks of an assignment.

    Raises:
        CourseError: if there is no such assignment.
    """
    found = sorted((root / "solutions" / assignment).glob("*.py"))
    if not found:
        raise CourseError(
            f"no assignment {assignment!r} in {root / 'solutions'}; there are: {', '.join(assignments(root))}"
        )
    return found


def read_notebook(path: Path) -> NotebookNode:
    """A notebook of either kind, text or JSON.

    Raises:
        CourseError: if the file is missing or no notebook.
    """
    try:
        if path.suffix == ".py":
            return jupytext.read(path)
        return nbformat.read(path, as_version=4)
    except FileNotFoundError:
        raise CourseError(f"no notebook {path}") from None
    except (ValueError, UnicodeDecodeError, nbformat.reader.NotJSONError) as error:
        reason = " ".join(str(error).split())[:100]
        raise CourseError(f"{path} is no notebook ({reason})") from None


def make_course(path: Path, root: Path = ROOT, db_url: str | None = None) -> Path:
    """Lay out a course directory at `path`: the configuration, the autotests, the sources as notebooks.

    Sources that did not change are left as they are; submissions, grades and feedback are not touched.

    Args:
        path: the folder.
        root: the course whose sources and configuration it gets.
        db_url: the database of its gradebook; `gradebook.db` in the folder by default, whichever the other course uses.
    """
    path.mkdir(parents=True, exist_ok=True)
    config = f"c = get_config()\nload_subconfig({str(root / 'nbgrader_config.py')!r})\n"
    # COURSE_DB is the gradebook of a real class.
    config += (
        f"c.CourseDirectory.db_url = {db_url!r}\n" if db_url else "c.CourseDirectory.pop('db_url', None)\n"
    )
    _write_if_new(path / "nbgrader_config.py", config)
    _write_if_new(path / "autotests.yml", (root / "autotests.yml").read_text(encoding="utf-8"))
    for assignment in assignments(root):
        for source in sources(assignment, root):
            target = path / "solutions" / assignment / f"{source.stem}.ipynb"
            if not target.exists() or target.stat().st_mtime < source.stat().st_mtime:
                target.parent.mkdir(parents=True, exist_ok=True)
                jupytext.write(jupytext.read(source), target)
    return path


def _write_if_new(path: Path, text: str) -> None:
    if not path.exists() or path.read_text(encoding="utf-8") != text:
        path.write_text(text, encoding="utf-8")


def nbgrader(course: Path, command: str, *arguments: str) -> str:
    """Run one of nbgrader's own commands in a course directory.

    Returns:
        What it printed.

    Raises:
        CourseError: if the command fails; holds the end of what it printed.
    """
    done = subprocess.run(
        [sys.executable, "-m", "nbgrader", command, *arguments],
        cwd=course,
        env=_environment(),
        capture_output=True,
        text=True,
        encoding="utf-8",
        errors="replace",
    )
    output = done.stdout + done.stderr
    if done.returncode:
        raise CourseError(f"nbgrader {command} {' '.join(arguments)} failed:\n{_tail(output)}")
    return output


def _environment() -> dict[str, str]:
    """The environment with this Python's programs first, and its warnings off."""
    environment = {**os.environ, "PYTHONWARNINGS": "ignore"}
    environment["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{environment.get('PATH', '')}"
    return environment


def _tail(output: str) -> str:
    """The end of what a command printed, without its warnings."""
    return "\n".join(line for line in output.splitlines() if "WARNING" not in line)[-2000:]


def autograde(course: Path, assignment: str, students: list[str], workers: int = 2) -> Iterator[str]:
    """Run the tests of each student's submission, a few at a time; gives a student's name when it is done.

    Raises:
        CourseError: if the assignment was not generated.
    """
    from classroom.grading.run import grade_each

    yield from grade_each(course, assignment, students, workers)


def write_feedback(course: Path, assignment: str, students: list[str], workers: int = 2) -> Iterator[str]:
    """Write each student's feedback pages from what the gradebook holds now; gives a student's name when it is done.

    Raises:
        CourseError: if nbgrader fails on a submission.
    """
    yield from _for_each("generate_feedback", course, assignment, students, workers)


def _for_each(
    command: str, course: Path, assignment: str, students: list[str], workers: int
) -> Iterator[str]:
    """A process a worker, each for its share of the students."""
    shares = [share for k in range(workers) if (share := students[k::workers])]
    told: queue.Queue[str | CourseError | None] = queue.Queue()

    def run(share: list[str]) -> None:
        try:
            with (
                tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace") as log,
                subprocess.Popen(
                    [sys.executable, "-m", "classroom.many", command, assignment, *share],
                    cwd=course,
                    env=_environment(),
                    stdout=subprocess.PIPE,
                    stderr=log,
                    text=True,
                    encoding="utf-8",
                    errors="replace",
                ) as process,
            ):
                assert process.stdout is not None
                for line in process.stdout:
                    if line.startswith(DONE):
                        told.put(line.removeprefix(DONE).rstrip("\n"))
                if process.wait():
                    log.seek(0)
                    told.put(CourseError(f"nbgrader {command} {assignment} failed:\n{_tail(log.read())}"))
        finally:
            told.put(None)

    with ThreadPoolExecutor(max(len(shares), 1)) as pool:
        running = len([pool.submit(run, share) for share in shares])
        while running:
            came = told.get()
            if came is None:
                running -= 1
            elif isinstance(came, CourseError):
                raise came
            else:
                yield came


def configuration(course: Path) -> Config:
    """What a course's `nbgrader_config.py` sets; nothing if there is none.

    Args:
        course: its folder.
    """
    if not (course / "nbgrader_config.py").exists():
        return Config()
    return PyFileConfigLoader("nbgrader_config.py", path=str(course)).load_config()

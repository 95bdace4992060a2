"""The same notebook under otter-grader: its questions in otter's format of tests, and what a student is told.

otter-grader pins versions of its own, so it lives in an environment apart, whose Python is named by `--otter` or OTTER_PYTHON:

    python -m venv otter && otter/bin/pip install otter-grader ipykernel

What is compared is `otter.execute.grade_notebook`, otter's own way to grade a notebook on the machine it is called on: the
tests run in the process that runs the student's cells. Its other way, a Docker container for each submission, starts a
container besides; nothing here says how long that takes.
"""

import json
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import nbformat

from classroom.course import ROOT, read_notebook
from classroom.grading import Master, Task, grade_one
from classroom.sample import submission
from classroom.students import CLASS
from refcells.autotest.compare import TOLERANCE
from refcells.autotest.verdict import question

__all__ = ["compare", "tests_of"]

NOTEBOOK = "scalar_lstm"
# The functions of the notebook that a question of the catalogue judges by calling them.
ASKED = ("sigmoid", "lstm_gates", "lstm_update", "lstm_step", "lstm_forward")

HEAD = '''from otter.test_files import test_case

OK_FORMAT = False
name = {name!r}
points = {points!r}


def same(came, want):
    """Whether two results are the same numbers within the course's tolerance."""
    if isinstance(want, (list, tuple)):
        return len(came) == len(want) and all(map(same, came, want))
    return abs(came - want) <= {tolerance!r} * max(1.0, abs(want))
'''
CASE = """

@test_case(hidden={hidden!r}, failure_message={message!r})
def case_{number}({name}):
    assert same({name}(*{arguments!r}), {expected!r})
"""

# What runs in otter's own environment: each notebook, one after another.
RUN = """
import glob, json, sys, time
from otter.execute import grade_notebook
told = []
for path in sorted(glob.glob("submitted/*.ipynb")):
    began = time.perf_counter()
    results = grade_notebook(path, tests_glob=sorted(glob.glob("tests/*.py")), test_dir="tests", cwd=".")
    told.append({"path": path, "seconds": time.perf_counter() - began, "points": results.total, "says": results.summary()})
print("RESULT" + json.dumps(told))
"""


def tests_of(name: str, points: int) -> str:
    """A question of the catalogue as a test file of otter's: its cases with the visible and with a hidden seed.

    Args:
        name: of the function, such as "lstm_step".
        points: of the question.
    """
    asked = question(f"scalar.{name}")
    text = HEAD.format(name=name, points=points, tolerance=TOLERANCE)
    number = 0
    for seed in (0, 1):
        for case in asked.cases(seed):
            text += CASE.format(
                hidden=bool(seed),
                # otter's hint stands in the test: it is the same for every mistake.
                message=f"{name} is not right yet with {case.label}.",
                number=number,
                name=name,
                arguments=case.arguments,
                expected=asked.run(asked.reference, case),
            )
            number += 1
    return text


def compare(say: Callable[[str], None], python: str | None) -> dict[str, Any] | None:
    """Grade the sample class's notebooks with both; None, and a message, where otter-grader is not installed."""
    if (problem := _missing(python)) is not None:
        say(f"skipped: {problem}")
        return None
    assert python is not None
    students = CLASS["lstm"]
    source = read_notebook(ROOT / "solutions" / "lstm" / f"{NOTEBOOK}.py")
    released = read_notebook(ROOT / "exercises" / "lstm" / f"{NOTEBOOK}.ipynb")
    with tempfile.TemporaryDirectory(prefix="otter-") as scratch:
        folder = Path(scratch)
        (folder / "tests").mkdir()
        (folder / "submitted").mkdir()
        for name in ASKED:
            (folder / "tests" / f"{name}.py").write_text(tests_of(name, 1), encoding="utf-8")
        works = [submission(student, released, source, NOTEBOOK) for student in students]
        for student, work in zip(students, works, strict=True):
            plain = nbformat.from_dict(work)
            # The course's own test cells stay behind; otter brings its own.
            plain.cells = [cell for cell in plain.cells if not cell.metadata.get("nbgrader", {}).get("grade")]
            nbformat.write(plain, folder / "submitted" / f"{student.name}.ipynb")
        done = subprocess.run(
            [python, "-c", RUN], cwd=folder, capture_output=True, text=True, encoding="utf-8", check=False
        )
        if done.returncode:
            say(f"skipped: otter-grader failed: {done.stderr[-500:]}")
            return None
        line = next(line for line in done.stdout.splitlines() if line.startswith("RESULT"))
        theirs = {Path(row["path"]).stem: row for row in json.loads(line.removeprefix("RESULT"))}
    # The release as it is committed: what it shows, without the hidden tests. Each question is asked once more for them.
    master = Master(NOTEBOOK, nbformat.writes(released))
    ours: dict[str, Any] = {}
    for student, work in zip(students, works, strict=True):
        began = time.perf_counter()
        result = grade_one(Task(student.name, master, nbformat.writes(work).encode()))
        ours[student.name] = {
            "seconds": time.perf_counter() - began,
            "says": _told(result.executed or ""),
        }
    wrong = [student.name for student in students if any(edit.notebook == NOTEBOOK for edit in student.edits)]
    named = sum("This is what comes out when" in ours[name]["says"] for name in wrong)
    example = wrong[0]
    # The first of ours starts the server that kernels are forked from.
    each = {
        "otter": sum(row["seconds"] for row in theirs.values()) / len(theirs),
        "here": sum(row["seconds"] for row in list(ours.values())[1:]) / (len(ours) - 1),
    }
    say(f"seconds each, one after another: otter {each['otter']:.2f}, here {each['here']:.2f}")
    say(f"wrong notebooks {len(wrong)}; the mistake was named here in {named}")
    return {
        "version": _version(python),
        "notebook": NOTEBOOK,
        "submissions": len(students),
        "seconds": {name: round(value, 3) for name, value in each.items()},
        "wrong": len(wrong),
        "found": {
            "otter": sum(theirs[name]["points"] < theirs["perfect"]["points"] for name in wrong),
            "here": sum("Not right yet" in ours[name]["says"] for name in wrong),
        },
        "named": named,
        "example": {
            "student": example,
            "otter": _first_problem(theirs[example]["says"]),
            "here": ours[example]["says"].partition("\n\n")[0],
        },
    }


def _told(executed: str) -> str:
    """The messages of the tests that failed."""
    nb = nbformat.reads(executed, as_version=4)
    errors = [
        output.evalue
        for cell in nb.cells
        if cell.cell_type == "code" and cell.metadata.get("nbgrader", {}).get("grade")
        for output in cell.outputs
        if output.output_type == "error"
    ]
    return "\n\n".join(f"Not right yet. {error.removeprefix('Not right yet. ')}" for error in errors)


def _first_problem(summary: str) -> str:
    """The part of otter's summary about the first case that failed, without the test's own source."""
    lines = [line.rstrip() for line in summary.splitlines()]
    at = next((k for k, line in enumerate(lines) if "Test case failed" in line), 0)
    message = next((line for line in reversed(lines[:at]) if "message:" in line), "")
    told = [message.strip(), *(line.strip() for line in lines[at:] if "Error:" in line)]
    return "\n".join(line[:200] for line in told[:2] if line)


def _missing(python: str | None) -> str | None:
    if python is None:
        return "no Python with otter-grader was named (--otter PATH, or OTTER_PYTHON)"
    try:
        done = subprocess.run([python, "-c", "import otter, ipykernel"], capture_output=True, check=False)
    except OSError as error:
        return f"{python}: {error.strerror}"
    return "otter-grader or ipykernel is not installed there" if done.returncode else None


def _version(python: str) -> str:
    code = "from importlib.metadata import version; print(version('otter-grader'))"
    return subprocess.run([python, "-c", code], capture_output=True, text=True, check=True).stdout.strip()

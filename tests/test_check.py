"""`python -m refcells.check`: points and hints for a student, one clear line for anything else."""

import subprocess
import sys
from pathlib import Path

import nbformat
import pytest

from classroom.course import ROOT, read_notebook
from classroom.sample import CLASS, Student, submission
from refcells import check

RELEASE = ROOT / "exercises" / "lstm"


def handed_in(student, notebook, path):
    released = read_notebook(RELEASE / f"{notebook}.ipynb")
    source = read_notebook(ROOT / "solutions" / "lstm" / f"{notebook}.py")
    nbformat.write(submission(student, released, source, notebook), path)
    return path


def run(*arguments):
    done = subprocess.run(
        [sys.executable, "-m", "refcells.check", *map(str, arguments)], capture_output=True, text=True
    )
    return done.returncode, done.stdout, done.stderr


def test_a_right_notebook_gets_all_points(tmp_path):
    path = handed_in(Student("x"), "scalar_lstm", tmp_path / "scalar_lstm.ipynb")
    before = path.read_bytes()
    code, out, err = run(path)
    assert code == 0, out + err
    assert err == ""
    assert "14 of 14 points by tests; 6 more by a person." in out
    assert "words-content-control     - / 3   a person reads this one" in out
    assert path.read_bytes() == before


def test_a_mistake_is_named_beside_its_question(tmp_path):
    student = next(student for student in CLASS["lstm"] if student.name == "h-without-tanh")
    code, out, _ = run(handed_in(student, "scalar_lstm", tmp_path / "scalar_lstm.ipynb"))
    assert code == 1
    lines = out.splitlines()
    at = next(k for k, line in enumerate(lines) if line.startswith("test-update"))
    assert lines[at].split() == ["test-update", "0", "/", "3", "not", "yet"]
    assert "h is o * c, without the tanh" in "\n".join(lines[at : at + 6])
    assert "7 of 14 points by tests" in out


def test_the_untouched_release_gets_nothing_and_says_why():
    code, out, _ = run(RELEASE / "vector_lstm.ipynb")
    assert code == 1
    assert "0 of 20 points by tests" in out
    assert out.count("it is not written yet") == 7
    assert not list(RELEASE.glob("*.tmp"))


@pytest.mark.parametrize(
    ("name", "content", "says"),
    [
        ("nothing.ipynb", None, "there is no file"),
        ("folder.ipynb", "folder", "is a folder"),
        ("text.py", b"x = 1", "is no .ipynb file"),
        ("empty.ipynb", b"", "is not a notebook that can be read"),
        ("cut.ipynb", b'{"cells": [{"cell_type": "co', "is not a notebook that can be read"),
        ("list.ipynb", b"[]", "is not a notebook that can be read"),
        ("binary.ipynb", b"\xff\xfe\x00\x01", "is not text"),
        (
            "other.ipynb",
            b'{"cells": [], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}',
            "no graded questions",
        ),
    ],
)
def test_what_is_no_notebook_gets_one_clear_line(tmp_path, capsys, name, content, says):
    path: Path = tmp_path / name
    if content == "folder":
        path.mkdir()
    elif content is not None:
        path.write_bytes(content)
    assert check.main([str(path)]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert says in captured.err
    assert captured.err.count("\n") == 1
    assert "Traceback" not in captured.err


def cell(source, outputs, points=2):
    made = nbformat.v4.new_code_cell(source, outputs=outputs)
    made.metadata["nbgrader"] = {"grade": True, "solution": False, "grade_id": "q", "points": points}
    return made


@pytest.mark.parametrize(
    ("outputs", "points", "says"),
    [
        ([], 2, ""),
        ([{"output_type": "stream", "name": "stdout", "text": "Success"}], 2, ""),
        ([{"output_type": "stream", "name": "stderr", "text": "a warning\n"}], 0, "written to stderr"),
        (
            [{"output_type": "error", "ename": "WrongAnswer", "evalue": "h is off", "traceback": []}],
            0,
            "h is off",
        ),
        (
            [{"output_type": "error", "ename": "KeyboardInterrupt", "evalue": "", "traceback": []}],
            0,
            "did not end",
        ),
        ([{"output_type": "error", "ename": "NameError", "evalue": "f", "traceback": []}], 0, "NameError: f"),
    ],
)
def test_points_follow_nbgraders_rule(outputs, points, says):
    notebook = nbformat.v4.new_notebook(
        cells=[cell("pass", [nbformat.from_dict(output) for output in outputs])]
    )
    [result] = check.results(notebook)
    assert result.points == points
    assert says in result.hint


def test_a_missing_package_is_named():
    error = {
        "output_type": "error",
        "ename": "ModuleNotFoundError",
        "evalue": "No module named 'torch'",
        "traceback": [],
    }
    notebook = nbformat.v4.new_notebook(cells=[cell("import torch", [nbformat.from_dict(error)])])
    assert check.missing_package(notebook) == "torch"
    error["evalue"] = "No module named 'my_helper'"
    notebook = nbformat.v4.new_notebook(cells=[cell("import my_helper", [nbformat.from_dict(error)])])
    assert check.missing_package(notebook) is None

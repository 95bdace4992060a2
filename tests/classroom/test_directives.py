"""Directives of every kind through nbgrader itself, in a course of one notebook: for what the real one must not contain."""

import re

import jupytext
import nbformat
import pytest

from classroom import verify
from classroom.course import ROOT, autograde, make_course, nbgrader
from classroom.errors import CourseError
from classroom.gradebook import scores
from classroom.preprocessors import CheckedInstantiateTests

pytestmark = [pytest.mark.pipeline]

HEADER = """# ---
# jupyter:
#   jupytext:
#     formats: ipynb,py:percent
#   kernelspec:
#     display_name: Python 3 (ipykernel)
#     language: python
#     name: python3
# ---

# %% nbgrader={"grade": false, "grade_id": "work", "locked": false, "schema_version": 3, "solution": true, "task": false}
import numpy as np
import torch
### BEGIN SOLUTION
THE-WORK
### END SOLUTION
"""
TEST = """
# %% nbgrader={"grade": true, "grade_id": "test-NAME", "locked": true, "points": 1, "schema_version": 3, "solution": false, "task": false}
DIRECTIVE
"""


def small_notebook(solution, **directives):
    """Source of a notebook with one solution cell, and one test cell for each directive."""
    cells = [TEST.replace("NAME", name).replace("DIRECTIVE", text) for name, text in directives.items()]
    return HEADER.replace("THE-WORK", solution) + "".join(cells)


def small_course(path, solution, **directives):
    root = path / "source"
    (root / "solutions" / "small").mkdir(parents=True)
    text = small_notebook(solution, **directives)
    (root / "solutions" / "small" / "one.py").write_text(text, encoding="utf-8")
    for name in ("autotests.yml", "nbgrader_config.py"):
        (root / name).write_text((ROOT / name).read_text(encoding="utf-8"), encoding="utf-8")
    course = make_course(path / "course", root)
    nbgrader(course, "generate_assignment", "small", "--force")
    return course


def hand_in(course, student, code):
    notebook = nbformat.read(course / "exercises" / "small" / "one.ipynb", as_version=4)
    notebook.cells[0].source = code
    folder = course / "submitted" / student / "small"
    folder.mkdir(parents=True)
    nbformat.write(notebook, folder / "one.ipynb")


def test_directives_for_all_types_compare_by_value(tmp_path):
    right = (
        "import numpy as np\nimport torch\n"
        "a_float, an_int, a_bool, a_str = 2 / 3, 7, True, 'i, f, g, o'\n"
        "a_tuple = (1.0, (2.0, 3.0))\nan_array = np.linspace(0, 1, 12).reshape(3, 4)\n"
        "a_tensor = torch.linspace(0, 1, 3, requires_grad=True) * 2\n"
    )
    names = ("a_float", "an_int", "a_bool", "a_str", "a_tuple", "an_array", "a_tensor")
    hidden = "### BEGIN HIDDEN TESTS\n### AUTOTEST an_array[HIDDEN_SEED % 3]\n### END HIDDEN TESTS"
    course = small_course(
        tmp_path,
        right,
        **{name: f"### AUTOTEST {name}" for name in names},
        **{f"hashed_{name}": f"### HASHED AUTOTEST {name}" for name in ("an_int", "a_bool", "a_str")},
        hidden=hidden,
    )
    hand_in(course, "same", right)
    another_way = (
        "a_float = np.float32(a_float)\nan_array = an_array.astype('float32')\na_tuple = [1, [2, 3]]\n"
        "a_tensor = (a_tensor / 3 * 3).double()\nan_int = np.int64(7)\n"
    )
    hand_in(course, "another-way", right + another_way)
    wrong = (
        "a_float = 2 / 3 + 1e-3\nan_int = 8\na_bool = False\na_str = 'f, i, g, o'\na_tuple = (1.0, (2.0, 3.1))\n"
        "an_array = an_array + 0.01\na_tensor = a_tensor + 0.01\n"
    )
    hand_in(course, "wrong", right + wrong)
    list(autograde(course, "small", ["same", "another-way", "wrong"]))
    points = {name: {s.question: s.auto for s in rows} for name, rows in scores(course, "small").items()}
    assert len(points["same"]) == len(names) + 4
    assert set(points["same"].values()) == set(points["another-way"].values()) == {1}
    assert set(points["wrong"].values()) == {0}


@pytest.mark.parametrize(
    ("solution", "directive", "says"),
    [
        ("x = 1", "### AUTOTEST y", "name 'y' is not defined"),
        ("x = np.zeros(5000)", "### AUTOTEST x", "gives no test: unusable"),
        ("x = {}", "### AUTOTEST x", "an autotest cannot be made of a dict"),
        (
            "def sigmoid(a): return a",
            '### AUTOTEST judge("scalar.sigmoid", sigmoid)',
            "gives no test: failed",
        ),
        ("x = 0.5", "### HASHED AUTOTEST x", "0.5 came; expected a whole number"),
        ("x = 1 / 0", "### AUTOTEST 1", "division by zero"),
        ("x = 1", "if True:\n    ### AUTOTEST x\n    pass", "indented directive"),
    ],
)
def test_a_directive_that_makes_no_test_stops_the_release(monkeypatch, solution, directive, says):
    monkeypatch.chdir(ROOT)
    notebook = jupytext.reads(small_notebook(solution, one=directive), fmt="py:percent")
    resources = {"metadata": {"path": str(ROOT)}, "nbgrader": {"notebook": "one"}}
    with pytest.raises(Exception, match=re.escape(says)):
        CheckedInstantiateTests().preprocess(notebook, resources)


def test_verify_refuses_a_test_that_the_solution_fails(tmp_path):
    """A value that differs at every run is caught before the release, not by the class."""
    course = small_course(tmp_path, "import time\nx = float(time.time_ns() % 10**9)", one="### AUTOTEST x")
    source = tmp_path / "source"
    (source / "exercises").symlink_to(course / "exercises")
    (source / "gradebook.db").write_bytes((course / "gradebook.db").read_bytes())
    with pytest.raises(CourseError, match="one/test-one: the solution gets 0 of 1"):
        verify.verify("small", source)
    assert (source / "_build" / "verify" / "instructor" / "small" / "one.html").exists()

"""The sample class through nbgrader itself: generated, graded, read back, graded again after an edit."""

import csv
import json
import re
import sqlite3
from contextlib import closing

import jupytext
import nbformat
import pytest

from classroom import course as courses
from classroom import sample, students, verify
from classroom.course import ROOT, autograde, make_course, nbgrader
from classroom.errors import CourseError
from classroom.gradebook import open_gradebook, scores, text_table
from classroom.preprocessors import CheckedInstantiateTests

pytestmark = [pytest.mark.pipeline]


@pytest.fixture(scope="module")
def course(tmp_path_factory):
    return make_course(tmp_path_factory.mktemp("sample") / "course")


@pytest.fixture(scope="module")
def graded(course):
    """The sample class, graded once; every test of this module reads the same gradebook."""
    return sample.graded_class(course, "lstm", workers=2, quiet=True)


STUDENTS = {student.name: student for student in students.CLASS["lstm"]}
MISTAKEN = [name for name, student in STUDENTS.items() if student.edits]


def by_tests(rows):
    return [score for score in rows if score.question.startswith("test-")]


def test_regenerating_the_release_changes_nothing(course, graded):
    made = course / "exercises" / "lstm"
    names = sorted(path.name for path in made.iterdir())
    assert names == sorted(path.name for path in (ROOT / "exercises" / "lstm").iterdir())
    for name in names:
        assert (made / name).read_bytes() == (ROOT / "exercises" / "lstm" / name).read_bytes(), name


def test_class_has_the_two_ends_and_real_mistakes():
    assert {"perfect", "untouched"} < set(STUDENTS)
    assert len(MISTAKEN) >= 6


def test_perfect_gets_every_point(graded):
    rows = graded["perfect"]
    assert len(by_tests(rows)) == 21
    assert all(score.auto == score.most for score in by_tests(rows))
    assert all(score.points == score.most and not score.waiting for score in rows)


def test_untouched_gets_none(graded):
    assert [score.points for score in graded["untouched"]] == [0] * len(graded["untouched"])
    assert not any(score.waiting for score in graded["untouched"])


@pytest.mark.parametrize("name", MISTAKEN)
def test_mistakes_lose_exactly_their_questions(graded, name):
    lost = {(score.notebook, score.question) for score in by_tests(graded[name]) if score.auto != score.most}
    assert lost == STUDENTS[name].loses
    assert all(score.auto in (0, score.most) for score in by_tests(graded[name]))


def test_manual_points_are_entered_and_kept_apart(graded):
    for name, student in STUDENTS.items():
        for score in graded[name]:
            if score.question.startswith("words-") and not student.blank:
                assert score.waiting == (student.words is None)
                assert score.manual == (None if student.words is None else student.words * score.most)


def test_table_shows_the_gradebooks_points(course, graded):
    table = text_table(graded)
    with closing(sqlite3.connect(course / "gradebook.db")) as database:
        total = database.execute("select sum(coalesce(manual_score, auto_score, 0)) from grade").fetchone()[0]
    shown = [
        float(line.split()[-1])
        for line in table.splitlines()
        if line.split()[:1] and line.split()[0] in STUDENTS
    ]
    assert sum(shown) == pytest.approx(total)
    assert len(shown) == 3 * len(STUDENTS)


@pytest.mark.parametrize(
    ("student", "notebook", "says"),
    [
        ("gates-swapped", "scalar_lstm", "the input gate and the forget gate are swapped"),
        ("h-without-tanh", "vector_lstm", "h is o * c, without the tanh"),
        ("gradient-not-accumulated", "vector_lstm", "the gradient of c takes the path through h alone"),
        ("sigmoid-overflows", "vector_lstm", "overflow encountered in exp"),
        ("clipped-too-late", "torch_lstm", "or only after optimizer.step()"),
        ("untouched", "torch_lstm", "it is not written yet"),
    ],
)
def test_feedback_names_the_mistake(course, graded, student, notebook, says):
    page = (course / "feedback" / student / "lstm" / f"{notebook}.html").read_text(encoding="utf-8")
    assert says in page


def test_feedback_shows_the_points_given_by_a_person(course, graded):
    page = (course / "feedback" / "perfect" / "lstm" / "scalar_lstm.html").read_text(encoding="utf-8")
    assert "(Score: 20.0 / 20.0)" in page


def test_export_holds_every_student(course, graded):
    with (course / "grades.csv").open(encoding="utf-8", newline="") as file:
        rows = {row["student_id"]: row for row in csv.DictReader(file)}
    assert set(rows) == set(STUDENTS)
    for name, row in rows.items():
        assert float(row["score"]) == pytest.approx(sum(score.points for score in graded[name]))
        assert float(row["max_score"]) == sum(score.most for score in graded[name])


def test_validate_accepts_a_right_notebook_and_names_what_is_wrong(course, graded):
    submitted = course / "submitted"
    right = nbgrader(course, "validate", str(submitted / "perfect" / "lstm" / "scalar_lstm.ipynb"))
    assert "Success! Your notebook passes all the tests." in right
    wrong = nbgrader(course, "validate", str(submitted / "gates-swapped" / "lstm" / "scalar_lstm.ipynb"))
    assert "VALIDATION FAILED ON 3 CELL(S)" in wrong


def test_second_run_grades_nothing_and_an_edit_changes_its_cell_alone(course, graded, monkeypatch):
    regraded = []

    def counting(where, assignment, students, workers=2):
        for student in autograde(where, assignment, students, workers):
            regraded.append(student)
            yield student

    monkeypatch.setattr(sample, "autograde", counting)
    assert sample.graded_class(course, "lstm", workers=2, quiet=True) == graded
    assert regraded == []

    path = course / "submitted" / "perfect" / "lstm" / "scalar_lstm.ipynb"
    before = path.read_bytes()
    notebook = nbformat.read(path, as_version=4)
    cell = next(cell for cell in notebook.cells if cell.id == "half")
    cell.source = cell.source.replace("return n", "return n + 1")
    nbformat.write(notebook, path)
    try:
        after = sample.graded_class(course, "lstm", workers=2, quiet=True)
        assert regraded == ["perfect"]
        changed = [
            (name, new.notebook, new.question, old.points, new.points)
            for name in graded
            for old, new in zip(graded[name], after[name], strict=True)
            if old != new
        ]
        assert changed == [("perfect", "scalar_lstm", "test-half", 2, 0)]
        rows = zip(text_table(graded).splitlines(), text_table(after).splitlines(), strict=True)
        different = [(old.split(), new.split()) for old, new in rows if old != new]
        assert different == [
            (
                ["perfect", *["2", "3", "3", "2", "2", "2", "3", "3", "20"]],
                ["perfect", *["2", "3", "3", "2", "2", "0", "3", "3", "18"]],
            ),
        ]
        assert path.read_bytes() != before
    finally:
        path.write_bytes(before)


def test_a_deleted_test_cell_is_put_back(course, graded):
    """With nbgrader's stock setting the score would be missing."""
    folder = course / "submitted" / "deleted-a-test" / "lstm"
    folder.mkdir(parents=True)
    notebook = nbformat.read(course / "submitted" / "perfect" / "lstm" / "scalar_lstm.ipynb", as_version=4)
    notebook.cells = [cell for cell in notebook.cells if cell.id != "test-update"]
    nbformat.write(notebook, folder / "scalar_lstm.ipynb")
    list(autograde(course, "lstm", ["deleted-a-test"]))
    rows = {
        score.question: score
        for score in scores(course, "lstm")["deleted-a-test"]
        if score.notebook == "scalar_lstm"
    }
    assert rows["test-update"].auto == 3
    # The notebooks that were not handed in count 0, and not nothing.
    assert {s.auto for s in scores(course, "lstm")["deleted-a-test"] if s.notebook != "scalar_lstm"} == {0}
    with open_gradebook(course) as gradebook:
        gradebook.remove_student("deleted-a-test")


def test_interrupted_ledger_is_no_obstacle(tmp_path):
    path = tmp_path / "ledger.json"
    path.write_text('{"half": ', encoding="utf-8")
    ledger = sample.Ledger(path)
    ledger.record("made", "yes")
    assert json.loads(path.read_text(encoding="utf-8")) == {"made": "yes"}
    assert sample.Ledger(path).holds("made", "yes")


def test_missing_gradebook_is_named(tmp_path):
    with pytest.raises(CourseError, match="no gradebook at"):
        open_gradebook(tmp_path)
    with pytest.raises(CourseError, match="no assignment 'nothing'"):
        courses.sources("nothing")


def test_a_mistake_that_no_longer_fits_is_named():
    student = students.Student("x", (students.Edit("scalar_lstm", "update", "not there", "y"),))
    source = courses.read_notebook(ROOT / "solutions" / "lstm" / "scalar_lstm.py")
    released = courses.read_notebook(ROOT / "exercises" / "lstm" / "scalar_lstm.ipynb")
    with pytest.raises(CourseError, match="occurs 0 times in the solution 'update'"):
        sample.submission(student, released, source, "scalar_lstm")


# --- a course of one notebook, for what the real one must not contain -------------------------------------------------

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

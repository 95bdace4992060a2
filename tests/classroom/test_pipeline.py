"""The sample class of every assignment through nbgrader itself: generated, graded, read back, graded again after an edit."""

import csv
import html
import json
import re
import sqlite3
from contextlib import closing

import nbformat
import pytest

from classroom import course as courses
from classroom import sample, students
from classroom.course import ROOT, autograde, make_course, nbgrader, read_notebook, sources
from classroom.errors import CourseError
from classroom.gradebook import open_gradebook, scores, text_table
from classroom.students import CLASS, FEEDBACK

pytestmark = [pytest.mark.pipeline]


STUDENTS = {name: {student.name: student for student in found} for name, found in CLASS.items()}
MISTAKEN = [
    (name, who) for name, found in STUDENTS.items() for who, student in found.items() if student.edits
]
SAYS = [(name, *row) for name, found in FEEDBACK.items() for row in found]


@pytest.fixture(scope="module")
def graded_classes(tmp_path_factory):
    """The sample classes, each graded once, when the first test asks for it: the course and the points."""
    kept = {}

    def graded_class(assignment):
        if assignment not in kept:
            course = make_course(tmp_path_factory.mktemp(assignment) / "course")
            kept[assignment] = course, sample.graded_class(course, assignment, workers=2, quiet=True)
        return kept[assignment]

    return graded_class


@pytest.fixture
def graded(graded_classes, name):
    return graded_classes(name)[1]


@pytest.fixture
def course(graded_classes, name):
    return graded_classes(name)[0]


# Tests of the machinery, which one assignment shows as well as all.
lstm_alone = pytest.mark.parametrize("name", ["lstm"])
every_assignment = pytest.mark.parametrize("name", sorted(CLASS))


def by_tests(rows):
    return [score for score in rows if score.question.startswith("test-")]


def said(course, assignment, who, notebook, question):
    """What a student's test cell says in the graded notebook."""
    graded = read_notebook(course / "autograded" / who / assignment / f"{notebook}.ipynb")
    cell = next(c for c in graded.cells if c.metadata.get("nbgrader", {}).get("grade_id") == question)
    return [output.get("evalue") or output.get("text") for output in cell.outputs]


def graded_cells(assignment):
    """All graded cells of an assignment's sources: notebook, question, points."""
    return sorted(
        (source.stem, cell.metadata.nbgrader["grade_id"], cell.metadata.nbgrader["points"])
        for source in sources(assignment)
        for cell in read_notebook(source).cells
        if cell.metadata.nbgrader["grade"]
    )


def test_every_assignment_has_a_class():
    assert sorted(CLASS) == courses.assignments()


@every_assignment
def test_regenerating_the_release_changes_nothing(name, course, graded):
    made = course / "exercises" / name
    names = sorted(path.name for path in made.iterdir())
    assert names == sorted(path.name for path in (ROOT / "exercises" / name).iterdir())
    for file in names:
        assert (made / file).read_bytes() == (ROOT / "exercises" / name / file).read_bytes(), file


@every_assignment
def test_class_has_the_two_ends_and_real_mistakes(name):
    assert {"perfect", "untouched"} < set(STUDENTS[name])
    mistaken = [student for student in STUDENTS[name].values() if student.edits]
    assert len(mistaken) >= (6 if name == "lstm" else 2)
    # Each notebook has somebody's mistake, and each mistaken student's feedback is read.
    assert {edit.notebook for s in mistaken for edit in s.edits} == {path.stem for path in sources(name)}
    assert {s.name for s in mistaken} <= {who for who, _, _ in FEEDBACK[name]} or name == "lstm"


@every_assignment
def test_perfect_gets_every_point(name, graded):
    rows = graded["perfect"]
    assert sorted((s.notebook, s.question, s.most) for s in rows) == graded_cells(name)
    assert all(score.auto == score.most for score in by_tests(rows))
    assert all(score.points == score.most and not score.waiting for score in rows)


@every_assignment
def test_untouched_gets_none(name, graded):
    assert [score.points for score in graded["untouched"]] == [0] * len(graded_cells(name))
    assert not any(score.waiting for score in graded["untouched"])


@pytest.mark.parametrize(("name", "who"), MISTAKEN)
def test_mistakes_lose_exactly_their_questions(name, who, course, graded):
    lost = {(score.notebook, score.question) for score in by_tests(graded[who]) if score.auto != score.most}
    wanted = STUDENTS[name][who].loses
    assert lost == wanted, {question: said(course, name, who, *question) for question in lost - wanted}
    assert all(score.auto in (0, score.most) for score in by_tests(graded[who]))


@every_assignment
def test_manual_points_are_entered_and_kept_apart(name, graded):
    for who, student in STUDENTS[name].items():
        for score in graded[who]:
            if score.question.startswith("words-") and not student.blank:
                assert score.waiting == (student.words is None)
                assert score.manual == (None if student.words is None else student.words * score.most)


@every_assignment
def test_table_shows_the_gradebooks_points(name, course, graded):
    table = text_table(graded)
    with closing(sqlite3.connect(course / "gradebook.db")) as database:
        total = database.execute("select sum(coalesce(manual_score, auto_score, 0)) from grade").fetchone()[0]
    shown = [
        float(line.split()[-1])
        for line in table.splitlines()
        if line.split()[:1] and line.split()[0] in STUDENTS[name]
    ]
    assert sum(shown) == pytest.approx(total)
    assert len(shown) == len(sources(name)) * len(STUDENTS[name])


@pytest.mark.parametrize(("name", "who", "notebook", "says"), SAYS)
def test_feedback_names_the_mistake(name, who, notebook, says, course, graded):
    page = (course / "feedback" / who / name / f"{notebook}.html").read_text(encoding="utf-8")
    assert html.escape(says, quote=False) in page


@every_assignment
def test_feedback_shows_no_hidden_test(name, course, graded):
    for who in STUDENTS[name]:
        for source in sources(name):
            page = (course / "feedback" / who / name / f"{source.stem}.html").read_text(encoding="utf-8")
            notebook = nbformat.read(
                course / "autograded" / who / name / f"{source.stem}.ipynb", as_version=4
            )
            seeds = {seed for cell in notebook.cells for seed in re.findall(r"seed=(\d{4,})", cell.source)}
            assert seeds
            assert not [seed for seed in seeds if seed in page]
            assert "HIDDEN TESTS" not in page
            assert "Hidden tests: the same question with other numbers." in page


@every_assignment
def test_feedback_shows_the_points_given_by_a_person(name, course, graded):
    for source in sources(name):
        most = sum(points for notebook, _, points in graded_cells(name) if notebook == source.stem)
        page = course / "feedback" / "perfect" / name / f"{source.stem}.html"
        assert f"(Score: {most:.1f} / {most:.1f})" in page.read_text(encoding="utf-8")


@every_assignment
def test_export_holds_every_student(name, course, graded):
    with (course / "grades.csv").open(encoding="utf-8", newline="") as file:
        rows = {row["student_id"]: row for row in csv.DictReader(file)}
    assert set(rows) == set(STUDENTS[name])
    for who, row in rows.items():
        assert float(row["score"]) == pytest.approx(sum(score.points for score in graded[who]))
        assert float(row["max_score"]) == sum(score.most for score in graded[who])


@lstm_alone
def test_validate_accepts_a_right_notebook_and_names_what_is_wrong(name, course, graded):
    submitted = course / "submitted"
    right = nbgrader(course, "validate", str(submitted / "perfect" / "lstm" / "scalar_lstm.ipynb"))
    assert "Success! Your notebook passes all the tests." in right
    wrong = nbgrader(course, "validate", str(submitted / "gates-swapped" / "lstm" / "scalar_lstm.ipynb"))
    assert "VALIDATION FAILED ON 3 CELL(S)" in wrong


@lstm_alone
def test_second_run_grades_nothing_and_an_edit_changes_its_cell_alone(name, course, graded, monkeypatch):
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
            (who, new.notebook, new.question, old.points, new.points)
            for who in graded
            for old, new in zip(graded[who], after[who], strict=True)
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


@lstm_alone
def test_a_deleted_test_cell_is_put_back(name, course, graded):
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

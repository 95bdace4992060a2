"""A fix to an assignment that has been handed out: the record of releases, and submissions that keep what they have."""

import json
import shutil

import nbformat
import pytest
from bs4 import BeautifulSoup
from nbgrader.converters.base import NbGraderException
from small import PLAIN, QUESTIONS, RIGHT, generate, hand_in, quick_course, small_course, source
from sqlalchemy import select

from classroom import releases
from classroom.__main__ import main
from classroom.class_report import class_numbers, report_page
from classroom.errors import CourseError
from classroom.gradebook import open_gradebook
from classroom.grading import grade_class
from classroom.grading.status import status_rows
from classroom.releases import REMOVED, Releases, release

THIRD = {
    "third": (
        "def third(x):\n    ### BEGIN SOLUTION\n    return x / 3\n    ### END SOLUTION",
        "third(3.0) == 1",
        "third(6.0) == 2",
    )
}


def text(questions=PLAIN, most=2, words=3):
    return source(questions, most, words, plain=True)


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """One submission with everything right, whose answer in words was read by a person."""
    course = quick_course(tmp_path_factory.mktemp("releases"), text())
    hand_in(course, "ana", RIGHT | {"words": "Since the gate is open."})
    with open_gradebook(course) as gradebook:
        gradebook.update_or_create_student("ana")
        with gradebook.db.no_autoflush:
            submission = gradebook.add_submission("small", "ana")
        for grade in submission.notebooks[0].grades:
            grade.auto_score, grade.needs_manual_grade = (None if grade.name == "words" else 2.0), False
            grade.manual_score = 2.5 if grade.name == "words" else None
        for comment in submission.notebooks[0].comments:
            comment.manual_comment = "well said" if comment.name == "words" else None
        gradebook.db.commit()
    return course.parent


@pytest.fixture
def course(made, tmp_path):
    return shutil.copytree(made, tmp_path / "made") / "course"


def state(course):
    """Points and comments of the one submission, and what the notebook gives."""
    with open_gradebook(course) as gradebook:
        notebook = gradebook.find_submission_notebook("one", "small", "ana")
        return (
            {grade.name: (grade.auto_score, grade.manual_score) for grade in notebook.grades},
            {comment.name: comment.manual_comment for comment in notebook.comments},
            gradebook.find_notebook("one", "small").max_score,
        )


def test_a_fixed_test_and_other_points_keep_every_grade(course):
    before = state(course)
    fixed = PLAIN | {"half": (PLAIN["half"][0], PLAIN["half"][1], "half(-9.0) == -4.5")}
    generate(course, text(fixed, most=5))
    grades, comments, most = state(course)
    assert (grades, comments) == before[:2]
    assert most == 5 + 5 + 3


def test_an_added_question_keeps_every_grade_and_has_none_yet(course):
    before = state(course)
    generate(course, text(PLAIN | THIRD))
    grades, comments, most = state(course)
    assert grades == before[0] | {"test-third": (None, None)}
    assert comments == before[1] | {"third": None}
    assert most == before[2] + 2
    # Every submission from now on has it too.
    with open_gradebook(course) as gradebook:
        gradebook.update_or_create_student("ben")
        with gradebook.db.no_autoflush:
            later = gradebook.add_submission("small", "ben")
        assert len(later.notebooks[0].grades) == 4


@pytest.mark.parametrize("gone", ["half", "words"])
def test_a_question_with_points_in_it_is_not_removed_by_mistake(course, gone, caplog):
    before = state(course)
    less = {name: question for name, question in PLAIN.items() if name != gone}
    with pytest.raises((CourseError, NbGraderException, SystemExit)):
        generate(course, text(less, words=0 if gone == "words" else 3))
    assert state(course) == before
    told = caplog.text
    assert "1 students have points in it" in told
    assert "classroom release small --remove" in told


def test_a_renamed_question_is_refused_and_named(course, caplog):
    renamed = {"halve" if name == "half" else name: question for name, question in PLAIN.items()}
    with pytest.raises((CourseError, NbGraderException, SystemExit)):
        generate(course, text(renamed))
    assert "If it was renamed to test-halve" in caplog.text


def test_a_removed_question_leaves_its_points_in_a_table_and_gets_them_back(course):
    before = state(course)
    generate(course, text(words=0), remove=True)
    grades, comments, most = state(course)
    assert (set(grades), set(comments), most) == ({"test-half", "test-twice"}, {"half", "twice"}, 4)
    with open_gradebook(course) as gradebook:
        (row,) = gradebook.db.execute(select(REMOVED)).all()
    assert (row.cell, row.student, row.manual_score, row.manual_comment) == ("words", "ana", 2.5, "well said")
    generate(course, text())
    assert state(course) == before


def test_what_nobody_has_points_in_is_removed_without_asking(course):
    generate(course, text(PLAIN | THIRD))
    generate(course, text())
    assert set(state(course)[0]) == {"test-half", "test-twice", "words"}


def answered(course):
    content = (course / "submitted" / "ana" / "small" / "one.ipynb").read_bytes()
    with open_gradebook(course) as gradebook:
        return Releases(gradebook, "small").answered("one", content)


def test_the_record_tells_which_release_a_submission_answers(course, capsys):
    assert answered(course) == "1 (0.1.0)"
    generate(course)
    assert answered(course) == "1 (0.1.0)"
    shown = PLAIN | {"half": (PLAIN["half"][0], "half(5.0) == 2.5", PLAIN["half"][2])}
    generate(course, text(shown))
    assert answered(course) == "1 (0.1.0), older"
    old = (course / "submitted" / "ana" / "small" / "one.ipynb").read_bytes()
    hand_in(course, "ana", RIGHT)
    assert answered(course) == "2 (0.1.0)"
    assert main(["--course", str(course), "release", "small", "--list"]) == 0
    assert [line.split()[:3] for line in capsys.readouterr().out.splitlines()] == [
        ["one", "1", "(0.1.0)"],
        ["one", "2", "(0.1.0)"],
    ]
    # Taken back: what was the first is the newest again.
    generate(course, text())
    (course / "submitted" / "ana" / "small" / "one.ipynb").write_bytes(old)
    assert answered(course) == "3 (0.1.0)"


def test_the_report_tells_who_answers_which_release(course):
    assert class_numbers(course, "small").answered == []
    assert "Which release" not in report_page(class_numbers(course, "small"))
    hand_in(course, "ben <b>", RIGHT)
    generate(course, text(PLAIN | THIRD))
    hand_in(course, "cem", RIGHT)
    hand_in(course, "dan", content=b"{}")
    numbers = class_numbers(course, "small")
    assert [(one.notebook, one.release, one.students) for one in numbers.answered] == [
        ("one", "1 (0.1.0), older", ("ana", "ben <b>")),
        ("one", "2 (0.1.0)", ("cem",)),
        ("one", "unknown", ("dan",)),
    ]
    # Nobody has been graded by the new question, which waits for no person.
    assert [(one.name, one.discrimination.why) for one in numbers.left_out] == [
        ("test-third", "some were graded before the question came")
    ]
    page = BeautifulSoup(report_page(numbers), "html.parser")
    table = page.find(attrs={"aria-label": "Releases"})
    assert [
        cell.get_text(" ", strip=True) for cell in table.find("tbody").find("tr").find_all(["th", "td"])
    ] == [
        "one",
        "1 (0.1.0), older",
        "2",
        "ana , ben <b>",
    ]
    assert "still wait or were graded before the question came: test-third" in page.get_text(" ", strip=True)


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (lambda nb: nb["metadata"].pop("course"), "unknown"),
        (lambda nb: nb["metadata"]["course"].update(version="9.9"), "9.9, not of this class"),
        (lambda nb: nb["cells"].pop(), "1 (0.1.0)"),
        (lambda nb: nb["cells"][1].update(source="assert True"), "1 (0.1.0)"),
        (lambda nb: nb["cells"][1]["metadata"]["nbgrader"].update(points=10**400), "1 (0.1.0)"),
        (lambda nb: nb["metadata"]["course"].update(version="\ud800"), "unknown"),
        (lambda nb: nb["metadata"]["course"].update(version="1\n" * 100), "unknown"),
        (lambda nb: nb.update(metadata=[]), "unknown"),
        (lambda nb: nb.clear(), "unknown"),
    ],
)
def test_a_students_edits_do_not_change_the_release_and_no_stamp_is_unknown(course, change, expected):
    path = course / "submitted" / "ana" / "small" / "one.ipynb"
    notebook = json.loads(path.read_text("utf-8"))
    change(notebook)
    path.write_text(json.dumps(notebook), encoding="utf-8")
    assert answered(course) == expected
    assert status_rows(course, "small")[0]["release"] == expected


def test_a_generation_that_is_broken_off_leaves_the_release(course, monkeypatch):
    released = course / "exercises" / "small"
    before = {path.name: path.read_bytes() for path in released.iterdir()}

    def broken_off(*_):
        shutil.rmtree(released)  # as nbgrader begins
        raise KeyboardInterrupt

    monkeypatch.setattr(releases, "nbgrader", broken_off)
    with pytest.raises(KeyboardInterrupt):
        release(course, "small")
    assert {path.name: path.read_bytes() for path in released.iterdir()} == before


@pytest.mark.pipeline
def test_old_submissions_are_graded_by_the_new_tests(course):
    """Wrong test fixed, points changed, one question added, one removed: graded anew, with what a person gave."""
    grade_class(course, "small", workers=1, timeout=20, progress=False)
    with open_gradebook(course) as gradebook:
        grade = gradebook.find_grade("words", "one", "small", "ana")
        assert grade.needs_manual_grade  # graded here for the first time
        grade.needs_manual_grade = False
        gradebook.db.commit()
    old = (course / "submitted" / "ana" / "small" / "one.ipynb").read_bytes()
    fixed = {"half": (PLAIN["half"][0], "half(5.0) == 2.5", "half(-9.0) == -4.5")} | THIRD
    generate(course, text(fixed, most=4), remove=True)
    summary = grade_class(course, "small", workers=1, timeout=20, progress=False)
    assert summary.graded == ["ana"]
    assert state(course) == (
        {"test-half": (4.0, None), "test-third": (0.0, None), "words": (None, 2.5)},
        {"half": None, "third": None, "words": "well said"},
        4 + 4 + 3,
    )
    assert (course / "submitted" / "ana" / "small" / "one.ipynb").read_bytes() == old
    with open_gradebook(course) as gradebook:
        # The answer is the one that the person read: nobody has to look at it again.
        assert not gradebook.find_grade("words", "one", "small", "ana").needs_manual_grade
    executed = nbformat.read(course / "autograded" / "ana" / "small" / "one.ipynb", as_version=4)
    # The answer to the removed question is still there for a person to see.
    assert any("return 2 * x" in cell.source for cell in executed.cells)


@pytest.mark.long
@pytest.mark.pipeline
def test_the_command_generates_tells_what_changed_and_brings_the_release_back(tmp_path, capsys):
    course = small_course(tmp_path, text=source(words=3))
    hand_in(course, "ana", RIGHT | {"words": "Since."})
    arguments = ["--course", str(course)]
    assert main([*arguments, "grade", "small", "--workers", "1"]) == 0
    path = course / "solutions" / "small" / "one.py"
    path.write_text(source(QUESTIONS, 3, 3), encoding="utf-8")
    capsys.readouterr()
    assert main([*arguments, "release", "small"]) == 0
    told = capsys.readouterr().out
    assert "one: test-half gives 3 points, not 2" in told
    assert "1 submissions were graded by the tests before" in told
    assert main([*arguments, "grade", "small", "--workers", "1"]) == 0
    released = (course / "exercises" / "small" / "one.ipynb").read_bytes()
    path.write_text(source({"half": QUESTIONS["half"]}, 3, 3), encoding="utf-8")
    assert main([*arguments, "release", "small"]) == 2
    assert "'test-twice' (1 students have points in it, 0 by hand, 0 comments)" in capsys.readouterr().err
    assert (course / "exercises" / "small" / "one.ipynb").read_bytes() == released
    with pytest.raises(CourseError, match="no assignment 'none'"):
        release(course, "none")

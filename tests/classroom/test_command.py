"""The command itself: what a user can get wrong ends in one line that says so, on a gradebook that was written by hand."""

import csv
import io
import shutil
import sqlite3
import sys

import pytest
from nbgrader.api import Gradebook
from sqlalchemy import delete
from test_class_report import GRADED, MISSING, Store, result

from classroom import handout, sample, verify
from classroom.__main__ import main
from classroom.export import QuotedCsvExport, class_grades, export, write_csv
from classroom.gradebook import COURSE_ID, open_gradebook
from classroom.grading.status import status_rows
from classroom.grading.store import RECORDS


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A class of four: graded here, graded by nbgrader alone, nothing in the folder, not graded."""
    course = tmp_path_factory.mktemp("command")
    url = f"sqlite:///{course / 'gradebook.db'}"
    with Gradebook(url, COURSE_ID) as book:
        book.add_assignment("small")
        book.add_notebook("one", "small")
        book.add_grade_cell("test-a", "one", "small", max_score=4, cell_type="code")
        book.add_source_cell("test-a", "one", "small", cell_type="code")
    with Store(url) as store:
        for student, status, points in (
            ("dóra", GRADED, 0),
            ("nb", GRADED, 3),
            ("empty", MISSING, 0),
            ("lost", "not graded", 0),
        ):
            store.save("small", [result(student, "one", {"test-a": points}, status)])
            (course / "submitted" / student / "small").mkdir(parents=True)
        # nbgrader's own command leaves points and no record.
        store.gradebook.db.execute(delete(RECORDS).where(RECORDS.c.student == "nb"))
        store.gradebook.db.commit()
    return course


@pytest.fixture
def course(made, tmp_path):
    """A copy of the class, since a new gradebook takes seconds."""
    return shutil.copytree(made, tmp_path / "course")


@pytest.fixture
def says(course, capsys):
    """A function that runs a command which fails, and gives the line that it says."""

    def run(*arguments):
        assert main(["--course", str(course), *map(str, arguments)]) == 2
        told = capsys.readouterr()
        assert told.err.count("classroom: ") == 1
        return told.err[told.err.index("classroom: ") :]

    return run


def test_a_place_that_cannot_be_written_is_named(course, says):
    (course / "file").write_text("", encoding="utf-8")
    assert "course: Is a directory" in says("report", "small", "--out", course)
    assert "file: " in says("report", "small", "--out", course / "file" / "r.html")
    for place in (course, "."):
        assert "it is a folder" in says("status", "small", "--csv", place)
        assert "it is a folder" in says("export", "small", "--to", "moodle", "--out", place)
    assert not list(course.parent.glob("*.tmp"))


def test_a_gradebook_that_takes_nothing_is_named(course, says):
    with sqlite3.connect(course / "gradebook.db") as database:
        database.execute(
            "CREATE TRIGGER no BEFORE UPDATE ON assignment BEGIN SELECT RAISE(ABORT, 'read only'); END"
        )
    assert "the gradebook cannot be used: read only" in says("due", "small", "2026-03-01 23:59")


@pytest.mark.parametrize(
    "arguments",
    [["status"], ["report"], ["due"], ["release", "--list"], ["export", "--to", "moodle", "--out", "x"]],
)
def test_an_assignment_that_is_not_there_is_told_with_those_that_are(says, arguments):
    command, *options = arguments
    assert "no assignment 'none'; it holds: small." in says(command, "none", *options)


def test_no_release_is_said(course, capsys):
    assert main(["--course", str(course), "release", "small", "--list"]) == 0
    assert "no release of small is recorded" in capsys.readouterr().out


def test_numbers_and_times_out_of_range_are_named(says):
    assert "0 seconds came" in says("grade", "small", "--timeout", 0)
    assert "0 workers came" in says("grade", "small", "--workers", 0)
    assert "'Europe'" in says("due", "small", "2026-03-01 23:59", "--timezone", "Europe")
    assert "out of range" in says("due", "small", "9999-12-31 23:59", "--timezone", "America/New_York")


def test_a_terminal_without_the_letters_gets_the_table(course, monkeypatch):
    out = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
    monkeypatch.setattr(sys, "stdout", out)
    assert main(["--course", str(course), "status", "small"]) == 0
    out.flush()
    assert b"d\\xf3ra" in out.buffer.getvalue()


def test_other_commands_name_what_came(tmp_path, capsys):
    assert sample.main(["--workers", "0", "--course", str(tmp_path / "c")]) == 2
    assert "0 workers came" in capsys.readouterr().err
    assert verify.main(["none"]) == 1
    assert "no assignment 'none'" in capsys.readouterr().err


def test_the_handouts_folder_may_be_no_file(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(handout, "wheel", lambda root: b"")
    (tmp_path / "file").write_text("", encoding="utf-8")
    assert handout.main(["--to", str(tmp_path / "file")]) == 2
    assert "file" in capsys.readouterr().err


# What nothing graded, and what nbgrader did -----------------------------------------------------------------------------------


def test_what_nbgraders_own_command_graded_is_graded(course, tmp_path):
    row = next(row for row in status_rows(course, "small") if row["student"] == "nb")
    assert (row["status"], row["points"], row["most"]) == ("graded", 3, 4)
    grade = next(grade for grade in class_grades(course, "small") if grade.student == "nb")
    assert (grade.points, grade.comment) == (3, "one: 3 of 4")
    assert sorted(export(course, "small", "moodle", tmp_path / "out.csv").written) == ["dóra", "nb"]


def test_nbgraders_export_has_no_points_where_nothing_was_graded(course, tmp_path):
    with open_gradebook(course) as gradebook:
        QuotedCsvExport(to=str(tmp_path / "grades.csv")).export(gradebook)
    with (tmp_path / "grades.csv").open(encoding="utf-8-sig", newline="") as file:
        rows = {
            row["student_id"]: (row["status"], row["raw_score"], row["score"]) for row in csv.DictReader(file)
        }
    assert rows == {
        "dóra": ("graded", "0.0", "0.0"),
        "nb": ("graded", "3.0", "3.0"),
        "empty": ("missing", "", ""),
        "lost": ("not graded", "", ""),
    }


def test_what_a_teacher_wrote_into_the_template_comes_back_as_it_was(course, tmp_path):
    head = ["Identifier", "Full name", "Grade", "Last modified (grade)", "Feedback comments"]
    lines = [
        ["Participant 1", "dóra", "", "-", ""],
        ["Participant 2", "=stranger", "3.00", "-", "- add the units"],
    ]
    write_csv(tmp_path / "t.csv", [head, *lines], raw=range(5))
    (course / "students.csv").write_text("id,full_name\ndóra,dóra\n", encoding="utf-8")
    export(course, "small", "moodle", tmp_path / "out.csv", tmp_path / "t.csv")
    with (tmp_path / "out.csv").open(encoding="utf-8-sig", newline="") as file:
        assert list(csv.reader(file))[1:] == [
            ["Participant 1", "dóra", "0", "-", "one: 0 of 4"],
            ["Participant 2", "'=stranger", "3.00", "-", "- add the units"],
        ]

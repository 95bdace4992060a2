"""Tables of grades: nbgrader's own with quotes, and the files that Moodle and Canvas import."""

import csv
import io
from datetime import datetime

import pytest
from small import PLAIN, RIGHT, quick_course, solved, source
from test_collect import archive, moodle, worksheet

from classroom.__main__ import main
from classroom.collect import collect
from classroom.collect.roster import Roster
from classroom.course import nbgrader
from classroom.errors import CourseError
from classroom.export import QuotedCsvExport, export, safe_cell, write_csv
from classroom.gradebook import open_gradebook

NAMES = {
    1: "Zoë Åström",
    2: '=HYPERLINK("http://x","y")',
    3: "Broken, File",
    4: "Waits Longer",
    5: "李 雷",
    6: "Never Came",
}


@pytest.mark.parametrize("text", ["=1+1", "+cmd", "-cmd|x", "@SUM(A1)", "\tx", "\rx", "  =1", "＝1"])
def test_what_a_spreadsheet_would_run_gets_an_apostrophe(text):
    assert safe_cell(text) == f"'{text}"


@pytest.mark.parametrize("text", ["-", "-1.5", "+3", "12,5", "a=b", "Ana", "", 3, -2.5, None])
def test_everything_else_stays(text):
    assert safe_cell(text) == text


@pytest.mark.parametrize("separator", [",", ";", "\t"])
@pytest.mark.parametrize("other", [",", ";", "\t"])
def test_no_formula_begins_a_cell_for_a_spreadsheet_with_another_separator(tmp_path, separator, other):
    path = tmp_path / "t.csv"
    text = f'{other}=0{other}x{other}=1+1{other} @SUM(A1){other}"-2+3"\n=4'
    write_csv(path, [["ana", text]], separator)
    found = [
        cell for row in csv.reader(io.StringIO(path.read_text("utf-8")), delimiter=other) for cell in row
    ]
    assert not any(cell.strip(' "').startswith(("=", "@", "-", "+")) for cell in found)
    assert safe_cell(safe_cell(text)) == safe_cell(text)


def test_tables_are_quoted_and_marked_where_excel_needs_it(tmp_path):
    path = tmp_path / "t.csv"
    rows = [["name", "n"], ['a "b", c\nd', "1"]]
    write_csv(path, rows)
    assert not path.read_bytes().startswith(b"\xef\xbb\xbf")
    assert list(csv.reader(io.StringIO(path.read_text("utf-8"), newline=""))) == rows
    write_csv(path, [["Zoë"]])
    assert path.read_bytes().startswith(b"\xef\xbb\xbf")
    with pytest.raises(CourseError, match="cannot write"):
        write_csv(tmp_path / "no" / "t.csv", rows)


@pytest.fixture(scope="module")
def course(tmp_path_factory):
    """A class that was collected from Moodle: right, wrong, broken, waiting for a person, not graded, and one who never came."""
    root = tmp_path_factory.mktemp("export")
    course = quick_course(root, source(PLAIN, words=3, plain=True))
    files = {
        moodle("Zoë Åström", 1): solved(course, RIGHT | {"words": "*Your answer here.*"}),
        moodle("HYPERLINK", 2): solved(course),
        moodle("Broken, File", 3): b"{",
        moodle("Waits Longer", 4): solved(course, RIGHT | {"words": "Since the gate is open."}),
        moodle("李 雷", 5): solved(course, {"half": RIGHT["half"]}),
    }
    sheet = worksheet(
        root,
        [
            (
                n,
                name.replace('"', '""') if n != 2 else "HYPERLINK",
                f"s{n}@x.edu",
                "Monday, 2 March 2026, 11:59 PM" if n == 1 else "-",
            )
            for n, name in NAMES.items()
            if n != 3
        ]
        + [],
    )
    text = sheet.read_text("utf-8").replace(
        "Participant 2,HYPERLINK", 'Participant 2,"=HYPERLINK(""http://x"",""y"")"'
    )
    text += 'Participant 3,"Broken, File",s3@x.edu,Submitted for grading,,7.00,Yes,"Friday, 6 March 2026, 9:00 AM",-,\r\n'
    sheet.write_text(text.replace("4.00", "7.00"), "utf-8")
    collect(course, "small", [archive(root / "m.zip", files)], worksheet=sheet, progress=False)
    with (course / "nbgrader_config.py").open("a", encoding="utf-8") as file:
        file.write("c.LatePolicy.share_per_day = 0.25\n")
    assert main(["--course", str(course), "due", "small", "2026-03-02 12:00"]) == 0
    assert main(["--course", str(course), "grade", "small"]) == 0
    late = archive(root / "n.zip", {moodle("李 雷", 5): solved(course, RIGHT)}, when=datetime(2026, 3, 9))
    collect(course, "small", [late], progress=False)
    return course


def table(path):
    with path.open(encoding="utf-8-sig", newline="") as file:
        return list(csv.DictReader(file))


@pytest.mark.pipeline
def test_nbgraders_export_is_quoted_and_tells_an_earned_zero_from_none(course):
    nbgrader(course, "export", "--to", "grades.csv")
    rows = {row["student_id"]: row for row in table(course / "grades.csv")}
    assert set(rows) == {f"s{n}@x.edu" for n in NAMES}
    assert (rows["s2@x.edu"]["score"], rows["s2@x.edu"]["status"]) == ("0.0", "graded")
    assert (rows["s3@x.edu"]["score"], rows["s3@x.edu"]["status"]) == ("0.0", "failed")
    assert (rows["s6@x.edu"]["score"], rows["s6@x.edu"]["status"]) == ("", "missing")
    assert rows["s4@x.edu"]["waiting"] == "1"
    late = rows["s1@x.edu"]
    assert (late["raw_score"], late["late_submission_penalty"], late["score"]) == ("4.0", "1.0", "3.0")
    assert (rows["s3@x.edu"]["last_name"], rows["s3@x.edu"]["first_name"]) == ("Broken", "File")
    assert not any(cell.startswith("=") for row in rows.values() for cell in row.values())
    with open_gradebook(course) as gradebook:
        QuotedCsvExport(to=str(course / "one.csv"), student=["s1@x.edu"], assignment=["small"]).export(
            gradebook
        )
    assert [row["student_id"] for row in table(course / "one.csv")] == ["s1@x.edu"]


@pytest.mark.pipeline
def test_moodles_worksheet_comes_back_with_grades_and_comments(course, tmp_path, capsys):
    template, out = course.parent / "Grades-small.csv", tmp_path / "out.csv"
    arguments = ["export", "small", "--to", "moodle", "--template", str(template), "--out", str(out)]
    assert main(["--course", str(course), *arguments]) == 0
    before, after = table(template), table(out)
    assert list(before[0]) == list(after[0])
    assert [row["Identifier"] for row in before] == [row["Identifier"] for row in after]
    grade = {row["Identifier"].split()[1]: (row["Grade"], row["Feedback comments"]) for row in after}
    # Waiting for a person, handed in again since, never came: no number, which Moodle passes over.
    assert [grade[k] for k in "456"] == [("", "")] * 3
    assert grade["1"] == ("3", "one: 4 of 7, 1 taken off for 11 h 59 min of lateness")
    assert grade["2"] == ("0", "one: 0 of 7")
    assert grade["3"][0] == "0"
    assert "no notebook" in grade["3"][1]
    told = capsys.readouterr().out
    assert "3 grades written" in told
    assert "waiting: s4@x.edu" in told
    assert "outdated: s5@x.edu" in told
    assert "missing: s6@x.edu" in told
    # What nobody is asked to look up is not run by a spreadsheet.
    assert next(row for row in after if row["Identifier"] == "Participant 2")["Full name"].startswith("'=")


@pytest.mark.pipeline
def test_canvas_table_comes_back_with_its_rows_and_without_other_assignments(course, tmp_path):
    roster = Roster.read(course / "students.csv")
    template = tmp_path / "gradebook.csv"
    rows = [
        [
            "Student",
            "ID",
            "SIS User ID",
            "SIS Login ID",
            "Section",
            "Essay (12)",
            "Small (77)",
            "Current Score",
        ],
        ["", "", "", "", "", "", "Manual Posting", ""],
        ["    Points Possible", "", "", "", "", "10", "7.00", "(read only)"],
        ['=HYPERLINK("x")', "902", "", "s2@x.edu", "A", "3", "", ""],
        ["Åström, Zoë", "901", "", "s1@x.edu", "A", "9", "", ""],
        ["Longer, Waits", "904", "", "s4@x.edu", "A", "9", "2.5", ""],
        ["Stranger, A", "999", "", "z@x.edu", "A", "9", "1", ""],
        ["Student, Test", "1", "", "t", "A", "", "", ""],
    ]
    with template.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows(rows)
    out = tmp_path / "out.csv"
    told = export(course, "small", "canvas", out, template)
    with out.open(encoding="utf-8-sig", newline="") as file:
        written = list(csv.reader(file))
    assert written[0] == ["Student", "ID", "SIS User ID", "SIS Login ID", "Section", "Small (77)"]
    assert written[1] == ["", "", "", "", "", "Manual Posting"]
    assert written[2] == ["    Points Possible", "", "", "", "", "7.00"]
    # The one who waits keeps what Canvas has: an empty cell would take it away.
    assert [(row[1], row[5]) for row in written[3:]] == [
        ("902", "0"),
        ("901", "3"),
        ("904", "2.5"),
        ("999", "1"),
        ("1", ""),
    ]
    assert written[3][0].startswith("'=")
    assert sorted(told.written) == ["s1@x.edu", "s2@x.edu"]
    assert any("s3@x.edu has a grade and no line" in note for note in told.notes)
    assert roster.people["s1@x.edu"].full_name == "Zoë Åström"

    template.write_text(template.read_text("utf-8").replace("7.00", "14"), "utf-8")
    with pytest.raises(CourseError, match="counts 14 points for the assignment, the gradebook 7"):
        export(course, "small", "canvas", out, template)
    export(course, "small", "canvas", out, template, scale=True)
    assert "901,,s1@x.edu,A,6" in out.read_text("utf-8-sig")


@pytest.mark.pipeline
def test_without_a_template_the_columns_are_the_platforms(course, tmp_path):
    out = tmp_path / "out.csv"
    export(course, "small", "canvas", out, column="Small (77)", missing_zero=True)
    with out.open(encoding="utf-8-sig", newline="") as file:
        rows = list(csv.reader(file))
    assert rows[0] == ["Student", "ID", "SIS User ID", "SIS Login ID", "Section", "Small (77)"]
    assert rows[1] == ["    Points Possible", "", "", "", "", "7"]
    assert len(rows) == 2 + 4
    export(course, "small", "moodle", out)
    rows = {row["Email address"]: row for row in table(out)}
    assert set(rows) == {"s1@x.edu", "s2@x.edu", "s3@x.edu"}
    assert rows["s1@x.edu"]["small"] == "3"


@pytest.mark.pipeline
def test_a_template_of_another_kind_is_refused(course, tmp_path):
    path = tmp_path / "t.csv"
    for text, to, says in (
        ("Kennung,Bewertung\n1,2\n", "moodle", "expected Moodle's grading worksheet, downloaded in English"),
        ("Name,Points\n1,2\n", "canvas", "expected Canvas's gradebook export"),
        ("Student,ID,SIS Login ID,Section,Small (1),Small two (2)\n", "canvas", "2 columns with 'small'"),
    ):
        path.write_text(text, encoding="utf-8")
        with pytest.raises(CourseError, match=says):
            export(course, "small", to, tmp_path / "out.csv", path)
    assert not (tmp_path / "out.csv").exists()
    assert (
        main(["--course", str(course), "export", "none", "--to", "moodle", "--out", str(tmp_path / "o.csv")])
        == 2
    )


@pytest.mark.pipeline
def test_a_graded_answer_in_words_is_exported(course, tmp_path):
    with open_gradebook(course) as gradebook:
        grade = gradebook.find_grade("words", "one", "small", "s4@x.edu")
        grade.manual_score, grade.needs_manual_grade = 2.5, False
        gradebook.db.commit()
    out = tmp_path / "out.csv"
    export(course, "small", "moodle", out)
    assert {row["Email address"]: row["small"] for row in table(out)}["s4@x.edu"] == "6.5"

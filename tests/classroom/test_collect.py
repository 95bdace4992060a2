"""Collecting downloads as Moodle and Canvas make them: every attempt is kept, the last counts, nobody's files get lost or mixed."""

import json
import os
import re
import stat
import subprocess
import sys
import zipfile
from datetime import datetime
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from classroom.__main__ import main
from classroom.collect import PlatformCollector, collect
from classroom.collect.archive import mended, unpack
from classroom.collect.roster import Roster, read_table, safe_id
from classroom.course import ROOT
from classroom.errors import CourseError

DOWNLOADED = datetime(2026, 3, 5, 9, 0)


@pytest.fixture
def course(tmp_path):
    """What collecting needs of a course: the configuration and a release; no gradebook yet."""
    (tmp_path / "nbgrader_config.py").write_text(
        f"c = get_config()\nload_subconfig({str(ROOT / 'nbgrader_config.py')!r})\n", encoding="utf-8"
    )
    folder = tmp_path / "exercises" / "small"
    folder.mkdir(parents=True)
    for name in ("one", "two"):
        (folder / f"{name}.ipynb").write_bytes(book(name))
    return tmp_path


def book(name, text=""):
    cell = {
        "cell_type": "code",
        "id": name,
        "metadata": {"nbgrader": {"grade_id": name, "solution": True}},
        "source": text,
        "outputs": [],
        "execution_count": None,
    }
    return json.dumps({"cells": [cell], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}).encode()


class Entry(zipfile.ZipInfo):
    """An entry whose name is written in an encoding, with the mark for UTF-8 or without it, as old programs do."""

    encoding, marked = "utf-8", True

    def _encodeFilenameFlags(self):
        return self.filename.encode(self.encoding), self.flag_bits | (0x800 if self.marked else 0)


def archive(path, files, when=DOWNLOADED, encoding="utf-8", marked=True):
    """A zip with these files; `when` is one time for all or one by name."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as zipped:
        for name, content in files.items():
            entry = Entry(name, (when[name] if isinstance(when, dict) else when).timetuple()[:6])
            entry.encoding, entry.marked = encoding, marked
            zipped.writestr(entry, content, zipfile.ZIP_DEFLATED)
    return path


def moodle(name, number, file="one.ipynb"):
    return f"{name}_{number}_assignsubmission_file/{file}"


def submitted(course):
    found = {}
    for path in sorted((course / "submitted").rglob("*")):
        if path.is_file():
            found[path.relative_to(course / "submitted").as_posix()] = path.read_bytes()
    return found


def kept(course):
    folder = course / "collected" / "small"
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.name != "record.json"
    }


# Names ---------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("path", "platform", "name", "number", "late", "upload", "inner"),
    [
        (
            "Ana Müller_184206_assignsubmission_file/one.ipynb",
            "moodle",
            "Ana Müller",
            "184206",
            None,
            0,
            "one.ipynb",
        ),
        (
            "Ana Müller_184206_assignsubmission_file_/one.ipynb",
            "moodle",
            "Ana Müller",
            "184206",
            None,
            0,
            "one.ipynb",
        ),
        (
            "Ana Müller_184206_assignsubmission_file_one.ipynb",
            "moodle",
            "Ana Müller",
            "184206",
            None,
            0,
            "one.ipynb",
        ),
        (
            "Week 3/李 雷_7_assignsubmission_file/src/one.ipynb",
            "moodle",
            "李 雷",
            "7",
            None,
            0,
            "src/one.ipynb",
        ),
        (
            "Ana_9_assignsubmission_onlinetext/onlinetext.html",
            "moodle",
            "Ana",
            "9",
            None,
            0,
            "onlinetext.html",
        ),
        ("müllerana_5521_88034_one.ipynb", "canvas", "müllerana", "5521", False, 88034, "one.ipynb"),
        ("müllerana_LATE_5521_88034_one-1.ipynb", "canvas", "müllerana", "5521", True, 88034, "one-1.ipynb"),
        ("late_LATE_5521_1_2_3.ipynb", "canvas", "late", "5521", True, 1, "2_3.ipynb"),
        ("李雷_5521_88034_作业_1.ipynb", "canvas", "李雷", "5521", False, 88034, "作业_1.ipynb"),
        ("anon_x9Z3q_88034_one.ipynb", "canvas", None, "anon_x9Z3q", False, 88034, "one.ipynb"),
        ("ana_5521_text.html", "canvas", "ana", "5521", False, 0, "text.html"),
        ("ana_5521_88034_work/a/one.ipynb", "canvas", "ana", "5521", False, 88034, "a/one.ipynb"),
    ],
)
def test_names_of_both_platforms_are_read(path, platform, name, number, late, upload, inner):
    said = PlatformCollector().read(Path(path))
    assert (said["platform"], said["name"], said["number"]) == (platform, name, number)
    assert (said["late"], said["upload"], said["inner"].as_posix()) == (late, upload, inner)


@pytest.mark.parametrize("path", ["one.ipynb", "Default group_assignsubmission_file/one.ipynb", "readme.txt"])
def test_other_names_are_nobodys(path):
    assert PlatformCollector().read(Path(path)) is None


@pytest.mark.parametrize("name", ["Müller Zoë", "李雷", "Дарья", "عمر", "राम"])
def test_names_that_were_read_as_cp437_are_put_right(name):
    assert mended(name.encode().decode("cp437")) == name
    assert mended(name) == name


@pytest.mark.parametrize("name", ["../../etc", "a/b", "..", "*[x]?", "a,b", "=cmd", "\u202e", "名" * 200, ""])
def test_an_id_is_a_folders_name(name):
    made = safe_id(name)
    assert made
    assert re.fullmatch(r"[\w.@+~-]+", made)
    assert not made.startswith(".")
    assert len(made.encode()) <= 120


# Collecting ----------------------------------------------------------------------------------------------------------------


def test_moodles_download_in_any_script_with_and_without_the_utf8_mark(course, tmp_path):
    names = ["Ana Müller", "李雷", "Дарья Иванова", "عمر خيام", "O'Neil-Smith Zoë"]
    files = {moodle(name, k + 1): book("one", name) for k, name in enumerate(names)}
    old = archive(tmp_path / "old.zip", files, marked=False)
    new = archive(tmp_path / "new.zip", files)
    assert old.read_bytes() != new.read_bytes()
    told = collect(course, "small", [old], progress=False)
    assert sorted(told.new) == sorted(safe_id(name) for name in names)
    assert not told.unmatched
    for name in names:
        assert submitted(course)[f"{safe_id(name)}/small/one.ipynb"] == book("one", name)
    before = submitted(course), kept(course)
    again = collect(course, "small", [new], progress=False)
    assert (again.new, again.again, len(again.same)) == ([], [], len(names))
    assert (submitted(course), kept(course)) == before


def test_another_encoding_is_told(course, tmp_path):
    path = archive(tmp_path / "gbk.zip", {moodle("李雷", 7): book("one")}, encoding="gbk", marked=False)
    assert collect(course, "small", [path], encoding="gbk", progress=False).new == ["李雷"]
    with pytest.raises(CourseError, match="is not written in utf-8"):
        collect(course, "small", [path], encoding="utf-8", progress=False)


def test_a_newer_download_adds_what_is_new_and_keeps_every_attempt(course, tmp_path):
    first = {moodle("Ana", 1): book("one", "a1"), moodle("Ben", 2): book("one", "b1")}
    second = {
        moodle("Ana", 1): book("one", "a2"),
        moodle("Ben", 2): book("one", "b1"),
        moodle("Cem", 3): book("two", "c"),
    }
    old = archive(tmp_path / "monday.zip", first)
    new = archive(tmp_path / "tuesday.zip", second, when=datetime(2026, 3, 6, 9, 0))
    collect(course, "small", [old], progress=False)
    told = collect(course, "small", [new], progress=False)
    assert (told.new, told.again, told.same) == (["Cem"], ["Ana"], ["Ben"])
    assert submitted(course)["Ana/small/one.ipynb"] == book("one", "a2")
    assert kept(course)["Ana/1/one.ipynb"] == book("one", "a1")
    assert kept(course)["Ana/2/one.ipynb"] == book("one", "a2")
    # The older one again: known. A third that was never seen and is older than what counts: kept, and counts not.
    before = submitted(course)
    assert collect(course, "small", [old], progress=False).same == ["Ana", "Ben"]
    oldest = archive(
        tmp_path / "sunday.zip", {moodle("Ana", 1): book("one", "a0")}, when=datetime(2026, 3, 1, 9, 0)
    )
    assert collect(course, "small", [oldest], progress=False).older == ["Ana"]
    assert submitted(course) == before
    assert kept(course)["Ana/3/one.ipynb"] == book("one", "a0")


def test_downloads_on_one_line_count_by_their_time_and_not_their_place(course, tmp_path):
    new = archive(tmp_path / "b.zip", {moodle("Ana", 1): book("one", "new")}, when=datetime(2026, 3, 6, 9, 0))
    old = archive(tmp_path / "a.zip", {moodle("Ana", 1): book("one", "old")})
    collect(course, "small", [new, old], progress=False)
    assert submitted(course)["Ana/small/one.ipynb"] == book("one", "new")
    assert set(kept(course)) == {"Ana/1/one.ipynb", "Ana/2/one.ipynb"}


def test_an_older_download_that_comes_later_does_not_count_by_the_newer_worksheet(course, tmp_path):
    old = archive(tmp_path / "o.zip", {moodle("Ana", 1): book("one", "old")}, when=datetime(2026, 3, 4, 9, 0))
    new = archive(tmp_path / "n.zip", {moodle("Ana", 1): book("one", "new")})
    sheet = worksheet(tmp_path, [(1, "Ana", "a@x.edu", "Thursday, 5 March 2026, 8:00 AM")])
    collect(course, "small", [new], worksheet=sheet, progress=False)
    told = collect(course, "small", [old], worksheet=sheet, progress=False)
    assert (told.older, told.again) == (["a@x.edu"], [])
    assert submitted(course)["a@x.edu/small/one.ipynb"] == book("one", "new")
    assert kept(course)["a@x.edu/2/one.ipynb"] == book("one", "old")


def test_a_long_name_is_cut_before_its_extension(course, tmp_path):
    files = {
        moodle("Ana", 1): book("one"),
        moodle("李 雷", 2, "作业" * 60 + ".ipynb"): book("one", "long"),
        moodle("Ben", 3, "x" * 230 + ".ipynb"): book("one", "x"),
    }
    assert collect(course, "small", [archive(tmp_path / "m.zip", files)], progress=False).new == [
        "Ana",
        "Ben",
        "李-雷",
    ]
    assert submitted(course)["李-雷/small/one.ipynb"] == book("one", "long")
    names = [name.rpartition("/")[2] for name in kept(course)]
    assert all(len(name.encode()) <= 200 and name.endswith(".ipynb") for name in names)


def test_a_notebook_that_the_last_attempt_lacks_still_counts(course, tmp_path):
    collect(
        course,
        "small",
        [
            archive(
                tmp_path / "1.zip",
                {moodle("Ana", 1): book("one"), moodle("Ana", 1, "two.ipynb"): book("two", "old")},
            )
        ],
        progress=False,
    )
    told = collect(
        course,
        "small",
        [
            archive(
                tmp_path / "2.zip",
                {moodle("Ana", 1, "two.ipynb"): book("two", "new")},
                when=datetime(2026, 3, 9),
            )
        ],
        progress=False,
    )
    assert submitted(course) == {
        "Ana/small/one.ipynb": book("one"),
        "Ana/small/two.ipynb": book("two", "new"),
    }
    assert any("the last attempt has no one.ipynb" in note for note in told.notes)


def test_canvas_counts_the_later_upload_and_knows_a_student_by_the_number(course, tmp_path):
    files = {
        "müllerana_LATE_5521_88034_one.ipynb": book("one", "first"),
        "müllerana_LATE_5521_99001_one-1.ipynb": book("one", "second"),
        "müllerana_5522_88035_one-2.ipynb": book("one", "namesake"),
        "anon_x9Z3q_88036_two.ipynb": book("two"),
    }
    told = collect(course, "small", [archive(tmp_path / "c.zip", files)], progress=False)
    assert told.new == ["anon_x9Z3q", "müllerana-5521", "müllerana-5522"]
    found = submitted(course)
    assert found["müllerana-5521/small/one.ipynb"] == book("one", "second")
    assert found["müllerana-5522/small/one.ipynb"] == book("one", "namesake")
    assert kept(course)["müllerana-5521/1/88034/one.ipynb"] == book("one", "first")
    record = json.loads((course / "collected" / "small" / "record.json").read_text("utf-8"))
    assert record["students"]["müllerana-5521"]["attempts"][0]["late"] is True
    assert record["students"]["müllerana-5522"]["attempts"][0]["late"] is False


def test_a_students_other_files_are_kept_and_reach_no_place_where_they_are_imported(course, tmp_path):
    files = {
        moodle("Ana", 1): book("one"),
        moodle("Ana", 1, "numpy.py"): b"raise SystemExit",
        moodle("Ana", 1, "refcells/__init__.py"): b"raise SystemExit",
        moodle("Ana", 1, "data.csv"): b"1,2",
        moodle("Ana", 1, "timestamp.txt"): b"1999-01-01 00:00:00 UTC",
        moodle("Ana", 1, ".ipynb_checkpoints/two.ipynb"): book("two"),
        "Ana_1_assignsubmission_onlinetext/onlinetext.html": b"see my files",
    }
    collect(course, "small", [archive(tmp_path / "m.zip", files)], progress=False)
    assert set(submitted(course)) == {"Ana/small/one.ipynb"}
    assert sorted(kept(course).values()) == sorted(files.values())


@pytest.mark.parametrize(
    ("name", "content", "taken"),
    [
        ("one (1).ipynb", book("one"), True),
        ("ONE.ipynb", book("one"), True),
        ("one-Copy1.ipynb", book("one"), True),
        ("one.ipynb.txt", book("one"), True),
        ("my homework.ipynb", book("one"), True),
        ("my homework.ipynb", b"{", False),
        ("another course.ipynb", book("three"), False),
        ("one.pdf", b"%PDF", False),
    ],
)
def test_a_renamed_notebook_is_found_by_its_name_or_its_cells(course, tmp_path, name, content, taken):
    told = collect(
        course, "small", [archive(tmp_path / "m.zip", {moodle("Ana", 1, name): content})], progress=False
    )
    assert submitted(course) == ({"Ana/small/one.ipynb": content} if taken else {})
    assert kept(course) == {f"Ana/1/{name}": content}
    assert told.notes


def test_a_zip_that_a_student_handed_in_is_opened(course, tmp_path):
    archive(tmp_path / "work.zip", {"work/one.ipynb": book("one"), "work/two.ipynb": book("two")})
    bad = archive(tmp_path / "bad.zip", {"../../one.ipynb": book("one", "evil")})
    files = {
        moodle("Ana", 1, "work.zip"): (tmp_path / "work.zip").read_bytes(),
        moodle("Eve", 2, "bad.zip"): bad.read_bytes(),
    }
    canvas = {"ben_5_6_work.zip": (tmp_path / "work.zip").read_bytes()}
    told = collect(
        course,
        "small",
        [archive(tmp_path / "m.zip", files), archive(tmp_path / "c.zip", canvas)],
        progress=False,
    )
    assert set(submitted(course)) == {
        f"{who}/small/{name}.ipynb" for who in ("Ana", "ben-5") for name in ("one", "two")
    }
    assert kept(course)["Eve/1/bad.zip"] == bad.read_bytes()
    assert any("outside its folder" in note for note in told.notes)


def test_a_folder_is_taken_as_its_zip_would_be(course, tmp_path):
    files = {moodle("Ana", 1): book("one"), moodle("李雷", 2, "two.ipynb"): book("two")}
    with zipfile.ZipFile(archive(tmp_path / "m.zip", files)) as zipped:
        zipped.extractall(tmp_path / "folder" / "week 3")
    (tmp_path / "folder" / "__MACOSX").mkdir()
    (tmp_path / "folder" / "__MACOSX" / "._x").write_bytes(b"x")
    # A program that reads UTF-8 as cp437 has unpacked this one.
    broken = tmp_path / "folder" / moodle("Zoë".encode().decode("cp437"), 3)
    broken.parent.mkdir(parents=True)
    broken.write_bytes(book("one", "zoë"))
    archive(tmp_path / "folder" / "more.zip", {moodle("Cem", 4): book("one")})
    told = collect(course, "small", [tmp_path / "folder"], progress=False)
    assert told.new == ["Ana", "Cem", "Zoë", "李雷"]
    assert not told.unmatched


def test_what_belongs_to_nobody_is_told_and_kept(course, tmp_path):
    files = {
        "readme.txt": b"hello",
        "Default group_assignsubmission_file/one.ipynb": book("one"),
        moodle("Ana", 1): book("one"),
    }
    told = collect(course, "small", [archive(tmp_path / "m.zip", files)], progress=False)
    assert {name for name, _ in told.unmatched} == {
        "m.zip: readme.txt",
        "m.zip: Default group_assignsubmission_file/one.ipynb",
    }
    assert kept(course)["unmatched/m/readme.txt"] == b"hello"
    assert main(["--course", str(course), "collect", "small", str(tmp_path / "m.zip")]) == 0


def test_files_of_nobody_that_cannot_stand_side_by_side_are_all_kept(course, tmp_path):
    """Downloads of one name, week after week: another text, a folder of the file's name, the file again."""
    weeks = [{"notes": b"one"}, {"notes": b"two"}, {"notes/one": b"three"}, {"notes": b"two"}]
    for week, files in enumerate(weeks):
        (tmp_path / str(week)).mkdir()
        made = archive(tmp_path / str(week) / "m.zip", files | {moodle("Ana", 1): book("one")})
        told = collect(course, "small", [made], progress=False)
        assert [name for name, _ in told.unmatched] == [f"m.zip: {next(iter(files))}"]
    found = {name: text for name, text in kept(course).items() if name.startswith("unmatched")}
    assert found == {
        "unmatched/m/notes": b"one",
        "unmatched/m (1)/notes": b"two",
        "unmatched/m (2)/notes/one": b"three",
    }


def test_namesakes_are_never_mixed(course, tmp_path):
    files = {
        moodle("Ana Li", 1): book("one", "first"),
        moodle("Ana Li", 2): book("one", "second"),
        moodle("Ben", 3): book("one"),
    }
    path = archive(tmp_path / "m.zip", files)
    told = collect(course, "small", [path], progress=False)
    assert told.new == ["Ben"]
    assert all("--worksheet" in reason for _, reason in told.unmatched)
    assert len(told.unmatched) == 2
    sheet = worksheet(
        tmp_path,
        [(1, "Ana Li", "ana.li@x.edu", "-"), (2, "Ana Li", "ana.li2@x.edu", "-"), (3, "Ben", "b@x.edu", "-")],
    )
    assert collect(course, "small", [path], worksheet=sheet, progress=False).new == [
        "ana.li2@x.edu",
        "ana.li@x.edu",
    ]
    found = submitted(course)
    assert found["ana.li@x.edu/small/one.ipynb"] == book("one", "first")
    assert found["ana.li2@x.edu/small/one.ipynb"] == book("one", "second")
    # Ben keeps the id that he got first.
    assert Roster.read(course / "students.csv").people["Ben"].email == "b@x.edu"
    # In the next assignment Moodle's numbers are others.
    (course / "exercises" / "next").mkdir()
    (course / "exercises" / "next" / "one.ipynb").write_bytes(book("one"))
    other = archive(
        tmp_path / "n.zip", {moodle("Ana Li", 71): book("one", "n1"), moodle("Ana Li", 70): book("one", "n2")}
    )
    rows = [(71, "Ana Li", "ana.li@x.edu", "-"), (70, "Ana Li", "ana.li2@x.edu", "-")]
    collect(course, "next", [other], worksheet=worksheet(tmp_path, rows), progress=False)
    assert submitted(course)["ana.li@x.edu/next/one.ipynb"] == book("one", "n1")
    assert submitted(course)["ana.li2@x.edu/next/one.ipynb"] == book("one", "n2")


@pytest.mark.parametrize(
    ("names", "ids"),
    [
        (("रमा", "राम"), ["रमा", "राम"]),
        (("นัด", "นิด"), ["นัด", "นิด"]),
        (("😀", "🎉"), ["nobody", "nobody-2"]),
    ],
    ids=["Devanagari", "Thai", "no letters"],
)
def test_names_that_differ_in_their_marks_are_two_people(course, tmp_path, names, ids):
    first, second = names
    files = {moodle(first, 1): book("one", "first"), moodle(second, 2): book("one", "second")}
    told = collect(course, "small", [archive(tmp_path / "m.zip", files)], progress=False)
    assert (told.new, told.again, told.unmatched) == (ids, [], [])
    assert sorted(submitted(course).values()) == [book("one", "first"), book("one", "second")]


def test_namesakes_are_two_however_they_are_written_and_whenever_they_come(course, tmp_path):
    files = {moodle("Ana Li", 1): book("one", "first"), moodle("ANA LI", 2): book("one", "second")}
    told = collect(course, "small", [archive(tmp_path / "m.zip", files)], progress=False)
    assert (told.new, len(told.unmatched)) == ([], 2)
    for number, of in ((1, "first"), (2, "second")):
        path = archive(tmp_path / f"{of}.zip", {moodle("Ana Li", number): book("one", of)})
        told = collect(course, "small", [path], progress=False)
    assert (told.again, len(told.unmatched)) == ([], 1)
    assert "has another number in this assignment" in told.unmatched[0][1]
    assert submitted(course) == {"Ana-Li/small/one.ipynb": book("one", "first")}


def test_a_worksheet_without_addresses_mixes_no_namesakes(course, tmp_path):
    files = {moodle("Ana Li", k): book("one", str(k)) for k in (1, 2)}
    sheet = tmp_path / "w.csv"
    sheet.write_text("Identifier,Full name\nParticipant 1,Ana Li\nParticipant 2,Ana Li\n", encoding="utf-8")
    for _ in range(2):
        told = collect(course, "small", [archive(tmp_path / "m.zip", files)], worksheet=sheet, progress=False)
        assert (told.new, told.again, len(told.unmatched)) == ([], [], 2)
    assert "with addresses or logins" in told.unmatched[0][1]
    assert submitted(course) == {}


def test_blind_markings_worksheet_has_times_and_no_names(course, tmp_path):
    files = {moodle("Participant", k): book("one", str(k)) for k in (11, 12, 13)}
    lines = [f'Participant {k},"Monday, 2 March 2026, 11:{k} AM"\n' for k in (11, 12, 13, 14)]
    sheet = tmp_path / "w.csv"
    sheet.write_text("Identifier,Last modified (submission)\n" + "".join(lines), encoding="utf-8")
    path = archive(tmp_path / "m.zip", files)
    told = collect(course, "small", [path], worksheet=sheet, zone=ZoneInfo("UTC"), progress=False)
    assert told.new == [f"Participant-{k}" for k in (11, 12, 13)]
    assert stamp(course, "Participant-12") == "2026-03-02 11:12:00 UTC"


def test_blind_marking_has_numbers_alone(course, tmp_path):
    files = {moodle("Participant", k): book("one", str(k)) for k in (11, 12, 13)}
    assert collect(course, "small", [archive(tmp_path / "m.zip", files)], progress=False).new == [
        f"Participant-{k}" for k in (11, 12, 13)
    ]


# Times ---------------------------------------------------------------------------------------------------------------------


def worksheet(folder, rows, encoding="utf-8"):
    """Moodle's grading worksheet, with the columns that it has when it is downloaded in English."""
    head = "Identifier,Full name,Email address,Status,Grade,Maximum Grade,Grade can be changed,Last modified (submission),Last modified (grade),Feedback comments"
    lines = [
        f'Participant {number},{name},{email},Submitted for grading,,4.00,Yes,"{when}",-,'
        for number, name, email, when in rows
    ]
    path = folder / "Grades-small.csv"
    path.write_bytes("\r\n".join([head, *lines, ""]).encode(encoding))
    return path


def stamp(course, student):
    path = course / "submitted" / student / "small" / "timestamp.txt"
    return path.read_text("utf-8").strip() if path.exists() else None


def test_the_downloads_time_is_nobodys_and_the_worksheet_has_the_right_one(course, tmp_path):
    path = archive(tmp_path / "m.zip", {moodle("Ana", 1): book("one"), moodle("Ben", 2): book("one")})
    told = collect(course, "small", [path], progress=False)
    assert told.timeless == ["Ana", "Ben"]
    assert stamp(course, "Ana") is None
    sheet = worksheet(
        tmp_path,
        [(1, "Ana", "a@x", "Monday, 2 March 2026, 11:59 PM"), (2, "Ben", "b@x", "-"), (3, "Cem", "c@x", "-")],
    )
    assert (
        main(
            [
                "--course",
                str(course),
                "collect",
                "small",
                str(path),
                "--worksheet",
                str(sheet),
                "--timezone",
                "Europe/Berlin",
            ]
        )
        == 0
    )
    assert stamp(course, "Ana") == "2026-03-02 22:59:00 UTC"
    assert stamp(course, "Ben") is None
    # The whole class is in the list, with those who handed in nothing.
    assert sorted(person.full_name for person in Roster.read(course / "students.csv").people.values()) == [
        "Ana",
        "Ben",
        "Cem",
    ]


def test_a_time_zone_that_was_forgotten_is_put_right(course, tmp_path):
    path = archive(tmp_path / "m.zip", {moodle("Ana", 1): book("one")})
    sheet = worksheet(tmp_path, [(1, "Ana", "a@x", "Monday, 2 March 2026, 11:59 PM")])
    collect(course, "small", [path], worksheet=sheet, zone=ZoneInfo("UTC"), progress=False)
    assert stamp(course, "a@x") == "2026-03-02 23:59:00 UTC"
    told = collect(course, "small", [path], worksheet=sheet, zone=ZoneInfo("Europe/Berlin"), progress=False)
    assert stamp(course, "a@x") == "2026-03-02 22:59:00 UTC"
    assert "which replaces 2026-03-02T23:59:00" in " ".join(told.notes)
    # Without the table the time stands.
    collect(course, "small", [path], progress=False)
    assert stamp(course, "a@x") == "2026-03-02 22:59:00 UTC"


def test_files_with_times_of_their_own_keep_them(course, tmp_path):
    when = {moodle("Ana", 1): datetime(2026, 3, 1, 12, 0), moodle("Ben", 2): datetime(2026, 3, 2, 18, 30)}
    path = archive(tmp_path / "m.zip", {name: book("one") for name in when}, when=when)
    collect(course, "small", [path], zone=ZoneInfo("Asia/Tokyo"), progress=False)
    assert stamp(course, "Ana") == "2026-03-01 03:00:00 UTC"
    assert stamp(course, "Ben") == "2026-03-02 09:30:00 UTC"


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "cp1252"])
def test_tables_are_read_in_any_of_excels_encodings(tmp_path, encoding):
    rows = read_table(worksheet(tmp_path, [(1, "Zoë", "z@x", "2026-03-01 10:00")], encoding))
    assert [(row.platform, row.number, row.full_name, row.email) for row in rows] == [
        ("moodle", "1", "Zoë", "z@x")
    ]


def test_a_table_may_hold_a_long_text(tmp_path):
    path = tmp_path / "w.csv"
    path.write_text(f'Identifier,Full name,Online text\nParticipant 7,Ana,"{"x" * 200_000}"\n', "utf-8")
    assert [(row.number, row.full_name) for row in read_table(path)] == [("7", "Ana")]


def test_a_damaged_record_is_named(course, tmp_path, capsys):
    path = archive(tmp_path / "m.zip", {moodle("Ana", 1): book("one")})
    collect(course, "small", [path], progress=False)
    (course / "collected" / "small" / "record.json").write_text("", encoding="utf-8")
    assert main(["--course", str(course), "collect", "small", str(path)]) == 2
    assert "record.json is damaged" in capsys.readouterr().err


def test_canvas_table_gives_names_and_logins(course, tmp_path):
    path = tmp_path / "gradebook.csv"
    path.write_text(
        "Student,ID,SIS User ID,SIS Login ID,Section,small (77)\n    Points Possible,,,,,4\n"
        '"Müller, Ana",5521,U1,amueller,A,\n"Student, Test",9,,x,A,\n',
        encoding="utf-8",
    )
    files = {"müllerana_5521_88034_one.ipynb": book("one")}
    assert collect(
        course, "small", [archive(tmp_path / "c.zip", files)], worksheet=path, progress=False
    ).new == ["amueller"]
    people = Roster.read(course / "students.csv").people
    assert set(people) == {"amueller"}
    assert (people["amueller"].last_name, people["amueller"].first_name, people["amueller"].lms_user_id) == (
        "Müller",
        "Ana",
        "5521",
    )


# Safety --------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["../x", "a/../../x", "/etc/x", "..\\x", "C:/x", "C:\\x"])
def test_an_entry_that_leaves_the_folder_is_refused(course, tmp_path, name):
    path = archive(tmp_path / "m.zip", {moodle("Ana", 1): book("one"), name: b"evil"})
    before = set(tmp_path.rglob("*"))
    with pytest.raises(CourseError, match="outside its folder; the archive is refused"):
        collect(course, "small", [path], progress=False)
    assert set(tmp_path.rglob("*")) == before


def test_links_are_refused(course, tmp_path):
    entry = zipfile.ZipInfo(moodle("Ana", 1))
    entry.external_attr = (stat.S_IFLNK | 0o777) << 16
    with zipfile.ZipFile(tmp_path / "m.zip", "w") as zipped:
        zipped.writestr(entry, "/etc/passwd")
    with pytest.raises(CourseError, match="holds a link"):
        collect(course, "small", [tmp_path / "m.zip"], progress=False)
    folder = tmp_path / "folder" / "Ana_1_assignsubmission_file"
    folder.mkdir(parents=True)
    (folder / "one.ipynb").symlink_to("/etc/passwd")
    with pytest.raises(CourseError, match="is a link"):
        collect(course, "small", [tmp_path / "folder"], progress=False)


def test_a_zip_bomb_is_stopped_by_what_it_unpacks_to(tmp_path):
    path = archive(tmp_path / "m.zip", {moodle("Ana", 1): bytes(20_000_000)})
    assert path.stat().st_size < 100_000
    with pytest.raises(CourseError, match="more than 10 MB"):
        unpack(path, tmp_path / "out", most_bytes=10 * 2**20)
    assert not list(tmp_path.glob("out*"))
    with pytest.raises(CourseError, match="2 files"):
        unpack(archive(tmp_path / "n.zip", {str(k): b"" for k in range(3)}), tmp_path / "out", most_files=2)


@pytest.mark.parametrize("damage", ["cut", "garbage", "empty", "encrypted"])
def test_a_damaged_download_is_refused_and_changes_nothing(course, tmp_path, damage):
    path = archive(tmp_path / "m.zip", {moodle("Ana", 1): os.urandom(3000)})
    raw = bytearray(path.read_bytes())
    if damage == "cut":
        del raw[1000:]
    elif damage == "garbage":
        raw[200:1200] = bytes(1000)
    elif damage == "empty":
        raw.clear()
    else:
        raw[6] |= 1
        raw[raw.rindex(b"PK\x01\x02") + 8] |= 1
    path.write_bytes(raw)
    with pytest.raises(CourseError, match=r"cannot be unpacked|damaged|encrypted"):
        collect(course, "small", [path], progress=False)
    assert not (course / "submitted").exists()


def test_two_entries_of_one_name_are_two_files(tmp_path):
    with zipfile.ZipFile(tmp_path / "m.zip", "w") as zipped:
        zipped.writestr("a.txt", "1")
        with pytest.warns(UserWarning, match="Duplicate name"):
            zipped.writestr("a.txt", "2")
    unpack(tmp_path / "m.zip", tmp_path / "out")
    assert sorted(path.read_text() for path in (tmp_path / "out").iterdir()) == ["1", "2"]


def test_what_a_person_changed_in_submitted_is_not_overwritten_silently(course, tmp_path):
    collect(
        course, "small", [archive(tmp_path / "1.zip", {moodle("Ana", 1): book("one", "a")})], progress=False
    )
    mine = course / "submitted" / "Ana" / "small" / "one.ipynb"
    mine.write_bytes(book("one", "mended"))
    collect(course, "small", [tmp_path / "1.zip"], progress=False)
    assert mine.read_bytes() == book("one", "mended")
    newer = archive(tmp_path / "2.zip", {moodle("Ana", 1): book("one", "b")}, when=datetime(2026, 3, 9))
    told = collect(course, "small", [newer], progress=False)
    assert mine.read_bytes() == book("one", "b")
    assert book("one", "mended") in kept(course).values()
    assert any("by-hand" in note for note in told.notes)


def test_the_list_keeps_names_as_they_are_and_ids_inside_their_folder(course):
    roster = Roster.read(course / "students.csv")
    names = ["'t Hooft", "=1+1", "-", "Zoë"]
    for k, name in enumerate(names):
        roster.find("canvas", str(k), name, None)
    roster.write()
    assert "'=1+1" in roster.path.read_text("utf-8-sig")
    assert {person.full_name for person in Roster.read(roster.path).people.values()} == set(names)
    roster.path.write_text("id,full_name\n../../etc,x\n", "utf-8")
    with pytest.raises(CourseError, match="one that can name a folder"):
        Roster.read(roster.path)


def test_an_encoding_that_is_none_is_named(course, tmp_path, capsys):
    path = archive(tmp_path / "m.zip", {moodle("Ana", 1): book("one")})
    assert main(["--course", str(course), "collect", "small", str(path), "--encoding", "gbq"]) == 2
    assert "no encoding 'gbq'" in capsys.readouterr().err


def test_mistakes_are_named(course, tmp_path, capsys):
    (tmp_path / "x.txt").write_text("x")
    (tmp_path / "t.csv").write_text("Kennung,Name\n1,2\n")
    path = archive(tmp_path / "m.zip", {moodle("Ana", 1): book("one")})
    for arguments, says in (
        (["small", str(tmp_path / "no.zip")], "no file or folder"),
        (["small", str(tmp_path / "x.txt")], "is no zip and no folder"),
        (["none", str(path)], "no released notebook"),
        (["small", str(path), "--worksheet", str(tmp_path / "t.csv")], "expected 'Identifier'"),
        (["small", str(path), "--timezone", "Mars"], "no time zone 'Mars'"),
    ):
        assert main(["--course", str(course), "collect", *arguments]) == 2
        assert says in capsys.readouterr().err


def test_nbgraders_own_command_uses_the_same_plugins(course, tmp_path):
    folder = course / "downloaded" / "small" / "archive"
    folder.mkdir(parents=True)
    archive(folder / "m.zip", {moodle("Ana Müller", 1): book("one"), "ben_5_6_two.ipynb": book("two")})
    done = subprocess.run(
        [sys.executable, "-m", "nbgrader", "zip_collect", "small"], cwd=course, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert set(submitted(course)) == {"Ana-Müller-1/small/one.ipynb", "ben-5/small/two.ipynb"}

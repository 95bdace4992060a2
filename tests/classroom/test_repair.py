"""From what students do to notebooks to a notebook that can be graded: every row of the table, and what is said of it."""

import copy
import json
import sys

import nbformat
import pytest

from classroom.course import ROOT, read_notebook
from classroom.grading.repair import MOST_BYTES, Unreadable, repair
from classroom.grading.work import FAILED, MISSING, Master, Task, grade_one

RELEASED = ROOT / "exercises" / "lstm" / "scalar_lstm.ipynb"
MASTER = read_notebook(RELEASED)
ANSWER = "def sigmoid(a):\n    return 'mine'\n"


@pytest.fixture
def submitted():
    """The release with an answer in its first answer cell, as JSON that may be damaged."""
    notebook = json.loads(RELEASED.read_text(encoding="utf-8"))
    find(notebook, "sigmoid")["source"] = ANSWER
    return notebook


def find(notebook, name):
    return next(
        cell for cell in notebook["cells"] if cell["metadata"].get("nbgrader", {}).get("grade_id") == name
    )


def repaired(notebook):
    return repair(json.dumps(notebook).encode(), MASTER)


def sources(result):
    return {cell.id: cell.source for cell in result.notebook.cells}


def ids(result):
    return [cell.id for cell in result.notebook.cells]


COURSE = [cell.id for cell in MASTER.cells]


def test_an_untouched_structure_needs_no_repair(submitted):
    result = repaired(submitted)
    assert result.notes == []
    assert ids(result) == COURSE
    assert sources(result)["sigmoid"] == ANSWER
    nbformat.validate(result.notebook)


def test_everything_but_the_answers_is_the_courses(submitted):
    for cell in submitted["cells"]:
        if not cell["metadata"]["nbgrader"]["solution"]:
            cell["source"] = "assert True"
            cell["metadata"]["nbgrader"]["points"] = 1000
    result = repaired(submitted)
    for mine, course in zip(result.notebook.cells, MASTER.cells, strict=True):
        assert mine.metadata == course.metadata
        assert mine.source == (ANSWER if mine.id == "sigmoid" else course.source)


def _split(notebook):
    cell = find(notebook, "sigmoid")
    second = copy.deepcopy(cell)
    cell["source"], second["source"], second["id"] = "def sigmoid(a):", "    return 'mine'", "another"
    notebook["cells"].insert(notebook["cells"].index(cell) + 1, second)


def _duplicated(notebook):
    cell = find(notebook, "sigmoid")
    notebook["cells"].insert(notebook["cells"].index(cell), copy.deepcopy(cell))


def _test_deleted(notebook):
    notebook["cells"].remove(find(notebook, "test-sigmoid"))


def _moved_last(notebook):
    cell = find(notebook, "sigmoid")
    notebook["cells"].remove(cell)
    notebook["cells"].append(cell)


def _retyped(notebook):
    cell = find(notebook, "sigmoid")
    cell["cell_type"] = "markdown"
    cell.pop("outputs"), cell.pop("execution_count")


def _stripped(notebook):
    for cell in notebook["cells"]:
        cell["metadata"] = {}


def _stripped_with_ids(notebook):
    _stripped(notebook)
    for number, cell in enumerate(notebook["cells"]):
        cell["id"] = f"cell-{number}"


def _renamed(notebook):
    find(notebook, "sigmoid")["metadata"]["nbgrader"]["grade_id"] = "mine"


def _schema(notebook):
    for cell in notebook["cells"]:
        cell["metadata"]["nbgrader"] |= {"schema_version": 2, "grade": False}


def _kernelspec(notebook):
    notebook["metadata"] = {"kernelspec": {"name": "julia-1.9", "language": "julia", "display_name": "Julia"}}


def _null_bytes(notebook):
    find(notebook, "sigmoid")["source"] = "\0" + ANSWER


def _odd_cells(notebook):
    notebook["cells"][0:0] = [None, 7, {}, {"cell_type": 3, "source": {"x": 1}, "metadata": "no", "id": 5}]


EDITS = {
    "split": (_split, "came in 2 pieces"),
    "duplicated": (_duplicated, "came in 2 pieces"),
    "test deleted": (_test_deleted, "'test-sigmoid' was missing and has been put back"),
    "moved last": (_moved_last, "another order"),
    "retyped": (_retyped, "had another type"),
    "metadata stripped": (_stripped, "found by their ids"),
    "metadata and ids stripped": (_stripped_with_ids, "by the name of its function"),
    "renamed": (_renamed, "found by its id"),
    "schema and grade edited": (_schema, None),
    "another kernel": (_kernelspec, None),
    "null bytes": (_null_bytes, None),
    "cells that are none": (_odd_cells, None),
}


@pytest.mark.parametrize("name", EDITS)
def test_what_students_do_is_repaired_and_said(submitted, name):
    edit, says = EDITS[name]
    edit(submitted)
    result = repaired(submitted)
    nbformat.validate(result.notebook)
    course = [cell for cell in ids(result) if not cell.startswith("own-")]
    assert course == COURSE
    namespace = {}
    exec(sources(result)["sigmoid"], namespace)
    assert namespace["sigmoid"](0) == "mine"
    assert result.notebook.metadata == MASTER.metadata
    if says is None:
        assert result.notes == []
    else:
        assert any(says in note for note in result.notes), result.notes


def test_cells_of_the_students_own_stay_between(submitted):
    place = submitted["cells"].index(find(submitted, "sigmoid"))
    own = {
        "cell_type": "code",
        "source": "helper = 1",
        "metadata": {},
        "id": "x",
        "outputs": [],
        "execution_count": 1,
    }
    submitted["cells"].insert(place, own)
    result = repaired(submitted)
    assert ids(result)[place].startswith("own-")
    assert result.notebook.cells[place].source == "helper = 1"
    assert result.notes == []


PICTURE = {"sketch.png": {"image/png": "iVBORw0KGgo="}}


def words(text, **more):
    return {"cell_type": "markdown", "source": text, "metadata": {}, "id": "w", **more}


def insert_below(notebook, name, *cells):
    place = notebook["cells"].index(find(notebook, name)) + 1
    notebook["cells"][place:place] = cells


def test_words_and_pictures_of_the_students_own_stay(submitted):
    insert_below(submitted, "test-sigmoid", words("A thought.", attachments=PICTURE))
    answer = find(submitted, "words-two-states")
    answer |= {"source": "Two states: ![](attachment:sketch.png)", "attachments": PICTURE}
    result = repaired(submitted)
    assert result.notes == []
    place = ids(result).index("test-sigmoid") + 1
    own = result.notebook.cells[place]
    assert (own.cell_type, own.source, own.attachments) == ("markdown", "A thought.", PICTURE)
    kept = next(cell for cell in result.notebook.cells if cell.id == "words-two-states")
    assert (kept.source, kept.attachments) == (answer["source"], PICTURE)
    nbformat.validate(result.notebook)


def test_words_below_an_answer_cell_that_was_left_alone_are_the_answer(submitted):
    insert_below(
        submitted, "words-content-control", words("Content."), words("Control.", attachments=PICTURE)
    )
    result = repaired(submitted)
    assert ids(result) == COURSE
    assert sources(result)["words-content-control"] == "Content.\n\nControl."
    assert result.notes == ["the answer to 'words-content-control' was found below its cell"]
    # Below one that was written into, they are the student's own.
    find(submitted, "words-content-control")["source"] = "Mine."
    result = repaired(submitted)
    assert sources(result)["words-content-control"] == "Mine."
    assert [cell for cell in ids(result) if cell.startswith("own-")] != []
    assert result.notes == []


def test_words_in_the_place_of_a_deleted_answer_cell_are_the_answer(submitted):
    answer = find(submitted, "words-two-states")
    submitted["cells"][submitted["cells"].index(answer)] = words("Two of them.")
    result = repaired(submitted)
    assert sources(result)["words-two-states"] == "Two of them."
    assert ids(result) == COURSE


def test_without_any_metadata_words_are_found_and_the_courses_stand_once(submitted):
    find(submitted, "words-content-control")["source"] = "Content and control."
    _stripped_with_ids(submitted)
    result = repaired(submitted)
    assert sources(result)["words-content-control"] == "Content and control."
    assert sources(result)["words-two-states"] == "*Your answer here.*"
    kinds = [cell.cell_type for cell in result.notebook.cells]
    assert kinds.count("markdown") == [cell.cell_type for cell in MASTER.cells].count("markdown")


def test_pictures_of_one_name_are_told_apart(submitted):
    other = {"sketch.png": {"image/png": "R0lGODlh"}}
    cells = [words("![](attachment:sketch.png)", attachments=found) for found in (PICTURE, other, PICTURE)]
    insert_below(submitted, "words-two-states", *cells)
    result = repaired(submitted)
    kept = next(cell for cell in result.notebook.cells if cell.id == "words-two-states")
    assert kept.source.split("\n\n") == [
        "![](attachment:sketch.png)",
        "![](attachment:2-sketch.png)",
        "![](attachment:sketch.png)",
    ]
    assert kept.attachments == {
        "sketch.png": PICTURE["sketch.png"],
        "2-sketch.png": other["sketch.png"],
    }


ODD_PICTURES = [7, {"a": 3}, {"a": {"image/png": 3}}, {"a": {}}, [{"a": {"image/png": "x"}}]]


@pytest.mark.parametrize("attachments", ODD_PICTURES)
def test_pictures_that_are_none_are_left_out(submitted, attachments):
    insert_below(submitted, "test-sigmoid", words("A thought.", attachments=attachments))
    result = repaired(submitted)
    nbformat.validate(result.notebook)
    assert all("attachments" not in cell for cell in result.notebook.cells)


def test_a_copy_that_is_as_it_was_handed_out_replaces_no_answer(submitted):
    """The student wrote into the upper copy and left the lower one, whose stub would be defined last."""
    cell = find(submitted, "gates")
    written = json.loads(json.dumps(cell))
    written["source"] = "def lstm_gates(*arguments):\n    return 'mine'"
    submitted["cells"].insert(submitted["cells"].index(cell), written)
    result = repaired(submitted)
    assert sources(result)["gates"] == written["source"]
    assert "came in 2 pieces" in " ".join(result.notes)


def test_a_missing_answer_is_said(submitted):
    submitted["cells"].remove(find(submitted, "gates"))
    result = repaired(submitted)
    assert result.notes == ["the answer cell 'gates' is missing"]
    assert "NotImplementedError" not in sources(result)["gates"]


def test_a_notebook_of_the_old_format_is_read(submitted):
    cells = submitted.pop("cells")
    for cell in cells:
        if cell["cell_type"] == "code":
            cell["input"] = cell.pop("source")
    old = {"nbformat": 3, "metadata": {}, "worksheets": [{"cells": cells}]}
    assert sources(repaired(old))["sigmoid"] == ANSWER


BAD = {
    "empty": (b"", "empty"),
    "only nulls": (b"\0\0\0\0", "empty"),
    "cut off": (RELEASED.read_bytes()[:5000], "cut off"),
    "binary": (b"\x89PNG\r\n\x1a\n\xff\xfe", "not text"),
    "a list": (b"[1, 2]", "no notebook"),
    "no cells": (b'{"metadata": {}}', "no cells"),
    "cells are no list": (b'{"cells": {"a": 1}}', "no cells"),
    "very deep": (b"[" * 100_000, "no notebook"),
    "text": (b"My answer is 42.", "no notebook"),
    "a number without end": (b'{"nbformat": ' + b"4" * 5000 + b"}", "no notebook"),
    "sheets without cells": (b'{"worksheets": [{"cells": null}, {"cells": 1}, 1]}', "no cells"),
}


@pytest.mark.parametrize("name", BAD)
def test_what_is_no_notebook_is_named_and_scores_0(name):
    content, says = BAD[name]
    with pytest.raises(Unreadable, match=says):
        repair(content, MASTER)
    result = grade_one(Task("s", Master("scalar_lstm", RELEASED.read_text(encoding="utf-8")), content))
    assert result.status == FAILED
    assert says in result.notes[0]
    assert set(result.points.values()) == {0.0}
    [cell] = nbformat.reads(result.executed, as_version=4).cells
    assert cell.source.startswith("**This notebook could not be graded:** ")
    assert says in cell.source


def test_too_large_a_file_is_named(monkeypatch):
    monkeypatch.setattr(sys.modules["classroom.grading.repair"], "MOST_BYTES", 2**20)
    with pytest.raises(Unreadable, match="has 2 MB; expected at most 1"):
        repair(b" " * 2**20 + b"x" * 2**20, MASTER)
    assert MOST_BYTES == 100 * 2**20


def test_a_file_that_came_is_not_the_one_that_did_not():
    """Nor is an empty one: what became of it has to be told anew."""
    master = Master("scalar_lstm", RELEASED.read_text(encoding="utf-8"))
    assert Task("s", master, None).digest != Task("s", master, b"").digest


@pytest.mark.parametrize("other", ["grader", "judges"])
def test_a_worker_with_another_version_grades_nothing(other):
    content = RELEASED.read_text(encoding="utf-8")
    master = Master("scalar_lstm", content, "other") if other == "judges" else Master("scalar_lstm", content)
    task = Task("s", master, RELEASED.read_bytes(), **({"grader": "other"} if other == "grader" else {}))
    result = grade_one(task)
    assert (result.status, result.digest) == (FAILED, "")
    assert "another version of the course's package" in result.notes[0]


def test_what_was_not_handed_in_scores_0_and_says_so():
    result = grade_one(Task("s", Master("scalar_lstm", RELEASED.read_text(encoding="utf-8")), None))
    assert (result.status, set(result.points.values())) == (MISSING, {0.0})

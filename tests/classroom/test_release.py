"""The release that students get: made from the sources, complete, and free of answers."""

import doctest
import re

import nbformat
import pytest

from classroom.course import ROOT, assignments, read_notebook, sources
from classroom.sample import solution_cells

NOTEBOOKS = [(assignment, source) for assignment in assignments() for source in sources(assignment)]
IDS = [f"{assignment}/{source.stem}" for assignment, source in NOTEBOOKS]
EXERCISES = ROOT / "exercises"


def released(assignment, source):
    return read_notebook(EXERCISES / assignment / f"{source.stem}.ipynb")


def meta(cell):
    return cell.metadata.get("nbgrader", {})


def solution_lines(cell):
    """Lines between the marks of a solution."""
    inside, lines = False, []
    for line in cell.source.splitlines():
        if "### BEGIN SOLUTION" in line:
            inside = True
        elif "### END SOLUTION" in line:
            inside = False
        elif inside and line.strip():
            lines.append(line.strip())
    return lines


def test_release_holds_the_notebooks_and_nothing_else():
    expected = {f"{assignment}/{source.stem}.ipynb" for assignment, source in NOTEBOOKS}
    found = {str(path.relative_to(EXERCISES)) for path in EXERCISES.rglob("*") if path.is_file()}
    assert {path for path in found if ".ipynb_checkpoints" not in path} == expected


@pytest.mark.parametrize(("assignment", "source"), NOTEBOOKS, ids=IDS)
def test_no_answer_leaks(assignment, source):
    text = (EXERCISES / assignment / f"{source.stem}.ipynb").read_text(encoding="utf-8")
    for mark in ("BEGIN SOLUTION", "HIDDEN", "MARK SCHEME", "AUTOTEST", "seed=", "jupytext"):
        assert mark not in text
    cells = released(assignment, source).cells
    code = "\n".join(cell.source for cell in cells if cell.cell_type == "code")
    answers = "\n".join(cell.source for cell in cells if meta(cell)["solution"])
    # A short line, such as `return h, c`, says nothing by itself and may stand in an example.
    telling = [
        line for cell in read_notebook(source).cells for line in solution_lines(cell) if len(line) > 12
    ]
    assert len(telling) > 10
    for line in telling:
        assert line not in code, line
        assert line not in answers, line


@pytest.mark.parametrize(("assignment", "source"), NOTEBOOKS, ids=IDS)
def test_no_output_and_stable_ids(assignment, source):
    notebook = released(assignment, source)
    nbformat.validate(notebook)
    assert notebook.metadata.course.version
    for cell in notebook.cells:
        assert cell.id == meta(cell)["grade_id"]
        assert not cell.get("outputs")
        assert meta(cell)["schema_version"] == 3
        # A student may change what is to be solved, and nothing else.
        assert meta(cell)["locked"] != meta(cell)["solution"]


@pytest.mark.parametrize(("assignment", "source"), NOTEBOOKS, ids=IDS)
def test_each_stub_raises_not_implemented(assignment, source):
    """Every function of every solution cell is a stub that says so; every cell can be run."""
    namespace = {}
    stubs = 0
    for cell in released(assignment, source).cells:
        if cell.cell_type != "code" or meta(cell)["grade"]:
            continue
        before = set(namespace)
        exec(cell.source, namespace)
        if not meta(cell)["solution"]:
            continue
        assert cell.source.count("raise NotImplementedError") == cell.source.count("# Your code here.") > 0
        for name in set(namespace) - before:
            work = namespace[name]
            code = getattr(work.__init__ if isinstance(work, type) else work, "__code__", None)
            if code is None:
                continue
            stubs += 1
            with pytest.raises(NotImplementedError):
                work(*[0.5] * (code.co_argcount - isinstance(work, type)))
    assert stubs >= 5


@pytest.mark.parametrize(("assignment", "source"), NOTEBOOKS, ids=IDS)
def test_examples_in_docstrings_hold(assignment, source):
    namespace = {}
    notebook = read_notebook(source)
    for cell in notebook.cells:
        if cell.cell_type == "code" and not meta(cell)["grade"]:
            exec(cell.source, namespace)
    runner = doctest.DocTestRunner()
    checked = 0
    own = re.findall(
        r"^(?:def|class) (\w+)", "\n".join(solution_cells(notebook).values()), flags=re.MULTILINE
    )
    for name in own:
        doc = namespace[name].__doc__ or ""
        if ">>>" in doc:
            test = doctest.DocTestParser().get_doctest(doc, namespace, name, source.name, 0)
            runner.run(test, clear_globs=False)
            checked += 1
    assert checked >= 5
    assert runner.failures == 0


@pytest.mark.parametrize(("assignment", "source"), NOTEBOOKS, ids=IDS)
def test_anatomy_and_points(assignment, source):
    """At most five exercises; the points and minutes that the texts name are the sums of what the parts have."""
    notebook = read_notebook(source)
    headings = [
        c.source.splitlines()[0]
        for c in notebook.cells
        if c.cell_type == "markdown" and c.source.startswith("## ")
    ]
    exercises = [heading for heading in headings if heading.startswith("## Exercise")]
    assert 1 <= len(exercises) <= 5
    assert all(re.search(r"\(\d+ points, \d+ minutes\)$", heading) for heading in headings), headings

    by_tests = by_hand = 0
    sections = []
    for cell in notebook.cells:
        if cell.cell_type == "markdown" and cell.source.startswith("## "):
            sections.append([int(re.search(r"\((\d+) points", cell.source)[1]), 0])
        points = meta(cell).get("points", 0)
        if meta(cell).get("grade"):
            sections[-1][1] += points
            if cell.cell_type == "code":
                by_tests += points
            else:
                by_hand += points
    assert all(stated == counted for stated, counted in sections), sections
    intro = notebook.cells[0].source
    assert (
        f"There are {by_tests + by_hand} points: {by_tests} are given by the test cells, {by_hand} for"
        in intro
    )
    assert f"python -m refcells.check {source.stem}.ipynb" in intro
    minutes = sum(int(re.search(r"(\d+) minutes\)$", heading)[1]) for heading in headings)
    assert f"Plan for {minutes} minutes." in intro
    row = re.search(
        rf"^\| `{source.stem}` \|.*$",
        (ROOT / "book" / "student-guide.md").read_text("utf-8"),
        flags=re.MULTILINE,
    )
    assert row[0].endswith(f"| {minutes} minutes | {by_tests + by_hand} |")


@pytest.mark.parametrize(("assignment", "source"), NOTEBOOKS, ids=IDS)
def test_every_question_has_a_mark_scheme_and_a_model_answer(assignment, source):
    notebook = read_notebook(source)
    by_hand = [c for c in notebook.cells if meta(c).get("grade") and c.cell_type == "markdown"]
    assert 1 <= len(by_hand) <= 2
    for index, cell in enumerate(notebook.cells):
        if cell in by_hand:
            question = notebook.cells[index - 1].source
            points = [int(n) for n in re.findall(r"^(\d+) points?:", question, flags=re.MULTILINE)]
            assert "### BEGIN MARK SCHEME" in question
            assert sum(points) == meta(cell)["points"]
            assert len(" ".join(solution_lines(cell))) > 200


@pytest.mark.parametrize(("assignment", "source"), NOTEBOOKS, ids=IDS)
def test_each_test_cell_says_what_it_checks(assignment, source):
    for cell in released(assignment, source).cells:
        if meta(cell)["grade"] and cell.cell_type == "code":
            assert re.match(r"# Checks .{20,120}\.$", cell.source.splitlines()[0]), cell.source


@pytest.mark.parametrize(("assignment", "source"), NOTEBOOKS, ids=IDS)
def test_student_guide_states_the_points(assignment, source):
    guide = (ROOT / "book" / "student-guide.md").read_text(encoding="utf-8")
    row = re.search(rf"^\| `{source.stem}` .*\| (\d+) \|$", guide, flags=re.MULTILINE)
    assert row, f"the student guide has no row for {source.stem}"
    total = sum(meta(cell).get("points", 0) for cell in read_notebook(source).cells)
    assert int(row[1]) == total

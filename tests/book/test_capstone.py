"""The capstone: a rubric that adds up, and a starter notebook that runs and is what its text says."""

import re

import jupytext
import nbformat
from nbclient import NotebookClient
from pages import BOOK

from classroom import starter
from classroom.preprocessors import install_cell

PAGE = (BOOK / "capstone.md").read_text(encoding="utf-8")
STARTER = BOOK / "starters" / "capstone.ipynb"


def test_the_rubric_adds_up_and_describes_every_level():
    rows = re.findall(r"^\| \*\*(.+?)\*\* \((\d+)\) \|(.+)\|$", PAGE, flags=re.MULTILINE)
    assert len(rows) >= 7
    assert sum(int(points) for _, points, _ in rows) == 30
    assert "Thirty points" in PAGE
    for name, _, levels in rows:
        assert len([level for level in levels.split("|") if level.strip()]) == 3, name


def test_every_task_of_the_table_exists():
    from refcells import tasks

    table = re.findall(r"^ +\| `(\w+)`", PAGE, flags=re.MULTILINE)
    assert len(table) == 5
    for name in [*table, *re.findall(r"`(\w+_baseline)`", PAGE)]:
        assert hasattr(tasks, name)


def test_the_starter_is_made_from_its_text():
    """Run: python -m classroom.starter"""
    notebook = starter.made()
    nbformat.validate(notebook)
    assert STARTER.read_text(encoding="utf-8") == nbformat.writes(notebook) + "\n"
    source = jupytext.read(STARTER.with_suffix(".py"))
    cells = [cell for cell in notebook.cells if cell.id != "install"]
    assert [(c.cell_type, c.source) for c in cells] == [(c.cell_type, c.source) for c in source.cells]
    assert not any(cell.get("outputs") for cell in notebook.cells)


def test_with_an_address_the_starter_installs_the_package_as_an_exercise_does(tmp_path):
    settings = tmp_path / "_config.yml"
    settings.write_text(
        "repository:\n  url: https://github.com/some/course/\n  branch: taught\n", encoding="utf-8"
    )
    first, *rest = starter.made(settings=settings).cells
    assert first.source == install_cell("https://github.com/some/course", "taught").source
    assert "learning-to-remember @ git+https://github.com/some/course@taught" in first.source
    settings.write_text('repository:\n  url: ""\n', encoding="utf-8")
    assert starter.made(settings=settings).cells == rest


def test_the_starter_runs_as_it_is_and_keeps_stderr_silent(tmp_path):
    notebook = nbformat.read(STARTER, as_version=4)
    NotebookClient(notebook, timeout=120, resources={"metadata": {"path": str(tmp_path)}}).execute()
    outputs = [output for cell in notebook.cells for output in cell.get("outputs", [])]
    assert not [o for o in outputs if o.output_type == "error" or o.get("name") == "stderr"]
    text = "".join(o.text for o in outputs if o.output_type == "stream")
    assert re.search(r"trivial +0\.125", text)
    assert text.count("best rate") == 2

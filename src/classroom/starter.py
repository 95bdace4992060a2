"""The capstone's notebook to start from, made from its text: `python -m classroom.starter`; `make release` runs it.

It is no exercise and nbgrader knows nothing of it. Like an exercise, it begins with the cell that installs the course's
package where the repository has an address, so that it runs on Colab.
"""

from pathlib import Path

import jupytext
import nbformat
from nbformat.notebooknode import NotebookNode

from classroom.course import ROOT
from classroom.preprocessors import install_cell, published

TEXT = ROOT / "book" / "starters" / "capstone.py"


def made(text: Path = TEXT, settings: Path = ROOT / "_config.yml") -> NotebookNode:
    """The notebook of a text notebook, the same at every call.

    Args:
        text: the text notebook, in jupytext's py:percent format.
        settings: the site's settings, which name the repository.
    """
    notebook = jupytext.read(text)
    notebook.nbformat, notebook.nbformat_minor = 4, 5
    for index, cell in enumerate(notebook.cells):
        cell.id = f"cell-{index}"
        cell.metadata = NotebookNode()
    notebook.metadata = NotebookNode(
        kernelspec={"display_name": "Python 3 (ipykernel)", "language": "python", "name": "python3"},
        language_info={"name": "python"},
    )
    repository, branch = published(settings)
    if repository:
        notebook.cells.insert(0, install_cell(repository, branch))
    return notebook


def main() -> None:
    """Write the notebook beside its text, where it is not there already: a file that is touched makes the site anew."""
    target = TEXT.with_suffix(".ipynb")
    whole = nbformat.writes(made()) + "\n"
    if not target.exists() or target.read_text(encoding="utf-8") != whole:
        target.write_text(whole, encoding="utf-8")


if __name__ == "__main__":
    main()

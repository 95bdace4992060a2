"""Hooks that nbgrader calls while it generates a release."""

from pathlib import Path

import jupytext


def refresh_notebooks(assignment: str, student: str, notebooks: list[str]) -> None:
    """Bring each source notebook up to date with the text notebook beside it.

    nbgrader looks for `.ipynb` files before it calls hooks, so the first conversion is made by hand or by make; this
    keeps an edit of the text from being missed later.
    """
    for notebook in map(Path, notebooks):
        text = notebook.with_suffix(".py")
        if text.exists() and text.stat().st_mtime > notebook.stat().st_mtime:
            jupytext.write(jupytext.read(text), notebook)

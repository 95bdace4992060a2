"""What a preprocessor of `nbgrader generate_feedback` leaves out of a student's page."""

import re
from typing import Any

from nbformat.notebooknode import NotebookNode
from nbgrader.preprocessors import NbGraderPreprocessor
from traitlets import Unicode

__all__ = ["WithoutHiddenTests"]


class WithoutHiddenTests(NbGraderPreprocessor):
    """Puts one comment in the place of a test cell's hidden tests, whose seed would tell what is asked.

    What a failing hidden test says stays: the hint names the mistake. Where nbgrader's own Execute ran the cell, the error's
    frames would show the hidden lines, and only its last line is kept.
    """

    begin = Unicode("BEGIN HIDDEN TESTS", help="What marks the first line that is hidden.").tag(config=True)
    end = Unicode("END HIDDEN TESTS", help="What marks the last one.").tag(config=True)
    note = Unicode(
        "# Hidden tests: the same question with other numbers.", help="What stands in their place."
    ).tag(config=True)

    def preprocess_cell(
        self, cell: NotebookNode, resources: dict[str, Any], index: int
    ) -> tuple[NotebookNode, dict[str, Any]]:
        """Rewrite one cell."""
        if cell.cell_type != "code" or self.begin not in cell.source:
            return cell, resources
        kept: list[str] = []
        hidden: list[str] = []
        inside = False
        for line in cell.source.splitlines():
            if self.begin in line:
                inside = True
                kept.append(self.note)
            elif self.end in line:
                inside = False
            else:
                (hidden if inside else kept).append(line)
        cell.source = "\n".join(kept)
        secret = {line.strip() for line in hidden if line.strip()}
        for output in cell.get("outputs", []):
            if output.output_type == "error":
                output.traceback = [entry for entry in output.traceback if not _shows(entry, secret)] or [
                    f"{output.ename}: {output.evalue}"
                ]
        return cell, resources


_COLOURS = re.compile(r"\x1b\[[0-9;]*m")


def _shows(text: str, secret: set[str]) -> bool:
    """Whether an entry of a traceback quotes one of these lines."""
    plain = _COLOURS.sub("", text)
    return any(line in plain for line in secret)

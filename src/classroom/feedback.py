"""What a preprocessor of `nbgrader generate_feedback` leaves out of a student's page."""

import functools
import re
from typing import Any

from nbformat.notebooknode import NotebookNode
from nbgrader.preprocessors import NbGraderPreprocessor
from traitlets import Unicode

from refcells.autotest.verdict import COMES_OUT, question

__all__ = ["FINDING", "WithoutHiddenTests", "hidden_lines", "hint_of"]

# Where a failed test cell's metadata name the question, the mistake where the results are those of a known one, and whether a
# hidden test found it.
FINDING = "finding"

# What nbgrader marks hidden tests with.
BEGIN, END = "BEGIN HIDDEN TESTS", "END HIDDEN TESTS"


@functools.lru_cache(maxsize=1000)  # a class has the same test cells
def hidden_lines(source: str, begin: str = BEGIN, end: str = END) -> frozenset[int]:
    """The numbers, from 1, of a test cell's lines that are hidden, the two marks among them."""
    found: set[int] = set()
    inside = False
    for number, line in enumerate(source.splitlines(), start=1):
        inside = inside or begin in line
        if inside:
            found.add(number)
        inside = inside and end not in line
    return frozenset(found)


class WithoutHiddenTests(NbGraderPreprocessor):
    """Puts one comment in the place of a test cell's hidden tests, whose seed would tell what is asked.

    Of a failing hidden test the hint stays, which names the mistake; the case and the numbers do not. The graded notebook
    keeps all of it, for whoever grades. Where nbgrader's own Execute ran the cell, nothing tells which test failed, but
    frames that show hidden lines are left out.
    """

    begin = Unicode(BEGIN, help="What marks the first line that is hidden.").tag(config=True)
    end = Unicode(END, help="What marks the last one.").tag(config=True)
    note = Unicode(
        "# Hidden tests: the same question with other numbers.", help="What stands in their place."
    ).tag(config=True)

    def preprocess_cell(
        self, cell: NotebookNode, resources: dict[str, Any], index: int
    ) -> tuple[NotebookNode, dict[str, Any]]:
        """Rewrite one cell."""
        if cell.cell_type != "code" or self.begin not in cell.source:
            return cell, resources
        lines = cell.source.splitlines()
        numbers = hidden_lines(cell.source, self.begin, self.end)
        secret = {lines[number - 1].strip() for number in numbers} - {""}
        cell.source = "\n".join(
            self.note if self.begin in line else line
            for number, line in enumerate(lines, start=1)
            if number not in numbers or self.begin in line
        )
        found = cell.metadata.get(FINDING)
        found = found if isinstance(found, dict) else {}  # a submission's own cell may say anything
        for output in cell.get("outputs", []):
            if output.output_type != "error":
                continue
            if found.get("hidden"):
                output.evalue = _told(hint_of(str(found.get("question", "")), str(found.get("mistake", ""))))
                output.traceback = [f"Not right yet. {output.evalue}"]
            else:
                output.traceback = [entry for entry in output.traceback if not _shows(entry, secret)] or [
                    f"{output.ename}: {output.evalue}"
                ]
        return cell, resources


def hint_of(asked: str, mistake: str) -> str:
    """What the catalogue tells a student of a mistake; empty if the catalogue does not know it.

    Never taken from a test's message, which may quote what a student's code says.

    Args:
        asked: the question's name.
        mistake: the mistake's.
    """
    try:
        known = question(asked).mistakes
    except LookupError:
        return ""
    return next((one.hint for one in known if one.name == mistake), "")


def _told(hint: str) -> str:
    """What a student reads of a failing hidden test."""
    said = "A hidden test, which asks the same with other numbers, does not pass."
    return f"{said}\n{COMES_OUT}{hint}" if hint else said


_COLOURS = re.compile(r"\x1b\[[0-9;]*m")


def _shows(text: str, secret: set[str]) -> bool:
    """Whether an entry of a traceback quotes one of these lines."""
    plain = _COLOURS.sub("", text)
    return any(line in plain for line in secret)

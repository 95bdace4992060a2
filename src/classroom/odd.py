"""What students do to notebooks, each in a submission of its own, graded in one batch: expected status and points of each.

Run as `python -m classroom.odd`. The submissions are a right solution of one of the course's notebooks, damaged; the points
are those that test cells give. What harms the kernel stands in the last exercise, so that everything before it counts.
"""

import copy
import json
import shutil
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import nbformat
from nbformat import NotebookNode

from classroom.course import ROOT, make_course, nbgrader, read_notebook
from classroom.gradebook import scores
from classroom.grading.run import grade_class
from classroom.sample import submission
from classroom.students import Student

__all__ = ["ODD", "Odd", "main", "measure"]

SOURCE, NOTEBOOK, ASSIGNMENT = "lstm", "scalar_lstm", "odd"

# All points that tests give, and those without the last exercise.
ALL, BUT_LAST = 14.0, 12.0
LAST = "half"

Notebook = dict[str, Any]


@dataclass(frozen=True)
class Odd:
    """One odd submission.

    Attributes:
        edit: changes the right solution, or gives the file's content instead, or None for no notebook at all.
        status: expected.
        points: expected.
        says: a part of the expected note; None if there is none.
        files: other files beside the notebook, by path.
        name: the notebook's file name.
        blank: whether the release itself is edited, not a right solution.
    """

    edit: Callable[[Notebook], bytes | None]
    status: str = "graded"
    points: float = ALL
    says: str | None = None
    files: tuple[tuple[str, str], ...] = ()
    name: str = f"{NOTEBOOK}.ipynb"
    blank: bool = False


def _cell(notebook: Notebook, name: str) -> Notebook:
    found: Notebook = next(
        cell for cell in notebook["cells"] if cell["metadata"]["nbgrader"]["grade_id"] == name
    )
    return found


def _written(edit: Callable[[Notebook], Any]) -> Callable[[Notebook], bytes]:
    """The notebook as a file after an edit."""

    def write(notebook: Notebook) -> bytes:
        edit(notebook)
        return json.dumps(notebook).encode()

    return write


def _first(code: str) -> Callable[[Notebook], bytes]:
    """Code before the last answer, in its cell."""

    def edit(notebook: Notebook) -> None:
        cell = _cell(notebook, LAST)
        cell["source"] = f"{code}\n\n{cell['source']}"

    return _written(edit)


def _inside(code: str) -> Callable[[Notebook], bytes]:
    """Code in the place of the last answer's function."""
    return _written(
        lambda notebook: _cell(notebook, LAST).update(source=f"def steps_to_half(a_f):\n    {code}")
    )


def _split(notebook: Notebook) -> None:
    cell = _cell(notebook, "forward")
    place = notebook["cells"].index(cell)
    second = copy.deepcopy(cell)
    before, mark, after = cell["source"].partition("def lstm_forward")
    cell["source"], second["source"], second["id"] = before, mark + after, "second-half"
    notebook["cells"].insert(place + 1, second)


def _duplicated(notebook: Notebook) -> None:
    cell = _cell(notebook, "gates")
    notebook["cells"].insert(notebook["cells"].index(cell), copy.deepcopy(cell))


def _test_edited(notebook: Notebook) -> None:
    _cell(notebook, LAST)["source"] = "def steps_to_half(a_f):\n    return 0"
    test = _cell(notebook, f"test-{LAST}")
    test["source"], test["metadata"]["nbgrader"]["points"] = "1000", 1000


def _moved(notebook: Notebook) -> None:
    cell = _cell(notebook, "sigmoid")
    notebook["cells"].remove(cell)
    notebook["cells"].append(cell)


def _retyped(notebook: Notebook) -> None:
    cell = _cell(notebook, "update")
    cell["cell_type"] = "markdown"
    cell.pop("outputs", None)
    cell.pop("execution_count", None)


def _stripped(notebook: Notebook) -> None:
    for cell in notebook["cells"]:
        cell["metadata"] = {}


def _stripped_with_ids(notebook: Notebook) -> None:
    _stripped(notebook)
    for number, cell in enumerate(notebook["cells"]):
        cell["id"] = f"cell-{number}"


def _edited_metadata(notebook: Notebook) -> None:
    for cell in notebook["cells"]:
        cell["metadata"]["nbgrader"] |= {
            "schema_version": 2,
            "grade": False,
            "locked": False,
            "solution": True,
        }


def _old_format(notebook: Notebook) -> None:
    cells = notebook.pop("cells")
    for cell in cells:
        if cell["cell_type"] == "code":
            cell["input"] = cell.pop("source")
    notebook.update(nbformat=3, nbformat_minor=0, worksheets=[{"cells": cells}])


def _large_output(notebook: Notebook) -> None:
    _cell(notebook, LAST)["outputs"] = [{"output_type": "stream", "name": "stdout", "text": "x" * 50_000_000}]


def _kernelspec(notebook: Notebook) -> None:
    notebook["metadata"] = {"kernelspec": {"name": "julia-1.9", "language": "julia", "display_name": "Julia"}}


def _prefixed(text: str) -> Callable[[Notebook], None]:
    def edit(notebook: Notebook) -> None:
        cell = _cell(notebook, LAST)
        cell["source"] = text + cell["source"]

    return edit


ENDLESS = """import signal
for number in (signal.SIGINT, signal.SIGTERM, signal.SIGALRM):
    signal.signal(number, signal.SIG_IGN)
while True:
    pass"""

BOMB = """import os
while True:
    try:
        os.fork()
    except OSError:
        pass"""

HELPERS = (
    ("refcells/__init__.py", "raise SystemExit"),
    ("refcells/scalar.py", "raise SystemExit"),
    ("classroom.py", "raise SystemExit"),
    ("math.py", "raise SystemExit"),
    ("numpy.py", "raise SystemExit"),
    ("sitecustomize.py", "raise SystemExit"),
)

REPAIRED, FAILED, MISSING = "repaired", "failed", "missing"

# By the name of the student who does it.
ODD: dict[str, Odd] = {
    "right": Odd(_written(lambda notebook: None)),
    "untouched": Odd(_written(lambda notebook: None), points=0, blank=True),
    "split": Odd(_written(_split), REPAIRED, says="came in 2 pieces"),
    "duplicated": Odd(_written(_duplicated), REPAIRED, says="came in 2 pieces"),
    "test-deleted": Odd(
        _written(lambda notebook: notebook["cells"].remove(_cell(notebook, "test-gates"))),
        REPAIRED,
        says="'test-gates' was missing and has been put back",
    ),
    "answer-deleted": Odd(
        _written(lambda notebook: notebook["cells"].remove(_cell(notebook, LAST))),
        REPAIRED,
        BUT_LAST,
        f"the answer cell '{LAST}' is missing",
    ),
    "moved": Odd(_written(_moved), REPAIRED, says="another order"),
    "retyped": Odd(_written(_retyped), REPAIRED, says="had another type"),
    "test-edited": Odd(_written(_test_edited), points=BUT_LAST),
    "metadata-stripped": Odd(_written(_stripped), REPAIRED, says="found by their ids"),
    "metadata-and-ids-stripped": Odd(
        _written(_stripped_with_ids), REPAIRED, says="by the name of its function"
    ),
    "grade-id-renamed": Odd(
        _written(lambda notebook: _cell(notebook, "gates")["metadata"]["nbgrader"].update(grade_id="mine")),
        REPAIRED,
        says="found by its id",
    ),
    "metadata-edited": Odd(_written(_edited_metadata)),
    "old-format": Odd(_written(_old_format)),
    "no-cells-among-cells": Odd(
        _written(lambda notebook: notebook["cells"].extend([None, 7, {}, {"cell_type": 3, "source": {}}]))
    ),
    "file-renamed": Odd(
        _written(lambda notebook: None),
        REPAIRED,
        14,
        "was found in 'my solution",
        name="my solution (final).ipynb",
    ),
    "absent": Odd(lambda notebook: None, MISSING, 0, "was not handed in", (("notes.txt", "I was ill."),)),
    "empty": Odd(lambda notebook: b"", FAILED, 0, "the file is empty"),
    "cut-off": Odd(lambda notebook: json.dumps(notebook).encode()[:5000], FAILED, 0, "cut off"),
    "binary": Odd(lambda notebook: b"\x89PNG\r\n\x1a\n\xff\xfe" * 100, FAILED, 0, "not text"),
    "no-notebook": Odd(lambda notebook: b"My answer is 42.", FAILED, 0, "no notebook"),
    "another-kernel": Odd(_written(_kernelspec)),
    "null-bytes": Odd(_written(_prefixed("\0# \0\n"))),
    "half-a-character": Odd(_written(_prefixed("# \ud800\n"))),
    "50-mb-of-output": Odd(_written(_large_output)),
    "prints-50-mb": Odd(_first("print('x' * 50_000_000)")),
    "prints-without-end": Odd(_first("while True:\n    print('x' * 1000)"), points=BUT_LAST),
    "helpers-named-like-packages": Odd(_written(lambda notebook: None), files=HELPERS),
    "syntax-error": Odd(_inside("return (a_f"), points=BUT_LAST),
    "ends-the-kernel": Odd(_first("import os\nos._exit(0)"), points=BUT_LAST),
    "ends-the-kernel-when-called": Odd(_inside("import os; os._exit(1)"), points=BUT_LAST),
    "crashes": Odd(_first("import ctypes\nctypes.string_at(0)"), points=BUT_LAST),
    "kills-the-kernel": Odd(_first("import os\nos.kill(os.getpid(), 9)"), points=BUT_LAST),
    "endless-loop-that-ignores-signals": Odd(_first(ENDLESS), points=BUT_LAST),
    "fork-bomb": Odd(_first(BOMB), points=BUT_LAST),
    "memory-hog": Odd(_first("hog = [bytearray(2**28) for _ in range(10**6)]"), points=BUT_LAST),
    "asks-for-input": Odd(_inside("return float(input())"), points=BUT_LAST),
}


def _hand_in(folder: Path, odd: Odd, notebook: Notebook) -> None:
    folder.mkdir(parents=True)
    for path, text in odd.files:
        (folder / path).parent.mkdir(exist_ok=True)
        (folder / path).write_text(text, encoding="utf-8")
    if (content := odd.edit(notebook)) is not None:
        (folder / odd.name).write_bytes(content)


def _plain(notebook: NotebookNode) -> Notebook:
    """A notebook as JSON has it, each source one text."""
    plain: Notebook = json.loads(nbformat.writes(notebook))
    for cell in plain["cells"]:
        cell["source"] = "".join(cell["source"])
    return plain


def measure(progress: bool = False) -> dict[str, Any]:
    """Grade all odd submissions in one batch.

    Args:
        progress: whether to show a bar on stderr.

    Returns:
        'submissions', how many; 'handled', how many got the expected status, points and note; 'rows', for each a dict with
        'name', 'status', 'points', 'notes', and 'expected' as (status, points); 'seconds' of the batch.
    """
    with tempfile.TemporaryDirectory(prefix="odd-") as scratch:
        folder = Path(scratch)
        work = folder / "source" / "solutions" / ASSIGNMENT
        work.mkdir(parents=True)
        source = ROOT / "solutions" / SOURCE / f"{NOTEBOOK}.py"
        shutil.copyfile(source, work / source.name)
        for name in ("autotests.yml", "nbgrader_config.py"):
            shutil.copyfile(ROOT / name, folder / "source" / name)
        course = make_course(folder / "course", folder / "source")
        nbgrader(course, "generate_assignment", ASSIGNMENT, "--force")
        released = read_notebook(course / "exercises" / ASSIGNMENT / f"{NOTEBOOK}.ipynb")
        solved = _plain(submission(Student("right"), released, read_notebook(source), NOTEBOOK))
        blank = _plain(read_notebook(course / "exercises" / ASSIGNMENT / f"{NOTEBOOK}.ipynb"))
        for name, odd in ODD.items():
            _hand_in(
                course / "submitted" / name / ASSIGNMENT, odd, copy.deepcopy(blank if odd.blank else solved)
            )
        began = time.perf_counter()
        summary = grade_class(course, ASSIGNMENT, timeout=15, progress=progress)
        seconds = time.perf_counter() - began
        points = {
            student: sum(score.auto or 0 for score in rows)
            for student, rows in scores(course, ASSIGNMENT).items()
        }
    records = {record.student: record for record in summary.records}
    rows = []
    handled = 0
    for name, odd in ODD.items():
        record = records.get(name)
        notes = "; ".join(record.notes) if record else ""
        status = record.status if record else "not graded"
        noted = odd.says in notes if odd.says else not notes
        handled += (status, points.get(name)) == (odd.status, odd.points) and noted
        rows.append(
            {
                "name": name,
                "status": status,
                "points": points.get(name),
                "notes": notes,
                "expected": (odd.status, odd.points),
            }
        )
    return {"submissions": len(ODD), "handled": handled, "rows": rows, "seconds": seconds}


def main() -> int:
    """Command line: the table; 1 if one of them did not get what is expected."""
    told = measure(progress=True)
    width = max(map(len, ODD))
    for row in told["rows"]:
        mark = " " if (row["status"], row["points"]) == row["expected"] else "!"
        print(f"{mark} {row['name']:{width}}  {row['status']:8}  {row['points']:>4g}  {row['notes']}")
    print(f"{told['handled']} of {told['submissions']} as expected, in {told['seconds']:.0f} seconds")
    return int(told["handled"] < told["submissions"])


if __name__ == "__main__":
    sys.exit(main())

"""From what a student handed in to a notebook that can be graded.

The course's own notebook is the frame: its cells, their order, types and metadata are what nbgrader stored. Of the submission
come the answers, found by grade id, by cell id, or by the function that they define, and the student's own cells between them.
Words that stand below an answer cell that was left as it was are the answer.
"""

import ast
import copy
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import nbformat
from nbformat import NotebookNode

__all__ = ["MOST_BYTES", "Repaired", "Unreadable", "repair"]

# A submission of one notebook: a hundred times what an answer takes, with room for a few pictures.
MOST_BYTES = 100 * 2**20


KINDS = ("code", "markdown", "raw")


class Unreadable(Exception):
    """Nothing of this file can be graded; the message says why."""


@dataclass
class Repaired:
    """A notebook that can be graded, and what had to be done to it.

    Attributes:
        notebook: the course's cells with the student's answers, and the student's own cells.
        notes: what was repaired, in sentences; empty if the submission was as it was handed out.
    """

    notebook: NotebookNode
    notes: list[str] = field(default_factory=list)


def repair(content: bytes, master: NotebookNode) -> Repaired:
    """Put a submission's answers into the course's notebook.

    Args:
        content: the file as it was handed in.
        master: the course's notebook, hidden tests included, answer cells as they were released.

    Returns:
        The notebook, and notes of what was repaired.

    Raises:
        Unreadable: if the file is no notebook at all.
    """
    submitted = _cells(_parsed(content))
    frame = [cell for cell in master.cells if _id(cell)]
    answers = {_id(cell): cell for cell in frame if _is_answer(cell)}
    own = {_id(cell) for cell in frame}
    # The course's own words are known by what they say, which tells where the cells after them belong; an answer that is
    # as it was handed out is known, and tells nothing.
    texts = {
        cell.source.strip(): "" if _id(cell) in answers else _id(cell)
        for cell in frame
        if cell.cell_type == "markdown"
    }
    notes: list[str] = []
    pieces: dict[str, list[dict[str, Any]]] = {name: [] for name in own}
    between: dict[str | None, list[NotebookNode]] = {}
    last: str | None = None
    order: list[str] = []
    unmarked: list[str] = []
    for cell in submitted:
        name = _recognised(cell, own, unmarked)
        if name is None:
            text = cell["source"].strip()
            if cell["cell_type"] == "markdown" and text in texts:
                last = texts[text] or last
            elif text:
                between.setdefault(last, []).append(_own(cell))
            continue
        pieces[name].append(cell)
        order.append(name)
        last = name
    if len(unmarked) == 1:
        notes.append(f"the metadata of '{unmarked[0]}' was missing or changed; the cell was found by its id")
    elif unmarked:
        notes.append(
            f"the metadata of {len(unmarked)} cells was missing or changed; they were found by their ids"
        )
    _find_by_function(between, pieces, answers, notes)
    _find_words(between, pieces, frame, notes)
    missing = [name for cell in frame if (name := _id(cell)) not in answers and not pieces[name]]
    if len(missing) == 1:
        notes.append(f"the cell '{missing[0]}' was missing and has been put back")
    elif missing:
        notes.append(f"{len(missing)} of the course's cells were missing and have been put back")

    cells = list(between.get(None, ()))
    for cell in frame:
        name = _id(cell)
        fresh = copy.deepcopy(cell)
        if fresh.cell_type == "code":
            fresh.outputs, fresh.execution_count = [], None
        if name in answers:
            _answer(fresh, pieces[name], notes)
        elif len(pieces[name]) > 1:
            notes.append(
                f"the cell '{name}' came {len(pieces[name])} times; the course's own stands here once"
            )
        cells.append(fresh)
        cells.extend(between.get(name, ()))
    places = {_id(cell): place for place, cell in enumerate(frame)}
    once = list(dict.fromkeys(order))
    if once != sorted(once, key=places.__getitem__):
        notes.append("cells stood in another order and have been put back in the course's")
    notebook = copy.deepcopy(master)
    notebook.cells = cells
    for number, cell in enumerate(cells):
        cell.id = _id(cell) or f"own-{number}"
    return Repaired(notebook, list(dict.fromkeys(notes)))


def _parsed(content: bytes) -> dict[str, Any]:
    """The file as JSON.

    Raises:
        Unreadable: if it is not.
    """
    if not content.strip(b" \t\r\n\0"):
        raise Unreadable("the file is empty")
    if len(content) > MOST_BYTES:
        raise Unreadable(f"the file has {len(content) // 2**20} MB; expected at most {MOST_BYTES // 2**20}")
    try:
        found = json.loads(content.decode("utf-8-sig", errors="strict").replace("\0", ""))
    except UnicodeDecodeError:
        raise Unreadable("the file is not text: no notebook") from None
    except (ValueError, RecursionError) as error:  # no JSON, or a number that is too long to be one
        raise Unreadable(f"the file is no notebook, or was cut off ({str(error)[:80]})") from None
    if not isinstance(found, dict):
        raise Unreadable("the file is no notebook")
    return found


def _cells(found: dict[str, Any]) -> list[dict[str, Any]]:
    """The cells of a notebook of any format version, each with a type, a source that is text, and metadata.

    Raises:
        Unreadable: if there are none.
    """
    cells = found.get("cells")
    if cells is None and isinstance(worksheets := found.get("worksheets"), list):
        # The format before 2015: cells in worksheets, sources of code under another name.
        sheets = [sheet.get("cells") for sheet in worksheets if isinstance(sheet, dict)]
        cells = [cell for sheet in sheets if isinstance(sheet, list) for cell in sheet]
    if not isinstance(cells, list) or not any(isinstance(cell, dict) for cell in cells):
        raise Unreadable("the file holds no cells")
    plain = []
    for cell in cells:
        if not isinstance(cell, dict):
            continue
        source = cell.get("source", cell.get("input", ""))
        if isinstance(source, list):
            source = "".join(line for line in source if isinstance(line, str))
        metadata = cell.get("metadata")
        plain.append(
            {
                "cell_type": cell.get("cell_type") if cell.get("cell_type") in KINDS else "raw",
                "source": _text(source),
                "metadata": metadata if isinstance(metadata, dict) else {},
                "id": cell.get("id") if isinstance(cell.get("id"), str) else None,
                "attachments": _attachments(cell.get("attachments")),
            }
        )
    return plain


def _attachments(found: Any) -> dict[str, dict[str, str]]:
    """The pictures of a cell, by name and type, as far as they are some."""
    if not isinstance(found, dict):
        return {}
    told: dict[str, dict[str, str]] = {}
    for name, forms in found.items():
        data = {
            kind: "".join(text) if isinstance(text, list) else text
            for kind, text in (forms.items() if isinstance(forms, dict) else ())
            if isinstance(text, str) or (isinstance(text, list) and all(isinstance(t, str) for t in text))
        }
        if data:
            told[_text(name)] = {_text(kind): _text(text) for kind, text in data.items()}
    return told


def _own(cell: dict[str, Any]) -> NotebookNode:
    """A cell of the student's own, without what it says of itself."""
    if cell["cell_type"] == "code":
        return nbformat.v4.new_code_cell(cell["source"])
    if cell["cell_type"] == "markdown":
        return _with(nbformat.v4.new_markdown_cell(cell["source"]), cell["attachments"])
    return nbformat.v4.new_raw_cell(cell["source"])


def _with(cell: NotebookNode, attachments: dict[str, dict[str, str]]) -> NotebookNode:
    """A cell with these pictures, and no others."""
    cell.pop("attachments", None)
    if attachments:
        cell.attachments = nbformat.from_dict(attachments)
    return cell


def _text(source: Any) -> str:
    """A cell's source without what no file and no message can hold: null bytes, halves of characters."""
    if not isinstance(source, str):
        return ""
    return source.replace("\0", "").encode("utf-8", "replace").decode("utf-8")


def _id(cell: Any) -> str:
    return cell.get("metadata", {}).get("nbgrader", {}).get("grade_id", "")


def _is_answer(cell: NotebookNode) -> bool:
    return bool(cell.metadata.nbgrader.get("solution"))


def _recognised(cell: dict[str, Any], own: set[str], unmarked: list[str]) -> str | None:
    """The course's cell that this is, by its metadata, or by its id where the metadata is gone, which is noted."""
    marks = cell["metadata"].get("nbgrader")
    name = marks.get("grade_id") if isinstance(marks, dict) else None
    if isinstance(name, str) and name in own:
        return name
    if cell["id"] in own:
        unmarked.append(cell["id"])
        return cell["id"]
    return None


def _defined(source: str) -> set[str]:
    """Names of the functions and classes that a cell defines at its top level."""
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return set()
    return {node.name for node in tree.body if isinstance(node, ast.FunctionDef | ast.ClassDef)}


def _find_by_function(
    between: dict[str | None, list[NotebookNode]],
    pieces: dict[str, list[dict[str, Any]]],
    answers: dict[str, NotebookNode],
    notes: list[str],
) -> None:
    """Give answer cells that are not there the student's own cells that define the same functions."""
    for name, released in answers.items():
        wanted = _defined(released.source) if released.cell_type == "code" else set()
        if pieces[name] or not wanted:
            continue
        for cells in between.values():
            for cell in list(cells):
                if cell.cell_type == "code" and wanted & _defined(cell.source):
                    pieces[name].append({"cell_type": "code", "source": cell.source})
                    cells.remove(cell)
                    notes.append(
                        f"the answer to '{name}' was found in a cell of its own, by the name of its function"
                    )


def _find_words(
    between: dict[str | None, list[NotebookNode]],
    pieces: dict[str, list[dict[str, Any]]],
    frame: list[NotebookNode],
    notes: list[str],
) -> None:
    """Give answers in words that were left as they were, or are not there, what the student wrote in cells below."""
    for place, cell in enumerate(frame):
        name = _id(cell)
        came = pieces[name]
        if not _is_answer(cell) or cell.cell_type != "markdown":
            continue
        if any(piece["source"].strip() not in ("", cell.source.strip()) for piece in came):
            continue
        # Where the cell was deleted, what stands in its place comes after the one before it.
        after = name if came or not place else _id(frame[place - 1])
        words = [own for own in between.get(after, ()) if own.cell_type == "markdown"]
        if not words:
            continue
        between[after] = [own for own in between[after] if own.cell_type != "markdown"]
        text, pictures = _joined(words)
        pieces[name] = [{"cell_type": "markdown", "source": text, "attachments": pictures}]
        notes.append(f"the answer to '{name}' was found below its cell")


def _answer(cell: NotebookNode, came: list[dict[str, Any]], notes: list[str]) -> None:
    """Put a student's answer into its cell: several pieces one after another, as they were run."""
    name = _id(cell)
    if not came:
        notes.append(f"the answer cell '{name}' is missing")
        # Words that are not there are as if nothing had been written; a missing function has to be missed.
        if cell.cell_type != "markdown":
            cell.source = "# This cell was missing."
        return
    if any(piece["cell_type"] != cell.cell_type for piece in came):
        notes.append(f"the answer cell '{name}' had another type")
    if len(came) > 1:
        notes.append(f"the answer cell '{name}' came in {len(came)} pieces, which were joined in their order")
    # A copy that is still as it was handed out would define the function once more, unwritten.
    written = [piece for piece in came if piece["source"].strip() not in ("", cell.source.strip())] or came[
        :1
    ]
    cell.source, pictures = _joined(written)
    if cell.cell_type == "markdown":
        _with(cell, pictures)


def _joined(pieces: Sequence[Mapping[str, Any]]) -> tuple[str, dict[str, dict[str, str]]]:
    """Cells one after another as one, with the pictures of all: editors give a picture the same name in every cell."""
    texts: list[str] = []
    pictures: dict[str, dict[str, str]] = {}
    for number, piece in enumerate(pieces, start=1):
        text = piece["source"]
        for name, data in piece.get("attachments", {}).items():
            own = name
            if pictures.get(name, data) != data:
                own = f"{number}-{name}"
                text = text.replace(f"attachment:{name}", f"attachment:{own}")
            pictures[own] = data
        texts.append(text)
    return "\n\n".join(texts), pictures

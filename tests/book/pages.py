"""The book's sources, taken apart for the tests: pages, code cells and their options."""

import importlib.util
import re
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

import yaml

ROOT = Path(__file__).resolve().parents[2]
BOOK = ROOT / "book"


@dataclass(frozen=True)
class CodeCell:
    """A code cell of a MyST page: its options, and its code."""

    page: str
    options: dict[str, Any]
    code: str

    @property
    def shows_figure(self) -> bool:
        """Whether the last line draws one of the course's figures."""
        last = self.code.strip().splitlines()[-1]
        return last.startswith("figures.")


def loaded(path: Path) -> ModuleType:
    """A module that stands in no package, such as an extension of the site."""
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def pages() -> list[Path]:
    """All pages that are written by hand."""
    return sorted(path for path in BOOK.glob("*.md"))


def code_cells(path: Path) -> list[CodeCell]:
    """The code cells of a page, in order."""
    cells = []
    for body in re.findall(r"^```\{code-cell\}[^\n]*\n(.*?)^```$", path.read_text("utf-8"), re.M | re.S):
        options: dict[str, Any] = {}
        if body.startswith("---\n"):
            header, body = body[4:].split("\n---\n", 1)
            options = yaml.safe_load(header)
        while body.startswith(":"):
            line, body = body.split("\n", 1)
            name, value = line[1:].split(":", 1)
            options[name] = yaml.safe_load(value)
        cells.append(CodeCell(path.name, options, body.strip("\n")))
    return cells


# Nothing of a Chromium's own: no updates, no first steps, no services in the background.
CHROMIUM_FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]

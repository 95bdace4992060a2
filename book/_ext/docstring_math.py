r"""The docstrings of `refcells` as pages: autodoc and napoleon, with the docstrings' own marks understood.

A docstring here is written to be read in an editor or by `help()`: `$...$` and `$$...$$` for mathematics, single
backticks for code, and tables with bars. Sphinx reads docstrings as reStructuredText, in which none of these is what
it looks like. So each docstring is translated on its way, after napoleon has turned its sections into fields:

- `$x$` becomes a math role, `$$x$$` on lines of its own becomes a math directive;
- text in single backticks becomes a literal, or a link if it names something public of this package;
- a table with bars becomes a list table.
"""

import importlib
import re
from collections.abc import Iterator
from typing import Any

from sphinx.application import Sphinx
from sphinx.config import Config

MODULES = (
    "scalar", "vector", "backward", "bidirectional", "torch_cells", "interop", "tasks", "training",
)  # fmt: skip
MATH = re.compile(r"(?<![\\$])\$(?!\$)(.+?)(?<!\\)\$")
CODE = re.compile(r"(?<![`:\w])`([^`]+)`(?![`_])")
RULE = re.compile(r"\|(\s*:?-+:?\s*\|)+")


def public_names() -> dict[str, str]:
    """Where each public name is documented: `lstm_step` and `refcells.vector.lstm_step` to the latter.

    A name that two modules share belongs to the one that `refcells` itself exports.
    """
    package = importlib.import_module("refcells")
    places: dict[str, str] = {}
    for module in MODULES:
        for name in importlib.import_module(f"refcells.{module}").__all__:
            full = f"refcells.{module}.{name}"
            places[full] = full
            if name not in places or package._HOME.get(name) == module:
                places[name] = full
    return places


def inline(text: str, places: dict[str, str], home: str = "") -> str:
    """One line with its mathematics and its code translated; `home` is the module the docstring is in."""

    def code(match: re.Match[str]) -> str:
        word = match.group(1)
        full = places.get(f"{home}.{word}") or places.get(word)
        return f":py:obj:`{word} <{full}>`" if full else f"``{word}``"

    parts = []
    position = 0
    for match in MATH.finditer(text):
        parts.append(CODE.sub(code, text[position : match.start()]))
        parts.append(f":math:`{match.group(1)}`")
        position = match.end()
    parts.append(CODE.sub(code, text[position:]))
    # A role ends where a word ends: what follows without a space is set apart invisibly.
    return re.sub(r"(:math:`[^`]+`)(?=[\w-])", r"\1\\ ", "".join(parts))


def displays(lines: list[str]) -> Iterator[str]:
    """The lines with every displayed formula as a directive."""
    inside: list[str] | None = None
    for line in lines:
        text = line.strip()
        indent = line[: len(line) - len(line.lstrip())]
        if inside is None and not text.startswith("$$"):
            yield line
            continue
        if inside is None:
            inside, margin = [], indent
            text = text[2:]
        if text.endswith("$$"):
            inside.append(text[:-2])
            yield from ("", f"{margin}.. math::", "", *(f"{margin}   {part}" for part in inside), "")
            inside = None
        else:
            inside.append(text)


def tables(lines: list[str]) -> Iterator[str]:
    """The lines with every table as a directive."""
    k = 0
    while k < len(lines):
        indent = lines[k][: len(lines[k]) - len(lines[k].lstrip())]
        if k + 1 < len(lines) and lines[k].strip().startswith("|") and RULE.fullmatch(lines[k + 1].strip()):
            yield from ("", f"{indent}.. list-table::", f"{indent}   :header-rows: 1", "")
            while k < len(lines) and lines[k].strip().startswith("|"):
                if not RULE.fullmatch(lines[k].strip()):
                    for column, cell in enumerate(lines[k].strip().strip("|").split("|")):
                        yield f"{indent}   {'*' if column == 0 else ' '} - {cell.strip()}"
                k += 1
            yield ""
        else:
            yield lines[k]
            k += 1


def translated(lines: list[str], places: dict[str, str], home: str = "") -> list[str]:
    """A docstring's lines as reStructuredText."""
    result: list[str] = []
    verbatim: str | None = None  # the margin of a directive or example whose lines are kept as they are
    for line in displays(list(tables(lines))):
        text, margin = line.strip(), line[: len(line) - len(line.lstrip())]
        if verbatim is not None and text and (len(margin) <= len(verbatim)) and not text.startswith(">>>"):
            verbatim = None
        if text.startswith((".. math::", ">>>")):
            verbatim = margin if text.startswith("..") else margin[:-1]
        result.append(line if verbatim is not None else inline(line, places, home))
    return result


def process(app: Sphinx, what: str, name: str, thing: Any, options: Any, lines: list[str]) -> None:
    """Translate one docstring in place."""
    home = ".".join(name.split(".")[:2])
    lines[:] = translated(lines, app.env.docstring_names, home)


def skip(app: Sphinx, what: str, name: str, thing: Any, skipped: bool, options: Any) -> bool | None:
    """Leave out what a reader has no use for: the fields of named tuples, listed in their class's text."""
    return True if (getattr(thing, "__doc__", None) or "").startswith("Alias for field number") else None


def configure(app: Sphinx, config: Config) -> None:
    """How autodoc and napoleon read this package."""
    config.napoleon_google_docstring = True
    config.napoleon_numpy_docstring = False
    config.napoleon_custom_sections = [("Source", "returns_style")]
    config.napoleon_use_ivar = True
    config.napoleon_use_rtype = False
    config.autodoc_member_order = "bysource"
    config.autodoc_typehints_format = "short"
    config.python_maximum_signature_line_length = 80
    config.python_use_unqualified_type_names = True


def remember_names(app: Sphinx, env: Any, docnames: list[str]) -> None:
    """Look the public names up once a build."""
    env.docstring_names = public_names()


def setup(app: Sphinx) -> dict[str, Any]:
    """Connect the parts above to a Sphinx build."""
    app.setup_extension("sphinx.ext.autodoc")
    app.setup_extension("sphinx.ext.napoleon")
    app.connect("config-inited", configure)
    app.connect("env-before-read-docs", remember_names)
    app.connect("autodoc-skip-member", skip)
    app.connect("autodoc-process-docstring", process, priority=600)  # after napoleon, which has 500
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}

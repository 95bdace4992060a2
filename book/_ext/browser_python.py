"""Python in the page: the exercises of 'Try it', what they are tested with, and the Pyodide that runs them.

Run as a script (`python book/_ext/browser_python.py`; `make site` does), it fetches Pyodide's core with npm, checks it
against the hash below and puts it under `_build/pyodide`. Without a connection it says what is missing and the site is
built without: the page then shows its exercises and says that nothing can be run.

As a Sphinx extension it gives two directives. `{try-it} NAME` shows a function to write, taken with its test from a
released notebook, or given with the name of its question. `{try-it-python}` is where Python is started. What the site
serves beside the page is Pyodide's core and a zip of those modules of refcells that a scalar verdict needs.
"""

import ast
import json
import os
import shutil
import sys
import zipfile
from pathlib import Path
from typing import Any, ClassVar

from docutils import nodes
from docutils.parsers.rst import directives
from npm_packages import BUILD, Missing, Package
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

ROOT = Path(__file__).resolve().parents[2]
CORE = BUILD / "pyodide"

# What starting Python in a worker asks for.
FILES = ("pyodide.js", "pyodide.asm.js", "pyodide.asm.wasm", "python_stdlib.zip", "pyodide-lock.json")
PYODIDE = Package(
    name="pyodide",
    version="0.29.4",
    integrity="sha512-tCseTsqU3kSxZIjkue5zXxTMNEwrKZwOIIEQRBA/VzHxFN1hoCxe4w41phfCdHd9it9RcCNQb5K/Re0InqMgvA==",
    files=FILES,
    folder=CORE,
)

# A verdict about scalars begins here; whatever else of refcells they import comes along.
MODULES = ("refcells.autotest", "refcells.autotest.scalar_questions")


def main() -> int:
    """Fetch the core, or say why the site is built without it."""
    try:
        PYODIDE.fetch()
    except Missing as missing:
        print(
            f"Pyodide's core is missing: {missing}.\n"
            "The site is built without it: its page 'Try it' shows the exercises and runs nothing.",
            file=sys.stderr,
        )
    return 0


# --- what the page's Python imports -----------------------------------------------------------------------------------


def needed(names: tuple[str, ...] = MODULES, source: Path = ROOT / "src") -> list[Path]:
    """The files of refcells that these modules import at their top, themselves and their packages included."""

    def file(name: str) -> Path | None:
        path = source.joinpath(*name.split("."))
        return next((p for p in (path.with_suffix(".py"), path / "__init__.py") if p.exists()), None)

    found: dict[str, Path] = {}
    waiting = list(names)
    while waiting:
        name = waiting.pop()
        path = file(name)
        if path is None or name in found or not name.startswith("refcells"):
            continue
        found[name] = path
        waiting.append(name.rpartition(".")[0])
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.Import):
                waiting += [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom) and node.module:
                waiting += [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
    return sorted(set(found.values()))


def write_course(target: Path, source: Path = ROOT / "src") -> None:
    """A zip of those files, the same bytes at every build."""
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        for path in needed(source=source):
            entry = zipfile.ZipInfo(path.relative_to(source).as_posix(), date_time=(2020, 1, 1, 0, 0, 0))
            entry.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(entry, path.read_bytes())


# --- the page ---------------------------------------------------------------------------------------------------------

STATIC, SIZE = "course-static-place", "course-python-size"


def cell(notebook: str, grade_id: str, root: Path = ROOT) -> str:
    """The source of a cell of a released notebook.

    Raises:
        LookupError: names the cells that there are.
    """
    path = root / "exercises" / f"{notebook}.ipynb"
    cells = {
        found["metadata"]["nbgrader"]["grade_id"]: "".join(found["source"])
        for found in json.loads(path.read_text(encoding="utf-8"))["cells"]
        if "nbgrader" in found["metadata"]
    }
    if grade_id not in cells:
        raise LookupError(f"no cell {grade_id!r} in {notebook}; there are {', '.join(cells)}")
    return cells[grade_id]


def function(code: str, name: str) -> str:
    """One function's source, out of a cell that may hold several.

    Raises:
        LookupError: if it is not there.
    """
    for node in ast.parse(code).body:
        if isinstance(node, ast.FunctionDef) and node.name == name:
            return "\n".join(code.splitlines()[node.lineno - 1 : node.end_lineno]) + "\n"
    raise LookupError(f"no function {name} in the cell")


def comparison(question: str, name: str) -> str:
    """The test cell of a function that no notebook asks for, in the form that the notebooks' have."""
    return (
        "from refcells.autotest import check, judge\n"
        f'check(lambda: judge("{question}", {name}), """passed""", "the comparison with the reference")\n'
    )


class TryIt(SphinxDirective):
    """A function to write in the page, with its test."""

    required_arguments = 1
    has_content = True
    option_spec: ClassVar[dict[str, Any]] = {
        "notebook": directives.unchanged,
        "cell": directives.unchanged,
        "test": directives.unchanged,
        "judge": directives.unchanged,
        "needs": directives.unchanged,
    }

    def run(self) -> list[nodes.Node]:
        """The first code as an ordinary block, and the test beside it."""
        name, options = self.arguments[0], self.options
        try:
            if "notebook" in options:
                self.env.note_dependency(str(ROOT / "exercises" / f"{options['notebook']}.ipynb"))
                starter = function(cell(options["notebook"], options["cell"]), name)
                test = cell(options["notebook"], options["test"])
            else:
                starter = function("\n".join(self.content), name)
                test = comparison(options["judge"], name)
        except (LookupError, OSError) as error:
            raise self.error(f"try-it {name}: {error}") from None
        given = {"title": name, "needs": options.get("needs", "").split(), "starter": starter, "test": test}
        data = json.dumps(given).replace("<", "\\u003c")
        block = nodes.literal_block(starter, starter, language="python")
        script = nodes.raw("", f'<script type="application/json">{data}</script>', format="html")
        return [nodes.container("", block, script, classes=["try-it"])]


class TryItPython(SphinxDirective):
    """Where Python is started, or where the page says why it cannot be."""

    def run(self) -> list[nodes.Node]:
        """A box whose sentence, for a reader without JavaScript, the script replaces."""
        html = (
            f'<div class="try-it-page" data-static="{STATIC}" data-size="{SIZE}"><p>To run Python, this page needs JavaScript, '
            "which has not started here. The exercises can be read below; the notebooks hold the same ones.</p></div>"
        )
        return [nodes.raw("", html, format="html")]


def place(app: Sphinx, pagename: str, templatename: str, context: dict[str, Any], doctree: Any) -> None:
    """Write into the page where its files are, and how large Python is; no size where there is none."""
    body = context.get("body", "")
    if STATIC in body:
        size = str(sum((CORE / name).stat().st_size for name in FILES)) if PYODIDE.complete() else ""
        static = context["pathto"]("_static/", resource=True)
        context["body"] = body.replace(STATIC, static).replace(SIZE, size)


def again(app: Sphinx, env: Any, added: set[str], changed: set[str], removed: set[str]) -> list[str]:
    """The page is written at every build: Python may have come or gone since the last."""
    return [name for name in ("book/try-it",) if name in env.all_docs]


def serve_beside(app: Sphinx, exception: Exception | None) -> None:
    """Put Python, and what it imports, beside the pages."""
    if exception is not None or app.builder.format != "html" or "book/try-it" not in app.env.all_docs:
        return
    static = Path(app.outdir) / "_static"
    write_course(static / "try_it_course.zip")
    target = static / "pyodide"
    shutil.rmtree(target, ignore_errors=True)
    if PYODIDE.complete():
        target.mkdir()
        for name in FILES:
            try:
                os.link(CORE / name, target / name)
            except OSError:
                shutil.copyfile(CORE / name, target / name)


def setup(app: Sphinx) -> dict[str, Any]:
    """Connect the directives and what they need."""
    app.add_directive("try-it", TryIt)
    app.add_directive("try-it-python", TryItPython)
    app.connect("env-get-outdated", again)
    app.connect("html-page-context", place)
    app.connect("build-finished", serve_beside)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}


if __name__ == "__main__":
    raise SystemExit(main())

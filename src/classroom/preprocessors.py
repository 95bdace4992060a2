"""Preprocessors that `nbgrader generate_assignment` and `nbgrader autograde` run besides their own."""

import hashlib
import re
from importlib.metadata import version
from pathlib import Path
from typing import Any

import yaml
from nbformat.notebooknode import NotebookNode
from nbformat.v4 import new_code_cell
from nbgrader import utils
from nbgrader.api import Gradebook
from nbgrader.preprocessors import InstantiateTests, NbGraderPreprocessor
from traitlets import Unicode

Resources = dict[str, Any]

# The secret of the sample class, which everybody can know.
PUBLIC = "the sample class"

# The seed's name in a hidden directive; HiddenSeeds puts the number in its place.
HIDDEN_SEED = "HIDDEN_SEED"


class StableNotebook(NbGraderPreprocessor):
    """Make generated notebooks repeat to the byte: ids from grade ids, only the metadata that is needed.

    jupytext gives cells random ids at every conversion. The course's version is stamped into the notebook, so that a
    submission says which release it answers.
    """

    def preprocess(self, nb: NotebookNode, resources: Resources) -> tuple[NotebookNode, Resources]:
        """Rewrite ids and metadata."""
        nb.nbformat, nb.nbformat_minor = 4, 5
        seen: set[str] = set()
        for index, cell in enumerate(nb.cells):
            name = cell.metadata.get("nbgrader", {}).get("grade_id") or f"cell-{index}"
            name = re.sub(r"[^a-zA-Z0-9_-]", "-", name)[:60]
            if name in seen:
                raise ValueError(f"two cells have the grade_id {name!r}; expected each once")
            seen.add(name)
            cell.id = name
            cell.metadata = NotebookNode({k: v for k, v in cell.metadata.items() if k == "nbgrader"})
        nb.metadata = NotebookNode(
            kernelspec={"display_name": "Python 3 (ipykernel)", "language": "python", "name": "python3"},
            language_info={"name": "python"},
            course={"name": "Learning to Remember", "version": version("learning-to-remember")},
        )
        return nb, resources


class FirstCell(NbGraderPreprocessor):
    """Put a cell before all others that installs the course's package where it is missing, as on Colab.

    It stands in the release alone and belongs to nobody: no source holds it and no gradebook knows it.
    """

    repository = Unicode("", help="Where the course is published; without an address there is no cell.").tag(
        config=True
    )
    branch = Unicode("main", help="The branch that is installed.").tag(config=True)

    def preprocess(self, nb: NotebookNode, resources: Resources) -> tuple[NotebookNode, Resources]:
        """Add the cell."""
        if self.repository:
            nb.cells.insert(0, install_cell(self.repository, self.branch))
        return nb, resources


def published(settings: Path) -> tuple[str, str]:
    """Where the course is published, and the branch; the address is empty where it has none.

    Args:
        settings: the site's `_config.yml`; that of a class's own course need not be there.
    """
    told = yaml.safe_load(settings.read_text(encoding="utf-8")) if settings.exists() else {}
    repository = told.get("repository") or {}
    return repository.get("url") or "", repository.get("branch") or "main"


def install_cell(repository: str, branch: str) -> NotebookNode:
    """The cell that installs the course's package where it is missing.

    Without extras: Colab has PyTorch and Matplotlib, and a Jupyter of its own that should stay as it is.
    """
    place = f"git+{repository.removesuffix('/')}@{branch}"
    source = (
        "# Installs the course's package where it is missing, as on Colab.\n"
        "import importlib.util\n\n"
        'if importlib.util.find_spec("refcells") is None:\n'
        f'    get_ipython().run_line_magic("pip", "install --quiet \'learning-to-remember @ {place}\'")'
    )
    return new_code_cell(source, id="install")


class HiddenSeeds(NbGraderPreprocessor):
    """Put a number in the place of HIDDEN_SEED, from the instructor's secret and the cell's grade id."""

    secret = Unicode(PUBLIC, help="What the seeds of hidden tests are derived from.").tag(config=True)

    def preprocess_cell(
        self, cell: NotebookNode, resources: Resources, index: int
    ) -> tuple[NotebookNode, Resources]:
        """Replace the name in one cell."""
        if cell.cell_type == "code" and HIDDEN_SEED in cell.source:
            notebook = resources["nbgrader"]["notebook"]
            key = f"{self.secret}/{notebook}/{cell.metadata.nbgrader['grade_id']}"
            # Seed 0 is the visible tests'.
            seed = 1 + int.from_bytes(hashlib.sha256(key.encode()).digest()[:4], "big") % (2**31 - 1)
            cell.source = cell.source.replace(HIDDEN_SEED, str(seed))
        return cell, resources


class CheckedInstantiateTests(InstantiateTests):
    """nbgrader's InstantiateTests, stopping at what it would let pass.

    nbgrader executes every cell and every directive and looks neither for errors nor at the values. Here an error in a
    solution, a directive that fails, and a value that no test can be made of each stop the generation.
    """

    _error: str | None = None

    def _execute_code_snippet_output_hook(self, msg: dict[str, Any]) -> None:
        if msg["header"]["msg_type"] == "error":
            content = msg["content"]
            self._error = f"{content['ename']}: {content['evalue']}"
        else:
            super()._execute_code_snippet_output_hook(msg)

    def _execute_code_snippet(self, code: str) -> Any:
        self._error = None
        result = super()._execute_code_snippet(code)
        if self._error is not None:
            raise RuntimeError(f"while generating tests, {self._error}\nin:\n{code}")
        return result

    def _instantiate_tests(
        self, snippet: str, salt: str | None = None
    ) -> tuple[list[Any], list[Any], list[str]]:
        tests, values, messages = super()._instantiate_tests(snippet, salt)
        for value in values:
            if value is None or str(value).startswith(("unusable", "failed")):
                raise RuntimeError(f"the directive {snippet!r} gives no test: {value}")
        return tests, values, messages

    def preprocess_cell(
        self, cell: NotebookNode, resources: Resources, index: int
    ) -> tuple[NotebookNode, Resources]:
        """Instantiate one cell's directives, refusing those that nbgrader would silently break or leave."""
        if cell.cell_type == "code":
            for line in cell.source.splitlines():
                if self.autotest_delimiter in line and line != line.lstrip():
                    raise ValueError(f"indented directive, which nbgrader would misplace: {line.strip()!r}")
            if utils.is_grade(cell) and not cell.source.strip():
                raise ValueError(f"the test cell {cell.metadata.nbgrader['grade_id']} is empty")
        return super().preprocess_cell(cell, resources, index)


class UnknownCells(NbGraderPreprocessor):
    """Makes a submission's cells that the gradebook does not know ordinary cells, whatever their metadata says.

    nbgrader takes only the name from such a cell and leaves the rest, which then stops it.
    """

    _known: frozenset[str] = frozenset()

    def preprocess(self, nb: NotebookNode, resources: Resources) -> tuple[NotebookNode, Resources]:
        """Look the notebook's cells up, and rewrite the others."""
        about = resources["nbgrader"]
        with Gradebook(about["db_url"]) as gradebook:
            found = gradebook.find_notebook(about["notebook"], about["assignment"])
            self._known = frozenset(cell.name for cell in found.source_cells)
        return super().preprocess(nb, resources)

    def preprocess_cell(
        self, cell: NotebookNode, resources: Resources, index: int
    ) -> tuple[NotebookNode, Resources]:
        """Rewrite one cell."""
        if cell.metadata.get("nbgrader") and cell.metadata.nbgrader.get("grade_id") not in self._known:
            self.log.warning("a cell of the student's own was marked as one of the course's")
            del cell.metadata["nbgrader"]
        return cell, resources

"""An assignment's notebooks, taken apart so that their test cells run in this process, thousands of times.

The visible part of a test cell is executed as it was released. Its hidden directives are instantiated here, with any
seed; a sample of everything also goes through nbgrader itself, and the two have to agree.
"""

import ast
import contextlib
import io
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from classroom.course import ROOT, assignments, read_notebook, sources
from refcells.autotest import check, hashed, judge, show

__all__ = ["Directive", "Exercise", "Notebook", "TestCell", "load", "notebooks"]

_HIDDEN_SEED = "HIDDEN_SEED"
_DECLARED = re.compile(r"This exercise calls your ((?:`\w+`(?:, | and )?)+)")


@dataclass(frozen=True)
class Directive:
    """One test that a directive asks for: an expression, hashed or not."""

    snippet: str
    hashed: bool

    @property
    def judged(self) -> tuple[str, str] | None:
        """The question and the name of the student's work, if the expression is a comparison with a reference."""
        call = ast.parse(self.snippet, mode="eval").body
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id == "judge":
            question, work = call.args[:2]
            if isinstance(question, ast.Constant) and isinstance(work, ast.Name):
                return str(question.value), work.id
        return None

    @property
    def names(self) -> set[str]:
        """Names that the expression uses."""
        return {node.id for node in ast.walk(ast.parse(self.snippet)) if isinstance(node, ast.Name)}


@dataclass(frozen=True)
class TestCell:
    """One graded test cell.

    Attributes:
        name: its grade id.
        points: what it gives.
        code: the visible part, as released.
        directives: all directives, visible and hidden.
        hidden: the hidden ones.
    """

    __test__ = False  # for pytest: no test class

    name: str
    points: float
    code: str
    directives: tuple[Directive, ...]
    hidden: tuple[Directive, ...]

    @property
    def judged(self) -> set[tuple[str, str]]:
        """Pairs (question, name of the work) that the cell compares."""
        return {directive.judged for directive in self.directives if directive.judged}

    @property
    def names(self) -> set[str]:
        """Names that the cell's expressions use."""
        return set().union(*(directive.names for directive in self.directives))


@dataclass
class Exercise:
    """One exercise: what its lead-in declares, and what its cells define.

    Attributes:
        lead: grade id of the lead-in.
        declared: functions of earlier exercises that the lead-in says it calls.
        defines: functions and classes of its solution cells.
    """

    lead: str
    declared: set[str] = field(default_factory=set)
    defines: set[str] = field(default_factory=set)


@dataclass
class Notebook:
    """One notebook of an assignment.

    Attributes:
        assignment: the assignment's name.
        name: the notebook's name.
        code: its code cells that are not graded, by grade id, in order; solution cells hold the model solution.
        solutions: grade ids of the solution cells.
        tests: its test cells.
        exercises: its exercises.
        calls: for each function of the model solution, those of the notebook's own that it calls.
    """

    assignment: str
    name: str
    code: dict[str, str]
    solutions: list[str]
    tests: list[TestCell]
    exercises: list[Exercise]
    calls: dict[str, set[str]]

    @property
    def path(self) -> str:
        """Assignment and notebook, as in lstm/vector_lstm."""
        return f"{self.assignment}/{self.name}"

    def defined_in(self, cell: str) -> set[str]:
        """Functions and classes that a solution cell defines."""
        return _defined(self.code[cell])

    def undeclared(self) -> list[str]:
        """Where a lead-in and the model solution disagree on what an exercise calls of earlier ones."""
        problems = []
        for exercise in self.exercises:
            used: set[str] = set().union(*(self.calls[name] for name in exercise.defines)) - exercise.defines
            if used != exercise.declared:
                problems.append(
                    f"{self.path}/{exercise.lead} declares {sorted(exercise.declared)}, its solution calls {sorted(used)}"
                )
        return problems

    def dependents(self, function: str) -> set[str]:
        """A function and all that call it, directly or not: by a lead-in's word, or inside one exercise."""
        found = {function}
        while True:
            more = set()
            for exercise in self.exercises:
                for name in exercise.defines:
                    own = self.calls[name] & exercise.defines
                    if (own | (self.calls[name] & exercise.declared)) & found:
                        more.add(name)
            if more <= found:
                return found
            found |= more

    def touched_by(self, functions: Iterable[str]) -> list[TestCell]:
        """Test cells that may lose marks when these functions are wrong: their own, and those that build on them."""
        wrong: set[str] = set().union(*(self.dependents(function) for function in functions))
        return [test for test in self.tests if test.names & wrong]

    def namespace(
        self, cells: Mapping[str, str] | None = None, names: Mapping[str, Any] | None = None
    ) -> dict[str, Any]:
        """What a student's kernel holds after all cells but the tests: some cells replaced, then some names.

        A cell that raises leaves its names undefined and does not stop the next, as while grading.
        """
        held: dict[str, Any] = {"__name__": "__main__"}
        for cell, code in self.code.items():
            written = (cells or {}).get(cell, code)
            with contextlib.suppress(Exception):
                exec(compile(written, f"<{self.name} {cell}>", "exec"), held)
        held.update(names or {})
        return held

    def grade(
        self, held: dict[str, Any], tests: Iterable[TestCell] | None = None, seed: int | None = None
    ) -> Iterator[tuple[TestCell, str | None]]:
        """Run test cells; gives each with what it says is wrong, None if it gives its points.

        Args:
            held: what the kernel holds.
            tests: all by default.
            seed: the hidden seed of every cell; by default each has the sample class's.
        """
        for test in self.tests if tests is None else tests:
            errors = io.StringIO()
            try:
                with contextlib.redirect_stderr(errors), contextlib.redirect_stdout(io.StringIO()):
                    exec(compile(test.code, f"<{test.name}>", "exec"), held)
                    for directive in test.hidden:
                        self._check(directive, test, held, seed)
            except Exception as error:
                yield test, f"{error}" or type(error).__name__
                continue
            yield test, f"stderr: {errors.getvalue()}" if errors.getvalue() else None

    def _check(self, directive: Directive, test: TestCell, held: dict[str, Any], seed: int | None) -> None:
        """One hidden test, as autotests.yml words it."""
        snippet = directive.snippet.replace(_HIDDEN_SEED, str(seed if seed is not None else self._seed(test)))
        code = compile(snippet, f"<{test.name} hidden>", "eval")
        seen = {**held, "judge": judge}

        def call() -> Any:
            value = eval(code, seen)
            return (
                value
                if directive.judged
                else hashed(show(value), "salt")
                if directive.hashed
                else show(value)
            )

        if directive.judged:
            check(call, "passed", "the comparison with the reference")
        else:
            check(call, self._expected(snippet, directive.hashed), snippet)

    def _expected(self, snippet: str, is_hashed: bool) -> str:
        """The model solution's value, as text."""
        if not hasattr(self, "_model"):
            self._model = self.namespace()
        value = show(eval(snippet, dict(self._model)))
        return hashed(value, "salt") if is_hashed else str(value)

    def _seed(self, test: TestCell) -> int:
        """The hidden seed that the sample class's release has in this cell."""
        from nbformat import NotebookNode

        from classroom.preprocessors import HiddenSeeds

        cell = NotebookNode(
            cell_type="code", source=_HIDDEN_SEED, metadata=NotebookNode(nbgrader={"grade_id": test.name})
        )
        HiddenSeeds().preprocess_cell(cell, {"nbgrader": {"notebook": self.name}}, 0)
        return int(cell.source)


def _defined(code: str) -> set[str]:
    return {node.name for node in ast.parse(code).body if isinstance(node, ast.FunctionDef | ast.ClassDef)}


def _directives(lines: Iterable[str]) -> tuple[list[Directive], list[Directive]]:
    """All directives of a test cell, and the hidden ones."""
    every, hidden = [], []
    inside = False
    for line in lines:
        if "BEGIN HIDDEN TESTS" in line or "END HIDDEN TESTS" in line:
            inside = "BEGIN" in line
        if found := re.match(r"###\s*(HASHED\s+)?AUTOTEST\s+(.*)", line):
            for snippet in found[2].split(";"):
                directive = Directive(snippet.strip(), bool(found[1]))
                every.append(directive)
                if inside:
                    hidden.append(directive)
    return every, hidden


def load(assignment: str, source: Path, root: Path = ROOT) -> Notebook:
    """Take one text notebook apart; its test cells' visible code is that of the release."""
    released = {
        cell.metadata["nbgrader"]["grade_id"]: cell.source
        for cell in read_notebook(root / "exercises" / assignment / f"{source.stem}.ipynb").cells
    }
    notebook = Notebook(assignment, source.stem, {}, [], [], [], {})
    for cell in read_notebook(source).cells:
        meta = cell.metadata["nbgrader"]
        name = meta["grade_id"]
        if cell.cell_type == "markdown":
            if cell.source.startswith("## "):
                found = _DECLARED.search(cell.source)
                notebook.exercises.append(
                    Exercise(name, set(re.findall(r"`(\w+)`", found[1])) if found else set())
                )
        elif meta["grade"]:
            every, hidden = _directives(cell.source.splitlines())
            notebook.tests.append(
                TestCell(name, float(meta["points"]), released[name], tuple(every), tuple(hidden))
            )
        else:
            notebook.code[name] = cell.source
            if meta["solution"]:
                notebook.solutions.append(name)
                notebook.exercises[-1].defines |= _defined(cell.source)
    own: set[str] = set().union(*(exercise.defines for exercise in notebook.exercises))
    for code in notebook.code.values():
        for node in ast.parse(code).body:
            if isinstance(node, ast.FunctionDef | ast.ClassDef):
                used = {part.id for part in ast.walk(node) if isinstance(part, ast.Name)}
                notebook.calls[node.name] = (used & own) - {node.name}
    return notebook


def notebooks(keep: Callable[[str], bool] = lambda assignment: True, root: Path = ROOT) -> list[Notebook]:
    """Every notebook of every assignment that `keep` lets through."""
    return [
        load(assignment, source, root)
        for assignment in assignments(root)
        if keep(assignment)
        for source in sources(assignment, root)
    ]

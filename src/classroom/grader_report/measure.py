"""The four figures: recall, precision, automatic kill rate, stability."""

import ast
import contextlib
import dataclasses
import importlib
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from classroom.course import ROOT
from classroom.grader_report.mutants import Mutant, mutants
from classroom.grader_report.notebooks import Notebook
from refcells.autotest.compare import numbers
from refcells.autotest.mistakes import Mistake
from refcells.autotest.verdict import Question, judge, question, questions

__all__ = [
    "Found",
    "Killed",
    "Variant",
    "all_mutants",
    "applicable",
    "equivalent",
    "find",
    "impatient",
    "kill",
    "missed",
    "normalised",
    "stable",
    "variants",
]

VARIANTS = ROOT / "tests" / "autotest" / "variants"


@contextlib.contextmanager
def impatient(seconds: float) -> Iterator[None]:
    """Let the student's work have so many seconds where a question gives the usual ten: for thousands of endless loops."""
    usual = Question.__dataclass_fields__["seconds"].default
    changed = []
    for path in sorted({name.partition(".")[0] for name in questions()}):
        table = importlib.import_module(f"refcells.autotest.{path}_questions").QUESTIONS
        for name, asked in table.items():
            if asked.seconds == usual:
                table[name] = dataclasses.replace(asked, seconds=seconds)
                changed.append((table, name, asked))
    try:
        yield
    finally:
        for table, name, asked in changed:
            table[name] = asked


# --- recall -----------------------------------------------------------------------------------------------------------


@dataclasses.dataclass(frozen=True)
class Found:
    """What a notebook's tests make of one mistake of the catalogue.

    Attributes:
        notebook: assignment and notebook.
        question: the question whose mistake it is.
        mistake: its name.
        own: whether every test cell of that question loses its points.
        hinted: whether the first of them shows the mistake's hint.
        building: test cells of exercises that build on the work, and lose points with it.
        astray: test cells that lose points and should not.
    """

    notebook: str
    question: str
    mistake: str
    own: bool
    hinted: bool
    building: tuple[str, ...]
    astray: tuple[str, ...]

    @property
    def right(self) -> bool:
        """Found where it is, only there, and named."""
        return self.own and self.hinted and not self.astray


def applicable(notebook: Notebook) -> Iterator[tuple[str, str, Mistake]]:
    """Every mistake of the questions that a notebook asks: question, name of the student's work, mistake."""
    for asked, work in sorted(set().union(*(test.judged for test in notebook.tests))):
        for mistake in question(asked).mistakes:
            yield asked, work, mistake


def find(notebook: Notebook, asked: str, work: str, mistake: Mistake, everywhere: bool = True) -> Found:
    """Put a mistake in the place of a student's work, and run the test cells.

    Args:
        notebook: the notebook.
        asked: the question.
        work: the name of the student's work.
        mistake: what is put in its place.
        everywhere: run the test cells that cannot be touched too; they cost time and are looked at to see that.
    """
    held = notebook.namespace(names={work: mistake.make()})
    own = [test for test in notebook.tests if (asked, work) in test.judged]
    may_lose = notebook.touched_by([work])
    tests = notebook.tests if everywhere else may_lose
    lost = {test.name: problem for test, problem in notebook.grade(held, tests) if problem}
    return Found(
        notebook.path,
        asked,
        mistake.name,
        own=all(test.name in lost for test in own),
        hinted=mistake.hint in lost.get(own[0].name, ""),
        building=tuple(test.name for test in may_lose if test.name in lost and test not in own),
        astray=tuple(sorted(set(lost) - {test.name for test in may_lose})),
    )


# --- precision --------------------------------------------------------------------------------------------------------


@dataclasses.dataclass(frozen=True)
class Variant:
    """A solution cell written in another way.

    Attributes:
        notebook: assignment and notebook.
        cell: grade id of the solution cell.
        way: how it differs, in words.
        code: the cell's code.
    """

    notebook: str
    cell: str
    way: str
    code: str


def variants(notebook: Notebook, folder: Path = VARIANTS) -> list[Variant]:
    """The correct variants of a notebook's solution cells; a `# %% cell: way` line begins each.

    Raises:
        ValueError: for a cell that the notebook does not have.
    """
    path = folder / notebook.assignment / f"{notebook.name}.py"
    if not path.exists():
        return []
    found = []
    for part in re.split(r"^# %% ", path.read_text(encoding="utf-8"), flags=re.MULTILINE)[1:]:
        head, code = part.split("\n", 1)
        cell, _, way = head.partition(": ")
        if cell not in notebook.solutions:
            raise ValueError(
                f"{path.name} has a variant of {cell!r}; {notebook.path} has {', '.join(notebook.solutions)}"
            )
        found.append(Variant(notebook.path, cell, way.strip(), code.strip() + "\n"))
    return found


def normalised(code: str) -> str:
    """Code without what a renaming, a comment, a docstring or an annotation changes: two that agree are one variant."""
    tree = ast.parse(code)
    names: dict[str, str] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            first = node.body[0]
            if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant):
                node.body = node.body[1:] or [ast.Pass()]
        if isinstance(node, ast.arg):
            node.annotation = None
            names.setdefault(node.arg, f"v{len(names)}")
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            names.setdefault(node.id, f"v{len(names)}")
    for node in ast.walk(tree):
        if isinstance(node, ast.arg):
            node.arg = names[node.arg]
        elif isinstance(node, ast.Name):
            node.id = names.get(node.id, node.id)
    return ast.dump(tree)


# --- automatic mutants ------------------------------------------------------------------------------------------------


@dataclasses.dataclass(frozen=True)
class Killed:
    """What became of a mutant: the first test cell that it loses points on, None if it survives."""

    notebook: str
    mutant: Mutant
    by: str | None


def kill(notebook: Notebook, mutant: Mutant) -> Killed:
    """Run the test cells that a changed function touches, until one says that it is wrong."""
    held = notebook.namespace({mutant.cell: mutant.code})
    tests = notebook.touched_by(notebook.defined_in(mutant.cell))
    by = next((test.name for test, problem in notebook.grade(held, tests) if problem), None)
    return Killed(notebook.path, mutant, by)


def all_mutants(notebook: Notebook) -> Iterator[Mutant]:
    """All mutants of all solution cells of a notebook."""
    for cell in notebook.solutions:
        yield from mutants(cell, notebook.code[cell])


def equivalent(
    notebook: Notebook, mutant: Mutant, draws: int = 1_000, trainings: int = 10
) -> tuple[bool, str]:
    """Whether a surviving mutant is a right answer, and what shows it.

    Its results are compared with the model solution's on fresh random cases. Where a question asks for a property and
    not for results, the mutant is a right answer if it has the property on fresh seeds.
    """
    model, changed = notebook.namespace(), notebook.namespace({mutant.cell: mutant.code})
    reasons = []
    for asked, work in _nearest(notebook, mutant.function):
        about = question(asked)
        if about.accept:
            passed = sum(judge(asked, changed[work], 10**6 + k).passed for k in range(trainings))
            reasons.append(f"has what is asked for with {passed} of {trainings} fresh seeds")
            if passed < trainings:
                return False, reasons[-1]
            continue
        compared, seed, worst = 0, 10**6, 0.0
        while compared < draws:
            for case in about.cases(seed):
                worst = max(worst, _distance(about.run(model[work], case), about.run(changed[work], case)))
                if not worst <= 1e-12:
                    return False, f"differs by {worst:.1g} with {case.label}"
                compared += 1
            seed += 1
        reasons.append(
            f"same results on {draws} draws, within {worst:.0e}" if worst else f"equal on {draws} draws"
        )
    return bool(reasons), "; ".join(dict.fromkeys(reasons)) or "no question asks for it"


def _nearest(notebook: Notebook, function: str) -> list[tuple[str, str]]:
    """The questions about a function, or else about the functions that call it."""
    pairs = sorted(set().union(*(test.judged for test in notebook.tests)))
    own = [(asked, work) for asked, work in pairs if work == function]
    return own or [(asked, work) for asked, work in pairs if function in notebook.calls.get(work, set())]


def _distance(one: Any, other: Any) -> float:
    """Largest difference between two results, relative to the largest number if that is above 1."""
    several = isinstance(one, tuple | list)
    if several and len(one) != len(other):
        return float("inf")
    pairs = zip(one, other, strict=True) if several else [(one, other)]
    worst = 0.0
    for left, right in pairs:
        (shape, first), (other_shape, second) = numbers(left), numbers(right)
        if shape != other_shape:
            return float("inf")
        flat, other_flat = list(_flat(first)), list(_flat(second))
        scale = max([1.0, *map(abs, flat)])
        worst = max([worst, *(abs(a - b) / scale for a, b in zip(flat, other_flat, strict=True))])
    return worst


def _flat(content: Any) -> Iterator[float]:
    if isinstance(content, list):
        for part in content:
            yield from _flat(part)
    else:
        yield content


# --- stability --------------------------------------------------------------------------------------------------------


def stable(notebook: Notebook, seeds: int, trainings: int) -> dict[str, tuple[int, int]]:
    """On how many hidden seeds the model solution passes, and of how many, by question; a training takes fewer."""
    held = notebook.namespace()
    found = {}
    for asked, work in sorted(set().union(*(test.judged for test in notebook.tests))):
        count = trainings if question(asked).accept else seeds
        found[asked] = (sum(judge(asked, held[work], seed).passed for seed in range(1, count + 1)), count)
    return found


def missed(notebook: Notebook, seeds: int) -> tuple[int, list[str]]:
    """How many verdicts on mistakes were taken over the seeds, and those that passed or did not name the mistake."""
    count, wrong = 0, []
    for asked, _, mistake in applicable(notebook):
        made: Any = mistake.make()
        for seed in range(1, (3 if question(asked).accept else seeds) + 1):
            count += 1
            if judge(asked, made, seed).mistake != mistake.name:
                wrong.append(f"{asked}: {mistake.name}, seed {seed}")
    return count, wrong

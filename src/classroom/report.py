"""Test the tests of every assignment, print the figures, and write them as the data that the book shows.

Run as `python -m classroom.report`, with names of assignments to measure those alone, or `make grader-report`. Recall: every mistake of the catalogue loses points where it
is made, and only there, and its hint is shown. Precision: correct solutions written in other ways keep all points.
Automatic mutants: mechanical changes to the model solutions lose points. Stability: the verdicts are the same for other
hidden seeds, threads and versions. A sample of all goes through nbgrader itself, and has to get the same points. Each
assignment has a file of its own in book/grading_report.
"""

import argparse
import datetime
import functools
import json
import os
import platform
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

from tqdm import tqdm

from classroom.course import ROOT, assignments
from classroom.errors import CourseError
from classroom.grader_report.measure import (
    all_mutants,
    applicable,
    equivalent,
    find,
    impatient,
    kill,
    missed,
    stable,
    variants,
)
from classroom.grader_report.notebooks import Notebook, notebooks
from refcells.autotest.mistakes import Mistake, edited
from refcells.autotest.verdict import question

DATA = ROOT / "book" / "grading_report"
SECTIONS = ("recall", "precision", "mutants", "stability", "nbgrader")

# Hidden seeds of the stability figures: 1 to so many, for a right answer and for each mistake.
SEEDS, MISTAKE_SEEDS = 200, 30
# Least share of the non-equivalent mutants that have to lose points.
LEAST_KILLED = 0.99

Data = dict[str, Any]


def own(assignment: str) -> list[Notebook]:
    """The notebooks of one assignment."""
    return notebooks(lambda name: name == assignment)


def recall(found: Sequence[Notebook], quiet: bool = False) -> Data:
    """Every applicable mistake, by notebook."""
    table: Data = {}
    for notebook in found:
        rows, seen = [], set()
        for asked, work, mistake in tqdm(
            list(applicable(notebook)), desc=f"recall {notebook.path}", disable=quiet
        ):
            # Trainings that cannot be touched are run once a question: they take as long as all the rest.
            costly = any(question(q).accept for test in notebook.tests for q, _ in test.judged)
            everywhere = not costly or asked not in seen
            seen.add(asked)
            rows.append(find(notebook, asked, work, mistake, everywhere))
        table[notebook.path] = {
            "mistakes": len(rows),
            "found": sum(row.own for row in rows),
            "only_there": sum(not row.astray for row in rows),
            "hinted": sum(row.hinted for row in rows),
            "building": sum(bool(row.building) for row in rows),
            "wrong": [f"{row.question}: {row.mistake}" for row in rows if not row.right],
        }
    return table


def precision(found: Sequence[Notebook], quiet: bool = False) -> Data:
    """Every correct variant, by notebook."""
    table: Data = {}
    for notebook in found:
        rows, lost = variants(notebook), []
        for variant in tqdm(rows, desc=f"precision {notebook.path}", disable=quiet):
            held = notebook.namespace({variant.cell: variant.code})
            tests = notebook.touched_by(notebook.defined_in(variant.cell))
            problems = [test.name for test, problem in notebook.grade(held, tests) if problem]
            lost += [f"{variant.cell} ({variant.way}): {name}" for name in problems]
        table[notebook.path] = {
            "variants": len(rows),
            "full": len(rows) - len({x.rpartition(":")[0] for x in lost}),
        }
        table[notebook.path]["lost"] = lost
    return table


def mutation(found: Sequence[Notebook], quiet: bool = False) -> Data:
    """Every automatic mutant, by notebook; survivors with the reason why they are right, if they are."""
    table: Data = {}
    for notebook in found:
        every = list(all_mutants(notebook))
        with impatient(2.0):
            outcomes = [
                kill(notebook, mutant)
                for mutant in tqdm(every, desc=f"mutants {notebook.path}", disable=quiet)
            ]
        survivors = []
        for outcome in outcomes:
            if outcome.by is None:
                right, why = equivalent(notebook, outcome.mutant)
                survivors.append(
                    {
                        "function": outcome.mutant.function,
                        "change": outcome.mutant.label,
                        "equivalent": right,
                        "why": why,
                    }
                )
        table[notebook.path] = {
            "mutants": len(every),
            "killed": len(every) - len(survivors),
            "equivalent": sum(survivor["equivalent"] for survivor in survivors),
            "survivors": survivors,
        }
    return table


def row(assignment: str, threads: int, trainings: int) -> Data:
    """Stability of one assignment in this process: the versions, and the verdicts over the hidden seeds."""
    import torch

    torch.set_num_threads(threads)
    passed: dict[str, tuple[int, int]] = {}
    verdicts = 0
    wrong: list[str] = []
    for notebook in own(assignment):
        passed |= stable(notebook, SEEDS, trainings)
        if threads == 1:
            count, names = missed(notebook, MISTAKE_SEEDS)
            verdicts, wrong = verdicts + count, wrong + names
    return {
        "python": platform.python_version(),
        "numpy": version("numpy"),
        "torch": version("torch").partition("+")[0],
        "threads": threads,
        "questions": len(passed),
        "solutions": {
            "verdicts": sum(of for _, of in passed.values()),
            "passed": sum(n for n, _ in passed.values()),
        },
        "mistakes": {"verdicts": verdicts, "wrong": wrong},
    }


def stability(assignment: str, interpreters: Iterable[str], kept: Sequence[Data]) -> list[Data]:
    """Rows of this environment, with one and with two threads, and of others, each in a process of its own.

    Rows of environments that are not at hand now are kept as they were measured.
    """
    here = [(sys.executable, 1, SEEDS), (sys.executable, 2, 0)]
    others = [(interpreter, 1, 20) for interpreter in interpreters]
    rows = []
    for interpreter, threads, trainings in here + others:
        environment = {
            **os.environ,
            "PYTHONPATH": str(ROOT / "src"),
            **dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"), str(threads)),
        }
        done = subprocess.run(
            [interpreter, "-m", "classroom.report", "--row", assignment, str(threads), str(trainings)],
            env=environment,
            capture_output=True,
            text=True,
        )
        if done.returncode:
            raise CourseError(f"{interpreter} could not measure the stability:\n{done.stderr[-1500:]}")
        rows.append(json.loads(done.stdout.splitlines()[-1]))

    def key(one: Data) -> tuple[Any, ...]:
        return one["numpy"], one["torch"], one["threads"]

    measured = {key(one) for one in rows}
    return rows + [
        one for one in kept if key(one) not in measured and one["questions"] == rows[0]["questions"]
    ]


def written(notebook: Notebook, work: str, mistake: Mistake) -> dict[str, str] | None:
    """A mistake as a student writes it, in the model solution's cell; None if its edits do not fit that text."""
    make = mistake.make
    if not isinstance(make, functools.partial) or make.func is not edited:
        return None
    cell = next(cell for cell in notebook.solutions if work in notebook.defined_in(cell))
    code = notebook.code[cell]
    for old, new in make.args[1:]:
        if code.count(old) != 1:
            return None
        code = code.replace(old, new)
    return {cell: code}


def sampled(found: Sequence[Notebook], each: int = 4) -> dict[str, list[dict[str, str]]]:
    """For each notebook the solution cells of some submissions: mistakes, variants and mutants, spread over all.

    They are text: while a class is graded, a student's kernel cannot import the catalogue.
    """
    jobs: dict[str, list[dict[str, str]]] = {}
    for notebook in found:

        def some(things: list[Any], count: int = each) -> list[Any]:
            return things[:: max(1, len(things) // count)][:count]

        mistakes = [written(notebook, work, mistake) for _, work, mistake in applicable(notebook)]
        submissions = some([cells for cells in mistakes if cells])
        submissions += [{variant.cell: variant.code} for variant in some(variants(notebook))]
        mutants = some(list(all_mutants(notebook)), 3 * each - len(submissions))
        submissions += [{mutant.cell: mutant.code} for mutant in mutants]
        jobs[notebook.path] = submissions
    return jobs


def through_nbgrader(found: Sequence[Notebook], each: int = 4) -> Data:
    """Grade a sample with nbgrader's own commands, and compare the points of every test cell with those given here."""
    import nbformat

    from classroom.course import autograde, make_course, nbgrader, read_notebook, sources
    from classroom.gradebook import scores
    from classroom.sample import solution_cells

    jobs = sampled(found, each)
    cells, apart = 0, []
    with tempfile.TemporaryDirectory(prefix="report-") as scratch:
        course = make_course(Path(scratch) / "course")
        for assignment in sorted({notebook.assignment for notebook in found}):
            nbgrader(course, "generate_assignment", assignment, "--force")
            by_name = {notebook.name: notebook for notebook in found if notebook.assignment == assignment}
            students = [f"sample-{k:02}" for k in range(max(len(jobs[n.path]) for n in by_name.values()))]
            for k, student in enumerate(students):
                folder = course / "submitted" / student / assignment
                folder.mkdir(parents=True)
                for source in sources(assignment):
                    notebook = by_name[source.stem]
                    written = solution_cells(read_notebook(source))
                    written |= (jobs[notebook.path][k : k + 1] or [{}])[0]
                    handed_in = read_notebook(course / "exercises" / assignment / f"{source.stem}.ipynb")
                    for cell in handed_in.cells:
                        cell.source = written.get(cell.metadata.nbgrader["grade_id"], cell.source)
                    nbformat.write(handed_in, folder / f"{source.stem}.ipynb")
            list(autograde(course, assignment, students))
            table = scores(course, assignment)
            for k, student in enumerate(students):
                given = {(s.notebook, s.question): s.auto for s in table[student]}
                for name, notebook in by_name.items():
                    for job in jobs[notebook.path][k : k + 1]:
                        for test, problem in notebook.grade(notebook.namespace(job)):
                            cells += 1
                            if given[name, test.name] != (0 if problem else test.points):
                                apart.append(f"{notebook.path}/{test.name} of {student}: {problem}")
    return {
        "submissions": sum(map(len, jobs.values())),
        "cells": cells,
        "agree": cells - len(apart),
        "apart": apart,
    }


def shortcomings(data: Data) -> list[str]:
    """What the figures fall short of; empty if nothing."""
    short = []
    for path, one in data.get("recall", {}).items():
        short += [f"recall, {path}: {name}" for name in one["wrong"]]
    for path, one in data.get("precision", {}).items():
        short += [f"precision, {path}: {name}" for name in one["lost"]]
    figures = data.get("mutants", {}).values()
    if figures and (rate := killed(data)) < LEAST_KILLED:
        short.append(f"automatic mutants: {rate:.1%} lose points, expected {LEAST_KILLED:.0%}")
    for one in data.get("stability", []):
        if one["solutions"]["passed"] != one["solutions"]["verdicts"]:
            short.append(f"stability, numpy {one['numpy']}, torch {one['torch']}: a right answer lost points")
        short += [
            f"stability, numpy {one['numpy']}, torch {one['torch']}: {name}"
            for name in one["mistakes"]["wrong"]
        ]
    short += [f"nbgrader: {name}" for name in data.get("nbgrader", {}).get("apart", [])]
    return short


def killed(data: Data) -> float:
    """Share of the non-equivalent mutants that lose points."""
    figures = data["mutants"].values()
    return sum(one["killed"] for one in figures) / sum(one["mutants"] - one["equivalent"] for one in figures)


def text(data: Data) -> str:
    """The report as a table."""
    header = (
        "mistakes",
        "found",
        "only there",
        "hint shown",
        "variants",
        "full marks",
        "mutants",
        "equivalent",
        "killed",
    )
    lines = ["  ".join([f"{'notebook':24}", *header])]
    for path in sorted(set().union(*(data.get(section, {}) for section in SECTIONS[:3]))):
        one = data.get("recall", {}).get(path, {})
        two = data.get("precision", {}).get(path, {})
        three = data.get("mutants", {}).get(path, {})
        numbers = [one.get(k, "-") for k in ("mistakes", "found", "only_there", "hinted")]
        numbers += [two.get(k, "-") for k in ("variants", "full")]
        numbers += [three.get(k, "-") for k in ("mutants", "equivalent", "killed")]
        cells = [f"{n!s:>{len(name)}}" for n, name in zip(numbers, header, strict=True)]
        lines.append("  ".join([f"{path:24}", *cells]))
    if "mutants" in data:
        lines += ["", f"automatic mutants: {killed(data):.2%} of the non-equivalent ones lose points"]
        for path, one in data["mutants"].items():
            for survivor in one["survivors"]:
                status = "equivalent" if survivor["equivalent"] else "SURVIVES"
                lines.append(
                    f"  {status}: {path} {survivor['function']}: {survivor['change']}   ({survivor['why']})"
                )
    for one in data.get("stability", []):
        solutions, mistakes = one["solutions"], one["mistakes"]
        lines.append(
            f"stability: numpy {one['numpy']}, torch {one['torch']}, {one['threads']} threads: "
            f"{solutions['passed']} of {solutions['verdicts']} verdicts on solutions passed, "
            f"{mistakes['verdicts'] - len(mistakes['wrong'])} of {mistakes['verdicts']} on mistakes named them"
        )
    if one := data.get("nbgrader"):
        lines.append(
            f"through nbgrader: {one['submissions']} notebooks, {one['agree']} of {one['cells']} test cells alike"
        )
    return "\n".join(lines)


def save(data: Data, path: Path) -> bool:
    """Write the data, unless nothing but the date would change; says whether it did."""
    before = read(path)
    dateless = {name: value for name, value in data.items() if name != "measured"}
    if {name: value for name, value in before.items() if name != "measured"} == dateless:
        return False
    data["measured"] = datetime.date.today().isoformat()
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(data, indent=1) + "\n", encoding="utf-8")
    return True


def read(path: Path) -> Data:
    """The data of an earlier run; empty if there is none."""
    return json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}


def measured(assignment: str, only: Sequence[str], also: Iterable[str], before: Data, quiet: bool) -> Data:
    """The figures of one assignment: those asked for anew, the others as they were."""
    found = own(assignment)
    parts: Data = {}
    if "recall" in only:
        parts["recall"] = recall(found, quiet)
    if "precision" in only:
        parts["precision"] = precision(found, quiet)
    if "mutants" in only:
        parts["mutants"] = mutation(found, quiet)
    if "nbgrader" in only:
        parts["nbgrader"] = through_nbgrader(found)
    if "stability" in only:
        parts["stability"] = stability(assignment, also, before.get("stability", []))
    data: Data = {"command": "make grader-report", "measured": ""} | before | parts
    data["versions"] = {
        "python": platform.python_version(),
        **{name: version(name).partition("+")[0] for name in ("numpy", "torch", "nbgrader")},
    }
    data["seeds"] = {"solutions": f"1 to {SEEDS}", "mistakes": f"1 to {MISTAKE_SEEDS}"}
    return data


def main(arguments: list[str] | None = None) -> int:
    """Command line: measure, print, write; 1 if a figure falls short."""
    parser = argparse.ArgumentParser(
        prog="python -m classroom.report", description=(__doc__ or "").split("\n\n")[0]
    )
    parser.add_argument("assignment", nargs="*", help="assignments to measure; all by default")
    parser.add_argument(
        "--only", nargs="+", choices=SECTIONS, default=SECTIONS, help="sections to measure anew"
    )
    parser.add_argument(
        "--also", nargs="*", default=[], metavar="PYTHON", help="interpreters with other versions"
    )
    parser.add_argument("--data", type=Path, default=DATA, help="folder that the figures are written to")
    parser.add_argument("--row", nargs=3, help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.row:
        assignment, threads, trainings = options.row
        print(json.dumps(row(assignment, int(threads), int(trainings))))
        return 0
    unknown = set(options.assignment) - set(assignments())
    if unknown:
        parser.error(f"no assignment {', '.join(sorted(unknown))}; there are {', '.join(assignments())}")
    fell_short = False
    for assignment in options.assignment or assignments():
        path = options.data / f"{assignment}.json"
        try:
            data = measured(assignment, options.only, options.also, read(path), not sys.stderr.isatty())
        except CourseError as error:
            print(f"classroom.report: {error}", file=sys.stderr)
            return 2
        print(text(data))
        for line in (short := shortcomings(data)):
            print(f"falls short: {line}")
        print(f"written      {path}" if save(data, path) else f"unchanged    {path}", flush=True)
        fell_short = fell_short or bool(short)
    return 1 if fell_short else 0


if __name__ == "__main__":
    raise SystemExit(main())

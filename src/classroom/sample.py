"""A sample class: submissions made from the current release, graded by nbgrader, its points read back and shown.

Run as `python -m classroom.sample`. In each assignment one student has everything right, one hands in the release as it
came, and others make mistakes that people really make (`classroom.students`). A submission that was edited by hand is kept
and graded as it is.
"""

import argparse
import hashlib
import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import nbformat
from nbformat import NotebookNode
from nbgrader.api import MissingEntry
from tqdm import tqdm

from classroom.course import (
    ROOT,
    assignments,
    autograde,
    make_course,
    nbgrader,
    read_notebook,
    sources,
    write_feedback,
)
from classroom.errors import CourseError
from classroom.gradebook import Score, open_gradebook, scores, text_table
from classroom.students import CLASS, Student


def solution_cells(source: NotebookNode) -> dict[str, str]:
    """Sources of the model solution by grade id, without the lines that mark the solution."""
    cells = {}
    for cell in source.cells:
        meta = cell.metadata.get("nbgrader", {})
        if meta.get("solution"):
            lines = [
                line for line in cell.source.splitlines() if "### BEGIN" not in line and "### END" not in line
            ]
            cells[meta["grade_id"]] = "\n".join(lines)
    return cells


def submission(student: Student, released: NotebookNode, source: NotebookNode, notebook: str) -> NotebookNode:
    """A student's notebook: the release with the model solutions, and the student's mistakes in them.

    Raises:
        CourseError: if a mistake does not fit the model solution any more.
    """
    solved = nbformat.from_dict(released)
    if student.blank:
        return solved
    model = solution_cells(source)
    for edit in (e for e in student.edits if e.notebook == notebook):
        code = model.get(edit.cell, "")
        if code.count(edit.right) != 1:
            raise CourseError(
                f"sample student {student.name}: {edit.right!r} occurs {code.count(edit.right)} times in the solution "
                f"{edit.cell!r} of {notebook}; expected once"
            )
        model[edit.cell] = code.replace(edit.right, edit.wrong)
    for cell in solved.cells:
        grade_id = cell.metadata.get("nbgrader", {}).get("grade_id")
        if grade_id in model:
            cell.source = model[grade_id]
    return solved


def _digest(folder: Path) -> str:
    """What a submission's folder holds, as one hash."""
    sha = hashlib.sha256()
    for path in sorted(folder.rglob("*")):
        if path.is_file():
            sha.update(str(path.relative_to(folder)).encode() + b"\0" + path.read_bytes() + b"\0")
    return sha.hexdigest()


class Ledger:
    """What was made and what was graded, so that a second run does only what is new and keeps what a person changed."""

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            self.entries: dict[str, str] = json.loads(path.read_text(encoding="utf-8"))
        except (FileNotFoundError, json.JSONDecodeError):
            self.entries = {}

    def holds(self, key: str, value: str) -> bool:
        """Whether `key` was last recorded with this value."""
        return self.entries.get(key) == value

    def record(self, key: str, value: str) -> None:
        """Write an entry to disk at once, whole or not at all: an interrupted run goes on from here."""
        self.entries[key] = value
        scratch = self.path.with_suffix(".tmp")
        scratch.write_text(json.dumps(self.entries, indent=1, sort_keys=True), encoding="utf-8")
        scratch.replace(self.path)


def release_state(assignment: str) -> str:
    """One hash of everything that decides what the sample class hands in and how it is graded."""
    sha = hashlib.sha256()
    files = [*sources(assignment), ROOT / "autotests.yml", ROOT / "nbgrader_config.py"]
    files += [*(ROOT / "src" / "classroom").rglob("*.py"), *(ROOT / "src" / "refcells").rglob("*.py")]
    for path in sorted(path for path in files if "figures" not in path.parts):
        sha.update(path.read_bytes())
    return sha.hexdigest()


def make_class(course: Path, assignment: str, ledger: Ledger) -> list[str]:
    """Write the sample submissions; gives the names of students whose submission somebody edited, which is kept."""
    kept = []
    for student in CLASS[assignment]:
        folder = course / "submitted" / student.name / assignment
        if folder.exists() and not ledger.holds(f"made {assignment} {student.name}", _digest(folder)):
            kept.append(student.name)
            continue
        folder.mkdir(parents=True, exist_ok=True)
        for source in sources(assignment):
            released = read_notebook(course / "exercises" / assignment / f"{source.stem}.ipynb")
            notebook = submission(student, released, read_notebook(source), source.stem)
            nbformat.write(notebook, folder / f"{source.stem}.ipynb")
        ledger.record(f"made {assignment} {student.name}", _digest(folder))
    return kept


def give_manual_points(course: Path, assignment: str) -> int:
    """Enter points for the answers in words, as a grader would, where none have been given yet; gives how many."""
    given = 0
    with open_gradebook(course) as gradebook:
        for student in CLASS[assignment]:
            if student.words is None:
                continue
            try:
                found = gradebook.find_submission(assignment, student.name)
            except MissingEntry:
                continue
            for notebook in found.notebooks:
                for grade in notebook.grades:
                    # An answer that was left as it came already has its 0. nbgrader asks for a second look at an
                    # answer that was graded again.
                    by_hand = grade.cell.cell_type == "markdown" and grade.auto_score is None
                    if by_hand and (grade.manual_score is None or grade.needs_manual_grade):
                        grade.manual_score = student.words * grade.cell.max_score
                        grade.needs_manual_grade = False
                        given += 1
        gradebook.db.commit()
    return given


def graded_class(course: Path, assignment: str, workers: int, quiet: bool = False) -> dict[str, list[Score]]:
    """Make the class, grade what is new, and read all points back."""
    make_course(course)
    ledger = Ledger(course / "ledger.json")
    state = release_state(assignment)
    if not ledger.holds(f"release {assignment}", state) or not (course / "exercises" / assignment).exists():
        nbgrader(course, "generate_assignment", assignment, "--force")
        make_class(course, assignment, ledger)
        ledger.record(f"release {assignment}", state)
    kept = make_class(course, assignment, ledger)
    for name in kept:
        print(f"{name}: the submission was edited by hand and is graded as it is", file=sys.stderr)

    digests = {
        student.name: state + _digest(course / "submitted" / student.name / assignment)
        for student in CLASS[assignment]
    }

    def work(step: str, run: Callable[..., Iterator[str]]) -> bool:
        """Do one step for the students for whom it is not done yet; gives whether there was any."""
        new = [
            name
            for name, digest in digests.items()
            if not ledger.holds(f"{step} {assignment} {name}", digest)
        ]
        if new:
            todo = run(course, assignment, new, workers)
            for name in tqdm(todo, desc=step, total=len(new), unit="submission", disable=quiet):
                ledger.record(f"{step} {assignment} {name}", digests[name])
        return bool(new)

    graded = work("autograde", autograde)
    # Gives only what has not been given, so an interruption just before it does no harm.
    if give_manual_points(course, assignment) or graded or not (course / "grades.csv").exists():
        nbgrader(course, "export", "--to", str(course / "grades.csv"))
    # After the points of the answers in words, so that they stand in the pages.
    work("feedback", write_feedback)
    return scores(course, assignment)


def main(arguments: list[str] | None = None) -> int:
    """Command line: make, grade and show the sample class."""
    parser = argparse.ArgumentParser(prog="python -m classroom.sample", description=__doc__)
    parser.add_argument(
        "--course", type=Path, default=ROOT / "_build" / "sample_class", help="where the class lives"
    )
    parser.add_argument(
        "--assignment", action="append", choices=sorted(CLASS), help="one assignment; all by default"
    )
    parser.add_argument("--workers", type=int, default=2, help="submissions that are graded at a time")
    options = parser.parse_args(arguments)
    course = options.course.resolve()
    try:
        if options.workers < 1:
            raise CourseError(f"{options.workers} workers came; expected at least 1")
        for assignment in options.assignment or [name for name in assignments() if name in CLASS]:
            table = text_table(graded_class(course, assignment, options.workers))
            (course / f"grades-{assignment}.txt").write_text(table, encoding="utf-8")
            print(
                f"Points of the sample class in '{assignment}'; a dot waits for a person's reading.\n\n{table}"
            )
    except CourseError as error:
        print(f"classroom.sample: {error}", file=sys.stderr)
        return 2
    print(f"submissions  {course / 'submitted'}")
    print(f"feedback     {course / 'feedback'}")
    print(f"gradebook    {course / 'gradebook.db'}")
    print(f"export       {course / 'grades.csv'}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())

"""Grade the instructor's own solutions, and the untouched release, against the release that was just generated.

nbgrader never runs what it generates, so a test that fails on the right answer would reach the class. Run as
`python -m classroom.verify` after `nbgrader generate_assignment`; it works on a copy of the gradebook.
"""

import argparse
import shutil
import sys
import tempfile
from pathlib import Path

import nbformat
from nbgrader.api import Base, Gradebook
from sqlalchemy import create_engine, insert, select

from classroom.course import ROOT, assignments, autograde, make_course, read_notebook, sources, write_feedback
from classroom.errors import CourseError
from classroom.gradebook import connect, database, scores
from classroom.sample import Student, submission

SOLVED, BLANK = Student("instructor"), Student("untouched-release", blank=True)


def verify(assignment: str, root: Path = ROOT) -> str:
    """Check one assignment.

    Returns:
        A line that says how many points the solutions reached.

    Raises:
        CourseError: names each question where the solutions lose points or the untouched release gets some; or there is no
            such assignment, or no release of it.
    """
    sources(assignment, root)
    if not (root / "exercises" / assignment).is_dir():
        raise CourseError(
            f"no release in {root / 'exercises' / assignment}; run: nbgrader generate_assignment {assignment}"
        )
    with tempfile.TemporaryDirectory(prefix="verify-") as scratch:
        course = make_course(Path(scratch) / "course", root)
        with connect(database(root)) as live:
            _copy(live, course / "gradebook.db")
        shutil.copytree(root / "exercises" / assignment, course / "exercises" / assignment)
        for student in (SOLVED, BLANK):
            folder = course / "submitted" / student.name / assignment
            folder.mkdir(parents=True)
            for source in sources(assignment, root):
                released = read_notebook(root / "exercises" / assignment / f"{source.stem}.ipynb")
                notebook = submission(student, released, read_notebook(source), source.stem)
                nbformat.write(notebook, folder / f"{source.stem}.ipynb")
        list(autograde(course, assignment, [SOLVED.name, BLANK.name]))
        table = scores(course, assignment)
        wrong = [
            f"{s.notebook}/{s.question}: the solution gets {s.auto:g} of {s.most:g}"
            for s in table[SOLVED.name]
            if s.auto is not None and s.auto != s.most
        ]
        wrong += [
            f"{s.notebook}/{s.question}: the untouched release gets {s.points:g} of {s.most:g}"
            for s in table[BLANK.name]
            if s.points != 0
        ]
        if wrong:
            list(write_feedback(course, assignment, [SOLVED.name, BLANK.name]))
            kept = root / "_build" / "verify"
            shutil.rmtree(kept, ignore_errors=True)
            shutil.copytree(course / "feedback", kept)
            raise CourseError(
                f"{assignment} must not be released:\n  " + "\n  ".join(wrong) + f"\nfeedback in {kept}"
            )
        reached = sum(s.most for s in table[SOLVED.name] if s.auto is not None)
        by_hand = sum(s.most for s in table[SOLVED.name] if s.auto is None)
    return f"{assignment}: the solutions reach {reached:g} of {reached:g} points by tests ({by_hand:g} more by hand)"


def _copy(live: Gradebook, path: Path) -> None:
    """Copy a gradebook, in whichever database it is, into a file."""
    copy = create_engine(f"sqlite:///{path}")
    Base.metadata.create_all(copy)
    with copy.begin() as into, live.engine.connect() as source:
        for table in Base.metadata.sorted_tables:
            if rows := source.execute(select(table)).mappings().all():
                into.execute(insert(table), [dict(row) for row in rows])
    copy.dispose()


def main(arguments: list[str] | None = None) -> int:
    """Command line: verify the named assignments, or all."""
    parser = argparse.ArgumentParser(
        prog="python -m classroom.verify", description=(__doc__ or "").split("\n\n")[0]
    )
    parser.add_argument("assignment", nargs="*", help="all by default")
    try:
        for assignment in parser.parse_args(arguments).assignment or assignments():
            print(verify(assignment))
    except CourseError as error:
        print(f"classroom.verify: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    raise SystemExit(main())

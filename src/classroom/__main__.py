"""Command line: `classroom grade ASSIGNMENT`, `classroom status ASSIGNMENT`."""

import argparse
import csv
import statistics
import sys
from pathlib import Path

from classroom.errors import CourseError

__all__ = ["main"]

DATABASE = "URL of the gradebook's database; by default what nbgrader uses in the course's folder"


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="classroom", description="Grade a class on nbgrader's formats and gradebook."
    )
    parser.add_argument(
        "--course", type=Path, default=Path(), help="the course's folder; the current one by default"
    )
    commands = parser.add_subparsers(dest="command", required=True)
    grade = commands.add_parser("grade", help="grade what is new, in parallel")
    grade.add_argument("assignment")
    grade.add_argument("--students", nargs="+", metavar="NAME", help="these alone")
    grade.add_argument("--workers", type=int, default=2, help="processes on this machine")
    grade.add_argument("--scheduler", help="address of a Dask scheduler, tcp://..., instead of this machine")
    grade.add_argument("--db", help=DATABASE)
    grade.add_argument("--timeout", type=int, default=120, help="seconds that a cell may take")
    grade.add_argument("--again", action="store_true", help="also what has been graded already")
    status = commands.add_parser("status", help="what became of each submission")
    status.add_argument("assignment")
    status.add_argument("--db", help=DATABASE)
    status.add_argument("--csv", type=Path, help="write the table to this file as well")
    return parser


def main(arguments: list[str] | None = None) -> int:
    """Run one command; 2 for what a user can mend."""
    options = _parser().parse_args(arguments)
    try:
        if options.command == "grade":
            return _grade(options)
        return _status(options)
    except CourseError as error:
        print(f"classroom: {error}", file=sys.stderr)
        return 2


def _grade(options: argparse.Namespace) -> int:
    from classroom.grading import grade_class

    if options.workers < 1:
        raise CourseError(f"{options.workers} workers came; expected at least 1")
    summary = grade_class(
        options.course.resolve(),
        options.assignment,
        options.students,
        workers=options.workers,
        scheduler=options.scheduler,
        db_url=options.db,
        timeout=options.timeout,
        again=options.again,
    )
    odd = [record for record in summary.records if record.status != "graded"]
    print(f"{len(summary.graded)} submissions graded, {len(summary.kept)} stood already")
    if summary.seconds:
        print(
            f"seconds a submission: {statistics.median(summary.seconds):.1f} (median), {max(summary.seconds):.1f} (longest)"
        )
    for record in odd:
        print(f"{record.status:9} {record.student}/{record.notebook}: {'; '.join(record.notes)}")
    return 0


def _status(options: argparse.Namespace) -> int:
    from classroom.grading.status import status_rows

    rows = status_rows(options.course.resolve(), options.assignment, options.db)
    columns = ("student", "notebook", "status", "points", "most", "waiting", "notes")
    if options.csv:
        with options.csv.open("w", encoding="utf-8", newline="") as file:
            writer = csv.DictWriter(file, columns)
            writer.writeheader()
            writer.writerows(rows)
    widths = {name: max([len(name), *(len(str(row[name])) for row in rows)]) for name in columns[:-1]}
    for row in [dict(zip(columns, columns, strict=True)), *rows]:
        print("  ".join(str(row[name]).ljust(widths[name]) for name in columns[:-1]) + f"  {row['notes']}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())

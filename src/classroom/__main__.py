"""Command line: `classroom grade ASSIGNMENT`, and what can be asked about it afterwards."""

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
    report = commands.add_parser("report", help="one page about a graded assignment, for instructors")
    report.add_argument("assignment")
    report.add_argument(
        "--out", type=Path, help="the file to write; _build/reports/ASSIGNMENT.html in the course by default"
    )
    report.add_argument("--db", help="the gradebook's database, as SQLAlchemy names it")
    similar = commands.add_parser("similar", help="answers that share much, to look at side by side")
    similar.add_argument("assignment")
    similar.add_argument(
        "--threshold", type=float, default=0.75, help="share of an answer's code from which it is shown; 0.75"
    )
    similar.add_argument(
        "--prose-threshold", type=float, default=0.4, help="the same for answers in words; 0.4"
    )
    similar.add_argument(
        "--out",
        type=Path,
        help="the file to write; _build/reports/ASSIGNMENT-similar.html in the course by default",
    )
    return parser


def main(arguments: list[str] | None = None) -> int:
    """Run one command; 2 for what a user can mend."""
    options = _parser().parse_args(arguments)
    try:
        if options.command == "grade":
            return _grade(options)
        if options.command == "report":
            return _report(options)
        if options.command == "similar":
            return _similar(options)
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


def _report(options: argparse.Namespace) -> int:
    from classroom.class_report import write_report

    course = options.course.resolve()
    out = options.out or course / "_build" / "reports" / f"{options.assignment}.html"
    numbers = write_report(course, options.assignment, out, options.db)
    print(
        f"{len(numbers.students)} students; {numbers.waiting} answers wait, {len(numbers.apart)} students have no total"
    )
    print(f"report  {out}")
    return 0


def _similar(options: argparse.Namespace) -> int:
    from classroom.similar import text_table, write_similar

    course = options.course.resolve()
    out = options.out or course / "_build" / "reports" / f"{options.assignment}-similar.html"
    found = write_similar(
        course,
        options.assignment,
        out,
        code_share=options.threshold,
        prose_share=options.prose_threshold,
    )
    print(text_table(found))
    print(f"side by side  {out}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())

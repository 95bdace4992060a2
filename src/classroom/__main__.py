"""Command line: an assignment's way from its release to the grades, and what can be asked about it."""

import argparse
import statistics
import sys
from datetime import UTC, tzinfo
from pathlib import Path
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

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
    collect = commands.add_parser(
        "collect", help="bring a platform's download to submitted/, and keep every attempt"
    )
    collect.add_argument("assignment")
    collect.add_argument(
        "paths", nargs="+", type=Path, metavar="PATH", help="a zip, or the folder it was unpacked to"
    )
    collect.add_argument(
        "--worksheet",
        type=Path,
        help="Moodle's grading worksheet or Canvas's gradebook export: who is who, and when",
    )
    collect.add_argument(
        "--platform", choices=("moodle", "canvas"), help="where the download is from; told by its names"
    )
    collect.add_argument(
        "--timezone", help="of the times in the download and the worksheet, Europe/Berlin; this machine's"
    )
    collect.add_argument("--encoding", default="", help="of names in a zip that does not say, such as gbk")
    collect.add_argument("--db", help=DATABASE)
    release = commands.add_parser(
        "release", help="generate an assignment, first or again after a fix; no grade is lost"
    )
    release.add_argument("assignment")
    release.add_argument(
        "--remove", action="store_true", help="also remove questions that somebody has points in"
    )
    release.add_argument(
        "--list", action="store_true", help="show the releases there were, and generate nothing"
    )
    release.add_argument("--db", help=DATABASE)
    due = commands.add_parser("due", help="show or set an assignment's due date")
    due.add_argument("assignment")
    due.add_argument("when", nargs="?", help="2026-03-01 23:59; without it the date is shown")
    due.add_argument("--timezone", help="that the date is in, Europe/Berlin; this machine's by default")
    due.add_argument("--none", action="store_true", help="take the due date away")
    due.add_argument("--db", help=DATABASE)
    export = commands.add_parser("export", help="write a file of grades that Moodle or Canvas imports")
    export.add_argument("assignment")
    export.add_argument("--to", choices=("moodle", "canvas"), required=True)
    export.add_argument("--out", type=Path, required=True, help="the file to write")
    export.add_argument("--template", type=Path, help="Moodle's grading worksheet, Canvas's gradebook export")
    export.add_argument("--column", help="Canvas's name of the assignment: 'Name (id)'")
    export.add_argument("--scale", action="store_true", help="bring points to the platform's own maximum")
    export.add_argument("--missing-zero", action="store_true", help="write 0 for those who handed in nothing")
    export.add_argument("--db", help=DATABASE)
    return parser


def main(arguments: list[str] | None = None) -> int:
    """Run one command; 2 for what a user can mend."""
    options = _parser().parse_args(arguments)
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            # A name that the terminal's encoding lacks does not end a command.
            stream.reconfigure(errors="backslashreplace")
    try:
        run = {
            "grade": _grade,
            "status": _status,
            "collect": _collect,
            "due": _due,
            "export": _export,
            "release": _release,
            "report": _report,
            "similar": _similar,
        }
        return run[options.command](options)
    except CourseError as error:
        print(f"classroom: {error}", file=sys.stderr)
    except OSError as error:
        # A folder where a file should be, a disk that is full or may not be written to.
        what = error.strerror or error
        print(
            f"classroom: {error.filename}: {what}" if error.filename else f"classroom: {what}",
            file=sys.stderr,
        )
    except Exception as error:
        from sqlalchemy.exc import DBAPIError

        if not isinstance(error, DBAPIError):
            raise
        print(f"classroom: the gradebook cannot be used: {str(error.orig).strip()}", file=sys.stderr)
    return 2


def _grade(options: argparse.Namespace) -> int:
    from classroom.grading import grade_class

    if options.workers < 1:
        raise CourseError(f"{options.workers} workers came; expected at least 1")
    if options.timeout < 1:
        raise CourseError(f"a timeout of {options.timeout} seconds came; expected at least 1")
    summary = grade_class(
        options.course.resolve(),
        options.assignment,
        options.students,
        workers=options.workers,
        scheduler=options.scheduler,
        db_url=options.db,
        timeout=options.timeout,
        again=options.again,
        say=lambda sentence: print(f"classroom: {sentence}", file=sys.stderr),
    )
    odd = [record for record in summary.records if record.status != "graded"]
    print(f"{len(summary.graded)} submissions graded, {len(summary.kept)} stood already")
    if summary.seconds:
        print(
            f"seconds a submission: {statistics.median(summary.seconds):.1f} (median), {max(summary.seconds):.1f} (longest)"
        )
    for record in odd:
        print(f"{record.status:10} {record.student}/{record.notebook}: {'; '.join(record.notes)}")
    return 0


def _status(options: argparse.Namespace) -> int:
    from classroom.export import write_csv
    from classroom.grading.status import status_rows

    rows = status_rows(options.course.resolve(), options.assignment, options.db)
    columns = (
        "student",
        "notebook",
        "status",
        "points",
        "most",
        "waiting",
        "release",
        "late",
        "penalty",
        "notes",
    )
    if options.csv:
        write_csv(options.csv, [columns, *([row[name] for name in columns] for row in rows)])
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


def _zone(name: str | None) -> tzinfo | None:
    """A time zone by its name.

    Raises:
        CourseError: if there is none of that name.
    """
    if name is None:
        return None
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):  # 'Europe' is a folder
        raise CourseError(f"no time zone {name!r}; expected one like 'Europe/Berlin' or 'UTC'") from None


def _collect(options: argparse.Namespace) -> int:
    from classroom.collect import collect

    told = collect(
        options.course.resolve(),
        options.assignment,
        options.paths,
        worksheet=options.worksheet,
        platform=options.platform or "",
        zone=_zone(options.timezone),
        encoding=options.encoding,
        db_url=options.db,
    )
    print(
        f"{len(told.new)} students new, {len(told.again)} with a newer attempt, {len(told.same)} as before"
        + (f", {len(told.older)} with an attempt older than the one that counts" if told.older else "")
    )
    for note in told.notes:
        print(f"note      {note}")
    reasons: dict[str, list[str]] = {}
    for name, reason in told.unmatched:
        reasons.setdefault(reason, []).append(name)
    for reason, names in reasons.items():
        print(f"unmatched {', '.join(names)}: {reason}")
    if told.unmatched:
        print(
            f"unmatched files are kept in {options.course / 'collected' / options.assignment / 'unmatched'}"
        )
    if told.timeless:
        print(
            f"{len(told.timeless)} submissions have no time: the files of a download all bear the download's. "
            "Moodle's grading worksheet has the times (--worksheet). Until then none of them counts as late."
        )
    return 0


def _release(options: argparse.Namespace) -> int:
    from classroom.course import configuration
    from classroom.gradebook import find_assignment, open_gradebook
    from classroom.preprocessors import PUBLIC
    from classroom.releases import Releases, record_lines, release

    course = options.course.resolve()
    if options.list:
        with open_gradebook(course, options.db) as gradebook:
            find_assignment(gradebook, options.assignment)
            lines = list(record_lines(Releases(gradebook, options.assignment)))
        print(
            "\n".join(lines) or f"no release of {options.assignment} is recorded; generating it records one"
        )
        return 0
    told = release(course, options.assignment, remove=options.remove, db_url=options.db)
    if configuration(course).HiddenSeeds.get("secret", PUBLIC) == PUBLIC:
        print(
            "the seeds of hidden tests are those that everybody can know; set COURSE_SECRET to a word of your own, "
            "as the instructor guide says"
        )
    for change in told.changes or ["nothing has changed since the release before"]:
        print(change)
    for line in told.above:
        print(f"above the most  {line}")
    if told.outdated:
        print(
            f"{told.outdated} submissions were graded by the tests before; run: classroom grade {options.assignment}"
        )
    return 0


def _due(options: argparse.Namespace) -> int:
    from classroom.gradebook import open_gradebook
    from classroom.late import due_date, set_due_date

    if options.when and options.none:
        raise CourseError("a date and --none came; expected one of them")
    zone = _zone(options.timezone)
    with open_gradebook(options.course.resolve(), options.db) as gradebook:
        if options.when or options.none:
            moment = set_due_date(gradebook, options.assignment, options.when, zone)
        else:
            moment = due_date(gradebook, options.assignment)
    if moment is None:
        print(f"{options.assignment} has no due date")
    else:
        there = moment.replace(tzinfo=UTC).astimezone(zone)
        print(f"{options.assignment} is due {there:%Y-%m-%d %H:%M %Z} ({moment:%Y-%m-%d %H:%M} UTC)")
    return 0


def _export(options: argparse.Namespace) -> int:
    from classroom.export import export

    told = export(
        options.course.resolve(),
        options.assignment,
        options.to,
        options.out,
        options.template,
        column=options.column,
        scale=options.scale,
        missing_zero=options.missing_zero,
        db_url=options.db,
    )
    print(f"{len(told.written)} grades written to {options.out}, {len(told.left)} left open")
    left: dict[str, list[str]] = {}
    for student, status in told.left:
        left.setdefault(status, []).append(student)
    for status, students in left.items():
        print(f"left open {status}: {', '.join(students)}")
    for note in told.notes:
        print(f"note      {note}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())

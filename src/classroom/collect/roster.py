"""Who is who: the class's list in `students.csv`, and the tables that platforms give out."""

import csv
import io
import itertools
import re
import unicodedata
from dataclasses import dataclass, field
from datetime import UTC, datetime, tzinfo
from pathlib import Path

import dateutil.parser

from classroom.errors import CourseError

__all__ = ["COLUMNS", "Ambiguous", "Person", "Roster", "Row", "name_key", "read_csv", "read_table", "safe_id"]

# nbgrader's own columns, so that `nbgrader db student import students.csv` takes the file; and the name as platforms print it.
COLUMNS = ("id", "last_name", "first_name", "email", "lms_user_id", "full_name")

_UNSAFE = re.compile(r"[^\w.@+~-]+")


class Ambiguous(Exception):
    """A name that two people have; the message says what would tell them apart."""


@dataclass
class Person:
    """A student, as nbgrader's gradebook knows one.

    Attributes:
        id: nbgrader's id, a folder's name.
        last_name: for lists.
        first_name: for lists.
        email: the address, if it is known.
        lms_user_id: the id in Canvas; Moodle has none that is the same in two assignments.
        full_name: as the platform writes it.
    """

    id: str
    last_name: str = ""
    first_name: str = ""
    email: str = ""
    lms_user_id: str = ""
    full_name: str = ""


@dataclass
class Row:
    """A line of a platform's table.

    Attributes:
        platform: 'moodle' or 'canvas'.
        number: Moodle's participant in this assignment, or the id in Canvas.
        full_name: as the platform writes it.
        login: the user's name, if the table has it.
        id_number: the institution's number, if the table has it.
        email: the address, if the table has it.
        submitted: when the last attempt was handed in, UTC; None if the table does not say.
        last_name: where the table keeps it apart.
        first_name: where the table keeps it apart.
    """

    platform: str
    number: str
    full_name: str
    login: str = ""
    id_number: str = ""
    email: str = ""
    submitted: datetime | None = None
    last_name: str = ""
    first_name: str = ""


def safe_id(text: str) -> str:
    """A name as nbgrader's id: letters of any script and digits, nothing that a path or a pattern of paths reads otherwise."""
    plain = _UNSAFE.sub(_dashed, unicodedata.normalize("NFC", text)).strip("-.")
    # A folder's name has 255 bytes at most on common systems, the gradebook's column 128 characters.
    while len(plain.encode()) > 120:
        plain = plain[:-1]
    return plain or "nobody"


def _dashed(unsafe: re.Match[str]) -> str:
    """A dash for what an id cannot hold. A vowel sign, as of Hindi or Thai, is part of its letter and stays."""
    groups = itertools.groupby(unsafe[0], lambda sign: unicodedata.category(sign).startswith("M"))
    return "".join("".join(signs) if mark else "-" for mark, signs in groups)


def name_key(name: str) -> str:
    """A name as platforms spell it in several ways: without case, accents' composition and punctuation.

    Marks stay: in many scripts the vowels are marks, and राम and रमा are two people.
    """
    plain = unicodedata.normalize("NFKC", name).casefold()
    return "".join(sign for sign in plain if unicodedata.category(sign)[0] in "LMN") or plain.strip()


def read_csv(path: Path) -> tuple[list[list[str]], str]:
    """A table and the character that separates its columns; UTF-8 with or without its mark, UTF-16 or Windows's own.

    Raises:
        CourseError: if there is no such file, or it is no table.
    """
    try:
        raw = path.read_bytes()
    except OSError as error:
        raise CourseError(f"cannot read {path}: {error.strerror}") from None
    for encoding in ("utf-16" if raw[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8-sig", "cp1252"):
        try:
            text = raw.decode(encoding)
            break
        except UnicodeDecodeError:
            continue
    else:
        raise CourseError(f"{path} is not text; expected a CSV file")
    first = text.partition("\n")[0]
    delimiter = max(",;\t", key=first.count)
    # A worksheet of Moodle's may hold a student's whole online text in one cell.
    csv.field_size_limit(max(csv.field_size_limit(), len(text)))
    try:
        rows = [row for row in csv.reader(io.StringIO(text, newline=""), delimiter=delimiter) if any(row)]
    except csv.Error as error:
        raise CourseError(f"{path} is no table ({error}); expected a CSV file") from None
    if not rows or len(rows[0]) < 2:
        raise CourseError(f"{path} holds no table; expected a CSV file with a line of names")
    return rows, delimiter


def _column(header: list[str], *names: str) -> int | None:
    lower = [name.strip().casefold() for name in header]
    return next((lower.index(name) for name in names if name in lower), None)


def read_table(path: Path, zone: tzinfo | None = None) -> list[Row]:
    """A grading worksheet of Moodle's, a gradebook export of Canvas's, or a table of one's own with the same columns.

    Args:
        path: the CSV file.
        zone: the time zone that its times are in; this machine's by default.

    Raises:
        CourseError: if it has no column that tells who a line is about.
    """
    (header, *lines), _ = read_csv(path)
    at = {
        "number": _column(header, "identifier", "id", "lms_user_id", "number"),
        "full_name": _column(header, "full name", "student", "full_name", "name"),
        "login": _column(header, "username", "sis login id", "login"),
        "id_number": _column(header, "id number", "sis user id", "student id"),
        "email": _column(header, "email address", "email"),
        "submitted": _column(header, "last modified (submission)", "submitted"),
        "last_name": _column(header, "last name", "lastname", "last_name", "surname"),
        "first_name": _column(header, "first name", "firstname", "first_name"),
    }
    if at["number"] is None:
        raise CourseError(
            f"{path} has the columns {', '.join(header)}; expected 'Identifier' (Moodle's grading worksheet, downloaded in "
            "English) or 'ID' (Canvas's gradebook export)"
        )
    moodle = header[at["number"]].strip().casefold() == "identifier"
    rows = []
    for line in lines:
        cell = {
            name: line[place].strip() if place is not None and place < len(line) else ""
            for name, place in at.items()
        }
        # Moodle writes 'Participant 184206'.
        number = re.sub(r"^\D*", "", cell["number"]) if moodle else cell["number"]
        if not number:
            continue  # 'Points Possible' and the like
        name = cell["full_name"] or f"{cell['first_name']} {cell['last_name']}".strip()
        rows.append(
            Row(
                "moodle" if moodle else "canvas",
                number,
                name,
                cell["login"],
                cell["id_number"],
                cell["email"],
                _moment(cell["submitted"], zone, path),
                cell["last_name"],
                cell["first_name"],
            )
        )
    return rows


def _moment(text: str, zone: tzinfo | None, path: Path) -> datetime | None:
    """A platform's time as UTC without a zone, as nbgrader keeps it."""
    if not text.strip("- "):
        return None
    try:
        found = dateutil.parser.parse(text, dayfirst=not re.match(r"\d{4}-", text))
    except (ValueError, OverflowError):
        raise CourseError(
            f"{path} holds the time {text!r}; expected one like 'Monday, 5 June 2023, 11:59 PM' or '2023-06-05 23:59'"
        ) from None
    if found.tzinfo is None:
        found = found.replace(tzinfo=zone) if zone else found.astimezone()
    return found.astimezone(UTC).replace(tzinfo=None)


def _unmarked(cell: str) -> str:
    """A cell without the apostrophe that keeps a spreadsheet from running it; one that belongs to a name stays."""
    from classroom.export import safe_cell

    return cell[1:] if cell.startswith("'") and safe_cell(cell[1:]) == cell else cell


@dataclass
class Roster:
    """The class's list. An id that it has given to somebody stays theirs; people can be added and names mended by hand.

    Args:
        path: the file, `students.csv` in the course's folder.
        people: its lines by id.
    """

    path: Path
    people: dict[str, Person] = field(default_factory=dict)

    @classmethod
    def read(cls, path: Path) -> "Roster":
        """The list in a file; an empty one if there is no file.

        Raises:
            CourseError: if the file is no list with a column `id`.
        """
        roster = cls(path)
        if not path.exists():
            return roster
        (header, *lines), _ = read_csv(path)
        if "id" not in header:
            raise CourseError(f"{path} has the columns {', '.join(header)}; expected at least 'id'")
        for line in lines:
            cells = dict(zip(header, (cell.strip() for cell in line), strict=False))
            known = {name: _unmarked(cells.get(name, "")) for name in COLUMNS}
            if set(known["id"]) & set("/\\\0") or known["id"].startswith("."):
                raise CourseError(f"{path} holds the id {known['id']!r}; expected one that can name a folder")
            if known["id"]:
                roster.people[known["id"]] = Person(**known)
        return roster

    def write(self) -> None:
        """Put the list into its file, whole or not at all."""
        from classroom.export import write_csv

        rows = [
            [getattr(person, name) for name in COLUMNS]
            for person in sorted(self.people.values(), key=lambda person: person.id)
        ]
        write_csv(self.path, [list(COLUMNS), *rows])

    def find(self, platform: str, number: str, name: str | None, row: Row | None) -> Person:
        """The student whom a file or a line of a table is about; somebody new is added.

        Args:
            platform: 'moodle', 'canvas' or another.
            number: the student's at the platform.
            name: as the file's name has it; None if it has none.
            row: the student's line in the platform's table, if there is one.

        Raises:
            Ambiguous: if nothing but a name that several people have tells who it is.
        """
        stable = number if platform == "canvas" else ""
        full_name = (row.full_name if row else "") or name or ""
        found = self._known(stable, full_name, row)
        if found is None:
            found = Person(self._new_id(platform, number, full_name, row))
            self.people[found.id] = found
        self.complete(found, platform, number, name, row)
        return found

    def complete(self, found: Person, platform: str, number: str, name: str | None, row: Row | None) -> None:
        """Fill in what was not known of somebody; what is in the list already stays.

        Args:
            found: the student.
            platform: 'moodle', 'canvas' or another.
            number: the student's at the platform.
            name: as the file's name has it; None if it has none.
            row: the student's line in the platform's table, if there is one.
        """
        full_name = (row.full_name if row else "") or name or ""
        found.full_name = found.full_name or full_name
        if platform == "canvas":
            found.lms_user_id = found.lms_user_id or number
        if row:
            # A table has the name itself, a file's name what is left of it.
            found.full_name = row.full_name or found.full_name
            found.email = found.email or row.email or (row.login if "@" in row.login else "")
        if not (found.last_name or found.first_name) and (row or platform != "canvas"):
            found.first_name, found.last_name = _split(row, full_name)

    def _known(self, stable: str, full_name: str, row: Row | None) -> Person | None:
        people = list(self.people.values())
        if stable and (same := [person for person in people if person.lms_user_id == stable]):
            return same[0]
        if row:
            keys = {safe_id(key) for key in (row.login, row.id_number, row.email) if key}
            same = [
                p
                for p in people
                if p.id in keys or (row.email and p.email.casefold() == row.email.casefold())
            ]
            if same:
                return same[0]
        # A name is what Moodle's files have; Canvas's short form of one is no evidence.
        same = [
            p
            for p in people
            if full_name
            and name_key(full_name)
            in {
                name_key(p.full_name),
                name_key(p.first_name + p.last_name),
                name_key(p.last_name + p.first_name),
            }
        ]
        if row and (row.login or row.id_number or row.email):
            # This one has an address of their own, so somebody with another address is somebody else.
            same = [p for p in same if not p.email]
        if stable:
            same = [p for p in same if row and not p.lms_user_id]
        if len(same) > 1:
            raise Ambiguous(
                f"{len(same)} students are called {full_name!r} ({', '.join(p.id for p in same)}); "
                "pass the platform's table with --worksheet to tell them apart"
            )
        return same[0] if same else None

    def _new_id(self, platform: str, number: str, full_name: str, row: Row | None) -> str:
        wished = [key for key in ((row.login, row.id_number, row.email) if row else ()) if key]
        if not wished and platform != "moodle":
            wished = [f"{full_name} {number}".strip()]
        base = safe_id(wished[0] if wished else full_name or number)
        taken = {known.casefold() for known in self.people}
        tried, count = base, 2
        while tried.casefold() in taken:
            tried, count = f"{base}-{count}", count + 1
        return tried


def _split(row: Row | None, full_name: str) -> tuple[str, str]:
    """First and last name, as lists want them; a guess where the platform has them in one, to be mended in the file."""
    if row and (row.first_name or row.last_name):
        return row.first_name, row.last_name
    if "," in full_name:
        last, _, first = full_name.partition(",")
        return first.strip(), last.strip()
    first, _, last = full_name.rpartition(" ")
    return first, last

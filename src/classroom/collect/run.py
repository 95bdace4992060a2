"""Collecting: every attempt is kept in `collected/`, and the last of each notebook stands in `submitted/`."""

import codecs
import hashlib
import json
import shutil
import tempfile
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta, tzinfo
from pathlib import Path
from typing import Any

from tqdm import tqdm

from classroom.collect.archive import SafeExtractor, mended
from classroom.collect.platforms import PlatformCollector, plain_name
from classroom.collect.roster import Ambiguous, Person, Roster, Row, name_key, read_table, safe_id
from classroom.course import configuration, read_notebook
from classroom.errors import CourseError
from classroom.gradebook import connect, database

__all__ = ["Collected", "cells_of", "collect", "record_of", "which"]

# Platforms give every file the time of the download. Files whose times lie further apart have times of their own.
DOWNLOAD_LASTS = timedelta(hours=1)


@dataclass
class Collected:
    """What a collect did.

    Attributes:
        new: students who handed in for the first time.
        again: students with a newer attempt, which counts now.
        older: students of whom an attempt came that is older than the one that counts.
        same: students of whom nothing new came.
        unmatched: files that belong to nobody, and why; they are kept.
        notes: what else a person should know.
        timeless: students of whom nothing says when they handed in.
    """

    new: list[str] = field(default_factory=list)
    again: list[str] = field(default_factory=list)
    older: list[str] = field(default_factory=list)
    same: list[str] = field(default_factory=list)
    unmatched: list[tuple[str, str]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    timeless: list[str] = field(default_factory=list)


@dataclass
class _File:
    """A file of a download, and what its name says."""

    path: Path
    said: dict[str, Any]


@dataclass
class _Delivery:
    """One download, unpacked.

    Attributes:
        name: the download's, for messages.
        files: the folder that it was unpacked to.
        zone: the time zone of its files' times; None where they are this machine's.
    """

    name: str
    files: Path
    zone: tzinfo | None

    def times(self) -> list[datetime]:
        """When its files were changed, UTC."""
        return [self.time(path) for path in self.files.rglob("*") if path.is_file()]

    def time(self, path: Path) -> datetime:
        """When a file was changed, UTC, as nbgrader keeps times: without a zone."""
        moment = datetime.fromtimestamp(int(path.stat().st_mtime))
        local = moment.replace(tzinfo=self.zone) if self.zone else moment.astimezone()
        return local.astimezone(UTC).replace(tzinfo=None)


def record_of(course: Path, assignment: str) -> dict[str, Any]:
    """What was collected: each student's attempts and notebooks, and whose the platform's numbers are.

    Args:
        course: the course's folder.
        assignment: its name.

    Raises:
        CourseError: if the record is damaged.
    """
    path = course / "collected" / assignment / "record.json"
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        found = {}
    except ValueError as error:
        raise CourseError(
            f"{path} is damaged ({error}); it tells which attempts are whose, so restore it from a backup"
        ) from None
    return {"students": {}, "numbers": {}, **found}


def collect(
    course: Path,
    assignment: str,
    paths: Iterable[Path],
    *,
    worksheet: Path | None = None,
    platform: str = "",
    zone: tzinfo | None = None,
    encoding: str = "",
    db_url: str | None = None,
    progress: bool = True,
) -> Collected:
    """Bring a platform's download to where nbgrader looks for submissions.

    Nothing is lost: every attempt stays in `collected/ASSIGNMENT/STUDENT/`, with every file that came. Of these
    `submitted/STUDENT/ASSIGNMENT/` gets the assignment's notebooks and the time alone, so that no other file of a student's
    shadows a package. What was collected before is known by its content and left alone.

    Args:
        course: the course's folder.
        assignment: its name.
        paths: zips as the platform gives them, or folders that they were unpacked to.
        worksheet: the platform's table of the class: who is who, and, from Moodle, when they handed in.
        platform: 'moodle' or 'canvas', if it is not to be told from the names.
        zone: the time zone of times without one; this machine's by default.
        encoding: of names in zips that do not say; UTF-8, then cp437, by default.
        db_url: the gradebook's database; what nbgrader uses in the course's folder by default.
        progress: whether to show a bar on stderr.

    Returns:
        What was done, and what needs a look.

    Raises:
        CourseError: if the assignment has no release, there is no such encoding, a path is no download, or an archive holds what is refused.
    """
    try:
        codecs.lookup(encoding or "utf-8")
    except LookupError:
        raise CourseError(f"no encoding {encoding!r}; expected one like 'gbk' or 'cp1252'") from None
    config = configuration(course)
    extractor = SafeExtractor(config=config, **({"encoding": encoding} if encoding else {}))
    collector_class = config.ZipCollectApp.get("collector_plugin", PlatformCollector)
    if not (isinstance(collector_class, type) and issubclass(collector_class, PlatformCollector)):
        collector_class = PlatformCollector
    collector = collector_class(config=config, **({"platform": platform} if platform else {}))
    rows = read_table(worksheet, zone) if worksheet else []
    run = _Run(course, assignment, Roster.read(course / "students.csv"), collector, rows)
    with tempfile.TemporaryDirectory(prefix="collect-") as scratch:
        deliveries: list[_Delivery] = []
        for path in paths:
            if not path.exists():
                raise CourseError(f"no file or folder {path}; expected a platform's download")
            for part in _downloads(path, collector):
                target = Path(scratch) / str(len(deliveries))
                _unpack(part, path, target, collector, extractor)
                run.told.notes += extractor.unpack_students_own(target)
                deliveries.append(
                    _Delivery(part.name, target, zone if part.suffix.lower() == ".zip" else None)
                )
        # An earlier download first, whatever the order on the command line.
        for delivery in sorted(deliveries, key=lambda one: max(one.times(), default=datetime.min)):
            run.take(delivery, progress)
    run.list_class()
    _tell_gradebook(course, run.roster, db_url)
    return run.told


def _downloads(path: Path, collector: PlatformCollector) -> list[Path]:
    """What a path holds: itself, or, of a folder, the zips in it that are downloads, and the rest."""
    if not path.is_dir():
        if path.suffix.lower() != ".zip":
            raise CourseError(f"{path} is no zip and no folder; expected a platform's download")
        return [path]
    zips = [p for p in sorted(path.glob("*.[zZ][iI][pP]")) if collector.read(Path(mended(p.name))) is None]
    others = [p for p in path.iterdir() if p not in zips and not p.name.startswith(".")]
    return [*zips, *([path] if others or not zips else [])]


def _unpack(
    part: Path, path: Path, target: Path, collector: PlatformCollector, extractor: SafeExtractor
) -> None:
    if part.is_dir():
        target.mkdir(parents=True)
        skipped = {p for p in _downloads(path, collector) if p != path}
        for inner in sorted(part.iterdir()):
            if inner not in skipped and not inner.name.startswith("."):
                # A zip in here has a student's name: it is theirs, and is unpacked as such.
                if inner.is_dir() or inner.is_symlink():
                    extractor.extract_one(inner, target / mended(inner.name))
                else:
                    shutil.copy2(inner, target / mended(inner.name))
    else:
        extractor.extract_one(part, target)


class _Run:
    """One collect: what is known before it, and what it told."""

    def __init__(
        self, course: Path, assignment: str, roster: Roster, collector: PlatformCollector, rows: list[Row]
    ) -> None:
        self.course, self.assignment, self.roster, self.collector = course, assignment, roster, collector
        self.rows = {(row.platform, row.number): row for row in rows}
        self.released = _released(course, assignment)
        self.kept = course / "collected" / assignment
        self.record = record_of(course, assignment)
        self.told = Collected()

    def take(self, delivery: _Delivery, progress: bool) -> None:
        """Take everything from one download."""
        times = delivery.times()
        own_times = bool(times) and max(times) - min(times) > DOWNLOAD_LASTS
        groups: dict[tuple[str, str], list[_File]] = {}
        for path in sorted(delivery.files.rglob("*")):
            if not path.is_file():
                continue
            inner = path.relative_to(delivery.files)
            said = self.collector.read(inner)
            if said is None:
                self._keep_unmatched(delivery, path, "its name has no form of Moodle's or Canvas's")
            else:
                groups.setdefault((said["platform"], said["number"]), []).append(_File(path, said))
        if not groups:
            self.told.notes.append(f"{delivery.name} holds no file that names a student")
        # As the list compares them: 'Ana Li' and 'ANA LI' may be two.
        names = Counter(name_key(files[0].said["name"] or "") for files in groups.values())
        # Blind marking: everybody is called 'Participant', and the number is all there is.
        blind = len(groups) > 2 and len(names) == 1
        for (platform, number), files in tqdm(
            groups.items(), desc=f"collecting {delivery.name}", unit="submission", disable=not progress
        ):
            row = self.rows.get((platform, number))
            name = files[0].said["name"]
            try:
                person = self._person(platform, number, name, row, blind, names[name_key(name or "")] > 1)
            except Ambiguous as reason:
                for file in files:
                    self._keep_unmatched(delivery, file.path, str(reason))
                continue
            self._take_attempt(person, files, delivery, own_times, row)
            self._write()
            self.roster.write()

    def _person(
        self, platform: str, number: str, name: str | None, row: Row | None, blind: bool, shared: bool
    ) -> Person:
        """Whose number it is.

        Raises:
            Ambiguous: if it could be two people's.
        """
        key = f"{platform} {number}"
        known = self.roster.people.get(self.record["numbers"].get(key, ""))
        # A worksheet without addresses, as of blind marking, tells no more than the file's name.
        sure = row is not None and bool(row.login or row.id_number or row.email)
        if known is None or (row and not known.email):
            if platform == "moodle" and known is None and not sure and shared and not blind:
                raise Ambiguous(
                    f"two students are called {name!r}; pass Moodle's grading worksheet, with addresses or logins, with --worksheet"
                )
            if known is None and blind and not sure:
                known = self.roster.people.setdefault(
                    safe_id(f"{name or platform} {number}"), Person(safe_id(f"{name or platform} {number}"))
                )
            elif known is None:
                known = self.roster.find(platform, number, name, row)
                if platform == "moodle" and not sure and self._has_another(known, key):
                    raise Ambiguous(
                        f"{known.id} has another number in this assignment, so number {number} is somebody else of that name; "
                        "pass Moodle's grading worksheet, with addresses or logins, with --worksheet"
                    )
            else:
                self.roster.complete(known, platform, number, name, row)
        self.record["numbers"][key] = known.id
        return known

    def _has_another(self, person: Person, key: str) -> bool:
        """Whether somebody is known by another number; in one assignment Moodle gives each student one."""
        return any(
            other != key and other.startswith("moodle ") and owner == person.id
            for other, owner in self.record["numbers"].items()
        )

    def _take_attempt(
        self, person: Person, files: list[_File], delivery: _Delivery, own_times: bool, row: Row | None
    ) -> None:
        """Keep one student's files, and put forward what counts now."""
        archived = max(delivery.time(file.path) for file in files)
        submitted = row.submitted if row and row.submitted else archived if own_times else None
        late = any(file.said["late"] for file in files) if files[0].said["late"] is not None else None
        mine = self.record["students"].setdefault(
            person.id, {"attempts": [], "current": {}, "timestamp": None}
        )
        attempts = mine["attempts"]
        digest = _digest(files)
        latest = max(attempts, key=_when, default=None)
        same = [one for one in attempts if one["digest"] == digest]
        of_latest = bool(same) and same[-1] is latest
        if same and (of_latest or any(one["archived"] == archived.isoformat() for one in same)):
            attempt = same[-1]
            told = row.submitted.isoformat() if row and row.submitted else None
            if submitted and attempt["submitted"] is None:
                attempt["submitted"] = submitted.isoformat()
            elif told and of_latest and attempt["submitted"] != told:
                # The platform's table is right, once it is read in the right time zone.
                self.told.notes.append(
                    f"{person.id} handed in at {told} UTC by the worksheet, which replaces {attempt['submitted']}"
                )
                attempt["submitted"] = told
            attempt["late"] = late if late is not None else attempt["late"]
            self.told.same.append(person.id)
        else:
            number = 1 + max((int(one["folder"]) for one in attempts), default=0)
            attempt = {
                "folder": str(number),
                "digest": digest,
                "submitted": submitted.isoformat() if submitted else None,
                "archived": archived.isoformat(),
                "late": late,
                "download": delivery.name,
                "notebooks": self._notebooks(files, person.id),
            }
            _keep(files, self.kept / person.id / str(number))
            attempts.append(attempt)
            is_last = max(attempts, key=_when) is attempt
            kind = self.told.new if latest is None else self.told.again if is_last else self.told.older
            kind.append(person.id)
        self._put_forward(person.id, mine)

    def _notebooks(self, files: list[_File], student: str) -> dict[str, str]:
        """Which of an attempt's files is which notebook of the assignment."""
        found: dict[str, tuple[tuple[Any, ...], str]] = {}
        for file in files:
            inner = file.said["inner"]
            if ".ipynb_checkpoints" in inner.parts or file.said["kind"] not in ("file", "onlinetext"):
                continue
            name, sure = which(file.path, inner, file.said["platform"], self.released)
            if name is None:
                continue
            # A later upload counts; where a platform does not number them, the file that is named as it was handed out.
            rank = (file.said["upload"], sure, -len(inner.parts), inner.as_posix())
            if name in found:
                self.told.notes.append(
                    f"{student} handed in {name} twice in one attempt; both are kept, the later upload counts"
                    if file.said["upload"]
                    else f"{student} handed in {name} twice in one attempt; both are kept, the one with the plainer name counts"
                )
            elif sure < 2:
                self.told.notes.append(
                    f"{student}: {inner.as_posix()} is taken for {name}, by its name or its cells"
                )
            if name not in found or rank > found[name][0]:
                found[name] = (rank, _place(file).as_posix())
        if not found:
            self.told.notes.append(f"{student} handed in no notebook of {self.assignment}; what came is kept")
        return {name: place for name, (_, place) in sorted(found.items())}

    def _put_forward(self, student: str, mine: dict[str, Any]) -> None:
        """Bring `submitted/` to what counts, and move what a person put there out of the way."""
        folder = self.course / "submitted" / student / self.assignment
        folder.mkdir(parents=True, exist_ok=True)
        wanted: dict[str, str] = {}
        last: dict[str, Any] | None = None
        for attempt in sorted(mine["attempts"], key=_when):
            for name, place in attempt["notebooks"].items():
                wanted[name] = f"{attempt['folder']}/{place}"
            last = attempt
        kept = {
            hashlib.sha256(path.read_bytes()).hexdigest()
            for path in (self.kept / student).rglob("*")
            if path.is_file()
        }
        for name, place in wanted.items():
            target = folder / name
            if target.exists():
                if mine["current"].get(name) == place:
                    continue  # as collected, or mended by hand since then
                if hashlib.sha256(target.read_bytes()).hexdigest() not in kept:
                    aside = self.kept / student / "by-hand" / f"{datetime.now():%Y%m%d-%H%M%S}-{name}"
                    aside.parent.mkdir(parents=True, exist_ok=True)
                    shutil.copy2(target, aside)
                    self.told.notes.append(
                        f"{student}: {name} in submitted/ was not a collected one; it is now {aside}"
                    )
            scratch = target.with_suffix(".tmp")
            shutil.copyfile(self.kept / student / place, scratch)
            scratch.replace(target)
            mine["current"][name] = place
        left = [name for name, place in wanted.items() if last and not place.startswith(f"{last['folder']}/")]
        if left and student in (*self.told.again, *self.told.new):
            self.told.notes.append(
                f"{student}: the last attempt has no {', '.join(left)}; the one before still counts"
            )
        self._stamp(student, mine, folder, last)

    def _stamp(self, student: str, mine: dict[str, Any], folder: Path, last: dict[str, Any] | None) -> None:
        """Write when it was handed in as nbgrader reads it, where that is known."""
        path = folder / "timestamp.txt"
        moment = last["submitted"] if last else None
        if moment is None:
            self.told.timeless.append(student)
            # The time of an attempt that does not count any more would be a wrong one.
            if mine["timestamp"] and path.exists():
                path.unlink()
        else:
            path.write_text(f"{moment.replace('T', ' ')} UTC\n", encoding="utf-8")
        mine["timestamp"] = moment

    def _keep_unmatched(self, delivery: _Delivery, path: Path, reason: str) -> None:
        """Keep a file that belongs to nobody, under a name that is not taken."""
        inner = path.relative_to(delivery.files)
        folder = self.kept / "unmatched" / Path(delivery.name).stem
        content = path.read_bytes()
        target, number = folder / inner, 1
        # Another download of this name may have brought another file, a folder of its name, or a file where a folder has to be.
        while not (target.is_file() and target.read_bytes() == content) and (
            target.exists() or any(parent.is_file() for parent in target.parents)
        ):
            target = folder.with_name(f"{folder.name} ({number})") / inner
            number += 1
        target.parent.mkdir(parents=True, exist_ok=True)
        if not target.exists():
            shutil.copy2(path, target)
        self.told.unmatched.append((f"{delivery.name}: {inner.as_posix()}", reason))

    def list_class(self) -> None:
        """Put everybody whom the platform's table names into the class's list."""
        names = Counter(name_key(row.full_name) for row in self.rows.values() if row.full_name)
        for (platform, number), row in self.rows.items():
            if row.full_name in ("Student, Test", "Test Student"):
                continue  # a teacher's view of the course as a student
            try:
                shared = names[name_key(row.full_name)] > 1
                self._person(platform, number, row.full_name, row, blind=False, shared=shared)
            except Ambiguous as reason:
                self.told.notes.append(str(reason))
        self._write()
        self.roster.write()
        self.told.notes = list(dict.fromkeys(self.told.notes))
        for name in ("new", "again", "older", "same", "timeless"):
            setattr(self.told, name, sorted(set(getattr(self.told, name))))
        newer = {*self.told.new, *self.told.again, *self.told.older}
        self.told.same = [student for student in self.told.same if student not in newer]
        known = {student for student, mine in self.record["students"].items() if mine["timestamp"]}
        self.told.timeless = [student for student in self.told.timeless if student not in known]

    def _write(self) -> None:
        """Put the record on the disk, whole or not at all."""
        self.kept.mkdir(parents=True, exist_ok=True)
        scratch = self.kept / "record.tmp"
        scratch.write_text(
            json.dumps(self.record, indent=1, sort_keys=True, ensure_ascii=False), encoding="utf-8"
        )
        scratch.replace(self.kept / "record.json")


def _when(attempt: dict[str, Any]) -> tuple[str, str, int]:
    """Attempts in the order of time; the download's time stands for one that is not known.

    A worksheet gives the time of the last attempt to an older download's as well, so that the download's time decides then.
    """
    return attempt["submitted"] or attempt["archived"], attempt["archived"], int(attempt["folder"])


def _place(file: _File) -> Path:
    """Where a file is kept in its attempt's folder: Canvas's files of one name stay two by their numbers."""
    inner = file.said["inner"]
    return Path(str(file.said["upload"])) / inner if file.said["upload"] else inner


def _digest(files: list[_File]) -> str:
    sha = hashlib.sha256()
    for file in sorted(files, key=lambda file: _place(file).as_posix()):
        sha.update(_place(file).as_posix().encode() + b"\0" + file.path.read_bytes() + b"\0")
    return sha.hexdigest()


def _keep(files: list[_File], target: Path) -> None:
    """Copy an attempt to its folder, all of it or nothing."""
    scratch = target.with_name(f"{target.name}.tmp")
    shutil.rmtree(scratch, ignore_errors=True)
    for file in files:
        place = scratch / _place(file)
        place.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(file.path, place)
    # What an interrupted run left is not in the record.
    shutil.rmtree(target, ignore_errors=True)
    scratch.replace(target)


def _released(course: Path, assignment: str) -> dict[str, frozenset[str]]:
    """The notebooks of a release and the names of their cells.

    Raises:
        CourseError: if there is no release.
    """
    found = {
        path.name: cells_of(json.loads(path.read_text(encoding="utf-8")))
        for path in sorted((course / "exercises" / assignment).glob("*.ipynb"))
        if read_notebook(path)
    }
    if not found:
        raise CourseError(
            f"no released notebook in {course / 'exercises' / assignment}; run: nbgrader generate_assignment {assignment}"
        )
    return found


def cells_of(notebook: Any) -> frozenset[str]:
    """The names that the course gave to a notebook's cells.

    Args:
        notebook: the file's JSON, whatever it holds.
    """
    names = set()
    cells = notebook.get("cells", []) if isinstance(notebook, dict) else []
    for cell in cells if isinstance(cells, list) else []:
        metadata = cell.get("metadata") if isinstance(cell, dict) else None
        marks = metadata.get("nbgrader") if isinstance(metadata, dict) else None
        for name in (
            (marks or {}).get("grade_id") if isinstance(marks, dict) else None,
            cell.get("id") if isinstance(cell, dict) else None,
        ):
            if isinstance(name, str):
                names.add(name)
    return frozenset(names)


def which(
    path: Path, inner: Path, platform: str, released: dict[str, frozenset[str]]
) -> tuple[str | None, int]:
    """The notebook of the assignment that a file is, and how sure that is: 2 by its name, 1 by a name much like it, 0 by its cells.

    Args:
        path: the file.
        inner: its path as it was handed in.
        platform: whose form its name has; "" for none.
        released: the notebooks' file names, and the names of their cells.
    """
    exact = plain_name(inner.name, platform)
    if inner.name in released:
        return inner.name, 2
    if exact in released:
        return exact, 2
    # Browsers save 'scalar_lstm.ipynb.txt' and 'scalar_lstm (1).ipynb'.
    name = inner.name
    for more in (".txt", ".json"):
        name = name.removesuffix(more)
    if Path(name).suffix.lower() != ".ipynb":
        return None, 0
    lower = {known.casefold(): known for known in released}
    for tried in (
        name,
        plain_name(name, platform),
        plain_name(name, "canvas", copies=True),
        plain_name(name, copies=True),
    ):
        if tried.casefold() in lower:
            return lower[tried.casefold()], 1
    try:
        if path.stat().st_size > 100 * 2**20:
            return None, 0
        cells = cells_of(json.loads(path.read_text(encoding="utf-8-sig")))
    except (ValueError, RecursionError, OSError):
        return None, 0
    shares = sorted(
        ((len(cells & known) / max(len(known), 1), name) for name, known in released.items()), reverse=True
    )
    if shares[0][0] >= 0.5 and (len(shares) == 1 or shares[0][0] > shares[1][0]):
        return shares[0][1], 0
    return None, 0


def _tell_gradebook(course: Path, roster: Roster, db_url: str | None) -> None:
    """Give the gradebook the names of the class, which the formgrader and the exports show."""
    url = database(course, db_url)
    if url == f"sqlite:///{(course / 'gradebook.db').resolve()}" and not (course / "gradebook.db").exists():
        return  # nothing was generated yet
    with connect(url) as gradebook:
        for person in roster.people.values():
            names = {
                name: value[:128]
                for name in ("last_name", "first_name", "email", "lms_user_id")
                if (value := getattr(person, name))
            }
            # nbgrader shows a name where it has both parts.
            if "last_name" in names or "first_name" in names:
                names = {"last_name": "", "first_name": "", **names}
            gradebook.update_or_create_student(person.id, **names)

"""What the names in a platform's download say: whose file it is, which notebook, and whether it came late.

Moodle (mod/assign/classes/downloader.php) names a folder, or, with its folders turned off, a file:

    Ana Müller_184206_assignsubmission_file/scalar_lstm.ipynb
    Ana Müller_184206_assignsubmission_file_scalar_lstm.ipynb

where the number is the student's in this one assignment. Canvas (lib/content_zipper.rb) names a file:

    müllerana_LATE_5521_88034_scalar_lstm-1.ipynb

with the student's id in Canvas, the file's id, and a suffix to the name if the student has handed in a file of that name before.
Both put the last attempt alone into a download, and both give all files the time of the download.
"""

import re
from pathlib import Path
from typing import Any

from nbgrader.plugins import FileNameCollectorPlugin
from traitlets import List, Unicode

__all__ = ["CanvasCollector", "MoodleCollector", "PlatformCollector", "plain_name"]

MOODLE = (
    r"(?P<name>.+?)_(?P<number>\d+)_assignsubmission_(?P<kind>file|onlinetext|[a-z]+)(?:_(?P<file>.+)|_)?$"
)
CANVAS = (
    r"(?:(?P<name>.+?)_)?(?P<late>LATE_)?(?P<number>\d+|anon_[^_]+)_"
    r"(?:(?P<upload>\d+)_(?P<file>.+)|(?P<text>text|link)\.html)$"
)
_AGAIN = re.compile(r"(?:-\d{1,3}|-[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})$")
_COPIES = re.compile(r"(?:[ _-]*(?:\(\d+\)|-\s*copy|copy[ _-]?\d*|final|v\d+))+$", re.IGNORECASE)


class PlatformCollector(FileNameCollectorPlugin):
    """What `nbgrader zip_collect` and `classroom collect` read file names with: Canvas's form and Moodle's.

    The first part of a file's path that has one of the forms says whose it is, so that folders around it, or inside, do not
    matter. nbgrader's `named_regexp` goes before both, if it is set.
    """

    forms: tuple[tuple[str, str], ...] = (("moodle", MOODLE), ("canvas", CANVAS))
    valid_ext = List(
        [".ipynb"], help="Extensions of the files that zip_collect takes; collect keeps every file."
    ).tag(config=True)
    platform = Unicode("", help="The one platform whose names are expected: moodle or canvas.").tag(
        config=True
    )

    def read(self, path: Path) -> dict[str, Any] | None:
        """What a path says, or None if it has no form that is known.

        Args:
            path: the file's, below the folder of the download.

        Returns:
            `platform`, `number` (the student's at the platform), `name` (may be None), `late` (None where the platform does
            not say), `upload` (the file's number, rising with time; 0 where there is none), `kind`, and `inner`, the path
            below the part that names the student.
        """
        forms = [(name, form) for name, form in self.forms if self.platform in ("", name)]
        if self.named_regexp:
            forms.insert(0, ("named_regexp", self.named_regexp))
        for place, part in enumerate(path.parts):
            is_file = place == len(path.parts) - 1
            for platform, form in forms:
                # A zip that was unpacked has lost its extension, which Canvas's file names keep otherwise.
                found = re.match(form, part)
                if found is None:
                    continue
                said = found.groupdict()
                inner = path.parts[place + 1 :]
                if is_file:
                    inner = (said.get("file") or said.get("file_id") or f"{said.get('text') or 'text'}.html",)
                    if said.get("file_id") and not Path(inner[0]).suffix:
                        inner = (inner[0] + path.suffix,)
                number = said.get("number") or said.get("student_id")
                if number is None:
                    continue
                return {
                    "platform": platform,
                    "number": number,
                    "name": said.get("name") or _joined(said.get("first_name"), said.get("last_name")),
                    "late": bool(said["late"]) if platform == "canvas" else None,
                    "upload": int(said.get("upload") or 0),
                    "kind": said.get("kind") or "file",
                    "inner": Path(*inner),
                }
        return None

    def collect(self, submitted_file: str) -> dict[str, str] | None:
        """What `nbgrader zip_collect` asks of a file.

        Without the class's list it names a student by what the file name says; `classroom collect` asks the list as well.

        Args:
            submitted_file: the file's path.

        Returns:
            `student_id` and `file_id`; None for a file that is to be skipped.
        """
        path = Path(submitted_file)
        said = self.read(Path(*path.parts[-4:]))
        if said is None:
            self.log.warning("no form of Moodle's or Canvas's: %s", path.name)
            return None
        if path.suffix not in self.valid_ext:
            return None
        from classroom.collect.roster import safe_id

        return {
            "student_id": safe_id(f"{said['name'] or ''} {said['number']}"),
            "file_id": plain_name(said["inner"].name, said["platform"]),
        }


def _joined(*parts: str | None) -> str | None:
    return " ".join(part for part in parts if part) or None


class MoodleCollector(PlatformCollector):
    """Moodle's names alone."""

    forms = (("moodle", MOODLE),)


class CanvasCollector(PlatformCollector):
    """Canvas's names alone."""

    forms = (("canvas", CANVAS),)


def plain_name(name: str, platform: str = "", copies: bool = False) -> str:
    """A notebook's name without the suffix of a later upload.

    Args:
        name: the file's name.
        platform: Canvas alone adds `-1`.
        copies: take off what people and browsers add as well: ` (1)`, `-Copy1`, `final`.
    """
    stem, suffix = Path(name).stem, Path(name).suffix
    if platform == "canvas":
        stem = _AGAIN.sub("", stem)
    if copies:
        stem = _COPIES.sub("", stem).strip()
    return stem + suffix

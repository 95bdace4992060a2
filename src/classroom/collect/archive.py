"""Unpacking archives that come from outside: names in any script, nothing outside the folder, bounded in size."""

import os
import shutil
import stat
import struct
import time
import unicodedata
import zipfile
from pathlib import Path, PurePosixPath

from nbgrader.plugins import ExtractorPlugin
from traitlets import Int, Unicode

from classroom.errors import CourseError

__all__ = ["SafeExtractor", "mended", "unpack"]

# What a system puts into archives besides the files.
NOISE = ("__MACOSX", ".DS_Store", "Thumbs.db", "desktop.ini")

MOST_BYTES = 4 * 2**30
MOST_FILES = 50_000
MOST_OF_A_STUDENT = 200 * 2**20
_UTF8, _ENCRYPTED, _UNICODE_PATH = 0x800, 0x1, 0x7075


class SafeExtractor(ExtractorPlugin):
    """What `nbgrader zip_collect` unpacks downloads with, in place of its own extractor.

    A zip among the files becomes a folder of its name; a zip that a student handed in, inside it, as well. Entries that
    would leave the folder, links, and more data than the limits allow are refused: in the download with an error, in a
    student's own zip by leaving that zip as it is.
    """

    most_bytes = Int(MOST_BYTES, help="Bytes that one download may unpack to.").tag(config=True)
    most_files = Int(MOST_FILES, help="Files that one download may hold.").tag(config=True)
    most_of_a_student = Int(MOST_OF_A_STUDENT, help="Bytes that a student's own zip may unpack to.").tag(
        config=True
    )
    encoding = Unicode(
        "", help="How names are written in archives that do not say so; UTF-8, then cp437, by default."
    ).tag(config=True)

    def extract(self, archive_path: str, extracted_path: str) -> None:
        """Unpack or copy everything in a folder into another one.

        Args:
            archive_path: the folder of downloads.
            extracted_path: where to.

        Raises:
            CourseError: if a download is no zip, or holds what is refused.
        """
        target = Path(extracted_path)
        for path in sorted(Path(archive_path).iterdir()):
            if path.name not in NOISE:
                self.extract_one(path, target / mended(path.stem if _is_zip(path) else path.name))
        self.unpack_students_own(target)

    def extract_one(self, path: Path, target: Path) -> None:
        """Unpack a zip, or copy a folder or a file.

        Args:
            path: the download.
            target: the folder, or the file, that it becomes.

        Raises:
            CourseError: if it is a link, a zip that is refused, or a folder with links in it.
        """
        if path.is_symlink():
            raise CourseError(f"{path} is a link; expected a file, a folder or a zip")
        if path.is_dir():
            self._copy(path, target)
        elif _is_zip(path):
            self.log.info("Extracting from: %s", path)
            unpack(path, target, self.most_bytes, self.most_files, self.encoding)
        else:
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(path, _free(target))

    def _copy(self, folder: Path, target: Path) -> None:
        """Copy a folder that was unpacked already, without its links and with its names mended."""
        count = size = 0
        for root, names, files in os.walk(folder):
            for name in [*names, *files]:
                if (Path(root) / name).is_symlink():
                    raise CourseError(
                        f"{Path(root) / name} is a link; a download holds none, so this is refused"
                    )
            names[:] = [name for name in names if name not in NOISE]
            into = target.joinpath(*(mended(part) for part in Path(root).relative_to(folder).parts))
            into.mkdir(parents=True, exist_ok=True)
            for name in files:
                source = Path(root) / name
                if _noise(name) or not source.is_file():
                    continue
                count, size = count + 1, size + source.stat().st_size
                if count > self.most_files or size > self.most_bytes:
                    raise CourseError(_too_much(folder, self.most_bytes, self.most_files))
                shutil.copy2(source, _free(into / _fitting(mended(name))))

    def unpack_students_own(self, target: Path) -> list[str]:
        """Unpack the zips that students handed in, each beside itself; one that is refused stays a file.

        Args:
            target: the folder of a download that was unpacked.

        Returns:
            Why zips were left as they are.
        """
        left = []
        for path in sorted(target.rglob("*")):
            if path.is_file() and _is_zip(path):
                try:
                    unpack(path, _free(path.with_suffix("")), self.most_of_a_student, 1000, self.encoding)
                    path.unlink()
                except CourseError as refused:
                    self.log.warning("left as it is: %s", refused)
                    left.append(str(refused).replace(f"{target}{os.sep}", ""))
        return left


def _is_zip(path: Path) -> bool:
    return path.suffix.lower() == ".zip"


def mended(name: str) -> str:
    """A file's name in composed Unicode, with UTF-8 that was read as cp437 put right."""
    if not name.isascii():
        try:
            name = name.encode("cp437").decode("utf-8")
        except (UnicodeEncodeError, UnicodeDecodeError):
            # Bytes of another encoding, as Python keeps them on a disk: shown by their numbers.
            name = name.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")
    return unicodedata.normalize("NFC", name)


def unpack(
    path: Path,
    target: Path,
    most_bytes: int = MOST_BYTES,
    most_files: int = MOST_FILES,
    encoding: str = "",
) -> None:
    """Unpack a zip into a folder, all or nothing; files keep the time that the zip gives them, as local time.

    Args:
        path: the zip.
        target: the folder, which is made.
        most_bytes: bytes that it may unpack to, counted while they come and not as the zip claims.
        most_files: files that it may hold.
        encoding: of names that are not marked as UTF-8; UTF-8 where it fits, then cp437, by default.

    Raises:
        CourseError: if it is no zip, is damaged or encrypted, is too large, or has an entry that is a link or would be written
            outside the folder.
    """
    scratch = target.with_name(f"{target.name}.unpacking")
    shutil.rmtree(scratch, ignore_errors=True)
    try:
        with zipfile.ZipFile(path) as zipped:
            entries = zipped.infolist()
            if len(entries) > most_files:
                raise CourseError(_too_much(path, most_bytes, most_files))
            scratch.mkdir(parents=True)
            left = most_bytes
            for entry in entries:
                name = _name(entry, encoding)
                inside = _inside(name, path)
                mode = entry.external_attr >> 16
                if stat.S_ISLNK(mode):
                    raise CourseError(f"{path} holds a link, {name!r}; expected files alone")
                if entry.is_dir() or name.endswith("/") or any(_noise(part) for part in inside.parts):
                    continue
                if entry.flag_bits & _ENCRYPTED:
                    raise CourseError(f"{path} is encrypted; expected a zip without a password")
                file = _free(scratch / inside)
                file.parent.mkdir(parents=True, exist_ok=True)
                with zipped.open(entry) as source, file.open("xb") as into:
                    while chunk := source.read(2**20):
                        left -= len(chunk)
                        if left < 0:
                            raise CourseError(_too_much(path, most_bytes, most_files))
                        into.write(chunk)
                _date(file, entry)
            target.parent.mkdir(parents=True, exist_ok=True)
            scratch.replace(target)
    except (
        zipfile.BadZipFile,
        zipfile.LargeZipFile,
        NotImplementedError,
        EOFError,
        OSError,
        ValueError,
    ) as error:
        raise CourseError(f"{path} cannot be unpacked ({str(error)[:100]}); expected a zip") from None
    except Exception as error:
        if isinstance(error, CourseError):
            raise
        # Damaged data ends in an error of whichever compression it was.
        raise CourseError(f"{path} is damaged ({type(error).__name__})") from None
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def _name(entry: zipfile.ZipInfo, encoding: str) -> str:
    """An entry's name as it was meant."""
    if entry.flag_bits & _UTF8:
        return mended(entry.filename)
    extra = entry.extra
    while len(extra) >= 4:
        kind, size = struct.unpack("<HH", extra[:4])
        if kind == _UNICODE_PATH and size > 5:
            try:
                return mended(extra[9 : 4 + size].decode("utf-8"))
            except UnicodeDecodeError:
                break
        extra = extra[4 + size :]
    # Python has read it as cp437, which takes every byte.
    raw = entry.filename.encode("cp437", "replace")
    if encoding:
        try:
            return unicodedata.normalize("NFC", raw.decode(encoding))
        except (UnicodeDecodeError, LookupError):
            raise CourseError(f"the name {entry.filename!r} is not written in {encoding}") from None
    return mended(entry.filename)


def _inside(name: str, path: Path) -> Path:
    """An entry's path below the folder.

    Raises:
        CourseError: if it leads elsewhere.
    """
    parts = PurePosixPath(name.replace("\\", "/")).parts
    if not parts or name.startswith(("/", "\\")) or ".." in parts or "\0" in name or ":" in parts[0][1:2]:
        raise CourseError(
            f"{path} holds an entry {name!r} that would be written outside its folder; the archive is refused"
        )
    return Path(*(_fitting(part) for part in parts))


def _fitting(name: str, most: int = 200) -> str:
    """A name that common systems take, which count bytes: a long one is cut before its extension."""
    if len(name.encode()) <= most:
        return name
    suffix = Path(name).suffix
    if len(suffix.encode()) > 20:
        suffix = ""
    stem = name.removesuffix(suffix).encode()[: most - len(suffix.encode())]
    return stem.decode(errors="ignore") + suffix


def _noise(name: str) -> bool:
    return name in NOISE or name.startswith("._")


def _free(path: Path) -> Path:
    """This path, or one like it that is not taken: two entries of one name are two files."""
    number, found = 1, path
    while found.exists():
        found = path.with_name(f"{path.stem} ({number}){path.suffix}")
        number += 1
    return found


def _date(file: Path, entry: zipfile.ZipInfo) -> None:
    try:
        moment = time.mktime((*entry.date_time, 0, 0, -1))
        os.utime(file, (moment, moment))
    except (OverflowError, ValueError, OSError):
        pass


def _too_much(path: Path, most_bytes: int, most_files: int) -> str:
    return (
        f"{path} holds more than {most_bytes / 2**20:g} MB or {most_files} files; "
        "if that is right, raise SafeExtractor.most_bytes or .most_files in nbgrader_config.py"
    )

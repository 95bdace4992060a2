"""What a grader that was killed leaves behind: folders of kernels, and processes that students' code had started.

A process that starts kernels keeps their folders in one of its own, and a lock on it for as long as it lives. A folder whose
lock nobody holds is a dead process's, whatever killed it. Whoever starts kernels next clears it away, and so does the server
that kernels are forked from, which outlives its grader by a moment.

This module is loaded in that server, so it imports nothing of the course.
"""

import atexit
import os
import shutil
import signal
import stat
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

try:
    import fcntl
except ImportError:  # Windows, where no kernel is forked
    fcntl = None  # type: ignore[assignment]

__all__ = ["end_processes_of", "end_session", "folder_of_this_process", "note_session", "sweep"]

PREFIX, LOCK, SESSIONS = "kernels-", "lock", "sessions"

# Seconds after which a folder without a lock is no longer one that is just being made.
FRESH = 600.0

_mine: dict[int, Path] = {}
_locks: dict[int, int] = {}
_making = threading.Lock()


def folder_of_this_process() -> Path:
    """The folder that holds this process's kernels; made, and locked until the process ends, at the first call."""
    process = os.getpid()
    with _making:
        if process not in _mine:
            sweep()
            folder = Path(tempfile.mkdtemp(prefix=PREFIX))
            folder.chmod(0o711)  # each kernel's user goes through it to a folder of its own
            made = os.open(folder / "locking", os.O_CREAT | os.O_RDWR, 0o600)
            if fcntl is not None:
                fcntl.flock(made, fcntl.LOCK_EX)
            # Under its name only when it is locked: nobody can see it free before.
            os.rename(folder / "locking", folder / LOCK)
            _mine[process], _locks[process] = folder, made
            atexit.register(_leave, process)
        return _mine[process]


def _leave(process: int) -> None:
    """Remove the folder of a process that ends in order."""
    if os.getpid() == process:
        shutil.rmtree(_mine[process], ignore_errors=True)


def note_session(folder: Path, session: int) -> None:
    """Write down a kernel's session: where kernels have no user id of their own, this is how its processes are found.

    Args:
        folder: the kernel's.
        session: its id.
    """
    with (folder.parent / SESSIONS).open("a", encoding="ascii") as file:
        file.write(f"{session}\n")


def sweep() -> list[Path]:
    """Clear away what dead processes left: end what runs under their kernels' user ids or in their sessions, remove folders.

    Returns:
        The folders that were removed.
    """
    removed: list[Path] = []
    if fcntl is None:
        return removed
    for folder in sorted(Path(tempfile.gettempdir()).glob(f"{PREFIX}*")):
        try:
            told = folder.lstat()
            if not folder.is_dir() or folder.is_symlink() or told.st_uid != os.geteuid():
                continue
            if not (folder / LOCK).exists():
                if time.time() - told.st_mtime > FRESH:
                    shutil.rmtree(folder, ignore_errors=True)
                    removed.append(folder)
                continue
            held = os.open(folder / LOCK, os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW)
        except OSError:
            continue  # somebody else was faster
        try:
            fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
            _end_all(folder)
            shutil.rmtree(folder, ignore_errors=True)
            removed.append(folder)
        except OSError:
            continue  # its process lives
        finally:
            os.close(held)
    return removed


def _end_all(folder: Path) -> None:
    """End what the kernels of a folder left running."""
    for kernel in folder.iterdir():
        with suppress(OSError):
            owner = kernel.lstat().st_uid
            if owner not in (0, os.geteuid()):
                end_processes_of(owner)
    with suppress(OSError, ValueError):
        for line in (folder / SESSIONS).read_text(encoding="ascii").split():
            end_session(int(line))


def memory_of(uid: int | None, session: int) -> int:
    """Bytes of memory that a kernel and what it has started hold together; what several share is divided among them.

    Args:
        uid: the kernel's user id; None if it has none of its own.
        session: its session, by which its processes are told then.
    """
    total = 0
    for entry in _processes_of(uid, session):
        with suppress(OSError, IndexError, ValueError):  # it has just ended
            told = (entry / "smaps_rollup").read_text(encoding="ascii")
            total += 1024 * int(told.partition("\nPss:")[2].split(maxsplit=1)[0])
    return total


def disk_of(uid: int | None, session: int, folder: Path, enough: int) -> int:
    """Bytes on the disk of a kernel's files: those in its folder, and those that were removed and are still open.

    Args:
        uid: the kernel's user id; None if it has none of its own.
        session: its session, by which its processes are told then.
        folder: the folder that holds all that it may write to.
        enough: where this much is found, the rest is not looked at.
    """
    found: dict[int, int] = {}
    total = 0
    try:
        disk = folder.stat().st_dev
    except OSError:
        return 0

    def count(told: os.stat_result) -> None:
        nonlocal total
        if told.st_dev == disk and told.st_ino not in found:
            # A file without content takes a place in the folder's own table.
            found[told.st_ino] = max(512 * told.st_blocks, 1024)
            total += found[told.st_ino]

    folders = [os.fspath(folder)]
    while folders and total <= enough:
        with suppress(OSError), os.scandir(folders.pop()) as entries:
            for entry in entries:
                with suppress(OSError):
                    count(entry.stat(follow_symlinks=False))
                    if entry.is_dir(follow_symlinks=False):
                        folders.append(entry.path)
                if total > enough:
                    break
    for process in _processes_of(uid, session):
        with suppress(OSError):
            for opened in os.scandir(process / "fd"):
                with suppress(OSError):
                    told = os.stat(opened.path)
                    if stat.S_ISREG(told.st_mode) and told.st_nlink == 0:
                        count(told)
    return total


def _processes_of(uid: int | None, session: int) -> Iterator[Path]:
    """The folders in /proc of a kernel's processes."""
    for entry in Path("/proc").iterdir():
        with suppress(OSError, IndexError, ValueError):
            if entry.name.isdigit() and (
                entry.stat().st_uid == uid if uid is not None else _session(entry) == session
            ):
                yield entry


def end_processes_of(uid: int) -> None:
    """Kill whatever runs under a user id, until nothing does: a fork bomb is faster than one round."""
    _end(lambda entry: entry.stat().st_uid == uid)


def end_session(session: int) -> None:
    """Kill what runs in a kernel's session, until nothing does.

    A number may have been given to a process of somebody else's since; a kernel's are told by their seccomp filter.
    """
    _end(lambda entry: _session(entry) == session and "\nSeccomp:\t2\n" in (entry / "status").read_text())


def _session(entry: Path) -> int:
    return int((entry / "stat").read_text().rpartition(")")[2].split()[3])


def _end(wanted: Callable[[Path], bool]) -> None:
    if not sys.platform.startswith("linux"):
        return
    for _ in range(100):
        found = False
        for entry in Path("/proc").iterdir():
            try:
                if entry.name.isdigit() and int(entry.name) != os.getpid() and wanted(entry):
                    os.kill(int(entry.name), signal.SIGKILL)
                    state = (entry / "stat").read_text().rpartition(")")[2].split()[0]
                    found = found or state != "Z"
            except (OSError, IndexError, ValueError):
                continue
        if not found:
            return

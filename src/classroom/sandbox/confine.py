"""What the operating system enforces on a student's process, and what it does not on this machine.

On Linux: the file system by Landlock (through sandlock), the network and other processes' memory by a seccomp filter (through
libseccomp), time, memory, file size and processes by rlimits, and, for a grader that runs as root, another user id. Elsewhere
only what POSIX offers; `enforcement` says which.
"""

import os
import re
import secrets
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from classroom.errors import CourseError

try:
    import resource
except ImportError:  # Windows
    resource = None  # type: ignore[assignment]

__all__ = [
    "Limits",
    "another_user",
    "can_fork",
    "check_place",
    "confine",
    "enforcement",
    "free_uid",
    "missing",
    "readable_paths",
    "tell",
]


# prctl's first argument to change whether a process may be looked at.
PR_SET_DUMPABLE = 4


@dataclass(frozen=True)
class Limits:
    """What one notebook's kernel may use.

    Attributes:
        cpu_seconds: processor time.
        memory_bytes: memory that it may write to (the data segment and private maps).
        file_bytes: size of one file.
        disk_bytes: size of all files together.
        files: open files.
        processes: processes and threads of its user id.
    """

    cpu_seconds: int = 600
    memory_bytes: int = 4 * 2**30
    file_bytes: int = 64 * 2**20
    disk_bytes: int = 512 * 2**20
    files: int = 512
    processes: int = 256


def readable_paths() -> list[str]:
    """What a Python with NumPy and torch has to read: itself, its libraries, the system's."""
    wanted = [sys.prefix, sys.base_prefix, "/usr", "/lib", "/lib64", "/bin"]
    wanted += [
        f"/etc/{name}" for name in ("ld.so.cache", "localtime", "os-release", "fonts", "mime.types", "passwd")
    ]
    wanted += [
        "/proc/self",
        "/proc/cpuinfo",
        "/proc/meminfo",
        "/sys/devices/system/cpu",
        "/dev/urandom",
        "/dev/null",
    ]
    found = {os.path.realpath(path) for path in wanted if Path(path).exists()}
    # Where the course is installed among Python's packages, everything beside it; where it is a folder below one of these,
    # as in a container's /usr/src, everything beside that, and what of Python is inside.
    course = Path(__file__).resolve().parents[1]
    hidden = {course, course.parent / "refcells"}
    if (checkout := course.parents[1] / "nbgrader_config.py").exists():
        hidden.add(checkout.parent)
    return sorted(part for path in found for part in _around(Path(path), hidden))


def check_place(folder: Path) -> None:
    """Refuse a course that lies where a student's code may read.

    Args:
        folder: the course's, with its gradebook and submissions.

    Raises:
        CourseError: if it does.
    """
    if _landlock() is None:
        return  # nothing keeps a student's code from any file, which is said elsewhere
    place = folder.resolve()
    for readable in map(Path, readable_paths()):
        if readable in (place, *place.parents):
            raise CourseError(
                f"the course in {place} lies below {readable}, which a student's code may read to find Python and its "
                "libraries; move it to a folder of its own, such as one in your home"
            )


def _around(path: Path, hidden: set[Path]) -> list[str]:
    """A path, or, where something hidden lies below it, what is beside that."""
    if path in hidden:
        return []
    if not any(path in below.parents for below in hidden):
        return [str(path)]
    return [part for entry in sorted(path.iterdir()) for part in _around(entry, hidden)]


def can_fork() -> bool:
    """Whether kernels can be forked and confined here at all; on Windows they cannot."""
    return hasattr(os, "fork")


def another_user() -> bool:
    """Whether each student's kernel can have a user id of its own: the grader is root, and Python stays readable."""
    if not (sys.platform.startswith("linux") and os.geteuid() == 0):
        return False
    try:
        import pyprctl  # noqa: F401
    except (ImportError, OSError):
        return False
    # Landlock lets Python be read with a right that would open everything else without it.
    return _landlock() is not None or _open_to_all(sys.base_prefix, sys.prefix)


def enforcement() -> dict[str, bool]:
    """What is enforced on this machine for a student's kernel: by name, whether it is."""
    fork = can_fork()
    return {
        "tests in a process of their own": fork,
        "files": fork and _landlock() is not None,
        "network": fork and _seccomp() is not None,
        "processor time, memory, size of files": fork and resource is not None,
        # Whoever stays root is not bound in the number of processes.
        "number of processes": fork
        and sys.platform.startswith("linux")
        and (os.geteuid() != 0 or another_user()),
        "a user id of its own": another_user(),
        "memory and disk of all its processes together": fork
        and sys.platform.startswith("linux")
        and (not another_user() or _may_look()),
    }


_told = False


def missing() -> str:
    """What is not enforced on this machine, in a sentence; empty if everything is."""
    names = [name for name, enforced in enforcement().items() if not enforced]
    if not names:
        return ""
    return (
        f"what a student's code may do is not bound here in: {'; '.join(names)}. "
        "See 'python -m classroom.sandbox' and the instructor guide."
    )


def tell(say: Callable[[str], None]) -> None:
    """Say once a process what is not enforced here; nothing if everything is."""
    global _told
    if (sentence := missing()) and not _told:
        say(sentence)
    _told = True


def free_uid() -> int:
    """A user id that nobody uses: one each, so that students' kernels cannot signal or read one another.

    Graders that choose at the same moment do not see each other's choice, so it is one of all by chance.
    """
    first, most = 64_000, 4_000_000_000
    try:
        mapped = int(Path("/proc/self/uid_map").read_text().split()[2])
    except (OSError, ValueError, IndexError):
        mapped = 65_536
    if mapped <= 2**31:  # in a container that has few
        first, most = 20_000, min(mapped, 60_000)
    wanted = secrets.randbelow(most - first)
    for k in range(1000):
        uid = first + (wanted + k) % (most - first)
        if not any(_owner(entry) == uid for entry in Path("/proc").iterdir() if entry.name.isdigit()):
            return uid
    raise RuntimeError("no user id is free for a student's kernel")


def _owner(entry: Path) -> int | None:
    try:
        return entry.stat().st_uid
    except OSError:
        return None


def _may_look() -> bool:
    """Whether this process may see the memory and the open files of other users' processes: CAP_SYS_PTRACE."""
    found = re.search(r"^CapEff:\s*([0-9a-f]+)$", Path("/proc/self/status").read_text(), re.MULTILINE)
    return bool(found and int(found[1], 16) & 1 << 19)


def _landlock() -> Any:
    """sandlock, if the kernel has what it needs."""
    if not sys.platform.startswith("linux"):
        return None
    try:
        import sandlock
    except (ImportError, OSError):
        return None
    return sandlock if sandlock.landlock_abi_version() >= sandlock.min_landlock_abi() else None


def _seccomp() -> Any:
    """pyseccomp, if libseccomp is there."""
    if not sys.platform.startswith("linux"):
        return None
    try:
        import pyseccomp
    except (ImportError, OSError, RuntimeError):
        return None
    return pyseccomp


def confine(limits: Limits, readable: list[str], writable: list[str], uid: int | None) -> None:
    """Bind this process and whatever it starts, for good.

    Args:
        limits: what it may use.
        readable: folders that it may read, apart from Python's own.
        writable: folders that it may write to.
        uid: the user id to take on; None to keep the grader's.
    """
    assert resource is not None
    for kind, value in (
        (resource.RLIMIT_CPU, limits.cpu_seconds),
        (resource.RLIMIT_DATA, limits.memory_bytes),
        (resource.RLIMIT_FSIZE, limits.file_bytes),
        (resource.RLIMIT_NOFILE, limits.files),
        (resource.RLIMIT_CORE, 0),
    ):
        _lower(kind, value)
    # The number of processes and threads of a user id; it does not bind root.
    if uid is not None:
        _become(uid)
        _lower(resource.RLIMIT_NPROC, limits.processes)
    elif sys.platform.startswith("linux"):
        _lower(resource.RLIMIT_NPROC, limits.processes + _threads_of(os.getuid()))
    if (sandlock := _landlock()) is not None:
        sandlock.confine(
            sandlock.Sandbox(fs_readable=[*readable_paths(), *readable], fs_writable=[*writable, "/dev/null"])
        )
    if (seccomp := _seccomp()) is not None:
        # Whoever keeps the grader's user id is ended with its session, so it may not leave it.
        _filter(seccomp, () if uid is not None else ("setsid", "setpgid"))


def _lower(kind: int, value: int) -> None:
    """Set a limit, or leave the stricter one that the system has set."""
    _, most = resource.getrlimit(kind)
    if most != resource.RLIM_INFINITY:
        value = min(value, most)
    resource.setrlimit(kind, (value, value))


def _threads_of(uid: int) -> int:
    """How many threads a user runs already."""
    count = 0
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and _owner(entry) == uid:
            try:
                count += len(os.listdir(entry / "task"))
            except OSError:
                continue
    return count


def _become(uid: int) -> None:
    """Take on a user id.

    Where Python lies in a folder that others may not enter, such as root's home, the right to read whatever Landlock
    lets through is kept, and no other.
    """
    import pyprctl

    keep = _landlock() is not None and not _open_to_all(sys.base_prefix, sys.prefix)
    pyprctl.set_keepcaps(keep)
    os.setgroups([])
    os.setresgid(uid, uid, uid)
    os.setresuid(uid, uid, uid)
    rights = {pyprctl.Cap.DAC_READ_SEARCH} if keep else set()
    pyprctl.CapState(effective=rights, permitted=rights, inheritable=set()).set_current()


def _open_to_all(*paths: str) -> bool:
    """Whether every folder on the way to these paths may be entered by anybody."""
    return all(
        folder.stat().st_mode & 0o001 for path in paths for folder in (Path(path).resolve() / "x").parents
    )


def _filter(seccomp: Any, more: tuple[str, ...]) -> None:
    """No sockets but local ones, no memory of others' or of nobody's, no new privileges, no kernel keys or modules."""
    import socket

    refuse = seccomp.ERRNO(1)  # EPERM
    rules = seccomp.SyscallFilter(seccomp.ALLOW)
    rules.add_rule(refuse, "socket", seccomp.Arg(0, seccomp.NE, socket.AF_UNIX))
    # A datagram finds a service without a connection. Above the lowest four bits stand flags.
    for kind in (socket.SOCK_DGRAM, socket.SOCK_RAW, socket.SOCK_SEQPACKET):
        for name in ("socket", "socketpair"):
            rules.add_rule(refuse, name, seccomp.Arg(1, seccomp.MASKED_EQ, 0xF, kind))
    # A process that hides its memory and its open files from its own user could not be watched.
    rules.add_rule(refuse, "prctl", seccomp.Arg(0, seccomp.EQ, PR_SET_DUMPABLE))
    for name in (
        *more,
        "connect",  # a service of this machine's behind a Unix socket may take the grader's user id for a password
        "ptrace",
        "process_vm_readv",
        "process_vm_writev",
        "pidfd_getfd",
        "kcmp",
        # Memory that belongs to no process's map, and may outlive them all.
        "memfd_create",
        "memfd_secret",
        "shmget",
        "msgget",
        "semget",
        "mq_open",
        "perf_event_open",
        "bpf",
        "userfaultfd",
        "io_uring_setup",
        "mount",
        "umount2",
        "unshare",
        "setns",
        "keyctl",
        "add_key",
        "request_key",
        "kexec_load",
        "init_module",
        "finit_module",
        "chroot",
        "pivot_root",
        "swapon",
        "reboot",
    ):
        try:
            rules.add_rule(refuse, name)
        except (RuntimeError, OSError, ValueError):
            continue  # a call that this architecture does not have
    rules.load()

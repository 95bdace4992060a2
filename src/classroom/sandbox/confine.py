"""What the operating system enforces on a student's process, and what it does not on this machine.

On Linux: the file system by Landlock (through sandlock), the network and other processes' memory by a seccomp filter (through
libseccomp), time, memory, file size and processes by rlimits, and, for a grader that runs as root, another user id. Elsewhere
only what POSIX offers; `enforcement` says which.
"""

import os
import resource
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

__all__ = ["FIRST_UID", "Limits", "confine", "enforcement", "readable_paths"]

# User ids for students' processes, when the grader is root. One each, so that they cannot signal one another.
FIRST_UID = 64_000


@dataclass(frozen=True)
class Limits:
    """What one notebook's kernel may use.

    Attributes:
        cpu_seconds: processor time.
        memory_bytes: memory that it may write to (the data segment and private maps).
        file_bytes: size of one file.
        files: open files.
        processes: processes and threads of its user id.
    """

    cpu_seconds: int = 600
    memory_bytes: int = 4 * 2**30
    file_bytes: int = 64 * 2**20
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
    return sorted({os.path.realpath(path) for path in wanted if Path(path).exists()})


def enforcement() -> dict[str, bool]:
    """What is enforced on this machine for a student's kernel: by name, whether it is."""
    return {
        "files": _landlock() is not None,
        "network": _seccomp() is not None,
        "time, memory, file size": sys.platform != "win32",
        "processes": sys.platform.startswith("linux") and os.geteuid() == 0,
        "another user id": sys.platform.startswith("linux") and os.geteuid() == 0,
    }


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
    for kind, value in (
        (resource.RLIMIT_CPU, limits.cpu_seconds),
        (resource.RLIMIT_DATA, limits.memory_bytes),
        (resource.RLIMIT_FSIZE, limits.file_bytes),
        (resource.RLIMIT_NOFILE, limits.files),
        (resource.RLIMIT_CORE, 0),
    ):
        resource.setrlimit(kind, (value, value))
    if uid is not None:
        _become(uid)
        # Counts the processes of a user id, and does not bind root: only now does it mean anything.
        resource.setrlimit(resource.RLIMIT_NPROC, (limits.processes, limits.processes))
    if (sandlock := _landlock()) is not None:
        sandlock.confine(
            sandlock.Sandbox(fs_readable=[*readable_paths(), *readable], fs_writable=[*writable, "/dev/null"])
        )
    if (seccomp := _seccomp()) is not None:
        _filter(seccomp)


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


def _filter(seccomp: Any) -> None:
    """No sockets but local ones, no other process's memory, no new privileges, no kernel keys or modules."""
    import socket

    refuse = seccomp.ERRNO(1)  # EPERM
    rules = seccomp.SyscallFilter(seccomp.ALLOW)
    rules.add_rule(refuse, "socket", seccomp.Arg(0, seccomp.NE, socket.AF_UNIX))
    for name in (
        "ptrace",
        "process_vm_readv",
        "process_vm_writev",
        "pidfd_getfd",
        "kcmp",
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

"""What a forked kernel process does: become small, then be an ordinary IPython kernel.

This module is loaded in the server that kernels are forked from, so it imports nothing of the course.
"""

import atexit
import importlib.abc
import importlib.machinery
import os
import signal
import sys
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

from classroom.sandbox.leftovers import sweep

__all__ = ["PASSED", "main"]

# Of the grader's environment, which may hold passwords, a student's code sees this.
PASSED = ("PATH", "LANG", "LC_ALL", "OMP_NUM_THREADS", "MKL_NUM_THREADS", "PYTHONHASHSEED")


class _Refuser(importlib.abc.MetaPathFinder):
    """Says why a part of the course cannot be imported, instead of only not finding it."""

    def __init__(self, bundle: str) -> None:
        self.bundle = bundle

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        """The module from the bundle; an ImportError for one of the course's that is not there."""
        top = name.partition(".")[0]
        if top not in ("refcells", "classroom"):
            return None
        where = list(path) if path is not None else [self.bundle]
        spec = importlib.machinery.PathFinder.find_spec(name, where) if top == "refcells" else None
        if spec is None:
            raise ImportError(f"{name} is not available while a notebook is graded", name=name)
        return spec


def _clear_away(server: int) -> None:
    """When the server ends, because its grader was killed: end what students' code still runs, and remove its folders."""
    if os.getpid() == server:
        sweep()


atexit.register(_clear_away, os.getpid())


def _end_with(server: int) -> None:
    """End when the server ends, which ends with the grader: nobody would answer or clear away what is left.

    Only after the process is confined: what a student's code might run in this thread is confined as well.
    """
    try:
        import pyprctl
    except ImportError:
        pass
    else:
        # The kernel's own promise; taking on a user id before would have undone it.
        pyprctl.set_pdeathsig(signal.SIGKILL)

    def watch() -> None:
        while os.getppid() == server:
            time.sleep(1)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


def main(
    connection_file: str, folder: str, bundle: str, limits: Any, uid: int | None, preloaded: Sequence[str]
) -> None:
    """Confine this process and run a kernel in it.

    Args:
        connection_file: where the kernel finds its sockets and its key.
        folder: the kernel's own folder: its working directory and home.
        bundle: the folder of the permitted modules.
        limits: a `classroom.sandbox.confine.Limits`.
        uid: the user id to take on.
        preloaded: modules of the course that the server has loaded, to be forgotten.
    """
    from classroom.sandbox.confine import confine

    os.setsid()
    # The parent poller of ipykernel would take the server for a parent that went away.
    for name in list(os.environ):
        if name not in PASSED:
            del os.environ[name]
    os.environ.update(
        HOME=folder, TMPDIR=folder, MPLCONFIGDIR=folder, IPYTHONDIR=folder, JUPYTER_RUNTIME_DIR=folder
    )
    os.chdir(folder)
    os.umask(0o077)
    null = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(null, stream)
    os.closerange(3, 4096)
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGCHLD):
        signal.signal(number, signal.SIG_DFL if number != signal.SIGINT else signal.default_int_handler)
    server = os.getppid()
    confine(limits, readable=[bundle], writable=[folder, str(Path(connection_file).parent)], uid=uid)
    _end_with(server)
    root = str(Path(__file__).resolve().parents[2])
    sys.path[:] = [path for path in sys.path if path and os.path.realpath(path) != root]
    for name in [
        *preloaded,
        *(name for name in sys.modules if name.partition(".")[0] in ("refcells", "classroom")),
    ]:
        sys.modules.pop(name, None)
    sys.meta_path.insert(0, _Refuser(bundle))
    sys.argv = ["ipykernel"]

    from ipykernel import kernelapp

    class WithoutPipe(kernelapp.IOPubThread):
        """What subprocesses print would come in over a TCP socket, which is not allowed here."""

        def __init__(self, socket: Any, pipe: bool = False, **more: Any) -> None:
            super().__init__(socket, pipe=False, **more)

    kernelapp.IOPubThread = WithoutPipe  # type: ignore[assignment,misc]
    kernelapp.IPKernelApp.launch_instance(
        argv=[
            "-f",
            connection_file,
            "--HistoryManager.enabled=False",
            "--IPKernelApp.log_level=40",
            "--matplotlib=agg",
        ]
    )

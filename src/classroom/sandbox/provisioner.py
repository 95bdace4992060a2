"""Kernels forked from one warm server process, as a jupyter_client kernel provisioner.

The server is Python's own forkserver, which has loaded NumPy, torch and ipykernel once; a fork takes milliseconds where
loading them takes seconds.
"""

import asyncio
import functools
import multiprocessing
import multiprocessing.forkserver
import os
import shutil
import signal
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from queue import Empty
from typing import Any

from jupyter_client.asynchronous import AsyncKernelClient
from jupyter_client.connect import KernelConnectionInfo
from jupyter_client.kernelspec import KernelSpec, KernelSpecManager
from jupyter_client.manager import AsyncKernelManager
from jupyter_client.provisioning.local_provisioner import LocalProvisioner
from jupyter_client.utils import ensure_async

from classroom.sandbox.bundle import make_bundle
from classroom.sandbox.confine import Limits, another_user, free_uid
from classroom.sandbox.kernel import PASSED, main
from classroom.sandbox.leftovers import (
    disk_of,
    end_processes_of,
    end_session,
    folder_of_this_process,
    memory_of,
    note_session,
)

__all__ = ["PRELOAD", "TORCH", "ConfinedKernelManager", "ConfinedProvisioner", "have_torch_loaded"]

# What the server loads before it forks. Nothing of the course; `warm` names more, and comes last.
PRELOAD = [
    "numpy",
    "ipykernel.kernelapp",
    "ipykernel.ipkernel",
    "matplotlib_inline.backend_inline",
]

# What it loads besides where notebooks use torch, which takes it seconds. The first optimizer of a process makes torch load its
# compiler as well.
TORCH = ["torch", "torch.optim", "torch._dynamo"]

# Seconds between two looks at whether a kernel has come up or has ended.
GLANCE = 0.005

# Seconds between two looks at how much memory and disk it holds.
LOOK = 0.5

_lock = threading.Lock()
_torch = threading.Event()


def have_torch_loaded() -> None:
    """Kernels that start from now on find torch loaded: a server that runs without it is replaced, once."""
    with _lock:
        if _torch.is_set():
            return
        _torch.set()
        # Kernels end with their server, so one that has some stays; theirs load torch themselves.
        if not multiprocessing.active_children():
            # multiprocessing has no public way to end its server; where this one is gone, the old server goes on.
            stop = getattr(multiprocessing.forkserver._forkserver, "_stop", None)
            if stop is not None:
                stop()


@functools.cache
def _bundle(process: int) -> Path:
    """The permitted modules, once for all kernels of a process: they may read them and no more."""
    folder = folder_of_this_process() / "package"
    folder.mkdir()
    return make_bundle(folder)


@contextmanager
def _without_main() -> Iterator[None]:
    """Hide the main program, which multiprocessing would run again in each child: it is the grader."""
    module = sys.modules["__main__"]
    kept: dict[str, Any] = {
        name: module.__dict__.pop(name) for name in ("__file__", "__spec__") if name in module.__dict__
    }
    module.__spec__ = None
    try:
        yield
    finally:
        module.__dict__.update(kept)


@contextmanager
def _without_secrets() -> Iterator[None]:
    """Hide the environment, which the server inherits and every process shows in /proc/self/environ."""
    kept = dict(os.environ)
    for name in kept:
        if name not in PASSED and name != "PYTHONPATH":
            del os.environ[name]
    try:
        yield
    finally:
        os.environ.update(kept)


def _context() -> Any:
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(
        [*PRELOAD, *(TORCH if _torch.is_set() else ()), "classroom.sandbox.kernel", "classroom.sandbox.warm"]
    )
    return context


class _Forked:
    """A forked process with the part of Popen's interface that a provisioner uses."""

    stdin = stdout = stderr = None

    def __init__(self, process: Any) -> None:
        self._process = process
        self.pid = process.pid

    def poll(self) -> int | None:
        """The exit code, None while it runs."""
        return self._process.exitcode

    def wait(self) -> int | None:
        """Wait for the end; gives the exit code."""
        self._process.join()
        return self._process.exitcode

    def send_signal(self, number: int) -> None:
        """Send a signal, unless it has ended."""
        if self.poll() is None:
            os.kill(self.pid, number)

    def kill(self) -> None:
        """End it at once."""
        self.send_signal(signal.SIGKILL)

    terminate = kill


def _fork(arguments: tuple[Any, ...]) -> Any:
    """Start a kernel's process; once more where the server is gone, which multiprocessing notices only afterwards."""
    # multiprocessing's start is not made for several threads.
    with _lock, _without_main(), _without_secrets():
        for last in (False, True):
            process = _context().Process(target=main, args=arguments, daemon=True)
            try:
                process.start()
                return process
            except (OSError, EOFError):
                if last:
                    raise


class ConfinedProvisioner(LocalProvisioner):
    """Starts a confined kernel by forking the warm server, in a folder of its own that is removed afterwards."""

    limits = Limits()
    folder: Path | None = None
    # Whether the grader itself is about to end the kernel.
    ending = False
    # Set when the kernel has ended.
    _over: threading.Event | None = None

    async def launch_kernel(self, cmd: list[str], **kwargs: Any) -> KernelConnectionInfo:
        """Fork instead of running `cmd`; the connection file has been written by then."""
        manager = self.parent
        assert isinstance(manager, ConfinedKernelManager)
        folder, uid = manager.folder, manager.uid
        bundle = _bundle(os.getpid())
        work = folder / "work"
        work.mkdir()
        if uid is not None:
            for path in (folder, work, manager.sockets, Path(manager.connection_file)):
                os.chown(path, uid, uid)
        arguments = (manager.connection_file, str(work), str(bundle), self.limits, uid, ())
        process = _fork(arguments)
        self.process = _Forked(process)
        self.pid = process.pid
        if uid is None:
            note_session(folder, process.pid)
        self.pgid = None
        self._over = threading.Event()
        if sys.platform.startswith("linux"):
            threading.Thread(target=self._watch, args=(uid, folder), daemon=True).start()
        await self._come_up(manager)
        return self.connection_info

    def _watch(self, uid: int | None, folder: Path) -> None:
        """End a kernel that holds too much together with its children and what they share, which no limit of theirs counts."""
        assert self._over is not None
        limits = self.limits
        while not self._over.wait(LOOK):
            if (
                memory_of(uid, self.pid) > limits.memory_bytes
                or disk_of(uid, self.pid, folder, limits.disk_bytes) > limits.disk_bytes
            ):
                self.ending = True  # nobody else's doing
                if uid is not None:
                    end_processes_of(uid)
                else:
                    end_session(self.pid)
                    with suppress(ProcessLookupError, PermissionError):
                        os.killpg(self.pid, signal.SIGKILL)
                return

    async def _come_up(self, manager: "ConfinedKernelManager") -> None:
        """Wait until the kernel's sockets are there: a client that is too early tries again a tenth of a second later."""
        sockets = [Path(f"{manager.ip}-{port}") for port in (manager.shell_port, manager.iopub_port)]
        until = time.monotonic() + 60
        while not all(socket.exists() for socket in sockets):
            if await self.poll() is not None or time.monotonic() > until:
                return  # whoever waits for the kernel is told by jupyter_client
            await asyncio.sleep(GLANCE)

    async def poll(self) -> int | None:
        """The exit code, None while it runs; notes in the manager if somebody else than the grader killed it."""
        code: int | None = await super().poll()
        # multiprocessing gives 255 for a process whose server is gone, with which it ends.
        if (
            code in (-signal.SIGKILL, 255)
            and not self.ending
            and isinstance(self.parent, ConfinedKernelManager)
        ):
            self.parent.killed = True
        return code

    async def send_signal(self, signum: int) -> None:
        """Signal the kernel; to kill, its whole session."""
        if self.process is None:
            return
        if signum == signal.SIGKILL:
            await self.poll()
            self.ending = True
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(self.pid, signum)
        self.process.send_signal(signum)

    async def kill(self, restart: bool = False) -> None:
        """End the kernel and wait a moment for its end, which is near; the manager would look again much later."""
        await super().kill(restart=restart)
        until = time.monotonic() + 1
        while await self.poll() is None and time.monotonic() < until:
            await asyncio.sleep(GLANCE)

    async def cleanup(self, restart: bool = False) -> None:
        """End what is left of the user id's processes, and remove the folder."""
        manager = self.parent
        if self._over is not None:
            self._over.set()
        if isinstance(manager, ConfinedKernelManager) and not restart:
            if manager.uid is not None:
                end_processes_of(manager.uid)
            elif self.pid:
                with suppress(ProcessLookupError, PermissionError):
                    os.killpg(self.pid, signal.SIGKILL)
            shutil.rmtree(manager.folder, ignore_errors=True)


class _CourseSpecs(KernelSpecManager):
    """Whatever kernel a notebook asks for, it gets this one: students' notebooks name kernels of their own machines."""

    def get_kernel_spec(self, kernel_name: str) -> KernelSpec:
        """The one kernel specification."""
        return KernelSpec(
            argv=["python", "-m", "ipykernel_launcher", "-f", "{connection_file}"],
            display_name="Confined Python 3",
            language="python",
            metadata={"kernel_provisioner": {"provisioner_name": "confined"}},
        )


class _PromptClient(AsyncKernelClient):
    """A client that starts as soon as the kernel answers, does not listen for a while whether more comes, and has no heartbeat."""

    def start_channels(
        self,
        shell: bool = True,
        iopub: bool = True,
        stdin: bool = True,
        hb: bool = True,
        control: bool = True,
    ) -> None:
        """Open the channels except the heartbeat, a thread that would ask what the manager knows: whether the process lives.

        The manager closes all sockets while that thread still uses its own, which ZeroMQ forbids: now and then a process
        then waits for ever in the end of its context, or aborts.
        """
        super().start_channels(shell=shell, iopub=iopub, stdin=stdin, hb=False, control=control)

    async def wait_for_ready(self, timeout: float | None = None) -> None:
        """Wait until a request is answered on both channels.

        Raises:
            RuntimeError: if the kernel ends before, or does not answer in time.
        """
        until = time.monotonic() + (timeout if timeout is not None else float("inf"))
        while time.monotonic() < until:
            asked = self.kernel_info()
            try:
                reply = await ensure_async(self.shell_channel.get_msg(timeout=1))
                # Messages of an earlier request may come first; a subscription may be later than the first of all.
                while True:
                    told = await ensure_async(self.iopub_channel.get_msg(timeout=0.2))
                    ours = told["parent_header"].get("msg_id") == asked
                    if ours and told["content"].get("execution_state") == "idle":
                        break
            except Empty:
                if not await ensure_async(self.is_alive()):
                    raise RuntimeError("Kernel died before replying to kernel_info") from None
                continue
            self._handle_kernel_info_reply(reply)
            return
        raise RuntimeError(f"Kernel didn't respond in {timeout} seconds")


class ConfinedKernelManager(AsyncKernelManager):
    """Manages one confined kernel, over Unix sockets in a folder that belongs to it.

    Attributes:
        killed: whether the kernel was ended by SIGKILL, and not by the grader: by the system that is out of memory, by a
            person, by its own code.
    """

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.killed = False
        self.folder = Path(tempfile.mkdtemp(prefix="kernel-", dir=folder_of_this_process()))
        self.folder.chmod(0o700)
        self.uid = free_uid() if another_user() else None
        self.transport = "ipc"
        self.sockets = self.folder / "sockets"
        self.sockets.mkdir()
        self.ip = str(self.sockets / "s")
        self.connection_file = str(self.sockets / "connection.json")
        self.kernel_spec_manager = _CourseSpecs()
        self.client_factory = _PromptClient

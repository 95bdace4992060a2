"""A student's code within bounds: it may not run for ever, print without end, or close the notebook's streams.

The code runs in a thread of its own. That needs no signals, so it works inside a notebook's kernel and on every system;
and a function that sleeps for an hour can be left behind while the next question is graded.
"""

import contextlib
import contextvars
import io
import sys
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

__all__ = ["SECONDS", "OutOfBounds", "TimeUp", "limited", "quiet_streams"]

T = TypeVar("T")

# Seconds that a question's calls may take together. A right answer takes milliseconds; this leaves room for a slow,
# loaded machine. A question that trains something states its own.
SECONDS = 10.0

# Lines that one call may print.
LINES = 100_000

# A thread's stack may be as small as 512 kB, too small for a deep recursion to end in a RecursionError.
_STACK = 64 * 2**20


class OutOfBounds(Exception):
    """The code did what no answer may do: ran too long, printed too much, closed a stream, ended Python."""


class TimeUp(OutOfBounds):
    """The code was still running when its time was over."""


class _Stop(BaseException):
    """Raised inside a thread that is left behind, so that a loop ends; no `except Exception` stops it."""


class _Worker(threading.Thread):
    """One call in a thread of its own, with its deadline."""

    def __init__(self, call: Callable[[], Any], deadline: float) -> None:
        super().__init__(daemon=True)
        self.deadline = deadline
        self._call = call
        # NumPy's error state and the like, as the caller has set them.
        self._context = contextvars.copy_context()
        self.result: Any = None
        self.error: BaseException | None = None

    def run(self) -> None:
        try:
            self.result = self._context.run(self._call)
        except BaseException as error:  # handed on to the thread that waits
            self.error = error

    def abandon(self) -> None:
        """Ask the thread to end; one that sleeps does so when it wakes up."""
        import ctypes

        for _ in range(20):
            if not self.is_alive() or self.ident is None:
                return
            ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(self.ident), ctypes.py_object(_Stop))
            self.join(0.01)


def limited(call: Callable[[], T], seconds: float = SECONDS) -> T:
    """The result of `call()`, which may take so many seconds; what it raises is raised here.

    A call inside such a call gets its own seconds, and the outer one waits for it.

    Raises:
        TimeUp: if it takes longer; the call is asked to end and left behind.
        OutOfBounds: if it ends with something that is no ordinary exception, such as SystemExit.
    """
    now = time.monotonic()
    outer = threading.current_thread()
    if isinstance(outer, _Worker):
        outer.deadline = max(outer.deadline, now + 1.5 * seconds)
    worker = _Worker(call, now + seconds)
    try:
        size = threading.stack_size(_STACK)
    except (ValueError, RuntimeError):
        size = None
    try:
        worker.start()
    except RuntimeError:
        # No threads here, as in a browser: the call runs without a limit.
        return call()
    finally:
        if size is not None:
            threading.stack_size(size)
    while worker.is_alive() and (left := worker.deadline - time.monotonic()) > 0:
        worker.join(left)
    if worker.is_alive():
        worker.abandon()
        raise TimeUp(f"it was still running after {seconds:g} seconds")
    if isinstance(worker.error, Exception):
        raise worker.error
    if worker.error is not None:
        raise OutOfBounds(f"it stopped with {type(worker.error).__name__}")
    return worker.result


class _Sink(io.TextIOBase):
    """A stream that forgets what is written, counts its lines, and cannot be closed."""

    def __init__(self) -> None:
        self.lines = 0
        self.closed_by_student = False

    def write(self, text: str) -> int:
        self.lines += text.count("\n")
        if self.lines > LINES:
            raise OutOfBounds(f"it printed more than {LINES} lines; take the print calls out")
        return len(text)

    def writable(self) -> bool:
        return True

    def close(self) -> None:
        """Stay open, and remember that somebody asked."""
        self.closed_by_student = True


@contextlib.contextmanager
def quiet_streams() -> Iterator[None]:
    """Keep what a student's function prints out of the test cell, where text on stderr would cost the points.

    Raises:
        OutOfBounds: if it prints more than `LINES` lines, even if it goes on after that, or closes one of the streams.
    """
    out, err = _Sink(), _Sink()
    # Not contextlib.redirect_stdout: the streams have to be put back whatever the function leaves in their place.
    before = sys.stdout, sys.stderr
    sys.stdout, sys.stderr = out, err
    try:
        yield
    finally:
        sys.stdout, sys.stderr = before
    if out.lines > LINES or err.lines > LINES:
        raise OutOfBounds(f"it printed more than {LINES} lines; take the print calls out")
    if out.closed_by_student or err.closed_by_student:
        raise OutOfBounds("it closes sys.stdout or sys.stderr, which the whole notebook writes to")

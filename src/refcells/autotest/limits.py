"""A student's code within bounds: it may not run for ever, print without end, or close the notebook's streams.

The code runs in a thread of its own. That needs no signals, so it works inside a notebook's kernel and on every system;
and a function that sleeps for an hour can be left behind while the next question is graded.

What is bound is processor time, so that a right answer is right on a machine that is busy with other work. By the clock a call
may take `PATIENCE` times as long: one that sleeps uses no processor time at all. Seconds in which the whole machine stood still,
as a virtual one does while it is moved, do not count.
"""

import contextlib
import contextvars
import io
import sys
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

__all__ = [
    "LOOK",
    "PATIENCE",
    "SECONDS",
    "Allowance",
    "OutOfBounds",
    "TimeUp",
    "Wait",
    "limited",
    "quiet_streams",
]

T = TypeVar("T")

# Seconds of processor time that a question's calls may take together. A right answer takes milliseconds; this leaves room
# for a slow machine. A question that trains something states its own.
SECONDS = 10.0

# How many times as long they may take by the clock.
PATIENCE = 4.0

# Seconds after which whoever waits looks at the clock again; more than twice as long, and it was not the call that took them.
LOOK = 1.0

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


class Wait:
    """Waiting for so many seconds by the clock, without those in which this process itself stood still.

    Whoever waits calls `look` at least every `LOOK` seconds.

    Args:
        seconds: how many.

    Attributes:
        waited: how many had passed at the last look.
    """

    def __init__(self, seconds: float) -> None:
        self.seconds, self.waited = seconds, 0.0
        self._looked = time.monotonic()

    def look(self) -> float:
        """Seconds that are left; none if the time is over."""
        now = time.monotonic()
        self.waited += min(now - self._looked, 2 * LOOK)
        self._looked = now
        return max(self.seconds - self.waited, 0.0)


class Allowance:
    """The time of several calls together.

    Args:
        seconds: of processor time, and `PATIENCE` times as long by the clock. Where a thread's processor time cannot be told
            from outside, as on Windows and macOS, the seconds are the clock's.

    Attributes:
        used: seconds of processor time so far.
        waited: seconds by the clock so far.
    """

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self.by_clock = seconds * (PATIENCE if _TOLD else 1)
        self.used = self.waited = 0.0

    @property
    def over(self) -> bool:
        """Whether nothing is left."""
        return self.used > self.seconds or self.waited > self.by_clock


# Whether a thread's processor time can be told by another thread.
_TOLD = hasattr(time, "pthread_getcpuclockid")


class _Worker(threading.Thread):
    """One call in a thread of its own, with the seconds of processor time and the seconds by the clock that it may use."""

    def __init__(self, call: Callable[[], Any], seconds: float, by_clock: float) -> None:
        super().__init__(daemon=True)
        self.seconds, self.clock = seconds, Wait(by_clock)
        self._call = call
        self._clock_id: int | None = None
        self._used = 0.0
        # NumPy's error state and the like, as the caller has set them.
        self._context = contextvars.copy_context()
        self.result: Any = None
        self.error: BaseException | None = None

    @property
    def used(self) -> float:
        """Seconds of processor time so far; 0 where that cannot be told."""
        clock_id = self._clock_id  # read once: a thread that ends takes it away
        if clock_id is not None:
            with contextlib.suppress(OSError):  # the thread has just ended
                self._used = time.clock_gettime(clock_id)
        return self._used

    @property
    def left(self) -> float:
        """Seconds after which it is worth looking again; none if the time is over."""
        by_clock, by_use = self.clock.look(), self.seconds - self.used
        return min(by_clock, max(by_use, 0.01), LOOK) if by_clock > 0 and by_use > 0 else 0.0

    def run(self) -> None:
        if _TOLD:
            self._clock_id = time.pthread_getcpuclockid(threading.get_ident())
        try:
            self.result = self._context.run(self._call)
        except BaseException as error:  # handed on to the thread that waits
            self.error = error
        finally:
            self._used, self._clock_id = self.used, None

    def abandon(self) -> None:
        """Ask the thread to end; one that sleeps does so when it wakes up."""
        import ctypes

        for _ in range(20):
            if not self.is_alive() or self.ident is None:
                return
            ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(self.ident), ctypes.py_object(_Stop))
            self.join(0.01)


def limited(call: Callable[[], T], time_for_it: float | Allowance = SECONDS) -> T:
    """The result of `call()`, which may take so many seconds; what it raises is raised here.

    A call inside such a call gets its own seconds, and the outer one waits for it.

    Args:
        call: what to do.
        time_for_it: seconds of processor time, or what several calls have together.

    Raises:
        TimeUp: if it takes longer; the call is asked to end and left behind.
        OutOfBounds: if it ends with something that is no ordinary exception, such as SystemExit.
    """
    allowance = time_for_it if isinstance(time_for_it, Allowance) else Allowance(time_for_it)
    seconds = max(allowance.seconds - allowance.used, 0.1)
    worker = _Worker(call, seconds, max(allowance.by_clock - allowance.waited, 0.1))
    outer = threading.current_thread()
    if isinstance(outer, _Worker):
        enough = outer.clock.waited + worker.clock.seconds + 0.5 * seconds
        outer.clock.seconds = max(outer.clock.seconds, enough)
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
    while worker.is_alive() and (left := worker.left) > 0:
        worker.join(left)
    worker.clock.look()
    allowance.used += worker.used
    allowance.waited += worker.clock.waited
    if worker.is_alive():
        worker.abandon()
        raise TimeUp(f"it was still running after {allowance.seconds:g} seconds")
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

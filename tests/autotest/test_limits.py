"""Functions that run for ever, print without end, or return things with an opinion: 0, a message, and on it goes."""

import contextlib
import dataclasses
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

from refcells import scalar, vector
from refcells.autotest import WrongAnswer, check, judge, limits, scalar_questions

QUESTION = "scalar.lstm_update"


@pytest.fixture
def half_a_second(monkeypatch):
    """Let the functions of the one-unit questions have half a second."""
    for name, question in list(scalar_questions.QUESTIONS.items()):
        monkeypatch.setitem(scalar_questions.QUESTIONS, name, dataclasses.replace(question, seconds=0.5))


def right(i, f, g, o, c_prev):
    return scalar.lstm_update(i, f, g, o, c_prev)


def sleeps(*arguments):
    time.sleep(3)


def loops(*arguments):
    while True:
        pass


def loops_and_swallows(*arguments):
    while True:
        with contextlib.suppress(Exception):
            time.sleep(0.001)


def prints_for_ever(*arguments):
    while True:
        print("again")


def prints_a_million_lines(*arguments):
    print("a line\n" * 1_000_000)
    return right(*arguments)


def prints_and_swallows(*arguments):
    for _ in range(150_000):
        with contextlib.suppress(Exception):
            print("a line")
    return right(*arguments)


def recurses(*arguments):
    return recurses(*arguments)


def recurses_in_two(*arguments):
    return sorted([2, 1], key=lambda _: recurses_in_two(*arguments))


def closes(*arguments):
    sys.stdout.close()
    return right(*arguments)


def interrupts(*arguments):
    raise KeyboardInterrupt


def returns_itself(*arguments):
    return returns_itself


class EqualsAll:
    def __eq__(self, other):
        return True

    def __abs__(self):
        return 0.0

    def __sub__(self, other):
        return 0.0

    __rsub__ = __sub__
    __hash__ = None


class EqualFloat(float):
    def __eq__(self, other):
        return True

    def __sub__(self, other):
        return 0.0

    __rsub__ = __sub__
    __hash__ = None


class EqualArray(np.ndarray):
    def __eq__(self, other):
        return True

    def __sub__(self, other):
        return np.zeros(())

    __hash__ = None


class Explodes:
    dtype, shape = "float64", ()

    def tolist(self):
        raise RuntimeError("boo")


class Unprintable(Exception):
    def __str__(self):
        raise RuntimeError


def raises_the_unprintable(*arguments):
    raise Unprintable


HOLDS_ITSELF = []
HOLDS_ITSELF.append(HOLDS_ITSELF)

BAD = [
    (prints_for_ever, "it printed more than 100000 lines"),
    (prints_a_million_lines, "it printed more than 100000 lines"),
    (prints_and_swallows, "it printed more than 100000 lines"),
    (recurses, "it calls itself without end"),
    (recurses_in_two, "it calls itself without end"),
    (closes, "it closes sys.stdout or sys.stderr"),
    (interrupts, "it stopped with KeyboardInterrupt"),
    (returns_itself, "a function was returned; expected 2 results"),
    (raises_the_unprintable, "it stopped with Unprintable"),
    (lambda *a: EqualsAll(), "an EqualsAll was returned"),
    (lambda *a: (EqualsAll(), EqualsAll()), "expected numbers"),
    (lambda *a: (EqualFloat(0.3), EqualFloat(0.3)), "differs"),
    (lambda *a: (np.full((), 0.3).view(EqualArray), 0.3), "differs"),
    (lambda *a: (Explodes(), 0.3), "its result cannot be read (RuntimeError"),
    (lambda *a: (HOLDS_ITSELF, 0.3), "its result cannot be read (RecursionError"),
    (lambda *a: (float("inf"), 0.3), "hidden state h is infinite"),
    (lambda *a: (0.3, float("nan")), "hidden state h differs"),
    (lambda *a: iter((0.3, 0.3)), "was returned; expected 2 results"),
    (lambda *a: np.array([0.3, 0.3]), "an array of shape (2,) was returned; expected 2 results"),
    (lambda *a: {"h": 0.3}, "a dict was returned; expected 2 results"),
]


@pytest.mark.parametrize(("work", "says"), BAD, ids=[f"{k} {says[:30]}" for k, (_, says) in enumerate(BAD)])
def test_bad_functions_fail_with_a_message_and_the_next_is_graded(work, says, capsys):
    verdict = judge(QUESTION, work)
    assert not verdict.passed
    assert says in verdict.message
    assert len(verdict.message.splitlines()) < 10
    assert judge(QUESTION, right).passed
    print("still here")
    captured = capsys.readouterr()
    assert captured.out == "still here\n"
    assert captured.err == ""


@pytest.mark.parametrize("work", [sleeps, loops, loops_and_swallows])
@pytest.mark.usefixtures("half_a_second")
def test_what_does_not_end_fails_and_the_next_is_graded(work):
    before = threading.active_count()
    started = time.monotonic()
    verdict = judge(QUESTION, work)
    assert time.monotonic() - started < 2.9  # the sleeper is left behind
    assert verdict.message == "lstm_update: with an empty cell state, it was still running after 0.5 seconds"
    assert judge(QUESTION, right).passed
    # A loop is ended, not left to run; what sleeps ends when it wakes up.
    until = time.monotonic() + 10
    while threading.active_count() > before and time.monotonic() < until:
        time.sleep(0.05)
    assert threading.active_count() == before


def test_nan_and_infinity_are_named_where_they_are():
    def spoiled(value):
        def step(*arguments):
            h, c = vector.lstm_step(*arguments)
            c[0, 1] = value
            return h, c

        return judge("vector.lstm_step", step).message

    assert "cell state c is NaN" in spoiled(np.nan)
    assert "cell state c is infinite" in spoiled(np.inf)
    assert "got -inf at batch 0, hidden 1" in spoiled(-np.inf)


def test_streams_are_put_back_whatever_is_left_in_their_place(capsys):
    def takes_the_streams(*arguments):
        sys.stdout = sys.stderr = None
        return right(*arguments)

    assert judge(QUESTION, takes_the_streams).passed
    print("out")
    assert capsys.readouterr().out == "out\n"


def test_directives_without_judge_are_limited_too(monkeypatch):
    monkeypatch.setattr(limits, "SECONDS", 0.5)
    monkeypatch.setattr(limits.limited, "__defaults__", (0.5,))
    with pytest.raises(WrongAnswer, match=r"a count: it was still running after 0\.5 seconds"):
        check(lambda: sleeps(), "int 3", "a count")
    with pytest.raises(WrongAnswer, match="a count: it printed more than"):
        check(lambda: prints_for_ever(), "int 3", "a count")


def test_a_call_inside_a_call_gets_its_own_time():
    def slow():
        return limits.limited(lambda: time.sleep(1.2) or "done", 10.0)

    assert limits.limited(slow, 0.2) == "done"
    with pytest.raises(limits.TimeUp, match=r"after 0\.2 seconds"):
        limits.limited(lambda: limits.limited(lambda: time.sleep(1), 0.2), 5.0)


def works(seconds, rest=0.0):
    """Use so much processor time, and rest in between for so long, as on a machine that has other work."""
    for _ in range(5):
        until = time.thread_time() + seconds / 5
        while time.thread_time() < until:
            pass
        time.sleep(rest / 5)
    return "done"


with_clocks = pytest.mark.skipif(
    not hasattr(time, "pthread_getcpuclockid"), reason="threads have no clock of their own here"
)


@with_clocks
def test_a_busy_machine_costs_no_points(monkeypatch):
    """The time is the processor's: what takes twice as long by the clock because others work too is not too slow."""
    monkeypatch.setattr(limits, "PATIENCE", 20)  # this one may be busy itself
    began = time.monotonic()
    assert limits.limited(lambda: works(0.2, rest=0.6), 0.5) == "done"
    assert time.monotonic() - began > 0.5
    with pytest.raises(limits.TimeUp, match=r"after 0\.2 seconds"):
        limits.limited(lambda: works(1.0), 0.2)


@with_clocks
def test_calls_share_their_time(monkeypatch):
    monkeypatch.setattr(limits, "PATIENCE", 20)
    together = limits.Allowance(0.5)
    assert limits.limited(lambda: works(0.3), together) == "done"
    assert 0.3 <= together.used < 0.45
    assert not together.over
    with pytest.raises(limits.TimeUp, match=r"after 0\.5 seconds"):
        limits.limited(lambda: works(0.4), together)
    assert together.over


def test_a_call_that_ends_while_somebody_looks_at_its_time_costs_nothing(monkeypatch):
    """A thread takes its clock away when it ends, at any moment of another thread's look."""

    class Ends(limits._Worker):
        @property
        def _clock_id(self):
            clock, self.clocks = self.clocks[0], self.clocks[1:] or [None]
            return clock

        @_clock_id.setter
        def _clock_id(self, clock):
            self.clocks = [clock, None]

    monkeypatch.setattr(limits, "_Worker", Ends)
    assert limits.limited(lambda: time.sleep(0.1) or "done", 1.0) == "done"


STANDS_STILL = """
import sys, time
from refcells.autotest import limits
limits.PATIENCE = 6.0
def naps():
    for _ in range(10):
        time.sleep(0.15)
    return "done"
print("begins", flush=True)
print(limits.limited(naps, 1.0))
"""


@pytest.mark.skipif(not hasattr(signal, "SIGSTOP"), reason="nothing can be stopped here")
def test_a_machine_that_stands_still_costs_no_points():
    """A virtual machine that is moved, or a process that is stopped: its clock goes on, its work does not."""
    with subprocess.Popen([sys.executable, "-c", STANDS_STILL], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout.readline() == "begins\n"
        time.sleep(0.3)
        process.send_signal(signal.SIGSTOP)
        time.sleep(7)
        process.send_signal(signal.SIGCONT)
        assert process.stdout.read() == "done\n"


def test_without_threads_the_call_still_runs(monkeypatch):
    def no_threads(self):
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", no_threads)
    assert limits.limited(lambda: 3, 1.0) == 3
    assert judge(QUESTION, right).passed


KERNEL = """
import dataclasses, sys, time
from refcells import scalar
from refcells.autotest import judge, check, scalar_questions
for name, question in list(scalar_questions.QUESTIONS.items()):
    scalar_questions.QUESTIONS[name] = dataclasses.replace(question, seconds=1.0)
def sleeps(*a): time.sleep(600)
def swallows(*a):
    while True:
        try:
            time.sleep(0.001)
        except Exception:
            pass
def prints(*a):
    while True: print("again", file=sys.stderr)
def closes(*a):
    sys.stdout.close(); sys.stderr.close()
def recurses(*a): return recurses(*a)
"""


def test_inside_a_notebooks_kernel():
    """A sleeping, a looping, a printing, a closing and a recursing function cost their own cell and no other."""
    nbclient = pytest.importorskip("nbclient")
    import nbformat

    def cell(name):
        return nbformat.v4.new_code_cell(
            f'check(lambda: judge("scalar.lstm_update", {name}), """passed""", "the comparison")'
        )

    bad = ["sleeps", "swallows", "prints", "closes", "recurses"]
    cells = [nbformat.v4.new_code_cell(KERNEL)]
    for name in bad:
        cells += [cell(name), cell("scalar.lstm_update")]
    notebook = nbformat.v4.new_notebook(
        cells=[*cells, nbformat.v4.new_code_cell('print("to the end")')],
        metadata={"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}},
    )
    nbclient.NotebookClient(notebook, timeout=60, allow_errors=True).execute()
    assert notebook.cells[-1].outputs[0].text == "to the end\n"
    for name, wrong, good in zip(bad, notebook.cells[1:-1:2], notebook.cells[2:-1:2], strict=True):
        assert [output.output_type for output in wrong.outputs] == ["error"], name
        assert wrong.outputs[0].ename == "WrongAnswer", name
        assert len(wrong.outputs[0].evalue.splitlines()) < 10
        assert good.outputs == [], name

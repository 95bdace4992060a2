"""What runs in the page's own Python: a reader's cells, then the cell that tests them. It needs nothing but refcells."""

import builtins
import functools
import io
import json
import linecache
import sys
import traceback
import types

# Characters of output that are kept; the rest would only fill the page.
LONGEST = 20_000


class _Output(io.StringIO):
    """A stream that keeps the beginning of what is written."""

    cut = False

    def write(self, text: str) -> int:
        room = max(0, LONGEST - self.tell())
        if not self.cut:
            super().write(text[:room])
            if len(text) > room:
                self.cut = True
                super().write("\n(more was printed)")
        return len(text)


class _Heard:
    """A stream that hands on to another whatever is done with it, and notes down what is written.

    It is no io.TextIOBase, which closes itself, and so the other, when nobody holds it any more.
    """

    def __init__(self, stream, out: _Output) -> None:
        self._stream, self._out = stream, out

    def __getattr__(self, name: str):
        return getattr(self._stream, name)

    def write(self, text: str) -> int:
        written = self._stream.write(text)
        self._out.write(text)
        return written

    def writelines(self, lines) -> None:
        for line in lines:
            self.write(line)

    def __enter__(self):
        return self

    def __exit__(self, *error) -> None:
        self._stream.close()


def _heard(work: types.FunctionType, out: _Output) -> types.FunctionType:
    """A function as the test calls it: the test keeps prints away, and here they are noted down before."""

    @functools.wraps(work)
    def call(*arguments, **named):
        before = sys.stdout, sys.stderr
        mine = _Heard(sys.stdout, out), _Heard(sys.stderr, out)
        sys.stdout, sys.stderr = mine
        try:
            return work(*arguments, **named)
        finally:
            # What the function itself has put there stays, as it would without this.
            sys.stdout = before[0] if sys.stdout is mine[0] else sys.stdout
            sys.stderr = before[1] if sys.stderr is mine[1] else sys.stderr

    return call


def check(cells: str, test: str) -> str:
    """Run the cells in one fresh namespace, then the test.

    Args:
        cells: JSON, a list of [title, code]; the last is the one that is tested, the others are what it may call.
        test: code of the test cell, which raises what it finds wrong.

    Returns:
        JSON: "passed", whether the test was silent; "message", what it said; "printed", what the last cell wrote when it
        ran and each time that the test called its function.
    """
    given = json.loads(cells)
    namespace = {"__name__": "__main__", "__builtins__": builtins}
    exec("import math", namespace)
    out = _Output()
    passed, message = False, ""
    before = sys.stdout, sys.stderr
    for number, (title, code) in enumerate(given):
        last = number == len(given) - 1
        try:
            sys.stdout = sys.stderr = out if last else _Output()
            exec(_compiled(code, f"<{title}>"), namespace)
        except BaseException as error:
            sys.stdout, sys.stderr = before
            where = "" if last else f"This exercise runs your code of '{title}' first, and that stops. "
            return _answer(False, where + _stopped(error, f"<{title}>"), out)
        finally:
            sys.stdout, sys.stderr = before
    if title not in namespace:
        return _answer(False, f"no {title} is in this cell; keep the function's name as it was given", out)
    # In the test's names alone: a function that calls itself calls itself, and not what stands in for it.
    tested, work = dict(namespace), namespace[title]
    if isinstance(work, types.FunctionType):
        tested[title] = _heard(work, out)
    try:
        exec(_compiled(test, "<test>"), tested)
        passed = True
    except BaseException as error:
        message = str(error) if type(error).__name__ == "WrongAnswer" else _stopped(error, "<test>")
    return _answer(passed, message, out)


def _answer(passed: bool, message: str, out: _Output) -> str:
    return json.dumps({"passed": passed, "message": message, "printed": out.getvalue()})


def _compiled(code: str, name: str):
    """Code under a name of its own, whose lines a traceback can show."""
    linecache.cache[name] = (len(code), None, code.splitlines(keepends=True), name)
    return compile(code, name, "exec")


def _stopped(error: BaseException, name: str) -> str:
    """An exception in a sentence, with the reader's own line."""
    text = " ".join(str(error).split())
    if isinstance(error, SyntaxError):
        line = (error.text or "").strip()
        return f"line {error.lineno} cannot be read: {error.msg}" + (f"\n  {line}" if line else "")
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if frame.filename == name]
    at = f"\n  in line {frames[-1].lineno}: {frames[-1].line}" if frames else ""
    return f"it stopped with {type(error).__name__}{f': {text}' if text else ''}{at}"

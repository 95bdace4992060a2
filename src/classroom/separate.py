"""Grading with the tests outside the student's process: a preprocessor in the place of nbgrader's Execute.

The student's cells run in the student's kernel, which is confined and holds no answers (`classroom.sandbox`). The locked
cells that only import, and every test cell, run here, in the grader's process, which has the reference cells. A name
that a test cell uses and that the course's own cells do not define stands for the student's function: calling it asks the
student's kernel through the Jupyter protocol, many inputs in one message, and only data comes back.

What counts as the course's own cell is what the gradebook holds under its grade id, whatever a submission says of itself.
"""

import ast
import asyncio
import builtins
import contextlib
import copy
import functools
import io
import time
import traceback
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import CodeType
from typing import Any

import nbformat
from jupyter_client.client import KernelClient
from jupyter_client.utils import ensure_async, run_sync
from nbclient.exceptions import CellTimeoutError, DeadKernelError
from nbformat import NotebookNode
from nbformat.v4 import new_output
from nbgrader import utils
from nbgrader.api import Gradebook
from nbgrader.preprocessors import Execute
from traitlets import Float, Integer

from classroom.feedback import FINDING, hidden_lines
from classroom.grading.log import step
from classroom.sandbox import Limits, confine
from refcells.autotest import wire
from refcells.autotest.calls import Answer, WrongAnswer
from refcells.autotest.forbidden import FORBIDDEN, Cell, forbidden_in, refused
from refcells.autotest.limits import LOOK, PATIENCE, SECONDS, OutOfBounds, Wait, limited
from refcells.autotest.student import MIME

__all__ = ["KernelGone", "SeparateExecute", "StudentFunction", "free_names"]

# The name that a test cell's code has in a traceback.
TEST = "<test>"

# Seconds after which a notebook is not begun once more because its kernel was killed.
LONG = 300.0

# Seconds for which the machine may stand still in the middle of a cell before the notebook is begun once more.
STILL = 10.0

# Seconds beyond a question's own that a message may take on a busy machine.
MARGIN = 20.0


class KernelGone(OutOfBounds):
    """The student's kernel gives no answer any more; the message says why."""


@functools.lru_cache(maxsize=1000)  # a class has the same test cells
def free_names(source: str) -> frozenset[str]:
    """The names that a cell reads and does not define itself, builtins left out.

    Raises:
        SyntaxError: if the cell is no Python.
    """
    tree = ast.parse(source)
    read = {
        node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)
    }
    made = {
        node.id
        for node in ast.walk(tree)
        if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Import | ast.ImportFrom):
            made |= {(alias.asname or alias.name).partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.FunctionDef | ast.ClassDef):
            made.add(node.name)
        elif isinstance(node, ast.arg):
            made.add(node.arg)
    return frozenset(name for name in read - made if not hasattr(builtins, name))


class StudentFunction:
    """A function or class of the student's notebook, which is called there.

    Attributes:
        name: its name in the notebook.
    """

    def __init__(self, name: str, link: "_Link") -> None:
        self.name = name
        self._link = link

    def __repr__(self) -> str:
        return f"<the student's {self.name}>"

    def __call__(self, *arguments: Any, **keywords: Any) -> Any:
        """Call it once with plain numbers and arrays; what it raises there is a WrongAnswer here."""
        request = {"do": "apply", "name": self.name, "arguments": arguments, "keywords": keywords}
        answer = _answer(self._link.ask(request, SECONDS))
        if answer.problem:
            raise WrongAnswer(f"{self.name}: {answer.problem}")
        return answer.results

    def answers_elsewhere(
        self, probe: Any, cases: Sequence[tuple[Any, ...]], quiet: bool, seconds: float
    ) -> Iterator[Answer]:
        """What `refcells.autotest.calls.answers` gives, from the student's kernel: all cases in one message."""
        name = f"{probe.__module__.rpartition('.')[2]}:{probe.__name__}" if probe else None
        request = {
            "do": "call",
            "name": self.name,
            "probe": name,
            "cases": cases,
            "quiet": quiet,
            "seconds": seconds,
            "forbidden": self._link.forbidden,
        }
        try:
            told = self._link.ask(request, seconds)
        except KernelGone as gone:
            return iter([Answer(problem=str(gone))] * len(cases))
        if not isinstance(told, list) or len(told) > len(cases):
            return iter([Answer(problem="no answer came that can be read")])
        return map(_answer, told)


def _answer(told: Any) -> Answer:
    """An answer from what was sent, believing nothing of it but its data."""
    if not isinstance(told, dict):
        return Answer(problem="no answer came that can be read")

    def text(key: str) -> str | None:
        value = told.get(key)
        return value[:2000] if isinstance(value, str) else None

    arguments = told.get("arguments")
    return Answer(
        results=told.get("results"),
        arguments=arguments if isinstance(arguments, tuple) else (),
        problem=text("problem") or text("broken"),
        reason=text("reason"),
    )


class _Link:
    """The way from a test cell, in a thread of its own, to the student's kernel.

    Attributes:
        forbidden: the exercise, if it forbids something.
    """

    def __init__(
        self, execute: "SeparateExecute", loop: asyncio.AbstractEventLoop, forbidden: str | None
    ) -> None:
        self._execute, self._loop, self.forbidden = execute, loop, forbidden

    def ask(self, request: dict[str, Any], seconds: float) -> Any:
        """Send a request, wait for the reply.

        Raises:
            KernelGone: if none comes in time, or the kernel has ended.
        """
        most = PATIENCE * seconds + MARGIN
        future = asyncio.run_coroutine_threadsafe(
            self._execute.exchange(wire.dumps(request), most), self._loop
        )
        # The thread that a test runs in has its own time, which a call inside it makes longer.
        text = limited(future.result, most + MARGIN)
        try:
            return wire.loads(text)
        except wire.Unspeakable as error:
            return {"problem": f"no answer came that can be read: {error}"}


@dataclass(frozen=True)
class _Locked:
    """A code cell of the course's own: its source, and whether it is a test."""

    source: str
    test: bool


def _from_gradebook(db_url: str, notebook: str, assignment: str, **_: Any) -> dict[str, _Locked]:
    """The course's own code cells of a notebook by grade id, as they were when the release was generated."""
    with Gradebook(db_url) as gradebook:
        found = gradebook.find_notebook(notebook, assignment)
        graded = {cell.name for cell in found.grade_cells}
        return {
            cell.name: _Locked(cell.source, cell.name in graded)
            for cell in found.source_cells
            if cell.locked and cell.cell_type == "code"
        }


def _from_notebook(nb: NotebookNode) -> dict[str, _Locked]:
    """The same from a notebook whose metadata somebody vouches for."""
    return {
        _grade_id(cell): _Locked(cell.source, utils.is_grade(cell))
        for cell in nb.cells
        if cell.cell_type == "code" and utils.is_locked(cell) and _grade_id(cell)
    }


@functools.lru_cache(maxsize=1000)
def _exercise(source: str) -> str | None:
    """The exercise that a test cell judges, if it forbids something."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "judge":
            name = node.args[0] if node.args else None
            if isinstance(name, ast.Constant) and (found := forbidden_in(str(name.value))):
                return found
    return None


def _hidden(source: str, error: BaseException) -> bool:
    """Whether a hidden test raised the error."""
    lines = hidden_lines(source)
    frames = traceback.walk_tb(error.__traceback__)
    return any(frame.f_code.co_filename == TEST and line in lines for frame, line in frames)


def _grade_id(cell: NotebookNode) -> str:
    return str(cell.metadata.get("nbgrader", {}).get("grade_id") or "")


def _error(name: str, text: str) -> NotebookNode:
    return new_output("error", ename=name, evalue=text, traceback=[text])


class SeparateExecute(Execute):
    """Executes a submission: the student's cells in their kernel, the tests here."""

    most_output = Integer(200_000, help="Characters of output that are kept of one cell.").tag(config=True)
    tries = Integer(
        3, help="Kernels that a notebook gets if they are killed from outside, or do not start."
    ).tag(config=True)
    # nbclient's own 4 seconds are short for 50 MB on a busy machine.
    iopub_timeout = Integer(30, help="Seconds that a cell's output may come later than its end.").tag(
        config=True
    )
    # A cell that sleeps uses no processor time, and there may be thousands of them.
    whole = Float(
        Limits().cpu_seconds * PATIENCE,
        help="Seconds by the clock that the student's cells may take together; then the kernel is ended.",
    ).tag(config=True)

    _gone: str | None = None
    _manager: Any = None
    _trusted: dict[str, Any]
    _course: dict[str, _Locked]
    _printed: dict[int, int]
    # The last answer cell, and the other cells of the notebook so far.
    _answer: str = ""
    _above: list[Cell]
    # Whether this kernel was given a cell yet, how many seconds cells have taken in it, and for how many of a cell the whole
    # machine stood still.
    _ran: bool = False
    _spent: float = 0.0
    _still: float = 0.0

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        if confine.can_fork():
            from classroom.sandbox.provisioner import ConfinedKernelManager

            kwargs["kernel_manager_class"] = ConfinedKernelManager
        super().__init__(*args, **kwargs)
        # A widget's state has no bound, and no page shows it.
        self.store_widget_state = False
        # There is nothing in such a kernel that would want to be put in order.
        self.shutdown_kernel = "immediate"

    def preprocess(self, nb: NotebookNode, resources: dict[str, Any], km: Any = None) -> Any:
        """Execute one submission from the first cell to the last, whatever happens in between.

        `resources["nbgrader"]` names the gradebook, which knows the course's own cells. Without it, the caller vouches for
        the notebook's locked cells.
        """
        confine.tell(self.log.warning)
        if not confine.can_fork():
            return super().preprocess(nb, resources, km)
        self._course = (
            _from_gradebook(**resources["nbgrader"]) if "nbgrader" in resources else _from_notebook(nb)
        )
        if "nbgrader" in resources:
            confine.check_place(Path.cwd())
        self.kernel_name = "python3"
        if any("torch" in cell.source for cell in nb.cells if cell.cell_type == "code"):
            from classroom.sandbox.provisioner import have_torch_loaded

            have_torch_loaded()
        submitted, began = copy.deepcopy(nb.cells), time.monotonic()
        for left in reversed(range(self.tries)):
            self._gone, self._trusted, self._printed = None, {"__name__": "__main__"}, {}
            self._answer, self._above, self._ran, self._spent, self._still = "", [], False, 0.0, 0.0
            step("start kernel")
            try:
                told = super().preprocess(nb, resources, km)
                if not left or not self._disturbed(began) or not (self._gone or self._still > STILL):
                    return told
            except Exception:
                # A kernel that ends before it has run a cell is not the student's doing either.
                if not left or (self._ran and not self._disturbed(began)):
                    raise
            self.log.warning(
                "the student's kernel was killed, did not start or stood still; the notebook gets another"
            )
            nb.cells = copy.deepcopy(submitted)
        raise AssertionError("the last try ends otherwise")

    def create_kernel_manager(self) -> Any:
        """As nbclient makes it, remembered beyond the kernel's end."""
        self._manager = super().create_kernel_manager()
        return self._manager

    def _disturbed(self, began: float) -> bool:
        """Whether something else than the student's code ended the kernel, or held the whole machine up."""
        if self._still > STILL:
            return True
        # A limit on processor time also ends in SIGKILL, but not so soon.
        return self._was_killed() and time.monotonic() - began < LONG

    def _was_killed(self) -> bool:
        """Whether the kernel was killed by somebody else than the grader."""
        return bool(getattr(self._manager, "killed", False))

    def output(
        self, outs: list[NotebookNode], msg: dict[str, Any], display_id: str, cell_index: int
    ) -> NotebookNode | None:
        """Keep a cell's output up to a length: what a loop prints without end is not collected."""
        printed = self._printed.get(cell_index, 0) if confine.can_fork() else 0
        if printed > self.most_output:
            return None
        if confine.can_fork():
            self._printed[cell_index] = printed + len(str(msg["content"]))
        return super().output(outs, msg, display_id, cell_index)

    def handle_comm_msg(self, outs: list[NotebookNode], msg: dict[str, Any], cell_index: int) -> None:
        """Messages of widgets, which would be kept in memory without bound, are dropped."""

    async def async_execute_cell(self, cell: NotebookNode, cell_index: int, *args: Any, **kwargs: Any) -> Any:
        """One cell, on its own side."""
        if not confine.can_fork():
            return await super().async_execute_cell(cell, cell_index, *args, **kwargs)
        self._ran = True
        if cell.cell_type != "code":
            return cell
        own = self._course.get(_grade_id(cell))
        step("test" if own is not None and own.test else "cell", _grade_id(cell))
        if own is not None and own.test:
            await self._test(cell, own.source)
            return cell
        if own is not None:
            self._run_trusted(own.source)
        if utils.is_solution(cell):
            if self._answer:
                self._above.append(Cell(self._answer, own=True))
            self._answer = cell.source
        else:
            self._above.append(Cell(cell.source, own=own is None))
        if self._gone:
            cell.outputs = [_error("KernelGone", self._gone)]
            return cell
        if self._spent > self.whole:
            self._gone = f"the cells before this one took more than {self.whole:g} seconds together"
            cell.outputs = [_error("KernelGone", self._gone)]
            await ensure_async(self.km.shutdown_kernel(now=True))
            return cell
        clock = Wait(self.whole)
        looking = asyncio.create_task(_keep_looking(clock))
        began = time.monotonic()
        try:
            await super().async_execute_cell(cell, cell_index, *args, **kwargs)
        except DeadKernelError:
            self._gone = (
                "the kernel ended in an earlier cell (os._exit, a crash, or too much memory, disk or time)"
            )
            cell.outputs = [*cell.get("outputs", []), _error("KernelGone", self._gone)]
        except Exception as error:
            # An interrupt that was ignored, or messages out of order: nothing more can be asked of this kernel.
            late = isinstance(error, CellTimeoutError | TimeoutError)
            why = "did not end in time" if late else "left a kernel whose messages cannot be read"
            self._gone = f"an earlier cell {why} ({type(error).__name__})"
            cell.outputs = [*cell.get("outputs", []), _error("KernelGone", self._gone)]
            await ensure_async(self.km.shutdown_kernel(now=True))
        finally:
            looking.cancel()
        clock.look()
        self._spent += clock.waited
        # nbclient's own clock went on, and it may have ended a cell that had no time.
        self._still = max(self._still, time.monotonic() - began - clock.waited)
        self._shorten(cell)
        return cell

    execute_cell = run_sync(async_execute_cell)

    async def _async_poll_kernel_alive(self) -> None:
        # nbclient leaves this task behind when a message cannot be read; it then finds that the client is gone.
        with contextlib.suppress(AssertionError):
            await super()._async_poll_kernel_alive()

    def _run_trusted(self, source: str) -> None:
        """A locked cell of the course's own, here: it makes the imports that test cells use."""
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
            try:
                exec(compile(source, "<course>", "exec"), self._trusted)
            except Exception as error:
                self.log.warning("a locked cell fails in the grader: %s", error)

    async def _test(self, cell: NotebookNode, source: str) -> None:
        """Run a test cell here, in a thread, since it waits for the student's kernel."""
        loop = asyncio.get_running_loop()
        exercise = _exercise(source)
        problem = refused(FORBIDDEN[exercise], self._answer, self._above) if exercise else None
        cell.metadata.pop(FINDING, None)  # never what a submission says of itself
        if problem:
            cell.outputs = [_error("WrongAnswer", f"Not right yet. {problem}")]
        else:
            link = _Link(self, loop, exercise)
            cell.outputs, found = await asyncio.to_thread(self._outputs, source, link)
            if found:
                cell.metadata[FINDING] = found
        cell.execution_count = None

    def _outputs(self, source: str, link: _Link) -> tuple[list[NotebookNode], dict[str, Any]]:
        """The outputs of a test cell, what it printed and its error if it fails, and what the verdict recognised."""
        namespace = dict(self._trusted)
        out = io.StringIO()
        try:
            names = sorted(free_names(source) - set(namespace))
            if names:
                namespace |= self._students(names, link)
            with contextlib.redirect_stdout(out):
                value = _run(source, namespace)
        except WrongAnswer as wrong:
            shown = new_output(
                "error", ename="WrongAnswer", evalue=str(wrong), traceback=wrong._render_traceback_()
            )
            found = {
                "question": wrong.question,
                "mistake": wrong.mistake,
                "hidden": _hidden(source, wrong),
            }
            return [shown], {key: value for key, value in found.items() if value}
        except OutOfBounds as stopped:
            return [_error(type(stopped).__name__, f"Not right yet. {stopped}")], {}
        except Exception as error:
            lines = traceback.format_exception_only(error)
            shown = new_output("error", ename=type(error).__name__, evalue=str(error), traceback=lines)
            return [shown], {"hidden": True} if _hidden(source, error) else {}
        outputs = [new_output("stream", name="stdout", text=text)] if (text := out.getvalue()) else []
        if isinstance(value, int | float) and not isinstance(value, bool):
            outputs.append(new_output("execute_result", data={"text/plain": repr(float(value))}))
        return outputs, {}

    def _students(self, names: list[str], link: _Link) -> dict[str, Any]:
        """What stands for the student's names in a test cell."""
        if self._gone:
            raise KernelGone(self._gone)
        found = link.ask({"do": "names", "names": names}, SECONDS)
        namespace: dict[str, Any] = {}
        for name in names:
            told = found.get(name) if isinstance(found, dict) else None
            told = told if isinstance(told, dict) else {}
            kind = told.get("kind")
            if kind == "callable":
                namespace[name] = StudentFunction(name, link)
            elif kind == "value":
                namespace[name] = told.get("value")
            else:
                raise WrongAnswer(
                    f"there is no {name} in the notebook: the cell that defines it is missing or failed"
                )
        return namespace

    async def exchange(self, request: str, seconds: float) -> str:
        """Send one request to the student's kernel and wait for the reply.

        Raises:
            KernelGone: if the kernel ends or gives no reply in time.
        """
        if self._gone:
            raise KernelGone(self._gone)
        client: KernelClient = self.kc
        # As an expression beside an empty cell: a kernel hashes, splits and transforms the text of a cell, slowly.
        code = f"__import__('refcells.autotest.student').autotest.student.publish({request!r}, globals())"
        message = client.execute("", silent=True, user_expressions={"": code}, allow_stdin=False)
        wait = Wait(seconds)
        text: str | None = None
        while wait.look() > 0:
            try:
                came = await ensure_async(client.get_iopub_msg(timeout=0.5))
            except Exception:  # queue.Empty, on whichever channel class
                if not await ensure_async(self.km.is_alive()):
                    self._gone = "the kernel ended while a test was running (os._exit, a crash, or too much memory or disk)"
                    raise KernelGone(self._gone) from None
                continue
            if came["parent_header"].get("msg_id") != message:
                continue
            if came["msg_type"] == "display_data" and MIME in came["content"].get("data", {}):
                text = came["content"]["data"][MIME]
            elif came["msg_type"] == "status" and came["content"]["execution_state"] == "idle":
                return text if text is not None else wire.dumps({"problem": "no answer came"})
        self._gone = f"the kernel gave no answer for {seconds:.0f} seconds and was ended"
        await ensure_async(self.km.shutdown_kernel(now=True))
        raise KernelGone(self._gone)

    def _shorten(self, cell: NotebookNode) -> None:
        """Cut outputs that are too long, by characters: one line may be 50 MB. What is no notebook's output is left out."""
        if type(cell.get("execution_count")) is not int:
            cell.execution_count = None  # a kernel may send anything
        left = self.most_output
        kept = []
        for output in cell.get("outputs", []):
            size = len(str(output))
            if not _valid(output):
                continue
            if size <= left:
                kept.append(output)
                left -= size
            elif output.output_type == "stream" and left > 0:
                output.text = output.text[:left] + "\n[the rest of the output is left out]"
                kept.append(output)
                left = 0
        cell.outputs = kept


def _valid(output: NotebookNode) -> bool:
    """Whether a notebook may hold this output."""
    if "execution_count" in output and type(output.execution_count) is not int:
        output.execution_count = None
    try:
        nbformat.validate(output, ref=output.output_type, version=4, relax_add_props=True)
    except (nbformat.ValidationError, AttributeError, KeyError):
        return False
    return True


async def _keep_looking(clock: Wait) -> None:
    """Let a clock notice when this process stands still."""
    while True:
        clock.look()
        await asyncio.sleep(LOOK / 2)


def _run(source: str, namespace: dict[str, Any]) -> Any:
    """Run a cell; gives the value of its last line if that is an expression."""
    body, last = _compiled(source)
    exec(body, namespace)
    return None if last is None else eval(last, namespace)


@functools.lru_cache(maxsize=1000)
def _compiled(source: str) -> tuple[CodeType, CodeType | None]:
    """A cell's code, and that of its last line apart if it is an expression."""
    tree = ast.parse(source)
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    value = compile(ast.Expression(last.value), TEST, "eval") if isinstance(last, ast.Expr) else None
    return compile(tree, TEST, "exec"), value

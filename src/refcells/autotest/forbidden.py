"""What an exercise forbids: PyTorch's own cell where a student is to write that cell.

A named list for each exercise. `refused` looks for the names in the answer's source before it is asked, and in the student's
other cells for what would hide a step from the second check: `forbidding` watches PyTorch's operations while the answer is
used, so that another name for the same thing does not help. PyTorch's cell may lend its parameters; its step may not be taken.
Both checks are as strong as Python is: whoever goes to lengths in the same process can hide a call from them.
"""

import ast
import contextlib
import re
import threading
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from refcells.autotest.calls import Unfit

__all__ = ["FORBIDDEN", "Cell", "Rule", "forbidden_in", "forbidding", "refused"]


@dataclass(frozen=True)
class Rule:
    """What one answer may not use.

    Attributes:
        names: dotted names; what is below one of them is forbidden too.
        bases: dotted names of classes that an answer may not derive from.
        operations: PyTorch's operations, by their bare names.
        says: what is forbidden, for the student, as the end of a sentence.
    """

    names: tuple[str, ...]
    bases: tuple[str, ...]
    operations: tuple[str, ...]
    says: str


@dataclass(frozen=True)
class Cell:
    """A cell of a notebook.

    Attributes:
        source: its code.
        own: whether the student wrote it.
    """

    source: str
    own: bool = False


PLACES = ("torch.nn", "torch.nn.modules", "torch.nn.modules.rnn")
# Where PyTorch keeps its cells besides the modules.
BEHIND = (
    "torch._VF",
    "torch._C",
    "torch.ops",
    "torch.jit",
    "torch.nn.quantized",
    "torch.nn.quantizable",
    "torch.ao",
)
# What nobody watches: other threads, and steps that are compiled, traced, or taken with the watching off.
HIDING = (
    *BEHIND,
    *("torch.compile", "torch.export", "torch.fx", "torch.overrides", "torch.utils._python_dispatch"),
    *("torch._dynamo", "torch.multiprocessing", "_thread", "threading", "concurrent", "multiprocessing"),
    *("asyncio", "ctypes"),
)
OPERATIONS = (
    *("rnn_tanh", "rnn_relu", "rnn_tanh_cell", "rnn_relu_cell", "lstm", "lstm_cell", "gru", "gru_cell"),
    *("_thnn_fused_lstm_cell", "_thnn_fused_gru_cell", "_cudnn_rnn", "mkldnn_rnn_layer", "miopen_rnn"),
    *("quantized_lstm_cell", "quantized_gru_cell", "quantized_rnn_tanh_cell"),
)


def _cell(kind: str, functions: tuple[str, ...]) -> Rule:
    """The rule for writing PyTorch's cell of a kind: RNN, LSTM or GRU."""
    return Rule(
        names=(
            *(f"{place}.{name}" for place in PLACES for name in (kind, "RNNBase")),
            *(f"torch.{name}" for name in functions),
        ),
        bases=tuple(f"{place}.{name}" for place in PLACES for name in (f"{kind}Cell", "RNNCellBase")),
        operations=OPERATIONS,
        says=(
            f"the step of nn.{kind}Cell, nn.{kind} or the functions behind them, nor derive from them: "
            "this exercise is to write that step"
        ),
    )


# By the question's name; questions about the same work add an underscore and what they look at.
FORBIDDEN: dict[str, Rule] = {
    "torch.TanhRNNCell": _cell("RNN", ("rnn_tanh", "rnn_relu", "rnn_tanh_cell", "rnn_relu_cell")),
    "torch.FusedLSTMCell": _cell("LSTM", ("lstm", "lstm_cell")),
    "torch.ResetAfterGRUCell": _cell("GRU", ("gru", "gru_cell")),
}


def forbidden_in(question: str) -> str | None:
    """The key in `FORBIDDEN` for a question's name; None if it forbids nothing."""
    key = question.partition("_")[0]
    return key if key in FORBIDDEN else None


class _Names(ast.NodeVisitor):
    """Follows imports and plain assignments to what a dotted expression means."""

    def __init__(self) -> None:
        self.means: dict[str, str] = {}
        self.stars: list[str] = []
        self.used: list[tuple[str, int]] = []
        self.bases: list[tuple[str, int]] = []

    def dotted(self, node: ast.AST) -> str | None:
        """The full name of an expression, None if it has none."""
        if isinstance(node, ast.Name):
            return self.means.get(node.id)
        if isinstance(node, ast.Attribute):
            base = self.dotted(node.value)
            if node.attr == "__dict__":
                return base
            return f"{base}.{node.attr}" if base else None
        if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant):
            base = self.dotted(node.value)
            if base == "sys.modules":
                return str(node.slice.value)
            return f"{base}.{node.slice.value!s}" if base else None
        if isinstance(node, ast.Call) and node.args:
            name = node.func.id if isinstance(node.func, ast.Name) else self.dotted(node.func)
            first = node.args[0]
            if name == "getattr" and len(node.args) > 1 and isinstance(node.args[1], ast.Constant):
                base = self.dotted(first)
                return f"{base}.{node.args[1].value!s}" if base else None
            if name == "vars":
                return self.dotted(first)
            if name in ("__import__", "importlib.import_module") and isinstance(first, ast.Constant):
                whole = str(first.value)
                return whole.partition(".")[0] if name == "__import__" else whole
        return None

    def visit_Import(self, node: ast.Import) -> None:
        for alias in node.names:
            self.used.append((alias.name, node.lineno))
            if alias.asname:
                self.means[alias.asname] = alias.name
            else:
                top = alias.name.partition(".")[0]
                self.means[top] = top

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
        for alias in node.names:
            whole = f"{node.module}.{alias.name}"
            if alias.name == "*":
                self.stars.append(str(node.module))
            else:
                self.used.append((whole, node.lineno))
                self.means[alias.asname or alias.name] = whole

    def visit_Assign(self, node: ast.Assign) -> None:
        self.visit(node.value)
        whole = self.dotted(node.value)
        for target in node.targets:
            if whole and isinstance(target, ast.Name):
                self.means[target.id] = whole
            else:
                self.visit(target)

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        self.bases += [(whole, node.lineno) for base in node.bases if (whole := self.dotted(base))]
        self.bases += [(whole, node.lineno) for base in node.bases for whole in self._starred(base)]
        self.generic_visit(node)

    def _starred(self, node: ast.AST) -> list[str]:
        return [f"{star}.{node.id}" for star in self.stars] if isinstance(node, ast.Name) else []

    def visit_Name(self, node: ast.Name) -> None:
        for whole in [self.means.get(node.id), *self._starred(node)]:
            if whole:
                self.used.append((whole, node.lineno))

    def _visit_dotted(self, node: Any) -> None:
        whole = self.dotted(node)
        if whole:
            self.used.append((whole, node.lineno))
        self.generic_visit(node)

    visit_Attribute = visit_Subscript = visit_Call = _visit_dotted


_MAGIC = re.compile(r"^(\s*)[%!].*$", re.MULTILINE)


def _parsed(text: str) -> ast.Module:
    """A cell as Python sees it, where need be without the lines that only IPython reads.

    Raises:
        SyntaxError: if it is no Python even then.
    """
    try:
        return ast.parse(text)
    except SyntaxError:
        return ast.parse(_MAGIC.sub(r"\1pass", text))


def refused(rule: Rule, source: str, before: Iterable[Cell] = ()) -> str | None:
    """What is forbidden in an answer's source or beside it, in a sentence; None if nothing is.

    Args:
        rule: the rule of the answer cell.
        source: the answer cell.
        before: the cells above its test, whose imports count. A student's own may use PyTorch's cell, to compare, but nothing
            behind which its step could hide.
    """
    names = _Names()
    for cell in (*before, Cell(source)):
        names.used.clear()
        names.bases.clear()
        try:
            tree = _parsed(cell.source)
            names.visit(tree)
        except (SyntaxError, ValueError):
            continue  # it will not run either
        except (RecursionError, MemoryError):
            # It may run where somebody has moved Python's limit.
            return f"a cell is nested too deeply to be read. It may not use {rule.says}"
        if cell.own and (hit := _first(names.used, HIDING)):
            whole, line = hit
            return (
                f"line {line} of another cell uses {whole}, behind which a step could hide. This exercise may not use "
                f"{rule.says}"
            )
    for whole, line in names.bases:
        if whole in rule.bases:
            return f"line {line} derives from {whole}. It may not use {rule.says}"
    if hit := _first(names.used, (*rule.names, *HIDING)):
        return f"line {hit[1]} uses {hit[0]}. It may not use {rule.says}"
    return None


def _first(used: list[tuple[str, int]], names: tuple[str, ...]) -> tuple[str, int] | None:
    """The first use of one of these names, or of what is below one of them."""
    for whole, line in used:
        if any(whole == name or whole.startswith(f"{name}.") for name in names):
            return whole, line
    return None


_start = threading.Thread.start
_watched: dict[int, tuple[Rule, list[str]]] = {}


def _starts(thread: threading.Thread) -> None:
    """Start a thread, unless the one that asks is watched."""
    if watched := _watched.get(threading.get_ident()):
        rule, hits = watched
        hits.append("a thread")
        raise Unfit(f"it starts a thread. It may not use {rule.says}")
    _start(thread)


@contextlib.contextmanager
def forbidding(rule: Rule) -> Iterator[None]:
    """Watch PyTorch's operations in this thread, which may start no other: nobody watches there.

    Raises:
        Unfit: at the first forbidden one, and again at the end if that was caught.
    """
    from torch.overrides import TorchFunctionMode

    hits: list[str] = []

    class Watch(TorchFunctionMode):
        def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            whole = str(getattr(func, "__name__", ""))
            if whole.partition(".")[0] in rule.operations:
                hits.append(whole)
                raise Unfit(f"it uses {whole}. It may not use {rule.says}")
            return func(*args, **(kwargs or {}))

    # Put in place once, and told of each thread that is watched: calls that run too long end in any order.
    threading.Thread.start = _starts  # type: ignore[assignment, method-assign]
    _watched[threading.get_ident()] = (rule, hits)
    try:
        with Watch():
            yield
    finally:
        del _watched[threading.get_ident()]
    if hits:
        raise Unfit(f"it uses {hits[0]}. It may not use {rule.says}")

"""Mechanical mistakes: one small change at a time to the code of a model solution.

The changes are those that mutation testing knows: another operator, another comparison, a constant off by one, a sign,
an index, two arguments or two elements exchanged, a name for its neighbour, a term, a keyword, a call or a statement
left out. Each gives one mutant.
"""

import ast
import copy
from collections.abc import Iterator
from dataclasses import dataclass

__all__ = ["Mutant", "mutants"]

_OPERATORS: dict[type, tuple[type[ast.operator], ...]] = {
    ast.Add: (ast.Sub, ast.Mult),
    ast.Sub: (ast.Add,),
    ast.Mult: (ast.Add, ast.Div),
    ast.Div: (ast.Mult,),
    ast.FloorDiv: (ast.Mult,),
    ast.Pow: (ast.Mult,),
    ast.MatMult: (ast.Mult,),
}
_COMPARISONS: dict[type, tuple[type[ast.cmpop], ...]] = {
    ast.Gt: (ast.GtE, ast.Lt),
    ast.GtE: (ast.Gt, ast.LtE),
    ast.Lt: (ast.LtE, ast.Gt),
    ast.LtE: (ast.Lt, ast.GtE),
    ast.Eq: (ast.NotEq,),
    ast.NotEq: (ast.Eq,),
}
_ATTRIBUTES = {"tanh": "exp", "sigmoid": "tanh", "zeros_like": "ones_like"}


@dataclass(frozen=True)
class Mutant:
    """A solution cell with one change.

    Attributes:
        cell: grade id of the cell.
        function: the function or class that was changed.
        label: the change, in words and code.
        code: the whole cell's code.
    """

    cell: str
    function: str
    label: str
    code: str


def mutants(cell: str, code: str) -> Iterator[Mutant]:
    """All mutants of a solution cell; only what stands between the marks of the solution is changed."""
    inside, kept = set(), False
    for number, line in enumerate(code.splitlines(), start=1):
        if "BEGIN SOLUTION" in line or "END SOLUTION" in line:
            kept = "BEGIN" in line
        elif kept:
            inside.add(number)
    tree = ast.parse(code)
    seen = {ast.unparse(tree)}
    for top in tree.body:
        if not isinstance(top, ast.FunctionDef | ast.ClassDef):
            continue
        names = _names(top)
        for parent, field, place, node, statement in list(_sites(top, top)):
            if node.lineno not in inside:
                continue
            for changed in _changes(node, parent, names):
                # A whole statement stands for itself; of an expression the statement shows where it is.
                before = _line(statement)
                _put(parent, field, place, changed)
                text = ast.unparse(ast.fix_missing_locations(tree))
                after = _line(changed if node is statement else statement)
                _put(parent, field, place, node)
                if text not in seen:
                    seen.add(text)
                    yield Mutant(cell, top.name, f"{before}  ->  {after}", text)


def _sites(
    parent: ast.AST, statement: ast.AST
) -> Iterator[tuple[ast.AST, str, int | None, ast.expr | ast.stmt, ast.AST]]:
    """Every expression and statement: its parent, where it stands there, and the statement that it is or is part of."""
    for field, value in ast.iter_fields(parent):
        for place, node in list(enumerate(value)) if isinstance(value, list) else [(None, value)]:
            if not isinstance(node, ast.AST):
                continue
            within = node if isinstance(node, ast.stmt) else statement
            if isinstance(node, ast.expr | ast.stmt):
                yield parent, field, place, node, within
            yield from _sites(node, within)


def _line(node: ast.AST) -> str:
    """The first line of a node's code."""
    return ast.unparse(ast.fix_missing_locations(node)).splitlines()[0]


def _put(parent: ast.AST, field: str, place: int | None, node: ast.AST) -> None:
    if place is None:
        setattr(parent, field, node)
    else:
        getattr(parent, field)[place] = node


def _names(top: ast.AST) -> list[str]:
    """Arguments and variables of a function, in the order in which they come."""
    found: list[str] = []
    for node in ast.walk(top):
        name = (
            node.arg
            if isinstance(node, ast.arg)
            else node.id
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
            else None
        )
        if name and name != "self" and name not in found:
            found.append(name)
    return found


def _changes(node: ast.AST, parent: ast.AST, names: list[str]) -> Iterator[ast.AST]:
    """What may stand in a node's place."""
    if isinstance(node, ast.BinOp):
        for operator in _OPERATORS.get(type(node.op), ()):
            yield ast.BinOp(node.left, operator(), node.right)
        yield node.left
        yield node.right
        yield ast.UnaryOp(ast.USub(), node)
    elif isinstance(node, ast.UnaryOp):
        yield node.operand
    elif isinstance(node, ast.Compare):
        for comparison in _COMPARISONS.get(type(node.ops[0]), ()):
            yield ast.Compare(node.left, [comparison()], node.comparators)
    elif isinstance(node, ast.Constant):
        yield from _constants(node.value)
    elif isinstance(node, ast.Call):
        yield from _calls(node, parent)
    elif isinstance(node, ast.Attribute):
        if node.attr == "T":
            yield node.value
        if node.attr in _ATTRIBUTES:
            yield ast.Attribute(node.value, _ATTRIBUTES[node.attr], node.ctx)
    elif isinstance(node, ast.Tuple | ast.List):
        for k in range(len(node.elts) - 1):
            swapped = list(node.elts)
            swapped[k : k + 2] = swapped[k + 1], swapped[k]
            yield type(node)(swapped, node.ctx)
    elif isinstance(node, ast.Slice):
        if node.lower:
            yield ast.Slice(None, node.upper)
        if node.upper:
            yield ast.Slice(node.lower, None)
    elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
        if node.id in names and len(names) > 1:
            neighbour = names[(names.index(node.id) + 1) % len(names)]
            # A list appended to itself has no end: NumPy copies it until the memory is full.
            if not _receives(parent, neighbour):
                yield ast.Name(neighbour, ast.Load())
        if isinstance(parent, ast.BinOp):
            yield ast.UnaryOp(ast.USub(), node)
        if isinstance(parent, ast.Subscript) and parent.slice is node:
            yield ast.BinOp(node, ast.Add(), ast.Constant(1))
            yield ast.BinOp(node, ast.Sub(), ast.Constant(1))
    elif isinstance(node, ast.AugAssign):
        yield ast.Pass()
        yield ast.Assign([node.target], node.value)
        for operator in _OPERATORS.get(type(node.op), ()):
            yield ast.AugAssign(node.target, operator(), node.value)
    elif isinstance(node, ast.If):
        yield ast.If(ast.UnaryOp(ast.Not(), node.test), node.body, node.orelse)
    elif isinstance(node, ast.Assign | ast.For | ast.While | ast.With) or (
        isinstance(node, ast.Expr) and not isinstance(node.value, ast.Constant)
    ):
        yield ast.Pass()


def _receives(parent: ast.AST, name: str) -> bool:
    """Whether the parent calls a method of the variable of that name."""
    return (
        isinstance(parent, ast.Call)
        and isinstance(parent.func, ast.Attribute)
        and isinstance(parent.func.value, ast.Name)
        and parent.func.value.id == name
    )


def _constants(value: object) -> Iterator[ast.AST]:
    if isinstance(value, bool):
        yield ast.Constant(not value)
    elif isinstance(value, int | float):
        for other in (value + 1, value - 1, 2 * value, -value):
            if other != value:
                yield ast.Constant(other)
    elif isinstance(value, str) and len(value) > 1:
        yield ast.Constant(value[::-1])
    elif isinstance(value, str) and value:
        yield ast.Constant(chr(ord(value) + 1))


def _calls(node: ast.Call, parent: ast.AST) -> Iterator[ast.AST]:
    for k in range(len(node.args) - 1):
        swapped = list(node.args)
        swapped[k : k + 2] = swapped[k + 1], swapped[k]
        yield ast.Call(node.func, swapped, node.keywords)
    for k in range(len(node.keywords)):
        yield ast.Call(node.func, node.args, node.keywords[:k] + node.keywords[k + 1 :])
    if len(node.args) == 1 and not isinstance(node.args[0], ast.Starred):
        yield node.args[0]
        if isinstance(node.func, ast.Name) and node.func.id == "range":
            yield ast.Call(node.func, [ast.Constant(1), copy.deepcopy(node.args[0])], [])
            yield ast.Call(node.func, [ast.BinOp(node.args[0], ast.Sub(), ast.Constant(1))], [])
    if isinstance(node.func, ast.Attribute):
        if not node.args and not node.keywords:
            yield node.func.value
        if isinstance(parent, ast.BinOp):
            yield ast.UnaryOp(ast.USub(), node)

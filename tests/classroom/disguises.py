"""Ways in which a copied answer is made to look like another: what `classroom similar` has to see through."""

import ast
import builtins
import random
from collections.abc import Callable, Collection

Disguise = Callable[[str, Collection[str], random.Random], str]


def _chosen(tree: ast.AST, keep: Collection[str]) -> list[str]:
    """Names that the answer's writer chose."""
    made = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            made.add(node.id)
        elif isinstance(node, ast.arg):
            made.add(node.arg)
    return sorted(made - set(keep) - set(dir(builtins)) - {"self"})


class _Rename(ast.NodeTransformer):
    def __init__(self, names: dict[str, str]) -> None:
        self.names = names

    def visit_Name(self, node: ast.Name) -> ast.AST:
        node.id = self.names.get(node.id, node.id)
        return node

    def visit_arg(self, node: ast.arg) -> ast.AST:
        self.generic_visit(node)
        node.arg = self.names.get(node.arg, node.arg)
        return node


def renamed(source: str, keep: Collection[str], rng: random.Random) -> str:
    """Other names for everything that has one."""
    tree = ast.parse(source)
    names = _chosen(tree, keep)
    rng.shuffle(names)
    return ast.unparse(_Rename({name: f"my_value_{k}" for k, name in enumerate(names)}).visit(tree))


def relaid(source: str, keep: Collection[str], rng: random.Random) -> str:
    """Other comments, other spaces, other grouping parentheses; no docstrings."""
    lines = []
    tree = ast.parse(source)
    for node in ast.walk(tree):
        if (
            isinstance(node, ast.FunctionDef | ast.ClassDef)
            and ast.get_docstring(node)
            and len(node.body) > 1
        ):
            node.body = node.body[1:]
    for line in ast.unparse(tree).splitlines():
        indent = line[: len(line) - len(line.lstrip())]
        if rng.random() < 0.4:
            lines.append(f"{indent}# now the part number {rng.random():.3f}")
        lines.append(line.replace(" = ", "=").replace(", ", ",") + ("  # done" if rng.random() < 0.3 else ""))
    return "\n".join(lines)


def _uses(statement: ast.stmt) -> tuple[set[str], set[str]]:
    """Names that a statement reads, and that it may change."""
    read, written = set(), set()
    for node in ast.walk(statement):
        if isinstance(node, ast.Name):
            (read if isinstance(node.ctx, ast.Load) else written).add(node.id)
        elif isinstance(node, ast.Attribute | ast.Subscript) and not isinstance(node.ctx, ast.Load):
            base: ast.AST = node
            while isinstance(base, ast.Attribute | ast.Subscript):
                base = base.value
            if isinstance(base, ast.Name):
                written.add(base.id)
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            if isinstance(node.func.value, ast.Name):
                written.add(node.func.value.id)
        elif isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name):
            read.add(node.target.id)
    return read, written


_FIXED = (
    ast.Return,
    ast.Raise,
    ast.Import,
    ast.ImportFrom,
    ast.FunctionDef,
    ast.ClassDef,
    ast.Break,
    ast.Continue,
)


class _Reorder(ast.NodeTransformer):
    def __init__(self, rng: random.Random) -> None:
        self.rng = rng

    def generic_visit(self, node: ast.AST) -> ast.AST:
        super().generic_visit(node)
        for name in ("body", "orelse"):
            body = getattr(node, name, None)
            if isinstance(body, list):
                for _ in range(3):
                    self._pass(body)
        return node

    def _pass(self, body: list[ast.stmt]) -> None:
        for k in range(len(body) - 1):
            first, second = body[k], body[k + 1]
            docstring = isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant)
            if docstring or isinstance(first, _FIXED) or isinstance(second, _FIXED):
                continue
            (read_1, written_1), (read_2, written_2) = _uses(first), _uses(second)
            free = not (written_1 & (read_2 | written_2) or written_2 & read_1)
            if free and self.rng.random() < 0.6:
                body[k], body[k + 1] = second, first


def reordered(source: str, keep: Collection[str], rng: random.Random) -> str:
    """Statements that do not depend on each other in another order."""
    return ast.unparse(_Reorder(rng).visit(ast.parse(source)))


class _Split(ast.NodeTransformer):
    def __init__(self) -> None:
        self.made = 0

    def visit_Return(self, node: ast.Return) -> ast.AST | list[ast.stmt]:
        if node.value is None or isinstance(node.value, ast.Name | ast.Constant):
            return node
        self.made += 1
        name = f"result_{self.made}"
        assignment = ast.Assign([ast.Name(name, ast.Store())], node.value, lineno=0)
        return [assignment, ast.Return(ast.Name(name, ast.Load()))]

    def visit_AugAssign(self, node: ast.AugAssign) -> ast.AST:
        if not isinstance(node.target, ast.Name):
            return node
        value = ast.BinOp(ast.Name(node.target.id, ast.Load()), node.op, node.value)
        return ast.Assign([node.target], value, lineno=0)


def split(source: str, keep: Collection[str], rng: random.Random) -> str:
    """Results in a variable before they are returned, `x += y` written out."""
    return ast.unparse(ast.fix_missing_locations(_Split().visit(ast.parse(source))))


def everything(source: str, keep: Collection[str], rng: random.Random) -> str:
    """All of these."""
    for disguise in (split, reordered, renamed, relaid):
        source = disguise(source, keep, rng)
    return source


DISGUISES: dict[str, Disguise] = {
    "renamed": renamed,
    "relaid": relaid,
    "reordered": reordered,
    "split": split,
    "everything": everything,
}

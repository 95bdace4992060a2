"""Tagging real code: what becomes of a name, read from the left, from the right, and from both sides.

The data is the source of Python's own standard library, which every machine has. A sequence is one logical line of it,
as `tokenize` cuts it; every name is replaced by the same token, so that only its surroundings can tell what becomes of
it; the tag of a name is what `ast` says.
"""

import ast
import functools
import importlib.util
import io
import keyword
import tokenize
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from refcells.experiments.record import Experiment

if TYPE_CHECKING:
    from torch import Tensor

__all__ = [
    "DIRECTIONS",
    "EXPERIMENTS",
    "HELD_OUT_MODULES",
    "TAGS",
    "TRAINING_MODULES",
    "Lines",
    "as_tensors",
    "lines_of",
    "parse",
    "pool",
    "shapes_in",
    "table_run",
    "tag_run",
    "window_accuracy",
]

TAGS = ("defined", "parameter", "keyword", "assigned", "called", "owner", "read")
"""What becomes of a name: `def f`, `def g(f)`, `g(f=1)`, `f = 1`, `f()`, `f.g`, and any other use of its value."""

TRAINING_MODULES = (
    "argparse",
    "bdb",
    "calendar",
    "csv",
    "dataclasses",
    "enum",
    "fractions",
    "functools",
    "gettext",
    "optparse",
    "random",
    "shutil",
    "subprocess",
)
HELD_OUT_MODULES = ("difflib", "pprint", "statistics", "tarfile", "textwrap", "uuid")
DIRECTIONS = ("left to right", "right to left", "both")

NAME, NUMBER, STRING, OTHER = "name", "number", "string", "other"
LONGEST, SHORTEST = 30, 3
IGNORED = -100


@dataclass(frozen=True)
class Lines:
    """Logical lines of code.

    Attributes:
        tokens: the tokens of each line, names as 'name', numbers as 'number', strings as 'string'.
        tags: for each token its index in `TAGS`, -100 where it is no name that has a tag.
        text: the source of each token, for showing.
    """

    tokens: list[tuple[str, ...]]
    tags: list[tuple[int, ...]]
    text: list[tuple[str, ...]]


def _tagged_names(tree: ast.AST) -> dict[tuple[int, int], str]:
    """Tag of each name by where it stands: (line, column) of its start for plain names, of its end for attributes."""
    called = {id(node.func) for node in ast.walk(tree) if isinstance(node, ast.Call)}
    owners = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
    found: dict[tuple[int, int], str] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Name | ast.Attribute):
            if isinstance(node.ctx, ast.Store):
                tag = "assigned"
            elif isinstance(node.ctx, ast.Del):
                continue
            elif id(node) in called:
                tag = "called"
            else:
                tag = "owner" if id(node) in owners else "read"
            if isinstance(node, ast.Name):
                found[node.lineno, node.col_offset] = tag
            else:
                found[node.end_lineno or 0, -(node.end_col_offset or 0)] = tag
        elif isinstance(node, ast.keyword) and node.arg is not None:
            found[node.lineno, node.col_offset] = "keyword"
        elif isinstance(node, ast.arg):
            found[node.lineno, node.col_offset] = "parameter"
    return found


def parse(source: str) -> Lines:
    """The logical lines of a piece of Python, with the tag of each name.

    A line is left out if it has fewer than 3 or more than 30 tokens, or holds no name with a tag.

    Args:
        source: Python code.

    Raises:
        SyntaxError: if it is none.
    """
    places = _tagged_names(ast.parse(source))
    # `ast` counts columns in bytes, `tokenize` in characters.
    rows = source.splitlines()
    kept = Lines([], [], [])
    tokens: list[str] = []
    tags: list[int] = []
    text: list[str] = []
    formatted = 0  # depth inside f-strings, which Python 3.12 and later cut into pieces
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        kind = tokenize.tok_name[token.type]
        if kind in ("FSTRING_START", "TSTRING_START"):
            formatted += 1
        if kind in ("FSTRING_END", "TSTRING_END"):
            formatted -= 1
            if formatted:
                continue
            kind = "STRING"
        elif formatted:
            continue
        if kind == "NEWLINE":
            if SHORTEST <= len(tokens) <= LONGEST and any(tag != IGNORED for tag in tags):
                kept.tokens.append(tuple(tokens))
                kept.tags.append(tuple(tags))
                kept.text.append(tuple(text))
            tokens, tags, text = [], [], []
        elif kind in ("NAME", "OP", "NUMBER", "STRING"):
            tag = IGNORED
            shown = token.string
            if kind == "NAME" and not keyword.iskeyword(shown):
                row = rows[token.start[0] - 1]
                start = len(row[: token.start[1]].encode())
                end = len(row[: token.end[1]].encode())
                name = places.get((token.start[0], start)) or places.get((token.start[0], -end))
                if name is None and tokens and tokens[-1] in ("def", "class"):
                    name = "defined"
                tag = IGNORED if name is None else TAGS.index(name)
                shown = NAME
            elif kind in ("NUMBER", "STRING"):
                shown = kind.lower()
            tokens.append(shown)
            tags.append(tag)
            text.append("'…'" if kind == "STRING" else token.string)
    return kept


def lines_of(module: str) -> Lines:
    """The lines of a module of the standard library.

    Raises:
        ValueError: if there is no source of it.
    """
    spec = importlib.util.find_spec(module)
    if spec is None or spec.origin is None or not spec.origin.endswith(".py"):
        raise ValueError(f"module is {module!r}; expected one of the standard library whose source is there")
    return parse(Path(spec.origin).read_text(encoding="utf-8"))


@functools.cache
def pool(modules: tuple[str, ...]) -> Lines:
    """The lines of several modules, one after the other."""
    parts = [lines_of(module) for module in modules]
    return Lines(
        [line for part in parts for line in part.tokens],
        [line for part in parts for line in part.tags],
        [line for part in parts for line in part.text],
    )


@functools.cache
def vocabulary() -> dict[str, int]:
    """Index of each token of the training modules; 0 is for tokens that they do not hold."""
    known = sorted({token for line in pool(TRAINING_MODULES).tokens for token in line})
    return {OTHER: 0} | {token: k for k, token in enumerate(known, start=1)}


def as_tensors(lines: Lines, chosen: Any, backwards: bool = False) -> "tuple[Tensor, Tensor, Tensor]":
    """Some of the lines as a padded batch.

    Args:
        lines: where they are taken from.
        chosen: indices of the lines.
        backwards: whether each line is reversed, with its tags.

    Returns:
        `(x, y, lengths)`: x (batch, steps, vocabulary) float32, one-hot and 0 at padded steps; y (batch, steps) int64,
        -100 where nothing is asked; lengths (batch,) int64, in time steps.
    """
    import torch
    from torch.nn.utils.rnn import pad_sequence

    known = vocabulary()
    way = -1 if backwards else 1
    ids = [torch.tensor([known.get(token, 0) for token in lines.tokens[k][::way]]) for k in chosen]
    tags = [torch.tensor(lines.tags[k][::way]) for k in chosen]
    lengths = torch.tensor([len(line) for line in ids])
    padded = pad_sequence(ids, batch_first=True, padding_value=-1)
    x = torch.nn.functional.one_hot(padded + 1, len(known) + 1)[:, :, 1:].float()
    return x, pad_sequence(tags, batch_first=True, padding_value=IGNORED), lengths


def shapes_in(lines: Lines, seen: Lines) -> list[bool]:
    """For each line whether a line with the same tokens, names aside, is among those that were `seen`."""
    known = set(seen.tokens)
    return [line in known for line in lines.tokens]


def window_accuracy(left: int, right: int, training: Lines, held_out: Lines) -> float:
    """Accuracy of a table of neighbours, without any network.

    The table holds, for the `left` tokens before a name and the `right` tokens after it, the tag that was most
    frequent in training; where it holds nothing it answers the most frequent tag of all. With 0 and 0 that is the
    trivial baseline.

    Args:
        left: number of tokens before the name that are looked at.
        right: number of tokens after it.
        training: lines that the table is made from.
        held_out: lines that it is tried on.
    """

    def windows(lines: Lines) -> Any:
        for tokens, tags in zip(lines.tokens, lines.tags, strict=True):
            around = ("^",) * left + tokens + ("$",) * right
            for t, tag in enumerate(tags):
                if tag != IGNORED:
                    yield around[t : t + left] + around[t + left + 1 : t + left + 1 + right], tag

    table: dict[tuple[str, ...], Counter[int]] = {}
    overall: Counter[int] = Counter()
    for window, tag in windows(training):
        table.setdefault(window, Counter())[tag] += 1
        overall[tag] += 1
    right_ones = [table.get(window, overall).most_common(1)[0][0] == tag for window, tag in windows(held_out)]
    return sum(right_ones) / len(right_ones)


def tag_run(direction: str, seed: int, updates: int, hidden: int = 32, lr: float = 0.01) -> dict[str, Any]:
    """Train one tagger on lines of the training modules and try it on all lines of the others.

    Two directions have `hidden` units each; one direction has 2 * `hidden`, so that the readout sees as many numbers.
    Reading from the right is reading reversed lines from the left.

    Args:
        direction: one of `DIRECTIONS`.
        seed: seed of weights and of the order of the lines.
        updates: number of updates, each on 64 lines.
        hidden: number of units, see above.
        lr: Adam's learning rate.

    Returns:
        Held-out 'accuracy', the same on lines whose shape was not in the training modules ('accuracy_new_shapes'), and
        'confusion': for each tag how often which was answered.

    Raises:
        ValueError: for another direction.
    """
    import torch
    from torch import nn

    from refcells.training import EveryStepClassifier, accuracy, fit, redraw, step_cross_entropy

    if direction not in DIRECTIONS:
        raise ValueError(f"direction is {direction!r}; expected one of {DIRECTIONS}")
    backwards, both = direction == "right to left", direction == "both"
    generator = torch.Generator().manual_seed(seed)
    training, held_out = pool(TRAINING_MODULES), pool(HELD_OUT_MODULES)
    width = hidden if both else 2 * hidden
    layer = nn.LSTM(len(vocabulary()), width, batch_first=True, bidirectional=both)
    model = EveryStepClassifier(layer, 2 * hidden, len(TAGS))
    redraw(model, generator)

    def draw() -> Any:
        chosen = torch.randint(len(training.tokens), (64,), generator=generator).tolist()
        x, y, lengths = as_tensors(training, chosen, backwards)
        return (x, lengths), y

    x, y, lengths = as_tensors(held_out, range(len(held_out.tokens)), backwards)
    fit(model, draw, ((x, lengths), y), loss=step_cross_entropy, lr=lr, updates=updates, every=updates)
    model.eval()
    with torch.no_grad():
        scores = model(x, lengths)
    new = ~torch.tensor(shapes_in(held_out, training))
    answers = torch.zeros(len(TAGS), len(TAGS), dtype=torch.int64)
    asked = y >= 0
    pairs = y[asked] * len(TAGS) + scores.argmax(dim=-1)[asked]
    answers += torch.bincount(pairs, minlength=len(TAGS) ** 2).view(len(TAGS), len(TAGS))
    return {
        "accuracy": round(accuracy(scores, y), 4),
        "accuracy_new_shapes": round(accuracy(scores[new], y[new]), 4),
        "confusion": answers.tolist(),
    }


def table_run(left: int, right: int) -> dict[str, Any]:
    """The table of neighbours on the same lines, and what lines these are.

    Args:
        left: number of tokens before a name that are looked at.
        right: number of tokens after it.

    Returns:
        Held-out 'accuracy'; the number of lines, 'lines_training' and 'lines_held_out'; of held-out names,
        'names_held_out'; and the share of held-out lines whose shape is among the training lines, 'seen_shapes'.
    """
    training, held_out = pool(TRAINING_MODULES), pool(HELD_OUT_MODULES)
    seen = shapes_in(held_out, training)
    return {
        "accuracy": round(window_accuracy(left, right, training, held_out), 4),
        "lines_training": len(training.tokens),
        "lines_held_out": len(held_out.tokens),
        "names_held_out": sum(tag != IGNORED for line in held_out.tags for tag in line),
        "seen_shapes": round(sum(seen) / len(seen), 4),
    }


def _close(kept: dict[str, Any], rerun: dict[str, Any]) -> bool:
    """The sample trains briefly, and the standard library differs from one Python to the next."""
    return abs(kept["accuracy"] - rerun["accuracy"]) < 0.06


BRIEF, WHOLE, SEEDS = 40, 300, 5

EXPERIMENTS = [
    Experiment(
        "source_names",
        tag_run,
        [{"direction": direction, "seed": 0, "updates": BRIEF} for direction in DIRECTIONS]
        + [
            {"direction": direction, "seed": seed, "updates": WHOLE}
            for direction in DIRECTIONS
            for seed in range(SEEDS)
        ],
        [2],
        _close,
    ),
    Experiment(
        "source_names_tables",
        table_run,
        [{"left": left, "right": right} for left, right in ((0, 0), (1, 0), (0, 1), (1, 1), (2, 2))],
        [3],
        _close,
    ),
]

"""What the RNN chapter shows, measured: how far a reader can see, and a character model of Python's own library.

The text is the source of a few modules of the standard library, which every machine has; it differs a little from one
version of Python to the next, and so do the numbers. torch is imported where it is used.
"""

import io
import math
import sysconfig
import tokenize
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from refcells.figures.measure import layer_with, weights_of
from refcells.vector import rnn_forward

if TYPE_CHECKING:
    import torch

__all__ = [
    "ALPHABET",
    "HELD_OUT",
    "TRAINING",
    "Detector",
    "all_states",
    "best_detector",
    "character_model",
    "count_models",
    "difference_left",
    "encode",
    "indentation",
    "loss_by_context",
    "passage",
    "quoted",
    "reach",
    "sample_text",
    "source",
]

ALPHABET = "\n" + "".join(map(chr, range(32, 127)))
TRAINING = (
    "argparse",
    "configparser",
    "difflib",
    "doctest",
    "inspect",
    "ipaddress",
    "mailbox",
    "optparse",
    "pickle",
    "subprocess",
    "tarfile",
    "typing",
)
HELD_OUT = ("queue", "sched", "shelve", "socket", "socketserver", "tempfile")


def reach(model: Any, x: "torch.Tensor", nudge: float = 1.0) -> np.ndarray:
    """How far the last answer moves when one input step is changed: one number a step.

    Args:
        model: maps sequences (batch, time, input) to answers (batch, time, anything).
        x: one sequence (1, time, input).
        nudge: what is added to every component of one step.

    Returns:
        Norm of the change of the last answer, by changed step, (time,). Exactly 0 where the model cannot see.

    Raises:
        ValueError: for more than one sequence.
    """
    import torch

    batch, steps, _ = x.shape
    if batch != 1:
        raise ValueError(f"x holds {batch} sequences; expected 1")
    same = x.repeat(steps, 1, 1)  # the same number of rows: another number may round differently
    changed = same.clone()
    changed[torch.arange(steps), torch.arange(steps)] += nudge
    with torch.no_grad():
        moved = model(changed)[:, -1] - model(same)[:, -1]
    return moved.norm(dim=-1).double().numpy()


def difference_left(
    initialisation: str,
    generator: "torch.Generator",
    *,
    blanks: Sequence[int] = (0, 1, 5, 10, 20),
    read: int = 20,
    hidden: int = 32,
    inputs: int = 8,
) -> np.ndarray:
    """What two different pasts still differ by after both networks read nothing but zeros.

    Two sequences of standard normal inputs are read by the same plain RNN, then the same blanks.

    Args:
        initialisation: one of the RNN's in `measure.LAYERS`.
        generator: source of weights and inputs.
        blanks: numbers of blank steps.
        read: number of steps before them.
        hidden: width of the states.
        inputs: width of the inputs.

    Returns:
        Distance of the two states, relative to their distance before the blanks, by number of blanks.
    """
    import torch

    layer = layer_with(initialisation, inputs, hidden, read, generator)
    pasts = torch.randn(2, read, inputs, generator=generator, dtype=torch.float64).numpy()
    x = np.concatenate([pasts, np.zeros((2, max(blanks), inputs))], axis=1)
    h = rnn_forward(x, *weights_of(layer)).h[read:]
    distance = np.linalg.norm(h[:, 0] - h[:, 1], axis=1)
    return distance[list(blanks)] / distance[0]


# ----------------------------------------------------------------------------------------------------
# The text
# ----------------------------------------------------------------------------------------------------


def source(modules: Sequence[str]) -> str:
    """The source of modules of the standard library, one after the other.

    Args:
        modules: their names, such as 'queue' or 'json/decoder'.

    Raises:
        ValueError: if the library has no such file.
    """
    return "\n".join(_read(module) for module in modules)


def _read(module: str) -> str:
    path = Path(sysconfig.get_paths()["stdlib"]) / f"{module}.py"
    if not path.exists():
        raise ValueError(f"the standard library has no file {module}.py; expected a module in one file")
    return path.read_text(encoding="utf-8")


def encode(text: str) -> np.ndarray:
    """Characters as indices into `ALPHABET`, (characters,); what is not in it becomes a question mark."""
    index = {character: k for k, character in enumerate(ALPHABET)}
    return np.array([index.get(character, index["?"]) for character in text], dtype=np.int64)


def indentation(text: str) -> np.ndarray:
    """Which characters are spaces at the beginning of a line, (characters,) of bool."""
    marks, leading = [], True
    for character in text:
        leading = character == "\n" or (leading and character == " ")
        marks.append(leading and character == " ")
    return np.array(marks, dtype=bool)


def quoted(modules: Sequence[str]) -> np.ndarray:
    """Which characters of `source(modules)` are in a comment or a string, as Python's tokenizer says, (characters,) of bool."""
    kinds = {tokenize.STRING, tokenize.COMMENT}
    if (middle := getattr(tokenize, "FSTRING_MIDDLE", None)) is not None:  # from Python 3.12 on
        kinds.add(middle)
    parts = []
    for module in modules:
        text = _read(module)
        starts = np.cumsum([0, *(len(line) for line in text.splitlines(keepends=True))])
        marks = np.zeros(len(text), dtype=bool)
        for token in tokenize.generate_tokens(io.StringIO(text).readline):
            if token.type in kinds:
                (first_row, first), (last_row, last) = token.start, token.end
                marks[starts[first_row - 1] + first : starts[last_row - 1] + last] = True
        parts += [marks, np.zeros(1, dtype=bool)]
    return np.concatenate(parts[:-1])


def passage(text: str, lines: int, width: int) -> int:
    """Where the first passage begins that fits a picture.

    Args:
        text: where to look.
        lines: number of consecutive lines, none of them empty, with at least three different indentations.
        width: largest number of characters in one of them.

    Returns:
        Index of the first character.

    Raises:
        ValueError: if there is none.
    """
    rows = text.split("\n")
    for k in range(len(rows) - lines + 1):
        block = rows[k : k + lines]
        indents = {len(row) - len(row.lstrip(" ")) for row in block}
        if all(row.strip() and len(row) <= width for row in block) and len(indents) >= 3:
            return sum(len(row) + 1 for row in rows[:k])
    raise ValueError(f"no {lines} lines of at most {width} characters with three indentations in the text")


# ----------------------------------------------------------------------------------------------------
# Predicting the next character
# ----------------------------------------------------------------------------------------------------


def count_models(
    train: np.ndarray, held_out: np.ndarray, longest: int = 3, weight: float = 3.0
) -> np.ndarray:
    r"""Cross-entropy of tables of counts, by the number of characters that they look back at.

    A table that looks back at k characters predicts

    $$p_k(x \mid c_k) = \frac{n(c_k x) + w\, p_{k-1}(x \mid c_{k-1})}{n(c_k) + w}$$

    with counts n from the training text and $c_k$ the last k characters: what was never seen is left to the shorter
    context, down to the uniform distribution.

    Args:
        train: training text, encoded.
        held_out: text that is predicted.
        longest: largest k.
        weight: w, how many occurrences the shorter context is worth.

    Returns:
        Nats a character: guessing uniformly, then k = 0 to `longest`; (longest + 2,). The first `longest` characters are
        not counted, so that all are measured on the same.

    Source:
        The smoothing is that of MacKay and Peto (1995), with a fixed weight.
    """
    symbols = len(ALPHABET)
    p = np.full(len(held_out) - longest, 1 / symbols)
    losses = [math.log(symbols)]
    seen = np.zeros(len(train) - longest, dtype=np.int64)
    asked = np.zeros(len(held_out) - longest, dtype=np.int64)
    for k in range(longest + 1):
        if k:  # one character further back
            seen = seen + symbols ** (k - 1) * train[longest - k : -k]
            asked = asked + symbols ** (k - 1) * held_out[longest - k : -k]
        of_context = _occurrences(seen, asked)
        of_both = _occurrences(seen + symbols**k * train[longest:], asked + symbols**k * held_out[longest:])
        p = (of_both + weight * p) / (of_context + weight)
        losses.append(-float(np.log(p).mean()))
    return np.array(losses)


def _occurrences(keys: np.ndarray, asked: np.ndarray) -> np.ndarray:
    """How often each of `asked` occurs among `keys`."""
    present, counts = np.unique(keys, return_counts=True)
    at = np.minimum(np.searchsorted(present, asked), len(present) - 1)
    return np.where(present[at] == asked, counts[at], 0)


def _windows(symbols: np.ndarray, starts: Any, steps: int) -> tuple[Any, Any]:
    """One-hot characters and the next ones, for windows of `steps` characters that begin at `starts`."""
    import torch

    rows = torch.from_numpy(symbols)[torch.as_tensor(starts)[:, None] + torch.arange(steps + 1)]
    return torch.nn.functional.one_hot(rows[:, :-1], len(ALPHABET)).float(), rows[:, 1:]


def character_model(
    train: np.ndarray,
    seed: int,
    *,
    hidden: int = 64,
    steps: int = 32,
    batch: int = 32,
    rates: Sequence[float] = (1e-2, 2e-3),
    updates: Sequence[int] = (900, 300),
) -> Any:
    """An RNN that predicts the next character at every step, trained on windows of a text.

    Every window starts from a zero state, at a random place.

    Args:
        train: training text, encoded.
        seed: seed of weights and windows.
        hidden: number of units.
        steps: characters in a window.
        batch: windows in an update.
        rates: Adam's learning rates, one after the other.
        updates: number of updates at each; 0 leaves the model as it was drawn.

    Returns:
        A trained `EveryStepClassifier` around an `nn.RNN`.
    """
    import torch
    from torch import nn

    from refcells.training import EveryStepClassifier, fit, redraw, step_cross_entropy

    generator = torch.Generator().manual_seed(seed)
    model = EveryStepClassifier(nn.RNN(len(ALPHABET), hidden, batch_first=True), hidden, len(ALPHABET))
    redraw(model, generator)

    def draw() -> tuple[Any, Any]:
        starts = torch.randint(len(train) - steps, (batch,), generator=generator)
        return _windows(train, starts, steps)

    watched = _windows(train, [0], steps)  # not looked at: how the model does is measured afterwards
    for lr, count in zip(rates, updates, strict=True):
        if count:
            fit(
                model,
                draw,
                watched,
                loss=step_cross_entropy,
                metric=lambda scores, y: step_cross_entropy(scores, y).item(),
                better="smaller",
                lr=lr,
                updates=count,
                every=count,
            )
    return model


def loss_by_context(model: Any, held_out: np.ndarray, steps: int = 32, stride: int = 16) -> np.ndarray:
    """Cross-entropy in nats by the number of characters read since a zero state, (steps,).

    Args:
        model: what `character_model` gives.
        held_out: text that is predicted, encoded.
        steps: characters in a window.
        stride: characters between the beginnings of two windows.
    """
    import torch

    x, y = _windows(held_out, np.arange(0, len(held_out) - steps, stride), steps)
    with torch.no_grad():
        losses = torch.nn.functional.cross_entropy(model(x).transpose(1, 2), y, reduction="none")
    return losses.mean(dim=0).double().numpy()


def all_states(model: Any, symbols: np.ndarray) -> np.ndarray:
    """Hidden states on one walk over a whole text, (characters, hidden)."""
    import torch

    with torch.no_grad():
        x = torch.nn.functional.one_hot(torch.from_numpy(symbols), len(ALPHABET)).float()
        return model.layer(x[None])[0][0].double().numpy()


def sample_text(model: Any, start: str, length: int, generator: "torch.Generator") -> str:
    """Let a model write: each next character is drawn from what it predicts, and read as the next input.

    Args:
        model: what `character_model` gives.
        start: what it reads first.
        length: number of characters to write.
        generator: source of the draws.
    """
    import torch

    written, state, new = start, None, encode(start)
    with torch.no_grad():
        for _ in range(length):
            x = torch.nn.functional.one_hot(torch.from_numpy(new), len(ALPHABET)).float()
            output, state = model.layer(x[None], state)
            chances = torch.softmax(model.linear(output[0, -1]), dim=0)
            new = torch.multinomial(chances, 1, generator=generator).numpy()
            written += ALPHABET[int(new[0])]
    return written


@dataclass(frozen=True)
class Detector:
    """One unit and one threshold that answer a yes-or-no question about each character.

    Attributes:
        unit: which unit.
        threshold: where the answer changes.
        above: whether yes is above the threshold.
        accuracy: share of right answers on the half that was not searched.
        majority: share of right answers there of always giving the commoner answer.
    """

    unit: int
    threshold: float
    above: bool
    accuracy: float
    majority: float


def best_detector(states: np.ndarray, answers: np.ndarray) -> Detector:
    """The unit and threshold with the most right answers on the first half, measured on the second.

    Args:
        states: hidden states (characters, hidden).
        answers: the right answers (characters,) of bool.

    Raises:
        ValueError: if the lengths differ.
    """
    if len(states) != len(answers):
        raise ValueError(f"{len(answers)} answers came for {len(states)} states; expected one each")
    half = len(answers) // 2
    best = (-1.0, 0, 0.0, True)
    for unit, values in enumerate(states[:half].T):
        order = np.argsort(values, kind="stable")
        yes = np.cumsum(answers[:half][order])
        count = np.arange(1, half + 1)
        # Right answers of 'yes at or below this value': the yes below and the no above.
        below = (yes + (half - count) - (yes[-1] - yes)) / half
        for above, right in ((False, below), (True, 1 - below)):
            k = int(right.argmax())
            if right[k] > best[0]:
                best = (float(right[k]), unit, float(values[order[k]]), above)
    _, unit, threshold, above = best
    said = (states[half:, unit] > threshold) == above
    share = float(answers[half:].mean())
    return Detector(unit, threshold, above, float((said == answers[half:]).mean()), max(share, 1 - share))

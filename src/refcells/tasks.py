"""Small synthetic tasks, each of which isolates one ability. Every draw takes its generator.

| task | what it needs | chance, or the trivial answer |
| --- | --- | --- |
| `remember_first` | keep one symbol | accuracy 1 / symbols |
| `remember_last` | ignore all but the last symbol | accuracy 1 / symbols |
| `adding` | add two marked numbers | mean squared error 1/6, by always answering 1 |
| `copying` | keep a whole string | `copying_baseline`, by guessing the string |
| `tagging` | know both sides | `tagging_baseline`, by one direction alone |

This module holds no cell, so a notebook may import it while it is graded.
"""

import math

import torch
from torch import Tensor

__all__ = [
    "IGNORED",
    "adding",
    "copying",
    "copying_baseline",
    "remember_first",
    "remember_last",
    "tagging",
    "tagging_baseline",
]

IGNORED = -100
"""Target of a padded step, which `torch.nn.functional.cross_entropy` leaves out by default."""


def _check_counts(**counts: int) -> None:
    """Refuse a count that is not positive."""
    for name, value in counts.items():
        if value < 1:
            raise ValueError(f"{name} is {value}; expected at least 1")


def _one_hot(symbols: Tensor, kinds: int) -> Tensor:
    """Whole numbers (batch, steps) as float32 (batch, steps, kinds)."""
    return torch.nn.functional.one_hot(symbols, kinds).to(torch.float32)


def remember_first(
    batch: int, steps: int, symbols: int = 8, *, generator: torch.Generator, distractors: bool = False
) -> tuple[Tensor, Tensor]:
    """Name the symbol that was shown at the first time step.

    After it come `steps - 1` steps of silence, or of other symbols that do not count.

    Args:
        batch: number of sequences.
        steps: sequence length, in time steps.
        symbols: number of different symbols; chance is 1 / symbols.
        generator: source of the random symbols.
        distractors: whether later steps show random symbols too, in place of silence.

    Returns:
        `(x, y)`: x (batch, steps, symbols) float32, one-hot, 0 at silent steps; y (batch,) int64, the symbol.

    Raises:
        ValueError: if a count is not positive.

    Source:
        The simplest of the long-time-lag tasks of Hochreiter and Schmidhuber (1997), section 5.
    """
    _check_counts(batch=batch, steps=steps, symbols=symbols)
    if distractors:
        shown = torch.randint(symbols, (batch, steps), generator=generator)
        return _one_hot(shown, symbols), shown[:, 0]
    y = torch.randint(symbols, (batch,), generator=generator)
    x = torch.zeros(batch, steps, symbols)
    x[torch.arange(batch), 0, y] = 1.0
    return x, y


def remember_last(
    batch: int, steps: int, symbols: int = 8, *, generator: torch.Generator
) -> tuple[Tensor, Tensor]:
    """Name the symbol that was shown at the last time step, after `steps - 1` that do not count.

    The sequences are those of `remember_first` with distractors: only the question differs.

    Args:
        batch: number of sequences.
        steps: sequence length, in time steps.
        symbols: number of different symbols; chance is 1 / symbols.
        generator: source of the random symbols.

    Returns:
        `(x, y)`: x (batch, steps, symbols) float32, one-hot; y (batch,) int64, the last symbol.

    Raises:
        ValueError: if a count is not positive.

    Source:
        The counterpart to `remember_first`, made for this course.
    """
    _check_counts(batch=batch, steps=steps, symbols=symbols)
    shown = torch.randint(symbols, (batch, steps), generator=generator)
    return _one_hot(shown, symbols), shown[:, -1]


def adding(batch: int, steps: int, *, generator: torch.Generator) -> tuple[Tensor, Tensor]:
    """Add two numbers out of many: those that are marked, one in each half of the sequence.

    The answer 1, whatever is shown, has a mean squared error of 1/6: the variance of a sum of two uniform
    numbers.

    Args:
        batch: number of sequences.
        steps: sequence length, in time steps, at least 2.
        generator: source of the numbers and of the marked positions.

    Returns:
        `(x, y)`: x (batch, steps, 2) float32, a number in [0, 1) and a mark of 0 or 1; y (batch, 1)
        float32, the sum of the two marked numbers.

    Raises:
        ValueError: if `batch` is below 1 or `steps` below 2.

    Source:
        Hochreiter and Schmidhuber (1997), section 5.4, in the form of Le, Jaitly and Hinton (2015).
    """
    _check_counts(batch=batch)
    if steps < 2:
        raise ValueError(f"steps is {steps}; expected at least 2, one in each half")
    numbers = torch.rand(batch, steps, generator=generator)
    half = steps // 2
    first = torch.randint(half, (batch,), generator=generator)
    second = torch.randint(half, steps, (batch,), generator=generator)
    marks = torch.zeros(batch, steps)
    rows = torch.arange(batch)
    marks[rows, first] = 1.0
    marks[rows, second] = 1.0
    return torch.stack([numbers, marks], dim=2), (numbers * marks).sum(dim=1, keepdim=True)


def copying(
    batch: int, delay: int, length: int = 10, symbols: int = 8, *, generator: torch.Generator
) -> tuple[Tensor, Tensor]:
    """Repeat a string after a pause.

    The string takes `length` steps, then come `delay` steps of blanks, the last of which is the signal to
    start, and `length` more blanks under which the string is to be repeated. Everywhere else the right
    answer is blank.

    Args:
        batch: number of sequences.
        delay: number of steps between the string and its repetition, the signal included, at least 1.
        length: number of symbols in the string.
        symbols: number of different symbols, beside the blank and the signal.
        generator: source of the strings.

    Returns:
        `(x, y)`: x (batch, delay + 2 * length, symbols + 2) float32, one-hot, where class `symbols` is the
        blank and `symbols + 1` the signal; y (batch, delay + 2 * length) int64.

    Raises:
        ValueError: if a count is not positive.

    Source:
        Hochreiter and Schmidhuber (1997); in this form Arjovsky, Shah and Bengio (2016), section 5.1.
    """
    _check_counts(batch=batch, delay=delay, length=length, symbols=symbols)
    blank, signal = symbols, symbols + 1
    string = torch.randint(symbols, (batch, length), generator=generator)
    shown = torch.full((batch, delay + 2 * length), blank)
    shown[:, :length] = string
    shown[:, length + delay - 1] = signal
    y = torch.full_like(shown, blank)
    y[:, -length:] = string
    return _one_hot(shown, symbols + 2), y


def copying_baseline(delay: int, length: int = 10, symbols: int = 8) -> float:
    r"""Cross-entropy of the best answer without memory: blank where blank is due, any symbol where one is.

    $$\frac{\text{length} \cdot \ln \text{symbols}}{\text{delay} + 2\,\text{length}}$$

    Args:
        delay: as in `copying`.
        length: as in `copying`.
        symbols: as in `copying`.

    Returns:
        The mean over all steps, in nats.

    Raises:
        ValueError: if a count is not positive.

    Source:
        Arjovsky, Shah and Bengio (2016), section 5.1.
    """
    _check_counts(delay=delay, length=length, symbols=symbols)
    return length * math.log(symbols) / (delay + 2 * length)


def tagging(
    batch: int,
    steps: int,
    symbols: int = 2,
    *,
    generator: torch.Generator,
    density: float = 0.3,
    shortest: int | None = None,
) -> tuple[Tensor, Tensor, Tensor]:
    """Tag each time step with the symbols on its two sides.

    Some steps show a symbol, the others are silent; the first and the last always show one. The tag of a
    step is the pair (latest symbol up to it, earliest symbol from it on), so at a shown step both are that
    symbol. A network that reads from the left can know the first of the pair and has to guess the second;
    from the right it is the other way round; only both together can know both.

    Args:
        batch: number of sequences.
        steps: number of time steps of the longest sequence possible, at least 2.
        symbols: number of different symbols.
        generator: source of the lengths and symbols.
        density: share of the inner steps that show a symbol, from 0 to 1.
        shortest: least length, at least 2; lengths are drawn from there to `steps`. If None all are full.

    Returns:
        `(x, y, lengths)`: x (batch, steps, symbols) float32, one-hot where a symbol is shown, else 0; y
        (batch, steps) int64, left * symbols + right, `IGNORED` at padded steps; lengths (batch,) int64, in
        time steps.

    Raises:
        ValueError: if a count is too small, or `density` or `shortest` is out of its range.

    Source:
        Made for this course, after the argument of Schuster and Paliwal (1997).
    """
    _check_counts(batch=batch, symbols=symbols)
    if steps < 2:
        raise ValueError(f"steps is {steps}; expected at least 2, a first and a last one")
    if not 0.0 <= density <= 1.0:
        raise ValueError(f"density is {density}; expected 0 to 1")
    if shortest is not None and not 2 <= shortest <= steps:
        raise ValueError(f"shortest is {shortest}; expected 2 to {steps}")
    least = steps if shortest is None else shortest
    lengths = torch.randint(least, steps + 1, (batch,), generator=generator)
    symbol = torch.randint(symbols, (batch, steps), generator=generator)
    shown = torch.rand(batch, steps, generator=generator) < density
    time = torch.arange(steps)
    shown |= (time == 0) | (time == lengths[:, None] - 1)
    alive = time < lengths[:, None]
    shown &= alive

    # Position of the latest shown step up to each step, and of the earliest from it on.
    left = torch.where(shown, time, 0).cummax(dim=1).values
    right = torch.where(shown, time, steps - 1).flip(1).cummin(dim=1).values.flip(1)
    tag = symbol.gather(1, left) * symbols + symbol.gather(1, right)
    x = _one_hot(symbol, symbols) * shown[:, :, None]
    return x, torch.where(alive, tag, IGNORED), lengths


def tagging_baseline(steps: int, symbols: int = 2, density: float = 0.3) -> float:
    r"""Accuracy that one direction alone can expect on full-length sequences of `tagging`, at best.

    It knows the tag of a shown step, and guesses the other side of a silent one:

    $$\frac{2 + (T - 2)\,q}{T}, \qquad q = \text{density} + \frac{1 - \text{density}}{\text{symbols}}$$

    Args:
        steps: sequence length T, in time steps.
        symbols: as in `tagging`.
        density: as in `tagging`.

    Returns:
        The expected share of right tags, between 0 and 1.

    Raises:
        ValueError: if `steps` is below 2, `symbols` below 1, or `density` out of range.

    Source:
        Follows from the definition of the task.
    """
    _check_counts(symbols=symbols)
    if steps < 2:
        raise ValueError(f"steps is {steps}; expected at least 2")
    if not 0.0 <= density <= 1.0:
        raise ValueError(f"density is {density}; expected 0 to 1")
    inner = density + (1.0 - density) / symbols
    return (2.0 + (steps - 2) * inner) / steps

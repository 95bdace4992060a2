"""Small synthetic tasks, each of which isolates one ability. Every draw takes its generator.

This module holds no cell, so a notebook may import it while it is graded.
"""

import torch
from torch import Tensor

__all__ = ["remember_first"]


def remember_first(
    batch: int, steps: int, symbols: int = 8, *, generator: torch.Generator
) -> tuple[Tensor, Tensor]:
    """Name the symbol that was shown at the first time step, after `steps - 1` steps of silence.

    Args:
        batch: number of sequences.
        steps: sequence length, in time steps.
        symbols: number of different symbols; chance is 1 / symbols.
        generator: source of the random symbols.

    Returns:
        `(x, y)`: x (batch, steps, symbols) float32, one-hot at the first step and 0 after it; y (batch,) int64, the
        symbol.

    Raises:
        ValueError: if a count is not positive.

    Source:
        The simplest of the long-time-lag tasks of Hochreiter and Schmidhuber (1997), section 5.
    """
    for name, value in (("batch", batch), ("steps", steps), ("symbols", symbols)):
        if value < 1:
            raise ValueError(f"{name} is {value}; expected at least 1")
    y = torch.randint(symbols, (batch,), generator=generator)
    x = torch.zeros(batch, steps, symbols)
    x[torch.arange(batch), 0, y] = 1.0
    return x, y

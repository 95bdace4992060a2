"""Mistakes in how a torch module's parameters are made."""

from collections.abc import Callable
from typing import Any

import torch
from torch import nn

from refcells.autotest.mistakes import Mistake

__all__ = ["drawn", "made"]


def drawn(hidden_size: int, *shape: int) -> nn.Parameter:
    """A parameter as PyTorch draws it, uniform in plus or minus 1 / sqrt(hidden)."""
    return nn.Parameter(torch.empty(*shape).uniform_(-(hidden_size**-0.5), hidden_size**-0.5))


def made(name: str, hint: str, source: str, parameters: Callable[[int, int], dict[str, Any]]) -> Mistake:
    """A mistake in how the parameters are made, from the input size and the hidden size."""

    class Cell(nn.Module):
        def __init__(self, input_size: int, hidden_size: int) -> None:
            super().__init__()
            for attribute, value in parameters(input_size, hidden_size).items():
                setattr(self, attribute, value)

    return Mistake(name, hint, source, lambda: Cell)

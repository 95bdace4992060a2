"""Mistakes in how a torch module's parameters are made."""

from collections.abc import Callable
from typing import Any

import torch
from torch import nn

from refcells.autotest.mistakes import Mistake

__all__ = ["drawn", "in_a_list", "made", "own", "transposed"]


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


def own(gates: int, d: int, h: int) -> dict[str, nn.Parameter]:
    """The parameters as they should be, for so many stacked blocks."""
    shapes = {
        "weight_ih": (gates * h, d),
        "weight_hh": (gates * h, h),
        "bias_ih": (gates * h,),
        "bias_hh": (gates * h,),
    }
    return {name: drawn(h, *shape) for name, shape in shapes.items()}


def in_a_list(gates: int) -> Mistake:
    """Parameters that the module does not find."""
    return made(
        "kept in a Python list",
        "the parameters are kept in a Python list or as plain tensors: a module finds only an nn.Parameter that is its "
        "own attribute, or one in an nn.ParameterList.",
        "pytorch#715",
        lambda d, h: {"weights": list(own(gates, d, h).values())},
    )


def transposed(gates: int) -> Mistake:
    """Weights in Keras's layout."""
    rows = "H" if gates == 1 else f"{gates}H"
    return made(
        "weights transposed",
        f"the weights are stored as (D, {rows}) and (H, {rows}), as Keras has them; PyTorch has ({rows}, D) and ({rows}, H).",
        "layouts differ between libraries",
        lambda d, h: {
            **own(gates, d, h),
            "weight_ih": drawn(h, d, gates * h),
            "weight_hh": drawn(h, h, gates * h),
        },
    )

"""How functions of arrays that need more than a plain call are put to use. Like `probes`, this holds nothing of any answer.

PyTorch is imported when it is needed.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from refcells.autotest.calls import Unfit

__all__ = ["of_a_loss", "on_tensors"]

Array = np.ndarray


def on_tensors(work: Callable[..., Any], output: Array, h_n: Array) -> Array:
    """Call a function with tensors, and give an array back."""
    import torch

    result = work(torch.tensor(output), torch.tensor(h_n))
    if not isinstance(result, torch.Tensor):
        raise Unfit(f"a {type(result).__name__} came back; expected a tensor")
    return result.detach().numpy()


def of_a_loss(work: Callable[..., Any], x: Array, weight: Array, eps: float) -> Any:
    """Use the student's function on a cubic loss in which all entries of x meet."""

    def loss(values: Array) -> float:
        if not isinstance(values, np.ndarray) or values.shape != x.shape:
            came = getattr(values, "shape", type(values).__name__)
            raise Unfit(f"it called f with {came}; f takes an array of x's shape, {x.shape}")
        return float((weight * values**3).sum() + (weight * values).sum() ** 2)

    given = x.copy()
    gradient = work(loss, given, eps)
    if np.abs(given - x).max() > 1e-9:
        raise Unfit("x is not what it was after the call: put each entry back, or work on a copy")
    return gradient

"""Four gates in one matrix product, or each in its own: the time of a step, by size, forward and with the backward pass."""

import math
import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import linear

from refcells.experiments import Experiment
from refcells.torch_cells import LSTMCell

__all__ = ["EXPERIMENTS", "fused_gates", "fused_step", "separate_step"]


def fused_step(cell: LSTMCell, x: Tensor, h: Tensor, c: Tensor) -> tuple[Tensor, Tensor]:
    """The step of `cell` without its checks: two products, split into the four gates afterwards."""
    a = linear(x, cell.weight_ih, cell.bias_ih) + linear(h, cell.weight_hh, cell.bias_hh)
    a_i, a_f, a_g, a_o = a.chunk(4, dim=-1)
    c = torch.sigmoid(a_f) * c + torch.sigmoid(a_i) * torch.tanh(a_g)
    return torch.sigmoid(a_o) * torch.tanh(c), c


def separate_step(cell: LSTMCell, x: Tensor, h: Tensor, c: Tensor) -> tuple[Tensor, Tensor]:
    """The same step with eight products, one for each gate and each of x and h."""
    a_i, a_f, a_g, a_o = (
        linear(x, W_x, b_x) + linear(h, W_h, b_h)
        for W_x, W_h, b_x, b_h in zip(
            cell.weight_ih.chunk(4),
            cell.weight_hh.chunk(4),
            cell.bias_ih.chunk(4),
            cell.bias_hh.chunk(4),
            strict=True,
        )
    )
    c = torch.sigmoid(a_f) * c + torch.sigmoid(a_i) * torch.tanh(a_g)
    return torch.sigmoid(a_o) * torch.tanh(c), c


def shortest(functions: Sequence[Callable[[], Any]], repeats: int, calls: int) -> list[float]:
    """Processor time of one call of each function, in seconds: the shortest of several timings, taken in turn.

    Taken in turn, so that a disturbance meets all of them; the shortest, because it was disturbed least.

    Args:
        functions: what is timed.
        repeats: number of timings of each.
        calls: number of calls in one timing.
    """
    times = [math.inf] * len(functions)
    for _ in range(repeats):
        for k, function in enumerate(functions):
            started = time.process_time()
            for _ in range(calls):
                function()
            times[k] = min(times[k], (time.process_time() - started) / calls)
    return times


def fused_gates(batch: int, width: int, seed: int, repeats: int) -> dict[str, float]:
    """Time one step of an LSTM cell on one thread, with separate and with fused gates.

    Args:
        batch: number of sequences.
        width: width of the inputs and of the states.
        seed: seed of weights, inputs and states.
        repeats: number of timings; the shortest counts.

    Returns:
        Microseconds: 'separate' and 'fused' for the step alone, 'separate_backward' and 'fused_backward' for the
        step with the gradients of all parameters.
    """
    generator = torch.Generator().manual_seed(seed)
    cell = LSTMCell(width, width, generator=generator)
    x, h, c = (torch.randn(batch, width, generator=generator) for _ in range(3))
    parameters = tuple(cell.parameters())

    def backward(step: Callable[[], tuple[Tensor, Tensor]]) -> Callable[[], Any]:
        def run() -> Any:
            h_next, c_next = step()
            return torch.autograd.grad(h_next.sum() + c_next.sum(), parameters)

        return run

    steps = [partial(step, cell, x, h, c) for step in (separate_step, fused_step)]
    # About two milliseconds a timing, from the arithmetic of the eight products.
    calls = max(1, round(2e-3 / (2e-4 + 16 * batch * width**2 / 3e10)))
    with torch.no_grad():
        forward = shortest(steps, repeats, calls)
    both = shortest([backward(step) for step in steps], repeats, calls)
    names = ("separate", "fused", "separate_backward", "fused_backward")
    return {name: round(1e6 * seconds, 1) for name, seconds in zip(names, forward + both, strict=True)}


def ratios(result: dict[str, float]) -> tuple[float, float]:
    """Time of the separate form over that of the fused one: forward, and with the backward pass."""
    return result["separate"] / result["fused"], result["separate_backward"] / result["fused_backward"]


def close(kept: dict[str, float], again: dict[str, float]) -> bool:
    """Whether both ratios come out again within a factor of 2: another machine has another cost of a call."""
    return all(1 / 2 < a / b < 2 for a, b in zip(ratios(kept), ratios(again), strict=True))


SIZES = ((1, 32), (1, 128), (32, 32), (32, 128), (64, 256), (64, 512))
PARTS = [{"batch": batch, "width": width, "seed": 0, "repeats": 100} for batch, width in SIZES]

EXPERIMENTS = [Experiment("lstm-fused-gates", fused_gates, PARTS, [0, 2], close)]

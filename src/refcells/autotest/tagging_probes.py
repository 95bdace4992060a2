"""How the functions and the module of a tagger are put to use: arrays go in, arrays come out.

Like `refcells.autotest.probes`, this holds nothing of any answer.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch
from torch import nn

from refcells.autotest import trained_probes
from refcells.autotest.calls import Unfit
from refcells.autotest.compare import a_or_an
from refcells.autotest.probes import (
    _after_updates,
    _array,
    _built,
    _check_taken,
    _counting,
    _pair,
    _tensor,
)
from refcells.autotest.trained_probes import HELD_OUT
from refcells.tasks import tagging
from refcells.training import accuracy

__all__ = [
    "accuracy_of",
    "loss_of",
    "mask_of",
    "padded",
    "run_packed",
    "start_state",
    "tagged",
    "trained_tagger",
]

Array = np.ndarray
State = dict[str, Array]


def padded(function: Callable[..., Any], *sequences: Array) -> tuple[Array, Array]:
    """A padded batch and its lengths, from sequences (time, input) of different lengths."""
    x, lengths = _pair(function([_tensor(sequence) for sequence in sequences]), "x and lengths")
    return _array(x, "x"), _array(lengths, "lengths").astype(float)


def run_packed(
    function: Callable[..., Any], layers: int, state: State, x: Array, lengths: Array
) -> tuple[Array, Array]:
    """Outputs and last states of a bidirectional nn.GRU that a function runs over a padded batch."""
    hidden = state["weight_hh_l0"].shape[1]
    layer = _built(
        lambda d, h: nn.GRU(d, h, layers, batch_first=True, bidirectional=True), (x.shape[2], hidden), state
    )
    output, h_n = _pair(function(layer, _tensor(x), torch.tensor(lengths)), "output and h_n")
    return _array(output, "output"), _array(h_n, "h_n")


def start_state(function: Callable[..., Any], start: Array, batch: int) -> Array:
    """The initial state that a function makes of one start vector a layer and direction."""
    return _array(function(_tensor(start), batch), "the state")


def mask_of(function: Callable[..., Any], lengths: Array, steps: int) -> Array:
    """A mask as 0 and 1."""
    mask = function(torch.tensor(lengths), steps)
    if not isinstance(mask, torch.Tensor):
        raise Unfit(f"{a_or_an(type(mask).__name__)} came back; expected a tensor")
    if mask.dtype != torch.bool:
        raise Unfit(f"the mask holds {mask.dtype}; expected torch.bool, which a comparison gives")
    return mask.double().numpy()


def loss_of(function: Callable[..., Any], scores: Array, y: Array, mask: Array) -> tuple[float, Array]:
    """A loss, and its gradient for the scores."""
    leaf = _tensor(scores, grad=True)
    loss = function(leaf, torch.tensor(y), torch.tensor(mask))
    if not isinstance(loss, torch.Tensor):
        raise Unfit(
            f"{a_or_an(type(loss).__name__)} came back; expected the loss as a tensor, to call backward on"
        )
    if loss.dim():
        raise Unfit(f"a tensor of shape {tuple(loss.shape)} came back; expected the loss, one number")
    if loss.grad_fn is None:
        raise Unfit("the loss does not carry a gradient: it was detached, or computed outside of torch")
    loss.backward()
    return loss.item(), np.zeros(scores.shape) if leaf.grad is None else leaf.grad.numpy()


def accuracy_of(function: Callable[..., Any], scores: Array, y: Array, mask: Array) -> float:
    """An accuracy."""
    share = function(_tensor(scores), torch.tensor(y), torch.tensor(mask))
    if isinstance(share, torch.Tensor) and share.dim() == 0:
        share = share.item()
    if not isinstance(share, float | int):
        raise Unfit(f"{a_or_an(type(share).__name__)} came back; expected one number between 0 and 1")
    return float(share)


def tagged(cls: Callable[..., Any], sizes: Sequence[int], state: State, x: Array, lengths: Array) -> Array:
    """A tagger's scores at the steps that are there; at padded steps, which nobody reads, 0."""
    module = cls(*sizes)
    if not isinstance(module, nn.Module):
        raise Unfit(f"it gave {a_or_an(type(module).__name__)}; expected a torch.nn.Module")
    module = module.double()
    own = {name: tuple(parameter.shape) for name, parameter in module.named_parameters()}
    expected = {name: array.shape for name, array in state.items()}
    if own != expected:
        came = ", ".join(f"{name} {shape}" for name, shape in own.items()) or "none"
        wrong = [name for name, shape in expected.items() if own.get(name) != shape]
        more = f"; {len(wrong) - 1} more differ" if len(wrong) > 1 else ""
        raise Unfit(
            f"its parameters are {came[:200]}; expected {wrong[0]} {expected[wrong[0]]}{more}"
            if wrong
            else f"it has more parameters than asked for: {came[:200]}"
        )
    module.load_state_dict({name: _tensor(array) for name, array in state.items()})
    scores = _array(module(_tensor(x), torch.tensor(lengths)), "the scores")
    if scores.shape != (*x.shape[:2], sizes[2]):
        raise Unfit(
            f"the scores have shape {scores.shape}; expected {(*x.shape[:2], sizes[2])} = (batch, time, class)"
        )
    alive = np.arange(x.shape[1])[None, :] < lengths[:, None]
    return np.where(alive[:, :, None], scores, 0.0)


def trained_tagger(
    function: Callable[..., Any], steps: int, shortest: int, most: int, enough: float, seed: int
) -> list[Array]:
    """The parameters of the tagger that a function builds and trains, with at most so many updates.

    How well it tags is counted with these by whoever judges. The function's random numbers have to come from the generator it
    is given: its first updates are made twice. The best of up to three trainings counts. A model that falls short is asked
    whether it looks ahead at all.
    """
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        first, again = (_after_updates(function, steps, 2, seed) for _ in range(2))
        if len(first) != len(again) or not all(
            one.shape == other.shape and torch.allclose(one, other, rtol=1e-4, atol=1e-6)
            for one, other in zip(first, again, strict=True)
        ):
            raise Unfit(
                "two runs with equal generators went different ways: some random number does not come from `generator`"
            )
        best = -1.0
        parameters: list[Array] = []
        for attempt in range(3):
            score, came = _trained(function, steps, shortest, most, enough, seed + 2 * attempt, seed)
            if score > best:
                best, parameters = score, came
            if best >= enough:
                break
        taken = trained_probes.tagged(parameters, steps, shortest, most, enough, seed)
        _check_taken(best, taken, enough, "tagger")
        return parameters
    finally:
        torch.set_num_threads(threads)


def _trained(
    function: Callable[..., Any],
    steps: int,
    shortest: int,
    most: int,
    enough: float,
    seed: int,
    seed_held_out: int,
) -> tuple[float, list[Array]]:
    """Accuracy of one trained model on sequences that it was not trained on, and its parameters."""

    def allow(updates: int, _: torch.optim.Optimizer) -> None:
        if updates > most:
            raise Unfit(f"it makes more than {most} updates, which is what the exercise allows")

    with _counting(allow):
        model = function(steps, torch.Generator().manual_seed(seed))
    if not isinstance(model, nn.Module):
        raise Unfit(f"{a_or_an(type(model).__name__)} came back; expected the trained model")
    x, y, lengths = tagging(
        HELD_OUT, steps, generator=trained_probes.held_out(seed_held_out), shortest=shortest
    )
    with torch.no_grad():
        scores = model(x, lengths)
        if not isinstance(scores, torch.Tensor) or scores.shape != (*y.shape, 4):
            came = tuple(scores.shape) if isinstance(scores, torch.Tensor) else type(scores).__name__
            raise Unfit(
                f"the model's scores for {HELD_OUT} sequences are {came}; expected shape {(*y.shape, 4)}"
            )
        share = accuracy(scores, y)
        if share < enough:
            _check_looks_both_ways(model, x, lengths, scores)
    return share, trained_probes.parameters_of(model.parameters())


def _check_looks_both_ways(
    model: nn.Module, x: torch.Tensor, lengths: torch.Tensor, scores: torch.Tensor
) -> None:
    """Refuse a tagger whose scores at one end do not depend on the input at the other."""
    rows, last = torch.arange(len(x)), lengths - 1
    for changed_at, looked_at, side in ((last, 0 * last, "after"), (0 * last, last, "before")):
        other = x.clone()
        other[rows, changed_at] = 1.0 - other[rows, changed_at]
        if torch.equal(model(other, lengths)[rows, looked_at], scores[rows, looked_at]):
            raise Unfit(f"the trained model's scores at a step do not depend on what comes {side} it")

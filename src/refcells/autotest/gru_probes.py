"""How GRU modules, weight conversions and a comparison of two layers are put to use. Like `probes`, it holds no answer."""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from refcells.autotest import trained_probes
from refcells.autotest.calls import Unfit
from refcells.autotest.probes import (
    Array,
    State,
    _after_updates,
    _array,
    _built,
    _check_taken,
    _counting,
    _tensor,
)
from refcells.tasks import remember_first
from refcells.training import LastStepClassifier, accuracy, redraw

__all__ = [
    "compared",
    "gru_cell_gradients",
    "gru_cell_step",
    "trained_until",
    "weights_from_state",
    "weights_put_to_use",
]

# Symbols and hidden units of the trained classifiers.
K, UNITS = 8, 32
LAYERS: dict[str, Any] = {"lstm": nn.LSTM, "gru": nn.GRU}
TITLES = {"lstm": "an LSTM", "gru": "a GRU"}


# --- a cell -----------------------------------------------------------------------------------------------------------


def gru_cell_step(cls: Callable[..., Any], sizes: Sequence[int], state: State, x: Array, h: Array) -> Array:
    """One step of a cell with the given parameters."""
    return _array(_built(cls, sizes, state, "nn.GRUCell")(_tensor(x), _tensor(h)), "h")


def gru_cell_gradients(
    cls: Callable[..., Any], sizes: Sequence[int], state: State, x: Array, h: Array, d_h: Array
) -> tuple[Array, ...]:
    """Gradients of one step's arguments and parameters, from autograd."""
    module = _built(cls, sizes, state, "nn.GRUCell")
    arguments = [_tensor(array, grad=True) for array in (x, h)]
    new = module(*arguments)
    if not isinstance(new, Tensor) or new.grad_fn is None:
        raise Unfit("h does not carry a gradient: it was detached, or computed outside of torch")
    (new * _tensor(d_h)).sum().backward()
    leaves = [*arguments, *(dict(module.named_parameters())[name] for name in state)]
    return tuple(np.zeros(leaf.shape) if leaf.grad is None else leaf.grad.numpy() for leaf in leaves)


# --- weights ----------------------------------------------------------------------------------------------------------


def weights_from_state(
    function: Callable[..., Any], sizes: Sequence[int], state: State
) -> tuple[Array, Array, Array, Array]:
    """What a function makes of the state dict of an nn.GRUCell: four arrays."""
    cell = _built(nn.GRUCell, sizes, state)
    with _unchanged(cell.state_dict(), "the state dict"):
        result = function(cell.state_dict())
    if not isinstance(result, tuple | list) or len(result) != 4:
        came = f"{len(result)} results" if isinstance(result, tuple | list) else f"a {type(result).__name__}"
        raise Unfit(f"{came} came back; expected four: W_x, W_h, b and b_hn")
    W_x, W_h, b, b_hn = (
        _array(value, name) for value, name in zip(result, ("W_x", "W_h", "b", "b_hn"), strict=True)
    )
    return W_x, W_h, b, b_hn


def weights_put_to_use(
    function: Callable[..., Any],
    sizes: Sequence[int],
    weights: Sequence[Array],
    x: Array,
    h: Array,
) -> Array:
    """One step of an nn.GRUCell with the state dict that a function makes of four arrays."""
    tensors = [_tensor(array) for array in weights]
    with _unchanged(dict(zip(("W_x", "W_h", "b", "b_hn"), tensors, strict=True)), "an argument"):
        state = function(*tensors)
    if not isinstance(state, Mapping):
        raise Unfit(f"a {type(state).__name__} came back; expected a state dict")
    cell = _built(nn.GRUCell, sizes)
    try:
        cell.load_state_dict(dict(state))
    except (RuntimeError, AttributeError) as error:
        reason = " ".join(str(error).split()[:60])
        raise Unfit(f"an nn.GRUCell does not load it: {reason}") from None
    return _array(cell(_tensor(x), _tensor(h)), "h")


@contextmanager
def _unchanged(tensors: Mapping[str, Tensor], what: str) -> Iterator[None]:
    """Refuse a function that writes into the tensors it is given."""
    before = {name: tensor.clone() for name, tensor in tensors.items()}
    yield
    for name, tensor in tensors.items():
        if not torch.equal(tensor, before[name]):
            raise Unfit(
                f"{what} was written into ({name}); a cell that still uses these numbers changes with them"
            )


# --- training ---------------------------------------------------------------------------------------------------------


def trained_until(
    function: Callable[..., Any], steps: int, most: int, enough: float, seed: int
) -> list[Array]:
    """Parameters of the best of up to three GRUs after a function has trained it until it had learnt.

    What the function reports is held against what it did: the optimiser's updates are counted, the clock is read, and
    the model is asked about fresh sequences. What the GRU remembers is counted by whoever judges.
    """
    with _one_thread():
        _check_repeatable(
            lambda generator: function(_classifier("gru", 1.0, seed), steps, most, generator), seed
        )
        # Too few updates to learn anything: the last one is not at a measurement.
        _trained_once(function, "lstm", 0.0, 4 * steps, 30, seed, seed)
        best, late = -1.0, False
        parameters: list[Array] = []
        for attempt in range(3):
            score, updates, came = _trained_once(function, "gru", 3.0, steps, most, seed + 2 * attempt, seed)
            if score >= enough and updates == most:
                late = True
                continue
            late = False
            if score > best:
                best, parameters = score, came
            if best >= enough:
                break
        if late:
            raise Unfit("it trains on to the last update that is allowed, long after the accuracy is reached")
        _check_taken(
            best, trained_probes.remembered_by_gru(parameters, steps, most, enough, seed), enough, "gru"
        )
        return parameters


def _trained_once(
    function: Callable[..., Any],
    kind: str,
    bias: float,
    steps: int,
    most: int,
    seed: int,
    seed_held_out: int,
) -> tuple[float, int, list[Array]]:
    """One call: the trained model's accuracy on fresh sequences, the number of updates, and its parameters."""
    model = _classifier(kind, bias, seed)
    made = 0

    def allow(updates: int, _: torch.optim.Optimizer) -> None:
        nonlocal made
        made = updates
        if updates > most:
            raise Unfit("it makes more updates than `most` allows")

    started = time.perf_counter()
    with _counting(allow):
        result = function(model, steps, most, torch.Generator().manual_seed(seed))
    elapsed = time.perf_counter() - started
    _check_result(result, made, elapsed)
    x, y = remember_first(trained_probes.HELD_OUT, steps, K, generator=trained_probes.held_out(seed_held_out))
    with torch.no_grad():
        score = accuracy(model(x), y)
    if abs(result["accuracy"] - score) > 0.15:
        raise Unfit("the accuracy in its result is not that of the trained model on fresh sequences")
    return score, made, trained_probes.parameters_of(model.parameters())


def compared(
    function: Callable[..., Any], steps: int, bias: float, most: int, enough: float, seed: int
) -> dict[str, list[Array]]:
    """Parameters of the LSTM and the GRU that a function trains and reports on; the best of up to three counts.

    They are those that the optimisers held, since the function gives back its reports alone.
    """
    with _one_thread():
        _check_repeatable(lambda generator: function(steps, bias, generator), seed)
        best = -1.0
        parameters: dict[str, list[Array]] = {}
        for attempt in range(3):
            reported, came = _compared_once(function, steps, bias, most, seed + 2 * attempt)
            shares = trained_probes.shares_remembered(came, steps, seed)
            if any(abs(reported[kind] - share) > 0.15 for kind, share in shares.items()):
                raise Unfit("an accuracy in its result is not that of the trained model on fresh sequences")
            score = min(shares.values())
            if score > best:
                best, parameters = score, came
            if best >= enough:
                break
        return parameters


def _compared_once(
    function: Callable[..., Any], steps: int, bias: float, most: int, seed: int
) -> tuple[dict[str, float], dict[str, list[Array]]]:
    """One comparison: the accuracies that it reports, and the parameters that it leaves."""
    made = dict.fromkeys(LAYERS, 0)
    held: dict[str, list[Tensor]] = {}

    def look(_: int, optimizer: torch.optim.Optimizer) -> None:
        parameters = [p.detach() for group in optimizer.param_groups for p in group["params"]]
        rows = {len(p) for p in parameters if p.dim() == 2 and p.shape[1] == UNITS}
        kind = "lstm" if 4 * UNITS in rows else "gru" if 3 * UNITS in rows else None
        if kind is None:
            raise Unfit(f"its optimiser holds neither an LSTM nor a GRU with {UNITS} units")
        made[kind] += 1
        held[kind] = parameters
        if made[kind] > most:
            raise Unfit(
                f"it makes more than {most} updates of {TITLES[kind]}, which is what the exercise allows"
            )
        if made[kind] == 1:
            # One update of Adam has moved each bias by at most the learning rate.
            gate = sum(p[UNITS : 2 * UNITS] for p in parameters if p.dim() == 1 and len(p) > K)
            if not bool(((gate - bias).abs() < 0.1).all()):
                gates = "forget gates" if kind == "lstm" else "update gates"
                raise Unfit(f"the {gates} of {TITLES[kind]} do not start with the bias that was given")

    started = time.perf_counter()
    with _counting(look):
        results = function(steps, bias, torch.Generator().manual_seed(seed))
    elapsed = time.perf_counter() - started
    if not isinstance(results, Mapping) or set(results) != set(LAYERS):
        came = f"a {type(results).__name__}"
        if isinstance(results, Mapping):
            came += f" with the keys {', '.join(map(str, results)) or 'none'}"
        raise Unfit(f"{came} came back; expected a dict with the keys lstm and gru")
    for kind, title in TITLES.items():
        if not made[kind]:
            raise Unfit(f"{title} with {UNITS} units was never trained")
        _check_result(results[kind], made[kind], elapsed)
    if sum(result["seconds"] for result in results.values()) > elapsed + 0.05:
        raise Unfit("the seconds of the two trainings add up to more than both took")
    reported = {kind: float(results[kind]["accuracy"]) for kind in LAYERS}
    return reported, {kind: trained_probes.parameters_of(held[kind]) for kind in LAYERS}


def _classifier(kind: str, bias: float, seed: int) -> LastStepClassifier:
    """A classifier that a seed decides, its keep gate's bias set."""
    layer = LAYERS[kind](K, UNITS, batch_first=True)
    model = LastStepClassifier(layer, UNITS, K)
    redraw(model, torch.Generator().manual_seed(seed))
    with torch.no_grad():
        layer.bias_ih_l0[UNITS : 2 * UNITS] = bias
        layer.bias_hh_l0[UNITS : 2 * UNITS] = 0.0
    return model


def _check_result(result: Any, updates: int, elapsed: float) -> None:
    """Refuse a report that does not fit what happened; no message holds a number that differs from run to run."""
    names = ("accuracy", "updates", "seconds")
    if not isinstance(result, Mapping) or set(result) != set(names):
        came = f"a {type(result).__name__}"
        if isinstance(result, Mapping):
            came += f" with the keys {', '.join(map(str, result)) or 'none'}"
        raise Unfit(f"{came} came back; expected a dict with the keys {', '.join(names)}")
    for name in names:
        if isinstance(result[name], bool) or not isinstance(result[name], int | float):
            raise Unfit(f"{name} is a {type(result[name]).__name__}; expected a plain number")
    if not updates:
        raise Unfit("no optimiser made an update")
    if result["updates"] != updates:
        raise Unfit("the number of updates in its result is not the number that the optimiser made")
    if not 0 <= result["accuracy"] <= 1:
        raise Unfit("the accuracy in its result is not between 0 and 1")
    if not 0 < result["seconds"] <= elapsed + 0.05:
        raise Unfit("the seconds in its result are not the time that the training took")


def _check_repeatable(run: Callable[[torch.Generator], Any], seed: int) -> None:
    """Refuse a training whose first updates differ between two runs with equal generators."""
    first, again = (_after_updates(lambda _, generator: run(generator), 0, 2, seed) for _ in range(2))
    if len(first) != len(again) or not all(
        one.shape == other.shape and torch.allclose(one, other, rtol=1e-4, atol=1e-6)
        for one, other in zip(first, again, strict=True)
    ):
        raise Unfit(
            "two runs with equal generators went different ways: some random number does not come from `generator`"
        )


@contextmanager
def _one_thread() -> Iterator[None]:
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(threads)

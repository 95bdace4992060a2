"""How torch modules and training code are put to use: arrays go in, arrays come out.

A probe builds what the student's code needs, uses that code, and returns plain arrays and numbers. It holds nothing of
any answer, so it can run where the student's code runs.
"""

import contextlib
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import torch
from torch import nn
from torch.optim.optimizer import register_optimizer_step_post_hook

from refcells.autotest import trained_probes
from refcells.autotest.calls import Unfit
from refcells.autotest.trained_probes import HELD_OUT
from refcells.tasks import remember_first
from refcells.training import accuracy

Array = np.ndarray
State = dict[str, Array]


def _tensor(array: Array, grad: bool = False) -> torch.Tensor:
    return torch.tensor(array, requires_grad=grad)


def _built(
    cls: Callable[..., Any], sizes: Sequence[int], state: State | None = None, like: str = "PyTorch's own"
) -> nn.Module:
    """A float64 module with the given parameters, which are those of PyTorch's module `like`."""
    module = cls(*sizes)
    if not isinstance(module, nn.Module):
        raise Unfit(f"it gave a {type(module).__name__}; expected a torch.nn.Module")
    module = module.double()
    if state is not None:
        try:
            module.load_state_dict({name: _tensor(array) for name, array in state.items()})
        except RuntimeError as error:
            reason = " ".join(str(error).split()[:60])
            raise Unfit(f"the state dict of {like} does not load: {reason}") from None
    return module


def _pair(result: Any, names: str) -> tuple[Any, Any]:
    if not isinstance(result, tuple | list) or len(result) != 2:
        came = f"{len(result)} results" if isinstance(result, tuple | list) else f"a {type(result).__name__}"
        raise Unfit(f"{came} came back; expected two: {names}")
    return result[0], result[1]


def _array(value: Any, name: str) -> Array:
    if not isinstance(value, torch.Tensor):
        raise Unfit(f"{name} is a {type(value).__name__}; expected a tensor")
    return value.detach().numpy()


def parameter_shapes(
    cls: Callable[..., Any], sizes: Sequence[int], names: Sequence[str], gates: int = 4
) -> list[list[int]]:
    """Shapes of the named parameters; the module has to have these and no others, drawn as PyTorch draws them."""
    parameters = dict(_built(cls, sizes).named_parameters())
    missing = [name for name in names if name not in parameters]
    extra = [name for name in parameters if name not in names]
    if missing or extra:
        there = ", ".join(parameters) or "none"
        raise Unfit(f"its parameters are {there}; expected {', '.join(names)}")
    shapes = [list(parameters[name].shape) + [0] * (2 - parameters[name].dim()) for name in names]
    hidden = sizes[1]
    if all(shape[0] == gates * hidden for shape in shapes):
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(0)
            _check_uniform(_built(cls, (20, 30)), 30**-0.5)
    return shapes


def _check_uniform(module: nn.Module, bound: float) -> None:
    """Refuse parameters that are not uniform between -bound and bound; right ones are refused once in 10 million."""
    for name, parameter in module.named_parameters():
        drawn = parameter.detach() / bound
        near, mean = (drawn.abs() < 0.5).double().mean(), drawn.mean()
        if not (0.8 < drawn.abs().max() < 1 + 1e-6 and 0.25 < near < 0.75 and abs(mean) < 0.3):
            raise Unfit(
                f"{name} is not drawn uniformly from -1/sqrt(H) to 1/sqrt(H): at H = 30 it lies between "
                f"{parameter.min():.3g} and {parameter.max():.3g}, expected -{bound:.3g} and {bound:.3g}"
            )


def cell_step(
    cls: Callable[..., Any], sizes: Sequence[int], state: State, x: Array, h: Array, c: Array
) -> tuple[Array, Array]:
    """One step of a cell with the given parameters."""
    module = _built(cls, sizes, state)
    h_new, c_new = _pair(module(_tensor(x), (_tensor(h), _tensor(c))), "h and c")
    return _array(h_new, "h"), _array(c_new, "c")


def cell_gradients(
    cls: Callable[..., Any],
    sizes: Sequence[int],
    state: State,
    x: Array,
    h: Array,
    c: Array,
    d_h: Array,
    d_c: Array,
) -> tuple[Array, ...]:
    """Gradients of one step's arguments and parameters, from autograd."""
    module = _built(cls, sizes, state)
    arguments = [_tensor(array, grad=True) for array in (x, h, c)]
    h_new, c_new = _pair(module(arguments[0], (arguments[1], arguments[2])), "h and c")
    for name, value in (("h", h_new), ("c", c_new)):
        if not isinstance(value, torch.Tensor) or value.grad_fn is None:
            raise Unfit(f"{name} does not carry a gradient: it was detached, or computed outside of torch")
    (h_new * _tensor(d_h) + c_new * _tensor(d_c)).sum().backward()
    leaves = [*arguments, *(dict(module.named_parameters())[name] for name in state)]
    return tuple(np.zeros(leaf.shape) if leaf.grad is None else leaf.grad.numpy() for leaf in leaves)


def unrolled(
    function: Callable[..., Any], sizes: Sequence[int], state: State, x: Array, h: Array, c: Array
) -> tuple[Array, Array, Array, Array]:
    """What a function that walks a cell over a sequence returns, and the gradient of the outputs' weighted sum for x."""
    cell = _built(nn.LSTMCell, sizes, state)
    inputs = _tensor(x, grad=True)
    output, last = _pair(function(cell, inputs, (_tensor(h), _tensor(c))), "output and (h_n, c_n)")
    h_n, c_n = _pair(last, "h_n and c_n")
    shown = _array(output, "output"), _array(h_n, "h_n"), _array(c_n, "c_n")
    if output.grad_fn is None:
        raise Unfit("the output does not carry a gradient: it was detached, or computed outside of torch")
    # Later outputs count for more, so that a gradient that does not go back in time shows.
    (output * torch.arange(1.0, output.numel() + 1).view(output.shape)).sum().backward()
    return (*shown, np.zeros(x.shape) if inputs.grad is None else inputs.grad.numpy())


def stacked(
    cls: Callable[..., Any], sizes: Sequence[int], layers: int, state: State, x: Array
) -> tuple[float, Array]:
    """Number of parameters of a stack of layers, and its outputs with the given ones."""
    module = cls(*sizes, layers)
    if not isinstance(module, nn.Module):
        raise Unfit(f"it gave a {type(module).__name__}; expected a torch.nn.Module")
    found = sum(parameter.numel() for parameter in module.parameters())
    if not found:
        raise Unfit("it has no parameters: an optimiser, a state dict and .to() would see none of its cells")
    built = _built(lambda *_: module, sizes, state, "the cells")
    output = built(_tensor(x))
    return float(found), _array(output, "output")


def biases_after(
    function: Callable[..., Any], bias_ih: Array, bias_hh: Array, value: float
) -> tuple[Array, Array]:
    """The two bias vectors' sum, and the blocks that are not the forget gate's, after a function has set it."""
    return _biases_after(
        lambda first, second: function(first, second, value), nn.LSTMCell, 4, bias_ih, bias_hh
    )


def gate_biases_after(
    function: Callable[..., Any], bias_ih: Array, bias_hh: Array, blocks: int, value: float
) -> tuple[Array, Array]:
    """As `biases_after`, for a function that is told the number of blocks: 4 for an LSTM, 3 for a GRU."""
    cell = nn.LSTMCell if blocks == 4 else nn.GRUCell
    return _biases_after(
        lambda first, second: function(first, second, blocks, value), cell, blocks, bias_ih, bias_hh
    )


def _biases_after(
    change: Callable[[Any, Any], Any],
    cls: Callable[..., Any],
    blocks: int,
    bias_ih: Array,
    bias_hh: Array,
) -> tuple[Array, Array]:
    """Sum of a cell's two biases, and both without the second block, after a change."""
    units = len(bias_ih) // blocks
    cell: Any = _built(cls, (1, units))
    own = dict(cell.named_parameters())
    with torch.no_grad():
        own["bias_ih"].copy_(_tensor(bias_ih))
        own["bias_hh"].copy_(_tensor(bias_hh))
    change(cell.bias_ih, cell.bias_hh)
    first, second = _array(cell.bias_ih, "bias_ih"), _array(cell.bias_hh, "bias_hh")
    if not isinstance(cell.bias_ih, nn.Parameter) or not cell.bias_ih.requires_grad:
        raise Unfit("bias_ih is no longer a parameter that learns")
    others = np.r_[0:units, 2 * units : blocks * units]
    return first + second, np.stack([first[others], second[others]])


def trained(
    function: Callable[..., Any], weight: Array, x: Array, y: Array, lr: float, clip: float, updates: int
) -> tuple[Array, Array]:
    """Losses, and weights after each update, when a function makes the updates."""
    model = nn.Linear(weight.shape[1], weight.shape[0], bias=False, dtype=torch.float64)
    with torch.no_grad():
        model.weight.copy_(_tensor(weight))
    optimizer = torch.optim.SGD(model.parameters(), lr=lr)
    losses, weights = [], []
    for _ in range(updates):
        loss = function(model, optimizer, _tensor(x), torch.tensor(y), clip)
        if isinstance(loss, torch.Tensor):
            if loss.dim():
                raise Unfit(f"a tensor of shape {tuple(loss.shape)} came back; expected the loss, one number")
            loss = loss.item()
        if not isinstance(loss, float):
            raise Unfit(f"a {type(loss).__name__} came back; expected the loss as a float")
        losses.append(loss)
        weights.append(model.weight.detach().numpy().copy())
    return np.array(losses), np.stack(weights)


def trained_in_chunks(
    function: Callable[..., Any], layer: State, linear: State, x: Array, y: Array, lr: float, chunk: int
) -> tuple[Array, Array, Array]:
    """Losses of a function that trains an LSTM chunk by chunk, and the weights that it leaves."""
    hidden, features = layer["weight_hh_l0"].shape[1], x.shape[2]
    lstm = _built(lambda d, h: nn.LSTM(d, h, batch_first=True), (features, hidden), layer)
    readout = _built(nn.Linear, (hidden, y.shape[2]), linear)
    optimizer = torch.optim.SGD([*lstm.parameters(), *readout.parameters()], lr=lr)
    losses = function(lstm, readout, optimizer, _tensor(x), _tensor(y), chunk)
    if not isinstance(losses, list | tuple):
        raise Unfit(f"a {type(losses).__name__} came back; expected a list of losses, one a chunk")
    numbers = np.array([loss.item() if isinstance(loss, torch.Tensor) else float(loss) for loss in losses])
    weights = [_array(p, "weight") for p in (lstm.weight_ih_l0, lstm.weight_hh_l0)]
    return numbers, weights[0], weights[1]


def remembered(
    function: Callable[..., Any], steps: int, symbols: int, most: int, enough: float, seed: int, kind: str
) -> list[Array]:
    """The parameters of the model that a function builds and trains on remember-first, with at most so many updates.

    What it remembers is counted with these by whoever judges; `kind` is the layer that the exercise asks for. The function's
    random numbers have to come from the generator it is given: its first updates are made twice. About one training in
    seventy of a right answer is unlucky, so the best of up to three counts, each with a seed of its own.
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

        best, parameters = -1.0, []
        for attempt in range(3):
            score, came = _trained(function, steps, symbols, most, seed + 2 * attempt, seed)
            if score > best:
                best, parameters = score, came
            if best >= enough:
                break
        _check_taken(
            best,
            trained_probes.remembered(parameters, steps, symbols, most, enough, seed, kind),
            enough,
            kind,
        )
        return parameters
    finally:
        torch.set_num_threads(threads)


def _check_taken(own: float, taken: float, enough: float, kind: str) -> None:
    """Refuse a model that does the task by something else than the parameters of the model that is asked for."""
    if own >= enough > taken:
        raise Unfit(
            f"{trained_probes.ASKED[kind]} with the trained model's parameters does not do what that model does: build this one"
        )


def _trained(
    function: Callable[..., Any], steps: int, symbols: int, most: int, seed: int, seed_held_out: int
) -> tuple[float, list[Array]]:
    """Accuracy of one trained model on sequences that it was not trained on, and its parameters."""

    def allow(updates: int, _: torch.optim.Optimizer) -> None:
        if updates > most:
            raise Unfit(f"it makes more than {most} updates, which is what the exercise allows")

    with _counting(allow):
        model = function(steps, torch.Generator().manual_seed(seed))
    if not isinstance(model, nn.Module):
        raise Unfit(f"a {type(model).__name__} came back; expected the trained model")
    x, y = remember_first(HELD_OUT, steps, symbols, generator=trained_probes.held_out(seed_held_out))
    with torch.no_grad():
        scores = model(x)
    if not isinstance(scores, torch.Tensor) or scores.shape != (HELD_OUT, symbols):
        came = tuple(scores.shape) if isinstance(scores, torch.Tensor) else type(scores).__name__
        raise Unfit(
            f"the model's scores for {HELD_OUT} sequences are {came}; expected shape ({HELD_OUT}, {symbols})"
        )
    return accuracy(scores, y), trained_probes.parameters_of(model.parameters())


class _Enough(BaseException):
    """Ends a training that has shown what it was asked to show; a student's `except Exception` lets it through."""


@contextlib.contextmanager
def _counting(at: Callable[[int, torch.optim.Optimizer], None]) -> Iterator[None]:
    """Call `at` after each update of any optimiser, with the number of updates so far."""
    updates = 0

    def count(optimizer: torch.optim.Optimizer, *_: Any) -> None:
        nonlocal updates
        updates += 1
        at(updates, optimizer)

    hook = register_optimizer_step_post_hook(count)
    try:
        yield
    finally:
        hook.remove()


def _after_updates(function: Callable[..., Any], steps: int, enough: int, seed: int) -> list[torch.Tensor]:
    """The parameters after the first updates of a function's training, which is then ended."""
    found: list[torch.Tensor] = []

    def look(updates: int, optimizer: torch.optim.Optimizer) -> None:
        if updates == enough:
            found.extend(p.detach().clone() for group in optimizer.param_groups for p in group["params"])
            raise _Enough

    with _counting(look), contextlib.suppress(_Enough):
        model = function(steps, torch.Generator().manual_seed(seed))
        if isinstance(model, nn.Module):
            found.extend(p.detach() for p in model.parameters())
    return found


__all__ = [
    "biases_after",
    "cell_gradients",
    "cell_step",
    "gate_biases_after",
    "parameter_shapes",
    "remembered",
    "stacked",
    "trained",
    "trained_in_chunks",
    "unrolled",
]

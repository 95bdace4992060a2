"""How torch code for the plain RNN is put to use: arrays go in, arrays come out. Holds nothing of any answer."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from refcells.autotest.calls import Unfit
from refcells.autotest.probes import Array, State, _array, _built, _pair, _tensor


def _carries(value: Any, name: str) -> Tensor:
    """A result that autograd can go back from."""
    _array(value, name)
    if value.grad_fn is None:
        raise Unfit(f"{name} does not carry a gradient: it was detached, or computed outside of torch")
    return value


def _gradient(leaf: Tensor) -> Array:
    return np.zeros(leaf.shape) if leaf.grad is None else leaf.grad.numpy()


def _layer(sizes: Sequence[int], state: State) -> nn.Module:
    return _built(lambda d, h: nn.RNN(d, h, batch_first=True), sizes, state)


def cell_step(cls: Callable[..., Any], sizes: Sequence[int], state: State, x: Array, h: Array) -> Array:
    """One step of a cell with the given parameters."""
    return _array(_built(cls, sizes, state)(_tensor(x), _tensor(h)), "h")


def cell_gradients(
    cls: Callable[..., Any], sizes: Sequence[int], state: State, x: Array, h: Array, d_h: Array
) -> tuple[Array, ...]:
    """Gradients of one step's arguments and parameters, from autograd."""
    module = _built(cls, sizes, state)
    arguments = [_tensor(array, grad=True) for array in (x, h)]
    (_carries(module(*arguments), "h") * _tensor(d_h)).sum().backward()
    parameters = dict(module.named_parameters())
    return tuple(_gradient(leaf) for leaf in [*arguments, *(parameters[name] for name in state)])


def unrolled(
    function: Callable[..., Any], sizes: Sequence[int], state: State, x: Array, h: Array
) -> tuple[Array, Array, Array]:
    """What a function that walks a cell over a sequence returns, and the gradient of the outputs' weighted sum for x."""
    inputs = _tensor(x, grad=True)
    output, h_n = _pair(function(_built(nn.RNNCell, sizes, state), inputs, _tensor(h)), "output and h_n")
    shown = _array(output, "output"), _array(h_n, "h_n")
    # Later outputs count for more, so that a gradient that does not go back in time shows.
    weight = torch.arange(1.0, output.numel() + 1).view(output.shape)
    (_carries(output, "the output") * weight).sum().backward()
    return (*shown, _gradient(inputs))


def layer_outputs(
    function: Callable[..., Any], sizes: Sequence[int], state: State, x: Array, h: Array
) -> tuple[Array, Array]:
    """Outputs and last state of the layer that a function makes of a cell."""
    layer = function(_built(nn.RNNCell, sizes, state))
    if not isinstance(layer, nn.RNN):
        raise Unfit(f"a {type(layer).__name__} came back; expected an nn.RNN")
    output, h_n = layer.double()(_tensor(x), _tensor(h)[None])
    return _array(output, "output"), _array(h_n, "h_n")


def loss_and_gradient(function: Callable[..., Any], scores: Array, targets: Array) -> tuple[float, Array]:
    """A loss over all steps, and its gradient for the scores."""
    inputs = _tensor(scores, grad=True)
    loss = _carries(function(inputs, torch.tensor(targets)), "the loss")
    if loss.dim():
        raise Unfit(f"a tensor of shape {tuple(loss.shape)} came back; expected the loss, one number")
    loss.backward()
    return loss.item(), _gradient(inputs)


def clipped(function: Callable[..., Any], gradients: Sequence[Array], most: float) -> tuple[Array, float]:
    """All numbers of the clipped gradients, one after another, and the norm."""
    given = [_tensor(array) for array in gradients]
    found, norm = _pair(function(given, most), "the clipped gradients and the norm")
    if any(not np.array_equal(new.numpy(), old) for new, old in zip(given, gradients, strict=True)):
        raise Unfit("the given gradients were changed; return new ones")
    if not isinstance(found, list | tuple) or len(found) != len(given):
        came = f"{len(found)}" if isinstance(found, list | tuple) else f"a {type(found).__name__}"
        raise Unfit(f"{came} came back for {len(given)} gradients; expected a list of as many")
    parts = [_array(part, "a clipped gradient") for part in found]
    for part, old in zip(parts, gradients, strict=True):
        if part.shape != old.shape:
            raise Unfit(f"a clipped gradient has shape {part.shape}; expected {old.shape}, as it came")
    return np.concatenate([part.ravel() for part in parts]), float(norm)


def in_chunks(
    function: Callable[..., Any], sizes: Sequence[int], state: State, x: Array, weight: Array, chunk: int
) -> tuple[Array, Array]:
    """Outputs of a layer that a function runs in chunks, and the gradient of their weighted sum for x."""
    inputs = _tensor(x, grad=True)
    output = function(_layer(sizes, state), inputs, chunk)
    if isinstance(output, tuple | list):
        raise Unfit(f"{len(output)} results came back; expected the outputs of all steps, one tensor")
    shown = _array(output, "output")
    if shown.shape != weight.shape:
        return shown, np.zeros(x.shape)
    (_carries(output, "the output") * _tensor(weight)).sum().backward()
    return shown, _gradient(inputs)


def input_gradients(
    function: Callable[..., Any], sizes: Sequence[int], state: State, x: Array, chunk: int
) -> Array:
    """What a function says of the gradient of a layer's inputs."""
    inputs = _tensor(x)
    gradient = function(_layer(sizes, state), inputs, chunk)
    return _array(gradient, "the gradient")


def trained_in_chunks(
    function: Callable[..., Any],
    layer: State,
    linear: State,
    x: Array,
    y: Array,
    lr: float,
    chunk: int,
    clip: float,
) -> tuple[Array, Array, Array, Array]:
    """Losses of a function that trains an RNN chunk by chunk, and the weights that it leaves."""
    hidden = layer["weight_hh_l0"].shape[1]
    rnn = _layer((x.shape[2], hidden), layer)
    readout = _built(nn.Linear, (hidden, y.shape[2]), linear)
    optimizer = torch.optim.SGD([*rnn.parameters(), *readout.parameters()], lr=lr)
    losses = function(rnn, readout, optimizer, _tensor(x), _tensor(y), chunk, clip)
    if not isinstance(losses, list | tuple):
        raise Unfit(f"a {type(losses).__name__} came back; expected a list of losses, one a chunk")
    numbers = np.array([loss.item() if isinstance(loss, Tensor) else float(loss) for loss in losses])
    own = dict(rnn.named_parameters())
    return (
        numbers,
        _array(own["weight_ih_l0"], "weight"),
        _array(own["weight_hh_l0"], "weight"),
        _array(dict(readout.named_parameters())["weight"], "weight"),
    )


__all__ = [
    "cell_gradients",
    "cell_step",
    "clipped",
    "in_chunks",
    "input_gradients",
    "layer_outputs",
    "loss_and_gradient",
    "trained_in_chunks",
    "unrolled",
]

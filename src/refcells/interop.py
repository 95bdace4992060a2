r"""Weights to and from the layouts of PyTorch, ONNX and Keras.

All of them hold the same numbers. They differ in the order of the gates, in which axis is first, in whether
a cell
has one bias or two, and in what the GRU's z means:

| layout | LSTM order | GRU order | kernels | biases | z is the share that is |
| --- | --- | --- | --- | --- | --- |
| here | i, f, g, o | r, z, n | (gates, input) | `b_x`, `b_h` | written |
| PyTorch | i, f, g, o | r, z, n | (gates, input) | `bias_ih`, `bias_hh` | kept |
| ONNX | i, o, f, c | z, r, h | (directions, gates, input) | one row [Wb, Rb] | kept |
| Keras | i, f, c, o | z, r, h | (input, gates) | one; two rows for a reset-after GRU | kept |

Since $1 - \sigma(a) = \sigma(-a)$, the two meanings of z are told apart by the sign of one block: all
rows of z in both weights and both biases. Negating, reordering and transposing are exact, so a round trip
returns every bit.

`Weights` is the layout in the middle: this course's, with the two biases still apart. A cell with one bias
takes `weights.merged()`, the reset-after GRU takes all four.
"""

from collections.abc import Mapping
from typing import Any, Literal, NamedTuple

import numpy as np
from jaxtyping import Float

from refcells._checks import check_choice, shape_text

__all__ = [
    "KerasWeights",
    "ONNXWeights",
    "Weights",
    "from_keras",
    "from_onnx",
    "from_torch",
    "to_keras",
    "to_onnx",
    "to_torch",
]

Cell = Literal["rnn", "lstm", "gru"]

_BLOCKS = {"rnn": 1, "lstm": 4, "gru": 3}

# Where each block of the other layout is found in ours.
_ONNX_ORDER = {"rnn": (0,), "lstm": (0, 3, 1, 2), "gru": (1, 0, 2)}
_KERAS_ORDER = {"rnn": (0,), "lstm": (0, 1, 2, 3), "gru": (1, 0, 2)}
# Peepholes: ours are i, f, o, ONNX's i, o, f.
_PEEPHOLE_ORDER = (0, 2, 1)


class Weights(NamedTuple):
    """Weights of one layer in one direction, in this course's layout with two biases.

    Attributes:
        W_x: input weights (gates, input).
        W_h: recurrent weights (gates, hidden).
        b_x: biases beside the input's product (gates,).
        b_h: biases beside the state's product (gates,).
        P: peepholes of an LSTM, one row each for i, f, o; None without.
    """

    W_x: Float[np.ndarray, "gates input"]
    W_h: Float[np.ndarray, "gates hidden"]
    b_x: Float[np.ndarray, "gates"]
    b_h: Float[np.ndarray, "gates"]
    P: Float[np.ndarray, "3 hidden"] | None = None

    def merged(self) -> tuple[np.ndarray, ...]:
        """`(W_x, W_h, b)` with `b = b_x + b_h`, and P behind them if there are peepholes.

        That is what a walk takes, but for the reset-after GRU, whose candidate needs both biases.
        """
        short = (self.W_x, self.W_h, self.b_x + self.b_h)
        return short if self.P is None else (*short, self.P)


class ONNXWeights(NamedTuple):
    """Initialisers of an ONNX operator RNN, LSTM or GRU.

    Attributes:
        W: (directions, gates, input).
        R: (directions, gates, hidden).
        B: (directions, 2 * gates), [Wb, Rb] in each row.
        P: (directions, 3 * hidden), in the order i, o, f; None without peepholes.
    """

    W: Float[np.ndarray, "directions gates input"]
    R: Float[np.ndarray, "directions gates hidden"]
    B: Float[np.ndarray, "directions gates2"]
    P: Float[np.ndarray, "directions hidden3"] | None = None


class KerasWeights(NamedTuple):
    """Weights of a Keras SimpleRNN, LSTM or GRU, in the order of `layer.get_weights()`.

    Attributes:
        kernel: (input, gates).
        recurrent_kernel: (hidden, gates).
        bias: (gates,), or (2, gates) for a GRU with `reset_after=True`.
    """

    kernel: Float[np.ndarray, "input gates"]
    recurrent_kernel: Float[np.ndarray, "hidden gates"]
    bias: np.ndarray


def from_torch(
    cell: Cell, state: Mapping[str, Any], layer: int | None = None, reverse: bool = False
) -> Weights:
    """One layer's weights from a PyTorch state dict.

    Args:
        cell: 'rnn', 'lstm' or 'gru'.
        state: a `state_dict()`, ours or PyTorch's, or any mapping from its names to tensors or arrays.
        layer: number of the layer, from 0; None for the state dict of a cell.
        reverse: whether to take the backward direction of a bidirectional layer.

    Returns:
        The weights as copies. For a GRU the z block is negated, see the module's text.

    Raises:
        ValueError: for another cell, a name that is missing, or shapes that do not fit the cell.

    Source:
        `torch.nn.LSTM`, `torch.nn.GRU`: variables.
    """
    suffix = ("" if layer is None else f"_l{layer}") + ("_reverse" if reverse else "")
    arrays = []
    for kind in ("weight_ih", "weight_hh", "bias_ih", "bias_hh"):
        if kind + suffix not in state:
            raise ValueError(f"state has no {kind + suffix!r}; it has {', '.join(map(repr, state))}")
        value = state[kind + suffix]
        arrays.append(np.array(value.detach().cpu().numpy() if hasattr(value, "detach") else value))
    return _z_turned(cell, _checked_weights(cell, Weights(*arrays)))


def to_torch(cell: Cell, weights: Weights, layer: int | None = None, reverse: bool = False) -> dict[str, Any]:
    """A PyTorch state dict, or one layer's part of it: the inverse of `from_torch`.

    Args:
        cell: 'rnn', 'lstm' or 'gru'.
        weights: weights without peepholes, which PyTorch does not have.
        layer: number of the layer, from 0; None for the state dict of a cell.
        reverse: whether this is the backward direction of a bidirectional layer.

    Returns:
        Tensors by name, for `load_state_dict`; parts of several layers can be joined with `|`.

    Raises:
        ValueError: for another cell, shapes that do not fit it, or peepholes.

    Source:
        `torch.nn.LSTM`, `torch.nn.GRU`: variables.
    """
    import torch

    weights = _z_turned(cell, _checked_weights(cell, weights))
    if weights.P is not None:
        raise ValueError("weights hold peepholes; expected none, since PyTorch's LSTM has none")
    suffix = ("" if layer is None else f"_l{layer}") + ("_reverse" if reverse else "")
    names = (f"{kind}{suffix}" for kind in ("weight_ih", "weight_hh", "bias_ih", "bias_hh"))
    return {name: torch.from_numpy(value.copy()) for name, value in zip(names, weights[:4], strict=True)}


def from_onnx(
    cell: Cell,
    W: Float[np.ndarray, "directions gates input"],
    R: Float[np.ndarray, "directions gates hidden"],
    B: Float[np.ndarray, "directions gates2"] | None = None,
    P: Float[np.ndarray, "directions hidden3"] | None = None,
) -> list[Weights]:
    """Weights from the initialisers of an ONNX operator, one entry a direction.

    Args:
        cell: 'rnn', 'lstm' or 'gru'.
        W: input weights.
        R: recurrent weights.
        B: biases; zeros if None, as in ONNX.
        P: peepholes of an LSTM; none if None.

    Returns:
        One `Weights` for each direction. For a GRU the z block is negated, see the module's text; use it with
        `gru_forward` for `linear_before_reset=0`, with `gru_reset_after_forward` for 1.

    Raises:
        ValueError: for another cell, or shapes that do not fit it.

    Source:
        ONNX operators RNN, LSTM and GRU, opset 14.
    """
    check_choice("cell", cell, tuple(_BLOCKS))
    _check_axes("W", W, 3, "(directions, gates, input)")
    _check_axes("R", R, 3, "(directions, gates, hidden)")
    directions, rows, _ = W.shape
    if B is None:
        B = np.zeros((directions, 2 * rows), W.dtype)
    _check_axes("B", B, 2, "(directions, 2 * gates)")
    if P is not None:
        _check_axes("P", P, 2, "(directions, 3 * hidden)")
    order = np.argsort(_ONNX_ORDER[cell])
    result = []
    for d in range(directions):
        Wb, Rb = np.split(B[d], 2)
        peepholes = None
        if P is not None:
            peepholes = _reordered(P[d], 3, np.argsort(_PEEPHOLE_ORDER)).reshape(3, -1)
        W_x, W_h, b_x, b_h = (_reordered(array, _BLOCKS[cell], order) for array in (W[d], R[d], Wb, Rb))
        result.append(_z_turned(cell, _checked_weights(cell, Weights(W_x, W_h, b_x, b_h, peepholes))))
    return result


def to_onnx(cell: Cell, *directions: Weights) -> ONNXWeights:
    """Initialisers of an ONNX operator: the inverse of `from_onnx`.

    Args:
        cell: 'rnn', 'lstm' or 'gru'.
        directions: weights of the one direction, or of forward and backward.

    Returns:
        W, R, B and P; P is None without peepholes.

    Raises:
        ValueError: for another cell, shapes that do not fit it, another number of directions than one or
            two, or peepholes in one of them only.

    Source:
        ONNX operators RNN, LSTM and GRU, opset 14.
    """
    check_choice("cell", cell, tuple(_BLOCKS))
    if len(directions) not in (1, 2):
        raise ValueError(f"weights of {len(directions)} directions came; expected 1 or 2")
    order = np.array(_ONNX_ORDER[cell])
    W, R, B, P = [], [], [], []
    for weights in directions:
        turned = _z_turned(cell, _checked_weights(cell, weights))
        w, r, wb, rb = (_reordered(array, _BLOCKS[cell], order) for array in turned[:4])
        W.append(w)
        R.append(r)
        B.append(np.concatenate([wb, rb]))
        if turned.P is not None:
            P.append(_reordered(turned.P.reshape(-1), 3, np.array(_PEEPHOLE_ORDER)))
    if P and len(P) != len(directions):
        raise ValueError("one direction has peepholes and the other has none; expected both or neither")
    return ONNXWeights(np.stack(W), np.stack(R), np.stack(B), np.stack(P) if P else None)


def from_keras(
    cell: Cell, kernel: np.ndarray, recurrent_kernel: np.ndarray, bias: np.ndarray | None = None
) -> Weights:
    """Weights from a Keras layer: `from_keras('lstm', *layer.get_weights())`.

    Args:
        cell: 'rnn', 'lstm' or 'gru'.
        kernel: input weights (input, gates).
        recurrent_kernel: recurrent weights (hidden, gates).
        bias: (gates,), or (2, gates) for a GRU with `reset_after=True`; zeros if None.

    Returns:
        The weights. A single bias is put in `b_x`, and `b_h` is 0. For a GRU the z block is negated, see the
        module's text.

    Raises:
        ValueError: for another cell, or shapes that do not fit it.

    Source:
        `keras.layers.LSTM`, `keras.layers.GRU`.
    """
    check_choice("cell", cell, tuple(_BLOCKS))
    _check_axes("kernel", kernel, 2, "(input, gates)")
    _check_axes("recurrent_kernel", recurrent_kernel, 2, "(hidden, gates)")
    if bias is None:
        bias = np.zeros(kernel.shape[1], kernel.dtype)
    if bias.ndim == 1:
        b_x, b_h = bias, np.zeros_like(bias)
    elif bias.ndim == 2 and len(bias) == 2 and cell == "gru":
        b_x, b_h = bias
    else:
        wanted = "(gates,) or (2, gates)" if cell == "gru" else "(gates,)"
        raise ValueError(f"bias has shape {shape_text(bias.shape)}; expected {wanted}")
    order = np.argsort(_KERAS_ORDER[cell])
    blocks = (_reordered(array, _BLOCKS[cell], order) for array in (kernel.T, recurrent_kernel.T, b_x, b_h))
    return _z_turned(cell, _checked_weights(cell, Weights(*blocks)))


def to_keras(cell: Cell, weights: Weights, reset_after: bool = False) -> KerasWeights:
    """Weights for a Keras layer: the inverse of `from_keras`, for `layer.set_weights`.

    Args:
        cell: 'rnn', 'lstm' or 'gru'.
        weights: weights without peepholes, which Keras does not have.
        reset_after: whether they are those of a reset-after GRU, which keeps two biases (Keras's default).

    Returns:
        Kernel, recurrent kernel and bias; the bias is `b_x + b_h` where one is kept.

    Raises:
        ValueError: for another cell, shapes that do not fit it, peepholes, or `reset_after` without a GRU.

    Source:
        `keras.layers.LSTM`, `keras.layers.GRU`.
    """
    weights = _z_turned(cell, _checked_weights(cell, weights))
    if weights.P is not None:
        raise ValueError("weights hold peepholes; expected none, since Keras's LSTM has none")
    if reset_after and cell != "gru":
        raise ValueError(f"reset_after came with cell {cell!r}; expected it with 'gru' only")
    order = np.array(_KERAS_ORDER[cell])
    W_x, W_h, b_x, b_h = (_reordered(array, _BLOCKS[cell], order) for array in weights[:4])
    return KerasWeights(W_x.T, W_h.T, np.stack([b_x, b_h]) if reset_after else b_x + b_h)


def _reordered(stacked: np.ndarray, blocks: int, order: np.ndarray) -> np.ndarray:
    """The blocks along the first axis in another order, as a copy."""
    if stacked.shape[0] % blocks:
        raise ValueError(f"{stacked.shape[0]} rows came; expected a multiple of {blocks}, one block a gate")
    parts = np.split(stacked, blocks)
    return np.concatenate([parts[k] for k in order])


def _z_turned(cell: Cell, weights: Weights) -> Weights:
    """The same function with z read the other way round: a GRU's z block negated. It is its own inverse."""
    if cell != "gru":
        return weights

    def turned(stacked: np.ndarray) -> np.ndarray:
        r, z, n = np.split(stacked, 3)
        return np.concatenate([r, -z, n])

    return Weights(*(turned(array) for array in weights[:4]))


def _checked_weights(cell: Cell, weights: Weights) -> Weights:
    """`weights`, unless their shapes do not fit the cell or each other."""
    check_choice("cell", cell, tuple(_BLOCKS))
    W_x, W_h, b_x, b_h, P = weights
    for name, value, axes in (("W_x", W_x, 2), ("W_h", W_h, 2), ("b_x", b_x, 1), ("b_h", b_h, 1)):
        _check_axes(name, value, axes, "(gates, width)" if axes == 2 else "(gates,)")
    hidden = W_h.shape[1]
    rows = _BLOCKS[cell] * hidden
    for name, value in (("W_x", W_x), ("W_h", W_h), ("b_x", b_x), ("b_h", b_h)):
        if value.shape[0] != rows:
            raise ValueError(
                f"{name} has {value.shape[0]} rows; expected {rows}, "
                f"{_BLOCKS[cell]} for each of {hidden} units of a cell {cell!r}"
            )
    if P is not None and (cell != "lstm" or P.shape != (3, hidden)):
        raise ValueError(f"P has shape {shape_text(P.shape)}; expected (3, {hidden}), and an LSTM")
    return weights


def _check_axes(name: str, value: Any, axes: int, expected: str) -> None:
    """Refuse what is no array with this number of axes."""
    if not isinstance(value, np.ndarray):
        raise ValueError(f"{name} is a {type(value).__qualname__}; expected a numpy.ndarray {expected}")
    if value.ndim != axes:
        raise ValueError(f"{name} has shape {shape_text(value.shape)}; expected {expected}")

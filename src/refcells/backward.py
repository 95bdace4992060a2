"""Backpropagation through time, written by hand: the backward pass of each step and walk of `vector`.

A name `d_something` is the gradient of one scalar loss with respect to `something`, in that thing's shape.
Inside a step, `d_a` stands for the gradient of the pre-activations, from which all others follow by matrix
products.

The steps are written as the derivation is. A `*_backward` takes the same steps from the last to the first,
reads the values of the forward pass from the run, and leaves the gradients of the weights, which are sums
over all time steps, to one product each at the end.
"""

from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar

import numpy as np
from jaxtyping import Float

from refcells._checks import check_choice, checked, shape_text
from refcells.vector import (
    Activation,
    GRURun,
    LSTMRun,
    RNNRun,
    Run,
    sigmoid,
    sigmoid_derivative,
    tanh_derivative,
)

__all__ = [
    "GRUResetAfterGradients",
    "GRUResetAfterStepGradients",
    "Gradients",
    "LSTMGradients",
    "LSTMPeepholeGradients",
    "LSTMStepGradients",
    "StepGradients",
    "gru_backward",
    "gru_reset_after_backward",
    "gru_reset_after_step_backward",
    "gru_step_backward",
    "lstm_1997_backward",
    "lstm_backward",
    "lstm_peephole_backward",
    "lstm_step_backward",
    "rnn_backward",
    "rnn_step_backward",
    "truncated_backward",
]


class StepGradients(NamedTuple):
    """Gradients of one step of an RNN or GRU, each in the shape of what it belongs to."""

    x: Float[np.ndarray, "batch input"]
    h_prev: Float[np.ndarray, "batch hidden"]
    W_x: Float[np.ndarray, "gates input"]
    W_h: Float[np.ndarray, "gates hidden"]
    b: Float[np.ndarray, "gates"]


class Gradients(NamedTuple):
    """Gradients of a whole RNN or GRU run, each in the shape of what it belongs to."""

    x: Float[np.ndarray, "batch time input"]
    W_x: Float[np.ndarray, "gates input"]
    W_h: Float[np.ndarray, "gates hidden"]
    b: Float[np.ndarray, "gates"]
    h0: Float[np.ndarray, "batch hidden"]


class LSTMStepGradients(NamedTuple):
    """Gradients of one LSTM step, each in the shape of what it belongs to."""

    x: Float[np.ndarray, "batch input"]
    h_prev: Float[np.ndarray, "batch hidden"]
    c_prev: Float[np.ndarray, "batch hidden"]
    W_x: Float[np.ndarray, "gates input"]
    W_h: Float[np.ndarray, "gates hidden"]
    b: Float[np.ndarray, "gates"]


class LSTMGradients(NamedTuple):
    """Gradients of a whole LSTM run, each in the shape of what it belongs to."""

    x: Float[np.ndarray, "batch time input"]
    W_x: Float[np.ndarray, "gates input"]
    W_h: Float[np.ndarray, "gates hidden"]
    b: Float[np.ndarray, "gates"]
    h0: Float[np.ndarray, "batch hidden"]
    c0: Float[np.ndarray, "batch hidden"]


class LSTMPeepholeGradients(NamedTuple):
    """Gradients of a whole run of an LSTM with peepholes, each in the shape of what it belongs to."""

    x: Float[np.ndarray, "batch time input"]
    W_x: Float[np.ndarray, "gates input"]
    W_h: Float[np.ndarray, "gates hidden"]
    b: Float[np.ndarray, "gates"]
    P: Float[np.ndarray, "3 hidden"]
    h0: Float[np.ndarray, "batch hidden"]
    c0: Float[np.ndarray, "batch hidden"]


class GRUResetAfterStepGradients(NamedTuple):
    """Gradients of one step of a reset-after GRU, each in the shape of what it belongs to."""

    x: Float[np.ndarray, "batch input"]
    h_prev: Float[np.ndarray, "batch hidden"]
    W_x: Float[np.ndarray, "gates input"]
    W_h: Float[np.ndarray, "gates hidden"]
    b_x: Float[np.ndarray, "gates"]
    b_h: Float[np.ndarray, "gates"]


class GRUResetAfterGradients(NamedTuple):
    """Gradients of a whole run of a reset-after GRU, each in the shape of what it belongs to."""

    x: Float[np.ndarray, "batch time input"]
    W_x: Float[np.ndarray, "gates input"]
    W_h: Float[np.ndarray, "gates hidden"]
    b_x: Float[np.ndarray, "gates"]
    b_h: Float[np.ndarray, "gates"]
    h0: Float[np.ndarray, "batch hidden"]


# ----------------------------------------------------------------------------------------------------
# One time step
# ----------------------------------------------------------------------------------------------------


@checked(gates=1)
def rnn_step_backward(
    d_h: Float[np.ndarray, "batch hidden"],
    x: Float[np.ndarray, "batch input"],
    h_prev: Float[np.ndarray, "batch hidden"],
    W_x: Float[np.ndarray, "gates input"],
    W_h: Float[np.ndarray, "gates hidden"],
    b: Float[np.ndarray, "gates"],
    activation: Activation = "tanh",
) -> StepGradients:
    r"""Backward pass of `rnn_step`: from the gradient of its result to those of its five arguments.

    $$\delta a = d_h \odot (1 - h_t^2)$$
    $$d_x = \delta a\, W_x, \quad d_{h_{t-1}} = \delta a\, W_h$$
    $$d_{W_x} = \delta a^\top x_t, \quad d_{W_h} = \delta a^\top h_{t-1}, \quad
      d_b = \textstyle\sum_{batch} \delta a$$

    For 'relu' the derivative is 1 where the pre-activation is positive, and 0 elsewhere.

    Args:
        d_h: gradient of the loss with respect to $h_t$, by every path that leaves it.
        x: input $x_t$ of the forward step.
        h_prev: hidden state $h_{t-1}$.
        W_x: input weights.
        W_h: recurrent weights.
        b: biases.
        activation: 'tanh' or 'relu', as in the forward step.

    Returns:
        Gradients of x, h_prev, W_x, W_h and b.

    Raises:
        ValueError: for a wrong type, dtype or shape, an empty axis, a NaN or an infinity, or another
            activation.

    Source:
        Werbos (1990).
    """
    check_choice("activation", activation, ("tanh", "relu"))
    a = x @ W_x.T + h_prev @ W_h.T + b
    d_a = d_h * (tanh_derivative(np.tanh(a)) if activation == "tanh" else a > 0)
    return StepGradients(x=d_a @ W_x, h_prev=d_a @ W_h, W_x=d_a.T @ x, W_h=d_a.T @ h_prev, b=d_a.sum(axis=0))


@checked(gates=4)
def lstm_step_backward(
    d_h: Float[np.ndarray, "batch hidden"],
    d_c: Float[np.ndarray, "batch hidden"],
    x: Float[np.ndarray, "batch input"],
    h_prev: Float[np.ndarray, "batch hidden"],
    c_prev: Float[np.ndarray, "batch hidden"],
    W_x: Float[np.ndarray, "gates input"],
    W_h: Float[np.ndarray, "gates hidden"],
    b: Float[np.ndarray, "gates"],
) -> LSTMStepGradients:
    r"""Backward pass of `lstm_step`: from the gradients of its two results to those of its six arguments.

    The cell state is reached by two paths, its own and through $h_t = o \odot \tanh(c_t)$, which add up:

    $$\delta c = d_c + d_h \odot o \odot (1 - \tanh^2 c_t)$$
    $$\delta a_i = \delta c \odot g \odot i (1 - i), \quad
      \delta a_f = \delta c \odot c_{t-1} \odot f (1 - f)$$
    $$\delta a_g = \delta c \odot i \odot (1 - g^2), \quad
      \delta a_o = d_h \odot \tanh(c_t) \odot o (1 - o)$$
    $$d_{c_{t-1}} = \delta c \odot f, \quad d_x = \delta a\, W_x, \quad d_{h_{t-1}} = \delta a\, W_h$$
    $$d_{W_x} = \delta a^\top x_t, \quad d_{W_h} = \delta a^\top h_{t-1}, \quad
      d_b = \textstyle\sum_{batch} \delta a$$

    Args:
        d_h: gradient of the loss with respect to $h_t$, by every path that leaves it.
        d_c: gradient of the loss with respect to $c_t$, not counting the path through $h_t$.
        x: input $x_t$ of the forward step.
        h_prev: hidden state $h_{t-1}$.
        c_prev: cell state $c_{t-1}$.
        W_x: input weights, gates stacked i, f, g, o.
        W_h: recurrent weights, stacked likewise.
        b: biases, stacked likewise.

    Returns:
        Gradients of x, h_prev, c_prev, W_x, W_h and b.

    Raises:
        ValueError: for a wrong type, dtype or shape, an empty axis, a NaN or an infinity.

    Source:
        Graves and Schmidhuber (2005), appendix A, without peepholes.
    """
    a_i, a_f, a_g, a_o = np.split(x @ W_x.T + h_prev @ W_h.T + b, 4, axis=1)
    i, f, g, o = sigmoid(a_i), sigmoid(a_f), np.tanh(a_g), sigmoid(a_o)
    tanh_c = np.tanh(f * c_prev + i * g)

    d_c = d_c + d_h * o * tanh_derivative(tanh_c)
    d_a_i = d_c * g * sigmoid_derivative(i)
    d_a_f = d_c * c_prev * sigmoid_derivative(f)
    d_a_g = d_c * i * tanh_derivative(g)
    d_a_o = d_h * tanh_c * sigmoid_derivative(o)
    d_a = np.concatenate([d_a_i, d_a_f, d_a_g, d_a_o], axis=1)
    return LSTMStepGradients(
        x=d_a @ W_x, h_prev=d_a @ W_h, c_prev=d_c * f, W_x=d_a.T @ x, W_h=d_a.T @ h_prev, b=d_a.sum(axis=0)
    )


@checked(gates=3)
def gru_step_backward(
    d_h: Float[np.ndarray, "batch hidden"],
    x: Float[np.ndarray, "batch input"],
    h_prev: Float[np.ndarray, "batch hidden"],
    W_x: Float[np.ndarray, "gates input"],
    W_h: Float[np.ndarray, "gates hidden"],
    b: Float[np.ndarray, "gates"],
) -> StepGradients:
    r"""Backward pass of `gru_step`: from the gradient of its result to those of its five arguments.

    $$\delta a_n = d_h \odot z \odot (1 - n^2), \qquad \delta s = \delta a_n W_{hn}
      \quad\text{with}\quad s = r \odot h_{t-1}$$
    $$\delta a_r = \delta s \odot h_{t-1} \odot r (1 - r), \qquad
      \delta a_z = d_h \odot (n - h_{t-1}) \odot z (1 - z)$$

    The old state is reached by four paths: the blend, the candidate, and the two gates.

    $$d_{h_{t-1}} = d_h \odot (1 - z) + \delta s \odot r + \delta a_r W_{hr} + \delta a_z W_{hz}$$

    Args:
        d_h: gradient of the loss with respect to $h_t$, by every path that leaves it.
        x: input $x_t$ of the forward step.
        h_prev: hidden state $h_{t-1}$.
        W_x: input weights, gates stacked r, z, n.
        W_h: recurrent weights, stacked likewise.
        b: biases, stacked likewise.

    Returns:
        Gradients of x, h_prev, W_x, W_h and b.

    Raises:
        ValueError: for a wrong type, dtype or shape, an empty axis, a NaN or an infinity.

    Source:
        Derived from Cho et al. (2014), eqs. 5 to 8; see the chapter on the GRU.
    """
    W_hr, W_hz, W_hn = np.split(W_h, 3)
    a_xr, a_xz, a_xn = np.split(x @ W_x.T + b, 3, axis=1)
    r, z = sigmoid(a_xr + h_prev @ W_hr.T), sigmoid(a_xz + h_prev @ W_hz.T)
    n = np.tanh(a_xn + (r * h_prev) @ W_hn.T)

    d_a_n = d_h * z * tanh_derivative(n)
    d_s = d_a_n @ W_hn
    d_a_r = d_s * h_prev * sigmoid_derivative(r)
    d_a_z = d_h * (n - h_prev) * sigmoid_derivative(z)
    d_a = np.concatenate([d_a_r, d_a_z, d_a_n], axis=1)
    return StepGradients(
        x=d_a @ W_x,
        h_prev=d_h * (1.0 - z) + d_s * r + d_a_r @ W_hr + d_a_z @ W_hz,
        W_x=d_a.T @ x,
        W_h=np.concatenate([d_a_r.T @ h_prev, d_a_z.T @ h_prev, d_a_n.T @ (r * h_prev)]),
        b=d_a.sum(axis=0),
    )


@checked(gates=3)
def gru_reset_after_step_backward(
    d_h: Float[np.ndarray, "batch hidden"],
    x: Float[np.ndarray, "batch input"],
    h_prev: Float[np.ndarray, "batch hidden"],
    W_x: Float[np.ndarray, "gates input"],
    W_h: Float[np.ndarray, "gates hidden"],
    b_x: Float[np.ndarray, "gates"],
    b_h: Float[np.ndarray, "gates"],
) -> GRUResetAfterStepGradients:
    r"""Backward pass of `gru_reset_after_step`: from the gradient of its result to those of its arguments.

    $$\delta a_n = d_h \odot z \odot (1 - n^2), \qquad
      \delta a_r = \delta a_n \odot (h_{t-1} W_{hn}^\top + b_{hn}) \odot r (1 - r)$$
    $$\delta a_z = d_h \odot (n - h_{t-1}) \odot z (1 - z)$$

    The input's and the state's shares of the candidate get different gradients, $\delta a_n$ and
    $\delta a_n \odot r$:

    $$d_x = [\delta a_r, \delta a_z, \delta a_n]\, W_x, \qquad
      d_{h_{t-1}} = d_h \odot (1 - z) + [\delta a_r, \delta a_z, \delta a_n \odot r]\, W_h$$

    Args:
        d_h: gradient of the loss with respect to $h_t$, by every path that leaves it.
        x: input $x_t$ of the forward step.
        h_prev: hidden state $h_{t-1}$.
        W_x: input weights, gates stacked r, z, n.
        W_h: recurrent weights, stacked likewise.
        b_x: biases beside the input's product, stacked likewise.
        b_h: biases beside the state's product, stacked likewise.

    Returns:
        Gradients of x, h_prev, W_x, W_h, b_x and b_h.

    Raises:
        ValueError: for a wrong type, dtype or shape, an empty axis, a NaN or an infinity.

    Source:
        Derived from the equations of `torch.nn.GRUCell`; see the chapter on the GRU.
    """
    a_xr, a_xz, a_xn = np.split(x @ W_x.T + b_x, 3, axis=1)
    a_hr, a_hz, a_hn = np.split(h_prev @ W_h.T + b_h, 3, axis=1)
    r, z = sigmoid(a_xr + a_hr), sigmoid(a_xz + a_hz)
    n = np.tanh(a_xn + r * a_hn)

    d_a_n = d_h * z * tanh_derivative(n)
    d_a_r = d_a_n * a_hn * sigmoid_derivative(r)
    d_a_z = d_h * (n - h_prev) * sigmoid_derivative(z)
    d_a_x = np.concatenate([d_a_r, d_a_z, d_a_n], axis=1)
    d_a_h = np.concatenate([d_a_r, d_a_z, d_a_n * r], axis=1)
    return GRUResetAfterStepGradients(
        x=d_a_x @ W_x,
        h_prev=d_h * (1.0 - z) + d_a_h @ W_h,
        W_x=d_a_x.T @ x,
        W_h=d_a_h.T @ h_prev,
        b_x=d_a_x.sum(axis=0),
        b_h=d_a_h.sum(axis=0),
    )


# ----------------------------------------------------------------------------------------------------
# A whole sequence
# ----------------------------------------------------------------------------------------------------


def _check_run(run: Any, kind: type[Run], made_by: str) -> None:
    """Refuse what no forward pass of this cell returned."""
    if not isinstance(run, kind):
        raise ValueError(
            f"run is a {type(run).__qualname__}; expected the {kind.__name__} that {made_by} returned"
        )


def _first_gradient(
    name: str, value: np.ndarray | None, like: np.ndarray, dtype: np.dtype[Any]
) -> np.ndarray:
    """A copy of a gradient with respect to a last state, zeros if None."""
    if value is None:
        return np.zeros(like.shape, dtype)
    _check_like(name, value, like)
    return value.astype(dtype)


def _check_like(name: str, value: np.ndarray, like: np.ndarray) -> None:
    """Refuse a gradient that has another shape than what it belongs to."""
    if value.shape != like.shape:
        raise ValueError(
            f"{name} has shape {shape_text(value.shape)}; "
            f"expected {shape_text(like.shape)}, the shape in the forward pass"
        )


def _time_first(sequence: np.ndarray) -> np.ndarray:
    """(batch, time, width) to one row a step of a sequence, (time * batch, width)."""
    return sequence.transpose(1, 0, 2).reshape(-1, sequence.shape[2])


def _input_gradient(d_a: np.ndarray, W_x: np.ndarray) -> np.ndarray:
    """Gradient of all inputs, (batch, time, input), from that of all pre-activations (time, batch, gates)."""
    steps, batch, rows = d_a.shape
    return (d_a.reshape(-1, rows) @ W_x).reshape(steps, batch, -1).transpose(1, 0, 2)


@checked(gates=1)
def rnn_backward(
    run: RNNRun,
    d_output: Float[np.ndarray, "batch time hidden"] | None = None,
    d_h_n: Float[np.ndarray, "batch hidden"] | None = None,
) -> Gradients:
    r"""BPTT of `rnn_forward`: the step's backward pass, from the last time step to the first.

    At each step the gradient of $h_t$ has two sources, the loss at that step and the step after it:

    $$\delta h_t = d_{output, t} + \delta a_{t+1} W_h, \qquad \delta a_t = \delta h_t \odot (1 - h_t^2)$$

    The weights are used at every step, so their gradients are sums over time:

    $$d_{W_x} = \sum_t \delta a_t^\top x_t, \qquad d_{W_h} = \sum_t \delta a_t^\top h_{t-1}, \qquad
      d_b = \sum_t \sum_{batch} \delta a_t$$

    Args:
        run: what `rnn_forward` returned.
        d_output: gradient of the loss with respect to the outputs; zeros if None.
        d_h_n: gradient with respect to the last hidden state, beyond its share in `d_output`; zeros if None.

    Returns:
        Gradients of x, W_x, W_h, b and h0.

    Raises:
        ValueError: for a wrong type, dtype or shape, a NaN or an infinity.

    Source:
        Werbos (1990).
    """
    _check_run(run, RNNRun, "rnn_forward")
    d_h = _first_gradient("d_h_n", d_h_n, run.h_n, run.h.dtype)
    if d_output is not None:
        _check_like("d_output", d_output, run.output)
    d_a = np.empty_like(run.h[1:])
    for t in reversed(range(len(d_a))):
        later = d_h
        if d_output is not None:
            d_h = d_h + d_output[:, t]
        h = run.h[t + 1]
        d_a[t] = d_h * (tanh_derivative(h) if run.activation == "tanh" else h > 0)
        if run.alive is not None:
            d_a[t] *= run.alive[t]
        d_h = d_a[t] @ run.W_h
        if run.alive is not None:
            # A padded step passes the state on unchanged, and its gradient with it.
            d_h = np.where(run.alive[t], d_h, later)

    flat = d_a.reshape(-1, d_a.shape[2])
    return Gradients(
        x=_input_gradient(d_a, run.W_x),
        W_x=flat.T @ _time_first(run.x),
        W_h=flat.T @ run.h[:-1].reshape(flat.shape[0], -1),
        b=flat.sum(axis=0),
        h0=d_h,
    )


@checked(gates=4)
def lstm_backward(
    run: LSTMRun,
    d_output: Float[np.ndarray, "batch time hidden"] | None = None,
    d_h_n: Float[np.ndarray, "batch hidden"] | None = None,
    d_c_n: Float[np.ndarray, "batch hidden"] | None = None,
) -> LSTMGradients:
    r"""BPTT of `lstm_forward`: the step's backward pass, from the last time step to the first.

    At each step the gradient of $h_t$ has two sources, the loss at that step and the step after it; so has
    the
    gradient of $c_t$, the hidden state beside it and the cell state after it:

    $$\delta h_t = d_{output, t} + \delta a_{t+1} W_h, \qquad
      \delta c_t = \delta c_{t+1} \odot f_{t+1} + \delta h_t \odot o_t \odot (1 - \tanh^2 c_t)$$

    $\delta a_t$ is as in `lstm_step_backward`. The weights are used at every step, so their gradients are
    sums over time.

    Args:
        run: what `lstm_forward` returned.
        d_output: gradient of the loss with respect to the outputs; zeros if None.
        d_h_n: gradient with respect to the last hidden state, beyond its share in `d_output`; zeros if None.
        d_c_n: gradient with respect to the last cell state; zeros if None.

    Returns:
        Gradients of x, W_x, W_h, b, h0 and c0.

    Raises:
        ValueError: for a wrong type, dtype or shape, a NaN or an infinity, or a run with peepholes.

    Source:
        Werbos (1990) for BPTT; Graves and Schmidhuber (2005), appendix A, for the LSTM.
    """
    _check_run(run, LSTMRun, "lstm_forward")
    if run.P is not None:
        raise ValueError(
            "run has peepholes, which lstm_peephole_backward takes; expected one of lstm_forward"
        )
    d_a, d_h0, d_c0 = _lstm_walk_back(run, d_output, d_h_n, d_c_n)
    return LSTMGradients(*_lstm_sums(run, d_a), h0=d_h0, c0=d_c0)


@checked(gates=4)
def lstm_peephole_backward(
    run: LSTMRun,
    d_output: Float[np.ndarray, "batch time hidden"] | None = None,
    d_h_n: Float[np.ndarray, "batch hidden"] | None = None,
    d_c_n: Float[np.ndarray, "batch hidden"] | None = None,
) -> LSTMPeepholeGradients:
    r"""BPTT of `lstm_peephole_forward`: that of `lstm_backward`, with three more paths to the cell state.

    $$\delta c_t \mathrel{+}= \delta a_o \odot p_o, \qquad
      \delta c_{t-1} \mathrel{+}= \delta a_i \odot p_i + \delta a_f \odot p_f$$
    $$d_{p_i} = \sum_t \sum_{batch} \delta a_i \odot c_{t-1}, \quad
      d_{p_f} = \sum_t \sum_{batch} \delta a_f \odot c_{t-1}, \quad
      d_{p_o} = \sum_t \sum_{batch} \delta a_o \odot c_t$$

    Args:
        run: what `lstm_peephole_forward` returned.
        d_output: gradient of the loss with respect to the outputs; zeros if None.
        d_h_n: gradient with respect to the last hidden state, beyond its share in `d_output`; zeros if None.
        d_c_n: gradient with respect to the last cell state; zeros if None.

    Returns:
        Gradients of x, W_x, W_h, b, P, h0 and c0.

    Raises:
        ValueError: for a wrong type, dtype or shape, a NaN or an infinity, or a run without peepholes.

    Source:
        Graves and Schmidhuber (2005), appendix A.
    """
    _check_run(run, LSTMRun, "lstm_peephole_forward")
    if run.P is None:
        raise ValueError("run has no peepholes; expected one of lstm_peephole_forward")
    d_a, d_h0, d_c0 = _lstm_walk_back(run, d_output, d_h_n, d_c_n)
    d_a_i, d_a_f, _, d_a_o = np.split(d_a, 4, axis=2)
    d_P = np.stack(
        [
            (d_a_i * run.c[:-1]).sum(axis=(0, 1)),
            (d_a_f * run.c[:-1]).sum(axis=(0, 1)),
            (d_a_o * run.c[1:]).sum(axis=(0, 1)),
        ]
    )
    return LSTMPeepholeGradients(*_lstm_sums(run, d_a), P=d_P, h0=d_h0, c0=d_c0)


@checked(gates=4)
def lstm_1997_backward(
    run: LSTMRun,
    d_output: Float[np.ndarray, "batch time hidden"] | None = None,
    d_h_n: Float[np.ndarray, "batch hidden"] | None = None,
    d_c_n: Float[np.ndarray, "batch hidden"] | None = None,
) -> LSTMGradients:
    r"""BPTT of `lstm_1997_forward`: that of `lstm_backward`, with the forget gate's block taken out again.

    The paper itself cut the gradient at the gates; this is the full one.

    $$\delta c_t = \delta c_{t+1} + \delta h_t \odot o_t \odot (1 - \tanh^2 c_t)$$

    Args:
        run: what `lstm_1997_forward` returned.
        d_output: gradient of the loss with respect to the outputs; zeros if None.
        d_h_n: gradient with respect to the last hidden state, beyond its share in `d_output`; zeros if None.
        d_c_n: gradient with respect to the last cell state; zeros if None.

    Returns:
        Gradients of x, W_x, W_h, b, h0 and c0; three blocks i, g, o in those of the weights.

    Raises:
        ValueError: for a wrong type, dtype or shape, a NaN or an infinity, or a run whose forget gate is
            not 1.

    Source:
        Graves and Schmidhuber (2005), appendix A, with the forget gate held at 1.
    """
    _check_run(run, LSTMRun, "lstm_1997_forward")
    hidden = run.h.shape[2]
    if not (run.gates[:, :, hidden : 2 * hidden] == 1.0).all():
        raise ValueError("run has a forget gate that is not 1; expected one of lstm_1997_forward")

    def without_forget_block(stacked: np.ndarray) -> np.ndarray:
        i, _, g, o = np.split(stacked, 4)
        return np.concatenate([i, g, o])

    full = lstm_backward(run, d_output, d_h_n, d_c_n)
    return full._replace(
        W_x=without_forget_block(full.W_x), W_h=without_forget_block(full.W_h), b=without_forget_block(full.b)
    )


def _lstm_walk_back(
    run: LSTMRun, d_output: np.ndarray | None, d_h_n: np.ndarray | None, d_c_n: np.ndarray | None
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Gradients of all pre-activations (time, batch, gates), of h0 and of c0."""
    d_h = _first_gradient("d_h_n", d_h_n, run.h_n, run.h.dtype)
    d_c = _first_gradient("d_c_n", d_c_n, run.c_n, run.h.dtype)
    if d_output is not None:
        _check_like("d_output", d_output, run.output)
    steps, batch, hidden = run.tanh_c.shape
    i, f, g, o = run.gates.reshape(steps, batch, 4, hidden).transpose(2, 0, 1, 3)
    d_a = np.empty_like(run.gates)
    d_a_i, d_a_f, d_a_g, d_a_o = d_a.reshape(steps, batch, 4, hidden).transpose(2, 0, 1, 3)
    for t in reversed(range(steps)):
        later_h, later_c = d_h, d_c
        if d_output is not None:
            d_h = d_h + d_output[:, t]
        d_a_o[t] = d_h * run.tanh_c[t] * sigmoid_derivative(o[t])
        d_c = d_c + d_h * o[t] * tanh_derivative(run.tanh_c[t])
        if run.P is not None:
            d_c += d_a_o[t] * run.P[2]
        d_a_i[t] = d_c * g[t] * sigmoid_derivative(i[t])
        d_a_f[t] = d_c * run.c[t] * sigmoid_derivative(f[t])
        d_a_g[t] = d_c * i[t] * tanh_derivative(g[t])
        if run.alive is not None:
            d_a[t] *= run.alive[t]
        d_h = d_a[t] @ run.W_h
        d_c *= f[t]
        if run.P is not None:
            d_c += d_a_i[t] * run.P[0] + d_a_f[t] * run.P[1]
        if run.alive is not None:
            # A padded step passes both states on unchanged, and their gradients with them.
            d_h = np.where(run.alive[t], d_h, later_h)
            d_c = np.where(run.alive[t], d_c, later_c)
    return d_a, d_h, d_c


def _lstm_sums(run: LSTMRun, d_a: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Gradients of x, W_x, W_h and b from those of all pre-activations."""
    flat = d_a.reshape(-1, d_a.shape[2])
    return (
        _input_gradient(d_a, run.W_x),
        flat.T @ _time_first(run.x),
        flat.T @ run.h[:-1].reshape(flat.shape[0], -1),
        flat.sum(axis=0),
    )


@checked(gates=3)
def gru_backward(
    run: GRURun,
    d_output: Float[np.ndarray, "batch time hidden"] | None = None,
    d_h_n: Float[np.ndarray, "batch hidden"] | None = None,
) -> Gradients:
    r"""BPTT of `gru_forward`: the step's backward pass, from the last time step to the first.

    $$\delta h_{t-1} = d_{output, t-1} + \delta h_t \odot (1 - z_t) + \delta s_t \odot r_t
      + \delta a_{r,t} W_{hr} + \delta a_{z,t} W_{hz}$$

    The letters are those of `gru_step_backward`. The weights are used at every step, so their gradients are
    sums over time.

    Args:
        run: what `gru_forward` returned.
        d_output: gradient of the loss with respect to the outputs; zeros if None.
        d_h_n: gradient with respect to the last hidden state, beyond its share in `d_output`; zeros if None.

    Returns:
        Gradients of x, W_x, W_h, b and h0.

    Raises:
        ValueError: for a wrong type, dtype or shape, a NaN or an infinity, or a reset-after run.

    Source:
        Derived from Cho et al. (2014), eqs. 5 to 8; see the chapter on the GRU.
    """
    _check_run(run, GRURun, "gru_forward")
    if run.a_hn is not None:
        raise ValueError(
            "run is reset-after, which gru_reset_after_backward takes; expected one of gru_forward"
        )
    d_a, d_h0 = _gru_walk_back(run, d_output, d_h_n)
    hidden = d_h0.shape[1]
    flat = d_a.reshape(-1, 3 * hidden)
    h_prev = run.h[:-1]
    reset = run.gates[:, :, :hidden] * h_prev
    return Gradients(
        x=_input_gradient(d_a, run.W_x),
        W_x=flat.T @ _time_first(run.x),
        W_h=np.concatenate(
            [
                flat[:, : 2 * hidden].T @ h_prev.reshape(-1, hidden),
                flat[:, 2 * hidden :].T @ reset.reshape(-1, hidden),
            ]
        ),
        b=flat.sum(axis=0),
        h0=d_h0,
    )


@checked(gates=3)
def gru_reset_after_backward(
    run: GRURun,
    d_output: Float[np.ndarray, "batch time hidden"] | None = None,
    d_h_n: Float[np.ndarray, "batch hidden"] | None = None,
) -> GRUResetAfterGradients:
    r"""BPTT of `gru_reset_after_forward`: the step's backward pass, from the last time step to the first.

    $$\delta h_{t-1} = d_{output, t-1} + \delta h_t \odot (1 - z_t)
      + [\delta a_{r,t}, \delta a_{z,t}, \delta a_{n,t} \odot r_t]\, W_h$$

    The letters are those of `gru_reset_after_step_backward`. The weights are used at every step, so their
    gradients are sums over time.

    Args:
        run: what `gru_reset_after_forward` returned.
        d_output: gradient of the loss with respect to the outputs; zeros if None.
        d_h_n: gradient with respect to the last hidden state, beyond its share in `d_output`; zeros if None.

    Returns:
        Gradients of x, W_x, W_h, b_x, b_h and h0.

    Raises:
        ValueError: for a wrong type, dtype or shape, a NaN or an infinity, or a run of `gru_forward`.

    Source:
        Derived from the equations of `torch.nn.GRU`; see the chapter on the GRU.
    """
    _check_run(run, GRURun, "gru_reset_after_forward")
    if run.a_hn is None:
        raise ValueError("run is reset-before; expected one of gru_reset_after_forward")
    d_a, d_h0 = _gru_walk_back(run, d_output, d_h_n)
    hidden = d_h0.shape[1]
    d_a_h = d_a.copy()
    d_a_h[:, :, 2 * hidden :] *= run.gates[:, :, :hidden]
    flat_x, flat_h = d_a.reshape(-1, 3 * hidden), d_a_h.reshape(-1, 3 * hidden)
    return GRUResetAfterGradients(
        x=_input_gradient(d_a, run.W_x),
        W_x=flat_x.T @ _time_first(run.x),
        W_h=flat_h.T @ run.h[:-1].reshape(-1, hidden),
        b_x=flat_x.sum(axis=0),
        b_h=flat_h.sum(axis=0),
        h0=d_h0,
    )


def _gru_walk_back(
    run: GRURun, d_output: np.ndarray | None, d_h_n: np.ndarray | None
) -> tuple[np.ndarray, np.ndarray]:
    """Gradients of all pre-activations (time, batch, gates) and of h0, for either reset placement."""
    d_h = _first_gradient("d_h_n", d_h_n, run.h_n, run.h.dtype)
    if d_output is not None:
        _check_like("d_output", d_output, run.output)
    steps, batch, hidden = run.h[1:].shape
    r, z, n = run.gates.reshape(steps, batch, 3, hidden).transpose(2, 0, 1, 3)
    W_h_rz, W_hn = run.W_h[: 2 * hidden], run.W_h[2 * hidden :]
    d_a = np.empty_like(run.gates)
    d_a_r, d_a_z, d_a_n = d_a.reshape(steps, batch, 3, hidden).transpose(2, 0, 1, 3)
    for t in reversed(range(steps)):
        later = d_h
        if d_output is not None:
            d_h = d_h + d_output[:, t]
        h_prev = run.h[t]
        d_a_n[t] = d_h * z[t] * tanh_derivative(n[t])
        d_a_z[t] = d_h * (n[t] - h_prev) * sigmoid_derivative(z[t])
        if run.a_hn is None:
            d_s = d_a_n[t] @ W_hn
            d_a_r[t] = d_s * h_prev * sigmoid_derivative(r[t])
            through_n = d_s * r[t]
        else:
            d_a_r[t] = d_a_n[t] * run.a_hn[t] * sigmoid_derivative(r[t])
            through_n = (d_a_n[t] * r[t]) @ W_hn
        d_h = d_h * (1.0 - z[t]) + through_n + d_a[t, :, : 2 * hidden] @ W_h_rz
        if run.alive is not None:
            # A padded step passes the state on unchanged, and its gradient with it.
            d_a[t] *= run.alive[t]
            d_h = np.where(run.alive[t], d_h, later)
    return d_a, d_h


# ----------------------------------------------------------------------------------------------------
# Truncation
# ----------------------------------------------------------------------------------------------------

G = TypeVar("G", Gradients, LSTMGradients, LSTMPeepholeGradients, GRUResetAfterGradients)


def truncated_backward(
    backward: Callable[..., G],
    run: Run,
    chunk: int,
    d_output: Float[np.ndarray, "batch time hidden"],
) -> G:
    r"""Truncated BPTT: the state is carried from one chunk of time steps to the next, its gradient is not.

    The sequence is cut into chunks of `chunk` steps, the last one perhaps shorter. The forward pass is that
    of the
    whole sequence. Backwards, each chunk is treated as if its initial state had been given:

    $$\delta h_{t-1} = d_{output, t-1} + 0 \quad\text{if step } t \text{ is the first of a chunk}$$

    so a loss at step t teaches the weights nothing about steps before its chunk. With `chunk` at least T
    this is the full gradient. To save memory, or to update the weights after each chunk, call the
    `*_forward` on each chunk with the last state of the one before as its initial state, and the
    `*_backward` on each run; without updates in between the gradients of the weights add up to these.

    Args:
        backward: the cell's `*_backward`, such as `lstm_backward`.
        run: what the cell's `*_forward` returned for the whole sequence.
        chunk: number of time steps that a gradient can travel within a chunk.
        d_output: gradient of the loss with respect to the outputs.

    Returns:
        What `backward` returns: weights' gradients summed over the chunks, x's of all steps, and the
        initial state's from the first chunk alone.

    Raises:
        ValueError: if `chunk` is below 1, or for what `backward` refuses.

    Source:
        Williams and Peng (1990), with chunks that do not overlap.
    """
    if chunk < 1:
        raise ValueError(f"chunk is {chunk}; expected at least 1 time step")
    if not isinstance(run, Run):
        raise ValueError(f"run is a {type(run).__qualname__}; expected what a *_forward returned")
    if not isinstance(d_output, np.ndarray):
        raise ValueError(f"d_output is a {type(d_output).__qualname__}; expected a numpy.ndarray")
    _check_like("d_output", d_output, run.output)
    steps = run.x.shape[1]
    parts = [
        backward(run.steps(start, min(start + chunk, steps)), d_output[:, start : start + chunk])
        for start in range(0, steps, chunk)
    ]
    combined = {}
    for name in parts[0]._fields:
        pieces = [getattr(part, name) for part in parts]
        if name == "x":
            combined[name] = np.concatenate(pieces, axis=1)
        else:
            combined[name] = pieces[0] if name in ("h0", "c0") else np.sum(pieces, axis=0)
    return type(parts[0])(**combined)

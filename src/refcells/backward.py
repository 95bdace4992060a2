"""Backpropagation through time, written by hand: the backward pass of each `*_forward` in `refcells.vector`.

A name `d_something` is the gradient of one scalar loss with respect to `something`, in that thing's shape.
"""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from refcells._checks import checked
from refcells.vector import LSTMRun, lstm_forward, sigmoid_derivative, tanh_derivative

__all__ = ["LSTMGradients", "LSTMStepGradients", "lstm_backward", "lstm_step_backward"]


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
      \delta a_f = \delta c \odot c_{t-1} \odot f (1 - f), \quad
      \delta a_g = \delta c \odot i \odot (1 - g^2), \quad
      \delta a_o = d_h \odot \tanh(c_t) \odot o (1 - o)$$
    $$d_{c_{t-1}} = \delta c \odot f, \quad d_x = \delta a\, W_x, \quad d_{h_{t-1}} = \delta a\, W_h, \quad
      d_{W_x} = \delta a^\top x, \quad d_{W_h} = \delta a^\top h_{t-1}, \quad d_b = \textstyle\sum_{batch} \delta a$$

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
        ValueError: for a wrong type, dtype or shape, an empty axis, or a NaN.

    Source:
        Graves and Schmidhuber (2005), appendix A, without peepholes.
    """
    run = lstm_forward(x[:, None, :], W_x, W_h, b, h_prev, c_prev)
    grads = lstm_backward(run, d_h_n=d_h, d_c_n=d_c)
    return LSTMStepGradients(grads.x[:, 0], grads.h0, grads.c0, grads.W_x, grads.W_h, grads.b)


@checked(gates=4)
def lstm_backward(
    run: LSTMRun,
    d_output: Float[np.ndarray, "batch time hidden"] | None = None,
    d_h_n: Float[np.ndarray, "batch hidden"] | None = None,
    d_c_n: Float[np.ndarray, "batch hidden"] | None = None,
) -> LSTMGradients:
    r"""BPTT of `lstm_forward`: the step's backward pass, from the last time step to the first.

    At each step the gradient of $h_t$ has two sources, the loss at that step and the step after it; so has the
    gradient of $c_t$. The weights are used at every step, so their gradients are sums over time.

    Args:
        run: what `lstm_forward` returned.
        d_output: gradient of the loss with respect to the outputs; zeros if None.
        d_h_n: gradient with respect to the last hidden state, beyond its share in `d_output`; zeros if None.
        d_c_n: gradient with respect to the last cell state; zeros if None.

    Returns:
        Gradients of x, W_x, W_h, b, h0 and c0.

    Raises:
        ValueError: for a wrong type, dtype or shape, or a NaN.

    Source:
        Werbos (1990) for BPTT; Graves and Schmidhuber (2005), appendix A, for the LSTM.
    """
    steps, batch, hidden = run.tanh_c.shape
    for name, value, like in (
        ("d_output", d_output, run.output),
        ("d_h_n", d_h_n, run.h_n),
        ("d_c_n", d_c_n, run.c_n),
    ):
        if value is not None and value.shape != like.shape:
            raise ValueError(f"{name} has shape {value.shape}; expected {like.shape}, the shape in the forward pass")

    d_h = np.zeros_like(run.h_n) if d_h_n is None else d_h_n.copy()
    d_c = np.zeros_like(run.c_n) if d_c_n is None else d_c_n.copy()
    d_a = np.empty_like(run.gates)
    for t in reversed(range(steps)):
        i, f, g, o = (run.gates[t][:, k * hidden : (k + 1) * hidden] for k in range(4))
        alive = None if run.alive is None else run.alive[t]
        held_h, held_c = d_h, d_c
        if d_output is not None:
            d_h = d_h + d_output[:, t]
        d_c = d_c + d_h * o * tanh_derivative(run.tanh_c[t])
        d_a_i, d_a_f, d_a_g, d_a_o = (d_a[t][:, k * hidden : (k + 1) * hidden] for k in range(4))
        d_a_i[:] = d_c * g * sigmoid_derivative(i)
        d_a_f[:] = d_c * run.c[t] * sigmoid_derivative(f)
        d_a_g[:] = d_c * i * tanh_derivative(g)
        d_a_o[:] = d_h * run.tanh_c[t] * sigmoid_derivative(o)
        if alive is not None:
            d_a[t] *= alive
        d_h = d_a[t] @ run.W_h
        d_c = d_c * f
        if alive is not None:
            # A padded step passes the state on unchanged, and its gradient with it.
            d_h = np.where(alive, d_h, held_h)
            d_c = np.where(alive, d_c, held_c)

    flat = d_a.reshape(steps * batch, -1)
    return LSTMGradients(
        x=(d_a @ run.W_x).transpose(1, 0, 2),
        W_x=flat.T @ run.x.transpose(1, 0, 2).reshape(steps * batch, -1),
        W_h=flat.T @ run.h[:-1].reshape(steps * batch, -1),
        b=flat.sum(axis=0),
        h0=d_h,
        c0=d_c,
    )

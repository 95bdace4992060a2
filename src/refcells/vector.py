"""Recurrent cells in NumPy: one step for a batch, then a whole sequence.

Arrays are batch first and states are row vectors, so a step reads `x @ W_x.T + h @ W_h.T + b`. The weights of a cell's
gates are stacked in PyTorch's order along the first axis, called `gates` here: i, f, g, o for the LSTM, which makes
`W_x` (4 * hidden, input), `W_h` (4 * hidden, hidden) and `b` (4 * hidden,).
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float, Integer

from refcells._checks import check_lengths, checked

__all__ = [
    "LSTMRun",
    "lstm_forward",
    "lstm_step",
    "sigmoid",
    "sigmoid_derivative",
    "tanh_derivative",
]


def sigmoid(a: Float[np.ndarray, "..."]) -> Float[np.ndarray, "..."]:
    r"""Logistic sigmoid $\sigma(a) = 1 / (1 + e^{-a})$, elementwise and without overflow.

    Computed as $\sigma(a) = \frac12 (1 + \tanh \frac a2)$: the two are the same function, and tanh never overflows.

    Args:
        a: pre-activations of any shape.

    Returns:
        Numbers in [0, 1], same shape and dtype. For $a \lesssim -37$ the result is 0 in float64.
    """
    return 0.5 * np.tanh(0.5 * a) + 0.5


def sigmoid_derivative(s: Float[np.ndarray, "..."]) -> Float[np.ndarray, "..."]:
    r"""Derivative of the sigmoid, from its value: $\sigma'(a) = s (1 - s)$ with $s = \sigma(a)$."""
    return s * (1.0 - s)


def tanh_derivative(t: Float[np.ndarray, "..."]) -> Float[np.ndarray, "..."]:
    r"""Derivative of tanh, from its value: $\tanh'(a) = 1 - t^2$ with $t = \tanh(a)$."""
    return 1.0 - t * t


@checked(gates=4)
def lstm_step(
    x: Float[np.ndarray, "batch input"],
    h_prev: Float[np.ndarray, "batch hidden"],
    c_prev: Float[np.ndarray, "batch hidden"],
    W_x: Float[np.ndarray, "gates input"],
    W_h: Float[np.ndarray, "gates hidden"],
    b: Float[np.ndarray, "gates"],
) -> tuple[Float[np.ndarray, "batch hidden"], Float[np.ndarray, "batch hidden"]]:
    r"""One time step of an LSTM.

    $$a = x_t W_x^\top + h_{t-1} W_h^\top + b, \qquad a = [a_i, a_f, a_g, a_o]$$
    $$i = \sigma(a_i), \quad f = \sigma(a_f), \quad g = \tanh(a_g), \quad o = \sigma(a_o)$$
    $$c_t = f \odot c_{t-1} + i \odot g, \qquad h_t = o \odot \tanh(c_t)$$

    Args:
        x: input $x_t$.
        h_prev: hidden state $h_{t-1}$.
        c_prev: cell state $c_{t-1}$.
        W_x: input weights, gates stacked i, f, g, o.
        W_h: recurrent weights, stacked likewise.
        b: biases, stacked likewise; PyTorch's `bias_ih + bias_hh`.

    Returns:
        `(h, c)`: hidden state $h_t$ and cell state $c_t$.

    Raises:
        ValueError: for a wrong type, dtype or shape, an empty axis, or a NaN.

    Source:
        Gers, Schmidhuber and Cummins (2000), without peepholes; `torch.nn.LSTMCell`.
    """
    a = x @ W_x.T + h_prev @ W_h.T + b
    a_i, a_f, a_g, a_o = np.split(a, 4, axis=1)
    i, f, o = sigmoid(a_i), sigmoid(a_f), sigmoid(a_o)
    g = np.tanh(a_g)
    c = f * c_prev + i * g
    h = o * np.tanh(c)
    return h, c


@dataclass(frozen=True)
class LSTMRun:
    """What an LSTM computed on its walk over a batch of sequences: the answer, and all that BPTT needs of the way there.

    The results are batch first. The trace is time first, (time, batch, ...), the order in which it was written and in
    which BPTT reads it.

    Attributes:
        output: hidden states h_1..h_T (batch, time, hidden), 0 at padded steps.
        h_n: hidden state after each sequence's last step (batch, hidden).
        c_n: cell state after each sequence's last step (batch, hidden).
        h: states h_0..h_T (time + 1, batch, hidden); a padded step holds the state.
        c: states c_0..c_T, likewise.
        gates: values of i, f, g, o, stacked (time, batch, 4 * hidden).
        tanh_c: tanh of the new cell state (time, batch, hidden).
        x: the inputs (batch, time, input).
        W_x: the input weights.
        W_h: the recurrent weights.
        alive: which steps belong to each sequence (time, batch, 1); None if all do.
    """

    output: Float[np.ndarray, "batch time hidden"]
    h_n: Float[np.ndarray, "batch hidden"]
    c_n: Float[np.ndarray, "batch hidden"]
    h: Float[np.ndarray, "time_1 batch hidden"]
    c: Float[np.ndarray, "time_1 batch hidden"]
    gates: Float[np.ndarray, "time batch gates"]
    tanh_c: Float[np.ndarray, "time batch hidden"]
    x: Float[np.ndarray, "batch time input"]
    W_x: Float[np.ndarray, "gates input"]
    W_h: Float[np.ndarray, "gates hidden"]
    alive: Any

    def gate(self, name: str) -> Float[np.ndarray, "batch time hidden"]:
        """Values of one gate, batch first: `name` is 'i', 'f', 'g' or 'o'.

        Raises:
            ValueError: for another name.
        """
        if name not in ("i", "f", "g", "o"):
            raise ValueError(f"gate {name!r} came; expected 'i', 'f', 'g' or 'o'")
        return np.split(self.gates, 4, axis=2)["ifgo".index(name)].transpose(1, 0, 2)


@checked(gates=4)
def lstm_forward(
    x: Float[np.ndarray, "batch time input"],
    W_x: Float[np.ndarray, "gates input"],
    W_h: Float[np.ndarray, "gates hidden"],
    b: Float[np.ndarray, "gates"],
    h0: Float[np.ndarray, "batch hidden"] | None = None,
    c0: Float[np.ndarray, "batch hidden"] | None = None,
    lengths: Integer[np.ndarray, "batch"] | None = None,
) -> LSTMRun:
    r"""Walk an LSTM over a batch of sequences: `lstm_step` T times, the input's share computed once.

    $x_t W_x^\top + b$ does not wait for the state, so all steps' shares are one matrix product. A step past a
    sequence's length is padding: it holds the state, and its output is 0.

    Args:
        x: inputs, padded to a common number of time steps.
        W_x: input weights, gates stacked i, f, g, o.
        W_h: recurrent weights, stacked likewise.
        b: biases, stacked likewise.
        h0: initial hidden state; zeros if None.
        c0: initial cell state; zeros if None.
        lengths: number of time steps of each sequence, 1 to T; all T if None.

    Returns:
        The outputs, the last states, and the trace that `lstm_backward` reads.

    Raises:
        ValueError: for a wrong type, dtype or shape, an empty axis, a NaN, or a length outside 1..T.

    Source:
        Gers, Schmidhuber and Cummins (2000), without peepholes; `torch.nn.LSTM`.
    """
    batch, steps, _ = x.shape
    hidden = W_h.shape[1]
    check_lengths(lengths, steps)
    alive = None if lengths is None else (np.arange(steps)[:, None] < lengths)[:, :, None]

    dtype = np.result_type(x, W_x)
    h = np.zeros((steps + 1, batch, hidden), dtype)
    c = np.zeros((steps + 1, batch, hidden), dtype)
    tanh_c = np.empty((steps, batch, hidden), dtype)
    if h0 is not None:
        h[0] = h0
    if c0 is not None:
        c[0] = c0

    # One buffer: it holds the input's share of each pre-activation, and is turned into gate values in place.
    gates = np.ascontiguousarray(x.transpose(1, 0, 2)) @ W_x.T + b
    recurrent = np.ascontiguousarray(W_h.T)
    for t in range(steps):
        a = gates[t]
        a += h[t] @ recurrent
        i, f, g, o = (a[:, k * hidden : (k + 1) * hidden] for k in range(4))
        for gate in (a[:, : 2 * hidden], o):
            gate *= 0.5
            np.tanh(gate, out=gate)
            gate *= 0.5
            gate += 0.5
        np.tanh(g, out=g)
        np.multiply(f, c[t], out=c[t + 1])
        c[t + 1] += i * g
        np.tanh(c[t + 1], out=tanh_c[t])
        np.multiply(o, tanh_c[t], out=h[t + 1])
        if alive is not None:
            h[t + 1] = np.where(alive[t], h[t + 1], h[t])
            c[t + 1] = np.where(alive[t], c[t + 1], c[t])

    shown = h[1:] if alive is None else h[1:] * alive
    output = shown.transpose(1, 0, 2)
    return LSTMRun(output, h[-1], c[-1], h, c, gates, tanh_c, x, W_x, W_h, alive)

r"""Recurrent cells in NumPy: first one step for a batch, then a whole sequence.

Arrays are batch first and states are row vectors, so a step reads `x @ W_x.T + h @ W_h.T + b`. The weights
of a cell's gates are stacked in PyTorch's order along the first axis, called `gates` here:

| cell | blocks | states | `W_x` | `W_h` | `b` |
| --- | --- | --- | --- | --- | --- |
| RNN | one | h | (hidden, input) | (hidden, hidden) | (hidden,) |
| LSTM | i, f, g, o | h, c | (4 * hidden, input) | (4 * hidden, hidden) | (4 * hidden,) |
| GRU | r, z, n | h | (3 * hidden, input) | (3 * hidden, hidden) | (3 * hidden,) |

The steps are written as the equations are. A `*_forward` takes the same steps and is arranged for speed: the
input's share of all pre-activations is one matrix product, and the trace that backpropagation will need is
written in place. The tests hold the two equal.
"""

from dataclasses import dataclass, fields, replace
from typing import Any, Literal

import numpy as np
from jaxtyping import Bool, Float, Integer

from refcells._checks import check_choice, check_lengths, checked

__all__ = [
    "GRURun",
    "LSTMRun",
    "RNNRun",
    "Run",
    "gru_forward",
    "gru_reset_after_forward",
    "gru_reset_after_step",
    "gru_step",
    "lstm_1997_forward",
    "lstm_1997_step",
    "lstm_forward",
    "lstm_peephole_forward",
    "lstm_peephole_step",
    "lstm_step",
    "relu",
    "rnn_forward",
    "rnn_step",
    "sigmoid",
    "sigmoid_derivative",
    "tanh_derivative",
]

Activation = Literal["tanh", "relu"]


# ----------------------------------------------------------------------------------------------------
# Activations
# ----------------------------------------------------------------------------------------------------


def sigmoid(a: Float[np.ndarray, "..."]) -> Float[np.ndarray, "..."]:
    r"""Logistic sigmoid $\sigma(a) = 1 / (1 + e^{-a})$, elementwise and without overflow.

    Computed as $\sigma(a) = \frac12 (1 + \tanh \frac a2)$: the two are the same function, and tanh never
    overflows.

    Args:
        a: pre-activations of any shape.

    Returns:
        Numbers in [0, 1], same shape and dtype. For $a \lesssim -37$ the result is 0 in float64.
    """
    return 0.5 * np.tanh(0.5 * a) + 0.5


def sigmoid_derivative(s: Float[np.ndarray, "..."]) -> Float[np.ndarray, "..."]:
    r"""Derivative of the sigmoid, from its value: $\sigma'(a) = s (1 - s)$ with $s = \sigma(a)$.

    Args:
        s: values of the sigmoid, of any shape.

    Returns:
        The derivatives, between 0 and 1/4, same shape and dtype.
    """
    return s * (1.0 - s)


def tanh_derivative(t: Float[np.ndarray, "..."]) -> Float[np.ndarray, "..."]:
    r"""Derivative of tanh, from its value: $\tanh'(a) = 1 - t^2$ with $t = \tanh(a)$.

    Args:
        t: values of tanh, of any shape.

    Returns:
        The derivatives, between 0 and 1, same shape and dtype.
    """
    return 1.0 - t * t


def relu(a: Float[np.ndarray, "..."]) -> Float[np.ndarray, "..."]:
    r"""Rectifier $\max(0, a)$, elementwise.

    Args:
        a: pre-activations of any shape.

    Returns:
        Numbers that are at least 0, same shape and dtype.
    """
    return np.maximum(a, 0.0)


# ----------------------------------------------------------------------------------------------------
# One time step
# ----------------------------------------------------------------------------------------------------


@checked(gates=1)
def rnn_step(
    x: Float[np.ndarray, "batch input"],
    h_prev: Float[np.ndarray, "batch hidden"],
    W_x: Float[np.ndarray, "gates input"],
    W_h: Float[np.ndarray, "gates hidden"],
    b: Float[np.ndarray, "gates"],
    activation: Activation = "tanh",
) -> Float[np.ndarray, "batch hidden"]:
    r"""One time step of a plain RNN.

    $$h_t = \tanh(x_t W_x^\top + h_{t-1} W_h^\top + b)$$

    Args:
        x: input $x_t$.
        h_prev: hidden state $h_{t-1}$.
        W_x: input weights.
        W_h: recurrent weights.
        b: biases; PyTorch's `bias_ih + bias_hh`.
        activation: 'tanh', or 'relu' for $\max(0, \cdot)$ in its place.

    Returns:
        The hidden state $h_t$.

    Raises:
        ValueError: for a wrong type, dtype or shape, an empty axis, a NaN or an infinity, or another
            activation.

    Source:
        Elman (1990); `torch.nn.RNNCell`.
    """
    check_choice("activation", activation, ("tanh", "relu"))
    a = x @ W_x.T + h_prev @ W_h.T + b
    return np.tanh(a) if activation == "tanh" else relu(a)


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
        ValueError: for a wrong type, dtype or shape, an empty axis, a NaN or an infinity.

    Source:
        Gers, Schmidhuber and Cummins (2000), section 3; `torch.nn.LSTMCell`.
    """
    a = x @ W_x.T + h_prev @ W_h.T + b
    a_i, a_f, a_g, a_o = np.split(a, 4, axis=1)
    i, f, o = sigmoid(a_i), sigmoid(a_f), sigmoid(a_o)
    g = np.tanh(a_g)
    c = f * c_prev + i * g
    h = o * np.tanh(c)
    return h, c


@checked(gates=3)
def lstm_1997_step(
    x: Float[np.ndarray, "batch input"],
    h_prev: Float[np.ndarray, "batch hidden"],
    c_prev: Float[np.ndarray, "batch hidden"],
    W_x: Float[np.ndarray, "gates input"],
    W_h: Float[np.ndarray, "gates hidden"],
    b: Float[np.ndarray, "gates"],
) -> tuple[Float[np.ndarray, "batch hidden"], Float[np.ndarray, "batch hidden"]]:
    r"""One time step of the LSTM of 1997, without a forget gate: the cell state is only added to.

    $$c_t = c_{t-1} + i \odot g, \qquad h_t = o \odot \tanh(c_t)$$

    The paper squashes the candidate to (-2, 2) and is trained with truncated gradients; here the candidate
    is a tanh, so that the recurrence is the one difference from `lstm_step`.

    Args:
        x: input $x_t$.
        h_prev: hidden state $h_{t-1}$.
        c_prev: cell state $c_{t-1}$.
        W_x: input weights, three blocks stacked i, g, o.
        W_h: recurrent weights, stacked likewise.
        b: biases, stacked likewise.

    Returns:
        `(h, c)`: hidden state $h_t$ and cell state $c_t$.

    Raises:
        ValueError: for a wrong type, dtype or shape, an empty axis, a NaN or an infinity.

    Source:
        Hochreiter and Schmidhuber (1997), section 4.
    """
    a = x @ W_x.T + h_prev @ W_h.T + b
    a_i, a_g, a_o = np.split(a, 3, axis=1)
    c = c_prev + sigmoid(a_i) * np.tanh(a_g)
    h = sigmoid(a_o) * np.tanh(c)
    return h, c


@checked(gates=4)
def lstm_peephole_step(
    x: Float[np.ndarray, "batch input"],
    h_prev: Float[np.ndarray, "batch hidden"],
    c_prev: Float[np.ndarray, "batch hidden"],
    W_x: Float[np.ndarray, "gates input"],
    W_h: Float[np.ndarray, "gates hidden"],
    b: Float[np.ndarray, "gates"],
    P: Float[np.ndarray, "3 hidden"],
) -> tuple[Float[np.ndarray, "batch hidden"], Float[np.ndarray, "batch hidden"]]:
    r"""One time step of an LSTM whose gates also look at the cell state, each unit at its own.

    $$i = \sigma(a_i + p_i \odot c_{t-1}), \quad f = \sigma(a_f + p_f \odot c_{t-1}), \quad
      o = \sigma(a_o + p_o \odot c_t)$$

    The rest is `lstm_step`. The output gate looks at the new cell state, which it is about to show.

    Args:
        x: input $x_t$.
        h_prev: hidden state $h_{t-1}$.
        c_prev: cell state $c_{t-1}$.
        W_x: input weights, gates stacked i, f, g, o.
        W_h: recurrent weights, stacked likewise.
        b: biases, stacked likewise.
        P: peephole weights, one row each for i, f, o.

    Returns:
        `(h, c)`: hidden state $h_t$ and cell state $c_t$.

    Raises:
        ValueError: for a wrong type, dtype or shape, an empty axis, a NaN or an infinity.

    Source:
        Gers, Schraudolph and Schmidhuber (2002); the ONNX operator LSTM.
    """
    a = x @ W_x.T + h_prev @ W_h.T + b
    p_i, p_f, p_o = P
    a_i, a_f, a_g, a_o = np.split(a, 4, axis=1)
    i, f = sigmoid(a_i + p_i * c_prev), sigmoid(a_f + p_f * c_prev)
    c = f * c_prev + i * np.tanh(a_g)
    o = sigmoid(a_o + p_o * c)
    return o * np.tanh(c), c


@checked(gates=3)
def gru_step(
    x: Float[np.ndarray, "batch input"],
    h_prev: Float[np.ndarray, "batch hidden"],
    W_x: Float[np.ndarray, "gates input"],
    W_h: Float[np.ndarray, "gates hidden"],
    b: Float[np.ndarray, "gates"],
) -> Float[np.ndarray, "batch hidden"]:
    r"""One time step of a GRU, the reset gate before the matrix product.

    $$r = \sigma(x_t W_{xr}^\top + h_{t-1} W_{hr}^\top + b_r), \qquad
      z = \sigma(x_t W_{xz}^\top + h_{t-1} W_{hz}^\top + b_z)$$
    $$n = \tanh(x_t W_{xn}^\top + (r \odot h_{t-1}) W_{hn}^\top + b_n), \qquad
      h_t = (1 - z) \odot h_{t-1} + z \odot n$$

    `torch.nn.GRUCell` is another function: see `gru_reset_after_step`.

    Args:
        x: input $x_t$.
        h_prev: hidden state $h_{t-1}$.
        W_x: input weights, gates stacked r, z, n.
        W_h: recurrent weights, stacked likewise.
        b: biases, stacked likewise.

    Returns:
        The hidden state $h_t$.

    Raises:
        ValueError: for a wrong type, dtype or shape, an empty axis, a NaN or an infinity.

    Source:
        Cho et al. (2014), eqs. 5 to 8, with biases; z as in Chung et al. (2014), section 3.2.
    """
    W_xr, W_xz, W_xn = np.split(W_x, 3)
    W_hr, W_hz, W_hn = np.split(W_h, 3)
    b_r, b_z, b_n = np.split(b, 3)
    r = sigmoid(x @ W_xr.T + h_prev @ W_hr.T + b_r)
    z = sigmoid(x @ W_xz.T + h_prev @ W_hz.T + b_z)
    n = np.tanh(x @ W_xn.T + (r * h_prev) @ W_hn.T + b_n)
    return (1.0 - z) * h_prev + z * n


@checked(gates=3)
def gru_reset_after_step(
    x: Float[np.ndarray, "batch input"],
    h_prev: Float[np.ndarray, "batch hidden"],
    W_x: Float[np.ndarray, "gates input"],
    W_h: Float[np.ndarray, "gates hidden"],
    b_x: Float[np.ndarray, "gates"],
    b_h: Float[np.ndarray, "gates"],
) -> Float[np.ndarray, "batch hidden"]:
    r"""One time step of a GRU, the reset gate after the matrix product: the form of PyTorch and cuDNN.

    $$n = \tanh(x_t W_{xn}^\top + b_{xn} + r \odot (h_{t-1} W_{hn}^\top + b_{hn}))$$
    $$h_t = (1 - z) \odot h_{t-1} + z \odot n$$

    The recurrent bias $b_{hn}$ stands inside the reset, so the candidate needs two biases; for r and z only
    their sum matters. With the same weights this is not `gru_step`, and no change of weights makes it so.

    z is the share that is written, as everywhere in this course. PyTorch's z is the share that is kept, and
    $1 - \sigma(a) = \sigma(-a)$: negate the z block of `weight_ih`, `weight_hh`, `bias_ih` and `bias_hh`,
    and use them here as `W_x`, `W_h`, `b_x` and `b_h`. `refcells.interop` does that.

    Args:
        x: input $x_t$.
        h_prev: hidden state $h_{t-1}$.
        W_x: input weights, gates stacked r, z, n.
        W_h: recurrent weights, stacked likewise.
        b_x: biases beside the input's product, stacked likewise.
        b_h: biases beside the state's product, stacked likewise.

    Returns:
        The hidden state $h_t$.

    Raises:
        ValueError: for a wrong type, dtype or shape, an empty axis, a NaN or an infinity.

    Source:
        `torch.nn.GRUCell`, but for the meaning of z; Cho et al. (2014), first version of the preprint.
    """
    a_xr, a_xz, a_xn = np.split(x @ W_x.T + b_x, 3, axis=1)
    a_hr, a_hz, a_hn = np.split(h_prev @ W_h.T + b_h, 3, axis=1)
    r = sigmoid(a_xr + a_hr)
    z = sigmoid(a_xz + a_hz)
    n = np.tanh(a_xn + r * a_hn)
    return (1.0 - z) * h_prev + z * n


# ----------------------------------------------------------------------------------------------------
# A whole sequence: what a walk leaves behind
# ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class Run:
    """What a cell computed on its walk over a batch of sequences: the results, and the trace for BPTT.

    The results are batch first. The trace is time first, (time, batch, ...), the order in which it was
    written and in which BPTT reads it.

    Attributes:
        output: hidden states h_1..h_T (batch, time, hidden), 0 at padded steps.
        h_n: hidden state after each sequence's last step (batch, hidden).
        h: states h_0..h_T (time + 1, batch, hidden); a padded step holds the state.
        x: the inputs (batch, time, input).
        W_x: the input weights.
        W_h: the recurrent weights.
        alive: which steps belong to each sequence (time, batch, 1); None if all do.
    """

    output: Float[np.ndarray, "batch time hidden"]
    h_n: Float[np.ndarray, "batch hidden"]
    h: Float[np.ndarray, "time+1 batch hidden"]
    x: Float[np.ndarray, "batch time input"]
    W_x: Float[np.ndarray, "gates input"]
    W_h: Float[np.ndarray, "gates hidden"]
    alive: Bool[np.ndarray, "time batch 1"] | None

    def steps(self, start: int, stop: int) -> "Run":
        """The part of the run from time step `start` to `stop - 1`, as if it had been run by itself.

        Args:
            start: first time step, counted from 0.
            stop: one past the last time step.

        Returns:
            A run that shares memory with this one; its initial state is the state this run had before
            `start`.

        Raises:
            ValueError: if the steps are not within the run.
        """
        total = self.x.shape[1]
        if not 0 <= start < stop <= total:
            raise ValueError(f"steps {start} to {stop} came; expected 0 <= start < stop <= {total}")
        changes: dict[str, Any] = {"output": self.output[:, start:stop], "x": self.x[:, start:stop]}
        changes["h_n"] = self.h[stop]
        if isinstance(self, LSTMRun):
            changes["c_n"] = self.c[stop]
        for field in fields(self):
            value = getattr(self, field.name)
            if field.name in ("h", "c"):
                changes[field.name] = value[start : stop + 1]
            elif field.name in ("alive", "gates", "tanh_c", "a_hn") and value is not None:
                changes[field.name] = value[start:stop]
        return replace(self, **changes)


@dataclass(frozen=True, kw_only=True)
class RNNRun(Run):
    """A `Run` of a plain RNN.

    Attributes:
        activation: 'tanh' or 'relu'.
    """

    activation: Activation


@dataclass(frozen=True, kw_only=True)
class LSTMRun(Run):
    """A `Run` of an LSTM.

    Attributes:
        c_n: cell state after each sequence's last step (batch, hidden).
        c: cell states c_0..c_T (time + 1, batch, hidden); a padded step holds the state.
        gates: values of i, f, g, o, stacked (time, batch, 4 * hidden).
        tanh_c: tanh of the new cell state (time, batch, hidden).
        P: the peephole weights; None for an LSTM without.
    """

    c_n: Float[np.ndarray, "batch hidden"]
    c: Float[np.ndarray, "time+1 batch hidden"]
    gates: Float[np.ndarray, "time batch gates"]
    tanh_c: Float[np.ndarray, "time batch hidden"]
    P: Float[np.ndarray, "3 hidden"] | None = None

    def gate(self, name: str) -> Float[np.ndarray, "batch time hidden"]:
        """Values of one gate, batch first: `name` is 'i', 'f', 'g' or 'o'.

        Raises:
            ValueError: for another name.
        """
        return _gate(self.gates, name, "ifgo")


@dataclass(frozen=True, kw_only=True)
class GRURun(Run):
    """A `Run` of a GRU.

    Attributes:
        gates: values of r, z, n, stacked (time, batch, 3 * hidden).
        a_hn: h_{t-1} W_hn^T + b_hn, which the reset gate multiplies (time, batch, hidden), if it is applied
            after the product; None if it is applied before.
    """

    gates: Float[np.ndarray, "time batch gates"]
    a_hn: Float[np.ndarray, "time batch hidden"] | None = None

    def gate(self, name: str) -> Float[np.ndarray, "batch time hidden"]:
        """Values of one gate, batch first: `name` is 'r', 'z' or 'n'.

        Raises:
            ValueError: for another name.
        """
        return _gate(self.gates, name, "rzn")


def _gate(gates: np.ndarray, name: str, order: str) -> np.ndarray:
    """The block called `name` of stacked gate values (time, batch, gates), batch first."""
    if name not in tuple(order):
        raise ValueError(f"gate {name!r} came; expected {', '.join(map(repr, order[:-1]))} or {order[-1]!r}")
    return np.split(gates, len(order), axis=2)[order.index(name)].transpose(1, 0, 2)


# ----------------------------------------------------------------------------------------------------
# A whole sequence: the walks
# ----------------------------------------------------------------------------------------------------


def _alive(lengths: np.ndarray | None, steps: int) -> np.ndarray | None:
    """Which steps belong to each sequence, (time, batch, 1); None if all do."""
    check_lengths(lengths, steps)
    return None if lengths is None else (np.arange(steps)[:, None] < lengths)[:, :, None]


def _states(first: np.ndarray | None, steps: int, x: np.ndarray, W_h: np.ndarray) -> np.ndarray:
    """Room for the states 0..steps, (time + 1, batch, hidden), with the initial state or zeros in place."""
    states = np.empty((steps + 1, x.shape[0], W_h.shape[1]), np.result_type(x, W_h))
    states[0] = 0.0 if first is None else first
    return states


def _input_share(x: np.ndarray, W_x: np.ndarray, b: np.ndarray) -> np.ndarray:
    """The input's share x_t W_x^T + b of all pre-activations, (time, batch, gates).

    It waits for no state, so it is one product for all steps; and a bias is the weight of an input that is
    always 1, so it takes no pass of its own.
    """
    batch, steps, width = x.shape
    inputs = np.empty((steps, batch, width + 1), np.result_type(x, W_x))
    inputs[:, :, :width] = x.transpose(1, 0, 2)
    inputs[:, :, width] = 1.0
    share = inputs.reshape(steps * batch, width + 1) @ np.column_stack((W_x, b)).T
    return share.reshape(steps, batch, -1)


def _hold(state: np.ndarray, t: int, alive: np.ndarray | None) -> None:
    """Undo the step from t to t + 1 for the sequences that have ended."""
    if alive is not None:
        np.copyto(state[t + 1], state[t], where=~alive[t])


def _shown(h: np.ndarray, alive: np.ndarray | None) -> np.ndarray:
    """The outputs, batch first: the hidden states, 0 where a sequence has ended."""
    return (h[1:] if alive is None else h[1:] * alive).transpose(1, 0, 2)


@checked(gates=1)
def rnn_forward(
    x: Float[np.ndarray, "batch time input"],
    W_x: Float[np.ndarray, "gates input"],
    W_h: Float[np.ndarray, "gates hidden"],
    b: Float[np.ndarray, "gates"],
    h0: Float[np.ndarray, "batch hidden"] | None = None,
    lengths: Integer[np.ndarray, "batch"] | None = None,
    activation: Activation = "tanh",
) -> RNNRun:
    r"""Walk a plain RNN over a batch of sequences: `rnn_step` T times, the input's share computed once.

    $$h_t = \tanh(x_t W_x^\top + h_{t-1} W_h^\top + b), \qquad t = 1, \dots, T$$

    A step past a sequence's length is padding: it holds the state, and its output is 0.

    Args:
        x: inputs, padded to a common number of time steps.
        W_x: input weights.
        W_h: recurrent weights.
        b: biases.
        h0: initial hidden state; zeros if None.
        lengths: number of time steps of each sequence, 1 to T; all T if None.
        activation: 'tanh' or 'relu'. A relu RNN can grow without bound.

    Returns:
        The outputs, the last state, and the trace that `rnn_backward` reads.

    Raises:
        ValueError: for a wrong type, dtype or shape, an empty axis, a NaN or an infinity, a length outside
            1..T, or another activation.

    Source:
        Elman (1990); `torch.nn.RNN`.
    """
    check_choice("activation", activation, ("tanh", "relu"))
    steps = x.shape[1]
    alive = _alive(lengths, steps)
    h = _states(h0, steps, x, W_h)
    a = _input_share(x, W_x, b)
    recurrent = np.ascontiguousarray(W_h.T)
    for t in range(steps):
        a[t] += h[t] @ recurrent
        if activation == "tanh":
            np.tanh(a[t], out=h[t + 1])
        else:
            np.maximum(a[t], 0.0, out=h[t + 1])
        _hold(h, t, alive)
    return RNNRun(
        output=_shown(h, alive), h_n=h[-1], h=h, x=x, W_x=W_x, W_h=W_h, alive=alive, activation=activation
    )


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

    $$c_t = f_t \odot c_{t-1} + i_t \odot g_t, \qquad h_t = o_t \odot \tanh(c_t), \qquad t = 1, \dots, T$$

    A step past a sequence's length is padding: it holds both states, and its output is 0.

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
        ValueError: for a wrong type, dtype or shape, an empty axis, a NaN or an infinity, or a length
            outside 1..T.

    Source:
        Gers, Schmidhuber and Cummins (2000), section 3; `torch.nn.LSTM`.
    """
    batch, steps, _ = x.shape
    hidden = W_h.shape[1]
    alive = _alive(lengths, steps)
    h = _states(h0, steps, x, W_h)
    c = _states(c0, steps, x, W_h)
    tanh_c = np.empty_like(c[1:])

    # sigma(a) = tanh(a / 2) / 2 + 1 / 2. With the rows of the three gates halved beforehand, which is
    # exact, one tanh over all four blocks and one line a * slope + offset give i, f, g and o.
    slope = np.repeat(np.array([0.5, 0.5, 1.0, 0.5], h.dtype), hidden)
    offset = np.repeat(np.array([0.5, 0.5, 0.0, 0.5], h.dtype), hidden)
    gates = _input_share(x, W_x * slope[:, None], b * slope)

    # matmul multiplies h by the four blocks of W_h one by one: small products, which suit the cache.
    recurrent = np.ascontiguousarray((W_h * slope[:, None]).reshape(4, hidden, hidden).transpose(0, 2, 1))
    product, written = np.empty((4, batch, hidden), gates.dtype), np.empty_like(c[0])

    # blocks[t] (4, batch, hidden) and i[t], f[t], g[t], o[t] are views into gates[t] (batch, 4 * hidden).
    blocks = gates.reshape(steps, batch, 4, hidden).transpose(0, 2, 1, 3)
    i, f, g, o = blocks.transpose(1, 0, 2, 3)
    for t in range(steps):
        a = gates[t]
        blocks[t] += np.matmul(h[t], recurrent, out=product)
        np.tanh(a, out=a)
        a *= slope
        a += offset
        np.multiply(f[t], c[t], out=c[t + 1])
        np.multiply(i[t], g[t], out=written)
        c[t + 1] += written
        np.tanh(c[t + 1], out=tanh_c[t])
        np.multiply(o[t], tanh_c[t], out=h[t + 1])
        _hold(h, t, alive)
        _hold(c, t, alive)
    return LSTMRun(
        output=_shown(h, alive), h_n=h[-1], c_n=c[-1], h=h, c=c, gates=gates, tanh_c=tanh_c,
        x=x, W_x=W_x, W_h=W_h, alive=alive,
    )  # fmt: skip


@checked(gates=3)
def lstm_1997_forward(
    x: Float[np.ndarray, "batch time input"],
    W_x: Float[np.ndarray, "gates input"],
    W_h: Float[np.ndarray, "gates hidden"],
    b: Float[np.ndarray, "gates"],
    h0: Float[np.ndarray, "batch hidden"] | None = None,
    c0: Float[np.ndarray, "batch hidden"] | None = None,
    lengths: Integer[np.ndarray, "batch"] | None = None,
) -> LSTMRun:
    r"""Walk the LSTM of 1997 over a batch of sequences: today's LSTM with its forget gate held open.

    A forget gate without weights and with a large bias is exactly 1, and so is its share of every gradient 0:
    $\sigma(100) = 1$ in floating point. So this is `lstm_forward` with a block inserted.

    $$c_t = c_{t-1} + i_t \odot g_t, \qquad h_t = o_t \odot \tanh(c_t)$$

    Args:
        x: inputs, padded to a common number of time steps.
        W_x: input weights, three blocks stacked i, g, o.
        W_h: recurrent weights, stacked likewise.
        b: biases, stacked likewise.
        h0: initial hidden state; zeros if None.
        c0: initial cell state; zeros if None.
        lengths: number of time steps of each sequence, 1 to T; all T if None.

    Returns:
        The outputs, the last states, and the trace; its weights and gates have four blocks, f being 1
        throughout.

    Raises:
        ValueError: for a wrong type, dtype or shape, an empty axis, a NaN or an infinity, or a length
            outside 1..T.

    Source:
        Hochreiter and Schmidhuber (1997), section 4; see `lstm_1997_step` for what differs.
    """

    def with_forget_block(stacked: np.ndarray, value: float) -> np.ndarray:
        i, g, o = np.split(stacked, 3)
        return np.concatenate([i, np.full_like(i, value), g, o])

    return lstm_forward(
        x,
        with_forget_block(W_x, 0.0),
        with_forget_block(W_h, 0.0),
        with_forget_block(b, 100.0),
        h0,
        c0,
        lengths,
    )


@checked(gates=4)
def lstm_peephole_forward(
    x: Float[np.ndarray, "batch time input"],
    W_x: Float[np.ndarray, "gates input"],
    W_h: Float[np.ndarray, "gates hidden"],
    b: Float[np.ndarray, "gates"],
    P: Float[np.ndarray, "3 hidden"],
    h0: Float[np.ndarray, "batch hidden"] | None = None,
    c0: Float[np.ndarray, "batch hidden"] | None = None,
    lengths: Integer[np.ndarray, "batch"] | None = None,
) -> LSTMRun:
    r"""Walk an LSTM with peepholes over a batch of sequences: `lstm_peephole_step` T times.

    $$i_t = \sigma(a_i + p_i \odot c_{t-1}), \quad f_t = \sigma(a_f + p_f \odot c_{t-1}), \quad
      o_t = \sigma(a_o + p_o \odot c_t)$$

    Args:
        x: inputs, padded to a common number of time steps.
        W_x: input weights, gates stacked i, f, g, o.
        W_h: recurrent weights, stacked likewise.
        b: biases, stacked likewise.
        P: peephole weights, one row each for i, f, o.
        h0: initial hidden state; zeros if None.
        c0: initial cell state; zeros if None.
        lengths: number of time steps of each sequence, 1 to T; all T if None.

    Returns:
        The outputs, the last states, and the trace that `lstm_backward` reads.

    Raises:
        ValueError: for a wrong type, dtype or shape, an empty axis, a NaN or an infinity, or a length
            outside 1..T.

    Source:
        Gers, Schraudolph and Schmidhuber (2002); the ONNX operator LSTM.
    """
    batch, steps, _ = x.shape
    alive = _alive(lengths, steps)
    h = _states(h0, steps, x, W_h)
    c = _states(c0, steps, x, W_h)
    tanh_c = np.empty_like(c[1:])
    p_i, p_f, p_o = P
    gates = _input_share(x, W_x, b)
    i, f, g, o = gates.reshape(steps, batch, 4, -1).transpose(2, 0, 1, 3)
    for t in range(steps):
        gates[t] += h[t] @ W_h.T
        i[t] = sigmoid(i[t] + p_i * c[t])
        f[t] = sigmoid(f[t] + p_f * c[t])
        g[t] = np.tanh(g[t])
        c[t + 1] = f[t] * c[t] + i[t] * g[t]
        o[t] = sigmoid(o[t] + p_o * c[t + 1])
        tanh_c[t] = np.tanh(c[t + 1])
        h[t + 1] = o[t] * tanh_c[t]
        _hold(h, t, alive)
        _hold(c, t, alive)
    return LSTMRun(
        output=_shown(h, alive), h_n=h[-1], c_n=c[-1], h=h, c=c, gates=gates, tanh_c=tanh_c,
        x=x, W_x=W_x, W_h=W_h, alive=alive, P=P,
    )  # fmt: skip


@checked(gates=3)
def gru_forward(
    x: Float[np.ndarray, "batch time input"],
    W_x: Float[np.ndarray, "gates input"],
    W_h: Float[np.ndarray, "gates hidden"],
    b: Float[np.ndarray, "gates"],
    h0: Float[np.ndarray, "batch hidden"] | None = None,
    lengths: Integer[np.ndarray, "batch"] | None = None,
) -> GRURun:
    r"""Walk a GRU over a batch of sequences: `gru_step` T times, the input's share computed once.

    $$n_t = \tanh(x_t W_{xn}^\top + (r_t \odot h_{t-1}) W_{hn}^\top + b_n), \qquad
      h_t = (1 - z_t) \odot h_{t-1} + z_t \odot n_t$$

    The candidate's product has to wait for the reset gate, so a step takes two products, one after the
    other. A step past a sequence's length is padding: it holds the state, and its output is 0.

    Args:
        x: inputs, padded to a common number of time steps.
        W_x: input weights, gates stacked r, z, n.
        W_h: recurrent weights, stacked likewise.
        b: biases, stacked likewise.
        h0: initial hidden state; zeros if None.
        lengths: number of time steps of each sequence, 1 to T; all T if None.

    Returns:
        The outputs, the last state, and the trace that `gru_backward` reads.

    Raises:
        ValueError: for a wrong type, dtype or shape, an empty axis, a NaN or an infinity, or a length
            outside 1..T.

    Source:
        Cho et al. (2014), eqs. 5 to 8, with biases; z as in Chung et al. (2014), section 3.2.
    """
    steps, hidden = x.shape[1], W_h.shape[1]
    alive = _alive(lengths, steps)
    h = _states(h0, steps, x, W_h)
    gates = _input_share(x, W_x, b)
    recurrent_rz = np.ascontiguousarray(W_h[: 2 * hidden].T)
    recurrent_n = np.ascontiguousarray(W_h[2 * hidden :].T)
    rz, n = gates[:, :, : 2 * hidden], gates[:, :, 2 * hidden :]
    r, z = rz[:, :, :hidden], rz[:, :, hidden:]
    for t in range(steps):
        rz[t] = sigmoid(rz[t] + h[t] @ recurrent_rz)
        n[t] = np.tanh(n[t] + (r[t] * h[t]) @ recurrent_n)
        h[t + 1] = (1.0 - z[t]) * h[t] + z[t] * n[t]
        _hold(h, t, alive)
    return GRURun(output=_shown(h, alive), h_n=h[-1], h=h, gates=gates, x=x, W_x=W_x, W_h=W_h, alive=alive)


@checked(gates=3)
def gru_reset_after_forward(
    x: Float[np.ndarray, "batch time input"],
    W_x: Float[np.ndarray, "gates input"],
    W_h: Float[np.ndarray, "gates hidden"],
    b_x: Float[np.ndarray, "gates"],
    b_h: Float[np.ndarray, "gates"],
    h0: Float[np.ndarray, "batch hidden"] | None = None,
    lengths: Integer[np.ndarray, "batch"] | None = None,
) -> GRURun:
    r"""Walk the reset-after GRU over a batch of sequences: `gru_reset_after_step` T times.

    $$n_t = \tanh(x_t W_{xn}^\top + b_{xn} + r_t \odot (h_{t-1} W_{hn}^\top + b_{hn}))$$
    $$h_t = (1 - z_t) \odot h_{t-1} + z_t \odot n_t$$

    The state's product does not wait for the reset gate, so a step takes one product: that is why cuDNN
    chose it.

    Args:
        x: inputs, padded to a common number of time steps.
        W_x: input weights, gates stacked r, z, n.
        W_h: recurrent weights, stacked likewise.
        b_x: biases beside the input's product, stacked likewise.
        b_h: biases beside the state's product, stacked likewise.
        h0: initial hidden state; zeros if None.
        lengths: number of time steps of each sequence, 1 to T; all T if None.

    Returns:
        The outputs, the last state, and the trace that `gru_reset_after_backward` reads.

    Raises:
        ValueError: for a wrong type, dtype or shape, an empty axis, a NaN or an infinity, or a length
            outside 1..T.

    Source:
        `torch.nn.GRU`, but for the meaning of z (see `gru_reset_after_step`).
    """
    steps, hidden = x.shape[1], W_h.shape[1]
    alive = _alive(lengths, steps)
    h = _states(h0, steps, x, W_h)
    gates = _input_share(x, W_x, b_x)
    a_hn = np.empty_like(h[1:])
    recurrent = np.ascontiguousarray(W_h.T)
    rz, n = gates[:, :, : 2 * hidden], gates[:, :, 2 * hidden :]
    r, z = rz[:, :, :hidden], rz[:, :, hidden:]
    for t in range(steps):
        a_h = h[t] @ recurrent + b_h
        a_hn[t] = a_h[:, 2 * hidden :]
        rz[t] = sigmoid(rz[t] + a_h[:, : 2 * hidden])
        n[t] = np.tanh(n[t] + r[t] * a_hn[t])
        h[t + 1] = (1.0 - z[t]) * h[t] + z[t] * n[t]
        _hold(h, t, alive)
    return GRURun(
        output=_shown(h, alive), h_n=h[-1], h=h, gates=gates, a_hn=a_hn, x=x, W_x=W_x, W_h=W_h, alive=alive
    )

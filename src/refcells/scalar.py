"""One recurrent unit, on plain floats.

Everything a cell does can be seen with one input number and one hidden unit: what a gate is, how the cell
state is kept and written, why saturated gates copy. This module needs nothing but `math`, so it also runs in
a bare Python.

Weights come as one tuple a kind, in PyTorch's order of the gates: `(i, f, g, o)` for the LSTM, `(r, z, n)`
for the GRU. A plain RNN has one weight of each kind, a number.
"""

import math
from collections.abc import Sequence

__all__ = [
    "gru_candidate",
    "gru_forward",
    "gru_gates",
    "gru_step",
    "gru_update",
    "lstm_forward",
    "lstm_gates",
    "lstm_step",
    "lstm_update",
    "rnn_forward",
    "rnn_step",
    "sigmoid",
]

Gates = tuple[float, float, float, float]


def sigmoid(a: float) -> float:
    r"""Logistic sigmoid $\sigma(a) = 1 / (1 + e^{-a})$, for any float.

    The textbook formula asks for $e^{1000}$ at $a = -1000$, which no float holds. Written with $e^{-|a|}$ it
    never asks for more than 1.

    Args:
        a: pre-activation, without unit.

    Returns:
        A number in [0, 1].

    Raises:
        ValueError: if `a` is not a number.

    Example:
        >>> round(sigmoid(1.0), 4), sigmoid(-1000.0)
        (0.7311, 0.0)
    """
    a = _number("a", a)
    e = math.exp(-abs(a))
    return 1.0 / (1.0 + e) if a >= 0 else e / (1.0 + e)


def rnn_step(x: float, h_prev: float, w_x: float, w_h: float, b: float) -> float:
    r"""One time step of a one-unit RNN.

    $$h_t = \tanh(w_x x_t + w_h h_{t-1} + b)$$

    Args:
        x: input $x_t$.
        h_prev: hidden state $h_{t-1}$.
        w_x: input weight.
        w_h: recurrent weight.
        b: bias.

    Returns:
        The hidden state $h_t$, between -1 and 1.

    Raises:
        ValueError: if an argument is not a number.

    Source:
        Elman (1990).

    Example:
        >>> round(rnn_step(1.0, 0.5, w_x=0.8, w_h=-0.4, b=0.1), 4)
        0.6044
    """
    x, h_prev, b = _number("x", x), _number("h_prev", h_prev), _number("b", b)
    return math.tanh(_number("w_x", w_x) * x + _number("w_h", w_h) * h_prev + b)


def rnn_forward(xs: Sequence[float], w_x: float, w_h: float, b: float, h0: float = 0.0) -> list[float]:
    """Walk a one-unit RNN over a sequence: `rnn_step` once a time step, each from the state of the last.

    Args:
        xs: inputs $x_1, ..., x_T$.
        w_x: input weight.
        w_h: recurrent weight.
        b: bias.
        h0: hidden state before the first step.

    Returns:
        The T hidden states.

    Raises:
        ValueError: if `xs` is empty, or an argument is not a number.

    Source:
        As `rnn_step`.
    """
    h = _number("h0", h0)
    hs = []
    for x in _sequence(xs):
        h = rnn_step(x, h, w_x, w_h, b)
        hs.append(h)
    return hs


def lstm_gates(
    x: float, h_prev: float, w_x: Sequence[float], w_h: Sequence[float], b: Sequence[float]
) -> Gates:
    r"""Three gates and a candidate, each from the input and the previous hidden state.

    $$i = \sigma(w_{xi} x_t + w_{hi} h_{t-1} + b_i), \qquad f = \sigma(w_{xf} x_t + w_{hf} h_{t-1} + b_f)$$
    $$g = \tanh(w_{xg} x_t + w_{hg} h_{t-1} + b_g), \qquad o = \sigma(w_{xo} x_t + w_{ho} h_{t-1} + b_o)$$

    Args:
        x: input $x_t$.
        h_prev: hidden state $h_{t-1}$.
        w_x: four input weights, for i, f, g, o.
        w_h: four recurrent weights, in the same order.
        b: four biases, in the same order.

    Returns:
        `(i, f, g, o)`: input gate, forget gate, candidate, output gate.

    Raises:
        ValueError: if an argument is not a number, or not four numbers.

    Source:
        Gers, Schmidhuber and Cummins (2000), section 3.
    """
    x, h_prev = _number("x", x), _number("h_prev", h_prev)
    w_x, w_h, b = _four("w_x", w_x), _four("w_h", w_h), _four("b", b)
    a_i, a_f, a_g, a_o = (w_x[k] * x + w_h[k] * h_prev + b[k] for k in range(4))
    return sigmoid(a_i), sigmoid(a_f), math.tanh(a_g), sigmoid(a_o)


def lstm_update(i: float, f: float, g: float, o: float, c_prev: float) -> tuple[float, float]:
    r"""Keep, write, show: the cell update for given gates.

    $$c_t = f\,c_{t-1} + i\,g, \qquad h_t = o \tanh(c_t)$$

    Args:
        i: input gate, how much of the candidate is written.
        f: forget gate, how much of the old cell state is kept.
        g: candidate, what would be written.
        o: output gate, how much of the cell state is shown.
        c_prev: cell state $c_{t-1}$.

    Returns:
        `(h, c)`: hidden state and cell state.

    Raises:
        ValueError: if an argument is not a number.

    Source:
        Gers, Schmidhuber and Cummins (2000), section 3.
    """
    i, f, g, o = _number("i", i), _number("f", f), _number("g", g), _number("o", o)
    c = f * _number("c_prev", c_prev) + i * g
    return o * math.tanh(c), c


def lstm_step(
    x: float, h_prev: float, c_prev: float, w_x: Sequence[float], w_h: Sequence[float], b: Sequence[float]
) -> tuple[float, float]:
    r"""One time step of a one-unit LSTM: `lstm_gates`, then `lstm_update`.

    $$c_t = f\,c_{t-1} + i\,g, \qquad h_t = o \tanh(c_t)$$

    Args:
        x: input $x_t$.
        h_prev: hidden state $h_{t-1}$.
        c_prev: cell state $c_{t-1}$.
        w_x: four input weights, for i, f, g, o.
        w_h: four recurrent weights, in the same order.
        b: four biases, in the same order.

    Returns:
        `(h, c)`: hidden state and cell state.

    Raises:
        ValueError: if an argument is not a number, or not four numbers.

    Source:
        Hochreiter and Schmidhuber (1997); the forget gate from Gers, Schmidhuber and Cummins (2000).
    """
    i, f, g, o = lstm_gates(x, h_prev, w_x, w_h, b)
    return lstm_update(i, f, g, o, c_prev)


def lstm_forward(
    xs: Sequence[float],
    w_x: Sequence[float],
    w_h: Sequence[float],
    b: Sequence[float],
    h0: float = 0.0,
    c0: float = 0.0,
) -> tuple[list[float], list[float]]:
    """Walk a one-unit LSTM over a sequence: `lstm_step` once a time step, each from the states of the last.

    Args:
        xs: inputs $x_1, ..., x_T$.
        w_x: four input weights, for i, f, g, o.
        w_h: four recurrent weights, in the same order.
        b: four biases, in the same order.
        h0: hidden state before the first step.
        c0: cell state before the first step.

    Returns:
        `(hs, cs)`: the T hidden states and the T cell states.

    Raises:
        ValueError: if `xs` is empty, or an argument is not a number, or not four numbers.

    Source:
        As `lstm_step`.
    """
    h, c = _number("h0", h0), _number("c0", c0)
    hs, cs = [], []
    for x in _sequence(xs):
        h, c = lstm_step(x, h, c, w_x, w_h, b)
        hs.append(h)
        cs.append(c)
    return hs, cs


def gru_gates(
    x: float, h_prev: float, w_x: Sequence[float], w_h: Sequence[float], b: Sequence[float]
) -> tuple[float, float]:
    r"""Reset gate and update gate, each from the input and the previous hidden state.

    $$r = \sigma(w_{xr} x_t + w_{hr} h_{t-1} + b_r), \qquad z = \sigma(w_{xz} x_t + w_{hz} h_{t-1} + b_z)$$

    Args:
        x: input $x_t$.
        h_prev: hidden state $h_{t-1}$.
        w_x: three input weights, for r, z, n.
        w_h: three recurrent weights, in the same order.
        b: three biases, in the same order.

    Returns:
        `(r, z)`: reset gate and update gate.

    Raises:
        ValueError: if an argument is not a number, or not three numbers.

    Source:
        Cho et al. (2014), eqs. 5 and 6, with biases.
    """
    x, h_prev = _number("x", x), _number("h_prev", h_prev)
    w_x, w_h, b = _three("w_x", w_x), _three("w_h", w_h), _three("b", b)
    a_r, a_z = (w_x[k] * x + w_h[k] * h_prev + b[k] for k in range(2))
    return sigmoid(a_r), sigmoid(a_z)


def gru_candidate(
    x: float, h_prev: float, r: float, w_x: Sequence[float], w_h: Sequence[float], b: Sequence[float]
) -> float:
    r"""What the unit would become, seeing only the share r of its past.

    $$n = \tanh(w_{xn} x_t + w_{hn} (r\,h_{t-1}) + b_n)$$

    With one unit $w (r h) = r (w h)$, so the two reset placements cannot be told apart here;
    `refcells.vector` has both.

    Args:
        x: input $x_t$.
        h_prev: hidden state $h_{t-1}$.
        r: reset gate.
        w_x: three input weights, for r, z, n; only the last is used.
        w_h: three recurrent weights, likewise.
        b: three biases, likewise.

    Returns:
        The candidate n, between -1 and 1.

    Raises:
        ValueError: if an argument is not a number, or not three numbers.

    Source:
        Cho et al. (2014), eq. 8, with a bias.
    """
    x, h_prev, r = _number("x", x), _number("h_prev", h_prev), _number("r", r)
    w_x, w_h, b = _three("w_x", w_x), _three("w_h", w_h), _three("b", b)
    return math.tanh(w_x[2] * x + w_h[2] * (r * h_prev) + b[2])


def gru_update(z: float, n: float, h_prev: float) -> float:
    r"""Blend the old state and the candidate: $h_t = (1 - z)\,h_{t-1} + z\,n$.

    Here z is the share that is written. Cho et al. (2014) and PyTorch let z be the share that is kept; look
    at what it multiplies before you compare two texts.

    Args:
        z: update gate.
        n: candidate.
        h_prev: hidden state $h_{t-1}$.

    Returns:
        The hidden state $h_t$, between $h_{t-1}$ and n for z in [0, 1].

    Raises:
        ValueError: if an argument is not a number.

    Source:
        Chung et al. (2014), section 3.2.
    """
    z, n, h_prev = _number("z", z), _number("n", n), _number("h_prev", h_prev)
    return (1.0 - z) * h_prev + z * n


def gru_step(
    x: float, h_prev: float, w_x: Sequence[float], w_h: Sequence[float], b: Sequence[float]
) -> float:
    r"""One time step of a one-unit GRU: `gru_gates`, `gru_candidate`, then `gru_update`.

    $$h_t = (1 - z)\,h_{t-1} + z\,n$$

    Args:
        x: input $x_t$.
        h_prev: hidden state $h_{t-1}$.
        w_x: three input weights, for r, z, n.
        w_h: three recurrent weights, in the same order.
        b: three biases, in the same order.

    Returns:
        The hidden state $h_t$.

    Raises:
        ValueError: if an argument is not a number, or not three numbers.

    Source:
        Cho et al. (2014), in the convention of Chung et al. (2014) for z.
    """
    r, z = gru_gates(x, h_prev, w_x, w_h, b)
    n = gru_candidate(x, h_prev, r, w_x, w_h, b)
    return gru_update(z, n, h_prev)


def gru_forward(
    xs: Sequence[float],
    w_x: Sequence[float],
    w_h: Sequence[float],
    b: Sequence[float],
    h0: float = 0.0,
) -> list[float]:
    """Walk a one-unit GRU over a sequence: `gru_step` once a time step, each from the state of the last.

    Args:
        xs: inputs $x_1, ..., x_T$.
        w_x: three input weights, for r, z, n.
        w_h: three recurrent weights, in the same order.
        b: three biases, in the same order.
        h0: hidden state before the first step.

    Returns:
        The T hidden states.

    Raises:
        ValueError: if `xs` is empty, or an argument is not a number, or not three numbers.

    Source:
        As `gru_step`.
    """
    h = _number("h0", h0)
    hs = []
    for x in _sequence(xs):
        h = gru_step(x, h, w_x, w_h, b)
        hs.append(h)
    return hs


def _number(name: str, value: float) -> float:
    """`value` as a float, or an error that names the argument."""
    try:
        number = float(value)
    except (TypeError, ValueError):
        raise ValueError(f"{name} is {value!r}; expected a number") from None
    if not math.isfinite(number):
        raise ValueError(f"{name} is {'NaN' if math.isnan(number) else number}; expected a finite number")
    return number


def _sequence(xs: Sequence[float]) -> Sequence[float]:
    """`xs` itself, unless it is no sequence or holds no time step."""
    try:
        steps = len(xs)
    except TypeError:
        raise ValueError(f"xs is {xs!r}; expected a sequence of numbers, one a time step") from None
    if steps == 0:
        raise ValueError("xs is empty; expected at least one time step")
    return xs


def _several(name: str, values: Sequence[float], gates: str) -> tuple[float, ...]:
    """`values` as floats, one for each of the named gates, or an error that names the argument."""
    wanted = gates.replace(" ", ", ")
    try:
        numbers = tuple(_number(f"{name}[{k}]", value) for k, value in enumerate(values))
    except TypeError:
        raise ValueError(f"{name} is {values!r}; expected numbers for {wanted}") from None
    if len(numbers) != len(gates.split()):
        raise ValueError(f"{name} holds {len(numbers)} numbers; expected {len(gates.split())}, for {wanted}")
    return numbers


def _four(name: str, values: Sequence[float]) -> Gates:
    """`values` as four floats for i, f, g, o, or an error that names the argument."""
    i, f, g, o = _several(name, values, "i f g o")
    return i, f, g, o


def _three(name: str, values: Sequence[float]) -> tuple[float, float, float]:
    """`values` as three floats for r, z, n, or an error that names the argument."""
    r, z, n = _several(name, values, "r z n")
    return r, z, n

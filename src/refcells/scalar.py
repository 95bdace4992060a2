"""One recurrent unit, on plain floats.

Everything a cell does can be seen with one input number and one hidden unit: what a gate is, how the cell state is
kept and written, why saturated gates copy. This module needs nothing but `math`, so it also runs in a bare Python.

Weights come as one tuple a kind, in PyTorch's order of the gates: for the LSTM `(i, f, g, o)`.
"""

import math
from collections.abc import Sequence

__all__ = ["lstm_forward", "lstm_gates", "lstm_step", "lstm_update", "sigmoid"]

Gates = tuple[float, float, float, float]


def sigmoid(a: float) -> float:
    r"""Logistic sigmoid $\sigma(a) = 1 / (1 + e^{-a})$, for any float.

    The textbook formula asks for $e^{1000}$ at $a = -1000$, which no float holds. Written with $e^{-|a|}$ it never
    asks for more than 1.

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


def lstm_gates(
    x: float, h_prev: float, w_x: Sequence[float], w_h: Sequence[float], b: Sequence[float]
) -> Gates:
    r"""Three gates and a candidate, each from the input and the previous hidden state.

    $$i = \sigma(w_{xi} x + w_{hi} h_{t-1} + b_i), \quad f = \sigma(\cdot), \quad g = \tanh(\cdot), \quad o = \sigma(\cdot)$$

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
        Gers, Schmidhuber and Cummins (2000), eqs. 2 to 6, without peepholes.
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
        Gers, Schmidhuber and Cummins (2000), eqs. 5 and 6.
    """
    i, f, g, o = _number("i", i), _number("f", f), _number("g", g), _number("o", o)
    c = f * _number("c_prev", c_prev) + i * g
    return o * math.tanh(c), c


def lstm_step(
    x: float, h_prev: float, c_prev: float, w_x: Sequence[float], w_h: Sequence[float], b: Sequence[float]
) -> tuple[float, float]:
    """One time step of a one-unit LSTM: `lstm_gates`, then `lstm_update`.

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
    """Walk a one-unit LSTM over a sequence.

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
        ValueError: if an argument is not a number, or not four numbers.
    """
    h, c = h0, c0
    hs, cs = [], []
    for x in xs:
        h, c = lstm_step(x, h, c, w_x, w_h, b)
        hs.append(h)
        cs.append(c)
    return hs, cs


def _number(name: str, value: float) -> float:
    """`value` as a float, or an error that names the argument."""
    try:
        number = float(value)
    except (TypeError, ValueError):
        raise ValueError(f"{name} is {value!r}; expected a number") from None
    if math.isnan(number):
        raise ValueError(f"{name} is NaN; expected a number")
    return number


def _four(name: str, values: Sequence[float]) -> Gates:
    """`values` as four floats for i, f, g, o, or an error that names the argument."""
    try:
        numbers = tuple(_number(f"{name}[{k}]", value) for k, value in enumerate(values))
    except TypeError:
        raise ValueError(f"{name} is {values!r}; expected four numbers, for i, f, g, o") from None
    if len(numbers) != 4:
        raise ValueError(f"{name} holds {len(numbers)} numbers; expected four, for i, f, g, o")
    return numbers

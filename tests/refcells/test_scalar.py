"""One unit on floats: values, agreement with the vector cells, and bad input."""

import ast
import doctest
import math
import pathlib

import numpy as np
import pytest
from enforced import vector

from refcells import scalar

LSTM = {"w_x": (0.5, -0.3, 0.8, 1.1), "w_h": (-0.7, 0.2, 0.4, 0.6), "b": (0.1, 1.0, -0.2, 0.3)}
GRU = {"w_x": (0.5, -0.3, 0.8), "w_h": (-0.7, 0.2, 0.4), "b": (0.1, -1.0, -0.2)}
XS = [1.0, -0.5, 2.0, 0.0]


def column(values):
    return np.array(values, dtype=float)[:, None]


def test_imports_nothing_but_math_and_types():
    tree = ast.parse(pathlib.Path(scalar.__file__).read_text(encoding="utf-8"))
    imported = {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
    imported |= {node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    assert imported == {"math", "collections.abc"}


@pytest.mark.parametrize(("a", "value"), [(0.0, 0.5), (1.0, 0.7310585786300049), (-1.0, 0.2689414213699951)])
def test_sigmoid_values(a, value):
    assert scalar.sigmoid(a) == pytest.approx(value, abs=1e-16)


def test_sigmoid_at_any_float():
    assert [scalar.sigmoid(a) for a in (-1e308, -1000.0, 1000.0, 1e308)] == [0.0, 0.0, 1.0, 1.0]
    assert 0.0 < scalar.sigmoid(-700.0) < 1e-300


def test_documented_gate_values():
    assert [round(scalar.sigmoid(a), 4) for a in (1.0, 0.2, 0.7, 0.8, -0.3)] == [
        0.7311,
        0.5498,
        0.6682,
        0.69,
        0.4256,
    ]


def test_rnn_equals_the_vector_cell():
    hs = scalar.rnn_forward(XS, 0.8, -0.4, 0.1, h0=0.5)
    run = vector.rnn_forward(
        np.array(XS)[None, :, None], np.array([[0.8]]), np.array([[-0.4]]), np.array([0.1]), np.array([[0.5]])
    )
    np.testing.assert_allclose(hs, run.output[0, :, 0], rtol=0, atol=1e-15)


def test_lstm_equals_the_vector_cell():
    hs, cs = scalar.lstm_forward(XS, **LSTM, h0=0.5, c0=-1.5)
    run = vector.lstm_forward(
        np.array(XS)[None, :, None], column(LSTM["w_x"]), column(LSTM["w_h"]), np.array(LSTM["b"]),
        np.array([[0.5]]), np.array([[-1.5]]),
    )  # fmt: skip
    np.testing.assert_allclose(hs, run.output[0, :, 0], rtol=0, atol=1e-15)
    np.testing.assert_allclose(cs, run.c[1:, 0, 0], rtol=0, atol=1e-15)
    for step, name in enumerate("ifgo"):
        gates = scalar.lstm_gates(XS[0], 0.5, **LSTM)
        assert gates[step] == pytest.approx(run.gate(name)[0, 0, 0], abs=1e-15)


def test_gru_equals_the_vector_cell():
    hs = scalar.gru_forward(XS, **GRU, h0=0.5)
    run = vector.gru_forward(
        np.array(XS)[None, :, None],
        column(GRU["w_x"]),
        column(GRU["w_h"]),
        np.array(GRU["b"]),
        np.array([[0.5]]),
    )
    np.testing.assert_allclose(hs, run.output[0, :, 0], rtol=0, atol=1e-15)
    r, z = scalar.gru_gates(XS[0], 0.5, **GRU)
    n = scalar.gru_candidate(XS[0], 0.5, r, **GRU)
    first = [run.gate(name)[0, 0, 0] for name in "rzn"]
    np.testing.assert_allclose([r, z, n], first, rtol=0, atol=1e-15)


def test_saturated_gates_copy():
    assert scalar.lstm_update(i=0.0, f=1.0, g=0.7, o=1.0, c_prev=3.0) == (math.tanh(3.0), 3.0)
    assert scalar.gru_update(z=0.0, n=0.7, h_prev=0.25) == 0.25
    assert scalar.gru_update(z=1.0, n=0.7, h_prev=0.25) == 0.7


def test_forward_leaves_its_arguments_alone_and_chains():
    xs = list(XS)
    whole = scalar.gru_forward(xs, **GRU)
    parts = scalar.gru_forward(xs[:2], **GRU)
    parts += scalar.gru_forward(xs[2:], **GRU, h0=parts[-1])
    assert parts == whole
    assert xs == XS


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: scalar.sigmoid("a"), r"a is 'a'; expected a number"),
        (lambda: scalar.sigmoid(math.nan), r"a is NaN; expected a finite number"),
        (lambda: scalar.sigmoid(math.inf), r"a is inf; expected a finite number"),
        (lambda: scalar.rnn_step(1.0, None, 1.0, 1.0, 0.0), r"h_prev is None; expected a number"),
        (lambda: scalar.rnn_step(1.0, 0.0, [1.0], 1.0, 0.0), r"w_x is \[1.0\]; expected a number"),
        (lambda: scalar.rnn_forward([], 1.0, 1.0, 0.0), r"xs is empty; expected at least one time step"),
        (lambda: scalar.rnn_forward(3.0, 1.0, 1.0, 0.0), r"xs is 3.0; expected a sequence of numbers"),
        (lambda: scalar.rnn_forward([1.0], 1.0, 1.0, 0.0, h0=math.nan), r"h0 is NaN"),
        (
            lambda: scalar.lstm_gates(1.0, 0.0, (1, 2, 3), (1, 2, 3, 4), (0,) * 4),
            r"w_x holds 3 numbers; expected 4",
        ),
        (
            lambda: scalar.lstm_gates(1.0, 0.0, 5.0, (1, 2, 3, 4), (0,) * 4),
            r"w_x is 5.0; expected numbers for i, f",
        ),
        (lambda: scalar.lstm_update(0.5, 0.5, "g", 0.5, 0.0), r"g is 'g'; expected a number"),
        (lambda: scalar.lstm_step(1.0, 0.0, math.nan, *LSTM.values()), r"c_prev is NaN"),
        (lambda: scalar.lstm_forward([], *LSTM.values()), r"xs is empty"),
        (lambda: scalar.lstm_forward([1.0], *LSTM.values(), c0="c"), r"c0 is 'c'; expected a number"),
        (
            lambda: scalar.gru_gates(1.0, 0.0, (1, 2, 3, 4), (1, 2, 3), (0,) * 3),
            r"w_x holds 4 numbers; expected 3",
        ),
        (lambda: scalar.gru_candidate(1.0, 0.0, None, *GRU.values()), r"r is None; expected a number"),
        (lambda: scalar.gru_update(0.5, math.inf, 0.0), r"n is inf; expected a finite number"),
        (lambda: scalar.gru_step(1.0, 0.0, (1, 2, math.nan), (1, 2, 3), (0,) * 3), r"w_x\[2\] is NaN"),
        (lambda: scalar.gru_forward([], *GRU.values()), r"xs is empty"),
    ],
)
def test_bad_input_is_named(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_examples_in_the_docstrings():
    done = doctest.testmod(scalar)
    assert done.attempted >= 2
    assert done.failed == 0

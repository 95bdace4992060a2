"""Layout conversions: exact round trips, what goes where, and bad input. Peers are in tests/conformance."""

import numpy as np
import pytest
from enforced import interop

from refcells import interop as plain

torch = pytest.importorskip("torch", reason="torch is not installed")

D, H = 3, 4
BLOCKS = {"rnn": 1, "lstm": 4, "gru": 3}


def weights(cell, seed=41, P=False, dtype=np.float64):
    rng = np.random.default_rng(seed)
    rows = BLOCKS[cell] * H
    shapes = [(rows, D), (rows, H), (rows,), (rows,)] + ([(3, H)] if P else [])
    return interop.Weights(*(rng.normal(size=shape).astype(dtype) for shape in shapes))


def same(a, b):
    assert (a.P is None) == (b.P is None)
    for x, y in zip(a[: 4 + (a.P is not None)], b, strict=False):
        np.testing.assert_array_equal(x, y)
        assert x.dtype == y.dtype


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("cell", BLOCKS)
def test_torch_round_trip_is_exact(cell, dtype):
    w = weights(cell, dtype=dtype)
    for place in ({}, {"layer": 0}, {"layer": 2, "reverse": True}):
        same(interop.from_torch(cell, interop.to_torch(cell, w, **place), **place), w)


@pytest.mark.parametrize("cell", BLOCKS)
def test_torch_module_round_trip_is_exact(cell):
    kind = {"rnn": torch.nn.RNN, "lstm": torch.nn.LSTM, "gru": torch.nn.GRU}[cell]
    layer = kind(D, H, num_layers=2, bidirectional=True)
    before = layer.state_dict()
    state = {}
    for number in range(2):
        for reverse in (False, True):
            w = interop.from_torch(cell, before, layer=number, reverse=reverse)
            state |= interop.to_torch(cell, w, layer=number, reverse=reverse)
    assert state.keys() == before.keys()
    for name in state:
        assert torch.equal(state[name], before[name])


@pytest.mark.parametrize("cell", ["rnn", "lstm", "gru", "lstm P"])
def test_onnx_round_trip_is_exact(cell):
    cell, _, peepholes = cell.partition(" ")
    pair = weights(cell, 42, bool(peepholes)), weights(cell, 43, bool(peepholes))
    for directions in (pair[:1], pair):
        back = interop.from_onnx(cell, *interop.to_onnx(cell, *directions))
        assert len(back) == len(directions)
        for a, b in zip(back, directions, strict=True):
            same(a, b)


@pytest.mark.parametrize(
    ("cell", "reset_after"), [("rnn", False), ("lstm", False), ("gru", False), ("gru", True)]
)
def test_keras_round_trip_is_exact(cell, reset_after):
    w = weights(cell, 44)
    if not reset_after:
        w = w._replace(b_h=np.zeros_like(w.b_h))
    same(interop.from_keras(cell, *interop.to_keras(cell, w, reset_after)), w)


def test_gate_orders():
    """One-hot biases show which block goes where."""
    names = {"lstm": "ifgo", "gru": "rzn"}
    onnx, keras = {"lstm": "iofg", "gru": "zrn"}, {"lstm": "ifgo", "gru": "zrn"}
    for cell, order in names.items():
        for k, gate in enumerate(order):
            w = weights(cell)
            b = np.zeros(BLOCKS[cell] * H)
            b[k * H : (k + 1) * H] = 1.0
            w = w._replace(b_x=b, b_h=np.zeros_like(b))
            sign = -1.0 if gate == "z" else 1.0
            for there, bias in (
                (onnx, interop.to_onnx(cell, w).B[0]),
                (keras, interop.to_keras(cell, w).bias),
            ):
                block = there[cell].index(gate)
                assert (bias[block * H : (block + 1) * H] == sign).all()
                assert np.abs(bias).sum() == H


def test_z_is_negated_and_nothing_else():
    w = weights("gru")
    state = interop.to_torch("gru", w)
    for name, ours in (("weight_ih", w.W_x), ("weight_hh", w.W_h), ("bias_ih", w.b_x), ("bias_hh", w.b_h)):
        r, z, n = np.split(state[name].numpy(), 3)
        np.testing.assert_array_equal(np.concatenate([r, -z, n]), ours)


def test_merged():
    w = weights("lstm", P=True)
    W_x, W_h, b, P = w.merged()
    np.testing.assert_array_equal(b, w.b_x + w.b_h)
    assert len(weights("lstm").merged()) == 3
    assert P is w.P
    assert W_x is w.W_x
    assert W_h is w.W_h


def test_missing_biases_are_zeros():
    w = weights("gru")
    onnx = interop.to_onnx("gru", w)
    assert not interop.from_onnx("gru", onnx.W, onnx.R)[0].b_h.any()
    keras = interop.to_keras("gru", w)
    assert not interop.from_keras("gru", keras.kernel, keras.recurrent_kernel)[2].any()


def test_copies_are_independent():
    layer = torch.nn.LSTMCell(D, H)
    w = interop.from_torch("lstm", layer.state_dict())
    kept = w.W_x.copy()
    with torch.no_grad():
        layer.weight_ih.zero_()
    np.testing.assert_array_equal(w.W_x, kept)
    state = interop.to_torch("lstm", w)
    state["weight_ih"].zero_()
    np.testing.assert_array_equal(w.W_x, kept)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: plain.from_torch("tcn", torch.nn.RNNCell(D, H).state_dict()),
            r"cell is 'tcn'; expected 'rnn', 'l",
        ),
        (lambda: plain.from_torch("rnn", {}), r"state has no 'weight_ih'; it has"),
        (
            lambda: plain.from_torch("rnn", torch.nn.RNN(D, H).state_dict(), layer=1),
            r"state has no 'weight_ih_l1'",
        ),
        (
            lambda: plain.from_torch("gru", torch.nn.LSTMCell(D, H).state_dict()),
            r"W_x has 16 rows; expected 12, 3 for",
        ),
        (
            lambda: plain.to_torch("lstm", weights("gru")),
            r"W_x has 12 rows; expected 16, 4 for each of 4 units",
        ),
        (lambda: plain.to_torch("lstm", weights("lstm", P=True)), r"weights hold peepholes; expected none"),
        (
            lambda: plain.to_torch("gru", weights("gru")._replace(P=np.ones((3, H)))),
            r"P has shape \(3, 4\); expected",
        ),
        (
            lambda: plain.to_torch("rnn", weights("rnn")._replace(b_x=None)),
            r"b_x is a NoneType; expected a numpy.nd",
        ),
        (
            lambda: plain.from_onnx("rnn", np.ones((4, 3)), np.ones((1, 4, 4))),
            r"W has shape \(4, 3\); expected \(dir",
        ),
        (
            lambda: plain.from_onnx("gru", np.ones((1, 4, 3)), np.ones((1, 4, 4))),
            r"4 rows came; expected a multiple of 3",
        ),
        (lambda: plain.to_onnx("lstm"), r"weights of 0 directions came; expected 1 or 2"),
        (
            lambda: plain.to_onnx("lstm", weights("lstm", P=True), weights("lstm")),
            r"one direction has peepholes and the other has none",
        ),
        (
            lambda: plain.from_keras("lstm", np.ones((3, 16)), np.ones((4, 16)), np.ones((2, 16))),
            r"bias has shape \(2,",
        ),
        (
            lambda: plain.from_keras("lstm", [1.0], np.ones((4, 16))),
            r"kernel is a list; expected a numpy.ndarray",
        ),
        (
            lambda: plain.to_keras("lstm", weights("lstm"), reset_after=True),
            r"reset_after came with cell 'lstm'",
        ),
        (lambda: plain.to_keras("lstm", weights("lstm", P=True)), r"weights hold peepholes"),
    ],
)
def test_bad_input_is_named(call, message):
    with pytest.raises(ValueError, match=message):
        call()

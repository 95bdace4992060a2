"""The NumPy cells: walks equal chained steps, lengths, initial states, saturation, bad input."""

import numpy as np
import pytest
from cells import CELLS, IDS
from enforced import vector
from hypothesis import given, settings
from hypothesis import strategies as st

from refcells import vector as plain

B, T, D, H = 3, 6, 5, 4
LENGTHS = np.array([6, 1, 4])


def chained(cell, x, weights, states, lengths=None):
    """Outputs and last states by one plain step after another, padding handled row by row."""
    outputs = np.zeros((*x.shape[:2], states[0].shape[1]))
    for t in range(x.shape[1]):
        new = cell.take_step(x[:, t], states, weights)
        for row in range(len(x)):
            if lengths is not None and t >= lengths[row]:
                for after, before in zip(new, states, strict=True):
                    after[row] = before[row]
            else:
                outputs[row, t] = new[0][row]
        states = new
    return outputs, states


@pytest.mark.parametrize("lengths", [None, LENGTHS], ids=["full", "padded"])
@pytest.mark.parametrize("cell", CELLS, ids=IDS)
def test_walk_equals_chained_steps(cell, lengths):
    rng = np.random.default_rng(1)
    x, weights, states = rng.normal(size=(B, T, D)), cell.weights(rng, D, H), cell.initial(rng, B, H)
    run = cell.walk(x, weights, states, lengths)
    outputs, last = chained(cell, x, weights, states, lengths)
    np.testing.assert_allclose(run.output, outputs, rtol=0, atol=1e-12)
    for ours, theirs in zip(cell.last(run), last, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=0, atol=1e-12)
    if lengths is not None:
        assert not run.output[1, 1:].any()


@pytest.mark.parametrize("cell", CELLS, ids=IDS)
def test_zeros_are_the_default_state(cell):
    rng = np.random.default_rng(2)
    x, weights = rng.normal(size=(B, T, D)), cell.weights(rng, D, H)
    zeros = [np.zeros((B, H))] * cell.states
    np.testing.assert_array_equal(cell.walk(x, weights, []).output, cell.walk(x, weights, zeros).output)


@pytest.mark.parametrize("cell", CELLS, ids=IDS)
def test_result_does_not_depend_on_padding(cell):
    rng = np.random.default_rng(3)
    x, weights, states = rng.normal(size=(B, T, D)), cell.weights(rng, D, H), cell.initial(rng, B, H)
    other = np.where(np.arange(T)[None, :, None] < LENGTHS[:, None, None], x, 1e3)
    longer = np.concatenate([other, np.full((B, 2, D), -7.0)], axis=1)
    run, more = cell.walk(x, weights, states, LENGTHS), cell.walk(longer, weights, states, LENGTHS)
    np.testing.assert_allclose(more.output[:, :T], run.output, rtol=0, atol=1e-12)
    for a, b in zip(cell.last(run), cell.last(more), strict=True):
        np.testing.assert_allclose(a, b, rtol=0, atol=1e-12)
    for row, length in enumerate(LENGTHS):
        alone = cell.walk(x[row : row + 1, :length], weights, [s[row : row + 1] for s in states])
        np.testing.assert_allclose(run.output[row, :length], alone.output[0], rtol=0, atol=1e-12)


@pytest.mark.parametrize("cell", CELLS, ids=IDS)
def test_arguments_are_not_changed(cell):
    rng = np.random.default_rng(4)
    arrays = [rng.normal(size=(B, T, D)), *cell.weights(rng, D, H), *cell.initial(rng, B, H)]
    copies = [a.copy() for a in arrays]
    count = len(arrays) - cell.states
    run = cell.walk(arrays[0], arrays[1:count], arrays[count:])
    cell.backward(run, np.ones_like(run.output))
    for a, b in zip(arrays, copies, strict=True):
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("cell", CELLS, ids=IDS)
def test_float32_stays_float32(cell):
    rng = np.random.default_rng(5)
    x, weights = rng.normal(size=(B, T, D)), cell.weights(rng, D, H, 0.5)
    exact = cell.walk(x, weights, [])
    run = cell.walk(x.astype(np.float32), [w.astype(np.float32) for w in weights], [])
    assert run.output.dtype == np.float32
    np.testing.assert_allclose(run.output, exact.output, rtol=1e-5, atol=1e-5)
    gradients = cell.backward(run, np.ones_like(run.output))
    assert {g.dtype for g in gradients} == {np.dtype(np.float32)}


@pytest.mark.parametrize("cell", CELLS, ids=IDS)
def test_part_of_a_run_is_a_run(cell):
    rng = np.random.default_rng(6)
    x, weights, states = rng.normal(size=(B, T, D)), cell.weights(rng, D, H), cell.initial(rng, B, H)
    run = cell.walk(x, weights, states)
    first = cell.walk(x[:, :2], weights, states)
    second = cell.walk(x[:, 2:], weights, cell.last(first))
    part = run.steps(2, T)
    np.testing.assert_allclose(part.output, second.output, rtol=0, atol=1e-12)
    d_output = rng.normal(size=second.output.shape)
    for a, b in zip(cell.backward(part, d_output), cell.backward(second, d_output), strict=True):
        np.testing.assert_allclose(a, b, rtol=0, atol=1e-11)
    with pytest.raises(ValueError, match=r"steps 4 to 7 came; expected 0 <= start < stop <= 6"):
        run.steps(4, 7)


@settings(max_examples=60, deadline=None)
@given(data=st.data())
@pytest.mark.parametrize("cell", CELLS, ids=IDS)
def test_any_shape_and_size_of_numbers(cell, data):
    """No NumPy warning (they are errors here), no NaN, and walks equal steps, at inputs up to +-1e3."""
    sizes = st.integers(1, 5)
    b, t, d, h = (data.draw(sizes, label) for label in ("batch", "time", "input", "hidden"))
    scale = data.draw(st.sampled_from([0.0, 1e-3, 1.0, 1e3]), "scale of x")
    lengths = data.draw(
        st.none() | st.lists(st.integers(1, t), min_size=b, max_size=b).map(np.array), "lengths"
    )
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32 - 1), "seed"))
    x, weights, states = scale * rng.normal(size=(b, t, d)), cell.weights(rng, d, h), cell.initial(rng, b, h)
    run = cell.walk(x, weights, states, lengths)
    outputs, last = chained(cell, x, weights, states, lengths)
    # Rounding in pre-activations grows with them.
    tolerance = 1e-11 * max(1.0, scale)
    np.testing.assert_allclose(run.output, outputs, rtol=0, atol=tolerance * max(1.0, np.abs(outputs).max()))
    for ours, theirs in zip(cell.last(run), last, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=0, atol=tolerance * max(1.0, np.abs(theirs).max()))
    gradients = cell.backward(run, np.ones_like(run.output))
    assert all(np.isfinite(g).all() for g in gradients)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_sigmoid_at_the_ends(dtype):
    a = np.array([-1e30, -1e3, -1.0, 0.0, 1.0, 1e3, 1e30], dtype)
    s = vector.sigmoid(a)
    assert s.dtype == dtype
    np.testing.assert_allclose(s, [0, 0, 0.26894142, 0.5, 0.73105858, 1, 1], rtol=1e-6)
    np.testing.assert_allclose(vector.sigmoid_derivative(s), s * (1 - s))


def test_derivatives_by_differences():
    a = np.linspace(-4, 4, 33)
    e = 1e-5
    for value, slope in ((vector.sigmoid, vector.sigmoid_derivative), (np.tanh, vector.tanh_derivative)):
        np.testing.assert_allclose(
            slope(value(a)), (value(a + e) - value(a - e)) / (2 * e), rtol=0, atol=1e-9
        )
    np.testing.assert_array_equal(vector.relu(a), np.where(a > 0, a, 0))


def test_saturated_lstm_keeps_its_cell_state():
    h = 2
    rng = np.random.default_rng(7)
    b = np.repeat([-1e3, 1e3, 0.0, 1e3], h)
    c0 = rng.normal(size=(B, h))
    zeros_x, zeros_h = np.zeros((4 * h, D)), np.zeros((4 * h, h))
    run = vector.lstm_forward(rng.normal(size=(B, 50, D)), zeros_x, zeros_h, b, c0=c0)
    np.testing.assert_array_equal(run.c_n, c0)
    np.testing.assert_array_equal(run.h_n, np.tanh(c0))


def test_1997_is_the_lstm_with_its_forget_gate_open():
    rng = np.random.default_rng(8)
    cell = next(c for c in CELLS if c.name == "lstm 1997")
    run = cell.walk(rng.normal(size=(B, T, D)), cell.weights(rng, D, H), [])
    assert (run.gate("f") == 1.0).all()
    np.testing.assert_allclose(
        np.diff(run.c, axis=0), (run.gate("i") * run.gate("g")).transpose(1, 0, 2), atol=1e-14
    )


def test_peepholes_of_zero_are_no_peepholes():
    rng = np.random.default_rng(9)
    cell = next(c for c in CELLS if c.name == "lstm")
    x, weights, states = rng.normal(size=(B, T, D)), cell.weights(rng, D, H), cell.initial(rng, B, H)
    with_zeros = vector.lstm_peephole_forward(x, *weights, np.zeros((3, H)), *states)
    np.testing.assert_allclose(with_zeros.output, cell.walk(x, weights, states).output, rtol=0, atol=1e-14)


def test_reset_placements_differ():
    rng = np.random.default_rng(10)
    x, h = rng.normal(size=(B, D)), rng.normal(size=(B, H))
    W_x, W_h, b = rng.normal(size=(3 * H, D)), rng.normal(size=(3 * H, H)), rng.normal(size=3 * H)
    before = vector.gru_step(x, h, W_x, W_h, b)
    after = vector.gru_reset_after_step(x, h, W_x, W_h, b, np.zeros(3 * H))
    assert np.abs(before - after).max() > 0.05


def test_gate_views():
    rng = np.random.default_rng(11)
    lstm = next(c for c in CELLS if c.name == "lstm")
    run = lstm.walk(rng.normal(size=(B, T, D)), lstm.weights(rng, D, H), [])
    c = run.c.transpose(1, 0, 2)
    np.testing.assert_allclose(
        run.gate("f") * c[:, :-1] + run.gate("i") * run.gate("g"), c[:, 1:], atol=1e-14
    )
    with pytest.raises(ValueError, match=r"gate 'z' came; expected 'i', 'f', 'g' or 'o'"):
        run.gate("z")
    gru = next(c for c in CELLS if c.name == "gru")
    with pytest.raises(ValueError, match=r"gate 'rz' came; expected 'r', 'z' or 'n'"):
        gru.walk(rng.normal(size=(B, T, D)), gru.weights(rng, D, H), []).gate("rz")


# --- bad input: each public function refuses it by itself -------------------------------------------------------

PLAIN = {
    cell.name: (getattr(plain, cell.step.__name__), getattr(plain, cell.forward.__name__), cell)
    for cell in CELLS
}


@pytest.fixture(params=IDS)
def calls(request):
    """For one cell: a good call of its step and of its walk, by argument name."""
    step, forward, cell = PLAIN[request.param]
    rng = np.random.default_rng(12)
    weights = dict(zip(cell.weight_names(), cell.weights(rng, D, H), strict=True))
    states = dict(zip(("h_prev", "c_prev"), cell.initial(rng, B, H), strict=False))
    first = dict(zip(("h0", "c0"), cell.initial(rng, B, H), strict=False))
    return (
        (step, {"x": rng.normal(size=(B, D)), **states, **weights}),
        (forward, {"x": rng.normal(size=(B, T, D)), **weights, **first, "lengths": LENGTHS}),
    )


def refuses(function, arguments, message, **changes):
    with pytest.raises(ValueError, match=message):
        function(**{**arguments, **changes})


def test_each_array_argument_is_checked(calls):
    for function, arguments in calls:
        function(**arguments)
        for name, value in arguments.items():
            if name == "lengths":
                continue
            bad = value.copy()
            bad.flat[-1] = np.nan
            refuses(function, arguments, rf"{name} holds a NaN, the first at index \(", **{name: bad})
            bad.flat[-1] = -np.inf
            refuses(function, arguments, rf"{name} holds an infinity", **{name: bad})
            refuses(
                function, arguments, rf"{name} is a list; expected a numpy.ndarray", **{name: value.tolist()}
            )
            refuses(
                function,
                arguments,
                rf"{name} has dtype int64; expected floating",
                **{name: value.astype(int)},
            )
            refuses(function, arguments, rf"{name} has dtype complex128", **{name: value.astype(complex)})
            refuses(function, arguments, rf"{name} has shape .* axes came", **{name: value[None]})
            refuses(
                function, arguments, rf"{name} has shape .*: its axis '.*' is empty", **{name: value[..., :0]}
            )
            if name != "x":
                grown = np.concatenate([value, value[:1]])
                refuses(function, arguments, r"has shape .*; expected \(", **{name: grown})


def test_empty_batch_is_refused(calls):
    for function, arguments in calls:
        refuses(function, arguments, r"x has shape \(0, .*: its axis 'batch' is empty", x=arguments["x"][:0])


def test_lengths_are_checked(calls):
    function, arguments = calls[1]
    refuses(function, arguments, r"lengths\[1\] is 0; expected 1 to 6", lengths=np.array([6, 0, 4]))
    refuses(function, arguments, r"lengths\[0\] is 7; expected 1 to 6", lengths=np.array([7, 1, 4]))
    refuses(function, arguments, r"lengths has dtype float64; expected whole numbers", lengths=np.ones(B))
    refuses(
        function,
        arguments,
        r"lengths has shape \(2,\); expected \(batch,\) = \(3,\)",
        lengths=np.ones(2, int),
    )
    refuses(function, arguments, r"lengths is a list", lengths=[6, 1, 4])


def test_wrong_number_of_blocks_is_explained():
    rng = np.random.default_rng(13)
    with pytest.raises(
        ValueError, match=r"W_x has shape .*; expected .* \(gates = 4 x hidden = 16 from h_prev\)"
    ):
        plain.lstm_step(
            rng.normal(size=(B, D)), *rng.normal(size=(2, B, H)),
            rng.normal(size=(3 * H, D)), rng.normal(size=(4 * H, H)), rng.normal(size=4 * H),
        )  # fmt: skip


def test_unknown_activation_is_refused():
    rng = np.random.default_rng(14)
    weights = rng.normal(size=(H, D)), rng.normal(size=(H, H)), rng.normal(size=H)
    with pytest.raises(ValueError, match=r"activation is 'gelu'; expected 'tanh' or 'relu'"):
        plain.rnn_step(rng.normal(size=(B, D)), rng.normal(size=(B, H)), *weights, activation="gelu")
    with pytest.raises(ValueError, match=r"activation is 'gelu'"):
        plain.rnn_forward(rng.normal(size=(B, T, D)), *weights, activation="gelu")

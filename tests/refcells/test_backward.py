"""Hand-written BPTT against central differences and autograd, truncation, and bad input."""

import numpy as np
import pytest
from cells import CELLS, IDS
from enforced import backward, vector

from refcells import backward as plain
from refcells import vector as plain_vector

B, T, D, H = 2, 4, 3, 4
LENGTHS = np.array([4, 2])


def problem(cell, seed, lengths):
    """A loss that looks at every output and every last state, and all that it depends on."""
    rng = np.random.default_rng(seed)
    arrays = [rng.normal(size=(B, T, D)), *cell.weights(rng, D, H), *cell.initial(rng, B, H)]
    d_output = rng.normal(size=(B, T, H))
    d_last = [rng.normal(size=(B, H)) for _ in range(cell.states)]

    def loss():
        run = cell.walk(arrays[0], arrays[1 : -cell.states], arrays[-cell.states :], lengths)
        last = zip(d_last, cell.last(run), strict=True)
        return (run.output * d_output).sum() + sum((d * s).sum() for d, s in last), run

    return arrays, loss, d_output, d_last


def central_difference(value, array, step=1e-5):
    """Numerical gradient of `value()` with respect to every element of `array`."""
    gradient = np.zeros_like(array)
    for index in np.ndindex(array.shape):
        kept = array[index]
        array[index] = kept + step
        above = value()
        array[index] = kept - step
        below = value()
        array[index] = kept
        gradient[index] = (above - below) / (2 * step)
    return gradient


@pytest.mark.parametrize("lengths", [None, LENGTHS], ids=["full", "padded"])
@pytest.mark.parametrize("cell", CELLS, ids=IDS)
def test_every_gradient_by_central_differences(cell, lengths):
    arrays, loss, d_output, d_last = problem(cell, 21, lengths)
    gradients = cell.backward(loss()[1], d_output, *d_last)
    assert len(gradients) == len(arrays)
    for name, array, gradient in zip(gradients._fields, arrays, gradients, strict=True):
        numerical = central_difference(lambda: loss()[0], array)
        np.testing.assert_allclose(gradient, numerical, rtol=0, atol=1e-8, err_msg=name)


@pytest.mark.parametrize("cell", [c for c in CELLS if c.step_backward], ids=lambda c: c.name)
def test_step_backward_equals_a_walk_of_one_step(cell):
    rng = np.random.default_rng(22)
    x, weights, states = rng.normal(size=(B, D)), cell.weights(rng, D, H), cell.initial(rng, B, H)
    d_last = [rng.normal(size=(B, H)) for _ in range(cell.states)]
    step = cell.step_backward(*d_last, x, *states, *weights, **cell.options)
    walk = cell.backward(cell.walk(x[:, None], weights, states), None, *d_last)
    for name in cell.weight_names():
        np.testing.assert_allclose(getattr(step, name), getattr(walk, name), rtol=0, atol=1e-13, err_msg=name)
    np.testing.assert_allclose(step.x, walk.x[:, 0], rtol=0, atol=1e-13)
    np.testing.assert_allclose(step.h_prev, walk.h0, rtol=0, atol=1e-13)
    if cell.states == 2:
        np.testing.assert_allclose(step.c_prev, walk.c0, rtol=0, atol=1e-13)


@pytest.mark.parametrize("cell", CELLS, ids=IDS)
def test_padding_gets_no_gradient(cell):
    _, loss, d_output, d_last = problem(cell, 23, LENGTHS)
    gradients = cell.backward(loss()[1], d_output, *d_last)
    assert not gradients.x[1, 2:].any()
    assert gradients.x[1, :2].any()


@pytest.mark.parametrize("cell", CELLS, ids=IDS)
def test_gradients_add_up(cell):
    """Superposition: a loss at two places has the sum of the gradients of a loss at each."""
    _, loss, d_output, d_last = problem(cell, 24, None)
    run = loss()[1]
    first, second = d_output.copy(), d_output.copy()
    first[:, 1:], second[:, :1] = 0, 0
    zeros = [np.zeros_like(d) for d in d_last]
    both = cell.backward(run, d_output, *d_last)
    parts = cell.backward(run, first, *zeros), cell.backward(run, second, *d_last)
    for whole, a, b in zip(both, *parts, strict=True):
        np.testing.assert_allclose(whole, a + b, rtol=0, atol=1e-12)


@pytest.mark.parametrize("cell", CELLS, ids=IDS)
def test_truncation_in_one_chunk_is_the_full_gradient(cell):
    _, loss, d_output, _ = problem(cell, 25, None)
    run = loss()[1]
    full = cell.backward(run, d_output)
    for chunk in (T, T + 3):
        for a, b in zip(backward.truncated_backward(cell.backward, run, chunk, d_output), full, strict=True):
            np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("lengths", [None, LENGTHS], ids=["full", "padded"])
@pytest.mark.parametrize("chunk", [1, 2, 3])
@pytest.mark.parametrize("cell", CELLS, ids=IDS)
def test_truncation_equals_chunks_run_one_by_one(cell, chunk, lengths):
    arrays, loss, d_output, _ = problem(cell, 26, lengths)
    run = loss()[1]
    cut = backward.truncated_backward(cell.backward, run, chunk, d_output)
    x, weights, states = arrays[0], arrays[1 : -cell.states], arrays[-cell.states :]
    sums = [np.zeros_like(w) for w in weights]
    for start in range(0, T, chunk):
        stop = min(start + chunk, T)
        rows = slice(None) if lengths is None else lengths > start
        left = None if lengths is None else np.minimum(lengths[rows] - start, stop - start)
        part = cell.walk(x[rows, start:stop], weights, [s[rows] for s in states], left)
        np.testing.assert_allclose(part.output, run.output[rows, start:stop], rtol=0, atol=1e-13)
        gradients = cell.backward(part, d_output[rows, start:stop])
        np.testing.assert_allclose(gradients.x, cut.x[rows, start:stop], rtol=0, atol=1e-12)
        for total, name in zip(sums, cell.weight_names(), strict=True):
            total += getattr(gradients, name)
        states = [s.copy() for s in states]
        for state, after in zip(states, cell.last(part), strict=True):
            state[rows] = after
    for total, name in zip(sums, cell.weight_names(), strict=True):
        np.testing.assert_allclose(total, getattr(cut, name), rtol=0, atol=1e-12, err_msg=name)


def test_truncation_loses_what_is_older_than_its_chunk():
    cell = next(c for c in CELLS if c.name == "rnn")
    _, loss, _, _ = problem(cell, 27, None)
    run = loss()[1]
    d_output = np.zeros((B, T, H))
    d_output[:, -1] = 1.0
    assert cell.backward(run, d_output).x[:, 0].all()
    cut = backward.truncated_backward(cell.backward, run, 2, d_output)
    assert not cut.x[:, :2].any()
    assert not cut.h0.any()
    assert cut.x[:, 2:].all()


# --- bad input ---------------------------------------------------------------------------------------------------


def plain_run(cell):
    rng = np.random.default_rng(28)
    walk = getattr(plain_vector, cell.forward.__name__)
    return walk(rng.normal(size=(B, T, D)), *cell.weights(rng, D, H), **cell.options)


@pytest.mark.parametrize("cell", CELLS, ids=IDS)
def test_backward_refuses_what_does_not_fit(cell):
    back, run = getattr(plain, cell.backward.__name__), plain_run(cell)
    good = np.ones((B, T, H))
    back(run, good)
    for arguments, message in (
        (({}, good), rf"run is a dict; expected the \w+ that {cell.forward.__name__} returned"),
        (
            (run, good[:, 1:]),
            r"d_output has shape \(2, 3, 4\); expected \(2, 4, 4\), the shape in the forward pass",
        ),
        ((run, good.tolist()), r"d_output is a list; expected a numpy.ndarray"),
        ((run, good.astype(int)), r"d_output has dtype int64"),
        ((run, np.full_like(good, np.nan)), r"d_output holds a NaN"),
        ((run, good, np.ones((B, H + 1))), r"has shape"),
        ((run, None, np.ones((B, H + 1))), r"d_h_n has shape \(2, 5\); expected \(2, 4\)"),
        ((run, None, np.ones(H)), r"d_h_n has shape \(4,\): 1 axes came, 2 were expected"),
    ):
        with pytest.raises(ValueError, match=message):
            back(*arguments)
    if cell.states == 2:
        with pytest.raises(ValueError, match=r"d_c_n has shape \(3, 4\); expected \(2, 4\)"):
            back(run, None, None, np.ones((3, H)))


@pytest.mark.parametrize("cell", [c for c in CELLS if c.step_backward], ids=lambda c: c.name)
def test_step_backward_refuses_what_does_not_fit(cell):
    rng = np.random.default_rng(29)
    back = getattr(plain, cell.step_backward.__name__)
    d_last = [np.ones((B, H))] * cell.states
    arguments = [*d_last, rng.normal(size=(B, D)), *cell.initial(rng, B, H), *cell.weights(rng, D, H)]
    back(*arguments)
    for position in range(len(arguments)):
        bad = list(arguments)
        bad[position] = np.full_like(arguments[position], np.nan)
        with pytest.raises(ValueError, match=r"holds a NaN, the first at index \(0"):
            back(*bad)
        bad[position] = arguments[position][..., None]
        with pytest.raises(ValueError, match=r"axes came"):
            back(*bad)
    if cell.options or cell.name == "rnn":
        with pytest.raises(ValueError, match=r"activation is 'sin'"):
            back(*arguments, activation="sin")


@pytest.mark.parametrize(
    ("name", "made_by", "message"),
    [
        ("lstm_backward", "lstm peephole", "run has peepholes"),
        ("lstm_peephole_backward", "lstm", "run has no peepholes"),
        ("lstm_1997_backward", "lstm", "run has a forget gate that is not 1"),
        ("gru_backward", "gru reset after", "run is reset-after"),
        ("gru_reset_after_backward", "gru", "run is reset-before"),
        ("gru_backward", "lstm", "run is a LSTMRun; expected the GRURun"),
        ("rnn_backward", "gru", "run is a GRURun; expected the RNNRun"),
    ],
)
def test_backward_of_another_cell_is_refused(name, made_by, message):
    run = plain_run(next(c for c in CELLS if c.name == made_by))
    with pytest.raises(ValueError, match=message):
        getattr(plain, name)(run, np.ones((B, T, H)))


def test_truncated_backward_refuses_what_does_not_fit():
    cell = next(c for c in CELLS if c.name == "gru")
    run, good = plain_run(cell), np.ones((B, T, H))
    for arguments, message in (
        ((run, 0, good), r"chunk is 0; expected at least 1 time step"),
        ((None, 2, good), r"run is a NoneType"),
        ((run, 2, None), r"d_output is a NoneType; expected a numpy.ndarray"),
        ((run, 2, good[:, 1:]), r"d_output has shape \(2, 3, 4\); expected \(2, 4, 4\)"),
    ):
        with pytest.raises(ValueError, match=message):
            plain.truncated_backward(plain.gru_backward, *arguments)


def test_gradients_reach_far_only_through_an_open_forget_gate():
    """The direct path of the cell state: with f = 1 it is passed on unchanged, with f = 0.5 halved at each step."""
    steps, h = 10, 1
    zeros = np.zeros((4 * h, D)), np.zeros((4 * h, h))
    for forget, factor in ((100.0, 1.0), (0.0, 0.5)):
        run = vector.lstm_forward(np.zeros((1, steps, D)), *zeros, np.array([0.0, forget, 0.0, 0.0]))
        d_c0 = backward.lstm_backward(run, d_c_n=np.ones((1, h))).c0
        np.testing.assert_allclose(d_c0, factor**steps, rtol=1e-12)

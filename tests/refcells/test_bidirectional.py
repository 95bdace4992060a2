"""Reversal by length, merging, the last state, and the gradient through both directions."""

import numpy as np
import pytest
from cells import CELLS, IDS
from enforced import bidirectional as bi

from refcells import bidirectional as plain
from refcells import vector as plain_vector

B, T, D, H = 3, 5, 2, 4
LENGTHS = np.array([5, 1, 3])


def test_reverse_by_hand():
    x = np.arange(10.0).reshape(2, 5, 1)
    np.testing.assert_array_equal(bi.reverse(x)[0, :, 0], [4, 3, 2, 1, 0])
    np.testing.assert_array_equal(bi.reverse(x, np.array([3, 1]))[0, :, 0], [2, 1, 0, 3, 4])
    np.testing.assert_array_equal(bi.reverse(x, np.array([3, 1]))[1, :, 0], [5, 6, 7, 8, 9])


def test_reverse_is_its_own_inverse():
    x = np.random.default_rng(31).normal(size=(B, T, D))
    np.testing.assert_array_equal(bi.reverse(bi.reverse(x, LENGTHS), LENGTHS), x)
    np.testing.assert_array_equal(bi.reverse(bi.reverse(x)), x)


def test_merge_modes():
    a, b = np.array([[1.0, 2.0]]), np.array([[3.0, 5.0]])
    np.testing.assert_array_equal(bi.merge(a, b), [[1, 2, 3, 5]])
    np.testing.assert_array_equal(bi.merge(a, b, "sum"), [[4, 7]])
    np.testing.assert_array_equal(bi.merge(a, b, "mean"), [[2, 3.5]])
    np.testing.assert_array_equal(bi.merge(a, b, "product"), [[3, 10]])


def run_of(cell, mode="concat", lengths=None, seed=32):
    rng = np.random.default_rng(seed)
    arrays = {
        "x": rng.normal(size=(B, T, D)),
        "forward_weights": cell.weights(rng, D, H),
        "backward_weights": cell.weights(rng, D, H),
        "forward_state": cell.initial(rng, B, H),
        "backward_state": cell.initial(rng, B, H),
    }

    def walk(*args, **kwargs):
        return cell.forward(*args, **kwargs, **cell.options)

    return arrays, lambda: bi.bidirectional_forward(walk, lengths=lengths, mode=mode, **arrays)


@pytest.mark.parametrize("cell", CELLS, ids=IDS)
def test_each_direction_is_a_walk_from_its_end(cell):
    arrays, make = run_of(cell, lengths=LENGTHS)
    run = make()
    for row, length in enumerate(LENGTHS):
        one = arrays["x"][row : row + 1, :length]
        ahead = cell.walk(one, arrays["forward_weights"], [s[row : row + 1] for s in arrays["forward_state"]])
        back = cell.walk(
            one[:, ::-1], arrays["backward_weights"], [s[row : row + 1] for s in arrays["backward_state"]]
        )
        together = np.concatenate([ahead.output, back.output[:, ::-1]], axis=2)[0]
        np.testing.assert_allclose(run.output[row, :length], together, rtol=0, atol=1e-13)
        assert not run.output[row, length:].any()
        summary = np.concatenate([ahead.h_n, back.h_n], axis=1)[0]
        np.testing.assert_allclose(bi.last_state(run)[row], summary, rtol=0, atol=1e-13)


def test_last_state_is_not_the_last_output():
    run = run_of(CELLS[0])[1]()
    assert np.abs(run.output[:, -1, H:] - bi.last_state(run)[:, H:]).max() > 0.1
    np.testing.assert_array_equal(run.output[:, 0, H:], bi.last_state(run)[:, H:])
    np.testing.assert_array_equal(run.output[:, -1, :H], bi.last_state(run)[:, :H])


def test_last_output_by_length():
    output = np.arange(B * T * 2.0).reshape(B, T, 2)
    np.testing.assert_array_equal(bi.last_output(output), output[:, -1])
    np.testing.assert_array_equal(bi.last_output(output, LENGTHS), output[[0, 1, 2], [4, 0, 2]])


def test_outputs_know_both_sides():
    """Changing one input changes the forward outputs from there on and the backward outputs up to there."""
    arrays, make = run_of(CELLS[2])
    before = make().output
    arrays["x"][:, 2] += 1.0
    changed = np.abs(make().output - before).max(axis=0) > 0
    np.testing.assert_array_equal(changed[:, :H].any(axis=1), [False, False, True, True, True])
    np.testing.assert_array_equal(changed[:, H:].any(axis=1), [True, True, True, False, False])


@pytest.mark.parametrize("lengths", [None, LENGTHS], ids=["full", "padded"])
@pytest.mark.parametrize("mode", bi.MERGES)
@pytest.mark.parametrize("cell", [CELLS[0], CELLS[2], CELLS[5], CELLS[6]], ids=lambda c: c.name)
def test_gradients_by_central_differences(cell, mode, lengths):
    arrays, make = run_of(cell, mode, lengths, 33)
    rng = np.random.default_rng(34)
    width = H * (1 + (mode == "concat"))
    d_output, d_last = rng.normal(size=(B, T, width)), rng.normal(size=(B, width))

    def loss():
        run = make()
        return (run.output * d_output).sum() + (bi.last_state(run) * d_last).sum()

    gradients = bi.bidirectional_backward(cell.backward, make(), d_output, d_last)
    pairs = [(arrays["x"], gradients.x)]
    for weights, direction in (
        (arrays["forward_weights"], gradients.forward),
        (arrays["backward_weights"], gradients.backward),
    ):
        named = zip(weights, cell.weight_names(), strict=True)
        pairs += [(weight, getattr(direction, name)) for weight, name in named]
    pairs += [
        (arrays["forward_state"][0], gradients.forward.h0),
        (arrays["backward_state"][0], gradients.backward.h0),
    ]
    for array, gradient in pairs:
        for index in list(np.ndindex(array.shape))[::3]:
            kept, e = array[index], 1e-5
            array[index] = kept + e
            above = loss()
            array[index] = kept - e
            slope = (above - loss()) / (2 * e)
            array[index] = kept
            assert gradient[index] == pytest.approx(slope, abs=1e-8)


def plain_bidirectional_run():
    rng = np.random.default_rng(35)
    weights = CELLS[0].weights(rng, D, H)
    return plain.bidirectional_forward(plain_vector.rnn_forward, rng.normal(size=(B, T, D)), weights, weights)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: plain.reverse([[1.0]]), r"x is a list; expected a numpy.ndarray \(batch, time, width\)"),
        (lambda: plain.reverse(np.ones((2, 3))), r"x has shape \(2, 3\): 2 axes came, 3 were expected"),
        (lambda: plain.reverse(np.ones((2, 3, 1)), np.array([1, 4])), r"lengths\[1\] is 4; expected 1 to 3"),
        (
            lambda: plain.merge(np.ones(2), np.ones(2), "max"),
            r"mode is 'max'; expected 'concat', 'sum', 'mean' or",
        ),
        (lambda: plain.merge(np.ones(2), [1.0]), r"backward is a list"),
        (
            lambda: plain.merge(np.ones(2), np.ones(3)),
            r"backward has shape \(3,\); expected \(2,\), the shape of forw",
        ),
        (lambda: plain.last_output(np.ones((2, 0, 1))), r"its axis 'time' is empty"),
        (
            lambda: plain.last_output(np.ones((2, 3, 1)), np.array([0, 1])),
            r"lengths\[0\] is 0; expected 1 to 3",
        ),
        (lambda: plain.last_state(3), r"run is a int; expected what bidirectional_forward returned"),
        (lambda: plain.bidirectional_backward(None, 3), r"run is a int"),
        (
            lambda: plain.bidirectional_forward(None, np.ones((1, 1, 1)), (), (), mode="max"),
            r"mode is 'max'",
        ),
        (
            lambda: plain.bidirectional_backward(None, plain_bidirectional_run(), np.ones((B, T, H))),
            r"d_output has shape \(3, 5, 4\); expected \(3, 5, 8\)",
        ),
        (
            lambda: plain.bidirectional_backward(None, plain_bidirectional_run(), None, [1.0]),
            r"d_last_state has shape list; expected \(3, 8\)",
        ),
    ],
)
def test_bad_input_is_named(call, message):
    with pytest.raises(ValueError, match=message):
        call()

"""What the chapter on BPTT measures is measured rightly, and its sentences that are words hold."""

import re

import numpy as np
import pytest
from pages import BOOK

torch = pytest.importorskip("torch")

from refcells import rnn_backward, rnn_forward, scalar, truncated_backward  # noqa: E402
from refcells.experiments import load  # noqa: E402
from refcells.figures import measure, measure_bptt  # noqa: E402

pytestmark = pytest.mark.usefixtures("one_thread")


def seeded(seed=0):
    return torch.Generator().manual_seed(seed)


class TestPlainRNN:
    def test_jacobians_are_products_of_the_chapters_formula(self):
        net = measure_bptt.plain_rnn("orthogonal × 2", seeded(4), hidden=6, inputs=3, lags=(1, 3, 8))
        generator = seeded(4)
        layer = measure.layer_with("RNN, orthogonal", 3, 6, 8, generator)
        W_x, W_h, b = measure.weights_of(layer)
        x = torch.randn(1, 18, 3, generator=generator, dtype=torch.float64).numpy()
        h = rnn_forward(x, W_x, 2 * W_h, b).h[1:, 0]
        for lag, norm in zip((1, 3, 8), net.jacobians, strict=True):
            product = np.eye(6)
            for state in h[-lag:]:
                product = np.diag(1 - state**2) @ (2 * W_h) @ product
            assert norm == pytest.approx(np.linalg.norm(product) / np.sqrt(6), rel=1e-9)
        assert net.slope == pytest.approx((1 - h**2).mean())
        assert net.radius == pytest.approx(2.0, rel=1e-6)
        assert net.norm == pytest.approx(2.0, rel=1e-6)

    def test_another_seed_gives_other_numbers(self):
        one, other = (measure_bptt.plain_rnn("default", seeded(seed), lags=(1, 20)) for seed in (0, 1))
        assert one.norm != other.norm
        assert not np.allclose(one.jacobians, other.jacobians)

    def test_unknown_start(self):
        with pytest.raises(ValueError, match="start is 'identity'; expected one of"):
            measure_bptt.plain_rnn("identity", seeded())


class TestDifferences:
    def test_an_exact_gradient_has_the_error_that_taylor_says(self):
        """Tenfold steps make the central error a hundredfold and the forward error tenfold, right of the minimum."""
        central = measure_bptt.difference_errors([1e-3, 1e-2])
        forward = measure_bptt.difference_errors([1e-3, 1e-2], kind="forward")
        assert central[1] / central[0] == pytest.approx(100, rel=0.2)
        assert forward[1] / forward[0] == pytest.approx(10, rel=0.2)

    def test_left_of_the_minimum_the_error_is_that_of_rounding(self):
        errors = measure_bptt.difference_errors([1e-11, 1e-8])
        assert 100 < errors[0] / errors[1] < 10_000

    def test_another_kind_is_refused(self):
        with pytest.raises(ValueError, match="expected 'central' or 'forward'"):
            measure_bptt.difference_errors([1e-5], kind="backward")


class TestCliff:
    def test_loss_is_that_of_the_reference_cell(self):
        h = 0.5
        for _ in range(30):
            h = scalar.rnn_step(x=0.0, h_prev=h, w_x=0.0, w_h=1.2, b=-0.05)
        assert measure_bptt.cliff_loss(np.array(1.2), np.array(-0.05)) == pytest.approx((h + 0.2) ** 2)

    def test_descent_follows_the_slope_of_the_loss(self):
        run = measure_bptt.cliff_descent(None, lr=0.1, updates=1, start=(0.9, 0.02))
        e = 1e-6
        slope = [
            (
                measure_bptt.cliff_loss(*np.add((0.9, 0.02), d))
                - measure_bptt.cliff_loss(*np.subtract((0.9, 0.02), d))
            )
            / (2 * e)
            for d in ((e, 0.0), (0.0, e))
        ]
        np.testing.assert_allclose(run.path[1], np.array([0.9, 0.02]) - 0.1 * np.array(slope), rtol=1e-6)
        assert run.norms[0] == pytest.approx(np.linalg.norm(slope), rel=1e-6)

    def test_no_clipped_step_is_longer_than_the_limit_allows(self):
        run = measure_bptt.cliff_descent(1.0)
        steps = np.linalg.norm(np.diff(run.path, axis=0), axis=1)
        assert steps.max() <= 0.05 * (1 + 1e-12)
        assert run.norms.max() > 10


def test_powers_of_a_jordan_block():
    """The closed form of the chapter's exercise."""
    norms = measure_bptt.power_norms(np.array([[0.9, 4.0], [0.0, 0.9]]), 12)
    for k in (1, 5, 12):
        closed = np.array([[0.9**k, k * 0.9 ** (k - 1) * 4.0], [0.0, 0.9**k]])
        assert norms[k] == pytest.approx(np.linalg.norm(closed, 2))


class TestWhatTheBookSays:
    def test_two_steps_by_hand(self):
        """The numbers of the example, by the vector cell's hand-written BPTT."""
        x, one = np.array([[[0.3], [-0.4]]]), np.ones((1, 1))
        run = rnn_forward(x, one, 0.8 * one, np.zeros(1), h0=0.5 * one)
        total = rnn_backward(run, d_h_n=one).W_h[0, 0]
        h_1, h_2 = run.h[1:, 0, 0]
        immediate = (1 - h_2**2) * h_1
        assert immediate < total
        assert total == pytest.approx(immediate + (1 - h_2**2) * 0.8 * (1 - h_1**2) * 0.5)

    def test_smallest_term_of_the_exercise_is_the_nearest(self):
        h = [0.5]
        for x in (0.3, -0.4, 0.2):
            h.append(scalar.rnn_step(x=x, h_prev=h[-1], w_x=1.0, w_h=0.8, b=0.0))
        slopes = [1 - value**2 for value in h]
        third = slopes[3] * h[2]
        second = slopes[3] * 0.8 * slopes[2] * h[1]
        first = slopes[3] * 0.8 * slopes[2] * 0.8 * slopes[1] * h[0]
        assert third < first < second

    def test_starts_vanish_or_explode_as_the_table_says(self):
        def median(start, what):
            nets = (measure_bptt.plain_rnn(start, seeded(seed)) for seed in range(3))
            return float(np.median([what(net) for net in nets]))

        def factor(net):
            return measure.per_step_factor(net.lags, net.jacobians)

        factors = {start: median(start, factor) for start in measure_bptt.RNN_STARTS}
        assert 0.45 < factors["default"] < 0.65
        assert 0.75 < factors["orthogonal"] < 0.95
        assert factors["default × 2"] < 1 < factors["orthogonal × 2"]
        assert median("default", lambda net: net.norm) > 1
        assert median("default × 2", lambda net: net.radius) > 1
        assert median("default", lambda net: net.slope) > 0.8

    def test_training_opens_the_way(self):
        before, after, score = measure_bptt.jacobian_before_and_after(1)
        assert before < 1e-3
        assert after > 0.1
        assert score > 0.99

    def test_the_cliff_throws_one_descent_and_not_the_other(self):
        free, clipped = measure_bptt.cliff_descent(None), measure_bptt.cliff_descent(1.0)
        thrown = int(free.norms.argmax())
        assert free.losses[thrown + 1 :].min() > 2 * free.losses[thrown]
        assert clipped.losses[-1] < 0.01

    def test_clipping_widens_the_range_of_rates(self):
        kept = load("bptt-clipping")

        def good(clip, lr):
            return sum(part["accuracy"] > 0.9 for part in kept.where(clip=clip, lr=lr))

        assert good(None, 0.1) == good(None, 0.3) == 0
        assert good(1.0, 0.1) >= 4
        assert good(1.0, 0.3) >= 4
        assert good(None, 0.03) >= good(1.0, 0.03), "at its rate the unclipped network does as well"
        assert good(1.0, 1.0) == good(None, 1.0) == 0

    def test_a_cut_gradient_does_not_teach_the_default_rnn(self):
        kept = load("bptt-truncation")

        def solved(name, chunk):
            return sum(part["reached"] is not None for part in kept.where(initialisation=name, chunk=chunk))

        assert solved("RNN, default", 5) == solved("RNN, default", 10) == 0
        assert solved("RNN, orthogonal", 5) + solved("RNN, orthogonal", 10) > 0
        assert solved("RNN, default", 20) == solved("RNN, orthogonal", 20) == 10

    def test_plain_rnns_learn_past_twenty_steps(self):
        kept = load("lstm-remember-first")

        def solved(name, steps):
            return sum(part["reached"] is not None for part in kept.where(initialisation=name, steps=steps))

        assert solved("RNN, default", 50) > 0
        assert solved("LSTM, default", 20) < solved("RNN, default", 20), "the plain RNN learns further"
        assert solved("LSTM, default", 50) == 0
        assert solved("RNN, orthogonal", 100) > 0

    def test_most_of_the_truncation_error_is_near_the_cuts(self):
        """With chunks of 10, terms with a lag of 10 or more are the smaller part of what a default RNN loses."""
        generator = seeded(0)
        layer = measure.layer_with("RNN, default", 8, 32, 40, generator)
        x, d = (torch.randn(4, 40, n, generator=generator, dtype=torch.float64).numpy() for n in (8, 32))
        W_x, W_h, b = measure.weights_of(layer)
        run = rnn_forward(x, W_x, W_h, b)
        full = rnn_backward(run, d).W_h
        cut = truncated_backward(rnn_backward, run, 10, d).W_h
        far = np.zeros_like(full)
        for s in range(40):  # one loss at a time: what of it goes back 10 steps or more
            one = np.zeros_like(d)
            one[:, s] = d[:, s]
            near = rnn_backward(run.steps(max(s - 9, 0), s + 1), one[:, max(s - 9, 0) : s + 1]).W_h
            far += rnn_backward(run, one).W_h - near
        assert np.linalg.norm(far) < 0.2 * np.linalg.norm(full - cut)


def test_the_chapter_has_the_parts_of_a_chapter():
    chapter = (BOOK / "bptt.md").read_text("utf-8")
    for part in (
        "At a glance",
        ":pyobject: rnn_step_backward",
        ":pyobject: rnn_backward",
        "What this does not show",
        "## Common mistakes",
        "## Questions and answers",
        "## Exercises",
        "## Summary",
        "## The assignment",
        "## Further reading",
    ):
        assert part in chapter, part
    assert len(re.findall(r"^```\{exercise\}", chapter, re.M)) >= 4
    assert len(re.findall(r"^:::\{admonition\} Question", chapter, re.M)) >= 6

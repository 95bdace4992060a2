"""The chapter on the GRU: what it measures is measured rightly, and what it says in words is so."""

import matplotlib as mpl
import numpy as np
import pytest

torch = pytest.importorskip("torch")

from refcells import figures, gru_backward, gru_forward, gru_reset_after_forward, gru_step_backward  # noqa: E402
from refcells.experiments import load  # noqa: E402
from refcells.figures import gru_measure, remember, style  # noqa: E402
from refcells.figures.gru_measure import TERMS, jacobian_terms, measure_terms  # noqa: E402

pytestmark = pytest.mark.usefixtures("one_thread")


def seeded(seed=0):
    return torch.Generator().manual_seed(seed)


def walk(seed, hidden=5, inputs=3, steps=7, scale=1.0):
    rng = np.random.default_rng(seed)
    W_x, W_h = rng.normal(size=(3 * hidden, inputs)), scale * rng.normal(size=(3 * hidden, hidden))
    b, x = rng.normal(size=3 * hidden), rng.normal(size=(1, steps, inputs))
    return gru_forward(x, W_x, W_h, b, h0=rng.uniform(-1, 1, size=(1, hidden))), b


class TestJacobian:
    @pytest.mark.parametrize("step", [1, 4, 7])
    def test_the_four_terms_add_up_to_the_derivative(self, step):
        run, b = walk(step)
        J = sum(jacobian_terms(run, step).values())
        one_each = np.repeat(run.x[:, step - 1], 5, axis=0), np.repeat(run.h[step - 1], 5, axis=0)
        expected = gru_step_backward(np.eye(5), *one_each, run.W_x, run.W_h, b).h_prev
        np.testing.assert_allclose(J, expected, rtol=0, atol=1e-13)

    def test_and_to_central_differences(self):
        run, b = walk(3)
        J = sum(jacobian_terms(run, 7).values())
        numeric = np.empty((5, 5))
        for j, nudge in enumerate(1e-6 * np.eye(5)):
            up, down = (
                gru_forward(run.x[:, 6:], run.W_x, run.W_h, b, h0=run.h[6] + sign * nudge).h_n
                for sign in (1, -1)
            )
            numeric[:, j] = (up - down)[0] / 2e-6
        np.testing.assert_allclose(J, numeric, rtol=0, atol=1e-8)

    @pytest.mark.parametrize(
        ("block", "gone"), [(0, {"reset gate"}), (1, {"update gate"}), (2, {"candidate", "reset gate"})]
    )
    def test_each_term_goes_through_its_own_weights(self, block, gone):
        """Without one block of recurrent weights exactly the terms through that block are 0."""
        run, b = walk(4)
        W_h = run.W_h.copy()
        np.split(W_h, 3)[block][:] = 0.0
        terms = jacobian_terms(gru_forward(run.x, run.W_x, W_h, b, h0=run.h[0]), 7)
        assert tuple(terms) == TERMS
        assert {name for name, term in terms.items() if not term.any()} == gone

    def test_a_shut_update_gate_loses_nothing_and_the_bound_of_the_exercise_holds(self):
        run, b = walk(5, scale=0.7)
        norms = [np.linalg.norm(W, 2) for W in np.split(run.W_h, 3)]
        for bias in (-3.0, -6.0, -40.0):
            shut = b.copy()
            shut[5:10] = bias
            once = gru_forward(run.x, run.W_x, run.W_h, shut)
            J = sum(jacobian_terms(once, 7).values())
            z = once.gate("z")[0, 6].max()
            bound = z * (1 + 2 * norms[1] + norms[2] + norms[2] * norms[0] / 4)
            assert np.linalg.norm(J - np.eye(5), 2) <= bound
        assert np.abs(J - np.eye(5)).max() < 1e-12

    def test_refusals(self):
        run, b = walk(1)
        with pytest.raises(ValueError, match="a step of 1 to 7"):
            jacobian_terms(run, 8)
        two = gru_forward(np.zeros((2, 7, 3)), run.W_x, run.W_h, b)
        with pytest.raises(ValueError, match="expected batch 1"):
            jacobian_terms(two, 1)
        after = gru_reset_after_forward(run.x, run.W_x, run.W_h, b, b)
        with pytest.raises(ValueError, match="gru_forward"):
            jacobian_terms(after, 1)


class TestTerms:
    def test_by_lag_it_is_the_total_derivative_of_the_walk(self):
        measured = measure_terms("GRU, default", seeded(2), hidden=6, inputs=3, lags=(1, 4, 9))
        generator = seeded(2)
        layer = gru_measure.layer_with("GRU, default", 3, 6, 9, generator)
        state = {name: value.double() for name, value in layer.state_dict().items()}
        W_x, W_h, b = gru_measure.from_torch("gru", state, layer=0).merged()
        x = torch.randn(1, 19, 3, generator=generator, dtype=torch.float64).numpy()
        run = gru_forward(x, W_x, W_h, b)
        for lag, full in zip((1, 4, 9), measured.full, strict=True):
            copies = np.repeat(x[:, 19 - lag :], 6, axis=0)
            again = gru_forward(copies, W_x, W_h, b, h0=np.repeat(run.h[19 - lag], 6, axis=0))
            J = gru_backward(again, d_h_n=np.eye(6)).h0
            assert full == pytest.approx(np.linalg.norm(J) / np.sqrt(6), rel=1e-10)

    def test_without_recurrent_weights_the_blend_is_everything(self):
        measured = measure_terms("GRU, default", seeded(), scale=0.0, lags=(1, 5, 20))
        np.testing.assert_allclose(measured.direct, measured.full, rtol=1e-12)
        assert measured.off == 0.0
        assert [measured.sizes[name] for name in TERMS[1:]] == [0.0, 0.0, 0.0]


def test_processor_times_finds_the_longer_one():
    def work(n):
        return lambda: sum(k * k for k in range(n))

    short, long = gru_measure.processor_times([work(1_000), work(300_000)], repeats=3)
    assert 0 <= short < long


class TestWhatTheBookSays:
    """The sentences of the chapter that are words and not glued numbers."""

    def test_the_blend_is_half_by_default_and_misses_a_quarter(self):
        runs = [measure_terms("GRU, default", seeded(seed), lags=(1, 50, 100)) for seed in range(3)]
        for run in runs:
            assert 0.47 < run.sizes["blend"] < 0.54
            assert 0.2 < run.off < 0.35
            assert run.sizes["reset gate"] < run.sizes["update gate"] < run.sizes["candidate"] / 2
            assert run.full[1] > 50 * run.direct[1]

    def test_no_term_can_be_left_out_with_large_weights(self):
        for seed in range(3):
            run = measure_terms("GRU, default", seeded(seed), scale=4.0, lags=(1, 100))
            assert min(run.sizes.values()) > 0.1
            assert run.sizes["candidate"] > 0.8 * run.sizes["blend"]
            assert run.full[1] > 1e6 * run.direct[1]

    def test_with_chrono_the_blend_is_nearly_all(self):
        for seed in range(3):
            run = measure_terms("GRU, chrono", seeded(seed), lags=(1, 100))
            assert run.off < 0.05
            assert 0.9 < run.full[1] / run.direct[1] < 1.3

    def test_the_third_unit_of_the_reader_keeps_in_one_sentence_and_writes_in_the_other(self):
        reader = gru_measure.train_reader(0)
        assert reader.accuracy > 0.99
        assert reader.longer > 0.99
        plural = reader.read(["the", "keys", "by", "the", "door", "under", "the", "lamp"])
        singular = reader.read(["the", "key", "by", "the", "doors", "under", "the", "lamps"])
        z, other = plural.gate("z")[0, :, 2], singular.gate("z")[0, :, 2]
        assert z[1] > 0.9
        assert z[2:].max() < 0.5
        assert plural.h[3:, 0, 2].min() > 0.7
        assert np.ptp(other[2:]) > 0.4
        assert (other[2:] > 0.75).sum() >= 3

    def test_a_reader_knows_its_words(self):
        reader = gru_measure.Reader((np.zeros((3, 13)), np.zeros((3, 1)), np.zeros(3)), 0.0, 0.0)
        with pytest.raises(ValueError, match="'cat'"):
            reader.read(["the", "cat"])


class TestFigures:
    def test_blended_paths_never_pass_the_candidate_and_the_adding_cell_does(self):
        (axes,) = figures.blended_paths().axes
        curves = [line.get_ydata() for line in axes.lines if len(line.get_xdata()) > 2]
        *blended, adding = curves
        assert len(blended) == 3
        assert all(max(curve) < 0.7 and np.all(np.diff(curve) >= 0) for curve in blended)
        assert max(adding) > 0.7

    def test_gates_are_written_into_their_squares(self):
        values = [np.array([[0.25, 0.75], [0.5, 1.0]])]
        (axes,) = figures.dynamic_gates([["the", "keys"]], values).axes
        written = {text.get_position(): text.get_text() for text in axes.texts}
        assert written == {(0, 0): ".25", (0, 1): ".75", (1, 0): ".50", (1, 1): "1.00"}

    def test_gates_need_a_row_for_each_word(self):
        with pytest.raises(ValueError, match="expected one a word"):
            figures.dynamic_gates([["the", "keys"]], [np.ones((3, 4))])

    def test_the_sweep_counts_what_was_solved(self):
        parts = [
            {
                "initialisation": name,
                "steps": 10,
                "lr": lr,
                "seed": seed,
                "reached": 25 if seed < solved else None,
            }
            for name, lr, solved in (("A", 0.1, 0), ("A", 0.2, 3), ("B", 0.1, 1), ("B", 0.2, 2))
            for seed in range(3)
        ]
        (axes,) = figures.sweep_map(parts, ["A", "B"]).axes
        digits = {
            (round(text.get_position()[0]), text.get_position()[1]): text.get_text()
            for text in axes.texts
            if text.get_position()[1] >= 0
        }
        assert digits == {(0, 0): "0", (1, 0): "3", (0, 1): "1", (1, 1): "2"}
        shades = {
            (round(patch.get_x() + 0.46), round(patch.get_y() + 0.44)): patch.get_facecolor()
            for patch in axes.patches
        }
        assert shades[0, 0][:3] == (1.0, 1.0, 1.0)
        assert mpl.colors.to_hex(shades[1, 0]) == style.COLOURS["blue"]


class TestKeptExperiments:
    """What the chapter says in words about the runs that are kept as data."""

    @staticmethod
    def solved(name, steps, lr=None):
        kept = [part for cell in ("lstm", "gru") for part in load(f"{cell}-remember-first").parts]
        runs = [
            p for p in kept if p["initialisation"] == name and p["steps"] == steps and lr in (None, p["lr"])
        ]
        assert runs
        return sum(p["reached"] is not None for p in runs), len(runs)

    def test_the_default_gru_goes_further_than_the_default_lstm(self):
        gru = [self.solved("GRU, default", steps) for steps in (10, 20)]
        assert all(done == runs for done, runs in gru)
        assert self.solved("LSTM, default", 20)[0] <= 2

    def test_at_50_steps_it_needs_the_largest_rate_and_at_100_neither_gets_anywhere(self):
        assert self.solved("GRU, default", 50, lr=0.03)[0] >= 1
        assert sum(self.solved("GRU, default", 50, lr=lr)[0] for lr in (0.001, 0.003, 0.01)) == 0
        assert self.solved("GRU, default", 100)[0] == self.solved("LSTM, default", 100)[0] == 0

    @pytest.mark.parametrize("cell", ["GRU", "LSTM"])
    def test_with_chrono_both_do_it_from_every_seed_at_100_steps(self, cell):
        best = remember.best_rate(load(f"{cell.lower()}-remember-first").parts, f"{cell}, chrono", 100)
        assert best.solved == len(best.reached)

    def test_adding(self):
        added = load("gru-adding").parts
        by_name = {}
        for part in added:
            by_name.setdefault(part["initialisation"], {}).setdefault(part["lr"], []).append(part)
        assert min(part["error"] for part in added if part["initialisation"] == "RNN, default") > 0.15
        updates = {}
        for name in ("LSTM, default", "LSTM, chrono", "GRU, default", "GRU, chrono"):
            assert all(part["reached"] is not None for part in by_name[name][0.01])
            updates[name] = np.median([part["reached"] for part in by_name[name][0.01]])
        assert updates["GRU, default"] < updates["LSTM, chrono"] < updates["LSTM, default"]
        assert abs(updates["GRU, chrono"] - updates["GRU, default"]) <= 50

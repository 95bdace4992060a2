"""What the chapter on practice says in words and not in computed numbers."""

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from pages import BOOK  # noqa: E402

from refcells.experiments import load, practice  # noqa: E402


@pytest.mark.parametrize("page", ["bidirectional", "practice"])
def test_the_chapters_have_the_parts_of_a_chapter(page):
    text = (BOOK / f"{page}.md").read_text("utf-8")
    assignment = ["## The assignment"] if page == "bidirectional" else []
    for part in (
        "At a glance",
        "```{literalinclude} ../src/refcells/",
        "## Common mistakes",
        "## Questions and answers",
        "## Exercises",
        "## Summary",
        *assignment,
        "## Further reading",
    ):
        assert part in text, part


def accuracies(name, key, **settings):
    return [part[key] for part in load(name).where(**settings)]


class TestTwins:
    @pytest.mark.parametrize("layer", practice.CELLS)
    @pytest.mark.parametrize("steps", [8, 30])
    def test_the_last_value_is_easy_for_all(self, layer, steps):
        parts = load("practice_twins").where(layer=layer, task="last", steps=steps, lr=0.01)
        assert all(part["reached"] is not None for part in parts)

    @pytest.mark.parametrize("layer", practice.CELLS)
    def test_eight_steps_are_easy_for_all(self, layer):
        for task in ("first", "first, then silence"):
            parts = load("practice_twins").where(layer=layer, task=task, steps=8, lr=0.01)
            assert all(part["reached"] is not None for part in parts)

    def test_thirty_steps_are_not(self):
        for layer in ("LSTM, default", "GRU, default"):
            parts = load("practice_twins").where(layer=layer, task="first", steps=30)
            assert sum(part["reached"] is not None for part in parts) <= 2

    def test_a_run_is_told_apart_by_its_task(self):
        settings = {"layer": "RNN, default", "steps": 30, "lr": 0.01, "seed": 0, "updates": 25}
        first, last = (practice.twin_run(task=task, **settings) for task in ("first", "last"))
        assert first["accuracy"] < 0.7
        assert last["accuracy"] > 0.9


class TestTheSameSequences:
    def test_all_know_their_own(self):
        assert min(part["same"] for part in load("practice_same_sequences").parts) > 0.99

    def test_gated_cells_may_know_nothing_else_while_the_rnn_does(self):
        for steps in (8, 30):
            assert (
                min(accuracies("practice_same_sequences", "others", layer="RNN, default", steps=steps)) > 0.99
            )
        for layer in ("LSTM, default", "GRU, default"):
            assert min(accuracies("practice_same_sequences", "others", layer=layer, steps=30)) < 0.6


class TestTuning:
    @pytest.fixture
    def grid(self):
        return np.array(
            [
                [
                    np.mean(accuracies("practice_tuning", "validation", lr=lr, hidden=hidden, layers=1))
                    for hidden in practice.HIDDEN
                ]
                for lr in practice.RATES
            ]
        )

    def test_the_later_parts_use_what_the_grid_chose(self, grid):
        row, column = np.unravel_index(grid.argmax(), grid.shape)
        assert (practice.RATES[row], practice.HIDDEN[column]) == (practice.BEST_RATE, practice.BEST_HIDDEN)

    def test_the_best_rate_is_not_on_the_edge(self, grid):
        assert 0 < np.unravel_index(grid.argmax(), grid.shape)[0] < len(practice.RATES) - 1

    def test_the_order_comes_to_the_best_of_the_grid(self, grid):
        row = int(grid[:, practice.HIDDEN.index(16)].argmax())
        assert practice.RATES[row] == practice.BEST_RATE
        assert grid[row].max() == grid.max()

    def test_the_rate_matters_more_than_the_size_here(self, grid):
        assert np.mean(np.ptp(grid, axis=0)) > 3 * np.mean(np.ptp(grid, axis=1))

    def test_validation_and_test_share_no_module_with_training(self):
        from refcells.experiments.source_names import HELD_OUT_MODULES

        assert not set(practice.VALIDATION) & set(practice.TEST)
        assert set(practice.VALIDATION + practice.TEST) == set(HELD_OUT_MODULES)


class TestCurves:
    def curve(self, name):
        return load("practice_curves").where(shown=name)[0]

    def test_fine_ends_low_on_both(self):
        run = self.curve("fine")
        assert np.mean(run["training"][-5:]) < 0.1
        assert run["held_out"][-1] < 0.1

    def test_too_slow_has_hardly_left_guessing(self):
        assert 1.6 < self.curve("too slow")["held_out"][-1] < np.log(7)

    def test_diverging_is_worse_than_guessing(self):
        assert np.median(self.curve("diverging")["held_out"]) > np.log(7)

    def test_overfitting_knows_its_lines_and_little_else(self):
        run = self.curve("overfitting")
        assert run["training"][-1] < 0.01
        assert run["held_out"][-1] > 10 * run["training"][-1]
        assert run["held_out"][-1] > min(run["held_out"])


class TestClipping:
    def whole(self, name, clip):
        return [part for part in load(name).where(clip=clip) if "updates" not in part]

    def test_it_saves_runs_that_blow_up(self):
        without = [part["accuracy"] for part in self.whole("practice_clipping", None)]
        clipped = [part["accuracy"] for part in self.whole("practice_clipping", 1.0)]
        assert max(without) < 0.4
        assert np.median(clipped) > 0.9

    def test_it_does_not_close_the_gap(self):
        held_out = {
            clip: np.mean([part["held_out"] for part in self.whole("practice_gap", clip)])
            for clip in (None, 1.0, 0.1)
        }
        for clip in (None, 1.0, 0.1):
            assert min(part["training"] for part in self.whole("practice_gap", clip)) > 0.99
        assert max(held_out.values()) - min(held_out.values()) < 0.01

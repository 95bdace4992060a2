"""The networks and settings of the LSTM's kept experiments, and how the best learning rate is chosen."""

import pytest

torch = pytest.importorskip("torch")

from refcells.experiments import load  # noqa: E402
from refcells.experiments.content_control import Writer  # noqa: E402
from refcells.experiments.fused_gates import (  # noqa: E402
    close,
    fused_gates,
    fused_step,
    separate_step,
    shortest,
)
from refcells.experiments.lstm import GRID, NETWORKS, remember_first_close, remember_first_parts  # noqa: E402
from refcells.figures.remember import best_rate, rates_of  # noqa: E402
from refcells.torch_cells import LSTM, LSTMCell  # noqa: E402


def seeded(seed=0):
    return torch.Generator().manual_seed(seed)


class TestWriter:
    def drawn(self, merged):
        writer = Writer(3, 5, merged).double()
        with torch.no_grad():
            for parameter in writer.parameters():
                parameter.uniform_(-1, 1, generator=seeded(1))
        return writer, torch.randn(2, 6, 3, generator=seeded(2), dtype=torch.float64)

    def test_with_an_input_gate_it_is_the_lstm(self):
        writer, x = self.drawn(merged=False)
        theirs = LSTM(3, 5).double()
        order = [3, 0, 2, 1]  # the writer stacks f, o, g, i
        with torch.no_grad():
            for ours, name in (
                (writer.W_x, "weight_ih_l0"),
                (writer.W_h, "weight_hh_l0"),
                (writer.b, "bias_ih_l0"),
            ):
                getattr(theirs, name).copy_(torch.cat([ours.chunk(4)[k] for k in order]))
            theirs.bias_hh_l0.zero_()
        torch.testing.assert_close(writer(x)[0], theirs(x)[0], rtol=0, atol=1e-12)

    def test_merged_it_is_an_lstm_whose_input_gate_is_open(self):
        merged, x = self.drawn(merged=True)
        whole = Writer(3, 5, merged=False).double()
        with torch.no_grad():
            for ours, theirs in zip(merged.parameters(), whole.parameters(), strict=True):
                theirs.zero_()[:15] = ours
            whole.b[15:] = 50.0
        torch.testing.assert_close(merged(x)[0], whole(x)[0], rtol=0, atol=1e-12)
        assert not torch.allclose(merged(x)[0], self.drawn(merged=False)[0](x)[0], atol=1e-3)


class TestFusedGates:
    def test_both_forms_are_the_cell(self):
        cell = LSTMCell(3, 5, generator=seeded()).double()
        x, h, c = (torch.randn(4, n, generator=seeded(n), dtype=torch.float64) for n in (3, 5, 6))
        c = c[:, :5]
        for step in (separate_step, fused_step):
            for ours, theirs in zip(step(cell, x, h, c), cell(x, (h, c)), strict=True):
                torch.testing.assert_close(ours, theirs, rtol=0, atol=1e-12)

    def test_the_shortest_timing_counts_and_all_are_taken(self):
        calls = []
        times = shortest([lambda: calls.append(0), lambda: calls.append(1) or sum(range(20000))], 3, 2)
        assert calls == [0, 0, 1, 1] * 3
        assert 0 <= times[0] < times[1]

    def test_times_are_microseconds(self):
        result = fused_gates(batch=1, width=8, seed=0, repeats=3)
        assert set(result) == {"separate", "fused", "separate_backward", "fused_backward"}
        assert all(1 < value < 1e5 for value in result.values())
        assert result["separate_backward"] > result["separate"]

    def test_a_ratio_that_doubles_is_not_close(self):
        kept = {"separate": 20.0, "fused": 10.0, "separate_backward": 20.0, "fused_backward": 10.0}
        assert close(kept, kept | {"separate": 30.0})
        assert not close(kept, kept | {"separate": 41.0})
        assert not close(kept, kept | {"fused_backward": 21.0})


class TestRememberFirst:
    def test_every_network_gets_the_same_settings(self):
        parts = remember_first_parts(("RNN, default", "GRU, chrono"))
        one, other = (
            [
                {k: v for k, v in part.items() if k != "initialisation"}
                for part in parts
                if name in part.values()
            ]
            for name in ("RNN, default", "GRU, chrono")
        )
        assert one == other
        assert {part["steps"] for part in parts} == set(GRID)
        assert all(part["lr"] in GRID[part["steps"]][0] for part in parts)

    @pytest.mark.parametrize(
        ("kept", "again", "expected"),
        [
            ((1.0, 100), (1.0, 175), True),
            ((1.0, 100), (1.0, 225), False),
            ((1.0, 100), (0.9, None), False),
            ((0.25, None), (0.37, None), True),
            ((0.25, None), (0.5, None), False),
        ],
    )
    def test_what_counts_as_the_same_outcome(self, kept, again, expected):
        kept, again = ({"accuracy": accuracy, "reached": reached} for accuracy, reached in (kept, again))
        assert remember_first_close(kept, again) is expected


def runs(*rows):
    return [
        {"initialisation": "LSTM, chrono", "steps": 10, "lr": lr, "accuracy": accuracy, "reached": reached}
        for lr, accuracy, reached in rows
    ]


class TestBestRate:
    def test_more_runs_solved_come_first(self):
        parts = runs((0.1, 0.9, None), (0.1, 0.98, None), (0.2, 1.0, 300), (0.2, 0.1, None))
        best = best_rate(parts, "LSTM, chrono", 10)
        assert (best.lr, best.solved, best.updates) == (0.2, 1, 300)

    def test_then_the_mean_accuracy_and_then_the_updates(self):
        assert best_rate(runs((0.1, 0.3, None), (0.2, 0.5, None)), "LSTM, chrono", 10).lr == 0.2
        assert best_rate(runs((0.1, 1.0, 100), (0.2, 1.0, 75)), "LSTM, chrono", 10).lr == 0.2
        assert best_rate(runs((0.1, 1.0, 75), (0.2, 1.0, 75)), "LSTM, chrono", 10).lr == 0.1

    def test_rates_are_apart_and_ascending(self):
        found = rates_of(runs((0.2, 0.5, None), (0.1, 0.3, None), (0.2, 0.7, None)), "LSTM, chrono", 10)
        assert [(rate.lr, rate.accuracy) for rate in found] == [(0.1, [0.3]), (0.2, [0.5, 0.7])]
        assert found[0].updates == float("inf")

    def test_what_was_not_run_is_named(self):
        with pytest.raises(ValueError, match="no run has initialisation 'GRU, chrono' and 10 steps"):
            best_rate(runs((0.1, 0.3, None)), "GRU, chrono", 10)


class TestWhatTheBookSays:
    """The sentences about the kept runs that are words and not numbers taken from them."""

    SWEEP = load("lstm-remember-first").parts

    def solved(self, name, steps):
        best = best_rate(self.SWEEP, name, steps)
        return best.solved / len(best.reached)

    def test_at_ten_steps_every_network_learns_from_every_seed(self):
        assert {part["initialisation"] for part in self.SWEEP if part["steps"] == 10} == set(NETWORKS)
        assert all(self.solved(name, 10) == 1 for name in NETWORKS)

    def test_as_pytorch_makes_them_the_plain_rnn_learns_furthest(self):
        for steps in (20, 50):
            assert self.solved("RNN, default", steps) > 0.5 > self.solved("LSTM, default", steps)
        assert self.solved("RNN, default", 50) > self.solved("LSTM, forget bias 1", 50)
        assert self.solved("RNN, default", 100) == 0

    def test_chrono_goes_furthest_and_the_orthogonal_rnn_follows(self):
        assert all(self.solved("LSTM, chrono", steps) == 1 for steps in GRID)
        assert all(self.solved("RNN, orthogonal", steps) == 1 for steps in (20, 50, 100))
        assert 0 < self.solved("RNN, orthogonal", 200) < 1

    def test_one_rate_tells_another_story_than_the_next(self):
        by_rate = {rate.lr: rate.solved for rate in rates_of(self.SWEEP, "LSTM, forget bias 1", 20)}
        assert by_rate[0.001] == 5
        assert by_rate[0.003] <= 1

    def test_the_merged_cell_learns_as_well_but_not_at_the_largest_rate(self):
        kept = load("lstm-content-control")

        def reached(merged, lr):
            return [part["reached"] for part in kept.where(merged=merged, lr=lr)]

        for lr in (0.003, 0.01):
            assert None not in reached(False, lr) + reached(True, lr)
            assert sum(reached(True, lr)) <= sum(reached(False, lr))
        assert None not in reached(False, 0.03)
        assert set(reached(True, 0.03)) == {None}

    def test_fusing_pays_for_small_cells_and_hardly_for_large_ones(self):
        parts = load("lstm-fused-gates").parts
        assert parts[0]["separate"] / parts[0]["fused"] > 1.5
        assert parts[-1]["separate"] / parts[-1]["fused"] < 1.2

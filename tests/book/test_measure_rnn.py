"""What the RNN chapter measures is measured rightly: on texts small enough to check, and with margins."""

import math

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from refcells.figures import measure, measure_rnn  # noqa: E402

pytestmark = pytest.mark.usefixtures("one_thread")


def seeded(seed=0):
    return torch.Generator().manual_seed(seed)


class TestReach:
    def test_a_sum_over_the_last_two_steps(self):
        x = torch.randn(1, 5, 3, generator=seeded(), dtype=torch.float64)
        two = measure_rnn.reach(lambda x: x + 2 * torch.roll(x, 1, dims=1), x)
        np.testing.assert_allclose(two, [0, 0, 0, 2 * math.sqrt(3), math.sqrt(3)])

    def test_the_rnn_sees_everything_and_ever_less_of_it(self):
        layer = measure.layer_with("RNN, default", 3, 16, 10, seeded(1)).double()
        x = torch.randn(1, 25, 3, generator=seeded(2), dtype=torch.float64)
        moved = measure_rnn.reach(lambda x: layer(x)[0], x)
        assert np.all(moved > 0)
        assert moved[0] < 1e-3 * moved[12] < 1e-5 * moved[-1]

    def test_refuses_a_batch(self):
        with pytest.raises(ValueError, match="holds 2 sequences"):
            measure_rnn.reach(lambda x: x, torch.zeros(2, 3, 1))


class TestText:
    def test_indentation(self):
        marks = measure_rnn.indentation("  a b\n c\n\n  ")
        assert "".join("x" if mark else "." for mark in marks) == "xx....x...xx"

    def test_what_is_quoted_looks_quoted(self):
        text, marks = measure_rnn.source(["queue"]), measure_rnn.quoted(["queue"])
        assert len(text) == len(marks)
        assert text.startswith("'''")
        assert marks[:3].all()
        inside = "".join(c for c, mark in zip(text, marks, strict=True) if mark)
        outside = "".join(c for c, mark in zip(text, marks, strict=True) if not mark)
        assert not set("#'\"") & set(outside)
        assert "class PriorityQueue(Queue):" in outside
        assert "def put(" not in inside

    def test_two_modules_are_as_long_as_their_text(self):
        modules = measure_rnn.HELD_OUT
        assert len(measure_rnn.quoted(modules)) == len(measure_rnn.source(modules))

    def test_training_and_held_out_text_share_no_module(self):
        assert not set(measure_rnn.TRAINING) & set(measure_rnn.HELD_OUT)

    def test_encoding(self):
        symbols = measure_rnn.encode("a\nÄ?")
        assert "".join(measure_rnn.ALPHABET[k] for k in symbols) == "a\n??"
        assert len(set(measure_rnn.ALPHABET)) == len(measure_rnn.ALPHABET) == 96

    def test_passage(self):
        text = "far too long a line\n\nif a:\n  if b:\n    c\nd"
        start = measure_rnn.passage(text, lines=3, width=10)
        assert text[start:].startswith("if a:")
        with pytest.raises(ValueError, match="no 4 lines of at most 5"):
            measure_rnn.passage(text, lines=4, width=5)

    def test_an_unknown_module_is_named(self):
        with pytest.raises(ValueError, match=r"no file nothing_such\.py"):
            measure_rnn.source(["nothing_such"])


class TestTables:
    def test_are_what_counting_by_hand_gives(self):
        train, held_out = measure_rnn.encode("abababb"), measure_rnn.encode("abb")
        losses = measure_rnn.count_models(train, held_out, longest=1, weight=3.0)
        # Not counted: the first character of either text. Then train has b a b a b b, held-out b after a and b after b.
        uniform = 1 / 96
        p_b = (4 + 3 * uniform) / (6 + 3)
        after_a = (3 + 3 * p_b) / (3 + 3)
        after_b = (1 + 3 * p_b) / (3 + 3)
        expected = [math.log(96), -math.log(p_b), -(math.log(after_a) + math.log(after_b)) / 2]
        np.testing.assert_allclose(losses, expected, rtol=1e-12)

    def test_probabilities_sum_to_one(self):
        train = measure_rnn.encode(measure_rnn.source(["sched"]))
        context = measure_rnn.encode("ret")
        total = sum(
            math.exp(-measure_rnn.count_models(train, np.append(context, k), longest=3)[-1])
            for k in range(len(measure_rnn.ALPHABET))
        )
        assert total == pytest.approx(1.0)


class TestDetector:
    def test_finds_the_unit_that_knows_and_measures_it_elsewhere(self):
        rng = np.random.default_rng(0)
        states = rng.uniform(-1, 1, size=(4000, 5))
        answers = states[:, 3] < 0.2
        flipped = rng.random(4000) < 0.1
        found = measure_rnn.best_detector(states, answers ^ flipped)
        assert (found.unit, found.above) == (3, False)
        assert found.threshold == pytest.approx(0.2, abs=0.05)
        assert found.accuracy == pytest.approx(0.9, abs=0.02)
        assert found.majority == pytest.approx(0.58, abs=0.03)

    def test_finds_nothing_in_noise(self):
        rng = np.random.default_rng(1)
        found = measure_rnn.best_detector(rng.normal(size=(4000, 20)), rng.random(4000) < 0.5)
        assert found.accuracy < 0.54

    def test_refuses_answers_to_something_else(self):
        with pytest.raises(ValueError, match="3 answers came for 4 states"):
            measure_rnn.best_detector(np.zeros((4, 2)), np.zeros(3, dtype=bool))


@pytest.fixture(scope="module")
def text():
    return tuple(measure_rnn.source(modules) for modules in (measure_rnn.TRAINING, measure_rnn.HELD_OUT))


@pytest.fixture(scope="module")
def reader(text):
    torch.set_num_threads(1)
    return measure_rnn.character_model(measure_rnn.encode(text[0]), 0, updates=(400, 100))


class TestWhatTheBookSays:
    """The sentences of the chapter that are words and not glued numbers, on a shorter training."""

    def test_it_gains_from_what_it_has_read_and_stops_gaining_soon(self, text, reader):
        held_out = measure_rnn.encode(text[1])
        loss = measure_rnn.loss_by_context(reader, held_out)
        uniform, _, pairs, triples, fours = measure_rnn.count_models(measure_rnn.encode(text[0]), held_out)
        assert loss.shape == (32,)
        assert pairs < loss[0] < uniform
        assert fours < loss[16:].mean() < pairs
        assert triples < pairs
        assert loss[0] - loss[5] > 0.4
        assert abs(loss[8] - loss[16:].mean()) < 0.1

    def test_indentation_is_in_the_state_and_nearly_so_before_training(self, text, reader):
        held_out = measure_rnn.encode(text[1])
        space = held_out == measure_rnn.encode(" ")[0]
        untrained = measure_rnn.character_model(measure_rnn.encode(text[0]), 0, updates=(0, 0))
        indent, prose = measure_rnn.indentation(text[1]), measure_rnn.quoted(measure_rnn.HELD_OUT)
        after, before = (
            measure_rnn.best_detector(measure_rnn.all_states(model, held_out)[space], indent[space])
            for model in (reader, untrained)
        )
        assert after.accuracy > 0.96
        assert before.majority + 0.1 < before.accuracy < after.accuracy
        between = space & ~indent
        second = measure_rnn.best_detector(measure_rnn.all_states(reader, held_out)[between], prose[between])
        assert second.majority - 0.02 < second.accuracy < 0.88

    def test_the_same_generator_writes_the_same_text(self, reader):
        one, other = (measure_rnn.sample_text(reader, "def ", 30, seeded(4)) for _ in range(2))
        assert one == other
        assert len(one) == 34
        assert one.startswith("def ")

    def test_a_difference_fades_and_fades_more_slowly_with_an_orthogonal_matrix(self):
        default, orthogonal = (
            np.median([measure_rnn.difference_left(name, seeded(seed)) for seed in range(5)], axis=0)
            for name in ("RNN, default", "RNN, orthogonal")
        )
        assert default[0] == orthogonal[0] == 1
        assert default[3] < 0.02
        assert default[4] < 1e-3
        assert 0.03 < orthogonal[4] < 0.4

"""The tasks: what is shown, what is asked, the baselines, and bad input."""

import math

import pytest

torch = pytest.importorskip("torch", reason="torch is not installed")

from refcells import tasks  # noqa: E402


def seeded(seed):
    return torch.Generator().manual_seed(seed)


DRAWS = {
    "remember_first": lambda g: tasks.remember_first(64, 12, generator=g),
    "remember_first, distractors": lambda g: tasks.remember_first(64, 12, generator=g, distractors=True),
    "remember_last": lambda g: tasks.remember_last(64, 12, generator=g),
    "adding": lambda g: tasks.adding(64, 12, generator=g),
    "copying": lambda g: tasks.copying(64, 12, generator=g),
    "tagging": lambda g: tasks.tagging(64, 12, generator=g, shortest=4),
}


@pytest.mark.parametrize("draw", DRAWS.values(), ids=DRAWS)
def test_the_generator_decides_and_nothing_else(draw):
    before = torch.get_rng_state()
    one, same, other = draw(seeded(1)), draw(seeded(1)), draw(seeded(2))
    assert all(torch.equal(a, b) for a, b in zip(one, same, strict=True))
    assert not torch.equal(one[0], other[0])
    assert torch.equal(torch.get_rng_state(), before)
    assert one[0].dtype == torch.float32


def test_remember_first():
    x, y = tasks.remember_first(500, 7, 5, generator=seeded(3))
    assert x.shape == (500, 7, 5)
    assert torch.equal(x[:, 0].argmax(1), y)
    assert (x[:, 0].sum(1) == 1).all()
    assert not x[:, 1:].any()
    assert set(y.tolist()) == set(range(5))


def test_first_and_last_ask_different_questions_of_the_same_sequences():
    x, first = tasks.remember_first(500, 7, 5, generator=seeded(4), distractors=True)
    same, last = tasks.remember_last(500, 7, 5, generator=seeded(4))
    assert torch.equal(x, same)
    assert torch.equal(x[:, 0].argmax(1), first)
    assert torch.equal(x[:, -1].argmax(1), last)
    assert (x.sum(2) == 1).all()
    assert 0.1 < (first == last).float().mean() < 0.3


def test_adding():
    x, y = tasks.adding(4000, 11, generator=seeded(5))
    marks = x[:, :, 1]
    assert (marks[:, :5].sum(1) == 1).all()
    assert (marks[:, 5:].sum(1) == 1).all()
    torch.testing.assert_close(y[:, 0], (x[:, :, 0] * marks).sum(1))
    assert marks.sum(0).min() > 0
    assert ((y - 1) ** 2).mean().item() == pytest.approx(1 / 6, abs=0.02)


def test_copying():
    x, y = tasks.copying(50, 9, 3, 4, generator=seeded(6))
    assert x.shape == (50, 15, 6)
    shown = x.argmax(2)
    assert torch.equal(shown[:, :3], y[:, -3:])
    assert (shown[:, :3] < 4).all()
    assert (y[:, :-3] == 4).all()
    assert ((shown == 5).nonzero()[:, 1] == 3 + 9 - 1).all()
    assert (shown == 5).sum() == 50
    assert (shown[:, -3:] == 4).all()


def test_copying_baseline_is_the_loss_of_guessing():
    _, y = tasks.copying(20, 9, 3, 4, generator=seeded(7))
    scores = torch.full((20, 15, 6), -1e9)
    scores[:, :-3, 4] = 0.0
    scores[:, -3:, :4] = 0.0
    loss = torch.nn.functional.cross_entropy(scores.flatten(0, 1), y.flatten()).item()
    assert tasks.copying_baseline(9, 3, 4) == pytest.approx(loss, rel=1e-6)
    assert tasks.copying_baseline(20) == pytest.approx(10 * math.log(8) / 40)


def test_tagging_by_a_slow_search():
    x, y, lengths = tasks.tagging(200, 9, 3, generator=seeded(8), density=0.4, shortest=2)
    assert set(lengths.tolist()) == set(range(2, 10))
    for row, length in enumerate(lengths.tolist()):
        shown = [t for t in range(9) if x[row, t].any()]
        assert shown[0] == 0
        assert shown[-1] == length - 1
        for t in range(9):
            if t >= length:
                assert y[row, t] == tasks.IGNORED
                continue
            left = x[row, max(s for s in shown if s <= t)].argmax()
            right = x[row, min(s for s in shown if s >= t)].argmax()
            assert y[row, t] == left * 3 + right


def test_tagging_baseline_is_what_the_left_side_allows():
    x, y, _ = tasks.tagging(4000, 15, 2, generator=seeded(9), density=0.3)
    known = x.any(dim=2)
    best = torch.where(known, 1.0, 0.5).mean().item()
    assert tasks.tagging_baseline(15, 2, 0.3) == pytest.approx(best, abs=0.01)
    guess = torch.where(known, y, (y // 2) * 2)
    assert (guess == y).float().mean().item() == pytest.approx(best, abs=0.01)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda g: tasks.remember_first(0, 5, generator=g), r"batch is 0; expected at least 1"),
        (lambda g: tasks.remember_first(5, 0, generator=g), r"steps is 0; expected at least 1"),
        (lambda g: tasks.remember_last(5, 5, -1, generator=g), r"symbols is -1; expected at least 1"),
        (lambda g: tasks.adding(5, 1, generator=g), r"steps is 1; expected at least 2, one in each half"),
        (lambda g: tasks.copying(5, 0, generator=g), r"delay is 0; expected at least 1"),
        (lambda g: tasks.copying_baseline(5, 0), r"length is 0; expected at least 1"),
        (lambda g: tasks.tagging(5, 1, generator=g), r"steps is 1; expected at least 2"),
        (lambda g: tasks.tagging(5, 4, generator=g, density=1.5), r"density is 1.5; expected 0 to 1"),
        (lambda g: tasks.tagging(5, 4, generator=g, shortest=5), r"shortest is 5; expected 2 to 4"),
        (lambda g: tasks.tagging_baseline(1), r"steps is 1; expected at least 2"),
        (lambda g: tasks.tagging_baseline(4, density=-1.0), r"density is -1.0; expected 0 to 1"),
    ],
)
def test_bad_input_is_named(call, message):
    with pytest.raises(ValueError, match=message):
        call(seeded(0))


@pytest.mark.parametrize(
    "draw", [tasks.remember_first, tasks.remember_last, tasks.adding, tasks.copying, tasks.tagging]
)
def test_a_generator_has_to_be_given(draw):
    with pytest.raises(TypeError, match="generator"):
        draw(5, 5)

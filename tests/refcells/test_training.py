"""The training loop: it learns, stops, clips, repeats bit for bit, and refuses bad settings."""

import math
import sys

import pytest

torch = pytest.importorskip("torch", reason="torch is not installed")

from torch import nn  # noqa: E402

from refcells import tasks, torch_cells, training  # noqa: E402


def seeded(seed):
    return torch.Generator().manual_seed(seed)


pytestmark = pytest.mark.usefixtures("one_thread")


def first_symbol(seed=1, layer=torch_cells.GRU, **options):
    g = seeded(seed)
    model = training.LastStepClassifier(layer(4, 16), 16, 4)
    training.redraw(model, g)
    held_out = tasks.remember_first(128, 6, 4, generator=g)
    return model, training.fit(
        model, lambda: tasks.remember_first(32, 6, 4, generator=g), held_out, **options
    )


def test_it_learns_and_stops_at_the_target():
    _, history = first_symbol(target=0.99, every=10, updates=300)
    assert history.metric[-1] >= 0.99
    assert history.reached == history.updates[-1] < 300
    assert all(m < 0.99 for m in history.metric[:-1])
    assert history.loss[-1] < history.loss[0]
    assert history.seconds > 0
    assert (
        len({len(history.updates), len(history.loss), len(history.metric), len(history.gradient_norm)}) == 1
    )


@pytest.mark.parametrize("layer", [torch_cells.GRU, torch_cells.LSTM, torch_cells.RNN, nn.LSTM, nn.GRU])
def test_the_same_seed_gives_the_same_run(layer):
    def make(inputs, hidden):
        return layer(inputs, hidden, batch_first=True)

    one, other, different = (first_symbol(seed, make, updates=20, every=5)[1] for seed in (2, 2, 3))
    assert (one.loss, one.metric, one.gradient_norm) == (other.loss, other.metric, other.gradient_norm)
    assert one.loss != different.loss


def test_measurements_fall_on_every_and_on_the_end():
    _, history = first_symbol(updates=12, every=5)
    assert history.updates == [5, 10, 12]
    assert history.reached is None


def test_a_smaller_metric_can_be_the_better_one():
    g = seeded(4)
    model = training.LastStepClassifier(torch_cells.GRU(2, 16), 16, 1)
    training.redraw(model, g)
    history = training.fit(
        model, lambda: tasks.adding(64, 4, generator=g), tasks.adding(256, 4, generator=g),
        loss=nn.functional.mse_loss, metric=training.mean_squared_error, better="smaller", target=0.1,
    )  # fmt: skip
    assert history.reached is not None
    assert history.metric[-1] <= 0.1
    assert all(m > 0.1 for m in history.metric[:-1])


def test_clipping_limits_the_gradient_that_is_used():
    """With plain gradients of norm 1e3 and more, Adam hides the size; so the gradient itself is looked at."""
    weight = nn.Linear(1, 1, bias=False)
    with torch.no_grad():
        weight.weight.fill_(1.0)
    batch = torch.full((1, 1), 1e2), torch.zeros(1, 1)
    for clip, norm in ((1.0, 1.0), (None, 2e4)):
        with torch.no_grad():
            weight.weight.fill_(1.0)
        history = training.fit(
            weight, lambda: batch, batch, loss=nn.functional.mse_loss, metric=training.mean_squared_error,
            updates=1, clip=clip,
        )  # fmt: skip
        assert weight.weight.grad.item() == pytest.approx(norm, rel=1e-4)
        assert history.gradient_norm == [pytest.approx(2e4)]


def test_measuring_is_done_in_evaluation_mode_and_without_gradients():
    class Spy(nn.Module):
        def __init__(self):
            super().__init__()
            self.w = nn.Parameter(torch.ones(2))
            self.calls = []

        def forward(self, x):
            self.calls.append((self.training, torch.is_grad_enabled()))
            return x * self.w

    spy, batch = Spy(), (torch.ones(3, 2), torch.zeros(3, dtype=torch.int64))
    training.fit(spy, lambda: batch, batch, updates=2, every=1)
    assert spy.calls == [(True, True), (False, False)] * 2
    assert spy.training


@pytest.mark.parametrize("layer", [torch_cells.LSTM, nn.LSTM])
def test_tagging_needs_both_sides(layer):
    def run(both):
        g = seeded(5)
        model = training.EveryStepClassifier(
            layer(2, 16, batch_first=True, bidirectional=both), 16 * (1 + both), 4
        )
        training.redraw(model, g)

        def draw(batch=64):
            x, y, lengths = tasks.tagging(batch, 10, generator=g, shortest=5)
            return (x, lengths), y

        return training.fit(model, draw, draw(512), loss=training.step_cross_entropy, updates=150).metric[-1]

    one, two = run(False), run(True)
    assert two > 0.99
    assert one < 0.85


def test_a_packed_layer_and_ours_give_the_same_scores():
    theirs = nn.GRU(2, 5, batch_first=True, bidirectional=True)
    ours = torch_cells.GRU(2, 5, bidirectional=True)
    ours.load_state_dict(theirs.state_dict())
    x, _, lengths = tasks.tagging(6, 9, generator=seeded(6), shortest=2)
    one, other = training.EveryStepClassifier(theirs, 10, 4), training.EveryStepClassifier(ours, 10, 4)
    other.linear.load_state_dict(one.linear.state_dict())
    torch.testing.assert_close(other(x, lengths), one(x, lengths), rtol=0, atol=1e-6)
    assert other(x).shape == (6, 9, 4)


def test_redraw():
    model = nn.Sequential(nn.LSTM(3, 25), nn.Linear(100, 2), torch_cells.GRU(3, 25, num_layers=2))
    training.redraw(model, seeded(7))
    first = [p.clone() for p in model.parameters()]
    training.redraw(model, seeded(7))
    assert all(torch.equal(a, b) for a, b in zip(first, model.parameters(), strict=True))
    assert all(0.15 < p.abs().max() <= 0.2 for p in model[0].parameters())
    assert all(p.abs().max() <= 0.1 for p in model[1].parameters())
    with pytest.raises(ValueError, match="BatchNorm1d has neither hidden_size nor in_features"):
        training.redraw(nn.BatchNorm1d(3), seeded(7))


def test_accuracy_leaves_out_what_does_not_count():
    scores = torch.tensor([[[2.0, 1.0], [0.0, 1.0], [5.0, 1.0]]])
    assert training.accuracy(scores, torch.tensor([[0, 0, -100]])) == 0.5
    assert training.accuracy(scores[0], torch.tensor([0, 1, 0])) == 1.0


def test_step_cross_entropy_leaves_out_padding():
    scores = torch.randn(2, 3, 4, generator=seeded(8))
    y = torch.tensor([[0, 1, 2], [3, -100, -100]])
    wanted = torch.stack(
        [-scores.log_softmax(2)[i, j, y[i, j]] for i, j in ((0, 0), (0, 1), (0, 2), (1, 0))]
    ).mean()
    torch.testing.assert_close(training.step_cross_entropy(scores, y), wanted)


def test_the_bar_is_optional_and_goes_to_stderr(capsys):
    first_symbol(updates=2)
    assert capsys.readouterr() == ("", "")
    if "tqdm" in sys.modules or pytest.importorskip("tqdm", reason="tqdm is not installed"):
        first_symbol(updates=2, progress=True)
        out, err = capsys.readouterr()
        assert out == ""
        assert "2/2" in err


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"updates": 0}, "updates is 0; expected at least 1"),
        ({"every": 0}, "every is 0; expected at least 1"),
        ({"lr": 0.0}, "lr is 0.0; expected a positive number"),
        ({"lr": math.nan}, "lr is nan; expected a positive number"),
        ({"clip": -1.0}, "clip is -1.0; expected a positive number"),
        ({"better": "higher"}, "better is 'higher'; expected 'larger' or 'smaller'"),
    ],
)
def test_bad_settings_are_named(options, message):
    with pytest.raises(ValueError, match=message):
        first_symbol(**options)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: training.accuracy(torch.ones(2, 3), torch.zeros(3).long()),
            r"y has shape \(3,\); expected \(2,\)",
        ),
        (lambda: training.accuracy(torch.ones(2, 3), torch.full((2,), -100)), "y holds no class"),
        (
            lambda: training.mean_squared_error(torch.ones(2, 1), torch.ones(2)),
            r"y has shape \(2,\); expected \(2, 1\)",
        ),
        (
            lambda: training.step_cross_entropy(torch.ones(2, 3), torch.zeros(2).long()),
            r"scores have shape \(2, 3\)",
        ),
    ],
)
def test_bad_targets_are_named(call, message):
    with pytest.raises(ValueError, match=message):
        call()

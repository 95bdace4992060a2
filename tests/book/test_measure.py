"""What the book measures is measured rightly: against autograd, against the definition, and with margins."""

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from refcells import lstm_forward  # noqa: E402
from refcells.figures import measure  # noqa: E402

pytestmark = pytest.mark.usefixtures("one_thread")


def seeded(seed=0):
    return torch.Generator().manual_seed(seed)


def weights(seed, hidden=5, inputs=3, scale=1.0):
    W_x, W_h, b = measure.weights_of(measure.layer_with("LSTM, default", inputs, hidden, 50, seeded(seed)))
    return W_x, scale * W_h, b


@pytest.mark.parametrize("of", ["c", "h"])
@pytest.mark.parametrize("lag", [1, 2, 7, 8])
def test_jacobian_is_autograds(of, lag):
    """c_{T-k} is changed and h_{T-k} follows it, with the output gate held, as the docstring says."""
    W_x, W_h, b = weights(1, scale=3.0)
    x = np.random.default_rng(2).normal(size=(1, 8, 3))
    run = lstm_forward(x, W_x, W_h, b)
    start = 8 - lag
    tW_x, tW_h, tb, tx = (torch.from_numpy(a) for a in (W_x, W_h, b, x))
    o = torch.from_numpy(run.gate("o")[0, start - 1]) if start else None

    def last_state(c):
        h = torch.zeros_like(c) if o is None else o * torch.tanh(c)
        for t in range(start, 8):
            a_i, a_f, a_g, a_o = (tW_x @ tx[0, t] + tW_h @ h + tb).chunk(4)
            c = torch.sigmoid(a_f) * c + torch.sigmoid(a_i) * torch.tanh(a_g)
            h = torch.sigmoid(a_o) * torch.tanh(c)
        return c if of == "c" else h

    expected = torch.autograd.functional.jacobian(
        last_state, torch.from_numpy(run.c[start, 0].copy())
    ).numpy()
    np.testing.assert_allclose(measure.cell_state_jacobian(run, b, lag, of), expected, rtol=0, atol=1e-12)


def test_full_jacobian_is_the_chapters_formula():
    """The whole Jacobian as the LSTM chapter writes it: direct path plus A_t S_{t-1}."""
    W_x, W_h, b = weights(3, scale=4.0)
    hidden = 5
    run = lstm_forward(np.random.default_rng(4).normal(size=(1, 6, 3)), W_x, W_h, b)
    i, f, g, o = (run.gate(name)[0] for name in "ifgo")
    c = run.c[:, 0]
    W_hi, W_hf, W_hg, _ = np.split(W_h, 4)

    def slope(s):
        return s * (1 - s)

    A = (
        np.diag(c[5] * slope(f[5])) @ W_hf
        + np.diag(g[5] * slope(i[5])) @ W_hi
        + np.diag(i[5] * (1 - g[5] ** 2)) @ W_hg
    )
    S = np.diag(o[4] * (1 - np.tanh(c[5]) ** 2))
    assert A.shape == (hidden, hidden)
    np.testing.assert_allclose(measure.cell_state_jacobian(run, b, 1), np.diag(f[5]) + A @ S, atol=1e-13)


def test_with_no_recurrent_weights_the_direct_path_is_everything():
    measured = measure.direct_against_full(seeded(), scale=0.0, lags=(1, 5, 20))
    np.testing.assert_allclose(measured.direct, measured.full, rtol=1e-10)
    assert measured.off.max() < 1e-12


@pytest.mark.parametrize(
    ("of", "lag", "message"), [("o", 1, "expected 'c' or 'h'"), ("c", 9, "lag of 1 to 8")]
)
def test_jacobian_refuses(of, lag, message):
    W_x, W_h, b = weights(1)
    run = lstm_forward(np.zeros((1, 8, 3)), W_x, W_h, b)
    with pytest.raises(ValueError, match=message):
        measure.cell_state_jacobian(run, b, lag, of)


def test_gradient_of_the_plain_rnn_is_a_product_of_jacobians():
    norms = measure.gradient_by_lag("RNN, default", seeded(5), hidden=6, inputs=3, lags=(1, 4, 9))
    generator = seeded(5)
    layer = measure.layer_with("RNN, default", 3, 6, 9, generator)
    W_x, W_h, b = measure.weights_of(layer)
    x = torch.randn(1, 19, 3, generator=generator, dtype=torch.float64).numpy()[0]
    h, J = np.zeros(6), []
    for x_t in x:
        h = np.tanh(W_x @ x_t + W_h @ h + b)
        J.append(np.diag(1 - h**2) @ W_h)
    for lag, norm in zip((1, 4, 9), norms, strict=True):
        product = np.eye(6)
        for step in J[-lag:]:
            product = step @ product
        assert norm == pytest.approx(np.linalg.norm(product) / np.sqrt(6), rel=1e-10)


def test_per_step_factor_of_a_geometric_series():
    lags = np.arange(1, 60)
    assert measure.per_step_factor(lags, 3.0 * 0.9**lags) == pytest.approx(0.9)


class TestWhatTheBookSays:
    """The sentences of the chapter that are words and not glued numbers."""

    LAGS = (10, 20, 40, 60, 80, 100)

    def factor(self, name):
        curves = [measure.gradient_by_lag(name, seeded(seed), lags=self.LAGS) for seed in range(3)]
        return float(np.median([measure.per_step_factor(self.LAGS, curve) for curve in curves]))

    def test_default_lstm_is_hardly_better_than_an_rnn_and_chrono_carries(self):
        rnn, default, bias, chrono = (self.factor(name) for name in measure.INITIALISATIONS)
        assert 0.4 < rnn < default < 0.75
        assert 0.78 < bias < 0.9
        assert chrono > 0.97

    def test_the_direct_path_is_incomplete_by_default_and_nearly_all_with_chrono(self):
        default = [measure.direct_against_full(seeded(seed), lags=(1, 50)) for seed in range(3)]
        chrono = [
            measure.direct_against_full(seeded(seed), initialisation="LSTM, chrono", lags=(1, 50))
            for seed in range(3)
        ]
        assert all(0.1 < run.off[0] < 0.4 for run in default)
        assert all(run.full[1] > 30 * run.direct[1] for run in default)
        assert all(run.off[0] < 0.05 and run.full[1] < 1.3 * run.direct[1] for run in chrono)

    def test_a_middling_rate_teaches_the_rnn_and_chrono_but_not_the_default_lstm(self):
        rnn, default, _, chrono = (
            measure.remember_first_run(name, lr=0.01, seed=0) for name in measure.INITIALISATIONS
        )
        assert rnn.reached is not None
        assert chrono.reached is not None
        assert default.reached is None
        assert default.accuracy < 0.3


class TestSentences:
    def test_the_first_noun_decides(self):
        x, y, words = measure.agreement_sentences(200, 2, generator=seeded())
        assert x.shape == (200, 8, len(measure.VOCABULARY))
        for row, label, sentence in zip(x, y, words, strict=True):
            assert [measure.VOCABULARY[k] for k in row.argmax(dim=1)] == sentence
            assert label.item() == (sentence[1] in measure.PLURAL)

    def test_later_nouns_say_nothing(self):
        _, y, words = measure.agreement_sentences(2000, 1, generator=seeded(1))
        same = [
            (sentence[4] in measure.PLURAL) == bool(label) for label, sentence in zip(y, words, strict=True)
        ]
        assert 0.45 < np.mean(same) < 0.55

    def test_the_same_generator_gives_the_same_sentences(self):
        first = measure.agreement_sentences(5, 2, generator=seeded(3))[2]
        torch.rand(10)
        assert measure.agreement_sentences(5, 2, generator=seeded(3))[2] == first

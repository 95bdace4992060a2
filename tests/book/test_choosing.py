"""What the chapter on choosing measures with: the attention layer, the slopes, the sunspots."""

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from refcells.experiments import load  # noqa: E402
from refcells.experiments.choosing import CausalAttention  # noqa: E402
from refcells.figures.choosing import HISTORY, slope  # noqa: E402


def seeded(seed=0):
    return torch.Generator().manual_seed(seed)


def test_attention_is_the_equation():
    """One head, written out in NumPy from the equation in the text."""
    layer = CausalAttention(4, 1, seeded())
    x = torch.randn(1, 6, 4, generator=seeded(1))
    q, k, v = np.split((x[0] @ layer.w_in.T).numpy().astype(float), 3, axis=1)
    expected = []
    for t in range(6):
        weights = np.exp(k[: t + 1] @ q[t] / 2.0)
        expected.append(weights @ v[: t + 1] / weights.sum() @ layer.w_out.T.numpy())
    assert np.allclose(layer(x)[0], expected, atol=1e-5)


def test_step_by_step_equals_at_once_and_reads_no_future():
    layer = CausalAttention(16, 4, seeded())
    x = torch.randn(2, 9, 16, generator=seeded(1))
    cache, outputs = None, []
    for t in range(9):
        y, cache = layer.step(x[:, t], cache)
        outputs.append(y)
    assert torch.allclose(torch.stack(outputs, dim=1), layer(x), atol=1e-6)
    changed = x.clone()
    changed[:, 5] += 1
    assert torch.equal(layer(changed)[:, :5], layer(x)[:, :5])
    assert not torch.allclose(layer(changed)[:, 5:], layer(x)[:, 5:])


def test_heads_must_divide_the_width():
    with pytest.raises(ValueError, match="3 heads and width 16 came"):
        CausalAttention(16, 3, seeded())


def test_slope_of_a_power_law():
    assert slope([1, 10, 100, 1000], [7.0, 3e1, 3e3, 3e5]) == pytest.approx(2.0)


def test_kept_costs_say_what_the_page_says():
    """Linear and nearly quadratic, with margins for another machine's data."""
    cost = load("choosing-sequence-cost")
    for layer, low, high in (
        ("RNN", 0.8, 1.4),
        ("LSTM", 0.8, 1.4),
        ("GRU", 0.8, 1.4),
        ("attention", 1.5, 2.2),
    ):
        rows = cost.where(layer=layer)
        assert low < slope([p["steps"] for p in rows], [p["seconds"] for p in rows]) < high, layer


def test_sunspots_are_split_by_year_and_no_window_sees_its_answer():
    pytest.importorskip("statsmodels")
    from refcells.experiments.sunspots import forecast, windows

    data = windows()
    assert {name: len(y) for name, (_, y) in data.items()} == {"train": 187, "choose": 40, "test": 49}
    for x, y in data.values():
        assert x.shape == (len(y), 33)
        assert np.array_equal(x[1:, -1], y[:-1])  # a window ends with the year before the one to forecast
    with pytest.raises(ValueError, match="lr None and seed 0 came for GRU"):
        forecast("GRU", None, 0)


def test_history_is_in_order():
    years = [year for year, _ in HISTORY]
    assert years == sorted(set(years))

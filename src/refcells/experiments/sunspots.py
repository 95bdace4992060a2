"""A short real series: next year's sunspot number from the 33 years before, recurrent networks beside plain baselines.

The yearly numbers 1700 to 2008 come with statsmodels. Years up to 1919 train, 1920 to 1959 choose the learning
rate and when to stop, 1960 to 2008 are looked at once.
"""

from typing import TYPE_CHECKING, Any

import numpy as np

from refcells.experiments.record import Experiment

if TYPE_CHECKING:
    import torch

__all__ = [
    "BASELINES",
    "CELLS",
    "EXPERIMENTS",
    "RATES",
    "SUNSPOTS",
    "forecast",
    "root_mean_square",
    "windows",
]

WINDOW = 33  # three solar cycles
CHOOSE, TEST = 1920, 1960  # first years that choose, and that test
CELLS = ("RNN", "LSTM", "GRU")
RATES = (0.001, 0.003, 0.01, 0.03)
BASELINES = ("last year", "eleven years ago", "mean", "autoregression, 2 years", "autoregression, 9 years")


def windows() -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Windows (years, 33) and the number that followed (years,), for 'train', 'choose' and 'test', in hundreds."""
    from statsmodels.datasets import sunspots

    data = sunspots.load_pandas().data
    values = data["SUNACTIVITY"].to_numpy() / 100
    years = data["YEAR"].to_numpy().astype(int)
    x = np.lib.stride_tricks.sliding_window_view(values, WINDOW)[:-1]
    y, year = values[WINDOW:], years[WINDOW:]
    parts = {"train": year < CHOOSE, "choose": (year >= CHOOSE) & (year < TEST), "test": year >= TEST}
    return {name: (x[part], y[part]) for name, part in parts.items()}


def root_mean_square(error: Any) -> float:
    """Root of the mean square of errors in hundreds, as a sunspot number."""
    return 100 * float(np.sqrt(np.mean(np.square(np.asarray(error)))))


def _baseline(name: str, data: dict[str, tuple[np.ndarray, np.ndarray]]) -> float:
    x, y = data["test"]
    if name == "last year":
        return root_mean_square(x[:, -1] - y)
    if name == "eleven years ago":
        return root_mean_square(x[:, -11] - y)
    if name == "mean":
        return root_mean_square(data["train"][1].mean() - y)
    order = int(name.split()[1])
    # Least squares on the training years: y = a_0 + a_1 x_{t-1} + ... + a_p x_{t-p}.
    a, *_ = np.linalg.lstsq(_with_one(data["train"][0][:, -order:]), data["train"][1], rcond=None)
    return root_mean_square(_with_one(x[:, -order:]) @ a - y)


def _with_one(x: np.ndarray) -> np.ndarray:
    return np.column_stack((np.ones(len(x)), x))


def forecast(
    model: str, lr: float | None, seed: int | None, hidden: int = 16, updates: int = 400
) -> dict[str, Any]:
    """Root-mean-square error of forecasts one year ahead, in sunspot numbers.

    Args:
        model: one of `BASELINES`, or of `CELLS`: one layer, read out at the last year by a linear map.
        lr: Adam's learning rate; None for a baseline.
        seed: of the weights; None for a baseline.
        hidden: width of the states.
        updates: largest number of full-batch updates; the weights of the best choosing years are kept.

    Returns:
        `choose` and `test`: the errors on the choosing years (None for a baseline) and on the test years.
    """
    data = windows()
    if model in BASELINES:
        return {"choose": None, "test": _baseline(model, data)}
    import torch
    from torch import nn

    from refcells.training import LastStepClassifier, redraw

    if lr is None or seed is None:
        raise ValueError(f"lr {lr} and seed {seed} came for {model}; expected two numbers")
    generator = torch.Generator().manual_seed(seed)
    net = LastStepClassifier(getattr(nn, model)(1, hidden, batch_first=True), hidden, 1)
    redraw(net, generator)
    tensors = {
        name: (torch.tensor(x[:, :, None]).float(), torch.tensor(y).float()) for name, (x, y) in data.items()
    }

    def error(part: str) -> "torch.Tensor":
        x, y = tensors[part]
        return net(x)[:, 0] - y

    optimizer = torch.optim.Adam(net.parameters(), lr=lr)
    best, tested = float("inf"), float("nan")
    for update in range(updates + 1):
        if update % 10 == 0:
            with torch.no_grad():
                if (now := root_mean_square(error("choose"))) < best:
                    best, tested = now, root_mean_square(error("test"))
        optimizer.zero_grad()
        error("train").square().mean().backward()
        nn.utils.clip_grad_norm_(net.parameters(), 1.0)
        optimizer.step()
    return {"choose": best, "test": tested}


def _close(kept: dict[str, Any], again: dict[str, Any]) -> bool:
    return abs(kept["test"] - again["test"]) < (0.01 if kept["lr"] is None else 0.25 * kept["test"])


SUNSPOTS = Experiment(
    "choosing-sunspots",
    forecast,
    [{"model": name, "lr": None, "seed": None} for name in BASELINES]
    + [{"model": cell, "lr": lr, "seed": seed} for cell in CELLS for lr in RATES for seed in range(5)],
    sample=[0, 3, 4, 16],
    close=_close,
)
EXPERIMENTS = [SUNSPOTS]

"""What the chapter on BPTT plots, measured on the course's own cells.

As in `measure`, each function takes its seed or generator and returns plain data. torch is imported where it
is used.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from refcells.backward import rnn_backward
from refcells.figures.measure import hidden_state_jacobian, layer_with, weights_of
from refcells.vector import rnn_forward

if TYPE_CHECKING:
    import torch

__all__ = [
    "CLIFF_START",
    "RNN_STARTS",
    "Descent",
    "PlainRNN",
    "cliff_descent",
    "cliff_loss",
    "difference_errors",
    "jacobian_before_and_after",
    "plain_rnn",
    "power_norms",
]

LAGS = (1, 2, 5, 10, 20, 30, 40, 50, 60, 70, 80, 90, 100)

# Name on the page: the initialisation, and the gain on its recurrent weights.
RNN_STARTS = {
    "default": ("RNN, default", 1.0),
    "default × 2": ("RNN, default", 2.0),
    "default × 3": ("RNN, default", 3.0),
    "orthogonal": ("RNN, orthogonal", 1.0),
    "orthogonal × 2": ("RNN, orthogonal", 2.0),
}


@dataclass(frozen=True)
class PlainRNN:
    """An untrained plain RNN and what its Jacobians do on one sequence.

    Attributes:
        radius: spectral radius of W_h, the largest absolute value of its eigenvalues.
        norm: spectral norm of W_h, its largest singular value.
        slope: mean of tanh' over units and time steps.
        lags: numbers of time steps k.
        jacobians: Frobenius norm of d h_T / d h_{T-k} over sqrt(H), one number a lag.
    """

    radius: float
    norm: float
    slope: float
    lags: np.ndarray
    jacobians: np.ndarray


def plain_rnn(
    start: str,
    generator: "torch.Generator",
    *,
    hidden: int = 32,
    inputs: int = 8,
    lags: Sequence[int] = LAGS,
) -> PlainRNN:
    """Measure an untrained plain RNN on one sequence of standard normal inputs.

    Args:
        start: one of `RNN_STARTS`.
        generator: source of weights and inputs, in that order.
        hidden: width of the states.
        inputs: width of the inputs.
        lags: numbers of time steps, ascending.

    Raises:
        ValueError: for another start.
    """
    import torch

    if start not in RNN_STARTS:
        raise ValueError(f"start is {start!r}; expected one of {tuple(RNN_STARTS)}")
    initialisation, gain = RNN_STARTS[start]
    layer = layer_with(initialisation, inputs, hidden, max(lags), generator)
    with torch.no_grad():
        layer.weight_hh_l0.mul_(gain)
    # Ten steps more than the largest lag, so that the walk has left its zero state behind.
    x = torch.randn(1, max(lags) + 10, inputs, generator=generator, dtype=torch.float64).numpy()
    W_x, W_h, b = weights_of(layer)
    h = rnn_forward(x, W_x, W_h, b).h[1:]
    norms = [np.linalg.norm(hidden_state_jacobian(layer, x, lag)) / np.sqrt(hidden) for lag in lags]
    return PlainRNN(
        radius=float(np.abs(np.linalg.eigvals(W_h)).max()),
        norm=float(np.linalg.norm(W_h, 2)),
        slope=float((1 - h**2).mean()),
        lags=np.array(lags),
        jacobians=np.array(norms),
    )


def jacobian_before_and_after(
    seed: int, *, steps: int = 20, lr: float = 0.003, updates: int = 300, hidden: int = 32, symbols: int = 8
) -> tuple[float, float, float]:
    """Train a default RNN on remember-first, and measure the way back to the symbol before and after.

    The network and its training are those of `measure.remember_first_run`.

    Args:
        seed: seed of weights and of all sequences.
        steps: sequence length, in time steps.
        lr: Adam's learning rate.
        updates: largest number of updates; training stops early at 99.5 percent.
        hidden: width of the states.
        symbols: number of symbols.

    Returns:
        Frobenius norm of d h_T / d h_1 over sqrt(H), the median over one sequence a symbol, before and after
        training; and the held-out accuracy at the end.
    """
    import torch

    from refcells.tasks import remember_first
    from refcells.training import LastStepClassifier, fit, redraw

    generator = torch.Generator().manual_seed(seed)
    layer = layer_with("RNN, default", symbols, hidden, steps, generator)
    model = LastStepClassifier(layer, hidden, symbols)
    redraw(model.linear, generator)

    def way_back() -> float:
        norms = []
        for symbol in range(symbols):
            x = np.zeros((1, steps, symbols))
            x[0, 0, symbol] = 1.0
            norms.append(np.linalg.norm(hidden_state_jacobian(layer, x, steps - 1)) / np.sqrt(hidden))
        return float(np.median(norms))

    before = way_back()
    history = fit(
        model,
        lambda: remember_first(64, steps, symbols, generator=generator),
        remember_first(512, steps, symbols, generator=generator),
        lr=lr,
        updates=updates,
        target=0.995,
    )
    return before, way_back(), history.metric[-1]


def power_norms(A: np.ndarray, steps: int) -> np.ndarray:
    """Spectral norms of A^0, A^1, ..., A^steps: what a constant Jacobian does over many steps.

    Args:
        A: square matrix (H, H).
        steps: largest power.

    Returns:
        `steps + 1` numbers, the first of them 1.
    """
    power, norms = np.eye(len(A)), [1.0]
    for _ in range(steps):
        power = A @ power
        norms.append(float(np.linalg.norm(power, 2)))
    return np.array(norms)


def difference_errors(
    sizes: Sequence[float],
    *,
    kind: str = "central",
    dtype: type[np.floating] = np.float64,
    seed: int = 0,
    batch: int = 2,
    steps: int = 6,
    inputs: int = 3,
    hidden: int = 4,
) -> np.ndarray:
    """How far differences of the loss are from the gradient that BPTT gives for W_h, by step size.

    The loss is the sum of the outputs times fixed random weights, so that every step contributes.

    Args:
        sizes: step sizes e.
        kind: 'central' for (L(w + e) - L(w - e)) / 2e, 'forward' for (L(w + e) - L(w)) / e.
        dtype: `np.float64` or `np.float32`, for the loss; the gradient is always taken in float64.
        seed: seed of weights, inputs and the weights of the loss.
        batch: number of sequences.
        steps: sequence length, in time steps.
        inputs: width of the inputs.
        hidden: width of the states.

    Returns:
        Largest absolute error over the entries of W_h, relative to the largest entry of the gradient.

    Raises:
        ValueError: for another kind.
    """
    if kind not in ("central", "forward"):
        raise ValueError(f"kind is {kind!r}; expected 'central' or 'forward'")
    rng = np.random.default_rng(seed)
    W_x, W_h, b = (
        rng.normal(size=(hidden, inputs)),
        rng.normal(size=(hidden, hidden)),
        rng.normal(size=hidden),
    )
    x, weight = rng.normal(size=(batch, steps, inputs)), rng.normal(size=(batch, steps, hidden))
    gradient = rnn_backward(rnn_forward(x, W_x, W_h, b), weight).W_h
    x, W_x, b, weight = (array.astype(dtype) for array in (x, W_x, b, weight))

    def loss(W: np.ndarray) -> float:
        return float((rnn_forward(x, W_x, W.astype(dtype), b).output * weight).sum())

    errors = []
    for size in sizes:
        numeric = np.empty_like(W_h)
        for place in np.ndindex(W_h.shape):
            nudge = np.zeros_like(W_h)
            nudge[place] = size
            if kind == "central":
                numeric[place] = (loss(W_h + nudge) - loss(W_h - nudge)) / (2 * size)
            else:
                numeric[place] = (loss(W_h + nudge) - loss(W_h)) / size
        errors.append(np.abs(numeric - gradient).max() / np.abs(gradient).max())
    return np.array(errors)


# One unit without input, h_t = tanh(w h_{t-1} + b), asked for h_T = -0.2 from h_0 = 0.5: two parameters, so
# that its loss can be drawn, and thirty steps, so that it has a cliff.
CLIFF_STEPS, CLIFF_H0, CLIFF_TARGET = 30, 0.5, -0.2
CLIFF_START = (1.5, 0.3)


def cliff_loss(w: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Squared error of a one-unit RNN after 30 steps, for each pair of parameters.

    Args:
        w: recurrent weights, of any shape.
        b: biases, same shape.
    """
    h = np.full_like(w, CLIFF_H0)
    for _ in range(CLIFF_STEPS):
        h = np.tanh(w * h + b)
    return (h - CLIFF_TARGET) ** 2


@dataclass(frozen=True)
class Descent:
    """Gradient descent on `cliff_loss`.

    Attributes:
        path: `(w, b)` before the first update and after each (updates + 1, 2).
        losses: the loss at each of these places.
        norms: norm of the gradient before clipping, at each update.
    """

    path: np.ndarray
    losses: np.ndarray
    norms: np.ndarray


def cliff_descent(
    clip: float | None,
    *,
    lr: float = 0.05,
    updates: int = 60,
    start: tuple[float, float] = CLIFF_START,
) -> Descent:
    """Follow the gradient that `rnn_backward` gives, with or without clipping by norm.

    Args:
        clip: largest norm of the gradient; None leaves it as it is.
        lr: learning rate.
        updates: number of updates.
        start: `(w, b)` to start from.
    """
    no_input, W_x = np.zeros((1, CLIFF_STEPS, 1)), np.zeros((1, 1))
    h0 = np.full((1, 1), CLIFF_H0)

    def at(place: np.ndarray) -> tuple[float, np.ndarray]:
        run = rnn_forward(no_input, W_x, place[0].reshape(1, 1), place[1].reshape(1), h0)
        off = run.h_n - CLIFF_TARGET
        gradients = rnn_backward(run, d_h_n=2 * off)
        return float(off[0, 0] ** 2), np.array([gradients.W_h[0, 0], gradients.b[0]])

    place = np.array(start, dtype=float)
    loss, gradient = at(place)
    path, losses, norms = [place], [loss], []
    for _ in range(updates):
        norm = float(np.linalg.norm(gradient))
        norms.append(norm)
        if clip is not None and norm > clip:
            gradient = gradient * (clip / norm)
        place = place - lr * gradient
        loss, gradient = at(place)
        path.append(place)
        losses.append(loss)
    return Descent(np.array(path), np.array(losses), np.array(norms))

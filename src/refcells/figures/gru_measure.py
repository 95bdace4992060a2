"""What the chapter on the GRU plots and quotes, measured on the course's own cells.

As in `refcells.figures.measure`: each function takes its generator, says what it measures, and returns plain data.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from refcells.figures.measure import VOCABULARY, agreement_sentences, layer_with
from refcells.interop import from_torch
from refcells.vector import GRURun, gru_forward, sigmoid_derivative, tanh_derivative

if TYPE_CHECKING:
    import torch

__all__ = ["TERMS", "Reader", "Terms", "jacobian_terms", "measure_terms", "processor_times", "train_reader"]

TERMS = ("blend", "update gate", "candidate", "reset gate")


def jacobian_terms(run: GRURun, step: int) -> dict[str, np.ndarray]:
    r"""The four terms of dh_t/dh_{t-1} of a GRU with the reset gate before the product.

    $$\frac{\mathrm{d}h_t}{\mathrm{d}h_{t-1}} = \mathrm{diag}(1 - z) + \mathrm{diag}((n - h_{t-1}) \odot z') W_{hz}
      + \mathrm{diag}(z \odot n') W_{hn} \mathrm{diag}(r)
      + \mathrm{diag}(z \odot n') W_{hn} \mathrm{diag}(h_{t-1} \odot r') W_{hr}$$

    with $z' = z (1 - z)$, $r' = r (1 - r)$ and $n' = 1 - n^2$.

    Args:
        run: a run of `gru_forward` over one sequence (batch of 1).
        step: which time step t, from 1 to T.

    Returns:
        The terms by name, in the order of `TERMS`, each (H, H) with `J[i, j]` = d h_t[i] / d h_{t-1}[j].

    Raises:
        ValueError: for more than one sequence, a step outside 1..T, or a run with the reset gate after the product.

    Source:
        Derived from Cho et al. (2014), eqs. 5 to 8.
    """
    steps, batch, _ = run.gates.shape
    if batch != 1 or not 1 <= step <= steps:
        raise ValueError(f"batch {batch} and step {step} came; expected batch 1 and a step of 1 to {steps}")
    if run.a_hn is not None:
        raise ValueError("run has the reset gate after the product; expected a run of gru_forward")
    r, z, n = (run.gate(name)[0, step - 1] for name in "rzn")
    h = run.h[step - 1, 0]
    W_hr, W_hz, W_hn = np.split(run.W_h, 3)
    to_candidate = (z * tanh_derivative(n))[:, None] * W_hn
    return {
        "blend": np.diag(1.0 - z),
        "update gate": ((n - h) * sigmoid_derivative(z))[:, None] * W_hz,
        "candidate": to_candidate * r,
        "reset gate": (to_candidate * (h * sigmoid_derivative(r))) @ W_hr,
    }


@dataclass(frozen=True)
class Terms:
    """Sizes of the four terms of dh_t/dh_{t-1}, and of their sum.

    Attributes:
        sizes: Frobenius norm over sqrt(H) of each term, by name, the mean over the steps that were measured.
        whole: the same for the whole Jacobian.
        off: norm of the whole less its blend, relative to the norm of the whole; the mean over the steps.
        lags: number of time steps k.
        direct: Frobenius norm over sqrt(H) of the product of the last k blends, by lag.
        full: Frobenius norm over sqrt(H) of d h_T / d h_{T-k}, by lag.
    """

    sizes: dict[str, float]
    whole: float
    off: float
    lags: np.ndarray
    direct: np.ndarray
    full: np.ndarray


def measure_terms(
    initialisation: str,
    generator: "torch.Generator",
    *,
    scale: float = 1.0,
    hidden: int = 32,
    inputs: int = 8,
    lags: Sequence[int] = (1, 2, 5, 10, 20, 30, 40, 50, 60, 70, 80, 90, 100),
) -> Terms:
    """Measure the terms of the Jacobian on one untrained GRU and one sequence of standard normal inputs.

    The weights are drawn as PyTorch does for `nn.GRU`, and used in the course's cell, reset gate before the
    product; its two biases are added.

    Args:
        initialisation: 'GRU, default' or 'GRU, chrono', which is told the largest lag.
        generator: source of weights and inputs.
        scale: factor on the recurrent weights after their initialisation.
        hidden: width of the states.
        inputs: width of the inputs.
        lags: numbers of time steps, ascending; sizes are means over the last `max(lags)` steps.
    """
    import torch

    longest = max(lags)
    layer = layer_with(initialisation, inputs, hidden, longest, generator)
    W_x, W_h, b = from_torch("gru", {k: v.double() for k, v in layer.state_dict().items()}, layer=0).merged()
    # Ten steps more than the largest lag, so that the walk has left its zero state behind.
    x = torch.randn(1, longest + 10, inputs, generator=generator, dtype=torch.float64).numpy()
    run = gru_forward(x, W_x, scale * W_h, b)

    def size(matrix: np.ndarray) -> float:
        return float(np.linalg.norm(matrix) / np.sqrt(hidden))

    steps = range(longest + 10, 10, -1)
    terms = {step: jacobian_terms(run, step) for step in steps}
    wholes = {step: np.sum(list(parts.values()), axis=0) for step, parts in terms.items()}
    direct, full = [], []
    path, product = np.eye(hidden), np.eye(hidden)
    for step in steps:
        path, product = path @ terms[step]["blend"], product @ wholes[step]
        if longest + 11 - step in lags:
            direct.append(size(path))
            full.append(size(product))
    return Terms(
        sizes={name: float(np.mean([size(parts[name]) for parts in terms.values()])) for name in TERMS},
        whole=float(np.mean([size(whole) for whole in wholes.values()])),
        off=float(np.mean([size(wholes[s] - terms[s]["blend"]) / size(wholes[s]) for s in steps])),
        lags=np.array(lags),
        direct=np.array(direct),
        full=np.array(full),
    )


@dataclass(frozen=True)
class Reader:
    """A GRU that was trained to choose between 'was' and 'were'.

    Attributes:
        weights: `(W_x, W_h, b)` of its layer, float64.
        accuracy: share of held-out sentences of 8 words that are continued rightly.
        longer: the same for sentences of 32 words.
    """

    weights: tuple[np.ndarray, np.ndarray, np.ndarray]
    accuracy: float
    longer: float

    def read(self, words: Sequence[str]) -> GRURun:
        """The walk over one sentence.

        Raises:
            ValueError: for a word that is not in `refcells.figures.measure.VOCABULARY`.
        """
        if unknown := [word for word in words if word not in VOCABULARY]:
            raise ValueError(f"word {unknown[0]!r} came; expected one of {', '.join(VOCABULARY)}")
        x = np.eye(len(VOCABULARY))[[VOCABULARY.index(word) for word in words]]
        return gru_forward(x[None], *self.weights)


def train_reader(seed: int, hidden: int = 4, updates: int = 200) -> Reader:
    """Train a GRU, reset gate before the product, on `refcells.figures.measure.agreement_sentences` of 8 words.

    Adam at 0.02, batches of 64 fresh sentences, gradients clipped at norm 1.

    Args:
        seed: seed of weights and sentences.
        hidden: number of units.
        updates: number of updates.
    """
    import torch

    from refcells.torch_cells import GRU
    from refcells.training import LastStepClassifier, accuracy, fit, redraw

    generator = torch.Generator().manual_seed(seed)

    def sentences(batch: int, phrases: int = 2) -> tuple["torch.Tensor", "torch.Tensor"]:
        x, y, _ = agreement_sentences(batch, phrases, generator=generator)
        return x, y

    layer = GRU(len(VOCABULARY), hidden, reset_after=False)
    model = LastStepClassifier(layer, hidden, classes=2)
    redraw(model, generator)
    history = fit(model, lambda: sentences(64), sentences(512), lr=0.02, updates=updates)
    with torch.no_grad():
        x, y = sentences(512, phrases=10)
        longer = accuracy(model(x), y)
    W_x, W_h, b = from_torch("gru", {k: v.double() for k, v in layer.state_dict().items()}, layer=0).merged()
    return Reader((W_x, W_h, b), history.metric[-1], longer)


def processor_times(functions: Sequence[Callable[[], Any]], repeats: int) -> list[float]:
    """The shortest of several timings of each function, in seconds of processor time of this process.

    The functions take turns, so that a disturbance meets all of them; the shortest timing had the least of it.

    Args:
        functions: what to time.
        repeats: number of turns.
    """
    times = [float("inf")] * len(functions)
    for _ in range(repeats):
        for k, function in enumerate(functions):
            started = time.process_time()
            function()
            times[k] = min(times[k], time.process_time() - started)
    return times

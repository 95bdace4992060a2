"""Remember-first by sequence length, initialisation and learning rate: the plain RNN and the LSTM.

The three functions take any of `measure.LAYERS`, so that another cell's experiment has the same settings:

    parts = remember_first_parts(("GRU, default", "GRU, chrono"))
    Experiment("gru-remember-first", remember_first_result, parts, [0], remember_first_close)
"""

from collections.abc import Sequence
from typing import Any

from refcells.experiments import Experiment

__all__ = ["EXPERIMENTS", "remember_first_close", "remember_first_parts", "remember_first_result"]

# The plain RNN as PyTorch makes it and with an orthogonal W_h, and the LSTM with its three sets of biases.
NETWORKS = ("RNN, default", "RNN, orthogonal", "LSTM, default", "LSTM, forget bias 1", "LSTM, chrono")
# Sequence length: learning rates, number of seeds, and largest number of updates. A run takes time in proportion
# to its length, so the longest get fewer.
GRID = {
    10: ((0.001, 0.003, 0.01, 0.03), 5, 600),
    20: ((0.001, 0.003, 0.01, 0.03), 5, 600),
    50: ((0.001, 0.003, 0.01, 0.03), 3, 600),
    100: ((0.003, 0.01), 3, 400),
    200: ((0.003, 0.01), 2, 400),
}


def remember_first_result(
    initialisation: str, lr: float, seed: int, steps: int, updates: int
) -> dict[str, Any]:
    """Train one network on remember-first, as `measure.remember_first_run` does with its other settings.

    Args:
        initialisation: one of `measure.LAYERS`.
        lr: Adam's learning rate.
        seed: seed of weights, training and held-out sequences.
        steps: sequence length, in time steps.
        updates: largest number of updates; a run stops early at 99.5 percent.

    Returns:
        'accuracy', the share of 512 held-out sequences that are right at the end, and 'reached', the number of
        updates after which 99.5 percent were reached, None if they were not.
    """
    from refcells.figures import measure

    run = measure.remember_first_run(initialisation, lr=lr, seed=seed, steps=steps, updates=updates)
    return {"accuracy": round(run.accuracy, 4), "reached": run.reached}


def remember_first_parts(initialisations: Sequence[str]) -> list[dict[str, Any]]:
    """The settings of all runs: for each length, each network, each learning rate and each seed.

    Args:
        initialisations: some of `measure.LAYERS`.
    """
    return [
        {"initialisation": name, "lr": lr, "seed": seed, "steps": steps, "updates": updates}
        for steps, (rates, seeds, updates) in GRID.items()
        for name in initialisations
        for lr in rates
        for seed in range(seeds)
    ]


def remember_first_close(kept: dict[str, Any], again: dict[str, Any]) -> bool:
    """Whether a rerun tells the same story: solved both times, in about as many updates, or neither time.

    Another machine rounds differently, and training runs drift apart: accuracies may differ by 0.15, updates by
    half and two measurements (50).
    """
    if (kept["reached"] is None) != (again["reached"] is None):
        return False
    if kept["reached"] is not None:
        return abs(kept["reached"] - again["reached"]) <= 50 + kept["reached"] / 2
    return abs(kept["accuracy"] - again["accuracy"]) <= 0.15


PARTS = remember_first_parts(NETWORKS)
# At a rate and a length where the outcome is clear: solved by the plain RNN and by chrono, at chance by default.
SAMPLE = [
    PARTS.index({"initialisation": name, "lr": 0.01, "seed": 0, "steps": steps, "updates": 600})
    for name, steps in (("RNN, default", 20), ("LSTM, default", 20), ("LSTM, chrono", 50))
]

EXPERIMENTS = [Experiment("lstm-remember-first", remember_first_result, PARTS, SAMPLE, remember_first_close)]

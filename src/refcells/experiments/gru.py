"""What the chapter on the GRU compares: how far it remembers, and how fast it learns to add."""

from typing import Any

from refcells.experiments.lstm import remember_first_close, remember_first_parts, remember_first_result
from refcells.experiments.record import Experiment

__all__ = ["EXPERIMENTS", "adding_run"]

NETWORKS = ("RNN, default", "LSTM, default", "LSTM, chrono", "GRU, default", "GRU, chrono")


def adding_run(
    initialisation: str,
    steps: int,
    lr: float,
    seed: int,
    updates: int = 800,
    hidden: int = 32,
    batch: int = 64,
) -> dict[str, Any]:
    """One layer on the adding problem: Adam, gradient clipped at 1, stopped at a mean squared error of 0.005.

    Args:
        initialisation: one of `refcells.figures.measure.LAYERS`; chrono is told `steps` as the longest lag.
        steps: sequence length, in time steps.
        lr: Adam's learning rate.
        seed: seed of weights, training and held-out sequences.
        updates: largest number of updates.
        hidden: width of the states.
        batch: sequences in an update.

    Returns:
        `error`: the last mean squared error on 512 held-out sequences (always answering 1 has 1/6);
        `reached`: updates to 0.005, None if that was not reached.
    """
    import torch

    from refcells.figures import measure
    from refcells.tasks import adding
    from refcells.training import LastStepClassifier, fit, mean_squared_error, redraw

    generator = torch.Generator().manual_seed(seed)
    layer = measure.layer_with(initialisation, 2, hidden, steps, generator)
    model = LastStepClassifier(layer, hidden, classes=1)
    redraw(model.linear, generator)
    history = fit(
        model,
        lambda: adding(batch, steps, generator=generator),
        adding(512, steps, generator=generator),
        loss=torch.nn.functional.mse_loss,
        metric=mean_squared_error,
        better="smaller",
        lr=lr,
        updates=updates,
        target=0.005,
    )
    return {"error": round(history.metric[-1], 5), "reached": history.reached}


def _added_alike(kept: dict[str, Any], again: dict[str, Any]) -> bool:
    """Both solved, within a factor of two in updates, or both not, within 0.03 in mean squared error."""
    if kept["reached"] is None or again["reached"] is None:
        return kept["reached"] == again["reached"] and abs(kept["error"] - again["error"]) < 0.03
    return 0.5 <= again["reached"] / kept["reached"] <= 2


# The settings of the LSTM chapter's experiment, so that both can stand in one table.
REMEMBERED = remember_first_parts(("GRU, default", "GRU, chrono"))
# Where the outcome is clear: see the chapter.
SAMPLE = [
    REMEMBERED.index({"initialisation": name, "lr": 0.01, "seed": 0, "steps": steps, "updates": 600})
    for name, steps in (("GRU, default", 20), ("GRU, chrono", 50))
]

EXPERIMENTS = [
    Experiment(
        "gru-remember-first",
        remember_first_result,
        REMEMBERED,
        SAMPLE,
        remember_first_close,
    ),
    Experiment(
        "gru-adding",
        adding_run,
        [
            {"initialisation": name, "steps": 50, "lr": lr, "seed": seed}
            for name in NETWORKS
            for lr in (0.001, 0.003, 0.01)
            for seed in range(3)
        ],
        # Solved early by the GRU; never by the plain RNN.
        [33, 0],
        _added_alike,
    ),
]

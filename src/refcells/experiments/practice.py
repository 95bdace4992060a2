"""What the chapter on practice measures: twin tasks, the same sequences for training and test, tuning, curves, clipping."""

from typing import Any

from refcells.experiments.record import Experiment

__all__ = [
    "EXPERIMENTS",
    "HIDDEN",
    "RATES",
    "TEST",
    "VALIDATION",
    "clipped_run",
    "curve_run",
    "gap_run",
    "same_sequences_run",
    "tuned_run",
    "twin_run",
]

VALIDATION = ("difflib", "pprint", "statistics")
TEST = ("tarfile", "textwrap", "uuid")


def twin_run(layer: str, task: str, steps: int, lr: float, seed: int, updates: int = 250) -> dict[str, Any]:
    """Train on one of three tasks over a binary alphabet, and measure on 512 sequences that were held out.

    Args:
        layer: one of `measure.LAYERS`, with 32 units; chrono is told `steps` as the longest lag.
        task: 'first', the first of many values; 'first, then silence'; or 'last'.
        steps: sequence length, in time steps.
        lr: Adam's learning rate.
        seed: seed of weights and sequences.
        updates: largest number of updates, on 64 fresh sequences each; 99.5 percent end a run.

    Returns:
        Held-out 'accuracy', and 'reached', the updates until 99.5 percent, None if they were not met.
    """
    import torch

    from refcells.figures.measure import layer_with
    from refcells.tasks import remember_first, remember_last
    from refcells.training import LastStepClassifier, fit, redraw

    generator = torch.Generator().manual_seed(seed)

    def draw(batch: int) -> Any:
        if task == "last":
            return remember_last(batch, steps, 2, generator=generator)
        return remember_first(batch, steps, 2, generator=generator, distractors=task == "first")

    recurrent = layer_with(layer, 2, 32, steps, generator)
    model = LastStepClassifier(recurrent, 32, 2)
    redraw(model.linear, generator)
    history = fit(model, lambda: draw(64), draw(512), lr=lr, updates=updates, target=0.995)
    return {"accuracy": round(history.metric[-1], 4), "reached": history.reached}


def same_sequences_run(layer: str, steps: int, seed: int, updates: int = 300) -> dict[str, Any]:
    """Train on 120 sequences, the same in each update, and measure on them and on 1000 others.

    Args:
        layer: one of `measure.LAYERS`, with 64 units.
        steps: sequence length of remember-first over a binary alphabet, in time steps.
        seed: seed of weights and sequences.
        updates: number of updates with Adam at 0.01.

    Returns:
        Accuracy on the 'same' sequences and on 'others'.
    """
    import torch

    from refcells.figures.measure import layer_with
    from refcells.tasks import remember_first
    from refcells.training import LastStepClassifier, accuracy, fit, redraw

    generator = torch.Generator().manual_seed(seed)
    same = remember_first(120, steps, 2, generator=generator, distractors=True)
    others = remember_first(1000, steps, 2, generator=generator, distractors=True)
    model = LastStepClassifier(layer_with(layer, 2, 64, steps, generator), 64, 2)
    redraw(model.linear, generator)
    fit(model, lambda: same, others, lr=0.01, updates=updates, every=updates)
    with torch.no_grad():
        return {
            "same": round(accuracy(model(same[0]), same[1]), 4),
            "others": round(accuracy(model(others[0]), others[1]), 4),
        }


def _code_tagger(hidden: int, layers: int, dropout: float, generator: Any) -> Any:
    """A bidirectional LSTM over tokens of code, with a readout at every step."""
    from torch import nn

    from refcells.experiments.source_names import TAGS, vocabulary
    from refcells.training import EveryStepClassifier, redraw

    layer = nn.LSTM(
        len(vocabulary()), hidden, num_layers=layers, dropout=dropout, batch_first=True, bidirectional=True
    )
    model = EveryStepClassifier(layer, 2 * hidden, len(TAGS))
    redraw(model, generator)
    return model


def _few_lines(count: int, generator: Any) -> list[int]:
    """Which lines of the training modules a run may see."""
    import torch

    from refcells.experiments.source_names import TRAINING_MODULES, pool

    return torch.randperm(len(pool(TRAINING_MODULES).tokens), generator=generator)[:count].tolist()


def _train_tagger(
    model: Any,
    lines: list[int],
    generator: Any,
    *,
    lr: float,
    updates: int,
    held_out: Any,
    **settings: Any,
) -> Any:
    """`fit` on batches of 32 of these lines of the training modules."""
    import torch

    from refcells.experiments.source_names import TRAINING_MODULES, as_tensors, pool
    from refcells.training import fit, step_cross_entropy

    def draw() -> Any:
        chosen = torch.randint(len(lines), (32,), generator=generator)
        x, y, lengths = as_tensors(pool(TRAINING_MODULES), [lines[k] for k in chosen])
        return (x, lengths), y

    return fit(model, draw, held_out, loss=step_cross_entropy, lr=lr, updates=updates, **settings)


def _all_lines(modules: tuple[str, ...], most: int | None = None) -> Any:
    """A held-out batch: all lines of some modules, or every so many of them."""
    from refcells.experiments.source_names import as_tensors, pool

    lines = pool(modules)
    count = len(lines.tokens)
    x, y, lengths = as_tensors(lines, range(0, count, 1 if most is None else max(1, count // most)))
    return (x, lengths), y


def tuned_run(
    lr: float, hidden: int, layers: int, dropout: float, seed: int, updates: int = 80
) -> dict[str, Any]:
    """Train a tagger of code on 400 lines with one setting, and measure it on validation and on test modules.

    Args:
        lr: Adam's learning rate.
        hidden: number of units of each direction.
        layers: number of layers.
        dropout: share of the values between layers that is dropped.
        seed: seed of weights, of the 400 lines and of their order; dropout has its own, the same.
        updates: number of updates, on 32 lines each, the gradient clipped at norm 1.

    Returns:
        Accuracy on 'validation' and on 'test' lines.
    """
    import torch

    from refcells.training import accuracy

    generator = torch.Generator().manual_seed(seed)
    lines = _few_lines(400, generator)
    model = _code_tagger(hidden, layers, dropout, generator)
    validation, test = _all_lines(VALIDATION, 500), _all_lines(TEST, 500)
    with torch.random.fork_rng():  # nn.LSTM's dropout takes no generator
        torch.manual_seed(seed)
        history = _train_tagger(
            model, lines, generator, lr=lr, updates=updates, every=updates, held_out=validation
        )
    model.eval()
    with torch.no_grad():
        score = accuracy(model(*test[0]), test[1])
    return {"validation": round(history.metric[-1], 4), "test": round(score, 4)}


def curve_run(
    shown: str, lr: float, hidden: int, lines: int, seed: int, updates: int = 250
) -> dict[str, Any]:
    """Training and held-out loss of a tagger of code, every 10 updates.

    Args:
        shown: what the run is an example of; it has no effect.
        lr: Adam's learning rate.
        hidden: number of units of each direction.
        lines: number of lines to train on.
        seed: seed of weights and lines.
        updates: number of updates, on 32 lines each, without clipping.

    Returns:
        'at', numbers of updates, and at each the 'training' loss of that batch and the 'held_out' loss, in nats.
    """
    import torch

    from refcells.training import step_cross_entropy

    generator = torch.Generator().manual_seed(seed)
    chosen = _few_lines(lines, generator)
    model = _code_tagger(hidden, 1, 0.0, generator)
    history = _train_tagger(
        model,
        chosen,
        generator,
        lr=lr,
        updates=updates,
        clip=None,
        every=10,
        held_out=_all_lines(VALIDATION, 300),
        metric=lambda scores, y: step_cross_entropy(scores, y).item(),
    )
    return {
        "at": history.updates,
        "training": [round(value, 4) for value in history.loss],
        "held_out": [round(value, 4) for value in history.metric],
    }


def gap_run(clip: float | None, seed: int, updates: int = 150) -> dict[str, Any]:
    """Train a tagger on 100 lines until it knows them, with and without clipping, and measure the gap.

    Args:
        clip: largest gradient norm; None does not clip.
        seed: seed of weights and lines.
        updates: number of updates at 0.01, on 32 lines each, 64 units a direction.

    Returns:
        Accuracy on the 'training' lines and on 'held_out' ones.
    """
    import torch

    from refcells.experiments.source_names import TRAINING_MODULES, as_tensors, pool
    from refcells.training import accuracy

    generator = torch.Generator().manual_seed(seed)
    chosen = _few_lines(100, generator)
    model = _code_tagger(64, 1, 0.0, generator)
    history = _train_tagger(
        model,
        chosen,
        generator,
        lr=0.01,
        updates=updates,
        clip=clip,
        every=updates,
        held_out=_all_lines(VALIDATION, 500),
    )
    x, y, lengths = as_tensors(pool(TRAINING_MODULES), chosen)
    with torch.no_grad():
        return {
            "training": round(accuracy(model(x, lengths), y), 4),
            "held_out": round(history.metric[-1], 4),
        }


def clipped_run(clip: float | None, seed: int, updates: int = 400) -> dict[str, Any]:
    """Train an orthogonal plain RNN with plain gradient descent, where now and then a gradient is huge.

    Remember-first over 8 symbols, 20 steps with distractors, 32 units, batches of 64, a step of 0.1.

    Args:
        clip: largest gradient norm; None does not clip.
        seed: seed of weights and sequences.
        updates: number of updates.

    Returns:
        Held-out 'accuracy', the 'median' and the 'largest' gradient norm before clipping.
    """
    import torch
    from torch import nn

    from refcells.figures.measure import layer_with
    from refcells.tasks import remember_first
    from refcells.training import LastStepClassifier, accuracy, redraw

    generator = torch.Generator().manual_seed(seed)
    model = LastStepClassifier(layer_with("RNN, orthogonal", 8, 32, 20, generator), 32, 8)
    redraw(model.linear, generator)
    held_out = remember_first(512, 20, 8, generator=generator, distractors=True)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    norms = []
    for _ in range(updates):
        x, y = remember_first(64, 20, 8, generator=generator, distractors=True)
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(x), y).backward()
        norm = nn.utils.clip_grad_norm_(model.parameters(), float("inf") if clip is None else clip)
        norms.append(norm.item())
        optimizer.step()
    with torch.no_grad():
        score = accuracy(model(held_out[0]), held_out[1])
    ordered = sorted(norms)
    return {
        "accuracy": round(score, 4),
        "median": round(ordered[len(ordered) // 2], 3),
        "largest": round(ordered[-1], 3),
    }


def _within(margin: float, *keys: str) -> Any:
    """Compares the named numbers of two results with a margin."""

    def close(kept: dict[str, Any], rerun: dict[str, Any]) -> bool:
        return all(abs(kept[key] - rerun[key]) <= margin for key in keys)

    return close


def _curves_close(kept: dict[str, Any], rerun: dict[str, Any]) -> bool:
    """Same places, and losses that end near each other."""
    return kept["at"] == rerun["at"] and all(
        abs(kept[key][-1] - rerun[key][-1]) < 0.3 for key in ("training", "held_out")
    )


CELLS = ("RNN, default", "LSTM, default", "GRU, default")
CHRONO = ("LSTM, chrono", "GRU, chrono")
RATES = (0.001, 0.003, 0.01, 0.03, 0.1, 0.3)
HIDDEN = (8, 16, 32, 64)
BEST_RATE, BEST_HIDDEN = 0.1, 32
"""What the grid of `practice_tuning` chose; a test holds it to the data."""

EXPERIMENTS = [
    Experiment(
        "practice_twins",
        twin_run,
        [
            {"layer": layer, "task": task, "steps": steps, "lr": lr, "seed": seed}
            for steps in (8, 30)
            for task in ("last", "first", "first, then silence")
            for layer in (CELLS if steps == 8 or task == "last" else CELLS + CHRONO)
            for lr in (0.003, 0.01)
            for seed in range(3)
        ],
        [0, 18],
        _within(0.02, "accuracy"),
    ),
    Experiment(
        "practice_same_sequences",
        same_sequences_run,
        [
            {"layer": layer, "steps": steps, "seed": seed}
            for steps in (8, 30)
            for layer in CELLS
            for seed in range(3)
        ],
        [0],
        _within(0.1, "same", "others"),
    ),
    Experiment(
        "practice_tuning",
        tuned_run,
        [
            {"lr": lr, "hidden": hidden, "layers": 1, "dropout": 0.0, "seed": seed}
            for lr in RATES
            for hidden in HIDDEN
            for seed in range(2)
        ]
        + [
            {"lr": BEST_RATE, "hidden": BEST_HIDDEN, "layers": layers, "dropout": dropout, "seed": seed}
            for layers, dropout in ((2, 0.0), (2, 0.2), (2, 0.5))
            for seed in range(2)
        ],
        [0],
        _within(0.06, "validation", "test"),
    ),
    Experiment(
        "practice_curves",
        curve_run,
        [
            {"shown": "fine", "lr": 0.01, "hidden": 32, "lines": 7000, "seed": 0},
            {"shown": "too slow", "lr": 0.0001, "hidden": 32, "lines": 7000, "seed": 0},
            {"shown": "diverging", "lr": 10.0, "hidden": 32, "lines": 7000, "seed": 0},
            {"shown": "overfitting", "lr": 0.01, "hidden": 64, "lines": 60, "seed": 0},
            {"shown": "sample", "lr": 0.01, "hidden": 16, "lines": 60, "seed": 0, "updates": 20},
        ],
        [4],
        _curves_close,
    ),
    Experiment(
        "practice_gap",
        gap_run,
        [{"clip": clip, "seed": seed} for clip in (None, 1.0, 0.1) for seed in range(3)]
        + [{"clip": 1.0, "seed": 0, "updates": 10}],
        [9],
        _within(0.08, "training", "held_out"),
    ),
    Experiment(
        "practice_clipping",
        clipped_run,
        [{"clip": clip, "seed": seed} for clip in (None, 1.0) for seed in range(3)]
        + [{"clip": 1.0, "seed": 0, "updates": 20}],
        [6],
        _within(0.1, "accuracy", "median"),
    ),
]

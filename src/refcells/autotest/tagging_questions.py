"""Questions about tagging with PyTorch: padding, packing, masks, and a tagger that needs both directions."""

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from refcells.autotest import tagging_probes as probes
from refcells.autotest import trained_probes
from refcells.autotest.arrays import away_from_zero
from refcells.autotest.compare import Output
from refcells.autotest.mistakes import Mistake, mistake
from refcells.autotest.verdict import AtLeast, Case, Question
from refcells.tasks import tagging, tagging_baseline
from refcells.training import redraw

# Sequences, input, hidden, classes; time is different from all of them, and no batch is in order of length.
B, T, D, H, K = 3, 6, 2, 4, 5

# Held-out accuracy that counts as having learnt to tag, the steps of its sequences, and the updates allowed.
LEARNED, STEPS, SHORTEST, UPDATES = 0.95, 12, 4, 150

# Seconds for trainings, the first of which loads PyTorch's compiler.
TRAINING = 60.0


def pad(sequences: list[Tensor]) -> tuple[Tensor, Tensor]:
    """Sequences (time, input) of different lengths as one batch (batch, time, input), 0 behind each, and the lengths."""
    lengths = torch.tensor([len(sequence) for sequence in sequences])
    steps = int(lengths.max())
    x = sequences[0].new_zeros(len(sequences), steps, sequences[0].shape[1])
    for row, sequence in enumerate(sequences):
        x[row, : len(sequence)] = sequence
    return x, lengths


def run_packed(layer: nn.Module, x: Tensor, lengths: Tensor) -> tuple[Tensor, Tensor]:
    """A batch-first layer over a padded batch, as a packed one: outputs (batch, time, width), 0 at padded steps, and h_n."""
    packed = pack_padded_sequence(x, lengths, batch_first=True, enforce_sorted=False)
    output, h_n = layer(packed)
    output, _ = pad_packed_sequence(output, batch_first=True, total_length=x.shape[1])
    return output, h_n


def start_state(start: Tensor, batch: int) -> Tensor:
    """One start vector a layer and direction, (layers * directions, hidden), as h_0 for a batch."""
    return start.unsqueeze(1).repeat(1, batch, 1)


def step_mask(lengths: Tensor, steps: int) -> Tensor:
    """True at the steps that are there, False at padded ones: (batch, time)."""
    return torch.arange(steps) < lengths[:, None]


def masked_loss(scores: Tensor, y: Tensor, mask: Tensor) -> Tensor:
    """Cross-entropy in nats, the mean over all steps that are there."""
    return nn.functional.cross_entropy(scores[mask], y[mask])


def masked_accuracy(scores: Tensor, y: Tensor, mask: Tensor) -> float:
    """Share of right tags among the steps that are there."""
    right = scores.argmax(dim=2) == y
    return right[mask].double().mean().item()


class Tagger(nn.Module):
    """Class scores for every time step of padded sequences, from both sides."""

    def __init__(self, input_size: int, hidden_size: int, classes: int) -> None:
        super().__init__()
        self.layer = nn.GRU(input_size, hidden_size, batch_first=True, bidirectional=True)
        self.linear = nn.Linear(2 * hidden_size, classes)

    def forward(self, x: Tensor, lengths: Tensor) -> Tensor:
        """Scores (batch, time, classes)."""
        return self.linear(run_packed(self.layer, x, lengths)[0])


def train_tagger(steps: int, generator: torch.Generator) -> nn.Module:
    """A tagger trained on sequences of up to so many steps."""
    model = Tagger(2, 16, 4)
    redraw(model, generator)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.02)
    for _ in range(100):
        x, y, lengths = tagging(64, steps, generator=generator, shortest=SHORTEST)
        loss = masked_loss(model(x, lengths), y, step_mask(lengths, steps))
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
    return model


# --- cases ----------------------------------------------------------------------------------------------------------

LENGTHS = np.array([2, T, 4])


_away = functools.partial(away_from_zero, low=0.3, high=0.9)


def _gru(rng: np.random.Generator, layers: int, features: int = D) -> dict[str, np.ndarray]:
    """Parameters of a bidirectional nn.GRU."""
    shapes = nn.GRU(features, H, layers, bidirectional=True).state_dict()
    return {name: _away(rng, *tensor.shape) for name, tensor in shapes.items()}


def _silent(x: np.ndarray, lengths: np.ndarray) -> np.ndarray:
    """The sequences with 0 in the padding."""
    return np.where(np.arange(x.shape[1])[None, :, None] < lengths[:, None, None], x, 0.0)


def _pad_cases(seed: int) -> list[Case]:
    rng = np.random.default_rng(seed)

    def drawn(*lengths: int) -> tuple[np.ndarray, ...]:
        return tuple(_away(rng, length, D) for length in lengths)

    return [
        Case("sequences of equal length", drawn(4, 4)),
        Case("sequences in order of length", drawn(5, 3, 1)),
        Case("sequences in another order", drawn(2, 1, 6, 3)),
    ]


def _packed_cases(seed: int) -> list[Case]:
    rng = np.random.default_rng(seed)
    one, two = _gru(rng, 1), _gru(rng, 2)
    x = rng.normal(size=(B, T, D))
    return [
        Case("full sequences", (1, one, x, np.array([T] * B))),
        Case("lengths in decreasing order", (1, one, _silent(x, LENGTHS[[1, 2, 0]]), LENGTHS[[1, 2, 0]])),
        Case("lengths in another order", (1, one, _silent(x, LENGTHS), LENGTHS)),
        Case("other numbers in the padding", (1, one, x, LENGTHS)),
        Case("more padding than the longest needs", (1, one, x, np.array([2, T - 1, 4]))),
        Case("two layers", (2, two, x, LENGTHS)),
    ]


def _start_cases(seed: int) -> list[Case]:
    rng = np.random.default_rng(seed)
    return [
        Case(f"{layers} layers, 2 directions, a batch of {batch}", (_away(rng, 2 * layers, H), batch))
        for layers, batch in ((1, 3), (3, 2), (2, 1))
    ]


def _mask_cases(seed: int) -> list[Case]:
    rng = np.random.default_rng(seed)
    return [
        Case("full sequences", (np.array([4, 4]), 4)),
        Case("different lengths", (np.array([2, 5, 1, 4]), 5)),
        Case("more steps than the longest has", (rng.permutation([1, 2, 3]), 6)),
    ]


def _scored_cases(seed: int) -> list[Case]:
    rng = np.random.default_rng(seed)
    full = np.ones((B, T), dtype=bool)
    mask = np.arange(T)[None, :] < LENGTHS[:, None]
    while True:
        scores = 2.0 * rng.normal(size=(B, T, K))
        y = rng.integers(0, K, (B, T))
        # Every sequence has right and wrong tags, whatever the draw.
        scores[np.arange(B), 0, y[:, 0]] += 12.0
        scores[np.arange(B), 1, (y[:, 1] + 1) % K] += 12.0
        # The share of all steps is not the mean of the sequences' shares, which a draw in three would let pass.
        right = (scores.argmax(axis=2) == y) & mask
        if abs(right.sum() / mask.sum() - (right.sum(axis=1) / mask.sum(axis=1)).mean()) > 0.01:
            break
    # At padded steps class 0 stands as a target, and the scores are sure of it: counted, they flatter.
    easy = scores.copy()
    easy[~mask, 0] += 12.0
    return [
        Case("full sequences", (scores, y, full)),
        Case("padded steps with the target 0", (easy, np.where(mask, y, 0), mask)),
        Case("padded steps with the target -100", (scores, np.where(mask, y, -100), mask)),
    ]


def _tagger_cases(seed: int) -> list[Case]:
    rng = np.random.default_rng(seed)
    state = {f"layer.{name}": array for name, array in _gru(rng, 1).items()}
    state |= {"linear.weight": _away(rng, K, 2 * H), "linear.bias": _away(rng, K)}
    x = rng.normal(size=(B, T, D))
    more = np.concatenate([x, rng.normal(size=(B, 3, D))], axis=1)
    return [
        Case("full sequences", ((D, H, K), state, x, np.array([T] * B))),
        Case("zeros in the padding", ((D, H, K), state, _silent(x, LENGTHS), LENGTHS)),
        Case("other numbers in the padding", ((D, H, K), state, x, LENGTHS)),
        Case("the same sequences with more padding", ((D, H, K), state, more, LENGTHS)),
        Case("one sequence alone, without padding", ((D, H, K), state, x[:1, :2], LENGTHS[:1])),
    ]


def _train_cases(seed: int) -> list[Case]:
    return [
        Case(f"up to {STEPS} time steps", (STEPS, SHORTEST, UPDATES, LEARNED, 1000 + seed)),
    ]


_LEARNED = AtLeast(
    LEARNED,
    f"the best of three trained models names {{score:.0%}} of the held-out tags; expected at least {LEARNED:.0%} "
    f"(one direction alone cannot expect more than {tagging_baseline(STEPS):.0%} of full sequences)",
)


# --- mistakes -------------------------------------------------------------------------------------------------------

_ROW = "x[row, : len(sequence)] = sequence"

PAD_MISTAKES = (
    mistake(
        "padded at the front",
        "the padding stands before each sequence; expected is padding behind it.",
        "pytorch#1811",
        pad,
        (_ROW, "x[row, steps - len(sequence) :] = sequence"),
    ),
    mistake(
        "cut to the shortest",
        "the sequences are cut to the shortest one; expected is that none loses a step.",
        "the exercise",
        pad,
        ("lengths.max()", "lengths.min()"),
        (_ROW, "x[row] = sequence[:steps]"),
    ),
    mistake(
        "padded length for all",
        "the lengths are those of the padded batch; expected is each sequence's own.",
        "the exercise",
        pad,
        ("return x, lengths", "return x, torch.full_like(lengths, steps)"),
    ),
    mistake(
        "time first",
        "the batch has the shape (time, batch, input), which is what pad_sequence gives by default; asked is "
        "(batch, time, input).",
        "pytorch#4145",
        pad,
        ("return x, lengths", "return x.transpose(0, 1), lengths"),
    ),
    mistake(
        "sorted by length",
        "the sequences come back in the order of their lengths, not in the order in which they were given.",
        "vsepp PR#36",
        pad,
        (
            "return x, lengths",
            "order = torch.argsort(lengths, descending=True, stable=True); return x[order], lengths[order]",
        ),
    ),
    mistake(
        "last step repeated",
        "the last step is repeated in the padding; expected is 0.",
        "the exercise",
        pad,
        (_ROW, _ROW + "; x[row, len(sequence) :] = sequence[-1]"),
    ),
)

_PACK = "packed = pack_padded_sequence(x, lengths, batch_first=True, enforce_sorted=False)"
_UNPACK = "output, _ = pad_packed_sequence(output, batch_first=True, total_length=x.shape[1])"
_RETURN = "return output, h_n"

PACKED_MISTAKES = (
    mistake(
        "not packed",
        "the layer reads the padded batch as it is: the backward direction starts in the padding, and the forward one "
        "ends in it.",
        "pytorch#1811, haste#12",
        run_packed,
        (_PACK, "packed = x"),
        (_UNPACK, "pass"),
    ),
    mistake(
        "not packed, outputs set to zero",
        "the layer reads the padded batch as it is, and the outputs of padded steps are set to 0 afterwards; the "
        "backward direction has then already read the padding.",
        "pytorch#1811, haste#12",
        run_packed,
        (_PACK, "packed = x"),
        (_UNPACK, "output = output * (torch.arange(x.shape[1]) < lengths[:, None])[:, :, None]"),
    ),
    mistake(
        "order of lengths expected",
        "pack_padded_sequence is left to its default, which refuses a batch that is not in decreasing order of length; "
        "enforce_sorted=False lets it sort and put back.",
        "pytorch#1811",
        run_packed,
        (", enforce_sorted=False", ""),
    ),
    mistake(
        "sorted and not put back",
        "the batch was sorted by length and not put back: the sequences come in another order than they were given.",
        "vsepp PR#36",
        run_packed,
        (
            _PACK,
            "order = torch.argsort(lengths, descending=True, stable=True); "
            "packed = pack_padded_sequence(x[order], lengths[order], batch_first=True)",
        ),
    ),
    mistake(
        "outputs put back, states not",
        "the outputs are in the order of the batch and the states in the order of the lengths: both have to be put "
        "back, h_n along its second axis.",
        "vsepp PR#36",
        run_packed,
        (_RETURN, "return output, h_n[:, torch.argsort(lengths, descending=True, stable=True)]"),
    ),
    mistake(
        "time first",
        "the outputs come as (time, batch, ...), which is what pad_packed_sequence gives by default; asked is "
        "(batch, time, ...).",
        "pytorch#4145",
        run_packed,
        ("output, batch_first=True", "output"),
    ),
    mistake(
        "packed time first",
        "batch_first=True is missing where the batch is packed: x is read as (time, batch, ...).",
        "pytorch#4145, #19675",
        run_packed,
        ("x, lengths, batch_first=True,", "x, lengths,"),
    ),
    mistake(
        "padding cut off",
        "the outputs have as many steps as the longest sequence; asked is as many as x has, which total_length says.",
        "pytorch#1591",
        run_packed,
        (", total_length=x.shape[1]", ""),
    ),
    mistake(
        "states batch first",
        "h_n is turned to (batch, layers * directions, hidden): batch_first concerns inputs and outputs, never the "
        "states; h_n is returned as the layer gives it.",
        "pytorch#4145, #19675, #3851",
        run_packed,
        (_RETURN, "return output, h_n.transpose(0, 1)"),
    ),
)

_REPEAT = "start.unsqueeze(1).repeat(1, batch, 1)"

START_MISTAKES = (
    mistake(
        "batch first",
        "the state has the shape (batch, layers * directions, hidden): batch_first concerns inputs and outputs, never "
        "the states.",
        "pytorch#4145, #19675, #3851",
        start_state,
        (_REPEAT, "start.unsqueeze(0).repeat(batch, 1, 1)"),
    ),
    mistake(
        "reshape for a transpose",
        "the copies are brought to the shape by view or reshape, which gives directions the start of others; each "
        "row of start belongs to one layer and direction.",
        "Sentence-VAE#15, sherjilozair/ctc#1",
        start_state,
        (_REPEAT, "start.repeat(batch, 1).reshape(len(start), batch, -1)"),
    ),
    mistake(
        "no batch axis",
        "the state has no axis for the batch: each sequence needs its own copy.",
        "pytorch#3851",
        start_state,
        (_REPEAT, "start"),
    ),
    mistake(
        "first row for all",
        "every layer and direction starts from the first row.",
        "ml-toolkit#1",
        start_state,
        (_REPEAT, "start[0].repeat(len(start), batch, 1)"),
    ),
)

MASK_MISTAKES = (
    mistake(
        "one step too many",
        "the first padded step counts as one that is there: the steps of L are 0 to L - 1.",
        "the exercise",
        step_mask,
        ("<", "<="),
    ),
    mistake(
        "true at padding",
        "the mask is True at padded steps; asked is True at the steps that are there.",
        "masks differ between libraries",
        step_mask,
        ("<", ">="),
    ),
    mistake(
        "time first",
        "the mask has the shape (time, batch); asked is (batch, time).",
        "pytorch#4145",
        step_mask,
        ("torch.arange(steps) < lengths[:, None]", "torch.arange(steps)[:, None] < lengths"),
    ),
    mistake(
        "front padding",
        "the last steps count as the ones that are there; the padding stands behind each sequence.",
        "the exercise",
        step_mask,
        ("torch.arange(steps) <", "torch.arange(steps).flip(0) <"),
    ),
)

_LOSS = "nn.functional.cross_entropy(scores[mask], y[mask])"
_EACH = "nn.functional.cross_entropy(scores.transpose(1, 2), y.clamp(min=0), reduction='none')"

LOSS_MISTAKES = (
    mistake(
        "padding counted",
        "the mask is not used: padded steps count, unless their target happens to be -100.",
        "the exercise",
        masked_loss,
        (_LOSS, "nn.functional.cross_entropy(scores.flatten(0, 1), y.flatten())"),
    ),
    mistake(
        "divided by all steps",
        "the sum over the steps that are there is divided by the number of all steps, padded ones included.",
        "the exercise",
        masked_loss,
        (_LOSS, f"({_EACH} * mask).mean()"),
    ),
    mistake(
        "scores set to zero",
        "the scores of padded steps are set to 0 and still counted: equal scores cost ln K, not nothing.",
        "the exercise",
        masked_loss,
        (_LOSS, "nn.functional.cross_entropy((scores * mask[:, :, None]).flatten(0, 1), y.flatten())"),
    ),
    mistake(
        "mean of the sequences' means",
        "each sequence's mean counts the same, so steps of short sequences count more; asked is the mean over all "
        "steps that are there.",
        "the exercise",
        masked_loss,
        (_LOSS, f"(({_EACH} * mask).sum(1) / mask.sum(1)).mean()"),
    ),
    mistake(
        "NLL on raw scores",
        "nll_loss is applied to raw scores; it expects log-probabilities, cross_entropy takes scores.",
        "flashlight#139, pytorch/examples PR#732",
        masked_loss,
        ("cross_entropy", "nll_loss"),
    ),
    mistake(
        "softmax before cross_entropy",
        "softmax is applied before cross_entropy, which applies it itself.",
        "flashlight#139",
        masked_loss,
        ("scores[mask]", "scores[mask].softmax(-1)"),
    ),
    mistake(
        "reshape for a transpose",
        "the scores are brought to (batch, class, time) by view or reshape, which mixes steps and classes; transpose "
        "the last two axes, or select the steps first.",
        "neon#311",
        masked_loss,
        (
            _LOSS,
            f"{_EACH}[mask].mean()".replace(
                "scores.transpose(1, 2)", "scores.reshape(len(scores), scores.shape[2], -1)"
            ),
        ),
    ),
    mistake(
        "sum over the steps",
        "the loss is summed over the steps; cross_entropy's own default, the mean, is asked for.",
        "the exercise",
        masked_loss,
        ("y[mask])", 'y[mask], reduction="sum")'),
    ),
    mistake(
        "loss as a number",
        "the loss is returned as a plain number; backward() needs the tensor.",
        "the exercise",
        masked_loss,
        (_LOSS, f"{_LOSS}.item()"),
    ),
)

_MEAN = "right[mask].double().mean().item()"

ACCURACY_MISTAKES = (
    mistake(
        "padding counted",
        "padded steps count too.",
        "the exercise",
        masked_accuracy,
        ("right[mask]", "right"),
    ),
    mistake(
        "divided by all steps",
        "the right steps are divided by the number of all steps, padded ones included.",
        "the exercise",
        masked_accuracy,
        ("right[mask]", "(right & mask)"),
    ),
    mistake(
        "padding counted as right",
        "padded steps count as right.",
        "the exercise",
        masked_accuracy,
        ("right[mask]", "(right | ~mask)"),
    ),
    mistake(
        "whole sequences",
        "a sequence counts as right when all of its steps are; asked is the share of single steps.",
        "the exercise",
        masked_accuracy,
        (_MEAN, "(right | ~mask).all(dim=1).double().mean().item()"),
    ),
    mistake(
        "mean of the sequences' shares",
        "each sequence's share counts the same, so steps of short sequences count more; asked is the share among all "
        "steps that are there.",
        "the exercise",
        masked_accuracy,
        (_MEAN, "((right & mask).sum(1) / mask.sum(1)).double().mean().item()"),
    ),
    mistake(
        "share of errors",
        "the share of wrong tags is returned; asked is that of right ones.",
        "the exercise",
        masked_accuracy,
        ("return right", "return 1 - right"),
    ),
)


def _tagger(name: str, hint: str, source: str, scores: Callable[[Any, Tensor, Tensor], Tensor]) -> Mistake:
    """A mistake in the tagger's forward pass."""

    class Wrong(Tagger):
        def forward(self, x: Tensor, lengths: Tensor) -> Tensor:
            return scores(self, x, lengths)

    return Mistake(name, hint, source, lambda: Wrong)


class _OneDirection(nn.Module):
    """A tagger that reads from the left alone."""

    def __init__(self, input_size: int, hidden_size: int, classes: int) -> None:
        super().__init__()
        self.layer = nn.GRU(input_size, hidden_size, batch_first=True)
        self.linear = nn.Linear(hidden_size, classes)

    def forward(self, x: Tensor, lengths: Tensor) -> Tensor:
        return self.linear(run_packed(self.layer, x, lengths)[0])


def _silenced(x: Tensor, lengths: Tensor) -> Tensor:
    return x * step_mask(lengths, x.shape[1])[:, :, None]


def _of_the_sorted(model: Any, x: Tensor, lengths: Tensor) -> Tensor:
    order = torch.argsort(lengths, descending=True, stable=True)
    return model.linear(run_packed(model.layer, x[order], lengths[order])[0])


def _of_the_last_state(model: Any, x: Tensor, lengths: Tensor) -> Tensor:
    h_n = run_packed(model.layer, x, lengths)[1]
    scores = model.linear(torch.cat([h_n[-2], h_n[-1]], dim=1))
    return scores[:, None].repeat(1, x.shape[1], 1)


TAGGER_MISTAKES = (
    _tagger(
        "padding read",
        "the lengths are ignored: the backward direction starts in the padding, so the scores change with it.",
        "pytorch#1811, haste#12",
        lambda model, x, lengths: model.linear(model.layer(x)[0]),
    ),
    _tagger(
        "padding set to zero",
        "the padding is set to 0 and then read: a step with input 0 still moves the state, by the biases. Pack the "
        "batch instead.",
        "haste#12",
        lambda model, x, lengths: model.linear(model.layer(_silenced(x, lengths))[0]),
    ),
    _tagger(
        "sorted and not put back",
        "the batch was sorted by length and not put back: the scores belong to other sequences.",
        "vsepp PR#36",
        _of_the_sorted,
    ),
    _tagger(
        "probabilities",
        "softmax is applied to the scores; cross_entropy takes raw scores and applies it itself.",
        "flashlight#139",
        lambda model, x, lengths: model.linear(run_packed(model.layer, x, lengths)[0]).softmax(-1),
    ),
    _tagger(
        "one answer for all steps",
        "the scores come from the last states and are the same at every step; a tag needs the output of its own step.",
        "the exercise",
        _of_the_last_state,
    ),
    Mistake(
        "one direction",
        "the layer reads from one side alone: bidirectional=True, and a linear layer that takes 2 * hidden_size.",
        "the exercise",
        lambda: _OneDirection,
    ),
)

TRAIN_MISTAKES = (
    Mistake(
        "one direction",
        "the model reads from the left alone: it knows the symbol before a step and has to guess the one after it, "
        "however long it is trained.",
        "the exercise",
        lambda: _trainer(_OneDirection),
    ),
    mistake(
        "parameters not from the generator",
        "the model keeps the parameters that it was built with, or a batch is drawn without the generator.",
        "the exercise",
        train_tagger,
        ("redraw(model, generator)", "pass"),
    ),
    mistake(
        "more updates than allowed",
        "the training goes on for more updates than the exercise allows.",
        "the exercise",
        train_tagger,
        ("range(100)", "range(300)"),
    ),
)


def _trainer(tagger: type[nn.Module]) -> Callable[..., nn.Module]:
    """The training, of another module."""
    from refcells.autotest.mistakes import edited

    return edited(train_tagger, Tagger=tagger)


# --- questions ------------------------------------------------------------------------------------------------------

QUESTIONS = {
    question.name: question
    for question in (
        Question(
            "tagging.pad",
            pad,
            (Output("padded batch x", ("batch", "time", "input")), Output("lengths", ("batch",))),
            _pad_cases,
            PAD_MISTAKES,
            probe=probes.padded,
        ),
        Question(
            "tagging.run_packed",
            run_packed,
            (
                Output("output", ("batch", "time", "2 hidden")),
                Output("last hidden states h_n", ("layers * directions", "batch", "hidden")),
            ),
            _packed_cases,
            PACKED_MISTAKES,
            probe=probes.run_packed,
        ),
        Question(
            "tagging.start_state",
            start_state,
            (Output("initial state h_0", ("layers * directions", "batch", "hidden")),),
            _start_cases,
            START_MISTAKES,
            probe=probes.start_state,
        ),
        Question(
            "tagging.step_mask",
            step_mask,
            (Output("mask", ("batch", "time")),),
            _mask_cases,
            MASK_MISTAKES,
            probe=probes.mask_of,
        ),
        Question(
            "tagging.masked_loss",
            masked_loss,
            (Output("loss"), Output("gradient of the scores", ("batch", "time", "class"))),
            _scored_cases,
            LOSS_MISTAKES,
            probe=probes.loss_of,
        ),
        Question(
            "tagging.masked_accuracy",
            masked_accuracy,
            (Output("accuracy"),),
            _scored_cases,
            ACCURACY_MISTAKES,
            probe=probes.accuracy_of,
        ),
        Question(
            "tagging.Tagger",
            Tagger,
            (Output("scores", ("batch", "time", "class")),),
            _tagger_cases,
            TAGGER_MISTAKES,
            probe=probes.tagged,
        ),
        Question(
            "tagging.train_tagger",
            train_tagger,
            (Output("accuracy"),),
            _train_cases,
            TRAIN_MISTAKES,
            probe=probes.trained_tagger,
            score=trained_probes.tagged,
            accept=_LEARNED,
            seconds=TRAINING,
        ),
    )
}

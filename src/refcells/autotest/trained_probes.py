"""What a training leaves, as plain arrays, and what a model with these arrays gets right.

The side that trained hands over the parameters of its model, in the order in which the model has them. The side that judges
puts them into a model of its own, draws sequences and counts, so that no accuracy is believed that another process claims.
What is left to a process that cheats: parameters that do the task, from wherever they come, made with more updates than are
allowed. Numbers that a layer turns into right answers for hundreds of sequences are not found without a training, also
where it is known which sequences are drawn; a right answer itself could be read off the input.

Like `refcells.autotest.probes`, this holds nothing of any answer: which model is to be built stands in the exercise.
"""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from refcells.autotest.calls import Unfit
from refcells.tasks import remember_first, tagging
from refcells.training import EveryStepClassifier, LastStepClassifier, accuracy

__all__ = [
    "ASKED",
    "HELD_OUT",
    "both_remembered",
    "held_out",
    "parameters_of",
    "remembered",
    "remembered_by_gru",
    "shares_remembered",
    "tagged",
]

Array = np.ndarray

HELD_OUT = 512

# Symbols and tags; hidden units that a model may have.
SYMBOLS, INPUTS, TAGS, MOST_UNITS = 8, 2, 4, 256

# What exercises ask to build, by a short name.
ASKED = {
    "rnn": "LastStepClassifier(nn.RNN(8, 32, batch_first=True), 32, 8)",
    "lstm": "LastStepClassifier(nn.LSTM(8, 32, batch_first=True), 32, 8)",
    "gru": "LastStepClassifier(nn.GRU(8, 32, batch_first=True), 32, 8)",
    "tagger": "Tagger(2, 16, 4)",
}
LAYERS: dict[str, Any] = {"rnn": nn.RNN, "lstm": nn.LSTM, "gru": nn.GRU}
# Blocks that stand on one another in a layer's recurrent weights: a gate's or a candidate's each.
BLOCKS = {"rnn": 1, "lstm": 4, "gru": 3, "tagger": 3}


def parameters_of(parameters: Iterable[Tensor]) -> list[Array]:
    """A model's parameters as arrays, in their order."""
    return [np.array(parameter.detach().numpy()) for parameter in parameters]


def remembered(
    parameters: Any, steps: int, symbols: int, most: int, enough: float, seed: int, kind: str
) -> float:
    """Share of held-out symbols that a classifier with these parameters names."""
    return _share_remembered(parameters, steps, seed, kind, symbols)


def remembered_by_gru(parameters: Any, steps: int, most: int, enough: float, seed: int) -> float:
    """As `remembered`, of a GRU."""
    return _share_remembered(parameters, steps, seed, "gru")


def both_remembered(parameters: Any, steps: int, bias: float, most: int, enough: float, seed: int) -> float:
    """The smaller share of an LSTM's and a GRU's."""
    return min(shares_remembered(parameters, steps, seed).values())


def shares_remembered(parameters: Any, steps: int, seed: int) -> dict[str, float]:
    """As `remembered`, of an LSTM and a GRU."""
    if not isinstance(parameters, dict):
        raise Unfit("no parameters came that can be read")
    return {kind: _share_remembered(parameters.get(kind), steps, seed, kind) for kind in ("lstm", "gru")}


def tagged(parameters: Any, steps: int, shortest: int, most: int, enough: float, seed: int) -> float:
    """Share of held-out tags that a bidirectional tagger with these parameters gets right."""
    x, y, lengths = tagging(HELD_OUT, steps, generator=held_out(seed), shortest=shortest)
    model = _model("tagger", parameters)
    with torch.no_grad():
        return accuracy(model(x, lengths), y)


def _share_remembered(parameters: Any, steps: int, seed: int, kind: str, symbols: int = SYMBOLS) -> float:
    x, y = remember_first(HELD_OUT, steps, symbols, generator=held_out(seed))
    model = _model(kind, parameters)
    with torch.no_grad():
        return accuracy(model(x), y)


def held_out(seed: int) -> torch.Generator:
    """Draws the sequences that a question's models are asked about; none of their trainings has this seed."""
    return torch.Generator().manual_seed(seed + 1)


def _model(kind: str, parameters: Any) -> nn.Module:
    """The model that an exercise asks for, with these parameters; the number of hidden units is theirs.

    Raises:
        Unfit: if they are not that model's.
    """
    arrays = _arrays(parameters)
    blocks = BLOCKS[kind]
    hidden = next((a.shape[1] for a in arrays if a.ndim == 2 and a.shape[0] == blocks * a.shape[1]), 0)
    if not 0 < hidden <= MOST_UNITS:
        raise _other(kind, arrays)
    # Making a module draws parameters that nobody needs from PyTorch's own generator.
    with torch.random.fork_rng(devices=[]):
        if kind == "tagger":
            layer = nn.GRU(INPUTS, hidden, batch_first=True, bidirectional=True)
            model: nn.Module = EveryStepClassifier(layer, 2 * hidden, TAGS)
        else:
            model = LastStepClassifier(LAYERS[kind](SYMBOLS, hidden, batch_first=True), hidden, SYMBOLS)
    left = list(arrays)
    if [array.ndim for array in left[:2]] == [2, 1]:
        left = [*left[2:], *left[:2]]  # the linear layer was made first
    with torch.no_grad():
        for parameter in model.parameters():
            # In any order, as groups of an optimiser may have them; of one shape, in the order in which they came.
            place = next((k for k, a in enumerate(left) if a.shape == tuple(parameter.shape)), None)
            if place is None:
                raise _other(kind, arrays)
            parameter.copy_(torch.from_numpy(left.pop(place)))
    if left:
        raise _other(kind, arrays)
    return model


def _arrays(parameters: Any) -> list[Array]:
    """What came, if it is a list of arrays of floats."""
    if isinstance(parameters, list | tuple):
        arrays = [p for p in parameters if isinstance(p, np.ndarray) and p.dtype in (np.float32, np.float64)]
        if len(arrays) == len(parameters):
            return arrays
    raise Unfit("no parameters came that can be read")


def _other(kind: str, arrays: Sequence[Array]) -> Unfit:
    shapes = ", ".join(str(array.shape) for array in arrays[:12]) or "none"
    return Unfit(f"the trained model's parameters are {shapes}; expected those of {ASKED[kind]}")

"""What the input gate is for: an LSTM with input gate and candidate against one with a single layer for both."""

from typing import Any

import torch
from torch import Tensor, nn

from refcells.experiments import Experiment
from refcells.experiments.lstm import remember_first_close
from refcells.training import LastStepClassifier, fit, redraw

__all__ = ["EXPERIMENTS", "Writer", "content_control"]


class Writer(nn.Module):
    """A batch-first LSTM layer whose input gate can be left out: `tanh(a_g)` is then written whole, at each step.

    Args:
        input_size: width of the inputs.
        hidden_size: width of the states.
        merged: leave the input gate out.
    """

    def __init__(self, input_size: int, hidden_size: int, merged: bool) -> None:
        super().__init__()
        self.hidden_size, self.blocks = hidden_size, 3 if merged else 4
        self.W_x = nn.Parameter(torch.empty(self.blocks * hidden_size, input_size))
        self.W_h = nn.Parameter(torch.empty(self.blocks * hidden_size, hidden_size))
        self.b = nn.Parameter(torch.empty(self.blocks * hidden_size))

    def forward(self, x: Tensor) -> tuple[Tensor, tuple[Tensor, Tensor]]:
        """All hidden states (batch, time, hidden) of x (batch, time, input), and the last `(h, c)`."""
        h = c = x.new_zeros(x.shape[0], self.hidden_size)
        outputs = []
        for a_x in (x @ self.W_x.T + self.b).unbind(1):
            a_f, a_o, a_g, *a_i = (a_x + h @ self.W_h.T).chunk(self.blocks, dim=1)
            written = torch.tanh(a_g) * torch.sigmoid(a_i[0]) if a_i else torch.tanh(a_g)
            c = torch.sigmoid(a_f) * c + written
            h = torch.sigmoid(a_o) * torch.tanh(c)
            outputs.append(h)
        return torch.stack(outputs, dim=1), (h, c)


def content_control(
    merged: bool, lr: float, seed: int, steps: int, updates: int, symbols: int = 8, hidden: int = 32
) -> dict[str, Any]:
    """Train a `Writer` to name the first symbol, while symbols of another alphabet follow that must be ignored.

    Both kinds start with chrono forget biases; the input gate, where there is one, with their negatives.

    Args:
        merged: whether the input gate is left out.
        lr: Adam's learning rate.
        seed: seed of weights, training and held-out sequences.
        steps: sequence length, in time steps.
        updates: largest number of updates; a run stops early at 99.5 percent.
        symbols: number of symbols in each of the two alphabets; chance is 1 / symbols.
        hidden: width of the states.

    Returns:
        'accuracy' on 512 held-out sequences, and 'reached', the updates after which 99.5 percent were reached.
    """
    generator = torch.Generator().manual_seed(seed)

    def draw(batch: int) -> tuple[Tensor, Tensor]:
        y = torch.randint(symbols, (batch,), generator=generator)
        shown = symbols + torch.randint(symbols, (batch, steps), generator=generator)
        shown[:, 0] = y
        return nn.functional.one_hot(shown, 2 * symbols).float(), y

    layer = Writer(2 * symbols, hidden, merged)
    model = LastStepClassifier(layer, hidden, symbols)
    redraw(model, generator)
    with torch.no_grad():
        layer.b[:hidden] = torch.empty(hidden).uniform_(1, steps - 1, generator=generator).log()
        if not merged:
            layer.b[3 * hidden :] = -layer.b[:hidden]
    history = fit(model, lambda: draw(64), draw(512), lr=lr, updates=updates, target=0.995)
    return {"accuracy": round(history.metric[-1], 4), "reached": history.reached}


PARTS = [
    {"merged": merged, "lr": lr, "seed": seed, "steps": 20, "updates": 300}
    for merged in (False, True)
    for lr in (0.003, 0.01, 0.03)
    for seed in range(3)
]
SAMPLE = [
    PARTS.index({"merged": m, "lr": 0.01, "seed": 0, "steps": 20, "updates": 300}) for m in (False, True)
]

EXPERIMENTS = [Experiment("lstm-content-control", content_control, PARTS, SAMPLE, remember_first_close)]

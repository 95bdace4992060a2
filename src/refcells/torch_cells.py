"""The same cells as PyTorch modules, with PyTorch's parameter names and shapes.

A state dict of `nn.LSTMCell` or `nn.LSTM` loads into the module of the same name here, and the other way round. All
four blocks of an LSTM's gates come out of one matrix product and are split afterwards.
"""

import math
from collections.abc import Iterator

import torch
from torch import Tensor, nn

__all__ = ["LSTM", "LSTMCell", "chrono_init", "set_forget_bias"]


def _lstm_update(a: Tensor, c_prev: Tensor) -> tuple[Tensor, Tensor]:
    """From stacked pre-activations and the previous cell state to `(h, c)`."""
    a_i, a_f, a_g, a_o = a.chunk(4, dim=-1)
    c = torch.sigmoid(a_f) * c_prev + torch.sigmoid(a_i) * torch.tanh(a_g)
    return torch.sigmoid(a_o) * torch.tanh(c), c


class LSTMCell(nn.Module):
    r"""One LSTM step, gates fused in one matrix product.

    $$a = x_t W_{ih}^\top + b_{ih} + h_{t-1} W_{hh}^\top + b_{hh}, \qquad
      c_t = \sigma(a_f) \odot c_{t-1} + \sigma(a_i) \odot \tanh(a_g), \qquad h_t = \sigma(a_o) \odot \tanh(c_t)$$

    Args:
        input_size: width of $x_t$.
        hidden_size: width of $h_t$ and $c_t$.

    Attributes:
        weight_ih: (4 * hidden, input), gates stacked i, f, g, o.
        weight_hh: (4 * hidden, hidden).
        bias_ih: (4 * hidden,).
        bias_hh: (4 * hidden,); only the sum of the two biases matters.

    Source:
        `torch.nn.LSTMCell`, whose initialisation it shares: uniform in $\pm 1/\sqrt{hidden}$.
    """

    def __init__(self, input_size: int, hidden_size: int) -> None:
        super().__init__()
        self.input_size, self.hidden_size = input_size, hidden_size
        self.weight_ih = nn.Parameter(torch.empty(4 * hidden_size, input_size))
        self.weight_hh = nn.Parameter(torch.empty(4 * hidden_size, hidden_size))
        self.bias_ih = nn.Parameter(torch.empty(4 * hidden_size))
        self.bias_hh = nn.Parameter(torch.empty(4 * hidden_size))
        bound = 1 / math.sqrt(hidden_size)
        for parameter in self.parameters():
            nn.init.uniform_(parameter, -bound, bound)

    def forward(self, x: Tensor, state: tuple[Tensor, Tensor] | None = None) -> tuple[Tensor, Tensor]:
        """One step: `x` (batch, input) and `(h, c)`, each (batch, hidden), to the next `(h, c)`."""
        if state is None:
            zeros = x.new_zeros(x.shape[0], self.hidden_size)
            state = (zeros, zeros)
        h_prev, c_prev = state
        a = x @ self.weight_ih.T + self.bias_ih + h_prev @ self.weight_hh.T + self.bias_hh
        return _lstm_update(a, c_prev)


class LSTM(nn.Module):
    """One LSTM layer over a whole sequence; loads the state dict of a one-layer `nn.LSTM`.

    Args:
        input_size: width of the inputs.
        hidden_size: width of the states.
        batch_first: whether sequences come as (batch, time, input), as everywhere in this course.
    """

    def __init__(self, input_size: int, hidden_size: int, batch_first: bool = True) -> None:
        super().__init__()
        self.input_size, self.hidden_size, self.batch_first = input_size, hidden_size, batch_first
        self.weight_ih_l0 = nn.Parameter(torch.empty(4 * hidden_size, input_size))
        self.weight_hh_l0 = nn.Parameter(torch.empty(4 * hidden_size, hidden_size))
        self.bias_ih_l0 = nn.Parameter(torch.empty(4 * hidden_size))
        self.bias_hh_l0 = nn.Parameter(torch.empty(4 * hidden_size))
        bound = 1 / math.sqrt(hidden_size)
        for parameter in self.parameters():
            nn.init.uniform_(parameter, -bound, bound)

    def forward(
        self, x: Tensor, state: tuple[Tensor, Tensor] | None = None
    ) -> tuple[Tensor, tuple[Tensor, Tensor]]:
        """Walk over `x`: `(output, (h_n, c_n))`, the last two (1, batch, hidden) as in PyTorch."""
        if self.batch_first:
            x = x.transpose(0, 1)
        if state is None:
            zeros = x.new_zeros(x.shape[1], self.hidden_size)
            h, c = zeros, zeros
        else:
            h, c = state[0][0], state[1][0]
        a_x = x @ self.weight_ih_l0.T + (self.bias_ih_l0 + self.bias_hh_l0)
        recurrent = self.weight_hh_l0.T
        outputs = []
        for a in a_x:
            h, c = _lstm_update(a + h @ recurrent, c)
            outputs.append(h)
        output = torch.stack(outputs, dim=1 if self.batch_first else 0)
        return output, (h[None], c[None])


def _gate_biases(module: nn.Module, accepted: dict[int, str]) -> Iterator[tuple[int, Tensor, Tensor]]:
    """Every `(blocks, bias_ih, bias_hh)` inside `module`, where `blocks` gates are stacked in each bias.

    Raises:
        ValueError: if there is none, or if a bias stacks a number of blocks that is not accepted.
    """
    found = False
    for part in module.modules():
        own = dict(part.named_parameters(recurse=False))
        for name, bias_ih in own.items():
            if not name.startswith("bias_ih"):
                continue
            suffix = name.removeprefix("bias_ih")
            hidden = getattr(part, "hidden_size", own[f"weight_hh{suffix}"].shape[1])
            blocks = bias_ih.shape[0] // hidden
            if blocks not in accepted:
                raise ValueError(
                    f"{type(part).__name__}.{name} stacks {blocks} gate block{'s' * (blocks != 1)}; "
                    f"expected {' or '.join(f'{n} ({cell})' for n, cell in accepted.items())}"
                )
            found = True
            yield blocks, bias_ih, own[f"bias_hh{suffix}"]
    if not found:
        raise ValueError(
            f"{type(module).__name__} holds no recurrent biases; expected {' or '.join(accepted.values())}"
        )


@torch.no_grad()
def set_forget_bias(module: nn.Module, value: float = 1.0) -> None:
    """Set the forget gate's bias of every LSTM in `module` to `value`, all of it in `bias_ih`.

    PyTorch adds two biases, so setting both to 1 would give 2: `bias_hh`'s share is set to 0.

    Args:
        module: an LSTM or LSTMCell, ours or PyTorch's, or a module that holds some and no other recurrent cell.
        value: the bias that the forget gate shall have.

    Raises:
        ValueError: if `module` holds no LSTM biases, or those of another cell.

    Source:
        Gers, Schmidhuber and Cummins (2000); Jozefowicz, Zaremba and Sutskever (2015).
    """
    for _, bias_ih, bias_hh in list(_gate_biases(module, {4: "an LSTM"})):
        bias_ih.chunk(4)[1].fill_(value)
        bias_hh.chunk(4)[1].zero_()


@torch.no_grad()
def chrono_init(module: nn.Module, longest: int, generator: torch.Generator) -> None:
    r"""Spread the memory of a gated cell over time spans up to `longest`, by the biases of its gates.

    A forget gate that stays at $f$ keeps a memory for about $1 / (1 - f)$ steps; $f = \sigma(\log(u))$ gives
    $1 + u$. With a fresh $u \sim U(1, T_{max} - 1)$ for each unit, the units start out with spans from 2 to $T_{max}$:

    $$\text{LSTM:} \quad b_f = \log u, \quad b_i = -b_f \qquad\qquad \text{GRU:} \quad b_z = \log u$$

    That is the GRU in PyTorch's convention $h_t = z \odot h_{t-1} + (1 - z) \odot n$, in which $z$ keeps. In this
    course's convention $h_t = (1 - z) \odot h_{t-1} + z \odot n$ it is $b_z = -\log u$. Each bias is put in `bias_ih`,
    and `bias_hh`'s share of it is set to 0; all other parameters stay as they are.

    Args:
        module: an LSTM, LSTMCell, GRU or GRUCell, ours or PyTorch's, or a module that holds some.
        longest: the longest dependency $T_{max}$ that is expected, in time steps.
        generator: source of the draws $u$.

    Raises:
        ValueError: if `longest` is below 2, or `module` holds no gated cell, or a plain RNN.

    Source:
        Tallec and Ollivier (2018), section 2.
    """
    if longest < 2:
        raise ValueError(f"longest is {longest}; expected at least 2 time steps")
    for blocks, bias_ih, bias_hh in list(_gate_biases(module, {3: "a GRU", 4: "an LSTM"})):
        span = torch.empty_like(bias_ih.chunk(blocks)[1]).uniform_(1.0, longest - 1.0, generator=generator)
        bias_ih.chunk(blocks)[1].copy_(span.log())
        bias_hh.chunk(blocks)[1].zero_()
        if blocks == 4:
            bias_ih.chunk(4)[0].copy_(-span.log())
            bias_hh.chunk(4)[0].zero_()

"""The same cells as PyTorch modules, with PyTorch's parameter names and shapes.

A state dict of `nn.LSTMCell` or `nn.LSTM` loads into the module of the same name here, and the other way round. All
four blocks of an LSTM's gates come out of one matrix product and are split afterwards.
"""

import math

import torch
from torch import Tensor, nn

__all__ = ["LSTM", "LSTMCell", "set_forget_bias"]


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


@torch.no_grad()
def set_forget_bias(module: nn.Module, value: float = 1.0) -> None:
    """Set the forget gate's bias of every LSTM parameter in `module` to `value`, all of it in `bias_ih`.

    PyTorch adds two biases, so setting both to 1 would give 2: `bias_hh`'s share is set to 0.

    Args:
        module: an LSTM or LSTMCell, ours or PyTorch's, or any module whose `bias_ih*` and `bias_hh*` are LSTM biases.
        value: the bias that the forget gate shall have.

    Source:
        Gers, Schmidhuber and Cummins (2000); Jozefowicz, Zaremba and Sutskever (2015).
    """
    for name, parameter in module.named_parameters():
        kind = name.rpartition(".")[2]
        if kind.startswith(("bias_ih", "bias_hh")):
            hidden = parameter.shape[0] // 4
            parameter[hidden : 2 * hidden] = value if kind.startswith("bias_ih") else 0.0

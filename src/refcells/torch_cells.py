"""The same cells as PyTorch modules, with PyTorch's parameter names and shapes.

A state dict of `nn.RNNCell`, `nn.LSTMCell`, `nn.GRUCell`, `nn.RNN`, `nn.LSTM` or `nn.GRU` loads into the
module of the same name here, and the other way round. All blocks of a cell's gates come out of one matrix
product and are split afterwards; a layer takes the input's share of that product for all time steps at once.

The equations stand in three functions, `_rnn_update`, `_lstm_update` and `_gru_update`. A cell calls its
function once, a layer once a time step; only the LSTM layer's walk over full sequences is arranged for speed
(`_LSTMWalk`), and the tests hold it equal to the plain one. The GRU is PyTorch's: its z is the share of the
old state that is kept.
"""

import math
from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor, nn
from torch.autograd import Function
from torch.nn.functional import linear

__all__ = ["GRU", "LSTM", "RNN", "GRUCell", "LSTMCell", "RNNCell", "chrono_init", "set_forget_bias"]

States = tuple[Tensor, ...]
"""All states of a cell, each (batch, hidden): `(h,)` for an RNN or GRU, `(h, c)` for an LSTM."""


# ----------------------------------------------------------------------------------------------------
# The equations
# ----------------------------------------------------------------------------------------------------


def _rnn_update(a: Tensor, nonlinearity: str) -> Tensor:
    """From pre-activations to h."""
    return torch.tanh(a) if nonlinearity == "tanh" else torch.relu(a)


def _lstm_update(a: Tensor, c_prev: Tensor) -> tuple[Tensor, Tensor]:
    """From stacked pre-activations and the previous cell state to `(h, c)`."""
    a_i, a_f, a_g, a_o = a.chunk(4, dim=-1)
    c = torch.sigmoid(a_f) * c_prev + torch.sigmoid(a_i) * torch.tanh(a_g)
    return torch.sigmoid(a_o) * torch.tanh(c), c


def _gru_update(a_x: Tensor, h_prev: Tensor, W_hh: Tensor, b_hh: Tensor, reset_after: bool) -> Tensor:
    """From the input's share x W_ih^T + b_ih of the pre-activations and the old state to the new one."""
    hidden = h_prev.shape[-1]
    a_xr, a_xz, a_xn = a_x.chunk(3, dim=-1)
    if reset_after:
        a_hr, a_hz, a_hn = linear(h_prev, W_hh, b_hh).chunk(3, dim=-1)
        r, z = torch.sigmoid(a_xr + a_hr), torch.sigmoid(a_xz + a_hz)
        n = torch.tanh(a_xn + r * a_hn)
    else:
        a_hr, a_hz = linear(h_prev, W_hh[: 2 * hidden], b_hh[: 2 * hidden]).chunk(2, dim=-1)
        r, z = torch.sigmoid(a_xr + a_hr), torch.sigmoid(a_xz + a_hz)
        n = torch.tanh(a_xn + linear(r * h_prev, W_hh[2 * hidden :], b_hh[2 * hidden :]))
    return (1.0 - z) * n + z * h_prev


# ----------------------------------------------------------------------------------------------------
# Cells: one time step
# ----------------------------------------------------------------------------------------------------


class _Cell(nn.Module):
    """What the three cells share: parameters, their initialisation, and checks of what comes in."""

    blocks: int
    state_names: tuple[str, ...] = ("h",)

    def __init__(self, input_size: int, hidden_size: int, generator: torch.Generator | None = None) -> None:
        super().__init__()
        _check_positive(input_size=input_size, hidden_size=hidden_size)
        self.input_size, self.hidden_size = input_size, hidden_size
        rows = self.blocks * hidden_size
        self.weight_ih = nn.Parameter(torch.empty(rows, input_size))
        self.weight_hh = nn.Parameter(torch.empty(rows, hidden_size))
        self.bias_ih = nn.Parameter(torch.empty(rows))
        self.bias_hh = nn.Parameter(torch.empty(rows))
        _draw(self, hidden_size, generator)

    def _share_and_states(self, x: Tensor, states: States | None) -> tuple[Tensor, States]:
        """The input's share of the pre-activations, and the states, zeros if None."""
        _check_input(x, ("batch", "input"), self.input_size, self.weight_ih.dtype)
        shape = (x.shape[0], self.hidden_size)
        if states is None:
            states = (x.new_zeros(shape),) * len(self.state_names)
        else:
            _check_states(states, self.state_names, ("batch", "hidden"), shape, x.dtype)
        return linear(x, self.weight_ih, self.bias_ih), states

    def extra_repr(self) -> str:
        """Sizes, for `print(cell)`."""
        return f"{self.input_size}, {self.hidden_size}"


class RNNCell(_Cell):
    r"""One step of a plain RNN.

    $$h_t = \tanh(x_t W_{ih}^\top + b_{ih} + h_{t-1} W_{hh}^\top + b_{hh})$$

    Args:
        input_size: width of $x_t$.
        hidden_size: width of $h_t$.
        nonlinearity: 'tanh' or 'relu'.
        generator: source of the initial parameters; PyTorch's default generator if None.

    Attributes:
        weight_ih: (hidden, input).
        weight_hh: (hidden, hidden).
        bias_ih: (hidden,).
        bias_hh: (hidden,); only the sum of the two biases matters.

    Raises:
        ValueError: if a size is not positive, or for another nonlinearity.

    Source:
        `torch.nn.RNNCell`, whose initialisation it shares: uniform in $\pm 1/\sqrt{hidden}$.
    """

    blocks = 1

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        nonlinearity: str = "tanh",
        *,
        generator: torch.Generator | None = None,
    ) -> None:
        _check_nonlinearity(nonlinearity)
        super().__init__(input_size, hidden_size, generator)
        self.nonlinearity = nonlinearity

    def forward(self, x: Tensor, state: Tensor | None = None) -> Tensor:
        """One step: `x` (batch, input) and h (batch, hidden), zeros if None, to the next h.

        Raises:
            ValueError: for a wrong type, dtype or shape, an empty axis, or a number that is not finite.
        """
        a_x, (h,) = self._share_and_states(x, None if state is None else (state,))
        return _rnn_update(a_x + linear(h, self.weight_hh, self.bias_hh), self.nonlinearity)


class LSTMCell(_Cell):
    r"""One LSTM step, gates fused in one matrix product.

    $$a = x_t W_{ih}^\top + b_{ih} + h_{t-1} W_{hh}^\top + b_{hh}$$
    $$c_t = \sigma(a_f) \odot c_{t-1} + \sigma(a_i) \odot \tanh(a_g), \qquad
      h_t = \sigma(a_o) \odot \tanh(c_t)$$

    Args:
        input_size: width of $x_t$.
        hidden_size: width of $h_t$ and $c_t$.
        generator: source of the initial parameters; PyTorch's default generator if None.

    Attributes:
        weight_ih: (4 * hidden, input), gates stacked i, f, g, o.
        weight_hh: (4 * hidden, hidden).
        bias_ih: (4 * hidden,).
        bias_hh: (4 * hidden,); only the sum of the two biases matters.

    Raises:
        ValueError: if a size is not positive.

    Source:
        `torch.nn.LSTMCell`, whose initialisation it shares: uniform in $\pm 1/\sqrt{hidden}$.
    """

    blocks = 4
    state_names = ("h", "c")

    def __init__(
        self, input_size: int, hidden_size: int, *, generator: torch.Generator | None = None
    ) -> None:
        super().__init__(input_size, hidden_size, generator)

    def forward(self, x: Tensor, state: tuple[Tensor, Tensor] | None = None) -> tuple[Tensor, Tensor]:
        """One step: `x` (batch, input) and `(h, c)`, each (batch, hidden), to the next `(h, c)`.

        The states are zeros if None.

        Raises:
            ValueError: for a wrong type, dtype or shape, an empty axis, or a number that is not finite.
        """
        a_x, (h, c) = self._share_and_states(x, state)
        return _lstm_update(a_x + linear(h, self.weight_hh, self.bias_hh), c)


class GRUCell(_Cell):
    r"""One GRU step, in PyTorch's convention: z is the share of the old state that is kept.

    $$r = \sigma(a_{xr} + a_{hr}), \quad z = \sigma(a_{xz} + a_{hz}), \quad
      n = \tanh(a_{xn} + r \odot a_{hn})$$
    $$h_t = (1 - z) \odot n + z \odot h_{t-1}$$

    with $a_x = x_t W_{ih}^\top + b_{ih}$ and $a_h = h_{t-1} W_{hh}^\top + b_{hh}$. With `reset_after=False`
    the reset gate multiplies the state before the product,
    $a_{hn} = (r \odot h_{t-1}) W_{hn}^\top + b_{hn}$ and $n = \tanh(a_{xn} + a_{hn})$: another function,
    the one of Cho et al. (2014) and of `refcells.vector.gru_step`.

    Args:
        input_size: width of $x_t$.
        hidden_size: width of $h_t$.
        reset_after: whether the reset gate comes after the matrix product, as in PyTorch.
        generator: source of the initial parameters; PyTorch's default generator if None.

    Attributes:
        weight_ih: (3 * hidden, input), gates stacked r, z, n.
        weight_hh: (3 * hidden, hidden).
        bias_ih: (3 * hidden,).
        bias_hh: (3 * hidden,).

    Raises:
        ValueError: if a size is not positive.

    Source:
        `torch.nn.GRUCell`, whose initialisation it shares: uniform in $\pm 1/\sqrt{hidden}$.
    """

    blocks = 3

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        *,
        reset_after: bool = True,
        generator: torch.Generator | None = None,
    ) -> None:
        super().__init__(input_size, hidden_size, generator)
        self.reset_after = reset_after

    def forward(self, x: Tensor, state: Tensor | None = None) -> Tensor:
        """One step: `x` (batch, input) and h (batch, hidden), zeros if None, to the next h.

        Raises:
            ValueError: for a wrong type, dtype or shape, an empty axis, or a number that is not finite.
        """
        a_x, (h,) = self._share_and_states(x, None if state is None else (state,))
        return _gru_update(a_x, h, self.weight_hh, self.bias_hh, self.reset_after)


# ----------------------------------------------------------------------------------------------------
# Layers: a whole sequence
# ----------------------------------------------------------------------------------------------------


class _Layers(nn.Module):
    """What the three layers share: stacking, directions, lengths, and the walk over time.

    A subclass gives `_update`, one step; it may give a faster `_walk` as well.
    """

    blocks: int
    state_names: tuple[str, ...] = ("h",)
    weight_ih_l0: nn.Parameter

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        num_layers: int,
        batch_first: bool,
        bidirectional: bool,
        generator: torch.Generator | None,
    ) -> None:
        super().__init__()
        _check_positive(input_size=input_size, hidden_size=hidden_size, num_layers=num_layers)
        self.input_size, self.hidden_size, self.num_layers = input_size, hidden_size, num_layers
        self.batch_first, self.bidirectional = batch_first, bidirectional
        rows = self.blocks * hidden_size
        for layer in range(num_layers):
            width = input_size if layer == 0 else hidden_size * (1 + bidirectional)
            for suffix in self._suffixes(layer):
                self.register_parameter(f"weight_ih{suffix}", nn.Parameter(torch.empty(rows, width)))
                self.register_parameter(f"weight_hh{suffix}", nn.Parameter(torch.empty(rows, hidden_size)))
                self.register_parameter(f"bias_ih{suffix}", nn.Parameter(torch.empty(rows)))
                self.register_parameter(f"bias_hh{suffix}", nn.Parameter(torch.empty(rows)))
        _draw(self, hidden_size, generator)

    def _suffixes(self, layer: int) -> list[str]:
        """What the parameters of a layer's directions are called, in PyTorch's way."""
        return [f"_l{layer}", f"_l{layer}_reverse"] if self.bidirectional else [f"_l{layer}"]

    def _update(self, a_x: Tensor, states: States, W_hh: Tensor, b_hh: Tensor) -> States:
        """One time step, from the input's share of the pre-activations and the old states to the new ones."""
        raise NotImplementedError

    def _walk(
        self, x: Tensor, states: States, alive: Tensor | None, weights: tuple[Tensor, Tensor, Tensor, Tensor]
    ) -> tuple[Tensor, States]:
        """One layer in one direction: `x` (time, batch, width) to the outputs and the last states."""
        W_ih, W_hh, b_ih, b_hh = weights
        outputs = []
        for t, a_x in enumerate(linear(x, W_ih, b_ih).unbind(0)):
            new = self._update(a_x, states, W_hh, b_hh)
            if alive is not None:
                new = tuple(
                    torch.where(alive[t], after, before) for after, before in zip(new, states, strict=True)
                )
            states = new
            outputs.append(states[0])
        output = torch.stack(outputs)
        return output if alive is None else output * alive, states

    def _run(self, x: Tensor, states: States | None, lengths: Tensor | None) -> tuple[Tensor, States]:
        """All layers and directions: the outputs, laid out as `x` is, and the last states."""
        axes = ("batch", "time", "input") if self.batch_first else ("time", "batch", "input")
        _check_input(x, axes, self.input_size, self.weight_ih_l0.dtype)
        if self.batch_first:
            x = x.transpose(0, 1).contiguous()
        steps, batch, _ = x.shape
        walks = self.num_layers * (1 + self.bidirectional)
        shape = (walks, batch, self.hidden_size)
        if states is None:
            states = (x.new_zeros(shape),) * len(self.state_names)
        else:
            axes = ("layers * directions", "batch", "hidden")
            _check_states(states, self.state_names, axes, shape, x.dtype)

        alive, backwards = None, None
        if lengths is not None:
            lengths = _check_lengths(lengths, batch, steps, x.device)
            time = torch.arange(steps, device=x.device)[:, None]
            alive = (time < lengths)[:, :, None]
            # Each sequence is reversed within its own length; its padding stays where it is.
            backwards = torch.where(time < lengths, lengths - 1 - time, time)[:, :, None]

        last: list[States] = []
        for layer in range(self.num_layers):
            outputs = []
            for suffix in self._suffixes(layer):
                weights = tuple(
                    getattr(self, kind + suffix) for kind in ("weight_ih", "weight_hh", "bias_ih", "bias_hh")
                )
                first = tuple(state[len(last)] for state in states)
                reverse = suffix.endswith("reverse")
                seen = _reversed(x, backwards) if reverse else x
                output, after = self._walk(seen, first, alive, weights)
                outputs.append(_reversed(output, backwards) if reverse else output)
                last.append(after)
            x = torch.cat(outputs, dim=-1) if self.bidirectional else outputs[0]
        output = x.transpose(0, 1) if self.batch_first else x
        return output, tuple(torch.stack(kind) for kind in zip(*last, strict=True))

    def extra_repr(self) -> str:
        """Sizes and switches, for `print(layer)`."""
        text = f"{self.input_size}, {self.hidden_size}, batch_first={self.batch_first}"
        if self.num_layers != 1:
            text += f", num_layers={self.num_layers}"
        return text + (", bidirectional=True" if self.bidirectional else "")


class RNN(_Layers):
    """One or more plain RNN layers over whole sequences, with the parameters of an `nn.RNN`.

    Args:
        input_size: width of the inputs.
        hidden_size: width of the states.
        nonlinearity: 'tanh' or 'relu'.
        num_layers: number of layers, each reading the outputs of the one below.
        batch_first: whether sequences come as (batch, time, input), as everywhere in this course.
        bidirectional: whether each layer also reads backwards; outputs are then concatenated, forward first.
        generator: source of the initial parameters; PyTorch's default generator if None.

    Raises:
        ValueError: if a size is not positive, or for another nonlinearity.

    Source:
        Elman (1990); `torch.nn.RNN`.
    """

    blocks = 1

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        *,
        nonlinearity: str = "tanh",
        num_layers: int = 1,
        batch_first: bool = True,
        bidirectional: bool = False,
        generator: torch.Generator | None = None,
    ) -> None:
        _check_nonlinearity(nonlinearity)
        super().__init__(input_size, hidden_size, num_layers, batch_first, bidirectional, generator)
        self.nonlinearity = nonlinearity

    def _update(self, a_x: Tensor, states: States, W_hh: Tensor, b_hh: Tensor) -> States:
        return (_rnn_update(a_x + linear(states[0], W_hh, b_hh), self.nonlinearity),)

    def forward(
        self, x: Tensor, state: Tensor | None = None, lengths: Tensor | None = None
    ) -> tuple[Tensor, Tensor]:
        """Walk over `x`: `(output, h_n)`, h_n (layers * directions, batch, hidden).

        Args:
            x: sequences (batch, time, input), padded to a common number of time steps.
            state: initial h (layers * directions, batch, hidden); zeros if None.
            lengths: number of time steps of each sequence (batch,). A step past it holds the state, and its
                output is 0, as with packed sequences.

        Raises:
            ValueError: for a wrong type, dtype or shape, an empty axis, a number that is not finite, or a
                length outside 1..T.
        """
        output, (h_n,) = self._run(x, None if state is None else (state,), lengths)
        return output, h_n


class LSTM(_Layers):
    """One or more LSTM layers over whole sequences, with the parameters of an `nn.LSTM`.

    Args:
        input_size: width of the inputs.
        hidden_size: width of the states.
        num_layers: number of layers, each reading the outputs of the one below.
        batch_first: whether sequences come as (batch, time, input), as everywhere in this course.
        bidirectional: whether each layer also reads backwards; outputs are then concatenated, forward first.
        generator: source of the initial parameters; PyTorch's default generator if None.

    Raises:
        ValueError: if a size is not positive.

    Source:
        Gers, Schmidhuber and Cummins (2000), section 3; `torch.nn.LSTM`.
    """

    blocks = 4
    state_names = ("h", "c")

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        *,
        num_layers: int = 1,
        batch_first: bool = True,
        bidirectional: bool = False,
        generator: torch.Generator | None = None,
    ) -> None:
        super().__init__(input_size, hidden_size, num_layers, batch_first, bidirectional, generator)

    def _update(self, a_x: Tensor, states: States, W_hh: Tensor, b_hh: Tensor) -> States:
        return _lstm_update(a_x + linear(states[0], W_hh, b_hh), states[1])

    def _walk(
        self, x: Tensor, states: States, alive: Tensor | None, weights: tuple[Tensor, Tensor, Tensor, Tensor]
    ) -> tuple[Tensor, States]:
        if alive is not None:
            return super()._walk(x, states, alive, weights)
        W_ih, W_hh, b_ih, b_hh = weights
        h0, c0 = states
        output, c_n = _LSTMWalk.apply(x, h0, c0, W_ih, W_hh, b_ih + b_hh, torch.is_grad_enabled())
        return output, (output[-1], c_n)

    def forward(
        self, x: Tensor, state: tuple[Tensor, Tensor] | None = None, lengths: Tensor | None = None
    ) -> tuple[Tensor, tuple[Tensor, Tensor]]:
        """Walk over `x`: `(output, (h_n, c_n))`, h_n and c_n (layers * directions, batch, hidden).

        Args:
            x: sequences (batch, time, input), padded to a common number of time steps.
            state: initial `(h, c)`, each (layers * directions, batch, hidden); zeros if None.
            lengths: number of time steps of each sequence (batch,). A step past it holds both states, and
                its output is 0, as with packed sequences.

        Raises:
            ValueError: for a wrong type, dtype or shape, an empty axis, a number that is not finite, or a
                length outside 1..T.
        """
        output, (h_n, c_n) = self._run(x, state, lengths)
        return output, (h_n, c_n)


class GRU(_Layers):
    """One or more GRU layers over whole sequences, with the parameters of an `nn.GRU`.

    Args:
        input_size: width of the inputs.
        hidden_size: width of the states.
        reset_after: whether the reset gate comes after the matrix product, as in PyTorch; see `GRUCell`.
        num_layers: number of layers, each reading the outputs of the one below.
        batch_first: whether sequences come as (batch, time, input), as everywhere in this course.
        bidirectional: whether each layer also reads backwards; outputs are then concatenated, forward first.
        generator: source of the initial parameters; PyTorch's default generator if None.

    Raises:
        ValueError: if a size is not positive.

    Source:
        Cho et al. (2014); `torch.nn.GRU`.
    """

    blocks = 3

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        *,
        reset_after: bool = True,
        num_layers: int = 1,
        batch_first: bool = True,
        bidirectional: bool = False,
        generator: torch.Generator | None = None,
    ) -> None:
        super().__init__(input_size, hidden_size, num_layers, batch_first, bidirectional, generator)
        self.reset_after = reset_after

    def _update(self, a_x: Tensor, states: States, W_hh: Tensor, b_hh: Tensor) -> States:
        return (_gru_update(a_x, states[0], W_hh, b_hh, self.reset_after),)

    def forward(
        self, x: Tensor, state: Tensor | None = None, lengths: Tensor | None = None
    ) -> tuple[Tensor, Tensor]:
        """Walk over `x`: `(output, h_n)`, h_n (layers * directions, batch, hidden).

        Args:
            x: sequences (batch, time, input), padded to a common number of time steps.
            state: initial h (layers * directions, batch, hidden); zeros if None.
            lengths: number of time steps of each sequence (batch,). A step past it holds the state, and its
                output is 0, as with packed sequences.

        Raises:
            ValueError: for a wrong type, dtype or shape, an empty axis, a number that is not finite, or a
                length outside 1..T.
        """
        output, (h_n,) = self._run(x, None if state is None else (state,), lengths)
        return output, h_n


class _LSTMWalk(Function):
    r"""The plain walk of an LSTM layer, `_lstm_update` T times, arranged for speed, its BPTT written by hand.

    Autograd keeps a node for each operation of each step, and adds up the gradient of the recurrent weights T
    times. Here a step writes into buffers made once, and that gradient is one product at the end, as in
    `refcells.backward`.

    torch computes a sigmoid several times as fast as a tanh, and $\tanh(a) = 2 \sigma(2a) - 1$. So the walk
    knows sigmoids alone: with the candidate's rows doubled, $s = \sigma(2 a_g)$ comes out together with the
    three gates, and $g = 2 s - 1$ is put in where it is used. The cell state is carried as $n_t = -2 c_t$,
    since $\tanh(c) = 1 - 2 \sigma(-2c)$ then takes the fewest operations. The price is that values near 0 are
    right to a rounding of 1, 1e-7 in float32, and not to a rounding of their own size.

    $$n_t = f \odot n_{t-1} + 2 i - 4\, i \odot s, \qquad h_t = o - 2\, o \odot \sigma(n_t)$$
    """

    SLAB = 10
    """Time steps whose input shares are computed at once: few enough to be in the cache when they are used."""

    @staticmethod
    def forward(
        ctx: Any, x: Tensor, h0: Tensor, c0: Tensor, W_ih: Tensor, W_hh: Tensor, b: Tensor, traced: bool
    ) -> tuple[Tensor, Tensor]:
        """`x` (time, batch, input) to the outputs (time, batch, hidden) and the last cell state."""
        steps, batch, _ = x.shape
        double = torch.ones_like(b)
        double.chunk(4)[2].fill_(2.0)
        W_x, W_h, bias = (W_ih * double[:, None]).T, (W_hh * double[:, None]).T, b * double
        # Without a backward pass to come, time steps share memory: all states but h, and the slabs of gates.
        gates = b.new_empty(steps if traced else _LSTMWalk.SLAB, batch, len(b))
        h = h0.new_empty(steps + 1, *h0.shape)
        n, sigma = (c0.new_empty(size if traced else 1, *c0.shape) for size in (steps + 1, steps))
        h[0], n[0] = h0, -2.0 * c0
        n, sigma = n.expand(steps + 1, *c0.shape), sigma.expand(steps, *c0.shape)
        states = list(zip(h[:-1], h[1:], n[:-1], n[1:], sigma, strict=True))
        for start in range(0, steps, _LSTMWalk.SLAB):
            part = x[start : start + _LSTMWalk.SLAB]
            slab = gates[start if traced else 0 :][: len(part)]
            torch.addmm(bias, part.flatten(0, 1), W_x, out=slab.flatten(0, 1))
            blocks = zip(*(block.unbind(0) for block in slab.chunk(4, dim=-1)), strict=True)
            for a, (i, f, s, o), (h_prev, h_t, n_prev, n_t, sigma_t) in zip(
                slab.unbind(0), blocks, states[start : start + len(part)], strict=True
            ):
                a.addmm_(h_prev, W_h).sigmoid_()
                torch.mul(f, n_prev, out=n_t).add_(i, alpha=2.0).addcmul_(i, s, value=-4.0)
                torch.sigmoid(n_t, out=sigma_t)
                torch.addcmul(o, o, sigma_t, value=-2.0, out=h_t)
        if traced:
            ctx.save_for_backward(x, h0, c0, W_ih, W_hh, b, gates, h, n, sigma)
        return h[1:], -0.5 * n[-1]

    @staticmethod
    def backward(ctx: Any, d_output: Tensor, d_c_n: Tensor) -> Any:
        """Gradients of the six tensors among the arguments of `forward`."""
        x, h0, c0, W_ih, W_hh, b, gates, h, n, sigma = ctx.saved_tensors
        if torch.is_grad_enabled():
            # Gradients of gradients are asked for: walk again in plain steps and leave them to autograd.
            return *_lstm_gradients_with_graph((x, h0, c0, W_ih, W_hh, b), (d_output, d_c_n)), None
        g = 2.0 * gates.chunk(4, dim=-1)[2] - 1.0
        slope = torch.addcmul(gates, gates, gates, value=-1.0)  # s (1 - s), and 1 - g^2 = 4 s (1 - s)
        slope.chunk(4, dim=-1)[2].mul_(4.0)
        c, tanh_c = -0.5 * n, 1.0 - 2.0 * sigma
        slope_c = 1.0 - tanh_c * tanh_c
        d_a = torch.empty_like(gates)
        d_i, d_f, d_g, d_o = d_a.chunk(4, dim=-1)
        d_h, d_c = torch.zeros_like(h0), d_c_n.clone()
        for t in reversed(range(len(x))):
            i, f, _, o = gates[t].chunk(4, dim=-1)
            d_h += d_output[t]
            d_c.addcmul_(d_h * o, slope_c[t])
            torch.mul(d_c, g[t], out=d_i[t])
            torch.mul(d_c, c[t], out=d_f[t])
            torch.mul(d_c, i, out=d_g[t])
            torch.mul(d_h, tanh_c[t], out=d_o[t])
            d_a[t] *= slope[t]
            torch.mm(d_a[t], W_hh, out=d_h)
            d_c *= f
        flat = d_a.flatten(0, 1)
        return (
            (flat @ W_ih).unflatten(0, x.shape[:2]) if ctx.needs_input_grad[0] else None,
            d_h,
            d_c,
            flat.T @ x.flatten(0, 1),
            flat.T @ h[:-1].flatten(0, 1),
            flat.sum(dim=0),
            None,
        )


def _lstm_gradients_with_graph(arguments: tuple[Tensor, ...], d_results: tuple[Tensor, Tensor]) -> Any:
    """Gradients of `_LSTMWalk`'s arguments that can be differentiated again."""
    copies = [a if a.requires_grad else a.detach().requires_grad_() for a in arguments]
    x, h, c, W_ih, W_hh, b = copies
    outputs = []
    for a_x in linear(x, W_ih, b).unbind(0):
        h, c = _lstm_update(a_x + linear(h, W_hh), c)
        outputs.append(h)
    return torch.autograd.grad((torch.stack(outputs), c), copies, d_results, create_graph=True)


def _reversed(sequence: Tensor, backwards: Tensor | None) -> Tensor:
    """`sequence` (time, batch, width) read backwards: all of it, or each within its own length."""
    if backwards is None:
        return sequence.flip(0)
    return sequence.gather(0, backwards.expand_as(sequence))


# ----------------------------------------------------------------------------------------------------
# Initialisation
# ----------------------------------------------------------------------------------------------------


def _draw(module: nn.Module, hidden_size: int, generator: torch.Generator | None) -> None:
    """PyTorch's default: every parameter uniform in plus or minus 1 / sqrt(hidden)."""
    bound = 1 / math.sqrt(hidden_size)
    for parameter in module.parameters():
        nn.init.uniform_(parameter, -bound, bound, generator=generator)


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
        module: an LSTM or LSTMCell, ours or PyTorch's, or a module that holds some and no other recurrent
            cell.
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
    $1 + u$. With a fresh $u \sim U(1, T_{max} - 1)$ for each unit, the units start out with spans from 2 to
    $T_{max}$:

    $$\text{LSTM:} \quad b_f = \log u, \quad b_i = -b_f \qquad\qquad \text{GRU:} \quad b_z = \log u$$

    That is the GRU in PyTorch's convention $h_t = z \odot h_{t-1} + (1 - z) \odot n$, in which $z$ keeps.
    In this course's convention $h_t = (1 - z) \odot h_{t-1} + z \odot n$ it is $b_z = -\log u$. Each bias
    is put in `bias_ih`, and `bias_hh`'s share of it is set to 0; all other parameters stay as they are.

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


# ----------------------------------------------------------------------------------------------------
# Checks
# ----------------------------------------------------------------------------------------------------


def _check_positive(**sizes: int) -> None:
    """Refuse a size that is no positive whole number."""
    for name, size in sizes.items():
        if not isinstance(size, int) or isinstance(size, bool) or size < 1:
            raise ValueError(f"{name} is {size!r}; expected a positive whole number")


def _check_nonlinearity(nonlinearity: str) -> None:
    """Refuse another nonlinearity than PyTorch's two."""
    if nonlinearity not in ("tanh", "relu"):
        raise ValueError(f"nonlinearity is {nonlinearity!r}; expected 'tanh' or 'relu'")


def _check_tensor(
    name: str, value: Any, axes: tuple[str, ...], shape: tuple[int | None, ...], dtype: torch.dtype
) -> None:
    """Refuse what is no tensor of this dtype and shape (None: any length but 0), or not finite."""
    expected = f"({', '.join(axes)})"
    if not isinstance(value, Tensor):
        raise ValueError(f"{name} is a {type(value).__qualname__}; expected a torch.Tensor {expected}")
    if value.dtype != dtype:
        raise ValueError(f"{name} has dtype {value.dtype}; expected {dtype}, as the parameters have")
    came = tuple(value.shape)
    if len(came) != len(axes):
        raise ValueError(
            f"{name} has shape {came}: {len(came)} axes came, {len(axes)} were expected, {expected}"
        )
    for axis, size, wanted in zip(axes, came, shape, strict=True):
        if size == 0:
            raise ValueError(f"{name} has shape {came}: its axis '{axis}' is empty")
        if wanted is not None and size != wanted:
            raise ValueError(f"{name} has shape {came}; expected {expected} with {axis} = {wanted}")
    # One pass, since a NaN is both the least and the largest value of whatever holds one.
    if not all(math.isfinite(extreme) for extreme in torch.aminmax(value.detach())):
        raise ValueError(f"{name} holds a NaN or an infinity; expected finite numbers")


def _check_input(x: Any, axes: tuple[str, ...], input_size: int, dtype: torch.dtype) -> None:
    """Refuse an input that does not fit the module."""
    _check_tensor("x", x, axes, (*(None,) * (len(axes) - 1), input_size), dtype)


def _check_states(
    states: Any, names: tuple[str, ...], axes: tuple[str, ...], shape: tuple[int, ...], dtype: torch.dtype
) -> None:
    """Refuse states that do not fit the module and its input."""
    if not isinstance(states, tuple) or len(states) != len(names):
        came = f"{len(states)} values" if isinstance(states, tuple) else f"a {type(states).__qualname__}"
        raise ValueError(f"state is {came}; expected a tuple of {len(names)}: {', '.join(names)}")
    for name, state in zip(names, states, strict=True):
        _check_tensor(f"state {name}", state, axes, shape, dtype)


def _check_lengths(lengths: Any, batch: int, steps: int, device: torch.device) -> Tensor:
    """`lengths` on the device of the input, refused if they do not fit it."""
    if not isinstance(lengths, Tensor) or lengths.is_floating_point() or lengths.dtype == torch.bool:
        came = lengths.dtype if isinstance(lengths, Tensor) else type(lengths).__qualname__
        raise ValueError(f"lengths is {came}; expected a torch.Tensor of whole numbers (batch,)")
    if tuple(lengths.shape) != (batch,):
        raise ValueError(f"lengths has shape {tuple(lengths.shape)}; expected (batch,) = ({batch},)")
    for row, length in enumerate(lengths.tolist()):
        if not 1 <= length <= steps:
            raise ValueError(
                f"lengths[{row}] is {length}; expected 1 to {steps}, the number of time steps in x"
            )
    return lengths.to(device)

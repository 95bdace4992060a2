"""What a sequence costs: recurrent layers beside causal attention, by sequence length.

Processor time of one thread. What is compared, here and on the page, are slopes and ratios within one run; the
milliseconds belong to the machine.
"""

import time
from collections.abc import Callable
from typing import Any

from refcells.experiments.record import Experiment

__all__ = ["COST", "EXPERIMENTS", "LAYERS", "STEP", "CausalAttention", "sequence_cost", "step_cost"]

WIDTH = 128
LAYERS = ("RNN", "LSTM", "GRU", "attention")
LENGTHS = (64, 128, 256, 512, 1024, 2048, 4096, 8192)


class CausalAttention:
    r"""One layer of causal self-attention with several heads, for a whole sequence or step by step with a cache.

    $$y_t = W_o \sum_{s \le t} \alpha_{ts} v_s, \qquad \alpha_{t\cdot} = \mathrm{softmax}_{s \le t}(q_t \cdot k_s / \sqrt{d})$$

    where query, key and value $q_t, k_t, v_t$ are linear maps of $x_t$, cut into `heads` parts of width d.

    Args:
        width: width of inputs and outputs, D.
        heads: number of heads; divides D.
        generator: source of the weights.

    Raises:
        ValueError: if the heads do not divide the width.

    Source:
        Vaswani et al. (2017), section 3.2, without masking by hand: PyTorch's `scaled_dot_product_attention`.
    """

    def __init__(self, width: int, heads: int, generator: Any) -> None:
        import torch

        if width % heads:
            raise ValueError(
                f"{heads} heads and width {width} came; expected a number of heads that divides the width"
            )
        self.width, self.heads = width, heads
        bound = width**-0.5
        self.w_in = torch.empty(3 * width, width).uniform_(-bound, bound, generator=generator)
        self.w_out = torch.empty(width, width).uniform_(-bound, bound, generator=generator)

    def _heads(self, x: Any) -> tuple[Any, Any, Any]:
        """Query, key and value (batch, heads, time, D / heads) of x (batch, time, D)."""
        batch, steps, _ = x.shape
        parts = (x @ self.w_in.T).view(batch, steps, 3, self.heads, self.width // self.heads)
        q, k, v = parts.permute(2, 0, 3, 1, 4)
        return q, k, v

    def _merge(self, y: Any) -> Any:
        return y.transpose(1, 2).flatten(2) @ self.w_out.T

    def __call__(self, x: Any) -> Any:
        """Outputs (batch, time, D) for a sequence x (batch, time, D)."""
        from torch.nn.functional import scaled_dot_product_attention

        q, k, v = self._heads(x)
        return self._merge(scaled_dot_product_attention(q, k, v, is_causal=True))

    def step(self, x: Any, cache: Any) -> Any:
        """One time step: x (batch, D) and keys and values so far, or None, to y (batch, D) and the longer cache."""
        import torch
        from torch.nn.functional import scaled_dot_product_attention

        q, k, v = self._heads(x[:, None])
        if cache is not None:
            k, v = torch.cat((cache[0], k), dim=2), torch.cat((cache[1], v), dim=2)
        return self._merge(scaled_dot_product_attention(q, k, v))[:, 0], (k, v)


def _layer(name: str, generator: Any) -> Any:
    from torch import nn

    from refcells.training import redraw

    if name == "attention":
        return CausalAttention(WIDTH, 8, generator)
    layer = getattr(nn, name)(WIDTH, WIDTH, batch_first=True)
    redraw(layer, generator)
    return layer


def _fastest(call: Callable[[], Any], enough: float = 0.4, least: int = 3) -> float:
    """Smallest processor time of a call, in seconds, over at least `least` calls and `enough` seconds."""
    call()
    times: list[float] = []
    while len(times) < least or sum(times) < enough:
        start = time.process_time()
        call()
        times.append(time.process_time() - start)
    return min(times)


def sequence_cost(layer: str, steps: int, seed: int) -> dict[str, float]:
    """Processor time of one forward pass over one sequence (batch of 1, width 128), in seconds.

    Args:
        layer: one of `LAYERS`.
        steps: sequence length, in time steps.
        seed: of weights and inputs.
    """
    import torch

    generator = torch.Generator().manual_seed(seed)
    work = _layer(layer, generator)
    x = torch.randn(1, steps, WIDTH, generator=generator)
    with torch.no_grad():
        return {"seconds": _fastest(lambda: work(x))}


def step_cost(layer: str, steps: int, seed: int) -> dict[str, float]:
    """Processor time of one more step after a sequence, from the state or the cache that it left, in seconds.

    Args:
        layer: 'LSTM', 'GRU' or 'attention'.
        steps: number of time steps before.
        seed: of weights and inputs.
    """
    import torch

    generator = torch.Generator().manual_seed(seed)
    work = _layer(layer, generator)
    before = torch.randn(1, steps, WIDTH, generator=generator)
    x = torch.randn(1, WIDTH, generator=generator)
    with torch.no_grad():
        if layer == "attention":
            _, keys, values = work._heads(before)
            # The cache has room for the step: what is timed is attention, and not the copying of a list that grows.
            return {"seconds": _fastest(lambda: _cached_step(work, x, keys, values))}
        state = work(before)[1]
        return {"seconds": _fastest(lambda: work(x[:, None], state))}


def _cached_step(work: CausalAttention, x: Any, keys: Any, values: Any) -> Any:
    """A step whose key and value overwrite the last place of a cache that was made in advance."""
    from torch.nn.functional import scaled_dot_product_attention

    q, k, v = work._heads(x[:, None])
    keys[:, :, -1:], values[:, :, -1:] = k, v
    return work._merge(scaled_dot_product_attention(q, keys, values))


def _same_order(kept: dict[str, Any], again: dict[str, Any]) -> bool:
    """A time within a factor of thirty: a machine may be slow or busy, but not change what grows."""
    return 1 / 30 < again["seconds"] / kept["seconds"] < 30


COST = Experiment(
    "choosing-sequence-cost",
    sequence_cost,
    [{"layer": layer, "steps": steps, "seed": 0} for layer in LAYERS for steps in LENGTHS],
    sample=[0, 8, 16, 24],
    close=_same_order,
)
STEP = Experiment(
    "choosing-step-cost",
    step_cost,
    [
        {"layer": layer, "steps": steps, "seed": 0}
        for layer in ("LSTM", "GRU", "attention")
        for steps in LENGTHS
    ],
    sample=[0, 16],
    close=_same_order,
)
EXPERIMENTS = [COST, STEP]

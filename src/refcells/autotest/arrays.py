"""What all questions about batched arrays share: sizes and random arrays."""

import numpy as np

Array = np.ndarray

# All different, so that no wrong axis goes unseen.
B, T, D, H = 2, 5, 3, 4


def away_from_zero(rng: np.random.Generator, *shape: int, low: float = 0.3, high: float = 1.2) -> Array:
    """Random numbers of either sign, none of them near 0."""
    return rng.uniform(low, high, shape) * rng.choice((-1.0, 1.0), shape)


def torch_state(
    rng: np.random.Generator,
    gates: int,
    d: int,
    h: int,
    suffix: str = "",
    low: float = 0.3,
    high: float = 0.9,
) -> dict[str, Array]:
    """A state dict as arrays: PyTorch's four parameters of a cell with so many stacked blocks."""
    rows = gates * h
    shapes = {"weight_ih": (rows, d), "weight_hh": (rows, h), "bias_ih": (rows,), "bias_hh": (rows,)}
    return {name + suffix: away_from_zero(rng, *shape, low=low, high=high) for name, shape in shapes.items()}


def weights(rng: np.random.Generator, gates: int, high: float = 0.9) -> tuple[Array, Array, Array]:
    """W_x, W_h and b of a cell with so many stacked blocks."""
    return (
        away_from_zero(rng, gates * H, D, high=high),
        away_from_zero(rng, gates * H, H, high=high),
        away_from_zero(rng, gates * H),
    )


def biased(b: Array, order: str, value: dict[str, float]) -> Array:
    """`b` with whole gates' blocks replaced; `order` names the blocks."""
    changed = b.copy()
    for gate, number in value.items():
        k = order.index(gate)
        changed[k * H : (k + 1) * H] = number
    return changed

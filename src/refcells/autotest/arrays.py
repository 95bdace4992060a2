"""What all questions about batched arrays share: sizes, random arrays, and how a mistake of theirs is written."""

from collections.abc import Callable, Sequence

import numpy as np

from refcells.autotest.mistakes import Mistake, edited

Array = np.ndarray

# All different, so that no wrong axis goes unseen.
B, T, D, H = 2, 5, 3, 4


def away_from_zero(rng: np.random.Generator, *shape: int, low: float = 0.3, high: float = 1.2) -> Array:
    """Random numbers of either sign, none of them near 0."""
    return rng.uniform(low, high, shape) * rng.choice((-1.0, 1.0), shape)


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


def mistake(
    name: str, hint: str, source: str, function: Callable[..., object], *edits: tuple[str, str]
) -> Mistake:
    """A mistake that is an edit of `function`."""
    return Mistake(name, hint, source, lambda: edited(function, *edits))


def through(
    function: Callable[..., object], calls: str, mistakes: Sequence[Mistake], skip: Sequence[str] = ()
) -> tuple[Mistake, ...]:
    """Mistakes of a step, as they show in a sequence that `calls` it."""
    return tuple(
        Mistake(m.name, m.hint, m.source, lambda m=m: edited(function, **{calls: m.make()}))  # type: ignore[misc]
        for m in mistakes
        if m.name not in skip
    )

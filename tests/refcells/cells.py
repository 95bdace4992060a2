"""The seven NumPy cells as one table, so that a test of all of them is written once."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from enforced import backward, vector


@dataclass(frozen=True)
class NumPyCell:
    """One cell: its functions, and what its arguments look like."""

    name: str
    step: Callable[..., Any]
    forward: Callable[..., Any]
    backward: Callable[..., Any]
    step_backward: Callable[..., Any] | None
    blocks: int
    states: int
    extra: tuple[str, ...] = ()  # weights beyond W_x, W_h and one bias
    options: dict[str, Any] = field(default_factory=dict)

    def weights(self, generator: np.random.Generator, D: int, H: int, scale: float = 1.0) -> list[np.ndarray]:
        """Random weights in the order in which the functions take them."""
        rows = self.blocks * H
        shapes = [(rows, D), (rows, H), (rows,)]
        shapes += [{"P": (3, H), "b_h": (rows,)}[name] for name in self.extra]
        return [scale * generator.normal(size=shape) for shape in shapes]

    def weight_names(self) -> list[str]:
        """Names of the weights among the gradients."""
        return ["W_x", "W_h", *(["b_x"] if "b_h" in self.extra else ["b"]), *self.extra]

    def initial(self, generator: np.random.Generator, B: int, H: int) -> list[np.ndarray]:
        """Random initial states."""
        return [generator.normal(size=(B, H)) for _ in range(self.states)]

    def take_step(
        self, x: np.ndarray, states: list[np.ndarray], weights: list[np.ndarray]
    ) -> list[np.ndarray]:
        """One step, the new states as a list."""
        new = self.step(x, *states, *weights, **self.options)
        return list(new) if isinstance(new, tuple) else [new]

    def walk(
        self,
        x: np.ndarray,
        weights: list[np.ndarray],
        states: list[np.ndarray],
        lengths: np.ndarray | None = None,
    ) -> Any:
        """The whole sequence."""
        return self.forward(x, *weights, *states, lengths=lengths, **self.options)

    def last(self, run: Any) -> list[np.ndarray]:
        """The last states of a run."""
        return [run.h_n, run.c_n] if self.states == 2 else [run.h_n]


CELLS = [
    NumPyCell("rnn", vector.rnn_step, vector.rnn_forward, backward.rnn_backward, backward.rnn_step_backward, 1, 1),
    NumPyCell(
        "rnn relu", vector.rnn_step, vector.rnn_forward, backward.rnn_backward, backward.rnn_step_backward, 1, 1,
        options={"activation": "relu"},
    ),
    NumPyCell("lstm", vector.lstm_step, vector.lstm_forward, backward.lstm_backward, backward.lstm_step_backward, 4, 2),
    NumPyCell("lstm 1997", vector.lstm_1997_step, vector.lstm_1997_forward, backward.lstm_1997_backward, None, 3, 2),
    NumPyCell(
        "lstm peephole", vector.lstm_peephole_step, vector.lstm_peephole_forward, backward.lstm_peephole_backward,
        None, 4, 2, extra=("P",),
    ),
    NumPyCell("gru", vector.gru_step, vector.gru_forward, backward.gru_backward, backward.gru_step_backward, 3, 1),
    NumPyCell(
        "gru reset after", vector.gru_reset_after_step, vector.gru_reset_after_forward,
        backward.gru_reset_after_backward, backward.gru_reset_after_step_backward, 3, 1, extra=("b_h",),
    ),
]  # fmt: skip
IDS = [cell.name for cell in CELLS]

"""Two directions over the same sequence: reversal by length, two walks, a merge, and the right last state.

Everything here works with any of the `*_forward` and `*_backward` pairs of `refcells.vector` and
`refcells.backward`.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np
from jaxtyping import Float, Integer

from refcells._checks import check_choice, check_lengths, checked
from refcells.vector import Run

__all__ = [
    "BidirectionalGradients",
    "BidirectionalRun",
    "bidirectional_backward",
    "bidirectional_forward",
    "last_output",
    "last_state",
    "merge",
    "reverse",
]

Merge = Literal["concat", "sum", "mean", "product"]
MERGES = ("concat", "sum", "mean", "product")


@checked()
def reverse(
    x: Float[np.ndarray, "batch time width"], lengths: Integer[np.ndarray, "batch"] | None = None
) -> Float[np.ndarray, "batch time width"]:
    r"""Each sequence backwards, within its own length; the padding stays where it is.

    $$y_t = x_{L + 1 - t} \text{ for } t \le L, \qquad y_t = x_t \text{ for } t > L$$

    Reversing the padded array instead would start the backward direction in the padding. Reversal is its own
    inverse, so the same call puts the outputs back in order.

    Args:
        x: sequences, padded to a common number of time steps.
        lengths: number of time steps L of each sequence, 1 to T; all T if None.

    Returns:
        The reversed sequences, a new array of the same shape.

    Raises:
        ValueError: for a wrong type, dtype or shape, an empty axis, a NaN or an infinity, or a length
            outside 1..T.

    Source:
        Schuster and Paliwal (1997); `torch.nn.utils.rnn.pack_padded_sequence` for the lengths.
    """
    batch, steps, _ = x.shape
    check_lengths(lengths, steps)
    length = np.full((batch, 1), steps) if lengths is None else lengths[:, None]
    time = np.arange(steps)[None, :]
    source = np.where(time < length, length - 1 - time, time)
    return np.take_along_axis(x, source[:, :, None], axis=1)


def merge(
    forward: Float[np.ndarray, "*axes hidden"],
    backward: Float[np.ndarray, "*axes hidden"],
    mode: Merge = "concat",
) -> Float[np.ndarray, "*axes merged"]:
    r"""Two directions' values as one array.

    $$[\overrightarrow h, \overleftarrow h], \quad \overrightarrow h + \overleftarrow h, \quad
      \tfrac12 (\overrightarrow h + \overleftarrow h), \quad \overrightarrow h \odot \overleftarrow h$$

    Args:
        forward: values of the forward direction, (batch, time, hidden) or (batch, hidden).
        backward: values of the backward direction, in the order of time, same shape.
        mode: 'concat', which keeps both and doubles the width, or 'sum', 'mean' or 'product'.

    Returns:
        The merged values: (..., 2 * hidden) for 'concat', else (..., hidden).

    Raises:
        ValueError: if the shapes differ, or for another mode.

    Source:
        Schuster and Paliwal (1997); the modes are those of `keras.layers.Bidirectional`.
    """
    check_choice("mode", mode, MERGES)
    for name, value in (("forward", forward), ("backward", backward)):
        if not isinstance(value, np.ndarray):
            raise ValueError(f"{name} is a {type(value).__qualname__}; expected a numpy.ndarray")
    if forward.shape != backward.shape:
        raise ValueError(
            f"backward has shape {backward.shape}; expected {forward.shape}, the shape of forward"
        )
    if mode == "concat":
        return np.concatenate([forward, backward], axis=-1)
    if mode == "product":
        return forward * backward
    return (forward + backward) * (0.5 if mode == "mean" else 1.0)


@dataclass(frozen=True, kw_only=True)
class BidirectionalRun:
    """What two directions computed.

    Attributes:
        output: merged outputs (batch, time, width), in the order of time, 0 at padded steps.
        forward: the run of the forward direction.
        backward: the run of the backward direction, on the reversed sequences: its step 1 is the last time
            step.
        lengths: number of time steps of each sequence; None if all are full.
        mode: how the outputs were merged.
    """

    output: Float[np.ndarray, "batch time width"]
    forward: Run
    backward: Run
    lengths: Integer[np.ndarray, "batch"] | None
    mode: Merge

    @property
    def backward_output(self) -> Float[np.ndarray, "batch time hidden"]:
        """Outputs of the backward direction, put back in the order of time."""
        return reverse(self.backward.output, self.lengths)


def bidirectional_forward(
    walk: Callable[..., Run],
    x: Float[np.ndarray, "batch time input"],
    forward_weights: Sequence[np.ndarray],
    backward_weights: Sequence[np.ndarray],
    lengths: Integer[np.ndarray, "batch"] | None = None,
    mode: Merge = "concat",
    forward_state: Sequence[np.ndarray] = (),
    backward_state: Sequence[np.ndarray] = (),
) -> BidirectionalRun:
    r"""Two walks over the same sequences, one from each end, merged at each time step.

    $$\overrightarrow h_t = \text{cell}(x_t, \overrightarrow h_{t-1}), \qquad
      \overleftarrow h_t = \text{cell}'(x_t, \overleftarrow h_{t+1}), \qquad
      y_t = [\overrightarrow h_t, \overleftarrow h_t]$$

    The two cells share no weights. The backward direction starts at each sequence's own last step.

    Args:
        walk: a `*_forward` of `refcells.vector`, such as `lstm_forward`.
        x: inputs, padded to a common number of time steps.
        forward_weights: weights of the forward direction, in the order in which `walk` takes them.
        backward_weights: weights of the backward direction, likewise.
        lengths: number of time steps of each sequence, 1 to T; all T if None.
        mode: how the outputs are merged, see `merge`.
        forward_state: initial states of the forward direction, `(h0,)` or `(h0, c0)`; zeros if empty.
        backward_state: initial states of the backward direction, likewise.

    Returns:
        The merged outputs and both runs.

    Raises:
        ValueError: for another mode, and for what `walk` refuses.

    Source:
        Schuster and Paliwal (1997); `torch.nn.LSTM` with `bidirectional=True`.
    """
    check_choice("mode", mode, MERGES)
    forward = walk(x, *forward_weights, *forward_state, lengths=lengths)
    backward = walk(reverse(x, lengths), *backward_weights, *backward_state, lengths=lengths)
    output = merge(forward.output, reverse(backward.output, lengths), mode)
    return BidirectionalRun(output=output, forward=forward, backward=backward, lengths=lengths, mode=mode)


def last_state(run: BidirectionalRun) -> Float[np.ndarray, "batch width"]:
    r"""The summary of a sequence by two directions: each one's state after its own last step.

    $$[\overrightarrow h_L, \overleftarrow h_1]$$

    `run.output[:, -1]` is another thing: there the backward direction has read one time step, and in a padded
    batch the output is 0.

    Args:
        run: what `bidirectional_forward` returned.

    Returns:
        The two last hidden states, merged as the outputs are.

    Raises:
        ValueError: if `run` is no bidirectional run.

    Source:
        `torch.nn.LSTM`: `h_n[-2]` and `h_n[-1]`.
    """
    _check_run(run)
    return merge(run.forward.h_n, run.backward.h_n, run.mode)


@checked()
def last_output(
    output: Float[np.ndarray, "batch time width"], lengths: Integer[np.ndarray, "batch"] | None = None
) -> Float[np.ndarray, "batch width"]:
    r"""The output at each sequence's own last time step, $y_L$.

    For one direction that is the last hidden state. For two it is not the summary, see `last_state`.

    Args:
        output: outputs, padded to a common number of time steps.
        lengths: number of time steps L of each sequence, 1 to T; all T if None.

    Returns:
        One output for each sequence.

    Raises:
        ValueError: for a wrong type, dtype or shape, an empty axis, a NaN or an infinity, or a length
            outside 1..T.

    Source:
        `torch.nn.utils.rnn.pad_packed_sequence`, whose lengths are these.
    """
    batch, steps, _ = output.shape
    check_lengths(lengths, steps)
    last = np.full(batch, steps) if lengths is None else lengths
    return output[np.arange(batch), last - 1]


class BidirectionalGradients(NamedTuple):
    """Gradients of a bidirectional run.

    Attributes:
        x: gradient of the inputs (batch, time, input), the sum of both directions' shares.
        forward: what the cell's `*_backward` returned for the forward direction.
        backward: the same for the backward direction; its `x` is that of the reversed sequences.
    """

    x: Float[np.ndarray, "batch time input"]
    forward: Any
    backward: Any


def bidirectional_backward(
    walk_back: Callable[..., Any],
    run: BidirectionalRun,
    d_output: Float[np.ndarray, "batch time width"] | None = None,
    d_last_state: Float[np.ndarray, "batch width"] | None = None,
) -> BidirectionalGradients:
    r"""BPTT through both directions: the merge undone, then each direction's own backward pass.

    For 'concat' each direction gets its half of the gradient, for 'sum' both get all of it, for 'mean' half
    of it, and for 'product' $d_{\overrightarrow h} = d_y \odot \overleftarrow h$ and the reverse.

    Args:
        walk_back: the cell's `*_backward`, such as `lstm_backward`.
        run: what `bidirectional_forward` returned.
        d_output: gradient of the loss with respect to the merged outputs; zeros if None.
        d_last_state: gradient with respect to `last_state(run)`; zeros if None.

    Returns:
        The gradient of x, and all gradients of each direction.

    Raises:
        ValueError: for a wrong shape, and for what `walk_back` refuses.

    Source:
        Schuster and Paliwal (1997), section II.
    """
    _check_run(run)

    def unmerged(
        name: str, gradient: np.ndarray | None, merged: np.ndarray, forward: np.ndarray, backward: np.ndarray
    ) -> tuple[Any, Any]:
        if gradient is None:
            return None, None
        if getattr(gradient, "shape", None) != merged.shape:
            came = gradient.shape if isinstance(gradient, np.ndarray) else type(gradient).__qualname__
            raise ValueError(f"{name} has shape {came}; expected {merged.shape}")
        if run.mode == "concat":
            first, second = np.split(gradient, 2, axis=-1)
            return first, second
        if run.mode == "product":
            return gradient * backward, gradient * forward
        share = gradient * (0.5 if run.mode == "mean" else 1.0)
        return share, share

    outputs = run.forward.output, run.backward_output
    d_forward, d_backward = unmerged("d_output", d_output, run.output, *outputs)
    if d_backward is not None:
        d_backward = reverse(d_backward, run.lengths)
    states = run.forward.h_n, run.backward.h_n
    d_h_forward, d_h_backward = unmerged("d_last_state", d_last_state, last_state(run), *states)
    forward = walk_back(run.forward, d_forward, d_h_forward)
    backward = walk_back(run.backward, d_backward, d_h_backward)
    return BidirectionalGradients(forward.x + reverse(backward.x, run.lengths), forward, backward)


def _check_run(run: Any) -> None:
    """Refuse what `bidirectional_forward` did not return."""
    if not isinstance(run, BidirectionalRun):
        raise ValueError(f"run is a {type(run).__qualname__}; expected what bidirectional_forward returned")

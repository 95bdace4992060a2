"""What the suites share: our cells called the way the peers are, and a seeded grid of settings."""

import numpy as np

from refcells import interop
from refcells.bidirectional import bidirectional_forward, reverse
from refcells.vector import (
    gru_forward,
    gru_reset_after_forward,
    lstm_forward,
    lstm_peephole_forward,
    rnn_forward,
)

BLOCKS = {"rnn": 1, "lstm": 4, "gru": 3}


def arguments(cell, weights, linear_before_reset=False, activation="tanh"):
    """The walk that fits these weights, and the weights in the order in which it takes them."""
    if cell == "rnn":
        return lambda *args, **kwargs: rnn_forward(*args, **kwargs, activation=activation), weights.merged()
    if cell == "lstm":
        return (lstm_forward if weights.P is None else lstm_peephole_forward), weights.merged()
    if linear_before_reset:
        return gru_reset_after_forward, weights[:4]
    return gru_forward, weights.merged()


def onnx_operator(
    cell, X, W, R, B=None, sequence_lens=None, initial_h=None, initial_c=None, P=None,
    *, direction="forward", layout=0, linear_before_reset=0, activation="tanh",
):  # fmt: skip
    """An ONNX operator RNN, LSTM or GRU, computed by our cells: Y, Y_h and Y_c (None but for the LSTM)."""
    if layout == 0:
        X = X.transpose(1, 0, 2)
    else:
        initial_h, initial_c = (None if s is None else s.transpose(1, 0, 2) for s in (initial_h, initial_c))
    lengths = None if sequence_lens is None else sequence_lens.astype(np.int64)
    directions = interop.from_onnx(cell, W, R, B, P)
    states = [tuple(s[d] for s in (initial_h, initial_c) if s is not None) for d in range(len(directions))]
    walks, weights = zip(
        *(arguments(cell, w, linear_before_reset, activation) for w in directions), strict=True
    )
    if direction == "bidirectional":
        run = bidirectional_forward(
            walks[0], X, weights[0], weights[1], lengths, forward_state=states[0], backward_state=states[1]
        )
        runs, outputs = [run.forward, run.backward], [run.forward.output, run.backward_output]
    elif direction == "reverse":
        runs = [walks[0](reverse(X, lengths), *weights[0], *states[0], lengths=lengths)]
        outputs = [reverse(runs[0].output, lengths)]
    else:
        runs = [walks[0](X, *weights[0], *states[0], lengths=lengths)]
        outputs = [runs[0].output]
    Y = np.stack(outputs, axis=2)  # (batch, time, directions, hidden)
    last = [
        np.stack([getattr(run, name) for run in runs], axis=1)
        for name in ("h_n", "c_n")[: 1 + (cell == "lstm")]
    ]
    if layout == 0:
        Y = Y.transpose(1, 2, 0, 3)
        last = [s.transpose(1, 0, 2) for s in last]
    return (Y, last[0], last[1] if cell == "lstm" else None)

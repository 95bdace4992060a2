"""Reference recurrent cells, from plain floats to PyTorch modules.

`import refcells` is light: NumPy and torch are imported when a name that needs them is first used.
"""

import importlib
from typing import Any

__version__ = "0.1.0"

# Where each public name lives. The scalar forms share their names with the vector forms, so they are
# reached by their module's name, `refcells.scalar.lstm_step`; `refcells.lstm_step` is the vector form.
_EXPORTS = {
    "vector": (
        "GRURun LSTMRun RNNRun gru_forward gru_reset_after_forward gru_reset_after_step gru_step "
        "lstm_1997_forward lstm_1997_step lstm_forward lstm_peephole_forward lstm_peephole_step lstm_step "
        "relu rnn_forward rnn_step sigmoid sigmoid_derivative tanh_derivative"
    ),
    "backward": (
        "gru_backward gru_reset_after_backward gru_reset_after_step_backward gru_step_backward "
        "lstm_1997_backward lstm_backward lstm_peephole_backward lstm_step_backward rnn_backward "
        "rnn_step_backward truncated_backward"
    ),
    "bidirectional": "bidirectional_backward bidirectional_forward last_output last_state merge reverse",
    "torch_cells": "GRU GRUCell LSTM LSTMCell RNN RNNCell chrono_init set_forget_bias",
    "interop": "Weights from_keras from_onnx from_torch to_keras to_onnx to_torch",
    "tasks": "adding copying copying_baseline remember_first remember_last tagging tagging_baseline",
    "training": (
        "EveryStepClassifier History LastStepClassifier accuracy fit mean_squared_error redraw "
        "step_cross_entropy"
    ),
}
_HOME = {name: module for module, names in _EXPORTS.items() for name in names.split()}
_MODULES = ("autotest", "experiments", "figures", "scalar", *_EXPORTS)

__all__ = [*_HOME, *_MODULES]


def __getattr__(name: str) -> Any:
    """Import a public name on first use."""
    if name in _HOME:
        return getattr(importlib.import_module(f"refcells.{_HOME[name]}"), name)
    if name in _MODULES:
        return importlib.import_module(f"refcells.{name}")
    raise AttributeError(f"module 'refcells' has no attribute {name!r}")


def __dir__() -> list[str]:
    """Public names, whether imported yet or not."""
    return sorted(__all__)

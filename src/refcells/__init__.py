"""Reference recurrent cells, from plain floats to PyTorch modules.

`import refcells` is light: NumPy and torch are imported when a name that needs them is first used.
"""

import importlib
from typing import Any

__version__ = "0.1.0"

# Where each public name lives. The scalar forms keep their module's name, since they share names with the
# vector forms.
_HOME = {
    "lstm_step": "vector",
    "lstm_forward": "vector",
    "LSTMRun": "vector",
    "lstm_backward": "backward",
    "lstm_step_backward": "backward",
    "LSTM": "torch_cells",
    "LSTMCell": "torch_cells",
    "chrono_init": "torch_cells",
    "set_forget_bias": "torch_cells",
}
_MODULES = ("autotest", "backward", "figures", "scalar", "tasks", "torch_cells", "training", "vector")

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

"""Loaded last in the server that kernels are forked from: what every kernel would otherwise load after its fork, once each.

Nothing here is of the course. What is missing on a machine is left out; `confine` says what that costs.
"""

import gc
import importlib
import os
from contextlib import suppress

# For what a kernel does first: confine itself, start, and show its first figure.
WANTED = (
    "ctypes.util",
    "pyprctl",
    "sandlock",
    "pyseccomp",
    "ipykernel.debugger",
    "IPython.core.completerlib",
    "IPython.core.magic_arguments",
    "IPython.core.oinspect",
    "IPython.extensions.storemagic",
    "matplotlib.pyplot",
)

# The debugger, which nobody uses here, would remark on standard error that Python's own modules are frozen.
os.environ["PYDEVD_DISABLE_FILE_VALIDATION"] = "1"
for name in WANTED:
    with suppress(ImportError, OSError, RuntimeError):
        importlib.import_module(name)

# A collection would look at, and so copy, every object that the server has made: those will not become garbage.
gc.collect()
gc.freeze()

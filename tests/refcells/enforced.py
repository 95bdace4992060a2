"""The modules of `refcells` with their signatures enforced by jaxtyping and beartype.

These are copies of their own: what other tests of the same session have imported stays as it is.
Tests of bad input use the plain modules, since there the functions' own errors are what is tested.
"""

import importlib
import sys

from jaxtyping import install_import_hook

NAMES = ("vector", "backward", "bidirectional", "interop")


def _hooked() -> dict[str, object]:
    saved = {
        name: sys.modules.pop(name) for name in list(sys.modules) if name.partition(".")[0] == "refcells"
    }
    try:
        with install_import_hook([f"refcells.{name}" for name in NAMES], "beartype.beartype"):
            return {name: importlib.import_module(f"refcells.{name}") for name in NAMES}
    finally:
        for name in list(sys.modules):
            if name.partition(".")[0] == "refcells":
                del sys.modules[name]
        sys.modules.update(saved)


_modules = _hooked()
vector = _modules["vector"]
backward = _modules["backward"]
bidirectional = _modules["bidirectional"]
interop = _modules["interop"]

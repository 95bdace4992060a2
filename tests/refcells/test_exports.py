"""The package's front door: light to import, complete, and each file standing on those above it only."""

import ast
import importlib
import inspect
import pathlib
import subprocess
import sys

import numpy as np
import pytest

import refcells

SOURCE = pathlib.Path(refcells.__file__).parent
ORDER = [
    "_checks",
    "scalar",
    "vector",
    "backward",
    "bidirectional",
    "torch_cells",
    "interop",
    "tasks",
    "training",
]


def test_importing_is_light():
    code = "import sys, refcells; print([m for m in ('numpy', 'torch', 'jaxtyping') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
    code = (
        "import sys, refcells.scalar; print([m for m in ('numpy', 'torch', 'jaxtyping') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_every_export_is_the_thing_in_its_module():
    pytest.importorskip("torch", reason="torch is not installed")
    for module, names in refcells._EXPORTS.items():
        home = importlib.import_module(f"refcells.{module}")
        for name in names.split():
            assert getattr(refcells, name) is getattr(home, name)
            assert name in home.__all__
    assert sorted(refcells.__all__) == dir(refcells)
    with pytest.raises(AttributeError, match="module 'refcells' has no attribute 'tcn'"):
        refcells.tcn


def test_a_file_stands_only_on_those_above_it():
    for place, name in enumerate(ORDER):
        tree = ast.parse((SOURCE / f"{name}.py").read_text(encoding="utf-8"))
        used = [n.module for n in ast.walk(tree) if isinstance(n, ast.ImportFrom)]
        used += [a.name for n in ast.walk(tree) if isinstance(n, ast.Import) for a in n.names]
        ours = {u.removeprefix("refcells.") for u in used if u and u.startswith("refcells")}
        assert ours <= set(ORDER[:place]), name
        if name in ("tasks", "training"):
            assert not ours


PUBLIC = [
    (module, name) for module in ORDER[1:] for name in importlib.import_module(f"refcells.{module}").__all__
]


@pytest.mark.parametrize(("module", "name"), PUBLIC, ids=lambda value: value)
def test_every_public_function_is_documented(module, name):
    """Arguments, results, errors and source; a class its arguments or attributes."""
    thing = getattr(importlib.import_module(f"refcells.{module}"), name)
    if not callable(thing):
        return
    text = inspect.getdoc(thing)
    assert text
    if inspect.isclass(thing):
        if not hasattr(thing, "_fields"):
            assert "Args:" in text or "Attributes:" in text
        return
    parameters = inspect.signature(thing).parameters
    assert "Args:" in text
    for parameter in parameters:
        assert f"{parameter}: " in text, parameter
    returns = inspect.signature(thing).return_annotation
    assert ("Returns:" in text) == (returns is not None)
    if name not in ("sigmoid", "relu", "sigmoid_derivative", "tanh_derivative"):
        assert "Raises:" in text
        if module not in ("training",):
            assert "Source:" in text


def test_all_is_sorted_and_complete():
    for module in ORDER[1:]:
        home = importlib.import_module(f"refcells.{module}")
        defined = {
            name for name, thing in vars(home).items()
            if not name.startswith("_")
            and (inspect.isfunction(thing) or inspect.isclass(thing))
            and thing.__module__ == home.__name__
        }  # fmt: skip
        assert defined <= set(home.__all__), module


def test_light_names_work():
    assert refcells.scalar.sigmoid(0.0) == 0.5
    np.testing.assert_array_equal(refcells.sigmoid(np.zeros(2)), [0.5, 0.5])

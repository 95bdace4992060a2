"""Keras 3 as the peer, through `interop`: our weights in its layers, its weights in our walks.

Keras runs in a process of its own (keras_peer.py), on its torch backend. Not every layer of it honours float64, so
the tolerance is that of float32. Where a step is masked, Keras repeats the last output and ours is 0: only steps
that count are compared, and the last states.
"""

import importlib.util
import os
import pathlib
import subprocess
import sys

import numpy as np
import pytest
from peers import BLOCKS, arguments

from refcells import interop
from refcells.bidirectional import bidirectional_forward

if importlib.util.find_spec("keras") is None:
    pytest.skip(
        "keras is not installed (pip install learning-to-remember[conformance])", allow_module_level=True
    )

if importlib.util.find_spec("torch") is None:
    pytest.skip("torch, which Keras runs on here, is not installed", allow_module_level=True)

B, T, D, H = 3, 6, 5, 4
LENGTHS = np.array([6, 1, 4])
VARIANTS = {"rnn": ["plain"], "lstm": ["plain"], "gru": ["before", "after"]}
MERGES = {"concat": "concat", "sum": "sum", "ave": "mean", "mul": "product"}
NAMES = [
    f"{cell}/{variant}/{weights}/{padded}"
    for cell, variants in VARIANTS.items()
    for variant in [*variants, *MERGES]
    for weights in ("ours", "theirs")
    for padded in ("full", "padded")
]


def is_after(cell, variant):
    """Whether the layer is a reset-after GRU; within Bidirectional, ours is not."""
    return cell == "gru" and variant == "after"


def our_weights(cell, seed):
    rng = np.random.default_rng(seed)
    rows = BLOCKS[cell] * H
    return interop.Weights(
        *(rng.normal(size=s).astype(np.float32) for s in ((rows, D), (rows, H), (rows,), (rows,)))
    )


@pytest.fixture(scope="module")
def answers(tmp_path_factory):
    """All cases, answered by Keras at once."""
    folder = tmp_path_factory.mktemp("keras")
    rng = np.random.default_rng(81)
    cases = {"names": np.array(NAMES), "seed": np.array(82)}
    for number, name in enumerate(NAMES):
        cell, variant, source, padded = name.split("/")
        cases[f"{name}/x"] = rng.normal(size=(B, T, D)).astype(np.float32)
        if padded == "padded":
            cases[f"{name}/mask"] = np.arange(T) < LENGTHS[:, None]
        if source == "ours":
            count = 2 if variant in MERGES else 1
            layers = [
                interop.to_keras(cell, our_weights(cell, [number, d]), is_after(cell, variant))
                for d in range(count)
            ]
            for k, array in enumerate(array for layer in layers for array in layer):
                cases[f"{name}/w{k}"] = array
    np.savez(folder / "cases.npz", **cases)
    program = pathlib.Path(__file__).with_name("keras_peer.py")
    environment = {**os.environ, "KERAS_BACKEND": "torch", "KERAS_HOME": str(folder)}
    done = subprocess.run(
        [sys.executable, program, folder / "cases.npz", folder / "answers.npz"],
        capture_output=True, text=True, env=environment, timeout=150,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-2000:]
    return cases, np.load(folder / "answers.npz")


def test_number_of_cases(answers):
    assert len(NAMES) == 64
    assert {name.rpartition("/")[0] for name in answers[1].files if name.endswith("/out0")} == set(NAMES)
    assert str(answers[1]["backend"]) == "torch"


@pytest.mark.parametrize("name", NAMES)
def test_case(answers, name):
    cases, theirs = answers
    cell, variant, source, padded = name.split("/")
    x = cases[f"{name}/x"]
    lengths = LENGTHS if padded == "padded" else None
    after = is_after(cell, variant)
    weights = []
    for d in range(2 if variant in MERGES else 1):
        if source == "ours":
            weights.append(our_weights(cell, [NAMES.index(name), d]))
        else:
            layer = [theirs[f"{name}/w{3 * d + k}"] for k in range(3)]
            assert all(np.abs(array).max() > 0.1 for array in layer)
            weights.append(interop.from_keras(cell, *layer))
    walks, ordered = zip(*(arguments(cell, w, linear_before_reset=after) for w in weights), strict=True)
    if variant in MERGES:
        run = bidirectional_forward(walks[0], x, *ordered, lengths, MERGES[variant])
        output, runs = run.output, [run.forward, run.backward]
    else:
        runs = [walks[0](x, *ordered[0], lengths=lengths)]
        output = runs[0].output
    last = [state for run in runs for state in ((run.h_n, run.c_n) if cell == "lstm" else (run.h_n,))]
    counted = np.ones((B, T), bool) if lengths is None else np.arange(T) < LENGTHS[:, None]
    np.testing.assert_allclose(output[counted], theirs[f"{name}/out0"][counted], rtol=0, atol=2e-6)
    for k, state in enumerate(last):
        np.testing.assert_allclose(state, theirs[f"{name}/out{k + 1}"], rtol=0, atol=2e-6)

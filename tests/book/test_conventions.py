"""The conventions page: its code runs, and what it says of other libraries is so."""

import re

import numpy as np
import pytest
from pages import BOOK, code_cells

torch = pytest.importorskip("torch")

PAGE = BOOK / "conventions.md"


def test_the_page_runs(capsys):
    """All its assertions hold, in one namespace and in order, as the book runs them."""
    pytest.importorskip("IPython")
    namespace = {"__name__": "page"}
    for cell in code_cells(PAGE):
        exec(compile(cell.code, str(PAGE), "exec"), namespace)
    assert capsys.readouterr().err == ""
    assert sum(cell.code.count("assert ") for cell in code_cells(PAGE)) >= 10


def gate_orders() -> dict[str, list[str]]:
    """The table of gate orders, as the page has it: {row: [LSTM, GRU]}."""
    table = PAGE.read_text("utf-8").split(":name: tab-gate-orders")[1].split(":::")[0]
    rows = re.findall(r"^\| ([^|]*) \| ([a-z, ]+) \| ([a-z, ]+) \|$", table, re.M)
    return {re.sub(r" *\{cite.*", "", name).strip(): [lstm.strip(), gru.strip()] for name, lstm, gru in rows}


def test_the_table_of_gate_orders_is_read():
    assert set(gate_orders()) == {"this course, PyTorch", "Keras", "ONNX", "CS231n"}


def permuted(weight, ours, theirs):
    """Stacked blocks in another library's order; letters are ours."""
    blocks = np.split(weight, len(ours))
    return np.concatenate([blocks[ours.index(letter)] for letter in theirs])


def letters(text, names):
    """The page's letters for another library, in ours: its candidate has another name."""
    return "".join(names.get(letter, letter) for letter in text.split(", "))


@pytest.mark.parametrize("kind", ["LSTM", "GRU"])
def test_onnx_stacks_as_the_table_says(kind):
    onnx = pytest.importorskip("onnx")
    from onnx import TensorProto, helper
    from onnx.reference import ReferenceEvaluator

    del onnx
    order = gate_orders()["ONNX"][kind == "GRU"]
    ours, theirs = (
        ("ifgo", letters(order, {"c": "g"})) if kind == "LSTM" else ("rzn", letters(order, {"h": "n"}))
    )
    torch.manual_seed(0)
    layer = getattr(torch.nn, kind)(3, 4, dtype=torch.float32)
    W_x, W_h, b_x, b_h = (p.detach().numpy() for p in layer.parameters())
    x = np.random.default_rng(0).normal(size=(5, 2, 3)).astype(np.float32)
    expected = layer(torch.from_numpy(x))[0].detach().numpy()

    attributes = {"hidden_size": 4} | ({"linear_before_reset": 1} if kind == "GRU" else {})
    node = helper.make_node(kind, ["x", "W", "R", "B"], ["y"], **attributes)

    def tensor(name):
        return helper.make_tensor_value_info(name, TensorProto.FLOAT, None)

    graph = helper.make_graph([node], "one", [tensor(n) for n in ("x", "W", "R", "B")], [tensor("y")])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 14)])
    feeds = {
        "x": x,
        "W": permuted(W_x, ours, theirs)[None],
        "R": permuted(W_h, ours, theirs)[None],
        "B": np.concatenate([permuted(b_x, ours, theirs), permuted(b_h, ours, theirs)])[None],
    }
    (y,) = ReferenceEvaluator(model).run(None, feeds)
    np.testing.assert_allclose(y[:, 0], expected, atol=1e-6)
    feeds["W"] = W_x[None]
    assert np.abs(ReferenceEvaluator(model).run(None, feeds)[0][:, 0] - expected).max() > 1e-2


@pytest.mark.parametrize("kind", ["LSTM", "GRU"])
def test_keras_stacks_as_the_table_says(kind):
    import importlib.util
    import subprocess
    import sys

    if importlib.util.find_spec("keras") is None:
        pytest.skip("keras is not installed")
    order = gate_orders()["Keras"][kind == "GRU"]
    ours, theirs = (
        ("ifgo", letters(order, {"c": "g"})) if kind == "LSTM" else ("rzn", letters(order, {"h": "n"}))
    )
    torch.manual_seed(0)
    layer = getattr(torch.nn, kind)(3, 4, batch_first=True)
    W_x, W_h, b_x, b_h = (permuted(p.detach().numpy(), ours, theirs) for p in layer.parameters())
    x = np.random.default_rng(0).normal(size=(2, 5, 3)).astype(np.float32)
    expected = layer(torch.from_numpy(x))[0].detach().numpy()
    bias = b_x + b_h if kind == "LSTM" else np.stack([b_x, b_h])
    # A process of its own: Keras chooses its backend when it is imported.
    script = f"""
import json, sys
import numpy as np
import keras
given = json.load(sys.stdin)
x, W_x, W_h, b = (np.array(given[k], dtype="float32") for k in ("x", "W_x", "W_h", "b"))
layer = keras.layers.{kind}(4, return_sequences=True)
layer.build(x.shape)
layer.set_weights([W_x.T, W_h.T, b])
print(json.dumps(keras.ops.convert_to_numpy(layer(x)).tolist()))
"""
    import json
    import os

    given = json.dumps({"x": x.tolist(), "W_x": W_x.tolist(), "W_h": W_h.tolist(), "b": bias.tolist()})
    done = subprocess.run(
        [sys.executable, "-c", script],
        input=given,
        capture_output=True,
        text=True,
        env={**os.environ, "KERAS_BACKEND": "torch"},
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    np.testing.assert_allclose(json.loads(done.stdout.splitlines()[-1]), expected, atol=1e-5)

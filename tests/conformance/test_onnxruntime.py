"""onnxruntime on a random grid: weights, biases, states, lengths, directions, peepholes, both reset placements."""

import numpy as np
import pytest

onnx = pytest.importorskip(
    "onnx", reason="onnx is not installed (pip install learning-to-remember[conformance])"
)
onnxruntime = pytest.importorskip(
    "onnxruntime", reason="onnxruntime is not installed (pip install learning-to-remember[conformance])"
)

from onnx import TensorProto, helper  # noqa: E402
from peers import BLOCKS, onnx_operator  # noqa: E402

DRAWS = 90  # of each cell
OPERATORS = {"rnn": "RNN", "lstm": "LSTM", "gru": "GRU"}
DIRECTIONS = ("forward", "reverse", "bidirectional")


def draw(cell, number):
    """Inputs and attributes of one operator."""
    rng = np.random.default_rng([71, number, BLOCKS[cell]])
    direction = DIRECTIONS[number % 3]
    directions = 1 + (direction == "bidirectional")
    T, B, D, H = (int(n) for n in rng.integers(1, (9, 6, 8, 9)))
    rows = BLOCKS[cell] * H

    def normal(*shape):
        return rng.normal(size=shape).astype(np.float32)

    inputs = {"X": normal(T, B, D), "W": normal(directions, rows, D), "R": normal(directions, rows, H)}
    if rng.random() < 0.8:
        inputs["B"] = normal(directions, 2 * rows)
    if rng.random() < 0.6:
        inputs["sequence_lens"] = rng.integers(1, T + 1, B).astype(np.int32)
    if rng.random() < 0.6:
        inputs["initial_h"] = normal(directions, B, H)
        if cell == "lstm":
            inputs["initial_c"] = 2 * normal(directions, B, H)
    if cell == "lstm" and rng.random() < 0.5:
        inputs["P"] = normal(directions, 3 * H)
    options = {"direction": direction}
    if cell == "gru":
        options["linear_before_reset"] = int(number % 2)
    if cell == "rnn":
        options["activation"] = ("tanh", "relu")[int(number % 2)]
    return inputs, options


def run_peer(cell, inputs, options):
    """The same operator in onnxruntime."""
    order = ("X", "W", "R", "B", "sequence_lens", "initial_h", "initial_c", "P")[: 8 if cell == "lstm" else 6]
    outputs = ["Y", "Y_h", "Y_c"][: 2 + (cell == "lstm")]
    attributes = {key: value for key, value in options.items() if key != "activation"}
    if "activation" in options:
        count = 1 + (options["direction"] == "bidirectional")
        attributes["activations"] = [options["activation"].capitalize()] * count
    node = helper.make_node(
        OPERATORS[cell], [name if name in inputs else "" for name in order], outputs,
        hidden_size=inputs["R"].shape[2], **attributes,
    )  # fmt: skip
    kinds = {name: TensorProto.INT32 if name == "sequence_lens" else TensorProto.FLOAT for name in inputs}
    graph = helper.make_graph(
        [node],
        cell,
        [helper.make_tensor_value_info(name, kinds[name], value.shape) for name, value in inputs.items()],
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in outputs],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 14)], ir_version=8)
    settings = onnxruntime.SessionOptions()
    settings.intra_op_num_threads = settings.inter_op_num_threads = 1
    settings.log_severity_level = 3
    session = onnxruntime.InferenceSession(
        model.SerializeToString(), settings, providers=["CPUExecutionProvider"]
    )
    return session.run(None, inputs)


def test_number_of_draws_and_what_they_cover():
    drawn = [(cell, *draw(cell, number)) for cell in BLOCKS for number in range(DRAWS)]
    assert len(drawn) == 270
    for direction in DIRECTIONS:
        for cell in BLOCKS:
            assert sum(c == cell and o["direction"] == direction for c, _, o in drawn) == 30
    for name in ("B", "sequence_lens", "initial_h", "initial_c", "P"):
        assert sum(name in inputs for _, inputs, _ in drawn) >= 30
    for value in (0, 1):
        assert sum(o.get("linear_before_reset") == value for _, _, o in drawn) == 45


@pytest.mark.parametrize("cell", BLOCKS)
def test_random_grid(cell):
    done = 0
    for number in range(DRAWS):
        inputs, options = draw(cell, number)
        theirs = run_peer(cell, inputs, options)
        ours = onnx_operator(cell, **inputs, **options)
        for name, a, b in zip(("Y", "Y_h", "Y_c"), ours, theirs, strict=False):
            size = max(1.0, np.abs(b).max())
            difference = np.abs(a - b).max()
            assert a.shape == b.shape
            assert difference <= 5e-6 * size, (number, options, sorted(inputs), name, difference)
        done += 1
    assert done == DRAWS


def test_the_grid_would_notice():
    """A swap of two gates, reset at the other place, or lengths left out all differ by far more than the tolerance."""

    def distance(cell, number, change):
        inputs, options = draw(cell, number)
        theirs = run_peer(cell, inputs, options)
        change(inputs, options)
        return np.abs(onnx_operator(cell, **inputs, **options)[0] - theirs[0]).max()

    def swap(inputs, options):
        for name in ("W", "R"):
            blocks = np.split(inputs[name], 4, axis=1)
            inputs[name] = np.concatenate([blocks[k] for k in (0, 2, 1, 3)], axis=1)

    def other_reset(inputs, options):
        options["linear_before_reset"] = 1 - options["linear_before_reset"]

    def no_lengths(inputs, options):
        inputs.pop("sequence_lens", None)

    for cell, change, least in (("lstm", swap, 85), ("gru", other_reset, 80), ("rnn", no_lengths, 30)):
        assert sum(distance(cell, number, change) > 1e-4 for number in range(DRAWS)) >= least

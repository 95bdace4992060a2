"""The ONNX backend's own node tests for RNN, LSTM and GRU, every case.

They are nearly blind by themselves: their weights are constants, so a wrong gate order passes. What they do prove is
the reading of layouts, directions, initial biases, peepholes and defaults; test_onnxruntime.py proves the rest.
"""

import warnings

import numpy as np
import pytest

onnx = pytest.importorskip(
    "onnx", reason="onnx is not installed (pip install learning-to-remember[conformance])"
)

from peers import onnx_operator  # noqa: E402

CELLS = {"RNN": "rnn", "LSTM": "lstm", "GRU": "gru"}
NAMES = {
    "gru_batchwise", "gru_bidirectional", "gru_defaults", "gru_reverse", "gru_seq_length", "gru_with_initial_bias",
    "lstm_batchwise", "lstm_bidirectional", "lstm_defaults", "lstm_reverse", "lstm_with_initial_bias",
    "lstm_with_peepholes", "rnn_seq_length", "simple_rnn_batchwise", "simple_rnn_bidirectional",
    "simple_rnn_defaults", "simple_rnn_reverse", "simple_rnn_with_initial_bias",
}  # fmt: skip
# Older releases lack the cases with directions.
LATER = {name for name in NAMES if name.endswith(("_reverse", "_bidirectional"))}


def collect():
    """All cases of the three operators; ONNX builds them in memory, some from NumPy's global generator."""
    from onnx.backend.test.case.node import collect_testcases

    before = np.random.get_state()  # noqa: NPY002
    np.random.seed(0)  # noqa: NPY002
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # other operators' cases divide by zero on purpose
            cases = collect_testcases(None)
    finally:
        np.random.set_state(before)  # noqa: NPY002
    return {
        case.name.removeprefix("test_"): case
        for case in cases
        if len(case.model.graph.node) == 1 and case.model.graph.node[0].op_type in CELLS
    }


CASES = collect()


def test_number_of_cases():
    version = tuple(int(part) for part in onnx.__version__.split(".")[:2])
    assert set(CASES) >= (NAMES if version >= (1, 23) else NAMES - LATER)
    assert len(CASES) >= 12


@pytest.mark.parametrize("name", sorted(CASES))
def test_case(name):
    case = CASES[name]
    node = case.model.graph.node[0]
    attributes = {a.name: onnx.helper.get_attribute_value(a) for a in node.attribute}
    attributes.pop("hidden_size")
    if "direction" in attributes:
        attributes["direction"] = attributes["direction"].decode()
    assert set(attributes) <= {"direction", "layout", "linear_before_reset"}
    compared = 0
    for inputs, wanted in case.data_sets:
        names = [kind for kind, given in zip(
            ("X", "W", "R", "B", "sequence_lens", "initial_h", "initial_c", "P"), node.input, strict=False,
        ) if given]  # fmt: skip
        ours = onnx_operator(CELLS[node.op_type], **dict(zip(names, inputs, strict=True)), **attributes)
        places = [k for k, given in enumerate(node.output) if given]
        for place, theirs in zip(places, wanted, strict=True):
            assert ours[place].shape == theirs.shape
            np.testing.assert_allclose(ours[place], theirs, rtol=0, atol=1e-6)
            compared += 1
    assert compared >= 1

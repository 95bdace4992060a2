"""Values as text: what arrives is what was sent, in the .npy format as NumPy itself reads it, and nothing else is believed."""

import base64
import io
import json

import numpy as np
import pytest

from refcells.autotest import wire

ARRAYS = {
    "rows first": np.arange(6.0).reshape(2, 3),
    "columns first": np.arange(6.0).reshape(2, 3).T,
    "every other": np.arange(9)[::2],
    "one number": np.array(5),
    "no number": np.zeros((0, 3), np.float32),
    "text": np.array(["ab", "c"]),
}


@pytest.mark.parametrize("array", ARRAYS.values(), ids=ARRAYS)
def test_an_array_arrives_as_it_was_and_can_be_written_to(array):
    text = wire.dumps(array)
    came = wire.loads(text)
    assert isinstance(came, np.ndarray)
    assert (came.dtype, came.shape) == (array.dtype, array.shape)
    np.testing.assert_array_equal(came, array)
    assert came.flags.writeable
    assert came.flags.f_contiguous == np.asarray(array, order="K").copy("K").flags.f_contiguous
    # The same bytes are a .npy file.
    file = io.BytesIO(base64.b64decode(json.loads(text)["npy"]))
    np.testing.assert_array_equal(np.load(file, allow_pickle=False), array)


def test_a_scalar_stays_one():
    came = wire.loads(wire.dumps(np.float32(0.1)))
    assert type(came) is np.float32
    assert came == np.float32(0.1)


@pytest.mark.parametrize(
    "change",
    [
        lambda content: content.replace(b"(6,)", b"(7,)"),
        lambda content: content.replace(b"'<f8'", b"'|O8'"),
        lambda content: content[:-8],
        lambda content: content[:9],
        lambda content: b"",
        lambda content: content.replace(b"NUMPY\x01", b"NUMPY\x03"),
        lambda content: content.replace(b"(6,)", b"(-2, -3)"),
    ],
)
def test_an_array_that_is_none_is_refused(change):
    told = json.loads(wire.dumps(np.arange(6.0)))
    content = base64.b64decode(told["npy"])
    assert change(content) != content
    told["npy"] = base64.b64encode(change(content)).decode()
    with pytest.raises(wire.Unspeakable):
        wire.loads(json.dumps(told))


def test_texts_are_joined_to_a_list():
    values = [{"a": 1.5}, None, (1, "two")]
    assert wire.loads(wire.list_of(map(wire.dumps, values))) == values
    assert wire.loads(wire.list_of([])) == []

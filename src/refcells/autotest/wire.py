"""Values as text, to ask and to answer across a process boundary: JSON, with arrays as .npy bytes; never a pickle.

Both sides import this module. What arrives is data and nothing else: numbers, text, lists, arrays. An object of another
kind arrives as a mere `Opaque` with its type's name, so that a message can still say what came.
"""

import base64
import functools
import io
import json
import math
from collections.abc import Iterable
from typing import Any

__all__ = ["MOST", "Opaque", "Unspeakable", "dumps", "list_of", "loads"]

# Characters of one message: a thousand times what any question needs.
MOST = 64 * 2**20


class Unspeakable(ValueError):
    """A message that is not one: too long, malformed, or of an unknown kind."""


class Opaque:
    """What came was an object of this type, and nothing more is known of it."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __repr__(self) -> str:
        return f"<a {self.name}>"


def _opaque(name: Any) -> Opaque:
    """An Opaque whose type has the object's type's name."""
    text = "".join(c for c in str(name) if c.isalnum() or c == "_")[:60] or "object"
    return type(text, (Opaque,), {})(text)


def _array(value: Any) -> dict[str, Any]:
    import numpy as np

    if value.dtype.hasobject or value.dtype.names:
        raise Unspeakable(f"an array of dtype {value.dtype} came; expected numbers")
    array = np.asarray(value)
    if array.flags.c_contiguous:
        content = _header(array.dtype, array.shape) + array.tobytes()
    else:
        buffer = io.BytesIO()
        np.lib.format.write_array(buffer, array, allow_pickle=False)
        content = buffer.getvalue()
    return {"": "array", "npy": base64.b64encode(content).decode("ascii")}


@functools.lru_cache(maxsize=1000)
def _header(dtype: Any, shape: tuple[int, ...]) -> bytes:
    """What stands before an array's numbers in a .npy file; few kinds of arrays make most of all messages."""
    import numpy as np

    buffer = io.BytesIO()
    told = {"descr": np.lib.format.dtype_to_descr(dtype), "fortran_order": False, "shape": shape}
    np.lib.format.write_array_header_1_0(buffer, told)
    return buffer.getvalue()


def _pack(value: Any, depth: int = 0) -> Any:
    """A value as JSON values; anything but a bare number, text or None is a dict with its kind under ''."""
    if depth > 20:
        raise Unspeakable("lists in lists, more than 20 deep")
    kind = type(value)
    if value is None or kind in (bool, str):
        return value
    if kind is int:
        return {"": "int", "value": str(value)} if abs(value) >= 2**53 else value
    if kind is float:
        return {"": "float", "value": value.hex()}
    if kind in (tuple, list):
        return {"": kind.__name__, "parts": [_pack(part, depth + 1) for part in value]}
    if kind is dict and all(type(key) is str for key in value):
        return {"": "dict", "parts": {key: _pack(part, depth + 1) for key, part in value.items()}}
    module = kind.__module__.partition(".")[0]
    if module == "numpy" and hasattr(value, "dtype") and hasattr(value, "shape"):
        return _array(value) | {"scalar": not hasattr(value, "__setitem__")}
    if module == "torch" and hasattr(value, "detach"):
        return _array(value.detach().cpu().numpy()) | {"": "tensor"}
    return {"": "object", "name": kind.__name__}


def _read_array(content: bytes) -> Any:
    """An array of numbers or text from .npy bytes, whose header may lie about how many there are."""
    import numpy as np

    # Version, and the header's length, stand in the first ten bytes; twelve in version 2, which only records have.
    length = 10 + int.from_bytes(content[8:10], "little")
    shape, columns_first, dtype = _read_header(content[:length])
    if dtype.kind not in "biufcSU" or math.prod(shape) * dtype.itemsize != len(content) - length:
        raise Unspeakable(f"an array of dtype {dtype} and shape {shape} in {len(content)} bytes")
    array = (
        np.frombuffer(content, dtype, math.prod(shape), length) if math.prod(shape) else np.empty(0, dtype)
    )
    return array.reshape(shape, order="F" if columns_first else "C").copy("K")


@functools.lru_cache(maxsize=1000)
def _read_header(header: bytes) -> tuple[tuple[int, ...], bool, Any]:
    """Shape, order and dtype from what stands before an array's numbers."""
    import numpy as np

    buffer = io.BytesIO(header)
    if np.lib.format.read_magic(buffer) != (1, 0):
        raise Unspeakable("an array in a version of the format that numbers do not need")
    return np.lib.format.read_array_header_1_0(buffer)


def _unpack(value: Any) -> Any:
    if value is None or isinstance(value, bool | str | int):
        return value
    if not isinstance(value, dict):
        raise Unspeakable(f"a bare {type(value).__name__} in a message")
    kind = value.get("")
    if kind == "int":
        return int(value["value"])
    if kind == "float":
        return float.fromhex(value["value"])
    if kind in ("tuple", "list"):
        parts = [_unpack(part) for part in value["parts"]]
        return tuple(parts) if kind == "tuple" else parts
    if kind == "dict":
        return {key: _unpack(part) for key, part in value["parts"].items()}
    if kind in ("array", "tensor"):
        array = _read_array(base64.b64decode(value["npy"]))
        if kind == "tensor":
            import torch

            return torch.tensor(array)
        return array[()] if value.get("scalar") else array
    if kind == "object":
        return _opaque(value.get("name"))
    raise Unspeakable(f"a value of kind {str(kind)[:40]!r}")


def dumps(value: Any) -> str:
    """A value as one line of text.

    Raises:
        Unspeakable: if it holds an array of objects, or lists too deep.
    """
    return json.dumps(_pack(value), allow_nan=False)


def loads(text: Any) -> Any:
    """The value that `dumps` made a text of.

    Raises:
        Unspeakable: if the text is none that `dumps` makes.
    """
    if not isinstance(text, str) or len(text) > MOST:
        raise Unspeakable("no text, or one that is too long")
    try:
        return _unpack(json.loads(text))
    except Unspeakable:
        raise
    except Exception as error:
        raise Unspeakable(f"a malformed message ({type(error).__name__})") from None


def list_of(texts: Iterable[str]) -> str:
    """The text of a list whose parts `dumps` has made texts of."""
    return '{"": "list", "parts": [' + ", ".join(texts) + "]}"

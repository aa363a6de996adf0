"""The grammar of arguments and results: what goes through, and what does not."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cupool.errors import ProtocolViolation
from cupool.proto import messages as m
from cupool.proto.values import (
    ARRAY,
    MAX_DEPTH,
    PAYLOAD,
    SCALAR,
    TRANSFER,
    Reader,
    checked_size,
    dtype_from_wire,
    dtype_to_wire,
    encode,
    host_array,
)


def refuse(value: Any) -> Any:
    raise TypeError(f"cannot send {type(value).__name__}")


def no_array(handle: int) -> Any:
    raise ProtocolViolation(f"unknown handle {handle}")


def through(value: Any) -> Any:
    """Send a value over the wire and back."""
    batch = m.Batch(1, [[encode(value, refuse)]])
    decoded = m.decode([m.encode(batch)])
    assert isinstance(decoded, m.Batch)
    return Reader(no_array).read(decoded.records[0][0])


_values: st.SearchStrategy[Any] = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(1 << 200), 1 << 200)
    | st.floats(allow_nan=False)
    | st.complex_numbers(allow_nan=False)
    | st.text()
    | st.just(Ellipsis)
    | st.builds(slice, st.none() | st.integers(-9, 9), st.integers(-9, 9), st.none()),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.lists(inner, max_size=4).map(tuple)
        | st.dictionaries(st.text(max_size=4), inner, max_size=3)
    ),
    max_leaves=20,
)


@settings(max_examples=150, deadline=None)
@given(_values)
def test_values_come_back_as_they_went(value: Any) -> None:
    result = through(value)
    assert result == value
    assert type(result) is type(value)


@pytest.mark.parametrize("text", [">i8", "S7", "U3", "V5"])
def test_dtypes(text: str) -> None:
    dtype = np.dtype(text)
    assert through(dtype) == dtype


@pytest.mark.parametrize("text", ["f4", "i8", "?", "c16", "e", "M8[ns]", "m8[s]"])
def test_scalars(text: str) -> None:
    dtype = np.dtype(text)
    assert through(dtype) == dtype
    scalar = np.zeros(1, dtype)[0]
    result = through(scalar)
    assert result == scalar and result.dtype == dtype


def test_scalar_types_stand_for_their_dtype() -> None:
    assert through(np.float32) == np.dtype("f4")


def test_structured_dtypes() -> None:
    dtype = np.dtype({"names": ["a", "b"], "formats": ["u1", "f8"], "offsets": [0, 16]})
    nested = np.dtype([("x", dtype), ("y", "i2")])
    for one in (dtype, nested):
        assert dtype_from_wire(dtype_to_wire(one)) == one


@pytest.mark.parametrize("value", [object(), np.ones(2), {1, 2}, b"raw", lambda: 0, range(3)])
def test_anything_else_is_refused_by_the_sender(value: Any) -> None:
    with pytest.raises(TypeError, match="cannot send"):
        encode(value, refuse)


@pytest.mark.parametrize(
    "wire",
    [
        b"raw",
        {"a": 1},
        [],
        [99],
        ["ARRAY", 1],
        [[1], 2],
        [ARRAY],
        [ARRAY, "1"],
        [ARRAY, True],
        [ARRAY, 5],
        [1, 5],
        [2],
        [3],
        [4, "O"],
        [4, "object"],
        [4, "no such type"],
        [4, 5],
        [4, [[["a", "O", 0]], 8]],
        [5, "a", 1],
        [7, "zz"],
        [7, "f" * 2000],
        [7, 5],
        [SCALAR, "<f8", b"short"],
        [SCALAR, "O", bytes(8)],
        [PAYLOAD, 0, "<f8", [2], "C"],
        [PAYLOAD, 7, "<f8", [2], "C"],
        [TRANSFER, 1, "<f8", [2], "C"],
        [11, 5],
        [11],
    ],
)
def test_everything_else_is_refused_by_the_receiver(wire: Any) -> None:
    with pytest.raises(ProtocolViolation):
        Reader(no_array, [bytes(3)]).read(wire)


def test_depth_is_bounded() -> None:
    wire: Any = 1
    for _ in range(MAX_DEPTH + 2):
        wire = [1, [wire]]
    with pytest.raises(ProtocolViolation, match="deeper"):
        Reader(no_array).read(wire)


@pytest.mark.parametrize("order", ["C", "F"])
def test_host_arrays_lie_over_their_payload(order: Any) -> None:
    array = np.asarray(np.arange(6.0).reshape(2, 3), order=order)
    result = Reader(no_array, [array.tobytes("A")]).read([PAYLOAD, 0, "<f8", [2, 3], order])
    np.testing.assert_array_equal(result, array)
    assert not result.flags.writeable


@pytest.mark.parametrize(
    "shape", ["x", [-1], [1.5], [1 << 60], [1 << 40, 1 << 40], [1] * 65, [True]]
)
def test_shapes_are_checked(shape: Any) -> None:
    with pytest.raises(ProtocolViolation):
        checked_size(shape, np.dtype("f8"))
    with pytest.raises(ProtocolViolation):
        host_array(bytes(8), np.dtype("f8"), shape, "C")

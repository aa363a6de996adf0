"""Comparing what `cupy` (by way of the pool) and NumPy make of the same call."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import cupy
import numpy as np


def to_host(value: Any) -> Any:
    """Turn device arrays into NumPy arrays, inside tuples and lists too."""
    if isinstance(value, cupy.ndarray):
        return value.get()
    if isinstance(value, (tuple, list)):
        return [to_host(v) for v in value]
    return value


def same(function: Callable[[Any], Any], *, rtol: float = 1e-12, check_dtype: bool = True) -> None:
    """Assert that `function(xp)` gives equal shape, dtype and values for NumPy and cupy.

    The promise (shape, dtype of the device array) is compared as well as the data that came back.
    """
    expected = function(np)
    got = function(cupy)
    _compare(got, expected, rtol, check_dtype)


def _compare(got: Any, expected: Any, rtol: float, check_dtype: bool) -> None:
    if isinstance(expected, (tuple, list)):
        assert len(got) == len(expected)
        for g, e in zip(got, expected, strict=True):
            _compare(g, e, rtol, check_dtype)
        return
    reference = np.asarray(expected)
    if isinstance(got, cupy.ndarray):
        assert got.shape == reference.shape
        if check_dtype:
            assert got.dtype == reference.dtype
    host = np.asarray(to_host(got))
    assert host.shape == reference.shape
    if check_dtype:
        assert host.dtype == reference.dtype
    if reference.dtype.kind in "fc":
        np.testing.assert_allclose(host, reference, rtol=rtol, atol=rtol)
    else:
        np.testing.assert_array_equal(host, reference)

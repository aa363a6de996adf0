"""Random operations with random valid and invalid arguments, against NumPy."""

from __future__ import annotations

import re
import warnings
from typing import Any

import cupy
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings

from tests.cupy import fuzz_calls

REFUSALS = (TypeError, ValueError, IndexError, NotImplementedError, OverflowError, MemoryError)
"""What a caller may be told; `AxisError` is a ValueError."""

STRICTER = re.compile(
    r"Unsupported dtype|Wrong type|Unsupported type|out of bounds for array of dimension 0"
    r"|unexpected keyword argument|should not be negative|column stacked"
    r"|Python integer -?\d+ out of bounds|Can't cast"
)
"""Where CuPy refuses what NumPy takes: object, text and swapped dtypes, complex numbers in clip and
logic, axes of 0-d arrays, options that it lacks."""


def outcome(call: fuzz_calls.Call, xp: Any) -> Any:
    """Return what a call gives, or the error it raises."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            found = call.run(xp)
            return found.get() if isinstance(found, cupy.ndarray) else np.asarray(found)
        except REFUSALS as error:
            return error


def compare(call: fuzz_calls.Call) -> None:
    """Assert that `cupy` gives what NumPy gives, or refuses with an error of CuPy's kinds."""
    expected, got = outcome(call, np), outcome(call, cupy)
    if isinstance(got, Exception):
        assert isinstance(expected, Exception) or STRICTER.search(str(got)), repr(got)
        return
    if isinstance(expected, Exception):
        return  # CuPy takes more here: any `dtype` of a ufunc, indices out of range, which wrap
    assert got.shape == expected.shape
    assert got.dtype == expected.dtype
    if got.dtype.kind in "fc":
        tolerance = {2: 2e-2, 4: 1e-4, 8: 1e-9}.get(got.real.dtype.itemsize, 1e-9)
        np.testing.assert_allclose(got, expected, rtol=tolerance, atol=tolerance)
    else:
        np.testing.assert_array_equal(got, expected)


@given(fuzz_calls.CALLS)
@settings(max_examples=1000, deadline=None, suppress_health_check=list(HealthCheck))
def test_random_calls_agree_with_numpy(call: fuzz_calls.Call) -> None:
    compare(call)


@pytest.mark.slow
@pytest.mark.timeout(1800)
@given(fuzz_calls.CALLS)
@settings(max_examples=50_000, deadline=None, suppress_health_check=list(HealthCheck))
def test_fifty_thousand_random_calls_agree_with_numpy(call: fuzz_calls.Call) -> None:
    compare(call)

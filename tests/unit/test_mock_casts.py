"""Casts of the mock device: what is out of range, and complex numbers."""

from __future__ import annotations

import numpy as np
import pytest

from cupool.pool_server.devices.mock.casts import cast


@pytest.mark.parametrize("dtype", ["i4", "u4", "i8", "u8", "i1", "u2"])
@pytest.mark.parametrize("kind", ["F", "D"])
def test_complex_numbers_are_cut_as_their_real_part(kind: str, dtype: str) -> None:
    values = np.array([np.nan, np.inf, -np.inf, 1e30, -2.5, 7], kind)
    values.imag = 1
    expected = cast(values.real, np.dtype(dtype))
    np.testing.assert_array_equal(cast(values, np.dtype(dtype)), expected)
    assert expected[0] == 0


def test_a_scalar_out_of_range_is_cut_as_an_array_is() -> None:
    found = cast(np.float64(1e20), np.dtype("i4"))  # type: ignore[arg-type]
    assert found == 2**31 - 1 and found.dtype == "i4"

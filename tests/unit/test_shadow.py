"""Shadows: NumPy's view arithmetic over memory that is never touched."""

from __future__ import annotations

import numpy as np
import pytest

from cupool.client_shim import shadow

F4 = np.dtype(np.float32)


@pytest.mark.parametrize("order", ["C", "F", (4, 32, 8)])
def test_a_shadow_has_shape_strides_and_is_writable(order: shadow.Order) -> None:
    made = shadow.make((2, 3, 4), F4, order)
    assert made.shape == (2, 3, 4) and made.flags.writeable
    assert shadow.order_of(made) == order
    assert shadow.offset_bytes(made) == 0


def test_views_know_their_offset() -> None:
    made = shadow.make((10, 4), F4)
    assert shadow.offset_bytes(made[3:, 1]) == 52
    assert shadow.offset_bytes(made[::-1]) == 9 * 16


def test_terabytes_cost_nothing() -> None:
    assert shadow.make((1 << 40,), np.dtype(np.uint8)).nbytes == 1 << 40


def test_what_exceeds_the_region_is_a_memory_error() -> None:
    with pytest.raises(MemoryError, match=r"17,592,186,044,417 bytes"):
        shadow.make((shadow.REGION_BYTES + 1,), np.dtype(np.uint8))


@pytest.mark.parametrize("axes", [(0, 1, 2), (2, 1, 0), (1, 0, 2), (2, 0, 1)])
def test_keep_order_is_numpys_k_order(axes: tuple[int, int, int]) -> None:
    real = np.zeros((2, 3, 4), F4).transpose(axes)
    kept = shadow.keep_order_strides(shadow.make((2, 3, 4), F4).transpose(axes))
    assert shadow.make(real.shape, F4, kept).strides == real.copy(order="K").strides

"""The core: operators, views, indexing, reductions."""

from __future__ import annotations

import cupy as cp
import numpy as np
import pytest

from tests.cupy.agreement import same


def test_operators_agree_with_numpy() -> None:
    def run(xp):
        a = xp.arange(12.0).reshape(3, 4)
        b = xp.ones((3, 4), dtype=xp.float32)
        return [a + b, a - 1, 2 * a, a / 3, a**2, -a, a > 4, abs(a - 5), a % 3, a // 2]

    same(run)


def test_host_arrays_are_never_converted_in_silence() -> None:
    a = cp.arange(3)
    with pytest.raises(TypeError, match="Unsupported type"):
        a + np.arange(3)
    with pytest.raises(TypeError, match="Implicit conversion"):
        np.asarray(a)

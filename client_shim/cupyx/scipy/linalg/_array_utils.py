"""`bandwidth`."""

from __future__ import annotations

from typing import Any

import numpy as np

from cupool.client_shim.cupy._core._ufuncs import ALL
from cupool.client_shim.cupy._creation.from_data import asarray
from cupool.client_shim.cupy._manipulation.join import stack
from cupool.client_shim.cupy._sorting.search import where
from cupool.client_shim.cupy.linalg._util import assert_2d

__all__ = ["bandwidth"]


def bandwidth(a: Any) -> tuple[int, int]:
    """Return how many diagonals below and above the main one hold anything; waits once.

    Raises:
        LinAlgError: not two axes.
    """
    a = asarray(a)
    if a.size == 0:
        return (0, 0)
    assert_2d(a)
    rows, columns = a.shape
    distance = np.arange(rows)[:, None] - np.arange(columns)
    found = where(ALL["not_equal"](a, 0), asarray(distance), 0)
    below, above = stack([found.max(), -found.min()]).get().tolist()
    return below, above

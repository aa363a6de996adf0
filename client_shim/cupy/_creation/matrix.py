"""`diag`, `diagflat`, `tri`, `tril`, `triu`, `vander`."""

from __future__ import annotations

from typing import Any

import numpy as np

from cupool.client_shim.cupy._core import calls, core, views
from cupool.client_shim.cupy._core._dtype import get_dtype
from cupool.client_shim.cupy._creation.basic import lengths_of, zeros
from cupool.client_shim.cupy._creation.from_data import asarray

__all__ = [
    "diag",
    "diagflat",
    "tri",
    "tril",
    "triu",
    "vander",
]
ndarray = core.ndarray


def diag(v: Any, k: int = 0) -> ndarray:
    """Return a matrix with `v` on a diagonal, or a diagonal of a matrix.

    Raises:
        ValueError: neither one nor two axes.
    """
    if not isinstance(v, ndarray):
        v = asarray(v)
    if v.ndim == 1:
        size = v.size + abs(k)
        made = zeros((size, size), v.dtype)
        if v.size:
            made.diagonal(k)[...] = v
        return made
    if v.ndim == 2:
        return views.copy(views.diagonal(v, k), "K")
    raise ValueError("Input must be 1- or 2-d.")


def diagflat(v: Any, k: int = 0) -> ndarray:
    """Return a matrix with the flattened input on a diagonal."""
    return diag(views.ravel(asarray(v)), k)


def tri(N: int, M: int | None = None, k: int = 0, dtype: Any = float) -> ndarray:
    """Return ones at and below a diagonal."""
    shape = lengths_of((N, N if M is None else M))
    wanted = get_dtype(dtype)
    return calls.call_one("tri", (*shape, int(k), wanted), None, shape, wanted)


def tril(m: Any, k: int = 0) -> ndarray:
    """Return the lower triangle; elements above the diagonal are zero."""
    m = asarray(m)
    shape = m.shape if m.ndim > 1 else (*m.shape, *m.shape)
    return calls.call_one("tril", (m, int(k)), None, shape, m.dtype)


def triu(m: Any, k: int = 0) -> ndarray:
    """Return the upper triangle; elements below the diagonal are zero."""
    m = asarray(m)
    shape = m.shape if m.ndim > 1 else (*m.shape, *m.shape)
    return calls.call_one("triu", (m, int(k)), None, shape, m.dtype)


def vander(x: Any, N: int | None = None, increasing: bool = False) -> ndarray:
    """Return the Vandermonde matrix of a vector.

    Raises:
        ValueError: not one axis.
    """
    x = asarray(x)
    if x.ndim != 1:
        raise ValueError("x must be a one-dimensional array or sequence.")
    columns = len(x) if N is None else N
    dtype = np.promote_types(x.dtype, np.int64)
    args = (x, columns, bool(increasing))
    return calls.call_one("vander", args, None, (len(x), columns), dtype)

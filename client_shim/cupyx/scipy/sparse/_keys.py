"""What stands between the brackets of a sparse matrix, taken apart."""

from __future__ import annotations

from typing import Any

import numpy as np

from cupool.client_shim import cupy
from cupool.client_shim.cupy._core import core
from cupool.client_shim.cupyx.scipy.sparse import _base, _sputils

INTEGERS = (int, np.integer)
_ALL = slice(None)


def is_index(x: Any) -> bool:
    """Whether `x` is one number."""
    return isinstance(x, INTEGERS)


def normalized(x: int, length: int, name: str) -> int:
    """Return an index counted from the start.

    Raises:
        IndexError: out of range.
    """
    if not -length <= x < length:
        raise IndexError(f"{name} ({x}) out of range")
    return x + length if x < 0 else x


def as_indices(x: Any, length: int, dtype: Any) -> Any:
    """Return an array of indices from 0 on; as in CuPy, those out of range wrap around.

    Raises:
        IndexError: not integers, or of more than two dimensions.
    """
    try:
        array = cupy.asarray(x, dtype=dtype)
    except (ValueError, TypeError, MemoryError):
        raise IndexError("invalid index") from None
    if array.ndim not in (1, 2):
        raise IndexError("Index dimension must be <= 2")
    return array % length


def unpack(key: Any) -> tuple[Any, Any]:
    """Return what a key means for rows and for columns; masks wait for how many are set.

    Raises:
        IndexError: too many indices, a sparse index.
    """
    known = isinstance(key, (_base._spbase, core.ndarray, np.ndarray))
    if (known or _sputils.is_scipy_sparse(key)) and key.ndim == 2 and key.dtype.kind == "b":
        row, col = key.nonzero()
        return row, col
    key = _without_ellipsis(key)
    if isinstance(key, tuple):
        if len(key) > 2:
            raise IndexError("invalid number of indices")
        row, col = (*key, _ALL, _ALL)[:2]
    else:
        mask = _mask(key)
        if mask is not None and mask.ndim == 2:
            row, col = mask.nonzero()
            return row, col
        row, col = key, _ALL
    if _base.issparse(row) or _base.issparse(col):
        raise IndexError(
            "Indexing with sparse matrices is not supported except boolean indexing where matrix "
            "and index are equal shapes."
        )
    return _mask_to_indices(row), _mask_to_indices(col)


def _without_ellipsis(key: Any) -> Any:
    """Replace the first `...` of a key by as many `:` as there is room for, drop the others."""
    if key is Ellipsis:
        return (_ALL, _ALL)
    if not isinstance(key, tuple):
        return key
    at = next((i for i, k in enumerate(key) if k is Ellipsis), None)
    if at is None:
        return key
    rest = tuple(k for k in key[at + 1 :] if k is not Ellipsis)
    return key[:at] + (_ALL,) * max(0, 2 - at - len(rest)) + rest


def _starts_with_bool(x: Any, depth: int = 2) -> bool:
    if depth < 1:
        return False
    try:
        first = x[0] if len(x) else None
    except TypeError:
        return False
    return isinstance(first, (bool, np.bool_)) or _starts_with_bool(first, depth - 1)


def _mask(x: Any) -> Any:
    """Return `x` if it is a mask, lists of bool as an array; None otherwise."""
    if hasattr(x, "ndim"):
        return x if x.dtype.kind == "b" else None
    return cupy.asarray(x, dtype=bool) if _starts_with_bool(x) else None


def _mask_to_indices(x: Any) -> Any:
    mask = _mask(x)
    if mask is None:
        return x
    if mask.ndim > 1:
        raise IndexError("invalid index shape")
    return cupy.where(cupy.asarray(mask))[0]


def normalize_1d_key(key: Any) -> tuple[Any, int, int]:
    """Return the index of a vector, and how many None stand before and after it.

    Raises:
        IndexError: more than one index or ellipsis.
    """
    keys = key if isinstance(key, tuple) else (key,)
    if sum(k is Ellipsis for k in keys) > 1:
        raise IndexError("an index can only have a single ellipsis ('...')")
    reals = [i for i, k in enumerate(keys) if k is not None and k is not Ellipsis]
    if len(reals) > 1:
        raise IndexError(
            f"too many indices for array: array is 1-dimensional, but {len(reals)} were indexed"
        )
    places = reals or [i for i, k in enumerate(keys) if k is Ellipsis]
    at = places[0] if places else len(keys)
    before = sum(k is None for k in keys[:at])
    after = sum(k is None for k in keys[at:])
    return (keys[reals[0]] if reals else _ALL), before, after

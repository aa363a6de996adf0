"""`copyto`."""

from __future__ import annotations

from typing import Any

import numpy as np

from cupool.client_shim.cupy._core import calls, core, views
from cupool.client_shim.cupy._core._kernel import broadcast_shapes
from cupool.client_shim.cupy._core.routines_indexing import assign

__all__ = ["copyto"]
ndarray = core.ndarray


def copyto(dst: Any, src: Any, casting: str = "same_kind", where: Any = None) -> None:
    """Copy into an array with broadcasting.

    Args:
        src: device array, scalar, or NumPy array of one element.
        casting: which conversions are allowed.
        where: boolean device array; only elements where it is true are copied.

    Raises:
        TypeError: a conversion that `casting` forbids; `where` is not boolean.
        ValueError: shapes that do not fit.
    """
    dst = views.require(dst)
    if where is not None:
        _copyto(dst, src, casting, where)
        return
    with core.on_device_of(dst):
        if isinstance(src, ndarray):
            src = views.on_current_device(src)
        _copyto(dst, src, casting, None)


def _copyto(dst: ndarray, src: Any, casting: str, where: Any) -> None:
    src = _source(dst, src, casting)
    if isinstance(src, ndarray):
        lead = src.shape
        pairs = zip(reversed(lead), reversed(dst.shape), strict=False)
        extra = lead[: max(len(lead) - dst.ndim, 0)]
        if any(have not in (want, 1) for have, want in pairs) or any(n != 1 for n in extra):
            raise ValueError(
                f"could not broadcast input array from shape {src.shape} into shape {dst.shape}"
            )
        if extra:
            src = views.reshape(src, lead[len(extra) :])
    if where is None:
        assign(dst, src)
        return
    if isinstance(where, ndarray):
        if where.dtype != np.bool_:
            raise TypeError(
                f"Cannot cast array data from {where.dtype!r} to {np.dtype(bool)!r} according to"
                " the rule 'safe'"
            )
        if broadcast_shapes([dst.shape, where.shape]) != dst.shape:
            raise ValueError("Out shape is mismatched")
    elif isinstance(where, (bool, int, float, complex, np.generic)):
        where = bool(where)
    else:
        raise TypeError(f"Unsupported type {type(where)}")
    calls.call_into("copyto", (dst, src), {"casting": "unsafe", "where": where})


def _source(dst: ndarray, src: Any, casting: str) -> Any:
    """Return `src` as a device array or scalar that may be cast to `dst`, or raise TypeError."""
    if type(src) in (bool, int, float, complex):
        np.copyto(np.empty((), dst.dtype), src, casting=casting)  # type: ignore[arg-type]
        return src
    if isinstance(src, np.ndarray):
        if src.size != 1:
            raise ValueError("non-scalar numpy.ndarray cannot be used for copyto")
        src = src.reshape(())[()]
    if not isinstance(src, (ndarray, np.generic)):
        convert = getattr(src, "__cupy_get_ndarray__", None)
        if convert is None:
            raise TypeError(f"Unsupported type {type(src)}")
        src = convert()
    if not np.can_cast(src.dtype, dst.dtype, casting):  # type: ignore[arg-type]
        raise TypeError(f"Cannot cast {src.dtype} to {dst.dtype} in {casting} casting mode")
    return src

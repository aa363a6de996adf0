"""Recursive filters without their numerators, by CuPy's names for them."""

from __future__ import annotations

from typing import Any

import numpy as np

from cupool.client_shim.cupyx.scipy.signal import _filtering

__all__ = ["apply_iir", "apply_iir_sos"]


def apply_iir(
    x: Any, a: Any, axis: int = -1, zi: Any = None, dtype: Any = None, block_sz: int = 1024
) -> Any:
    """Return y[n] = x[n] + a[0] y[n - 1] + a[1] y[n - 2] + ...

    Args:
        zi: outputs before.
        block_sz: of the kernels; has no effect on the result.
    """
    from cupool.client_shim import cupy

    dtype = np.dtype(np.result_type(x.dtype, a.dtype) if dtype is None else dtype)
    kind = np.promote_types(dtype, np.float32)
    poles = cupy.concatenate((cupy.ones(1, kind), -a.astype(kind)))
    one = cupy.ones(1, kind)
    if zi is None:
        return _filtering.lfilter(one, poles, x, axis).astype(dtype, copy=False)
    y, _ = _filtering.lfilter(one, poles, x, axis, zi)
    return y.astype(dtype, copy=False)


def apply_iir_sos(
    x: Any,
    sos: Any,
    axis: int = -1,
    zi: Any = None,
    dtype: Any = None,
    block_sz: int = 1024,
    apply_fir: bool = True,
) -> Any:
    """Filter with second-order sections; without their numerators if `apply_fir` is False."""
    from cupool.client_shim import cupy

    if not apply_fir:
        sos = cupy.concatenate((cupy.zeros_like(sos[:, :3]), sos[:, 3:]), axis=1)
        sos[:, 0] = 1
    if dtype is not None:
        sos = sos.astype(dtype)
    return _filtering.sosfilt(sos, x, axis, zi)

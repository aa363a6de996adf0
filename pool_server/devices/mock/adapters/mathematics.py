"""Mathematical functions that are not ufuncs, with CuPy's dtypes."""

from __future__ import annotations

from typing import Any

import numpy as np

from cupool.pool_server.devices.mock.calls import adapter
from cupool.proto.bfloat16 import is_bfloat16

NpArray = np.ndarray[Any, Any]


adapter("convolve", casts=True)(np.convolve)


@adapter("gradient", casts=True)
def gradient(f: NpArray, *distances: Any, axis: Any = None, edge_order: int = 1) -> Any:
    if f.dtype.kind == "b":
        f = f.astype(np.float64)
    keywords: dict[str, Any] = {"axis": axis, "edge_order": edge_order}
    return np.gradient(f, *distances, **keywords)


@adapter("interp", casts=True)
def interp(
    x: Any, xp: Any, fp: Any, left: Any = None, right: Any = None, period: Any = None
) -> Any:
    if isinstance(left, np.ndarray):
        left = left[()]
    if isinstance(right, np.ndarray):
        right = right[()]
    return np.interp(x, xp, fp, left, right, period)


@adapter("nan_to_num", casts=True)
def nan_to_num(x: NpArray, copy: bool, nan: Any, posinf: Any, neginf: Any) -> Any:
    if is_bfloat16(x.dtype):  # CuPy 14.2 puts 0 in all their places there, whatever was asked for
        made = x.copy("K") if copy else x
        made[~np.isfinite(made)] = 0
        return made
    if x.dtype.kind not in "fc":
        return x.copy("K") if copy else x
    return np.nan_to_num(x, copy=copy, nan=nan, posinf=posinf, neginf=neginf)


@adapter("packbits")
def packbits(a: NpArray, axis: Any = None, bitorder: Any = "big") -> Any:
    return np.packbits(a.ravel() != 0, bitorder=bitorder)


@adapter("unpackbits")
def unpackbits(a: NpArray, axis: Any = None, bitorder: Any = "big") -> Any:
    return np.unpackbits(a.ravel(), bitorder=bitorder)


@adapter("unwrap", casts=True)
def unwrap(p: NpArray, discont: Any = None, axis: int = -1, period: Any = 2 * np.pi) -> Any:
    return np.unwrap(p, discont, axis, period=period)

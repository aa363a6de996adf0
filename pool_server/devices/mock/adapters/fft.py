"""Transforms: cuFFT computes in single precision what NumPy may compute otherwise; dtypes are cast
first."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from cupool.pool_server.devices.mock.calls import adapter

NpArray = np.ndarray[Any, Any]


def _as_complex(a: NpArray) -> NpArray:
    if a.dtype.kind == "c":
        return a
    return a.astype(np.complex64 if a.dtype.char in "ef" else np.complex128)


def _as_real(a: NpArray) -> NpArray:
    if a.dtype.kind == "c":
        return a.real
    if a.dtype.kind == "f" and a.dtype.char != "e":
        return a
    return a.astype(np.float32 if a.dtype.char == "e" else np.float64)


def _register(name: str, prepare: Callable[[NpArray], NpArray]) -> None:
    transform: Any = getattr(np.fft, name)

    def run(a: NpArray, lengths: Sequence[int], axes: Sequence[int], norm: str) -> NpArray:
        result: NpArray = transform(prepare(a), tuple(lengths), tuple(axes), norm)
        return result

    adapter(f"fft.{name}", casts=True)(run)


for _name, _prepare in (
    ("fftn", _as_complex),
    ("ifftn", _as_complex),
    ("rfftn", _as_real),
    ("irfftn", _as_complex),
):
    _register(_name, _prepare)

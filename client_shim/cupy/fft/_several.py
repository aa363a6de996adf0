"""One transform on several devices: `cupy.fft.config.use_multi_gpus`, `Plan1d(devices=...)`.

What cuFFT does on several GPUs: complex to complex, along one axis. Of a batch each device takes
some rows. A single transform of n = n1 * n2 points is done in four steps (D. H. Bailey, "FFTs in
external or hierarchical memory", 1990): columns of n1 points, twiddle factors, rows of n2 points,
and a transposition; the devices exchange blocks between the first two and the third.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from cupool.client_shim.cupy._core import core
from cupool.client_shim.cupy._core._dtype import complex_of, real_of

__all__ = ["on_memory", "transform"]

_UNDIVIDED = {-1: "backward", 1: "forward"}


def transform(
    a: core.ndarray, axis: int, points: int, gpus: Sequence[int], norm: str, direction: int
) -> Any:
    """Transform an axis, cut or padded with zeros to `points`; the result is on this device.

    Args:
        gpus: the devices that share the work.
        direction: -1 or 1.
    """
    dtype = complex_of(real_of(a.dtype))
    rows = _fitted(a, axis, points).astype(dtype, copy=False).swapaxes(axis, -1)
    shape = rows.shape
    rows = rows.reshape(-1, points)
    if len(rows) == 1:
        result = _single(rows.reshape(points), gpus, direction).reshape(1, points)
    else:
        result = _batch(rows, gpus, direction)
    divided = norm if norm == "ortho" or norm != _UNDIVIDED[direction] else ""
    if divided:
        result *= result.dtype.type(1 / (math.sqrt(points) if norm == "ortho" else points))
    return result.reshape(shape).swapaxes(axis, -1)


def on_memory(plan: Any, a: Any, out: Any, direction: int) -> None:
    """Run a plan of several devices on arrays of this device, or of this machine's NumPy."""
    import cupy

    if a.size != plan.nx * plan.batch or out.size != a.size:
        raise ValueError(f"the plan is for {plan.batch} x {plan.nx} points, not for {a.size}")
    rows = cupy.asarray(a).reshape(plan.batch, plan.nx)
    result = transform(rows, 1, plan.nx, plan.gpus, _UNDIVIDED[direction], direction)
    result = result.reshape(out.shape).astype(out.dtype, copy=False)
    out[...] = result.get() if isinstance(out, np.ndarray) else result


def _fitted(a: core.ndarray, axis: int, points: int) -> Any:
    import cupy

    if a.shape[axis] == points:
        return a
    index = [slice(None)] * a.ndim
    index[axis] = slice(min(points, a.shape[axis]))
    if a.shape[axis] > points:
        return a[tuple(index)]
    shape = list(a.shape)
    shape[axis] = points
    room = cupy.zeros(shape, a.dtype)
    room[tuple(index)] = a
    return room


def _shares(count: int, gpus: Sequence[int]) -> Iterator[tuple[int, slice]]:
    """Yield each device and its part of `count` rows or columns, which may be none."""
    ends = [count * n // len(gpus) for n in range(len(gpus) + 1)]
    for gpu, begin, end in zip(gpus, ends, ends[1:], strict=False):
        yield gpu, slice(begin, end)


def _along(a: core.ndarray, axis: int, direction: int) -> Any:
    from cupool.client_shim.cupy.fft import _fft

    return _fft._send(a, None, (axis,), _UNDIVIDED[direction], direction, "C2C", "C")


def _batch(rows: core.ndarray, gpus: Sequence[int], direction: int) -> Any:
    import cupy

    result = cupy.empty(rows.shape, rows.dtype)
    parts = []
    for gpu, share in _shares(len(rows), gpus):
        if share.start == share.stop:
            continue
        sent = cupy.ascontiguousarray(rows[share])
        with cupy.cuda.Device(gpu):
            parts.append((share, _along(cupy.asarray(sent), 1, direction)))
    for share, part in parts:
        result[share] = part
    return result


def _single(x: core.ndarray, gpus: Sequence[int], direction: int) -> Any:
    import cupy

    n = x.size
    n1 = 1 << (n.bit_length() - 1) // 2  # a power of 2, at least as large as there are devices
    n2 = n // n1
    columns = x.reshape(n1, n2)
    turned = []
    for gpu, share in _shares(n2, gpus):
        sent = cupy.ascontiguousarray(columns[:, share])
        with cupy.cuda.Device(gpu):
            part = _along(cupy.asarray(sent), 0, direction)
            turned.append((gpu, part * _twiddles(n1, share, n, direction, x.dtype)))
    result = cupy.empty((n1, n2), x.dtype)
    for gpu, share in _shares(n1, gpus):
        pieces = []
        for other, part in turned:
            with cupy.cuda.Device(other):
                piece = cupy.ascontiguousarray(part[share])
            with cupy.cuda.Device(gpu):
                pieces.append(cupy.asarray(piece))
        with cupy.cuda.Device(gpu):
            done = _along(cupy.concatenate(pieces, axis=1), 1, direction)
        result[share] = done
    return result.T.reshape(n)


def _twiddles(n1: int, share: slice, n: int, direction: int, dtype: Any) -> Any:
    """Return the factors of (n1, columns of `share`), exact where their angle is."""
    import cupy

    turns = cupy.arange(n1)[:, None] * cupy.arange(share.start, share.stop)[None, :] % n
    return cupy.exp(direction * 2j * math.pi / n * turns).astype(dtype)

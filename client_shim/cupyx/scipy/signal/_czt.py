"""Transforms along a spiral in the complex plane, and of a range of frequencies."""

from __future__ import annotations

from typing import Any

import numpy as np

from cupool.client_shim.cupyx.scipy._declared import Spec, declared, send
from cupool.client_shim.cupyx.scipy.signal._rules import (
    COMPLEX,
    described,
    on_device,
    result_of,
    transformed,
)

__all__ = ["CZT", "ZoomFFT", "czt", "czt_points", "zoom_fft"]
_operation = declared("scipy.signal")


def _check_points(count: Any, what: str) -> int:
    if not isinstance(count, (int, np.integer)) or count < 1:
        raise ValueError(f"Invalid number of {what} ({count}) specified.")
    return int(count)


def _spiral(x: Any, m: Any, axis: int) -> Spec:
    """Predict a transform at `m` points of an axis, which is computed as the last one."""
    lengths = described(x).shape
    count = _check_points(lengths[axis], "CZT data points")
    shape = list(lengths)
    shape[axis] = count if m is None else _check_points(m, "CZT output points")
    return transformed(tuple(shape), COMPLEX, axis)


@_operation
def czt(x: Any, m: Any = None, w: Any = None, a: Any = 1.0 + 0j, *, axis: int = -1) -> Any:
    """Transform at `m` points that start at `a` and go on by the ratio `w`.

    Raises:
        ValueError: no points.
    """
    return _spiral(x, m, axis)


@_operation
def czt_points(m: int, w: Any = None, a: Any = 1.0 + 0j) -> Any:
    """Return the points at which `czt` transforms.

    Raises:
        ValueError: no points.
    """
    count = _check_points(m, "CZT output points")
    if on_device(w, a):
        return 1
    return Spec((count,), result_of(a, 1.0, 1j if w is None else w))


@_operation
def zoom_fft(
    x: Any, fn: Any, m: Any = None, *, fs: float = 2, endpoint: bool = False, axis: int = -1
) -> Any:
    """Transform at `m` frequencies of the range `fn`, an end or both.

    Raises:
        ValueError: no points, a range of more than two ends.
    """
    if described(fn).shape not in ((), (1,), (2,)):
        raise ValueError("fn must be a scalar or 2-length sequence")
    return _spiral(x, m, axis)


class CZT:
    """A transform along a spiral, to be called with signals of one length; see `czt`.

    Args:
        n: length of the signals.
    """

    def __init__(self, n: int, m: Any = None, w: Any = None, a: Any = 1.0 + 0j) -> None:
        self.n = _check_points(n, "CZT data points")
        self.m = self.n if m is None else _check_points(m, "CZT output points")
        self.w, self.a = w, a

    def __call__(self, x: Any, *, axis: int = -1) -> Any:
        """Transform an axis.

        Raises:
            ValueError: an axis of another length.
        """
        self._check(x, axis)
        given = {"x": x, "m": self.m, "w": self.w, "a": self.a, "axis": axis}
        return send("scipy.signal.czt", given, _spiral(x, self.m, axis))

    def _check(self, x: Any, axis: int) -> None:
        if x.shape[axis] != self.n:
            raise ValueError(
                f"CZT defined for length {self.n}, not {x.shape[axis]} in shape {x.shape}"
            )

    def points(self) -> Any:
        """Return the points of the transform."""
        return czt_points(self.m, self.w, self.a)


class ZoomFFT(CZT):
    """A transform of a range of frequencies, to be called with signals of one length.

    Args:
        n: length of the signals.
        fn: the end of the range, or both ends; see `zoom_fft`.
    """

    def __init__(
        self, n: int, fn: Any, m: Any = None, *, fs: float = 2, endpoint: bool = False
    ) -> None:
        count = _check_points(n, "CZT data points")
        points = count if m is None else _check_points(m, "CZT output points")
        size = np.size(fn) if not hasattr(fn, "get") else fn.size
        if size not in (1, 2):
            raise ValueError("fn must be a scalar or 2-length sequence")
        first, last = (0.0, fn) if size == 1 else (fn[0], fn[1])
        width = last - first
        scale = 2 * width / fs
        if endpoint:
            scale *= points / (points - 1) if points > 1 else 1
        super().__init__(
            count,
            points,
            np.exp(-1j * np.pi * float(scale) / points),
            np.exp(2j * np.pi * float(first) / fs),
        )
        self.f1, self.f2, self.fs = first, last, fs

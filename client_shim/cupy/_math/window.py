"""Window functions: float64 vectors of a given length."""

from __future__ import annotations

from typing import Any

import numpy as np

from cupool.client_shim.cupy._core import calls, core

__all__ = ["bartlett", "blackman", "hamming", "hanning", "kaiser"]
ndarray = core.ndarray

_FLOAT = np.dtype(np.float64)


def _window(name: str, M: Any, *args: Any) -> ndarray:
    if M <= 0:
        return calls.call_one("zeros", ((0,), _FLOAT), None, (0,), _FLOAT)
    if M == 1:
        made = ndarray((1,), _FLOAT)
        made.fill(1)
        return made
    M = M.__index__()
    return calls.call_one(name, (M, *args), None, (M,), _FLOAT)


def bartlett(M: int) -> ndarray:
    """Return the Bartlett (triangular) window with zeros at both ends."""
    return _window("bartlett", M)


def blackman(M: int) -> ndarray:
    """Return the Blackman window."""
    return _window("blackman", M)


def hamming(M: int) -> ndarray:
    """Return the Hamming window."""
    return _window("hamming", M)


def hanning(M: int) -> ndarray:
    """Return the Hann window."""
    return _window("hanning", M)


def kaiser(M: int, beta: float) -> ndarray:
    """Return the Kaiser window of shape parameter `beta`."""
    return _window("kaiser", M, float(beta))

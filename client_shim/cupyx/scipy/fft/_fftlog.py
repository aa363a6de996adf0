"""`fht` and `ifht`: Hankel transforms of logarithmically spaced samples."""

from __future__ import annotations

import math
import warnings
from typing import Any

import numpy as np

from cupool.client_shim.cupy._core import calls, core
from cupool.client_shim.cupy._core._dtype import to_inexact

__all__ = ["fht", "ifht"]


def _is_pole(x: float) -> bool:
    """Whether the gamma function is infinite at x."""
    return x <= 0 and math.floor(x) == x


def _send(name: str, a: Any, dln: Any, mu: Any, offset: Any, bias: Any) -> core.ndarray:
    dtype = to_inexact(a.dtype)
    if dtype.char == "e" or bias != 0:
        dtype = np.result_type(dtype, np.float32 if bias == 0 else np.float64)
    return calls.call_one(f"scipy.fft.{name}", (a, dln, mu, offset, bias), None, a.shape, dtype)


def fht(a: Any, dln: Any, mu: Any, offset: Any = 0.0, bias: Any = 0.0) -> core.ndarray:
    """Transform the last axis.

    Args:
        a: samples, real.
        dln: their distance on a logarithmic scale.
        mu: order of the transform.
        offset: of the result's scale.
        bias: exponent of the power law that is taken off.

    A warning tells of an order and bias for which the transform is singular.
    """
    if _is_pole((mu + 1 + bias) / 2) and not _is_pole((mu + 1 - bias) / 2):
        warnings.warn("singular transform; consider changing the bias", stacklevel=2)
    return _send("fht", a, dln, mu, offset, bias)


def ifht(A: Any, dln: Any, mu: Any, offset: Any = 0.0, bias: Any = 0.0) -> core.ndarray:
    """Transform the last axis back; see `fht`."""
    if _is_pole((mu + 1 - bias) / 2) and not _is_pole((mu + 1 + bias) / 2):
        warnings.warn("singular inverse transform; consider changing the bias", stacklevel=2)
    return _send("ifht", A, dln, mu, offset, bias)

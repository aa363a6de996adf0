"""Cepstra."""

from __future__ import annotations

from typing import Any

import numpy as np

from cupool.client_shim.cupy._core._dtype import complex_of, real_of
from cupool.client_shim.cupy._creation.from_data import asarray
from cupool.client_shim.cupyx.scipy._declared import Spec, send
from cupool.client_shim.cupyx.scipy.signal._rules import transformed

__all__ = ["complex_cepstrum", "inverse_complex_cepstrum", "minimum_phase", "real_cepstrum"]


def _along(x: Any, n: int | None, axis: int) -> Spec:
    shape = list(x.shape)
    shape[axis] = shape[axis] if n is None else n
    return transformed(tuple(shape), real_of(complex_of(x.dtype)), axis)


def real_cepstrum(x: Any, n: int | None = None, axis: int = -1) -> Any:
    """Return the inverse transform of the logarithm of the spectrum's magnitude."""
    x = asarray(x)
    return send("signal.real_cepstrum", {"x": x, "n": n, "axis": axis}, _along(x, n, axis))


def complex_cepstrum(x: Any, n: int | None = None, axis: int = -1) -> Any:
    """Return the cepstrum with phase, and by how many samples the signal was moved."""
    x = asarray(x)
    ceps = _along(x, n, axis)
    delays = Spec(ceps.shape, ceps.dtype)
    return send("signal.complex_cepstrum", {"x": x, "n": n, "axis": axis}, [ceps, delays])


def inverse_complex_cepstrum(ceps: Any, ndelay: Any) -> Any:
    """Return the signal of a cepstrum with phase."""
    ceps = asarray(ceps)
    prediction = Spec(ceps.shape, real_of(complex_of(ceps.dtype)))
    return send("signal.inverse_complex_cepstrum", {"ceps": ceps, "ndelay": ndelay}, prediction)


def minimum_phase(x: Any, n: int | None = None) -> Any:
    """Return the signal of minimum phase with the same magnitudes."""
    count = len(x) if n is None else n
    dtype: np.dtype[Any] = real_of(complex_of(x.dtype))
    return send("signal.minimum_phase", {"x": x, "n": n}, Spec((count,), dtype))

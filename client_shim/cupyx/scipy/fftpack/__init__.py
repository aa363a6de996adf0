"""`cupyx.scipy.fftpack`: Fourier transforms with the older package's arguments."""

from __future__ import annotations

from cupool.client_shim.cupy import _unsupported
from cupool.client_shim.cupyx.scipy.fftpack._fft import (
    fft,
    fft2,
    fftn,
    get_fft_plan,
    ifft,
    ifft2,
    ifftn,
    irfft,
    rfft,
)

__all__ = ["fft", "fft2", "fftn", "get_fft_plan", "ifft", "ifft2", "ifftn", "irfft", "rfft"]

_unsupported.fill(globals(), "cupyx.scipy.fftpack")

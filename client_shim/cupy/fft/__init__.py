"""`cupy.fft`: discrete Fourier transforms."""

import sys as _sys

from cupool.client_shim.cupy import _unsupported
from cupool.client_shim.cupy.fft._config import config
from cupool.client_shim.cupy.fft._fft import (
    fft,
    fft2,
    fftfreq,
    fftn,
    fftshift,
    hfft,
    ifft,
    ifft2,
    ifftn,
    ifftshift,
    ihfft,
    irfft,
    irfft2,
    irfftn,
    rfft,
    rfft2,
    rfftfreq,
    rfftn,
)

__all__ = [
    "config",
    "fft",
    "fft2",
    "fftfreq",
    "fftn",
    "fftshift",
    "hfft",
    "ifft",
    "ifft2",
    "ifftn",
    "ifftshift",
    "ihfft",
    "irfft",
    "irfft2",
    "irfftn",
    "rfft",
    "rfft2",
    "rfftfreq",
    "rfftn",
]

# `import cupy.fft.config` gives the object, as in CuPy.
_sys.modules[__name__ + ".config"] = config  # type: ignore[assignment]
_unsupported.fill(globals(), "cupy.fft")

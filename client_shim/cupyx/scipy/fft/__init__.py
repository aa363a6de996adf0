"""`cupyx.scipy.fft`: Fourier, cosine, sine and Hankel transforms, and a backend of `scipy.fft`."""

from __future__ import annotations

from cupool.client_shim.cupy import _unsupported
from cupool.client_shim.cupy.fft import fftfreq, fftshift, ifftshift, rfftfreq
from cupool.client_shim.cupyx.scipy._uarray import convert as __ua_convert__
from cupool.client_shim.cupyx.scipy._uarray import function_of as _function_of
from cupool.client_shim.cupyx.scipy.fft import _fft, _fftlog, _realtransforms
from cupool.client_shim.cupyx.scipy.fft._fft import (
    fft,
    fft2,
    fftn,
    hfft,
    hfft2,
    hfftn,
    ifft,
    ifft2,
    ifftn,
    ihfft,
    ihfft2,
    ihfftn,
    irfft,
    irfft2,
    irfftn,
    rfft,
    rfft2,
    rfftn,
)
from cupool.client_shim.cupyx.scipy.fft._fftlog import fht, ifht
from cupool.client_shim.cupyx.scipy.fft._helper import next_fast_len
from cupool.client_shim.cupyx.scipy.fft._realtransforms import (
    dct,
    dctn,
    dst,
    dstn,
    idct,
    idctn,
    idst,
    idstn,
)
from cupool.client_shim.cupyx.scipy.fftpack import get_fft_plan

__all__ = [
    "__ua_convert__",
    "__ua_domain__",
    "__ua_function__",
    "dct",
    "dctn",
    "dst",
    "dstn",
    "fft",
    "fft2",
    "fftfreq",
    "fftn",
    "fftshift",
    "fht",
    "get_fft_plan",
    "hfft",
    "hfft2",
    "hfftn",
    "idct",
    "idctn",
    "idst",
    "idstn",
    "ifft",
    "ifft2",
    "ifftn",
    "ifftshift",
    "ifht",
    "ihfft",
    "ihfft2",
    "ihfftn",
    "irfft",
    "irfft2",
    "irfftn",
    "next_fast_len",
    "rfft",
    "rfft2",
    "rfftfreq",
    "rfftn",
]

__ua_domain__ = "numpy.scipy.fft"
__ua_function__ = _function_of(
    {
        name: getattr(module, name)
        for module in (_fft, _fftlog, _realtransforms)
        for name in module.__all__
    }
)

_unsupported.fill(globals(), "cupyx.scipy.fft")

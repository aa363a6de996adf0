"""`cupyx.signal`: cepstra, polyphase filters, radar; what was cuSignal's and is not in SciPy."""

from __future__ import annotations

from cupool.client_shim.cupy import _unsupported
from cupool.client_shim.cupyx.signal._acoustics import (
    complex_cepstrum,
    inverse_complex_cepstrum,
    minimum_phase,
    real_cepstrum,
)
from cupool.client_shim.cupyx.signal._convolution import convolve1d2o, convolve1d3o
from cupool.client_shim.cupyx.signal._filtering import (
    channelize_poly,
    firfilter,
    firfilter2,
    firfilter_zi,
    freq_shift,
)
from cupool.client_shim.cupyx.signal._radartools import (
    ca_cfar,
    cfar_alpha,
    mvdr,
    pulse_compression,
    pulse_doppler,
)

__all__ = [
    "ca_cfar",
    "cfar_alpha",
    "channelize_poly",
    "complex_cepstrum",
    "convolve1d2o",
    "convolve1d3o",
    "firfilter",
    "firfilter2",
    "firfilter_zi",
    "freq_shift",
    "inverse_complex_cepstrum",
    "minimum_phase",
    "mvdr",
    "pulse_compression",
    "pulse_doppler",
    "real_cepstrum",
]

_unsupported.fill(globals(), "cupyx.signal")

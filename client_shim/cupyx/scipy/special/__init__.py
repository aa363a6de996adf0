"""`cupyx.scipy.special`: special functions, most of them universal functions."""

from __future__ import annotations

from cupool.client_shim.cupy import _unsupported
from cupool.client_shim.cupy._core._ufuncs import ALL as _ALL
from cupool.client_shim.cupy._core._ufuncs import build_elsewhere as _build
from cupool.client_shim.cupy._math.rounding import round
from cupool.client_shim.cupyx.scipy.special import _functions
from cupool.client_shim.cupyx.scipy.special._functions import (
    btdtr,
    btdtri,
    lambertw,
    log_softmax,
    logsumexp,
    multigammaln,
    polygamma,
    softmax,
    sph_harm,
    sph_harm_y,
    spherical_yn,
)

__all__ = [
    "btdtr",
    "btdtri",
    "lambertw",
    "log_softmax",
    "logsumexp",
    "multigammaln",
    "polygamma",
    "round",
    "softmax",
    "sph_harm",
    "sph_harm_y",
    "spherical_yn",
]

_UFUNCS = _build("cupyx.scipy.special")
globals().update(_UFUNCS)
psi = _UFUNCS["digamma"]
sinc = _ALL["sinc"]
__all__ += [*_UFUNCS, "psi", "sinc"]
_functions.ufuncs.update(_UFUNCS)

_unsupported.fill(globals(), "cupyx.scipy.special")

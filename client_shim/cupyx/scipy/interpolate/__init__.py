"""`cupyx.scipy.interpolate`: polynomials, splines, grids, scattered data."""

from __future__ import annotations

from cupool.client_shim.cupy import _unsupported
from cupool.client_shim.cupyx.scipy.interpolate._bspline import BSpline, splantider, splder
from cupool.client_shim.cupyx.scipy.interpolate._bspline2 import make_interp_spline, make_lsq_spline
from cupool.client_shim.cupyx.scipy.interpolate._cubic import (
    Akima1DInterpolator,
    CubicHermiteSpline,
    CubicSpline,
    PchipInterpolator,
    pchip_interpolate,
)
from cupool.client_shim.cupyx.scipy.interpolate._fitpack_repro import (
    InterpolatedUnivariateSpline,
    LSQUnivariateSpline,
    UnivariateSpline,
)
from cupool.client_shim.cupyx.scipy.interpolate._interp1d import interp1d
from cupool.client_shim.cupyx.scipy.interpolate._interpnd import (
    CloughTocher2DInterpolator,
    LinearNDInterpolator,
)
from cupool.client_shim.cupyx.scipy.interpolate._interpolate import BPoly, NdPPoly, PPoly
from cupool.client_shim.cupyx.scipy.interpolate._ndbspline import NdBSpline
from cupool.client_shim.cupyx.scipy.interpolate._ndgriddata import NearestNDInterpolator
from cupool.client_shim.cupyx.scipy.interpolate._polyint import (
    BarycentricInterpolator,
    KroghInterpolator,
    barycentric_interpolate,
    krogh_interpolate,
)
from cupool.client_shim.cupyx.scipy.interpolate._rbfinterp import RBFInterpolator
from cupool.client_shim.cupyx.scipy.interpolate._rgi import RegularGridInterpolator, interpn

__all__ = [
    "Akima1DInterpolator",
    "BPoly",
    "BSpline",
    "BarycentricInterpolator",
    "CloughTocher2DInterpolator",
    "CubicHermiteSpline",
    "CubicSpline",
    "InterpolatedUnivariateSpline",
    "KroghInterpolator",
    "LSQUnivariateSpline",
    "LinearNDInterpolator",
    "NdBSpline",
    "NdPPoly",
    "NearestNDInterpolator",
    "PPoly",
    "PchipInterpolator",
    "RBFInterpolator",
    "RegularGridInterpolator",
    "UnivariateSpline",
    "barycentric_interpolate",
    "interp1d",
    "interpn",
    "krogh_interpolate",
    "make_interp_spline",
    "make_lsq_spline",
    "pchip",
    "pchip_interpolate",
    "splantider",
    "splder",
]

pchip = PchipInterpolator

_unsupported.fill(globals(), "cupyx.scipy.interpolate")

"""What `scipy.linalg` functions become when `cupyx.scipy.linalg` is SciPy's backend."""

from __future__ import annotations

from cupool.client_shim.cupy import linalg as _linalg
from cupool.client_shim.cupyx.scipy._uarray import convert as __ua_convert__
from cupool.client_shim.cupyx.scipy._uarray import function_of as _function_of
from cupool.client_shim.cupyx.scipy.linalg import _decomp_lu, _solve_triangular, _special_matrices

__all__ = ["__ua_convert__", "__ua_domain__", "__ua_function__"]

__ua_domain__ = "numpy.scipy.linalg"

_FROM_CUPY = "eigh eigvalsh cholesky qr svd norm det solve lstsq inv pinv".split()
_implemented = {
    name: getattr(module, name)
    for module in (_decomp_lu, _solve_triangular, _special_matrices)
    for name in module.__all__
} | {name: getattr(_linalg, name) for name in _FROM_CUPY}
_notfound: list[str] = []

__ua_function__ = _function_of(_implemented)

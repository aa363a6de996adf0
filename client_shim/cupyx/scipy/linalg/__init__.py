"""`cupyx.scipy.linalg`: factors, special matrices, the exponential."""

from __future__ import annotations

from cupool.client_shim.cupy import _unsupported
from cupool.client_shim.cupyx.scipy.linalg._array_utils import bandwidth
from cupool.client_shim.cupyx.scipy.linalg._decomp_lu import lu, lu_factor, lu_solve
from cupool.client_shim.cupyx.scipy.linalg._matfuncs import expm, khatri_rao
from cupool.client_shim.cupyx.scipy.linalg._solve_triangular import solve_triangular
from cupool.client_shim.cupyx.scipy.linalg._special_matrices import (
    block_diag,
    circulant,
    companion,
    convolution_matrix,
    dft,
    fiedler,
    fiedler_companion,
    hadamard,
    hankel,
    helmert,
    hilbert,
    kron,
    leslie,
    toeplitz,
)
from cupool.client_shim.cupyx.scipy.linalg._uarray import (
    __ua_convert__,
    __ua_domain__,
    __ua_function__,
)

__all__ = [
    "__ua_convert__",
    "__ua_domain__",
    "__ua_function__",
    "bandwidth",
    "block_diag",
    "circulant",
    "companion",
    "convolution_matrix",
    "dft",
    "expm",
    "fiedler",
    "fiedler_companion",
    "hadamard",
    "hankel",
    "helmert",
    "hilbert",
    "khatri_rao",
    "kron",
    "leslie",
    "lu",
    "lu_factor",
    "lu_solve",
    "solve_triangular",
    "toeplitz",
]

_unsupported.fill(globals(), "cupyx.scipy.linalg")

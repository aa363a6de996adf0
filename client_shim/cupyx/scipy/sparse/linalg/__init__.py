"""`cupyx.scipy.sparse.linalg`: systems and eigenvalues of sparse matrices."""

from cupool.client_shim.cupyx.scipy.sparse.linalg._eigen import eigsh, svds
from cupool.client_shim.cupyx.scipy.sparse.linalg._interface import (
    LinearOperator,
    aslinearoperator,
)
from cupool.client_shim.cupyx.scipy.sparse.linalg._iterative import bicgstab, cg, cgs, gmres
from cupool.client_shim.cupyx.scipy.sparse.linalg._least_squares import lsmr, lsqr
from cupool.client_shim.cupyx.scipy.sparse.linalg._lobpcg import lobpcg
from cupool.client_shim.cupyx.scipy.sparse.linalg._matfuncs import matrix_power
from cupool.client_shim.cupyx.scipy.sparse.linalg._minres import minres
from cupool.client_shim.cupyx.scipy.sparse.linalg._norm import norm
from cupool.client_shim.cupyx.scipy.sparse.linalg._solve import (
    SuperLU,
    factorized,
    spilu,
    splu,
    spsolve,
    spsolve_triangular,
)

__all__ = [
    "LinearOperator",
    "SuperLU",
    "aslinearoperator",
    "bicgstab",
    "cg",
    "cgs",
    "eigsh",
    "factorized",
    "gmres",
    "lobpcg",
    "lsmr",
    "lsqr",
    "matrix_power",
    "minres",
    "norm",
    "spilu",
    "splu",
    "spsolve",
    "spsolve_triangular",
    "svds",
]

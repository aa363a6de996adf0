"""`cupy.linalg`: decompositions, eigenvalues, norms, equations; files named as CuPy names them."""

from numpy.linalg import LinAlgError

from cupool.client_shim.cupy import _unsupported
from cupool.client_shim.cupy.linalg._decomposition import cholesky, qr, svd
from cupool.client_shim.cupy.linalg._eigenvalue import eig, eigh, eigvals, eigvalsh
from cupool.client_shim.cupy.linalg._norms import cond, det, matrix_rank, norm, slogdet
from cupool.client_shim.cupy.linalg._product import linalg_cross as cross
from cupool.client_shim.cupy.linalg._product import matmul, matrix_power, matrix_transpose
from cupool.client_shim.cupy.linalg._solve import inv, lstsq, pinv, solve, tensorinv, tensorsolve

__all__ = [
    "LinAlgError",
    "cholesky",
    "cond",
    "cross",
    "det",
    "eig",
    "eigh",
    "eigvals",
    "eigvalsh",
    "inv",
    "lstsq",
    "matmul",
    "matrix_power",
    "matrix_rank",
    "matrix_transpose",
    "norm",
    "pinv",
    "qr",
    "slogdet",
    "solve",
    "svd",
    "tensorinv",
    "tensorsolve",
]

_unsupported.fill(globals(), "cupy.linalg")

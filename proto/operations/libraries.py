"""CUDA's libraries by address: the client makes views over the addresses, and sends those.

All write into arguments. Matrices are column-major; numbers are the libraries' own constants;
`info` is an int32 array of one element, 0 for success (LAPACK's meaning).

    cusolver.potrf   uplo, a, info
    cusolver.potrs   uplo, a, b, info
    cusolver.getrf   a, ipiv or None, info         ipiv from 1 on; None: no pivots
    cusolver.getrs   trans, a, ipiv or None, b, info
    cusolver.getri   a, ipiv or None, c, info      c: the inverse, of what getrf made
    cusolver.geqrf   a, tau, info
    cusolver.orgqr   k, a, tau, info
    cusolver.ormqr   side, trans, a, tau, c, info
    cusolver.gesvd   jobu, jobvt, a, s, u or None, vt or None, info
    cusolver.syevd   jobz, uplo, a, w, info
    cublas.trsm      side, uplo, trans, diag, alpha, a, b
    curand.draw      kind, out, type, seed, offset, parameters
"""

from cupool.proto.operations.operation import Operation

_SOLVER = ("potrf", "potrs", "getrf", "getrs", "getri", "geqrf", "orgqr", "ormqr", "gesvd", "syevd")

OPERATIONS = tuple(
    Operation(name, "function", rule="own", outputs=0)
    for name in (*(f"cusolver.{one}" for one in _SOLVER), "cublas.trsm", "curand.draw")
)

"""CUDA's libraries by address: the client makes views over the addresses, and sends those.

All write into arguments. Matrices are column-major; numbers are the libraries' own constants;
`info` is an int32 array of one element, 0 for success (LAPACK's meaning); of a batch, of one
element for each matrix. Batches are arrays with one axis more, the last. `u` and `v` are None
where no vectors are wanted. `tolerance`, `sweeps` and `sort` are None where nothing was set;
`report` is a float64 array, the norm of the rest and the sweeps that were done. `low` is a letter
of cuSOLVER's: "s", "d", "c", "z", "h" and "k" (half), "x" and "y" (TF32); `done` an int32 array,
the rounds of refinement.

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
    cusolver.sytrf   uplo, a, ipiv, info           symmetric, never Hermitian
    cusolver.gesvdj  jobz, econ, a, s, u, v, info, tolerance, sweeps, sort, report
    cusolver.gesvdj_batched   jobz, a, s, u, v, info, tolerance, sweeps, sort
    cusolver.gesvda_batched   jobz, a, s, u, v, info, norms or None
    cusolver.syevj   jobz, uplo, a, w, info, tolerance, sweeps, sort, report
    cusolver.syevj_batched    jobz, uplo, a, w, info, tolerance, sweeps, sort
    cusolver.gesv    low, a, ipiv, b, x, info, done
    cusolver.gels    low, a, b, x, info, done
    cublas.trsm      side, uplo, trans, diag, alpha, a, b
    cublas.gemm_ex   transa, transb, alpha, a, b, beta, c, compute, algo: matrices with a third
                     axis; a and b of one type, c of another; factors of `compute`'s
    cusparse.gtsv    pivoting, lower, main, upper diagonal of m elements, b of shape (m, n)
    cusparse.gpsv    m, systems, five diagonals and x of m * systems elements, which alternate
    curand.draw      kind, out, type, seed, offset, parameters
"""

from cupool.proto.operations.operation import Operation

_SOLVER = tuple(
    "potrf potrs getrf getrs getri geqrf orgqr ormqr gesvd syevd sytrf gesvdj gesvdj_batched "
    "gesvda_batched syevj syevj_batched gesv gels".split()
)

_OTHERS = ("cublas.trsm", "cublas.gemm_ex", "cusparse.gtsv", "cusparse.gpsv", "curand.draw")

OPERATIONS = tuple(
    Operation(name, "function", rule="own", outputs=0)
    for name in (*(f"cusolver.{one}" for one in _SOLVER), *_OTHERS)
)

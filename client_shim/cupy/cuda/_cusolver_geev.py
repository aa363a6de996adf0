"""`cupy.cuda.cusolver`: eigenvalues of any square matrix, `xgeev`, by those of `cupy.linalg`.

Semantics: https://docs.nvidia.com/cuda/cusolver/#cusolverdnxgeev.
"""

from __future__ import annotations

from cupool.client_shim.cupy.cuda._cusolver_calls import _VECTORS, FUNCTIONS, _call, _check
from cupool.client_shim.cupy.cuda._cusolver_jacobi import _error, _settings, empty
from cupool.client_shim.cupy.cuda._libraries import INT32, LETTERS, matrix, vector

__all__ = ["FUNCTIONS"]

_NOT_SUPPORTED = 9
_LETTERS = {0: "s", 1: "d", 4: "c", 5: "z"}
"""By `cudaDataType_t`."""
_COMPLEX = {0: 4, 1: 5, 4: 4, 5: 5}


def _letter(params: int, jobs: tuple[int, int], types: tuple[int, ...], n: int, lda: int) -> str:
    """Return the letter of the matrix' type; `types` are those of A, W, VL, VR and the compute
    type.

    Raises:
        CUSOLVERError: they do not go together, or left eigenvectors, which CUDA has not.
    """
    _settings(params, "cusolver_params")
    letter = _LETTERS.get(types[0])
    same = all(one == types[0] for one in types[2:])
    if letter is None or not same or types[1] != _COMPLEX[types[0]] or jobs[0]:
        raise _error(_NOT_SUPPORTED)
    if jobs[1] not in (0, _VECTORS) or n < 0 or lda < max(1, n):
        raise _error(3)
    return letter


def xgeev_bufferSize(
    handle: int,
    params: int,
    jobvl: int,
    jobvr: int,
    n: int,
    dataTypeA: int,
    A: int,
    lda: int,
    dataTypeW: int,
    W: int,
    dataTypeVL: int,
    VL: int,
    ldvl: int,
    dataTypeVR: int,
    VR: int,
    ldvr: int,
    computeType: int,
) -> tuple[int, int]:
    """Return how many bytes of work space `xgeev` wants on the device and on the host."""
    _check(handle)
    types = (dataTypeA, dataTypeW, dataTypeVL, dataTypeVR, computeType)
    letter = _letter(params, (jobvl, jobvr), types, n, lda)
    return max(1, n * n) * LETTERS[letter].itemsize, 0


def xgeev(
    handle: int,
    params: int,
    jobvl: int,
    jobvr: int,
    n: int,
    dataTypeA: int,
    A: int,
    lda: int,
    dataTypeW: int,
    W: int,
    dataTypeVL: int,
    VL: int,
    ldvl: int,
    dataTypeVR: int,
    VR: int,
    ldvr: int,
    computeType: int,
    bufferOnDevice: int,
    workspaceInBytesOnDevice: int,
    bufferOnHost: int,
    workspaceInBytesOnHost: int,
    info: int,
) -> None:
    """Write the eigenvalues, complex always, and with `jobvr` 1 the right eigenvectors: of a real
    matrix as LAPACK has them, real and imaginary part of a pair in two columns."""
    from cupool.client_shim import cupy

    _check(handle)
    types = (dataTypeA, dataTypeW, dataTypeVL, dataTypeVR, computeType)
    letter = _letter(params, (jobvl, jobvr), types, n, lda)
    with _call(handle, jobvr != _VECTORS or ldvr >= max(1, n)):
        if empty(info, 1, n):
            return
        dtype, values = LETTERS[letter], LETTERS[_LETTERS[dataTypeW]]
        a, to = matrix(A, (n, n), lda, dtype), vector(W, n, 1, values)
        if jobvr == _VECTORS:
            to[...], made = cupy.linalg.eig(a)
            if dtype.kind != "c":
                made = cupy.where(to.imag >= 0, made.real, -made.imag)
            matrix(VR, (n, n), ldvr, dtype)[...] = made
        else:
            to[...] = cupy.linalg.eigvals(a)
        vector(info, 1, 1, INT32).fill(0)


FUNCTIONS.update(xgeev=xgeev, xgeev_bufferSize=xgeev_bufferSize)

"""`proto.operations.libraries` on a GPU: the libraries' own functions, with work space."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from cupool.pool_server.devices.cuda_solvers import LETTERS as _LETTERS
from cupool.pool_server.devices.cuda_solvers import SolverOperations
from cupool.pool_server.devices.cuda_solvers import ld as _ld
from cupool.pool_server.devices.cuda_solvers import pointer as _pointer
from cupool.pool_server.devices.cuda_solvers import stride as _stride

_DATA_TYPES = {"f": 0, "d": 1, "e": 2, "b": 3, "F": 4, "D": 5, "i": 10, "E": 14}
"""`cudaDataType_t` by dtype."""
_FACTOR_TYPES = {64: "e", 65: "e", 70: "d", 71: "d", 72: "i", 73: "i"}
"""Of what type factors are, by `cublasComputeType_t`, where C is real; else single precision."""
_BY_QR = 0
_DRAWS = {
    "uniform": "generateUniform",
    "normal": "generateNormal",
    "lognormal": "generateLogNormal",
    "poisson": "generatePoisson",
}


class LibraryOperations:
    """The operations, by their names; each gets its letter by the dtype of the matrix.

    Args:
        cupy: the package.
    """

    def __init__(self, cupy: Any) -> None:
        from cupy.cuda import cublas, curand, cusolver, cusparse, device

        self._cupy = cupy
        self._blas, self._curand, self._solver = cublas, curand, cusolver
        self._sparse, self._device = cusparse, device

    def table(self) -> dict[str, Callable[..., Any]]:
        """Return the functions by the operations' names."""
        names = "potrf potrs getrf getrs getri geqrf orgqr ormqr gesvd syevd".split()
        found = {f"cusolver.{name}": getattr(self, f"_{name}") for name in names}
        found |= {"cublas.trsm": self._trsm, "cublas.gemm_ex": self._gemm_ex}
        found |= {"cusparse.gtsv": self._gtsv, "cusparse.gpsv": self._gpsv}
        found["curand.draw"] = self._draw
        return found | SolverOperations(self._cupy).table()

    def _call(self, name: str, a: Any, *args: Any, size: tuple[Any, ...] | None = None) -> None:
        """Call a solver; with `size`, the arguments of its `..._bufferSize`, in between.

        Where the work space goes an argument is `...`: its address and length; for `getrf` the
        address alone.
        """
        handle = self._device.get_cusolver_handle()
        letter = _LETTERS[a.dtype.char]
        given = list(args)
        if size is not None:
            lwork = getattr(self._solver, f"{letter}{name}_bufferSize")(handle, *size)
            work = self._cupy.empty(max(1, lwork), a.dtype)
            at = given.index(...)
            given[at : at + 1] = [work.data.ptr] + ([lwork] if name != "getrf" else [])
        getattr(self._solver, f"{letter}{name}")(handle, *given)

    def _potrf(self, uplo: int, a: Any, info: Any) -> None:
        size = (uplo, len(a), _pointer(a), _ld(a))
        self._call("potrf", a, *size, ..., _pointer(info), size=size)

    def _potrs(self, uplo: int, a: Any, b: Any, info: Any) -> None:
        right = (_pointer(b), _ld(b), _pointer(info))
        self._call("potrs", a, uplo, len(a), b.shape[1], _pointer(a), _ld(a), *right)

    def _getrf(self, a: Any, ipiv: Any, info: Any) -> None:
        size = (*a.shape, _pointer(a), _ld(a))
        self._call("getrf", a, *size, ..., _pointer(ipiv), _pointer(info), size=size)

    def _getrs(self, trans: int, a: Any, ipiv: Any, b: Any, info: Any) -> None:
        left = (trans, len(a), b.shape[1], _pointer(a), _ld(a), _pointer(ipiv))
        self._call("getrs", a, *left, _pointer(b), _ld(b), _pointer(info))

    def _getri(self, a: Any, ipiv: Any, c: Any, info: Any) -> None:
        cupy = self._cupy
        at = [cupy.array([_pointer(one)], "u8") for one in (a, c)]
        function = getattr(self._blas, f"{_LETTERS[a.dtype.char]}getriBatched")
        left = (len(a), _pointer(at[0]), _ld(a), _pointer(ipiv))
        handle = self._device.get_cublas_handle()
        function(handle, *left, _pointer(at[1]), _ld(c), _pointer(info), 1)

    def _geqrf(self, a: Any, tau: Any, info: Any) -> None:
        size = (*a.shape, _pointer(a), _ld(a))
        self._call("geqrf", a, *size, _pointer(tau), ..., _pointer(info), size=size)

    def _orgqr(self, k: int, a: Any, tau: Any, info: Any) -> None:
        name = "ungqr" if a.dtype.kind == "c" else "orgqr"
        size = (*a.shape, k, _pointer(a), _ld(a), _pointer(tau))
        self._call(name, a, *size, ..., _pointer(info), size=size)

    def _ormqr(self, side: int, trans: int, a: Any, tau: Any, c: Any, info: Any) -> None:
        name = "unmqr" if a.dtype.kind == "c" else "ormqr"
        left = (side, trans, *c.shape, tau.size, _pointer(a), _ld(a), _pointer(tau))
        size = (*left, _pointer(c), _ld(c))
        self._call(name, a, *size, ..., _pointer(info), size=size)

    def _gesvd(self, jobu: str, jobvt: str, a: Any, s: Any, u: Any, vt: Any, info: Any) -> None:
        ldu, ldvt = (1 if one is None else _ld(one) for one in (u, vt))
        left = (ord(jobu), ord(jobvt), *a.shape, _pointer(a), _ld(a), _pointer(s))
        vectors = (_pointer(u), ldu, _pointer(vt), ldvt)
        self._call("gesvd", a, *left, *vectors, ..., 0, _pointer(info), size=a.shape)

    def _syevd(self, jobz: int, uplo: int, a: Any, w: Any, info: Any) -> None:
        name = "heevd" if a.dtype.kind == "c" else "syevd"
        size = (jobz, uplo, len(a), _pointer(a), _ld(a), _pointer(w))
        self._call(name, a, *size, ..., _pointer(info), size=size)

    @contextmanager
    def _factors(self, dtype: Any, *values: Any) -> Iterator[list[Any]]:
        """Give factors as arrays on the device, and let the handle take their addresses.

        A factor's address is of this process or of the device, as the handle's mode says.
        """
        handle, blas = self._device.get_cublas_handle(), self._blas
        factors = [self._cupy.asarray(value, dtype) for value in values]
        before = blas.getPointerMode(handle)
        blas.setPointerMode(handle, blas.CUBLAS_POINTER_MODE_DEVICE)
        try:
            yield factors
        finally:
            blas.setPointerMode(handle, before)

    def _trsm(
        self, side: int, uplo: int, trans: int, diag: int, alpha: Any, a: Any, b: Any
    ) -> None:
        with self._factors(a.dtype, alpha) as (factor,):
            size = (side, uplo, trans, diag, *b.shape, _pointer(factor))
            function = getattr(self._blas, f"{_LETTERS[a.dtype.char]}trsm")
            handle = self._device.get_cublas_handle()
            function(handle, *size, _pointer(a), _ld(a), _pointer(b), _ld(b))

    def _gemm_ex(
        self,
        transa: int,
        transb: int,
        alpha: Any,
        a: Any,
        b: Any,
        beta: Any,
        c: Any,
        compute: int,
        algo: int,
    ) -> None:
        m, n, count = c.shape
        k = a.shape[1] if transa == 0 else a.shape[0]
        given, to = _DATA_TYPES[a.dtype.char], _DATA_TYPES[c.dtype.char]
        wide = _FACTOR_TYPES.get(compute, "F" if c.dtype.char == "F" else "f")
        wide = "D" if c.dtype.char == "D" else wide
        with self._factors(wide, alpha, beta) as (left, right):
            handle = self._device.get_cublas_handle()
            sizes = (handle, transa, transb, m, n, k, _pointer(left))
            types = (given, given, to)
            first, second, third = (
                (_pointer(one), code, _ld(one), *((_stride(one),) if count > 1 else ()))
                for one, code in zip((a, b, c), types, strict=True)
            )
            name = "gemmStridedBatchedEx" if count > 1 else "gemmEx"
            batch = (count,) if count > 1 else ()
            where = (*first, *second, _pointer(right), *third)
            getattr(self._blas, name)(*sizes, *where, *batch, compute, algo)

    def _gtsv(self, pivoting: bool, lower: Any, main: Any, upper: Any, b: Any) -> None:
        name = f"{_LETTERS[main.dtype.char]}gtsv2" + ("" if pivoting else "_nopivot")
        handle = self._device.get_cusparse_handle()
        diagonals = tuple(_pointer(one) for one in (lower, main, upper))
        size = (*b.shape, *diagonals, _pointer(b), _ld(b))
        count = getattr(self._sparse, f"{name}_bufferSizeExt")(handle, *size)
        work = self._cupy.empty(max(1, count), "u1")
        getattr(self._sparse, name)(handle, *size, work.data.ptr)

    def _gpsv(self, m: int, systems: int, *arrays: Any) -> None:
        name = f"{_LETTERS[arrays[0].dtype.char]}gpsvInterleavedBatch"
        handle = self._device.get_cusparse_handle()
        size = (_BY_QR, m, *(_pointer(one) for one in arrays), systems)
        count = getattr(self._sparse, f"{name}_bufferSizeExt")(handle, *size)
        work = self._cupy.empty(max(1, count), "u1")
        getattr(self._sparse, name)(handle, *size, work.data.ptr)

    def _draw(
        self, kind: str, out: Any, type_: int, seed: int, offset: int, parameters: list[float]
    ) -> None:
        curand = self._curand
        generator = curand.createGenerator(type_)
        try:
            curand.setStream(generator, self._cupy.cuda.get_current_stream().ptr)
            curand.setPseudoRandomGeneratorSeed(generator, seed)
            curand.setGeneratorOffset(generator, offset)
            name = "generate" if kind == "bits" else _DRAWS[kind]
            if out.dtype.char == "d":
                name += "Double"
            getattr(curand, name)(generator, _pointer(out), out.size, *parameters)
        finally:
            curand.destroyGenerator(generator)

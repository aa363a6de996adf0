"""`proto.operations.libraries` on a GPU: cuSOLVER's Jacobi methods, batches, refined systems."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

LETTERS = {"f": "s", "d": "d", "F": "c", "D": "z"}


def pointer(array: Any) -> int:
    """Return an array's address, 0 for None."""
    return 0 if array is None else int(array.data.ptr)


def ld(a: Any) -> int:
    """Return how many elements apart the columns of a matrix, or of a stack's first one, lie."""
    rows, columns = a.shape[:2]
    return max(1, int(a.strides[1]) // int(a.itemsize) if columns > 1 else int(rows))


def ld_of_batch(a: Any) -> int:
    """Return the same for matrices that follow each other: of one column, they lie `ld` apart."""
    if a.shape[1] > 1 or a.ndim < 3 or a.shape[2] < 2:
        return ld(a)
    return max(1, int(a.strides[2]) // int(a.itemsize))


def stride(a: Any) -> int:
    """Return how many elements apart the matrices of a stack lie, or the vectors of a matrix."""
    if a.shape[-1] > 1:
        return int(a.strides[-1]) // int(a.itemsize)
    return ld(a) * int(a.shape[1]) if a.ndim == 3 else int(a.shape[0])


class SolverOperations:
    """The operations, by their names; each gets its letter by the dtype of the matrix.

    Args:
        cupy: the package.
    """

    def __init__(self, cupy: Any) -> None:
        from cupy.cuda import cusolver, device

        self._cupy, self._solver, self._device = cupy, cusolver, device

    def table(self) -> dict[str, Callable[..., Any]]:
        """Return the functions by the operations' names."""
        names = "sytrf gesvdj gesvdj_batched gesvda_batched syevj syevj_batched gesv gels".split()
        return {f"cusolver.{name}": getattr(self, f"_{name}") for name in names}

    def _function(self, a: Any, name: str) -> Callable[..., Any]:
        found: Callable[..., Any] = getattr(self._solver, LETTERS[a.dtype.char] + name)
        return found

    def _work(self, a: Any, name: str, *size: Any) -> tuple[Any, int]:
        """Allocate what a function wants: the array, which is to be kept, and its elements."""
        count = self._function(a, f"{name}_bufferSize")(self._device.get_cusolver_handle(), *size)
        return self._cupy.empty(max(1, count), a.dtype), count

    def _sytrf(self, uplo: int, a: Any, ipiv: Any, info: Any) -> None:
        work, count = self._work(a, "sytrf", len(a), pointer(a), ld(a))
        where: tuple[Any, ...] = (uplo, len(a), pointer(a), ld(a), pointer(ipiv))
        call = self._function(a, "sytrf")
        call(self._device.get_cusolver_handle(), *where, pointer(work), count, pointer(info))

    # ---------------------------------------------------------------- Jacobi's methods

    @contextmanager
    def _steered(self, kind: str, tolerance: Any, sweeps: Any, sort: Any) -> Iterator[int]:
        """Give an object of settings, "gesvdj" or "syevj"; what is None stays as it is."""
        solver, short = self._solver, kind.capitalize()
        made = getattr(solver, f"create{short}Info")()
        try:
            if tolerance is not None:
                getattr(solver, f"x{kind}SetTolerance")(made, tolerance)
            if sweeps is not None:
                getattr(solver, f"x{kind}SetMaxSweeps")(made, sweeps)
            if sort is not None:
                getattr(solver, f"x{kind}SetSortEig")(made, sort)
            yield made
        finally:
            getattr(solver, f"destroy{short}Info")(made)

    def _tell(self, kind: str, params: int, report: Any) -> None:
        """Write the norm of the rest and the sweeps: they are there when the work is done."""
        self._cupy.cuda.get_current_stream().synchronize()
        handle = self._device.get_cusolver_handle()
        names = (f"x{kind}GetResidual", f"x{kind}GetSweeps")
        told = [float(getattr(self._solver, name)(handle, params)) for name in names]
        report[...] = self._cupy.asarray(told, report.dtype)

    def _gesvdj(
        self,
        jobz: int,
        econ: int,
        a: Any,
        s: Any,
        u: Any,
        v: Any,
        info: Any,
        tolerance: Any,
        sweeps: Any,
        sort: Any,
        report: Any,
    ) -> None:
        m, n = a.shape
        ldu, ldv = (m, n) if u is None else (ld(u), ld(v))
        where: tuple[Any, ...] = (jobz, econ, m, n, pointer(a), ld(a), pointer(s))
        where = (*where, pointer(u), max(1, ldu), pointer(v), max(1, ldv))
        with self._steered("gesvdj", tolerance, sweeps, sort) as params:
            work, count = self._work(a, "gesvdj", *where, params)
            call, handle = self._function(a, "gesvdj"), self._device.get_cusolver_handle()
            call(handle, *where, pointer(work), count, pointer(info), params)
            self._tell("gesvdj", params, report)

    def _gesvdj_batched(
        self,
        jobz: int,
        a: Any,
        s: Any,
        u: Any,
        v: Any,
        info: Any,
        tolerance: Any,
        sweeps: Any,
        sort: Any,
    ) -> None:
        m, n, batch = a.shape
        ldu, ldv = (m, n) if u is None else (ld_of_batch(u), ld_of_batch(v))
        where: tuple[Any, ...] = (jobz, m, n, pointer(a), ld_of_batch(a), pointer(s))
        where = (*where, pointer(u), max(1, ldu), pointer(v), max(1, ldv))
        with self._steered("gesvdj", tolerance, sweeps, sort) as params:
            work, count = self._work(a, "gesvdjBatched", *where, params, batch)
            call, handle = self._function(a, "gesvdjBatched"), self._device.get_cusolver_handle()
            call(handle, *where, pointer(work), count, pointer(info), params, batch)
            self._cupy.cuda.get_current_stream().synchronize()  # before `params` goes

    def _gesvda_batched(
        self, jobz: int, a: Any, s: Any, u: Any, v: Any, info: Any, norms: Any
    ) -> None:
        import numpy as np

        m, n, batch = a.shape
        rank = len(s)
        where: tuple[Any, ...] = (
            jobz,
            rank,
            m,
            n,
            pointer(a),
            ld(a),
            stride(a),
            pointer(s),
            stride(s),
        )
        if u is None:
            where = (*where, 0, max(1, m), m * rank, 0, max(1, n), n * rank)
        else:
            where = (*where, pointer(u), ld(u), stride(u), pointer(v), ld(v), stride(v))
        work, count = self._work(a, "gesvdaStridedBatched", *where, batch)
        host = None if norms is None else np.zeros(batch, np.float64)
        call, handle = self._function(a, "gesvdaStridedBatched"), self._device.get_cusolver_handle()
        where = (*where, pointer(work), count, pointer(info))
        call(handle, *where, 0 if host is None else host.ctypes.data, batch)
        if norms is not None:
            norms[...] = self._cupy.asarray(host)

    def _syevj(
        self,
        jobz: int,
        uplo: int,
        a: Any,
        w: Any,
        info: Any,
        tolerance: Any,
        sweeps: Any,
        sort: Any,
        report: Any,
    ) -> None:
        name = "heevj" if a.dtype.kind == "c" else "syevj"
        where: tuple[Any, ...] = (jobz, uplo, len(a), pointer(a), ld(a), pointer(w))
        with self._steered("syevj", tolerance, sweeps, sort) as params:
            work, count = self._work(a, name, *where, params)
            call, handle = self._function(a, name), self._device.get_cusolver_handle()
            call(handle, *where, pointer(work), count, pointer(info), params)
            self._tell("syevj", params, report)

    def _syevj_batched(
        self,
        jobz: int,
        uplo: int,
        a: Any,
        w: Any,
        info: Any,
        tolerance: Any,
        sweeps: Any,
        sort: Any,
    ) -> None:
        name = "heevjBatched" if a.dtype.kind == "c" else "syevjBatched"
        n, batch = a.shape[1:]
        where: tuple[Any, ...] = (jobz, uplo, n, pointer(a), ld_of_batch(a), pointer(w))
        with self._steered("syevj", tolerance, sweeps, sort) as params:
            work, count = self._work(a, name, *where, params, batch)
            call, handle = self._function(a, name), self._device.get_cusolver_handle()
            call(handle, *where, pointer(work), count, pointer(info), params, batch)
            self._cupy.cuda.get_current_stream().synchronize()  # before `params` goes

    # ---------------------------------------------------------------- iterative refinement

    def _refined(self, name: str, a: Any, where: tuple[Any, ...], info: Any, done: Any) -> None:
        """Call a solver that says how many rounds it needed; its work space is in bytes."""
        handle = self._device.get_cusolver_handle()
        size = self._function(a, f"{name}_bufferSize")(handle, *where, 0)
        work = self._cupy.empty(max(1, size), "u1")
        rounds = self._function(a, name)(handle, *where, pointer(work), size, pointer(info))
        done.fill(rounds)

    def _gesv(self, low: str, a: Any, ipiv: Any, b: Any, x: Any, info: Any, done: Any) -> None:
        where: tuple[Any, ...] = (len(a), b.shape[1], pointer(a), ld(a), pointer(ipiv))
        where = (*where, pointer(b), ld(b), pointer(x), ld(x))
        self._refined(f"{low}gesv", a, where, info, done)

    def _gels(self, low: str, a: Any, b: Any, x: Any, info: Any, done: Any) -> None:
        where: tuple[Any, ...] = (
            *a.shape,
            b.shape[1],
            pointer(a),
            ld(a),
            pointer(b),
            ld(b),
            pointer(x),
            ld(x),
        )
        self._refined(f"{low}gels", a, where, info, done)

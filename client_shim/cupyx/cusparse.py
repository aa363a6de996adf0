"""`cupyx.cusparse`: the routines of cuSPARSE as CuPy wraps them.

Of those that CUDA 12 has no longer, each raises RuntimeError, as in CuPy.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn

import numpy as np

from cupool.client_shim import cupy
from cupool.client_shim.cupy import _unsupported
from cupool.client_shim.cupyx import _cusparse_descriptors
from cupool.client_shim.cupyx.scipy.sparse import _base, _kernels
from cupool.client_shim.cupyx.scipy.sparse._coo import coo_matrix
from cupool.client_shim.cupyx.scipy.sparse._csc import csc_matrix
from cupool.client_shim.cupyx.scipy.sparse._csr import csr_matrix

BaseDescriptor = _cusparse_descriptors.BaseDescriptor
DnMatDescriptor = _cusparse_descriptors.DnMatDescriptor
DnVecDescriptor = _cusparse_descriptors.DnVecDescriptor
MatDescriptor = _cusparse_descriptors.MatDescriptor
SpMatDescriptor = _cusparse_descriptors.SpMatDescriptor
SpVecDescriptor = _cusparse_descriptors.SpVecDescriptor
_VERSION = 12510
"""cuSPARSE's of CUDA 12.9."""
_AVAILABLE = frozenset(
    "csrgeam2 spmv spmm csrsort cscsort coosort coo2csr csr2coo csr2cscEx2 csc2csrEx2 "
    "csr2csr_compress csrilu02 denseToSparse sparseToDense spgemm spsm".split()
)
_GONE = (
    "csrmv csrmm csrmm2 csrgeam csrgemm csrgemm2 csr2dense csc2dense csr2csc csc2csr dense2csc "
    "dense2csr csrsm2"
).split()
_OTHERS = ("gthr", "spgeam", "spgemm_int64")


def check_availability(name: str) -> bool:
    """Return whether cuSPARSE has a routine.

    Raises:
        ValueError: no such routine.
    """
    if name in _AVAILABLE:
        return True
    if name in _GONE or name in _OTHERS:
        return False
    raise ValueError(f"No available version information specified for {name}")


def getVersion() -> int:
    """Return the version of cuSPARSE."""
    return _VERSION


def _gone(name: str) -> Callable[..., NoReturn]:
    def unavailable(*args: Any, **kwargs: Any) -> NoReturn:
        raise RuntimeError(f"{name} is not available.")

    unavailable.__name__ = unavailable.__qualname__ = name
    unavailable.__doc__ = f"Raise RuntimeError: CUDA 12 has no `{name}`."
    return unavailable


globals().update({name: _gone(name) for name in _GONE})


def _check_int32_indices(a: Any, name: str) -> None:
    """Raise ValueError for indices that a routine has no form for."""
    index = a.row if a.format == "coo" else a.indices
    if index.dtype == np.int64:
        raise ValueError(f"{name} does not support int64 indices (cuSPARSE {name} is int32-only)")


def _require(x: Any, *formats: str) -> None:
    if not (_base.issparse(x) and x.format in formats):
        raise TypeError(f"unsupported type (actual: {type(x)})")


def _require_canonical(a: Any, name: str) -> None:
    if not a.has_canonical_format:
        raise ValueError(f"expected canonical format for {name}")


def _transposed(flag: Any) -> bool:
    return flag is True or flag in ("T", 1)


# ------------------------------------------------------------------- products and sums


def _as_csr(a: Any, transa: bool) -> tuple[Any, bool]:
    """Return a matrix as CSR, and whether it must be read as its transpose."""
    if _base.issparse(a) and a.format == "csc":
        return a.T, not transa
    _require(a, "csr", "coo")
    return a.tocsr(), transa


def _combined(product: Any, out: Any, alpha: Any, beta: Any) -> Any:
    """Return ``alpha * product + beta * out``, in `out` if there is one."""
    product = product if alpha == 1 else product.dtype.type(alpha) * product
    if out is None:
        return product
    if out.shape != product.shape:
        raise ValueError("dimension mismatch")
    out[...] = product + out.dtype.type(beta) * out if beta else product
    return out


def spmv(a: Any, x: Any, y: Any = None, alpha: Any = 1, beta: Any = 0, transa: bool = False) -> Any:
    """Return ``alpha * a @ x + beta * y`` for a vector, in `y` if given.

    Args:
        a: CSR, CSC or COO, without duplicates.
        transa: whether `a` is to be transposed.
    """
    a, transa = _as_csr(a, _transposed(transa))
    if a.shape[0 if transa else 1] != len(x):
        raise ValueError("dimension mismatch")
    _require_canonical(a, "a")
    return _combined(_kernels.matmul_dense(a._parts, a.shape, x, transa), y, alpha, beta)


def spmm(
    a: Any,
    b: Any,
    c: Any = None,
    alpha: Any = 1,
    beta: Any = 0,
    transa: bool = False,
    transb: bool = False,
) -> Any:
    """Return ``alpha * a @ b + beta * c`` for dense, F-contiguous `b`, in `c` if given.

    Args:
        a: CSR, CSC or COO, without duplicates.
        transa, transb: whether `a` and `b` are to be transposed.
    """
    if a.ndim != 2 or b.ndim != 2:
        raise ValueError("expected 2-D matrices")
    for name, array in (("b", b), ("c", c)):
        if array is not None and not array.flags.f_contiguous:
            raise ValueError(f"expected F-contiguous array for {name}")
    a, transa = _as_csr(a, _transposed(transa))
    b = b.T if _transposed(transb) else b
    if a.shape[0 if transa else 1] != b.shape[0]:
        raise ValueError("dimension mismatch")
    _require_canonical(a, "a")
    return _combined(_kernels.matmul_dense(a._parts, a.shape, b, transa), c, alpha, beta)


def spgemm(a: Any, b: Any, alpha: Any = 1) -> Any:
    """Return ``alpha * a @ b`` of two CSR matrices without duplicates; waits once."""
    if a.ndim != 2 or b.ndim != 2:
        raise ValueError("expected 2-D matrices")
    _require(a, "csr")
    _require(b, "csr")
    _require_canonical(a, "a")
    _require_canonical(b, "b")
    if a.shape[1] != b.shape[0]:
        raise ValueError("mismatched shape")
    data, indices, indptr = _kernels.matmul(a._parts, a.shape, b._parts, b.shape)
    data = data if alpha == 1 else data * data.dtype.type(alpha)
    return csr_matrix._from_parts(data, indices, indptr, (a.shape[0], b.shape[1]), True)


def csrgeam2(a: Any, b: Any, alpha: Any = 1, beta: Any = 1) -> Any:
    """Return ``alpha * a + beta * b`` of two CSR matrices without duplicates; waits once."""
    _require(a, "csr")
    _require(b, "csr")
    _require_canonical(a, "a")
    _require_canonical(b, "b")
    if a.shape != b.shape:
        raise ValueError("inconsistent shapes")
    parts = _kernels.add(a._parts, alpha, b._parts, beta, a.shape)
    return csr_matrix._from_parts(*parts, a.shape, True)


spgeam = csrgeam2
"""CUDA 12 has no `spGEAM`; CuPy takes `csrgeam2` for it."""


# ------------------------------------------------------------------- order


def csrsort(x: Any) -> None:
    """Sort the indices of a CSR matrix within its rows, in place."""
    if x.nnz:
        data, indices = _kernels.sort(x._parts)
        x.data[...] = data
        x.indices[...] = indices


cscsort = csrsort


def coosort(x: Any, sort_by: str = "r") -> None:
    """Sort a COO matrix by rows ("r") or columns ("c"), in place."""
    if sort_by not in ("r", "c"):
        raise ValueError("sort_by must be either 'r' or 'c'")
    if x.nnz == 0 or (sort_by == "r" and x.has_canonical_format):
        return
    keys = [x.col, x.row] if sort_by == "r" else [x.row, x.col]
    order = cupy.lexsort(cupy.stack(keys))
    for name in ("data", "row", "col"):
        array = getattr(x, name)
        array[...] = array[order]
    if sort_by == "c":
        x.has_canonical_format = False


# ------------------------------------------------------------------- formats


def coo2csr(x: Any) -> Any:
    """Return a COO matrix that is sorted by rows as CSR; arrays are shared."""
    indptr = _kernels.condense(x.row, int(x.shape[0]))
    return csr_matrix._from_parts(x.data, x.col, indptr, x.shape)


def coo2csc(x: Any) -> Any:
    """Return a COO matrix that is sorted by columns as CSC; arrays are shared."""
    indptr = _kernels.condense(x.col, int(x.shape[1]))
    return csc_matrix._from_parts(x.data, x.row, indptr, x.shape)


def csr2coo(x: Any, data: Any, indices: Any) -> Any:
    """Return the structure of a CSR matrix as COO, with these elements and columns."""
    row = _kernels.expand(x.indptr, x.nnz)
    canonical = bool(x.__dict__.get("_has_canonical_format", False))
    return coo_matrix._from_parts(data, row, indices, x.shape, canonical)


def csc2coo(x: Any, data: Any, indices: Any) -> Any:
    """Return the structure of a CSC matrix as COO, with these elements and rows."""
    return coo_matrix._from_parts(data, indices, _kernels.expand(x.indptr, x.nnz), x.shape)


def csr2cscEx2(x: Any) -> Any:
    """Return a CSR matrix as CSC."""
    return x._other_format(csc_matrix)


def csc2csrEx2(x: Any) -> Any:
    """Return a CSC matrix as CSR."""
    return x._other_format(csr_matrix)


def csr2csr_compress(x: Any, tol: float) -> Any:
    """Return a CSR matrix without elements up to a magnitude; waits once."""
    if x.dtype.char not in "fdFD":
        raise ValueError("unsupported dtype")
    return csr_matrix._from_parts(*_kernels.compress(x._parts, tol), x.shape)


def denseToSparse(x: Any, format: str = "csr") -> Any:
    """Return a dense matrix as "csr", "csc" or "coo"; waits once."""
    if x.ndim != 2:
        raise ValueError("expected 2-D matrix")
    if x.dtype.char not in "fdFD":
        raise ValueError("unsupported dtype")
    makers: dict[str, Any] = {"csr": csr_matrix, "csc": csc_matrix, "coo": coo_matrix}
    if format not in makers:
        raise TypeError(f"unsupported format (actual: {format})")
    made = makers[format](x)
    made.has_canonical_format = True
    return made


def sparseToDense(x: Any, out: Any = None) -> Any:
    """Return a sparse matrix as a dense, F-contiguous one, in `out` if given."""
    if x.dtype.char not in "fdFD":
        raise ValueError("unsupported dtype")
    if out is None:
        return x.toarray(order="F")
    if not out.flags.f_contiguous:
        raise ValueError("expected F-contiguous array for out")
    if out.dtype != x.dtype:
        raise ValueError("out dtype mismatch")
    out[...] = x.toarray()
    return out


# ------------------------------------------------------------------- solvers


def spsm(
    a: Any,
    b: Any,
    alpha: Any = 1.0,
    lower: bool = True,
    unit_diag: bool = False,
    transa: Any = False,
) -> Any:
    """Solve ``op(a) @ x == alpha * b`` for a triangular matrix.

    Args:
        a: CSR, CSC or COO without duplicates, shape (N, N).
        b: shape (N,) or (N, K).
        lower: which triangle of `a` is looked at.
        unit_diag: take the diagonal as ones.
        transa: False or "N", True or "T", "H".
    """
    trans = {False: "N", True: "T"}.get(transa, transa)
    if trans not in ("N", "T", "H"):
        raise ValueError(f"Unknown transa (actual: {transa})")
    if not (_base.issparse(a) and a.format in ("csr", "csc", "coo")):
        raise ValueError("a must be CSR, CSC or COO sparse matrix")
    _require_canonical(a, "a")
    if b.ndim not in (1, 2):
        raise ValueError("b.ndim must be 1 or 2")
    if not a.shape[0] == a.shape[1] == b.shape[0]:
        raise ValueError("mismatched shape")
    if a.dtype.char not in "fdFD":
        raise TypeError(f"Invalid dtype (actual: {a.dtype})")
    if a.dtype != b.dtype:
        raise TypeError("dtype mismatch")
    for name, flag in (("lower", lower), ("unit_diag", unit_diag)):
        if not isinstance(flag, bool):
            raise ValueError(f"Unknown {name} (actual: {flag})")
    if not (b.flags.c_contiguous or b.flags.f_contiguous):
        raise ValueError("b must be F-contiguous or C-contiguous.")
    b = b if alpha == 1 else b.dtype.type(alpha) * b
    return _kernels.solve_triangular(a.tocsr()._parts, b, lower, unit_diag, trans)


def csrilu02(a: Any, level_info: bool = False) -> None:
    """Factor a CSR matrix incompletely, in place, in the places of its own elements; waits once.

    Raises:
        ValueError: not square, an element of the diagonal is missing, or a pivot is zero.
    """
    _require(a, "csr")
    if a.shape[0] != a.shape[1]:
        raise ValueError(f"invalid shape (a.shape: {a.shape})")
    _check_int32_indices(a, "csrilu02")
    if not isinstance(level_info, bool):
        raise ValueError(f"Unknown level_info (actual: {level_info})")
    if a.dtype.char not in "fdFD":
        raise TypeError(f"Invalid dtype (actual: {a.dtype})")
    data, wrong = _kernels.ilu0(a._parts)
    missing, zero = wrong.get().tolist()
    if missing >= 0:
        raise ValueError(f"a({missing},{missing}) is missing")
    a.data[...] = data
    if zero >= 0:
        raise ValueError(f"u({zero},{zero}) is zero")


_unsupported.fill(globals(), "cupyx.cusparse")

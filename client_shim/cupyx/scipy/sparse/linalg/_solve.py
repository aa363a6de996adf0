"""Direct solvers."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from cupool.client_shim import cupy
from cupool.client_shim.cupyx import cusparse
from cupool.client_shim.cupyx.scipy.sparse import _base, _csr, _kernels, _sputils

__all__ = ["SuperLU", "factorized", "spilu", "splu", "spsolve", "spsolve_triangular"]


def _check_system(A: Any, b: Any) -> None:
    """Check what is to be solved.

    Raises:
        TypeError: not a sparse matrix and a device array.
        ValueError: shapes that do not fit.
    """
    if not _base.issparse(A):
        raise TypeError("A must be cupyx.scipy.sparse.spmatrix")
    if not _sputils.is_dense(b):
        raise TypeError("b must be cupy.ndarray")
    if A.shape[0] != A.shape[1]:
        raise ValueError(f"A must be a square matrix (A.shape: {A.shape})")
    if b.ndim not in (1, 2):
        raise ValueError(f"b must be 1D or 2D array (b.shape: {b.shape})")
    if A.shape[0] != b.shape[0]:
        raise ValueError(f"matrix dimension mismatch (A.shape: {A.shape}, b.shape: {b.shape})")


def _warn_converting(wanted: str) -> None:
    text = f"{wanted} format is required. Converting to CSR format."
    warnings.warn(text, _base.SparseEfficiencyWarning, stacklevel=3)


def spsolve(A: Any, b: Any) -> Any:
    """Solve a square sparse system by QR.

    Args:
        A: shape (N, N), in CSR, or converted with a warning.
        b: shape (N,) or (N, K); cast to the dtype of A.

    Raises:
        TypeError: not a sparse matrix and a device array; a dtype that has no solver.
        ValueError: shapes that do not fit, indices of 64 bits.
    """
    _check_system(A, b)
    if A.format != "csr":
        _warn_converting("CSR")
        A = A.tocsr()
    cusparse._check_int32_indices(A, "spsolve")
    if A.dtype.char not in "fdFD":
        raise TypeError(f"Invalid dtype (actual: {A.dtype})")
    return _kernels.solve(A._parts, b.astype(A.dtype, copy=False))


def spsolve_triangular(
    A: Any,
    b: Any,
    lower: bool = True,
    overwrite_A: bool = False,
    overwrite_b: bool = False,
    unit_diagonal: bool = False,
) -> Any:
    """Solve a system of which only one triangle is looked at.

    Args:
        A: shape (N, N), in CSR, CSC or COO, or converted with a warning.
        b: shape (N,) or (N, K).
        lower: which triangle.
        overwrite_A, overwrite_b: accepted; both stay as they are.
        unit_diagonal: take the diagonal as ones.

    Returns:
        x as float64 or complex128.
    """
    _check_system(A, b)
    if A.dtype.char not in "fdFD":
        raise TypeError(f"unsupported dtype (actual: {A.dtype})")
    if A.format not in ("csr", "csc", "coo"):
        _warn_converting("CSR, CSC or COO")
        A = A.tocsr()
    A.sum_duplicates()
    x = cusparse.spsm(A, b, lower=lower, unit_diag=unit_diagonal)
    return x.astype(np.promote_types(x.dtype, np.float64), copy=False)


class SuperLU:
    """Factors of a matrix, made on the host by SciPy; `solve` runs on the device.

    Attributes:
        shape, nnz: of the matrix; of the factors.
        perm_r, perm_c: permutations of rows and columns, None for none.
        L, U: the factors in CSR.
    """

    perm_r: Any
    perm_c: Any

    def __init__(self, obj: Any) -> None:
        """Copy SciPy's factors to the device.

        Raises:
            RuntimeError: SciPy is not installed where the script runs.
            TypeError: `obj` is not SciPy's `SuperLU`.
        """
        _sputils.host_sparse()
        import scipy.sparse.linalg

        if not isinstance(obj, scipy.sparse.linalg.SuperLU):
            raise TypeError("obj must be scipy.sparse.linalg.SuperLU")
        self.shape, self.nnz = obj.shape, obj.nnz
        self.perm_r, self.perm_c = cupy.array(obj.perm_r), cupy.array(obj.perm_c)
        self.L = _csr.csr_matrix(obj.L.tocsr())
        self.U = _csr.csr_matrix(obj.U.tocsr())
        self._perm_r_rev = cupy.array(np.argsort(obj.perm_r))
        self._perm_c_rev = cupy.array(np.argsort(obj.perm_c))

    def solve(self, rhs: Any, trans: str = "N") -> Any:
        """Solve for right sides, shape (N,) or (N, K).

        Args:
            trans: "N" the matrix, "T" its transpose, "H" its conjugate transpose.
        """
        if not _sputils.is_dense(rhs):
            raise TypeError("rhs must be cupy.ndarray")
        if rhs.ndim not in (1, 2):
            raise ValueError(f"rhs.ndim must be 1 or 2 (actual: {rhs.ndim})")
        if rhs.shape[0] != self.shape[0]:
            raise ValueError(f"shape mismatch (self.shape: {self.shape}, rhs.shape: {rhs.shape})")
        if trans not in ("N", "T", "H"):
            raise ValueError("trans must be 'N', 'T', or 'H'")
        x = rhs.astype(self.L.dtype)
        steps = [(self.L, True), (self.U, False)]
        first, last = self.perm_r, self.perm_c
        if trans != "N":
            steps.reverse()
            first, last = last, first
        if first is not None:
            x = x[self._perm_r_rev if trans == "N" else self._perm_c_rev]
        for factor, lower in steps:
            x = _kernels.solve_triangular(factor._parts, x, lower, False, trans)
        return cupy.asfortranarray(x if last is None else x[last])


class CusparseLU(SuperLU):
    """Factors in the places of the matrix's own elements, made on the device."""

    def __init__(self, a: Any) -> None:
        """Split what `cusparse.csrilu02` left in a matrix into its factors; waits."""
        scipy_sparse = _sputils.host_sparse()
        if not (_base.issparse(a) and a.format == "csr"):
            raise TypeError("a must be cupyx.scipy.sparse.csr_matrix")
        self.shape, self.nnz = a.shape, a.nnz
        self.perm_r = self.perm_c = None
        host = a.get()
        lower = scipy_sparse.tril(host)
        lower.setdiag(1.0)
        self.L = _csr.csr_matrix(lower.tocsr())
        self.U = _csr.csr_matrix(scipy_sparse.triu(host).tocsr())


def _to_host(A: Any) -> Any:
    """Return a square matrix as SciPy's CSC, and SciPy's solvers."""
    _sputils.host_sparse()
    if not _base.issparse(A):
        raise TypeError("A must be cupyx.scipy.sparse.spmatrix")
    if A.shape[0] != A.shape[1]:
        raise ValueError(f"A must be a square matrix (A.shape: {A.shape})")
    if A.dtype.char not in "fdFD":
        raise TypeError(f"Invalid dtype (actual: {A.dtype})")
    import scipy.sparse.linalg

    return scipy.sparse.linalg


def factorized(A: Any) -> Any:
    """Return the function that solves for a right side; see `splu`."""
    return splu(A).solve


def splu(
    A: Any,
    permc_spec: Any = None,
    diag_pivot_thresh: Any = None,
    relax: Any = None,
    panel_size: Any = None,
    options: dict[str, Any] = {},  # noqa: B006
) -> SuperLU:
    """Factor a square matrix, as CuPy does it: on the host, by SciPy's `splu`; waits.

    See https://docs.scipy.org for the arguments.
    """
    solvers = _to_host(A)
    made = solvers.splu(
        A.get().tocsc(),
        permc_spec=permc_spec,
        diag_pivot_thresh=diag_pivot_thresh,
        relax=relax,
        panel_size=panel_size,
        options=options,
    )
    return SuperLU(made)


def spilu(
    A: Any,
    drop_tol: Any = None,
    fill_factor: Any = None,
    drop_rule: Any = None,
    permc_spec: Any = None,
    diag_pivot_thresh: Any = None,
    relax: Any = None,
    panel_size: Any = None,
    options: dict[str, Any] = {},  # noqa: B006
) -> SuperLU:
    """Factor a square matrix incompletely; on the device if `fill_factor` is 1, else by SciPy.

    See https://docs.scipy.org for the arguments.
    """
    solvers = _to_host(A)
    if fill_factor == 1:
        a = A.copy() if A.format == "csr" else A.tocsr()
        cusparse.csrilu02(a)
        return CusparseLU(a)
    made = solvers.spilu(
        A.get().tocsc(),
        fill_factor=fill_factor,
        drop_tol=drop_tol,
        drop_rule=drop_rule,
        permc_spec=permc_spec,
        diag_pivot_thresh=diag_pivot_thresh,
        relax=relax,
        panel_size=panel_size,
        options=options,
    )
    return SuperLU(made)

"""What solvers of ``A @ x == b`` have in common."""

from __future__ import annotations

from typing import Any

from cupool.client_shim import cupy
from cupool.client_shim.cupyx.scipy.sparse.linalg import _interface


def make_system(A: Any, M: Any, x0: Any, b: Any) -> tuple[Any, Any, Any, Any]:
    """Return the operators A and M, the first guess and the right side, both shape (N,).

    Raises:
        ValueError: shapes that do not fit.
        TypeError: another dtype than float32, float64 or the complex ones.
    """
    A = _interface.aslinearoperator(A)
    if A.shape[0] != A.shape[1]:
        raise ValueError(f"expected square matrix (shape: {A.shape})")
    if A.dtype.char not in "fdFD":
        raise TypeError(f"unsupported dtype (actual: {A.dtype})")
    n = A.shape[0]
    for name, vector in (("b", b), ("x0", x0)):
        if vector is not None and vector.shape not in ((n,), (n, 1)):
            raise ValueError(f"{name} has incompatible dimensions")
    b = b.astype(A.dtype).ravel()
    x = cupy.zeros((n,), dtype=A.dtype) if x0 is None else x0.astype(A.dtype).ravel()
    if M is None:
        M = _interface.IdentityOperator(A.shape, A.dtype)
    else:
        M = _interface.aslinearoperator(M)
        if M.shape != A.shape:
            raise ValueError("matrix and preconditioner have different shapes")
    return A, M, x, b


def length(x: Any) -> float:
    """Return the 2-norm of a vector; a wait."""
    return float(cupy.linalg.norm(x))


def inner(x: Any, y: Any) -> Any:
    """Return the inner product, the first operand conjugated, shape ()."""
    return cupy.vdot(x, y)

"""A few eigenvalues or singular values."""

from __future__ import annotations

from typing import Any

import numpy as np

from cupool.client_shim import cupy
from cupool.client_shim.cupyx.scipy.sparse.linalg import _interface

__all__ = ["eigsh", "svds"]


def _check(a: Any, k: int, limit: int, name: str) -> None:
    if a.dtype.char not in "fdFD":
        raise TypeError(f"unsupported dtype (actual: {a.dtype})")
    if k <= 0:
        raise ValueError(f"k must be greater than 0 (actual: {k})")
    if k >= limit:
        raise ValueError(f"k must be smaller than {name} (actual: {k})")


def eigsh(
    a: Any,
    k: int = 6,
    *,
    which: str = "LM",
    v0: Any = None,
    ncv: int | None = None,
    maxiter: int | None = None,
    tol: float = 0,
    return_eigenvectors: bool = True,
) -> Any:
    """Find eigenvalues of a hermitian matrix, by the thick-restart Lanczos method.

    One wait for each restart (Wu and Simon, SIAM J. Matrix Anal. Appl. 22, 2000).

    Args:
        a: matrix or operator, shape (N, N).
        k: how many, less than N.
        which: "LM" largest magnitude, "LA" largest, "SA" smallest.
        v0: vector to begin with; a random one for None.
        ncv: vectors kept; ``max(2 k, k + 32)`` for None.
        maxiter: products at most, 10 N for None.
        tol: of the residual; the dtype's precision for 0.

    Returns:
        eigenvalues in ascending order, shape (k,), and eigenvectors, shape (N, k), if wanted.
    """
    n = a.shape[0]
    if a.ndim != 2 or a.shape[0] != a.shape[1]:
        raise ValueError(f"expected square matrix (shape: {a.shape})")
    _check(a, k, n, "n")
    if which not in ("LM", "LA", "SA"):
        raise ValueError(f"which must be 'LM','LA'or'SA' (actual: {which})")
    ncv = max(2 * k, k + 32) if ncv is None else max(ncv, k + 2)
    ncv = min(ncv, n - 1)
    maxiter = 10 * n if maxiter is None else maxiter
    tol = tol or float(np.finfo(a.dtype).eps)
    lanczos = _Lanczos(a, ncv, v0)
    lanczos.extend(0)
    iterations = ncv
    values, weights, coupling = lanczos.ritz(k, which, None)
    while np.linalg.norm(coupling) > tol and iterations < maxiter:
        lanczos.restart(k, values, weights, coupling)
        iterations += ncv - k
        values, weights, coupling = lanczos.ritz(k, which, coupling)
    order = np.argsort(values)
    found = cupy.array(values[order])
    if not return_eigenvectors:
        return found
    return found, lanczos.vectors.T @ cupy.array(weights[:, order])


class _Lanczos:
    """The basis that is built up, and the projection of the matrix: `alpha` on the diagonal,
    `beta` beside it. Nothing waits but `ritz`."""

    def __init__(self, a: Any, count: int, start: Any) -> None:
        n = a.shape[0]
        if start is None:
            start = cupy.random.random((n,)).astype(a.dtype)
        self._a = a
        self._count = count
        self.vectors = cupy.empty((count, n), dtype=a.dtype)
        self._alpha = cupy.zeros((count,), dtype=a.dtype)
        self._beta = cupy.zeros((count,), dtype=a.dtype.char.lower())
        self.vectors[0] = start / cupy.linalg.norm(start)
        self._residual = start

    def extend(self, first: int) -> None:
        """Fill the basis from its vector `first` on."""
        for i in range(first, self._count):
            v = self.vectors[i]
            u = self._a @ v
            alpha = cupy.vdot(v, u)
            u = u - alpha * v
            if i > 0:
                u = u - self._beta[i - 1] * self.vectors[i - 1]
            known = self.vectors[: i + 1]
            overlap = known.conj() @ u
            u = u - overlap @ known
            self._alpha[i] = alpha + overlap[i]
            self._close(u, i)

    def _close(self, u: Any, i: int) -> None:
        """Note what is left after vector i: the next vector, unless the basis is full."""
        size = cupy.linalg.norm(u)
        self._beta[i] = size
        self._residual = u
        if i + 1 < self._count:
            self.vectors[i + 1] = u / size

    def restart(self, k: int, values: Any, weights: Any, coupling: Any) -> None:
        """Keep k Ritz vectors and what is left, and fill the basis again."""
        kept = cupy.array(weights).T @ self.vectors
        self._alpha[:k] = cupy.array(values)
        self._beta[:k] = 0
        self.vectors[:k] = kept
        u = self._residual - (kept.conj() @ self._residual) @ kept
        v = u / cupy.linalg.norm(u)
        self.vectors[k] = v
        u = self._a @ v
        alpha = cupy.vdot(v, u)
        self._alpha[k] = alpha
        u = u - alpha * v - cupy.array(coupling.astype(u.dtype)) @ kept
        self._close(u, k)
        self.extend(k + 1)

    def ritz(self, k: int, which: str, coupling: Any) -> tuple[Any, Any, Any]:
        """Return k eigenvalues of the projection, their vectors, and their residuals; waits."""
        both = cupy.concatenate((self._alpha, self._beta.astype(self._alpha.dtype))).get()
        alpha, beta = both[: self._count], both[self._count :].real
        projection = np.diag(alpha) + np.diag(beta[:-1], 1) + np.diag(beta[:-1], -1)
        if coupling is not None:
            projection[k, :k] = coupling
            projection[:k, k] = np.conj(coupling)
        values, vectors = np.linalg.eigh(projection)
        order = np.argsort(np.abs(values) if which == "LM" else values, kind="stable")
        chosen = order[:k] if which == "SA" else order[-k:]
        vectors = vectors[:, chosen]
        return values[chosen], vectors, beta[-1] * vectors[-1]


def svds(
    a: Any,
    k: int = 6,
    *,
    ncv: int | None = None,
    tol: float = 0,
    which: str = "LM",
    maxiter: int | None = None,
    return_singular_vectors: bool = True,
) -> Any:
    """Find the largest singular values, as `eigsh` of the smaller of ``A.H @ A``, ``A @ A.H``.

    Returns:
        u, s, vt: shapes (M, k), (k,), (k, N); or s alone.
    """
    if a.ndim != 2:
        raise ValueError(f"expected 2D (shape: {a.shape})")
    m, n = a.shape
    _check(a, k, min(m, n), "min(m, n)")
    a = _interface.aslinearoperator(a)
    tall = m >= n
    a, adjoint = (a, a.H) if tall else (a.H, a)
    found = eigsh(
        adjoint @ a,
        k=k,
        which=which,
        ncv=ncv,
        maxiter=maxiter,
        tol=tol,
        return_eigenvectors=return_singular_vectors,
    )
    squares, x = found if return_singular_vectors else (found, None)
    squares = cupy.maximum(squares, 0)
    kind = squares.dtype.char.lower()
    cutoff = {"f": 1e3, "d": 1e6}[kind] * np.finfo(kind).eps * cupy.max(squares)
    large = cupy.flatnonzero(squares > cutoff)
    s = cupy.zeros_like(squares)
    s[: large.size] = cupy.sqrt(squares[large])
    if x is None:
        return s
    right = x[:, large]
    left = _orthonormal(a @ right / s[: large.size], k - large.size)
    right = _orthonormal(right, k - large.size)
    u, v = (left, right) if tall else (right, left)
    return u, s, v.conj().T


def _orthonormal(x: Any, count: int) -> Any:
    """Append random columns that are orthogonal to the others."""
    for _ in range(count):
        v = cupy.random.random((x.shape[0],)).astype(x.dtype)
        v = v - x @ (x.conj().T @ v)
        x = cupy.concatenate((x, (v / cupy.linalg.norm(v))[:, None]), axis=1)
    return x

"""`minres`."""

from __future__ import annotations

from typing import Any

import numpy as np

from cupool.client_shim import cupy
from cupool.client_shim.cupyx.scipy.sparse.linalg._system import make_system

__all__ = ["minres"]


def _asymmetric(operator: Any, product: Any, vector: Any, eps: float) -> bool:
    """Whether ``(A v, A v)`` and ``(v, A A v)`` differ, of what A v is known."""
    twice = operator.matvec(product)
    s = float(cupy.inner(product, product))
    t = float(cupy.inner(vector, twice))
    limit: float = (s + eps) * eps ** (1 / 3)
    return abs(s - t) > limit


def minres(
    A: Any,
    b: Any,
    x0: Any = None,
    shift: float = 0.0,
    tol: float = 1e-5,
    maxiter: int | None = None,
    M: Any = None,
    callback: Any = None,
    check: bool = False,
) -> tuple[Any, int]:
    """Solve ``(A - shift I) x = b`` for symmetric A (Paige and Saunders, SIAM 12, 1975).

    Each iteration waits three times.

    Args:
        A: matrix or operator, shape (N, N).
        b: right side, shape (N,) or (N, 1).
        x0: first guess, zeros for None.
        tol: of the relative residual.
        maxiter: 5 N for None.
        M: positive definite, what approximates the inverse of A.
        callback: called with x after each iteration.
        check: whether to look if A and M are symmetric.

    Returns:
        x, and 0, or `maxiter` if it was too few.

    Raises:
        ValueError: a matrix that is not symmetric, a preconditioner that is not definite.
    """
    A, M, x, b = make_system(A, M, x0, b)
    maxiter = 5 * b.size if maxiter is None else maxiter
    eps = float(np.finfo(x.dtype).eps)
    product = A.matvec(x)
    r = b - product
    y = M.matvec(r)
    square = float(cupy.inner(r, y))
    if square < 0:
        raise ValueError("indefinite preconditioner")
    if square == 0:
        return x, 0
    if check:
        if _asymmetric(A, product, x, eps):
            raise ValueError("non-symmetric matrix")
        if _asymmetric(M, y, r, eps):
            raise ValueError("non-symmetric preconditioner")
    state = _Rotations(float(np.sqrt(square)), eps, tol)
    x, reason = _iterate(A, M, x, (r, y), shift, maxiter, callback, state)
    x = x.astype(np.float64) if x.dtype == np.float32 else x
    return x, maxiter if reason == 6 else 0


def _iterate(
    A: Any,
    M: Any,
    x: Any,
    first: tuple[Any, Any],
    shift: float,
    maxiter: int,
    callback: Any,
    state: _Rotations,
) -> tuple[Any, int]:
    """Iterate from a residual and its preconditioned form; return x and why it stopped."""
    r, y = first
    before, last = r, r
    w = cupy.zeros_like(x)
    older = cupy.zeros_like(x)
    reason = 0
    for iteration in range(1, maxiter + 1):
        v = y / state.beta
        y = A.matvec(v) - shift * v
        if iteration >= 2:
            y = y - state.beta / state.old_beta * before
        alpha = float(cupy.inner(v, y))
        y = y - alpha / state.beta * last
        before, last = last, y
        y = M.matvec(last)
        square = float(cupy.inner(last, y))
        if square < 0:
            raise ValueError("non-symmetric matrix")
        oldeps, delta, gamma, phi = state.advance(alpha, float(np.sqrt(square)))
        w, older = (v - oldeps * older - delta * w) / gamma, w
        x = x + phi * w
        reason = state.verdict(float(cupy.linalg.norm(x)), iteration >= maxiter)
        if callback is not None:
            callback(x)
        if reason:
            break
    return x, reason


class _Rotations:
    """The scalars: the Lanczos coefficients and the plane rotations that make them triangular."""

    def __init__(self, beta: float, eps: float, tol: float) -> None:
        self._first = self.beta = beta
        self.old_beta = 0.0
        self._eps, self._tol = eps, tol
        self._cs, self._sn = -1.0, 0.0
        self._dbar = self._epsilon = self._norm2 = self._root = 0.0
        self._phibar = beta
        self._gamma_max, self._gamma_min = 0.0, float(np.finfo(float).max)
        self._exhausted = False
        self._gbar = 0.0

    def advance(self, alpha: float, beta: float) -> tuple[float, float, float, float]:
        """Apply the last rotation to a new column and find the next one.

        Returns:
            what the next direction is made of, its scale, and the step along it.
        """
        self.old_beta, self.beta = self.beta, beta
        self._norm2 += alpha**2 + self.old_beta**2 + beta**2
        self._exhausted = self._phibar == self._first and beta / self._first <= 10 * self._eps
        oldeps = self._epsilon
        delta = self._cs * self._dbar + self._sn * alpha
        gbar = self._sn * self._dbar - self._cs * alpha
        self._epsilon = self._sn * beta
        self._dbar = -self._cs * beta
        self._root = float(np.hypot(gbar, self._dbar))
        gamma = max(float(np.hypot(gbar, beta)), self._eps)
        self._cs, self._sn = gbar / gamma, beta / gamma
        phi = self._cs * self._phibar
        self._phibar *= self._sn
        self._gamma_max = max(self._gamma_max, gamma)
        self._gamma_min = min(self._gamma_min, gamma)
        return oldeps, delta, gamma, phi

    def verdict(self, size: float, was_last: bool) -> int:
        """Return why to stop, 0 to go on; 6 if the iterations were too few."""
        if self._exhausted:
            return -1
        norm = float(np.sqrt(self._norm2))
        residual = np.inf if size == 0 or norm == 0 else self._phibar / (norm * size)
        gradient = np.inf if norm == 0 else self._root / norm
        if residual <= self._tol or 1 + residual <= 1:
            return 1
        if gradient <= self._tol or 1 + gradient <= 1:
            return 2
        if norm * size * self._eps >= self._first:
            return 3
        if self._gamma_max / self._gamma_min >= 0.1 / self._eps:
            return 4
        return 6 if was_last else 0

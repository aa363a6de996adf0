"""Krylov methods. They wait once for each iteration, to see whether it was the last one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from cupool.client_shim import cupy
from cupool.client_shim.cupyx.scipy.sparse.linalg._system import inner, length, make_system

__all__ = ["bicgstab", "cg", "cgs", "gmres"]


def _trivial(b: Any) -> tuple[Any, float]:
    """Return the solution if the right side is empty or zero, else None, and its norm."""
    if b.size == 0:
        return cupy.empty_like(b), 0.0
    norm = length(b)
    return (b if norm == 0 else None), norm


def cg(
    A: Any,
    b: Any,
    x0: Any = None,
    *,
    rtol: float = 1e-5,
    atol: float = 0.0,
    maxiter: int | None = None,
    M: Any = None,
    callback: Any = None,
) -> tuple[Any, int]:
    """Solve a hermitian, positive definite system by conjugate gradients.

    Args:
        A: matrix or operator, shape (N, N).
        b: right side, shape (N,) or (N, 1).
        x0: first guess, zeros for None.
        rtol, atol: done when the residual's norm is at most ``max(rtol * norm(b), atol)``.
        maxiter: 10 N for None.
        M: what approximates the inverse of A.
        callback: called with x after each iteration.

    Returns:
        x, and 0, or the number of iterations if these were too few.
    """
    A, M, x, b = make_system(A, M, x0, b)
    done, norm = _trivial(b)
    if done is not None:
        return done, 0
    limit = max(float(atol), rtol * norm)
    maxiter = 10 * A.shape[0] if maxiter is None else maxiter
    r = b - A.matvec(x)
    p = rho = None
    residual = np.inf
    for _ in range(maxiter):
        z = M.matvec(r)
        rho, before = inner(r, z), rho
        p = z if p is None else z + rho / before * p
        q = A.matvec(p)
        alpha = rho / inner(p, q)
        x = x + alpha * p
        r = r - alpha * q
        if callback is not None:
            callback(x)
        residual = length(r)
        if residual <= limit:
            return x, 0
    return x, maxiter


def cgs(
    A: Any,
    b: Any,
    x0: Any = None,
    *,
    rtol: float = 1e-5,
    atol: float = 0.0,
    maxiter: int | None = None,
    M: Any = None,
    callback: Any = None,
) -> tuple[Any, int]:
    """Solve a square system by conjugate gradients squared; arguments as for `cg`.

    `maxiter` is 5 N for None.
    """
    A, M, x, b = make_system(A, M, x0, b)
    done, norm = _trivial(b)
    if done is not None:
        return done, 0
    limit = max(float(atol), rtol * norm)
    maxiter = 5 * A.shape[0] if maxiter is None else maxiter
    r = b - A.matvec(x)
    shadow, u, p = r.copy(), r.copy(), r.copy()
    rho = cupy.dot(shadow, r)
    for _ in range(max(maxiter, 1)):
        v = A.matvec(M.matvec(p))
        alpha = rho / cupy.dot(shadow, v)
        q = u - alpha * v
        step = M.matvec(u + q)
        x = x + alpha * step
        r = r - alpha * A.matvec(step)
        if callback is not None:
            callback(x)
        if length(r) <= limit:
            return x, 0
        rho, before = cupy.dot(shadow, r), rho
        beta = rho / before
        u = r + beta * q
        p = u + beta * (q + beta * p)
    return x, max(maxiter, 1)


def bicgstab(
    A: Any,
    b: Any,
    x0: Any = None,
    *,
    rtol: float = 1e-5,
    atol: float = 0.0,
    maxiter: int | None = None,
    M: Any = None,
    callback: Any = None,
) -> tuple[Any, int]:
    """Solve a square system by stabilized biconjugate gradients; arguments as for `cg`.

    Each iteration waits three times, as often as its course depends on a number.

    Returns:
        x, and 0, the number of iterations if these were too few, or -10 or -11 if the method
        broke down.
    """
    A, M, x, b = make_system(A, M, x0, b)
    done, norm = _trivial(b)
    if done is not None:
        return done, 0
    limit = max(float(atol), rtol * norm)
    maxiter = 10 * A.shape[0] if maxiter is None else maxiter
    return _stabilized(A, M, x, b - A.matvec(x), limit, maxiter, callback)


def _stabilized(
    A: Any, M: Any, x: Any, r: Any, limit: float, maxiter: int, callback: Any
) -> tuple[Any, int]:
    """Iterate from the first guess and its residual; see `bicgstab`."""
    tiny = float(np.finfo(x.dtype.char).eps) ** 2
    shadow = r.copy()
    rho: Any = None
    alpha: Any = None
    omega: Any = None
    p: Any = None
    v: Any = None
    iteration = 0
    while True:
        state = cupy.stack((cupy.linalg.norm(r).astype(x.dtype), inner(shadow, r))).get()
        if state[0].real <= limit:
            return x, 0
        if iteration >= maxiter:
            return x, iteration
        rho, before = state[1], rho
        if abs(rho) < tiny:
            return x, -10
        if p is None:
            p = r.copy()
        else:
            if abs(omega) < tiny:
                return x, -11
            p = r + rho / before * (alpha / omega) * (p - omega * v)
        direction = M.matvec(p)
        v = A.matvec(direction)
        along = inner(shadow, v).get()[()]
        if along == 0:
            return x, -11
        alpha = rho / along
        r = r - alpha * v
        correction = M.matvec(r)
        t = A.matvec(correction)
        omega_there = inner(t, r) / inner(t, t)
        state = cupy.stack((cupy.linalg.norm(r).astype(x.dtype), omega_there)).get()
        x = x + alpha * direction
        if state[0].real <= limit:
            return x, 0
        omega = state[1]
        x = x + omega * correction
        r = r - omega * t
        iteration += 1
        if callback is not None:
            callback(x)


def gmres(
    A: Any,
    b: Any,
    x0: Any = None,
    *,
    rtol: float = 1e-5,
    atol: float = 0.0,
    restart: int | None = None,
    maxiter: int | None = None,
    M: Any = None,
    callback: Any = None,
    callback_type: str | None = None,
) -> tuple[Any, int]:
    """Solve a square system by generalized minimal residuals; two waits for each restart.

    Args:
        A, b, x0, rtol, atol, M: as for `cg`.
        restart: iterations between restarts, 20 for None.
        maxiter: 10 N for None.
        callback: called at each restart with x or with the relative residual.
        callback_type: "x", or "pr_norm" (default).

    Returns:
        x, and 0, or the number of iterations if these were too few.
    """
    A, M, x, b = make_system(A, M, x0, b)
    done, norm = _trivial(b)
    if done is not None:
        return done, 0
    n = A.shape[0]
    limit = max(float(atol), rtol * norm)
    maxiter = 10 * n if maxiter is None else maxiter
    restart = min(20 if restart is None else restart, n)
    if callback_type not in (None, "x", "pr_norm"):
        raise ValueError(f"Unknown callback_type: {callback_type}")
    iteration = 0
    while True:
        solution = M.matvec(x)
        r = b - A.matvec(solution)
        residual = length(r)
        if callback is not None and callback_type == "x":
            callback(solution)
        elif callback is not None and iteration > 0:
            callback(residual / norm)
        if residual <= limit:
            return solution, 0
        if iteration >= maxiter:
            return solution, iteration
        basis, hessenberg = _arnoldi(lambda v: A.matvec(M.matvec(v)), r / residual, restart)
        first = np.zeros(restart + 1, dtype=A.dtype)
        first[0] = residual
        weights = np.linalg.lstsq(hessenberg.get(), first)[0]
        x = x + basis @ cupy.array(weights)
        iteration += restart


def _arnoldi(multiply: Callable[[Any], Any], v: Any, count: int) -> tuple[Any, Any]:
    """Build an orthonormal basis of a Krylov space, without a wait.

    Returns:
        the basis, shape (N, count), and the operator in it, shape (count + 1, count).
    """
    basis = cupy.empty((v.size, count), dtype=v.dtype, order="F")
    hessenberg = cupy.zeros((count + 1, count), dtype=v.dtype, order="F")
    for j in range(count):
        basis[:, j] = v
        known = basis[:, : j + 1]
        u = multiply(v)
        weights = known.conj().T @ u
        u = u - known @ weights
        size = cupy.linalg.norm(u)
        hessenberg[: j + 1, j] = weights
        hessenberg[j + 1, j] = size
        v = u / size
    return basis, hessenberg

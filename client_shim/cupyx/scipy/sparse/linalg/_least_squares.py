"""`lsqr`, `lsmr`."""

from __future__ import annotations

from typing import Any

import numpy as np

from cupool.client_shim import cupy
from cupool.client_shim.cupy.linalg import _util
from cupool.client_shim.cupyx import cusparse
from cupool.client_shim.cupyx.scipy.sparse import _base, _csr, _kernels
from cupool.client_shim.cupyx.scipy.sparse.linalg import _interface
from cupool.client_shim.cupyx.scipy.sparse.linalg._system import length

__all__ = ["lsmr", "lsqr"]


def lsqr(A: Any, b: Any) -> tuple[Any, ...]:
    """Solve a square sparse system by QR.

    Args:
        A: shape (N, N).
        b: shape (N,).

    Returns:
        x as float64, and nine times None, where SciPy has statistics.

    Raises:
        LinAlgError, TypeError, ValueError: a matrix that is not square, another `b`.
    """
    if not (_base.issparse(A) and A.format == "csr"):
        A = _csr.csr_matrix(A)
    _util.assert_stacked_square(A)
    _util.assert_cupy_array(b)
    cusparse._check_int32_indices(A, "lsqr")
    if b.ndim != 1 or len(b) != A.shape[0]:
        raise ValueError("b must be 1-d array whose size is same as A")
    dtype = A.dtype if A.dtype.char in "fd" else np.promote_types(A.dtype, np.float32)
    parts = (A.data.astype(dtype, copy=False), A.indices, A.indptr)
    x = _kernels.solve(parts, b.astype(dtype, copy=False))
    return (x.astype(np.float64), *(None,) * 9)


def _rotation(a: float, b: float) -> tuple[float, float, float]:
    """Return cosine and sine of the rotation that turns (a, b) to an axis, and where to."""
    if b == 0:
        return float(np.sign(a)), 0.0, abs(a)
    if a == 0:
        return 0.0, float(np.sign(b)), abs(b)
    r = float(np.copysign(np.hypot(a, b), b if abs(b) > abs(a) else a))
    return a / r, b / r, r


def lsmr(
    A: Any,
    b: Any,
    x0: Any = None,
    damp: float = 0.0,
    atol: float = 1e-6,
    btol: float = 1e-6,
    conlim: float = 1e8,
    maxiter: int | None = None,
) -> tuple[Any, ...]:
    """Solve a least-squares problem (Fong and Saunders, SIAM J. Sci. Comput. 33, 2011).

    Each iteration waits three times.

    Args:
        A: matrix or operator, shape (M, N).
        b: shape (M,) or (M, 1).
        x0: first guess, zeros for None.
        damp: weight of the solution's norm.
        atol, btol: relative errors of A and b.
        conlim: stop if the condition number seems to be above this.
        maxiter: ``5 * min(M, N)`` for None.

    Returns:
        x, why it stopped, iterations, and estimates of norms: of the residual, of the normal
        equations' residual, of A, the condition number, the norm of x.
    """
    A = _interface.aslinearoperator(A)
    b = b.squeeze()
    m, n = A.shape
    maxiter = 5 * min(m, n) if maxiter is None else maxiter
    dtype = np.result_type(A.dtype, b.dtype, float, *(() if x0 is None else (x0.dtype,)))
    norm_b = beta = length(b)
    u = b.copy()
    if x0 is None:
        x = cupy.zeros((n,), dtype=dtype)
    else:
        if x0.shape not in ((n,), (n, 1)):
            raise ValueError("x0 has incompatible dimensions")
        x = x0.astype(A.dtype).ravel()
        u = u - A.matvec(x)
        beta = length(u)
    v, alpha = cupy.zeros(n, dtype), 0.0
    if beta > 0:
        u = u / beta
        v = A.rmatvec(u)
        alpha = length(v)
    if alpha > 0:
        v = v / alpha
    state = _Estimates(alpha, beta, norm_b, damp)
    if alpha * beta == 0:
        return (x, 0, 0, *state.results(0.0))
    limits = (atol, btol, conlim, maxiter)
    return _bidiagonalize(A, x, (u, v), alpha, cupy.zeros(n, dtype), state, limits)


def _bidiagonalize(
    A: Any,
    x: Any,
    vectors: tuple[Any, Any],
    alpha: float,
    hbar: Any,
    state: _Estimates,
    limits: tuple[float, float, float, int],
) -> tuple[Any, ...]:
    """Iterate from the first vectors of the bidiagonalization; return what `lsmr` does."""
    u, v = vectors
    atol, btol, conlim, maxiter = limits
    h = v.copy()
    stop, iteration, size = 0, 0, 0.0
    while iteration < maxiter and not stop:
        iteration += 1
        u = A.matvec(v) - alpha * u
        beta = length(u)
        if beta > 0:
            u = u / beta
            v = A.rmatvec(u) - beta * v
            alpha = length(v)
            if alpha > 0:
                v = v / alpha
        back, step, forth = state.advance(alpha, beta)
        hbar = h - back * hbar
        x = x + step * hbar
        h = v - forth * h
        size = length(x)
        stop = state.verdict(size, atol, btol, conlim, iteration >= maxiter)
    return (x.astype(np.float64), stop, iteration, *state.results(size))


class _Estimates:
    """The scalars: two sequences of rotations, and the norms that follow from them."""

    def __init__(self, alpha: float, beta: float, norm_b: float, damp: float) -> None:
        self._damp, self._norm_b = damp, norm_b
        self._zetabar, self._alphabar = alpha * beta, alpha
        self._rho = self._rhobar = self._cbar = 1.0
        self._sbar = self._zeta = 0.0
        self._betadd, self._betad = beta, 0.0
        self._rhod, self._tau, self._theta, self._d = 1.0, 0.0, 0.0, 0.0
        self._norm2, self._max, self._min = alpha * alpha, 0.0, 1e100
        self._norm, self._condition = alpha, 1.0
        self._residual, self._gradient = beta, alpha * beta
        self._advanced = False

    def advance(self, alpha: float, beta: float) -> tuple[float, float, float]:
        """Return the factors by which hbar, x and h change."""
        chat, shat, alphahat = _rotation(self._alphabar, self._damp)
        rho_old, rhobar_old, zeta_old = self._rho, self._rhobar, self._zeta
        c, s, self._rho = _rotation(alphahat, beta)
        theta_new = s * alpha
        self._alphabar = c * alpha
        thetabar = self._sbar * self._rho
        rho_temp = self._cbar * self._rho
        self._cbar, self._sbar, self._rhobar = _rotation(rho_temp, theta_new)
        self._zeta = self._cbar * self._zetabar
        self._zetabar *= -self._sbar
        self._find_residual(chat, shat, c, s, thetabar, zeta_old)
        self._norm2 += beta * beta
        self._norm = float(np.sqrt(self._norm2))
        self._norm2 += alpha * alpha
        self._max = max(self._max, rhobar_old)
        if self._advanced:
            self._min = min(self._min, rhobar_old)
        self._advanced = True
        self._condition = max(self._max, rho_temp) / min(self._min, rho_temp)
        self._gradient = abs(self._zetabar)
        back = thetabar * self._rho / (rho_old * rhobar_old)
        return back, self._zeta / (self._rho * self._rhobar), theta_new / self._rho

    def _find_residual(
        self, chat: float, shat: float, c: float, s: float, thetabar: float, zeta_old: float
    ) -> None:
        acute, check = chat * self._betadd, -shat * self._betadd
        hat = c * acute
        self._betadd = -s * acute
        theta_old = self._theta
        ctilde, stilde, rhotilde = _rotation(self._rhod, thetabar)
        self._theta = stilde * self._rhobar
        self._rhod = ctilde * self._rhobar
        self._betad = -stilde * self._betad + ctilde * hat
        self._tau = (zeta_old - theta_old * self._tau) / rhotilde
        tau = (self._zeta - self._theta * self._tau) / self._rhod
        self._d += check * check
        self._residual = float(np.sqrt(self._d + (self._betad - tau) ** 2 + self._betadd**2))

    def verdict(self, size: float, atol: float, btol: float, conlim: float, was_last: bool) -> int:
        """Return why to stop, as SciPy numbers it; 0 to go on."""
        residual = self._residual / self._norm_b
        scale = self._norm * self._residual
        gradient = self._gradient / scale if scale else np.inf
        inverse = 1 / self._condition
        limit = 1 / conlim if conlim > 0 else 0.0
        growth = self._norm * size / self._norm_b
        tests = (
            (residual <= btol + atol * growth, 1),
            (gradient <= atol, 2),
            (inverse <= limit, 3),
            (1 + residual / (1 + growth) <= 1, 4),
            (1 + gradient <= 1, 5),
            (1 + inverse <= 1, 6),
            (was_last, 7),
        )
        return next((reason for met, reason in tests if met), 0)

    def results(self, size: float) -> tuple[float, ...]:
        """Return the estimates as `lsmr` does."""
        return (self._residual, self._gradient, self._norm, self._condition, size)

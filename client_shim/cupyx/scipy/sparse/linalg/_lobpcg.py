"""`lobpcg`: Knyazev's locally optimal block preconditioned conjugate gradients.

The blocks stay on the device; the small projections of the matrices are solved on the host, which
costs three waits for each iteration.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from cupool.client_shim import cupy
from cupool.client_shim.cupyx.scipy.sparse.linalg import _interface

__all__ = ["lobpcg"]


class _Block(NamedTuple):
    """Vectors as columns, and the products of A and B with them."""

    v: Any
    av: Any
    bv: Any

    def times(self, weights: Any) -> _Block:
        """Return combinations of the columns."""
        return _Block(*(part @ weights for part in self))

    def plus(self, other: _Block) -> _Block:
        return _Block(*(a + b for a, b in zip(self, other, strict=True)))

    def columns(self, index: Any) -> _Block:
        return _Block(*(part[:, index] for part in self))


def _operator(matrix: Any, shape: tuple[int, int]) -> Any:
    if matrix is None:
        return None
    made = _interface.aslinearoperator(matrix)
    if made.shape != shape:
        raise ValueError("operator has invalid shape")
    return made


def _hermitian(matrix: Any) -> Any:
    return (matrix + matrix.conj().T) / 2


def _orthonormal(blocks: list[_Block]) -> list[_Block | None]:
    """Orthonormalize each block by itself, by one wait; None where the columns depend."""
    sizes = [cupy.sqrt((abs(block.v) ** 2).sum(axis=0)) for block in blocks]
    blocks = [block.times(cupy.diag(1 / size)) for block, size in zip(blocks, sizes, strict=True)]
    grams = cupy.stack([block.v.conj().T @ block.bv for block in blocks]).get()
    found: list[_Block | None] = []
    for block, gram in zip(blocks, grams, strict=True):
        try:
            factor = np.linalg.inv(np.linalg.cholesky(_hermitian(gram))).conj().T
        except np.linalg.LinAlgError:
            found.append(None)
            continue
        finite = bool(np.isfinite(factor).all())
        found.append(block.times(cupy.asarray(factor)) if finite else None)
    return found


def _ritz(a: Any, b: Any, count: int, largest: bool) -> tuple[Any, Any]:
    """Solve a small generalized problem on the host.

    Raises:
        LinAlgError: `b` is not positive definite.
    """
    inverse = np.linalg.inv(np.linalg.cholesky(_hermitian(b)))
    values, vectors = np.linalg.eigh(_hermitian(inverse @ a @ inverse.conj().T))
    vectors = inverse.conj().T @ vectors
    order = slice(None, -count - 1, -1) if largest else slice(count)
    return values[order], vectors[:, order]


def _project(blocks: list[_Block], count: int, largest: bool) -> tuple[Any, Any]:
    """Return the best eigenvalues within the space of all blocks, and their vectors; one wait."""
    v, av, bv = (cupy.concatenate(parts, axis=1) for parts in zip(*blocks, strict=True))
    grams = cupy.stack((v.conj().T @ av, v.conj().T @ bv)).get()
    return _ritz(grams[0], grams[1], count, largest)


class _Solver:
    """The iteration: `x` the best vectors so far, `p` the direction in which they moved."""

    def __init__(self, A: Any, X: Any, B: Any, M: Any, Y: Any, largest: bool) -> None:
        n, self._count = X.shape
        self._a, self._b, self._m = (_operator(matrix, (n, n)) for matrix in (A, B, M))
        self._y = None
        if Y is not None:
            by = Y if self._b is None else self._b(Y)
            self._y = (Y, by, cupy.linalg.inv(Y.conj().T @ by))
        self._largest = largest
        block = _orthonormal([self._products(self._constrained(X))])[0]
        if block is None:
            raise ValueError("the initial vectors are linearly dependent")
        values, weights = _project([block], self._count, largest)
        self.values = values
        self.x = block.times(cupy.asarray(weights))
        self.p: _Block | None = None

    def _products(self, v: Any) -> _Block:
        return _Block(v, self._a(v), v if self._b is None else self._b(v))

    def _constrained(self, v: Any) -> Any:
        if self._y is None:
            return v
        y, by, inverse = self._y
        return v - y @ (inverse @ (by.conj().T @ v))

    def residual(self) -> Any:
        return self.x.av - self.x.bv * cupy.asarray(self.values)[None, :]

    def step(self, residual: Any, active: Any) -> None:
        """Improve the vectors within the space of them, their residuals and their last move.

        Raises:
            ValueError: the space has lost its dimension.
        """
        w = residual[:, active]
        w = self._constrained(w if self._m is None else self._m(w))
        w = w - self.x.v @ (self.x.bv.conj().T @ w)
        blocks = [self._products(w)]
        if self.p is not None:
            blocks.append(self.p.columns(active))
        search = [block for block in _orthonormal(blocks) if block is not None]
        if not search:
            raise ValueError("eigh has failed in lobpcg iterations")
        try:
            values, weights = _project([self.x, *search], self._count, self._largest)
        except np.linalg.LinAlgError:
            search = search[:1]
            try:
                values, weights = _project([self.x, *search], self._count, self._largest)
            except np.linalg.LinAlgError:
                raise ValueError("eigh has failed in lobpcg iterations") from None
        weights = cupy.asarray(weights)
        moved: _Block | None = None
        begin = self._count
        for block in search:
            width = block.v.shape[1]
            part = block.times(weights[begin : begin + width])
            moved = part if moved is None else moved.plus(part)
            begin += width
        assert moved is not None
        self.values = values
        self.x = self.x.times(weights[: self._count]).plus(moved)
        self.p = moved


def _dense(A: Any, B: Any, n: int, count: int, largest: bool) -> tuple[Any, Any]:
    """Solve a problem that is too small for blocks, whole, on the host."""
    a = _operator(A, (n, n))
    a = a(cupy.eye(n, dtype=a.dtype)).get()
    b = np.eye(n, dtype=a.dtype)
    if B is not None:
        b = _operator(B, (n, n))
        b = b(cupy.eye(n, dtype=b.dtype)).get()
    values, vectors = _ritz(a, b, count, largest)
    return cupy.array(values), cupy.array(vectors)


def lobpcg(
    A: Any,
    X: Any,
    B: Any = None,
    M: Any = None,
    Y: Any = None,
    tol: float | None = None,
    maxiter: int | None = None,
    largest: bool = True,
    verbosityLevel: int = 0,
    retLambdaHistory: bool = False,
    retResidualNormsHistory: bool = False,
) -> Any:
    """Find the largest or smallest eigenvalues of ``A x = lambda B x``.

    Args:
        A: hermitian matrix or operator, shape (N, N).
        X: first guess, shape (N, K).
        B: hermitian, positive definite; the identity for None.
        M: preconditioner, what approximates the inverse of A.
        Y: what the solution is to be orthogonal to, shape (N, L).
        tol: of the residuals' norms; ``N * sqrt(1e-15)`` for None.
        maxiter: 20 for None.
        largest: whether the largest, else the smallest ones.
        verbosityLevel: prints progress if above 0.
        retLambdaHistory: also return the eigenvalues of each iteration.
        retResidualNormsHistory: also return the norms of each iteration.

    Returns:
        eigenvalues, shape (K,), their vectors, shape (N, K), and the histories as lists.
    """
    if X.ndim != 2:
        raise ValueError("expected rank-2 array for argument X")
    n, count = X.shape
    say = print if verbosityLevel > 0 else lambda *text: None
    if n - (0 if Y is None else Y.shape[1]) < 5 * count:
        if Y is not None:
            raise NotImplementedError("The dense eigensolver does not support constraints.")
        return _dense(A, B, n, min(count, n), largest)
    say(f"matrix size {n}, block size {count}, {'generalized' if B is not None else 'standard'}")
    limit = tol if tol is not None and tol > 0 else float(np.sqrt(1e-15) * n)
    solver = _Solver(A, X, B, M, Y, largest)
    active = np.ones(count, dtype=bool)
    lambdas, norms = [cupy.array(solver.values)], []
    for iteration in range((20 if maxiter is None else maxiter) + 1):
        residual = solver.residual()
        size = cupy.sqrt((residual.conj() * residual).sum(axis=0))
        norms.append(size)
        host = size.get().real
        active &= host > limit
        if not active.any():
            break
        say(f"iteration {iteration}: eigenvalues {solver.values}, residual norms {host}")
        solver.step(residual, cupy.asarray(np.flatnonzero(active)))
        lambdas.append(cupy.array(solver.values))
    say(f"eigenvalues {solver.values}")
    result = [lambdas[-1], solver.x.v]
    result += [lambdas] if retLambdaHistory else []
    result += [norms] if retResidualNormsHistory else []
    return tuple(result)

"""Interpolation by radial basis functions."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from itertools import combinations_with_replacement
from math import comb
from typing import Any

import numpy as np

from cupool.client_shim import cupy
from cupool.client_shim.cupy._core import core
from cupool.client_shim.cupyx.scipy.spatial import KDTree

__all__ = ["RBFInterpolator"]
ndarray = core.ndarray


def _thin_plate_spline(r: Any) -> Any:
    return cupy.where(r == 0, 0.0, r * r * cupy.log(cupy.where(r == 0, 1.0, r)))


NAME_TO_FUNC: dict[str, Callable[[Any], Any]] = {
    "linear": lambda r: -r,
    "thin_plate_spline": _thin_plate_spline,
    "cubic": lambda r: r * r * r,
    "quintic": lambda r: -(r**5),
    "multiquadric": lambda r: -cupy.sqrt(r * r + 1),
    "inverse_multiquadric": lambda r: 1 / cupy.sqrt(r * r + 1),
    "inverse_quadratic": lambda r: 1 / (r * r + 1),
    "gaussian": lambda r: cupy.exp(-(r * r)),
}
"""The kernels, as functions of the distance."""

_AVAILABLE = frozenset(NAME_TO_FUNC)
_SCALE_INVARIANT = frozenset(("linear", "thin_plate_spline", "cubic", "quintic"))
_NAME_TO_MIN_DEGREE = {
    "multiquadric": 0,
    "linear": 0,
    "thin_plate_spline": 1,
    "cubic": 1,
    "quintic": 2,
}
_CHUNK_ELEMENTS = 1_000_000


def _distances(x: Any, y: Any) -> Any:
    """Return distances between all points of two stacks, shape (..., len(x), len(y))."""
    return cupy.linalg.norm(x[..., :, None, :] - y[..., None, :, :], axis=-1)


def _monomials(x: Any, powers: Any) -> Any:
    """Return the values of monomials at points, shape (..., points, monomials)."""
    return cupy.prod(x[..., :, None, :] ** powers, axis=-1)


def kernel_matrix(x: Any, kernel_func: Callable[[Any], Any], out: Any) -> None:
    """Write the kernel of the distances between all points into `out`."""
    out[...] = kernel_func(_distances(x, x))


def polynomial_matrix(x: Any, powers: Any, out: Any) -> None:
    """Write the values of monomials at points into `out`."""
    out[...] = _monomials(x, powers)


def _powers(ndim: int, degree: int) -> np.ndarray[Any, Any]:
    """Return the exponents of all monomials up to a degree, shape (monomials, ndim)."""
    rows = np.zeros((comb(degree + ndim, ndim), ndim), np.int64)
    chosen = (
        mono
        for deg in range(degree + 1)
        for mono in combinations_with_replacement(range(ndim), deg)
    )
    for row, mono in zip(rows, chosen, strict=True):
        np.add.at(row, list(mono), 1)
    return rows


def _monomial_powers(ndim: int, degree: int) -> ndarray:
    return cupy.asarray(_powers(ndim, degree))


class RBFInterpolator:
    """A sum of radial functions around scattered points, and of a polynomial.

    Args:
        y: points, shape (n, variables).
        d: values, shape (n, ...).
        neighbors: how many points make the value at a place; all by default.
        smoothing: 0 goes through the points; one for all or shape (n,).
        kernel: its name, see `NAME_TO_FUNC`.
        epsilon: what distances are multiplied by; needed for kernels that depend on scale.
        degree: of the polynomial; -1 leaves it out.

    Raises:
        ValueError: shapes that do not fit, an unknown kernel, a missing epsilon, too few points.
    """

    def __init__(
        self,
        y: Any,
        d: Any,
        neighbors: Any = None,
        smoothing: Any = 0.0,
        kernel: str = "thin_plate_spline",
        epsilon: Any = None,
        degree: Any = None,
    ) -> None:
        y = cupy.asarray(y, dtype=np.float64, order="C")
        if y.ndim != 2:
            raise ValueError("`y` must be a 2-dimensional array.")
        count, ndim = y.shape
        self.d_dtype: Any = complex if cupy.iscomplexobj(d) else float
        d = cupy.asarray(d, dtype=self.d_dtype, order="C")
        if d.shape[0] != count:
            raise ValueError(f"Expected the first axis of `d` to have length {count}.")
        self.d_shape = d.shape[1:]
        self.y = y
        self.d = d.reshape(count, -1).view(np.float64)
        self.smoothing = _smoothing(smoothing, count)
        self.kernel = kernel.lower()
        self.epsilon = _epsilon(self.kernel, epsilon)
        degree = _degree(self.kernel, degree)
        self.neighbors = None if neighbors is None else int(min(neighbors, count))
        powers = _powers(ndim, degree)
        if powers.shape[0] > (count if self.neighbors is None else self.neighbors):
            raise ValueError(
                f"At least {powers.shape[0]} data points are required when `degree` is {degree} "
                f"and the number of dimensions is {ndim}."
            )
        self.powers = cupy.asarray(powers)
        if self.neighbors is None:
            self._shift, self._scale, self._coeffs = self._solved(self.y, self.d, self.smoothing)
        else:
            self._tree = KDTree(y)

    def _solved(self, y: Any, d: Any, smoothing: Any) -> tuple[Any, Any, Any]:
        """Solve for the coefficients of one set of points, or of a stack of sets.

        Args:
            y, d, smoothing: shapes (..., n, variables), (..., n, values), (..., n).

        Returns:
            shift and scale of the polynomial's variables, and the coefficients.
        """
        n, monomials = y.shape[-2], self.powers.shape[0]
        low, high = cupy.min(y, axis=-2, keepdims=True), cupy.max(y, axis=-2, keepdims=True)
        shift = (high + low) / 2
        scale = (high - low) / 2
        scale = cupy.where(scale == 0.0, 1.0, scale)
        scaled = y * self.epsilon
        size = n + monomials
        left = cupy.zeros((*y.shape[:-2], size, size))
        left[..., :n, :n] = NAME_TO_FUNC[self.kernel](_distances(scaled, scaled))
        polynomial = _monomials((y - shift) / scale, self.powers)
        left[..., :n, n:] = polynomial
        left[..., n:, :n] = cupy.swapaxes(polynomial, -1, -2)
        diagonal = cupy.arange(n)
        left[..., diagonal, diagonal] += smoothing
        right = cupy.zeros((*y.shape[:-2], size, d.shape[-1]))
        right[..., :n, :] = d
        return shift, scale, cupy.linalg.solve(left, right)

    def _basis(self, x: Any, y: Any, shift: Any, scale: Any) -> Any:
        """Return the values of all functions at points, shape (..., points, functions)."""
        distances = _distances(x * self.epsilon, y * self.epsilon)
        radial = NAME_TO_FUNC[self.kernel](distances)
        return cupy.concatenate([radial, _monomials((x - shift) / scale, self.powers)], axis=-1)

    def _chunk_evaluator(
        self,
        x: Any,
        y: Any,
        shift: Any,
        scale: Any,
        coeffs: Any,
        memory_budget: int = _CHUNK_ELEMENTS,
    ) -> Any:
        """Evaluate some points at a time; `memory_budget`: elements of a matrix."""
        chunk = memory_budget // (self.powers.shape[0] + len(y)) + 1
        parts = [
            cupy.dot(self._basis(x[i : i + chunk], y, shift, scale), coeffs)
            for i in range(0, len(x), chunk)
        ]
        if not parts:
            return cupy.zeros((0, self.d.shape[1]))
        return parts[0] if len(parts) == 1 else cupy.concatenate(parts)

    def _near(self, x: Any, memory_budget: int) -> Any:
        """Solve, for each point, for its own neighbours; some points at a time."""
        k = self.neighbors or 1
        _, nodes = self._tree.query(x, k)
        nodes = nodes.reshape(len(x), k)
        chunk = memory_budget // (k + self.powers.shape[0]) ** 2 + 1
        parts = []
        for i in range(0, len(x), chunk):
            # In order, so that points with the same neighbours have the same system.
            chosen = cupy.sort(nodes[i : i + chunk], axis=1)
            y = self.y[chosen]
            shift, scale, coeffs = self._solved(y, self.d[chosen], self.smoothing[chosen])
            basis = self._basis(x[i : i + chunk, None, :], y, shift, scale)
            parts.append(cupy.matmul(basis, coeffs)[:, 0])
        return cupy.concatenate(parts) if parts else cupy.zeros((0, self.d.shape[1]))

    def __call__(self, x: Any) -> Any:
        """Return the values at points.

        Args:
            x: shape (points, variables).

        Returns:
            shape (points, ...).

        Raises:
            ValueError: another shape.
        """
        x = cupy.asarray(x, dtype=np.float64, order="C")
        if x.ndim != 2:
            raise ValueError("`x` must be a 2-dimensional array.")
        if x.shape[1] != self.y.shape[1]:
            raise ValueError(f"Expected the second axis of `x` to have length {self.y.shape[1]}.")
        budget = max(x.size + self.y.size + self.d.size, _CHUNK_ELEMENTS)
        if self.neighbors is None:
            result = self._chunk_evaluator(
                x, self.y, self._shift, self._scale, self._coeffs, memory_budget=budget
            )
        else:
            result = self._near(x, budget)
        result = cupy.ascontiguousarray(result).view(self.d_dtype)
        return result.reshape((x.shape[0], *self.d_shape))


def _smoothing(smoothing: Any, count: int) -> Any:
    if cupy.isscalar(smoothing) or smoothing.shape == ():
        return cupy.full(count, smoothing, dtype=np.float64)
    smoothing = cupy.asarray(smoothing, dtype=np.float64, order="C")
    if smoothing.shape != (count,):
        raise ValueError(f"Expected `smoothing` to be a scalar or have shape ({count},).")
    return smoothing


def _epsilon(kernel: str, epsilon: Any) -> float:
    if kernel not in _AVAILABLE:
        raise ValueError(f"`kernel` must be one of {sorted(_AVAILABLE)}.")
    if epsilon is not None:
        return float(epsilon)
    if kernel not in _SCALE_INVARIANT:
        raise ValueError(
            f"`epsilon` must be specified if `kernel` is not one of {sorted(_SCALE_INVARIANT)}."
        )
    return 1.0


def _degree(kernel: str, degree: Any) -> int:
    least = _NAME_TO_MIN_DEGREE.get(kernel, -1)
    if degree is None:
        return max(least, 0)
    degree = int(degree)
    if degree < -1:
        raise ValueError("`degree` must be at least -1.")
    if -1 < degree < least:
        warnings.warn(
            f"`degree` should not be below {least} when `kernel` is '{kernel}': the interpolant "
            "may not be unique, and smoothing may not do what it should.",
            UserWarning,
            stacklevel=3,
        )
    return degree  # type: ignore[no-any-return]

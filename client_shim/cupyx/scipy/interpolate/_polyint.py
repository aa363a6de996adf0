"""Polynomials through points: barycentric, and Krogh's with derivatives."""

from __future__ import annotations

from bisect import bisect_right
from math import factorial
from typing import Any

import numpy as np

from cupool.client_shim import cupy
from cupool.client_shim.cupy._core import core
from cupool.client_shim.cupyx.scipy.interpolate._checks import float_dtype

__all__ = [
    "BarycentricInterpolator",
    "Interpolator",
    "KroghInterpolator",
    "barycentric_interpolate",
    "krogh_interpolate",
]
ndarray = core.ndarray


class Interpolator:
    """What interpolators of one variable have in common: the shapes of points and values.

    Attributes:
        dtype: of the results, float64 or complex128.
    """

    _y_axis: Any
    _y_extra_shape: Any

    def __init__(self, xi: Any = None, yi: Any = None, axis: Any = None) -> None:
        self._y_axis = axis
        self._y_extra_shape = None
        self.dtype: Any = None
        if yi is not None:
            self._set_yi(yi, xi=xi, axis=axis)

    def __call__(self, x: Any) -> Any:
        """Return the values at points of any shape, which replaces the interpolated axis."""
        points, shape = self._points(x)
        return self._finish(self._evaluate(points), shape)

    def _evaluate(self, x: Any) -> Any:
        raise NotImplementedError

    def _points(self, x: Any) -> tuple[ndarray, tuple[int, ...]]:
        x = cupy.asarray(x)
        if x.dtype.kind not in "fc":
            x = x.astype(np.float64)
        return x.ravel(), x.shape

    def _finish(self, y: Any, shape: tuple[int, ...], first: int = 0) -> Any:
        """Put the points' axes in the place of the data's.

        Args:
            y: shape (..., points, values).
            first: how many axes come before the points.
        """
        y = y.reshape(y.shape[:first] + shape + self._y_extra_shape)
        axis, nx, ny = self._y_axis, len(shape), len(self._y_extra_shape)
        if axis == 0 or not shape:
            return y
        order = [*range(nx, nx + axis), *range(nx), *range(nx + axis, nx + ny)]
        return y.transpose([*range(first), *(first + one for one in order)])

    def _reshape_yi(self, yi: Any, check: bool = False) -> Any:
        yi = cupy.moveaxis(cupy.asarray(yi), self._y_axis, 0)
        if check and yi.shape[1:] != self._y_extra_shape:
            extra = self._y_extra_shape
            raise ValueError(
                f"Data must be of shape {extra[-self._y_axis :]!r} + (N,) + "
                f"{extra[: -self._y_axis]!r}"
            )
        return yi.reshape((yi.shape[0], -1) if yi.size else (yi.shape[0], _size(yi.shape[1:])))

    def _set_yi(self, yi: Any, xi: Any = None, axis: Any = None) -> None:
        if axis is None:
            axis = self._y_axis
        if axis is None:
            raise ValueError("no interpolation axis specified")
        shape = yi.shape or (1,)
        if xi is not None and shape[axis] != len(xi):
            raise ValueError("x and y arrays must be equal in length along interpolation axis.")
        self._y_axis = axis % yi.ndim
        self._y_extra_shape = yi.shape[: self._y_axis] + yi.shape[self._y_axis + 1 :]
        self.dtype = float_dtype(yi.dtype)


def _size(shape: tuple[int, ...]) -> int:
    return int(np.prod(shape, dtype=int))


class BarycentricInterpolator(Interpolator):
    """The polynomial through points, by the barycentric formula.

    Args:
        xi: the points' places, shape (n,), all different.
        yi: values, shape (..., n, ...); may be set later.
        axis: of `yi`.

    Attributes:
        xi, yi, wi: places, values (n, r), weights.
    """

    def __init__(self, xi: Any, yi: Any = None, axis: int = 0) -> None:
        super().__init__(xi, yi, axis)
        self.xi: Any = xi.astype(np.float64)
        self.yi: Any = None
        self.n = len(self.xi)
        self.set_yi(yi)
        self._inv_capacity = 4.0 / (cupy.max(self.xi) - cupy.min(self.xi))
        self.wi = self._weights()

    def _weights(self) -> Any:
        distances = self._inv_capacity * (self.xi[:, None] - self.xi)
        return 1.0 / cupy.prod(distances + cupy.eye(len(self.xi)), axis=1)

    def set_yi(self, yi: Any, axis: Any = None) -> None:
        """Replace the values; None takes them away."""
        if yi is None:
            self.yi = None
            return
        self._set_yi(yi, xi=self.xi, axis=axis)
        self.yi = self._reshape_yi(yi)
        self.n, self.r = self.yi.shape

    def add_xi(self, xi: Any, yi: Any = None) -> None:
        """Add points.

        Raises:
            ValueError: values for some points only.
        """
        if yi is not None:
            if self.yi is None:
                raise ValueError("No previous yi value to update!")
            self.yi = cupy.vstack((self.yi, self._reshape_yi(yi, check=True)))
        elif self.yi is not None:
            raise ValueError("No update to yi provided!")
        self.xi = cupy.concatenate((self.xi, cupy.asarray(xi)))
        self.n = len(self.xi)
        self.wi = self._weights()

    def _evaluate(self, x: Any) -> Any:
        if x.size == 0:
            return cupy.zeros((0, self.r), dtype=self.dtype)
        distances = x[:, None] - self.xi
        hits = distances == 0
        weights = self.wi / cupy.where(hits, 1, distances)
        values = cupy.dot(weights, self.yi) / cupy.sum(weights, axis=-1)[:, None]
        exact = self.yi[cupy.argmax(hits, axis=-1)]
        return cupy.where(hits.any(axis=-1)[:, None], exact, values)


def barycentric_interpolate(xi: Any, yi: Any, x: Any, axis: int = 0) -> Any:
    """Return the values of `BarycentricInterpolator(xi, yi, axis)` at x."""
    return BarycentricInterpolator(xi, yi, axis=axis)(x)


class KroghInterpolator(Interpolator):
    """The polynomial through points and derivatives there; making one waits once.

    Args:
        xi: places, shape (n,); one that stands several times in a row has derivatives.
        yi: values, and for the repetitions of a place the first derivative, the second, ...;
            shape (..., n, ...).
        axis: of `yi`.

    Raises:
        ValueError: a place that comes again after another.
    """

    def __init__(self, xi: Any, yi: Any, axis: int = 0) -> None:
        super().__init__(xi, yi, axis)
        self.xi = xi.astype(np.float64)
        self.yi = self._reshape_yi(yi)
        self.n, self.r = self.yi.shape
        places = self.xi.get().tolist()
        first = list(range(self.n))
        for i in range(1, self.n):
            if places[i] == places[i - 1]:
                first[i] = first[i - 1]
            if places[i] in places[: first[i]]:
                raise ValueError("Elements of `xi` can't be equal.")
        self.c = self._coefficients(xi, first)

    def _coefficients(self, xi: Any, first: list[int]) -> Any:
        """Return divided differences, and a row of zeros: shape (n + 1, r).

        Args:
            xi: the places in their own dtype, as CuPy and SciPy subtract them.
            first: for each place, where it stands first.
        """
        repeats = [k - start for k, start in enumerate(first)]
        scale = cupy.asarray([float(factorial(s)) for s in repeats])
        c = cupy.zeros((self.n + 1, self.r), dtype=self.dtype)
        c[:-1] = self.yi / scale[:, None]
        for i in range(self.n - 1):
            # Rows before `start` are done: place i is theirs.
            start = bisect_right(first, i)
            if start == self.n:
                break
            old = c[start:-1]
            step = (xi[i] - xi[start:])[:, None]
            new = (c[i] - old) / step
            for s in range(1, max(repeats) + 1):
                rows = np.asarray([k - start for k in range(start, self.n) if repeats[k] == s], int)
                if rows.size:
                    new[rows] = (new[rows - 1] - old[rows]) / step[rows]
            c[start:-1] = new
        return c

    def _evaluate(self, x: Any) -> Any:
        value = cupy.zeros((len(x), self.r), dtype=self.dtype) + self.c[0]
        power: Any = 1
        for k in range(1, self.n):
            power = (x - self.xi[k - 1])[:, None] * power
            value = value + power * self.c[k]
        return value

    def _derivatives(self, x: Any, der: int | None) -> Any:
        """Return the first derivatives, the value first: shape (der, points, r)."""
        n = self.n
        der = n if der is None else der
        # Horner's scheme, repeated: column d becomes the d-th Taylor coefficient at x.
        taylor = [cupy.zeros((len(x), self.r), dtype=self.dtype) for _ in range(min(der, n))]
        for k in range(n - 1, -1, -1):
            step = (x - self.xi[k])[:, None]
            for d in range(len(taylor) - 1, 0, -1):
                if d <= n - 1 - k:
                    taylor[d] = taylor[d] * step + taylor[d - 1]
            taylor[0] = taylor[0] * step + self.c[k]
        found = [one * float(factorial(d)) for d, one in enumerate(taylor)]
        found += [cupy.zeros_like(found[0])] * (der - len(found))
        return cupy.stack(found)

    def derivatives(self, x: Any, der: Any = None) -> Any:
        """Return derivatives at points, the value first.

        Args:
            der: how many; as many as there are points by default.

        Returns:
            shape (der, ...), then as `__call__`.
        """
        points, shape = self._points(x)
        return self._finish(self._derivatives(points, None if der is None else int(der)), shape, 1)

    def derivative(self, x: Any, der: Any = 1) -> Any:
        """Return the derivative of one order at points."""
        points, shape = self._points(x)
        return self._finish(self._derivatives(points, int(der) + 1)[int(der)], shape)


def krogh_interpolate(xi: Any, yi: Any, x: Any, der: Any = 0, axis: int = 0) -> Any:
    """Return values or derivatives of `KroghInterpolator(xi, yi, axis)` at x."""
    made = KroghInterpolator(xi, yi, axis=axis)
    if cupy.isscalar(der) or getattr(der, "shape", None) == ():
        return made.derivative(x, der=der) if der else made(x)
    highest = int(cupy.amax(cupy.asarray(der)))
    return made.derivatives(x, der=highest + 1)[der]

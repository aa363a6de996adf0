"""`cupy.poly1d`."""

from __future__ import annotations

from collections.abc import Iterator
from numbers import Integral
from typing import Any

import numpy as np

from cupool.client_shim.cupy._core import core, views
from cupool.client_shim.cupy._creation.basic import zeros
from cupool.client_shim.cupy._creation.from_data import asarray
from cupool.client_shim.cupy._manipulation.add_remove import trim_zeros
from cupool.client_shim.cupy._padding.pad import pad

__all__ = ["poly1d"]
ndarray = core.ndarray


def _routines() -> Any:
    from cupool.client_shim.cupy.lib import _routines_poly

    return _routines_poly


class poly1d:
    """A polynomial of one variable.

    Args:
        c_or_r: coefficients, highest power first; roots if `r` is true.
        variable: its name when printed.

    Attributes:
        coeffs: without leading zeros; the first look at it waits.
        order, roots, variable.

    Raises:
        ValueError: more than one axis.
    """

    __module__ = "cupy"
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, c_or_r: Any, r: bool = False, variable: str | None = None) -> None:
        self._trimmed = False
        if isinstance(c_or_r, (np.poly1d, poly1d)):
            variable = variable or c_or_r.variable
            made = asarray(c_or_r.coeffs)
            self._trimmed = True
        else:
            made = asarray(_routines().poly(c_or_r) if r else c_or_r)
            if made.ndim == 0:
                made = views.reshape(made, (1,))
            if made.ndim > 1:
                raise ValueError("Polynomial must be 1d only.")
        self._coeffs = made
        self._variable = variable or "x"

    @property
    def coeffs(self) -> ndarray:
        if not self._trimmed:
            trimmed = trim_zeros(self._coeffs, "f")
            self._coeffs = trimmed if trimmed.size else zeros((1,), trimmed.dtype)
            self._trimmed = True
        return self._coeffs

    @coeffs.setter
    def coeffs(self, value: Any) -> None:
        if value is not self._coeffs:
            raise AttributeError("Cannot set attribute")

    c = coef = coefficients = coeffs

    @property
    def variable(self) -> str:
        return self._variable

    @property
    def order(self) -> int:
        return self.coeffs.size - 1

    o = order

    @property
    def roots(self) -> ndarray:
        made: ndarray = _routines().roots(self._coeffs)
        return made

    r = roots

    def __cupy_get_ndarray__(self) -> ndarray:
        return self.coeffs

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        raise TypeError(
            "Implicit conversion to a NumPy array is not allowed. "
            "Please use `.get()` to construct a NumPy array explicitly."
        )

    def get(self, stream: Any = None) -> np.poly1d:
        """Return the polynomial on the host; waits."""
        return np.poly1d(self.coeffs.get(stream=stream), variable=self.variable)

    def set(self, polyin: Any, stream: Any = None) -> None:
        """Take coefficients (as many as there are) and variable from a `numpy.poly1d`."""
        if not isinstance(polyin, np.poly1d):
            raise TypeError("Only numpy.poly1d can be set to cupy.poly1d")
        self._variable = polyin.variable
        self.coeffs.set(polyin.coeffs, stream)

    def __repr__(self) -> str:
        return repr(self.get())

    def __str__(self) -> str:
        return str(self.get())

    def __len__(self) -> int:
        return self.order

    def __iter__(self) -> Iterator[Any]:
        return iter(self.coeffs)

    def __call__(self, val: Any) -> Any:
        return _routines().polyval(self.coeffs, val)

    def __neg__(self) -> poly1d:
        return poly1d(-self.coeffs)

    def __pos__(self) -> poly1d:
        return self

    def __add__(self, other: Any) -> Any:
        return _routines().polyadd(self, other)

    def __radd__(self, other: Any) -> Any:
        _refuse_scalar(other, "addition")
        return _routines().polyadd(other, self)

    def __sub__(self, other: Any) -> Any:
        return _routines().polysub(self, other)

    def __rsub__(self, other: Any) -> Any:
        _refuse_scalar(other, "subtraction")
        return _routines().polysub(other, self)

    def __mul__(self, other: Any) -> Any:
        if np.isscalar(other):
            return poly1d(self.coeffs * other)
        return _routines().polymul(self, other)

    def __rmul__(self, other: Any) -> Any:
        _refuse_scalar(other, "multiplication")
        if np.isscalar(other):
            other = self._coeffs.dtype.type(other)
        return _routines().polymul(other, self)

    def __truediv__(self, other: Any) -> Any:
        if np.isscalar(other):
            return poly1d(self.coeffs / other)
        raise NotImplementedError("division by a polynomial is not implemented")

    def __rtruediv__(self, other: Any) -> Any:
        raise NotImplementedError("division by a polynomial is not implemented")

    def __pow__(self, exponent: Any, modulo: Any = None) -> poly1d:
        if not _is_scalar(exponent) or int(exponent) != exponent or exponent < 0:
            raise ValueError("Power to non-negative integers only.")
        if not isinstance(exponent, Integral):
            raise TypeError("float object cannot be interpreted as an integer")
        base = self.coeffs
        if base.dtype.kind == "c":
            wide: Any = np.complex128
        elif base.dtype.kind == "f" or base.dtype == np.uint64:
            wide = np.float64
        else:
            wide = np.promote_types(base.dtype, np.int64)
        return poly1d(_routines().power(base.astype(wide, copy=False), int(exponent)))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, poly1d):
            raise NotImplementedError("only polynomials can be compared")
        if self.coeffs.shape != other.coeffs.shape:
            return False
        return bool((self.coeffs == other.coeffs).all())

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __getitem__(self, val: int) -> Any:
        if 0 <= val < self._coeffs.size:
            return self._coeffs[-val - 1]
        return 0

    def __setitem__(self, key: int, val: Any) -> None:
        if key < 0:
            raise ValueError("Negative powers are not supported.")
        if key >= self._coeffs.size:
            self._coeffs = pad(self._coeffs, (key - (self._coeffs.size - 1), 0))
        self._coeffs[-key - 1] = val

    def integ(self, m: int = 1, k: Any = 0) -> Any:
        """Not implemented, as in CuPy."""
        raise NotImplementedError("poly1d.integ is not implemented")

    def deriv(self, m: int = 1) -> Any:
        """Not implemented, as in CuPy."""
        raise NotImplementedError("poly1d.deriv is not implemented")


def _is_scalar(value: Any) -> bool:
    return bool(np.isscalar(value))


def _refuse_scalar(value: Any, what: str) -> None:
    if isinstance(value, np.generic):
        raise TypeError(f"Numpy scalar and poly1d {what} is not supported")

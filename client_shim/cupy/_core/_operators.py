"""Python operators of `cupy.ndarray`, by way of the ufuncs."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

ufuncs: Any = None
"""The module of ufunc objects; set by `_core._ufuncs`, which needs the array class first."""

_PLAIN = frozenset(
    {int, float, complex, bool, np.float64, np.float32, np.int64, np.int32, np.bool_}
)
_NONE = object()


def _defers(x: Any, y: Any) -> bool:
    """Whether `y` wants to answer `x op y` itself: NEP 13, and array priority without it."""
    protocol = getattr(y, "__array_ufunc__", _NONE)
    if protocol is not _NONE:
        return protocol is None
    return bool(x.__array_priority__ < getattr(y, "__array_priority__", 0))


def _binary(ufunc: Any, x: Any, y: Any) -> Any:
    kind = type(y)
    if kind is type(x) or kind in _PLAIN or isinstance(y, (Operators, np.generic)):
        return ufunc(x, y)
    if _defers(x, y):
        return NotImplemented
    return ufunc._numpy(x, y)  # NumPy asks both sides; back here, foreign types are refused


def _compare(ufunc: Any, x: Any, y: Any) -> Any:
    if isinstance(y, np.ndarray) and y.ndim == 0:
        y = y.item()
    return _binary(ufunc, x, y)


def _incomparable(y: Any, *names: str) -> bool:
    """Whether `y` is an object that equals nothing but itself, such as None."""
    return y is None or all(getattr(type(y), n) is getattr(object, n) for n in names)


def _constant(x: Any, value: bool) -> Any:
    from cupool.client_shim.cupy._core import calls, core

    made = core.ndarray(x.shape, np.bool_)
    calls.call_into("fill", (made, value))
    return made


_CHEAP_POWERS = {
    (int, 2): "square",
    (float, 2.0): "square",
    (float, 0.5): "sqrt",
    (float, -1.0): "reciprocal",
}


class Operators:
    """Arithmetic, comparison and bit operators (https://docs.cupy.dev/ "ndarray")."""

    __slots__ = ()
    __array_priority__ = 100

    def __add__(self, y: Any) -> Any:
        return _binary(ufuncs.add, self, y)

    def __radd__(self, y: Any) -> Any:
        return ufuncs.add(y, self)

    def __iadd__(self, y: Any) -> Any:
        return ufuncs.add(self, y, self)

    def __sub__(self, y: Any) -> Any:
        return _binary(ufuncs.subtract, self, y)

    def __rsub__(self, y: Any) -> Any:
        return ufuncs.subtract(y, self)

    def __isub__(self, y: Any) -> Any:
        return ufuncs.subtract(self, y, self)

    def __mul__(self, y: Any) -> Any:
        return _binary(ufuncs.multiply, self, y)

    def __rmul__(self, y: Any) -> Any:
        return ufuncs.multiply(y, self)

    def __imul__(self, y: Any) -> Any:
        return ufuncs.multiply(self, y, self)

    def __truediv__(self, y: Any) -> Any:
        return _binary(ufuncs.true_divide, self, y)

    def __rtruediv__(self, y: Any) -> Any:
        return ufuncs.true_divide(y, self)

    def __itruediv__(self, y: Any) -> Any:
        return ufuncs.true_divide(self, y, self)

    __div__ = __truediv__
    __idiv__ = __itruediv__

    def __floordiv__(self, y: Any) -> Any:
        return _binary(ufuncs.floor_divide, self, y)

    def __rfloordiv__(self, y: Any) -> Any:
        return ufuncs.floor_divide(y, self)

    def __ifloordiv__(self, y: Any) -> Any:
        return ufuncs.floor_divide(self, y, self)

    def __mod__(self, y: Any) -> Any:
        return _binary(ufuncs.remainder, self, y)

    def __rmod__(self, y: Any) -> Any:
        return ufuncs.remainder(y, self)

    def __imod__(self, y: Any) -> Any:
        return ufuncs.remainder(self, y, self)

    def __divmod__(self, y: Any) -> Any:
        return _binary(ufuncs.divmod, self, y)

    def __rdivmod__(self, y: Any) -> Any:
        return ufuncs.divmod(y, self)

    def __pow__(self, y: Any, modulo: Any = None) -> Any:
        # CuPy computes these powers by cheaper functions, with their dtypes.
        cheap = _CHEAP_POWERS.get((type(y), y)) if type(y) in (int, float) else None
        if cheap is not None:
            own = self.dtype  # type: ignore[attr-defined]
            if own.kind in ("ifc" if type(y) is int else "fc"):
                return getattr(ufuncs, cheap)(self)
            return getattr(ufuncs, cheap)(self, dtype=np.result_type(own, y))
        return _binary(ufuncs.power, self, y)

    def __rpow__(self, y: Any, modulo: Any = None) -> Any:
        return ufuncs.power(y, self)

    def __ipow__(self, y: Any, modulo: Any = None) -> Any:
        return ufuncs.power(self, y, self)

    def __lshift__(self, y: Any) -> Any:
        return _binary(ufuncs.left_shift, self, y)

    def __rlshift__(self, y: Any) -> Any:
        return ufuncs.left_shift(y, self)

    def __ilshift__(self, y: Any) -> Any:
        return ufuncs.left_shift(self, y, self)

    def __rshift__(self, y: Any) -> Any:
        return _binary(ufuncs.right_shift, self, y)

    def __rrshift__(self, y: Any) -> Any:
        return ufuncs.right_shift(y, self)

    def __irshift__(self, y: Any) -> Any:
        return ufuncs.right_shift(self, y, self)

    def __and__(self, y: Any) -> Any:
        return _binary(ufuncs.bitwise_and, self, y)

    def __rand__(self, y: Any) -> Any:
        return ufuncs.bitwise_and(y, self)

    def __iand__(self, y: Any) -> Any:
        return ufuncs.bitwise_and(self, y, self)

    def __or__(self, y: Any) -> Any:
        return _binary(ufuncs.bitwise_or, self, y)

    def __ror__(self, y: Any) -> Any:
        return ufuncs.bitwise_or(y, self)

    def __ior__(self, y: Any) -> Any:
        return ufuncs.bitwise_or(self, y, self)

    def __xor__(self, y: Any) -> Any:
        return _binary(ufuncs.bitwise_xor, self, y)

    def __rxor__(self, y: Any) -> Any:
        return ufuncs.bitwise_xor(y, self)

    def __ixor__(self, y: Any) -> Any:
        return ufuncs.bitwise_xor(self, y, self)

    def __matmul__(self, y: Any) -> Any:
        return _binary(ufuncs.matmul, self, y)

    def __rmatmul__(self, y: Any) -> Any:
        return ufuncs.matmul(y, self)

    def __imatmul__(self, y: Any) -> Any:
        return ufuncs.matmul(self, y, out=self)

    def __neg__(self) -> Any:
        return ufuncs.negative(self)

    def __pos__(self) -> Any:
        if self.dtype.kind == "b":  # type: ignore[attr-defined]
            warnings.warn(
                "Applying '+' to a non-numerical array is ill-defined. "
                "Returning a copy, but in the future this will error.",
                DeprecationWarning,
                stacklevel=2,
            )
            return self.copy()  # type: ignore[attr-defined]
        return ufuncs.positive(self)

    def __abs__(self) -> Any:
        return ufuncs.absolute(self)

    def __invert__(self) -> Any:
        return ufuncs.invert(self)

    def __eq__(self, y: Any) -> Any:
        if type(y) not in _PLAIN and _incomparable(y, "__eq__") and not _defers(self, y):
            return _constant(self, False)
        return _compare(ufuncs.equal, self, y)

    def __ne__(self, y: Any) -> Any:
        if type(y) not in _PLAIN and _incomparable(y, "__eq__", "__ne__"):
            return NotImplemented if _defers(self, y) else _constant(self, True)
        return _compare(ufuncs.not_equal, self, y)

    def __lt__(self, y: Any) -> Any:
        return _compare(ufuncs.less, self, y)

    def __le__(self, y: Any) -> Any:
        return _compare(ufuncs.less_equal, self, y)

    def __gt__(self, y: Any) -> Any:
        return _compare(ufuncs.greater, self, y)

    def __ge__(self, y: Any) -> Any:
        return _compare(ufuncs.greater_equal, self, y)

    __hash__ = None  # type: ignore[assignment]

    # ---------------------------------------------------------------- NumPy's protocols

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
        """Answer a NumPy ufunc on this array by CuPy's of the same name (NEP 13)."""
        from cupool.client_shim.cupy._core import numpy_interop

        return numpy_interop.array_ufunc(ufunc, method, inputs, kwargs)

    def __array_function__(self, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
        """Answer a NumPy function on this array by CuPy's of the same name (NEP 18)."""
        from cupool.client_shim.cupy._core import numpy_interop

        return numpy_interop.array_function(func, types, args, kwargs)

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        raise TypeError(
            "Implicit conversion to a NumPy array is not allowed. "
            "Please use `.get()` to construct a NumPy array explicitly."
        )

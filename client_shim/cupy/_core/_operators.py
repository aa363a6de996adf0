"""Python operators of `cupy.ndarray`, by way of the ufuncs."""

from __future__ import annotations

from typing import Any

import numpy as np

ufuncs: Any = None
"""The module of ufunc objects; set by `_core._ufuncs`, which needs the array class first."""

_PLAIN = frozenset({int, float, complex, bool, np.float64, np.float32, np.int64, np.int32, np.bool_})


def _defers(x: Any, y: Any) -> bool:
    """Whether `y` wants to answer `x op y` itself (NumPy's rule for foreign types)."""
    if getattr(y, "__array_ufunc__", False) is None:
        return True
    if isinstance(y, type(x)) or isinstance(y, (np.ndarray, np.generic)):
        return False
    priority = getattr(y, "__array_priority__", None)
    return priority is not None and priority > x.__array_priority__


def _binary(ufunc: Any, x: Any, y: Any) -> Any:
    kind = type(y)
    if kind is type(x) or kind in _PLAIN:
        return ufunc(x, y)
    if _defers(x, y):
        return NotImplemented
    if hasattr(y, "__array_ufunc__") and not isinstance(y, Operators | np.generic | np.ndarray):
        return ufunc._numpy(x, y)  # NumPy asks both sides
    return ufunc(x, y)


def _reflected(ufunc: Any, x: Any, y: Any) -> Any:
    if type(y) not in _PLAIN and _defers(x, y):
        return NotImplemented
    return ufunc(y, x)


def _in_place(ufunc: Any, x: Any, y: Any) -> Any:
    if type(y) not in _PLAIN and type(y) is not type(x) and _defers(x, y):
        return NotImplemented
    return ufunc(x, y, out=x)


class Operators:
    """Arithmetic, comparison and bit operators (https://docs.cupy.dev/ "ndarray")."""

    __slots__ = ()
    __array_priority__ = 100

    def __add__(self, y: Any) -> Any:
        return _binary(ufuncs.add, self, y)

    def __radd__(self, y: Any) -> Any:
        return _reflected(ufuncs.add, self, y)

    def __iadd__(self, y: Any) -> Any:
        return _in_place(ufuncs.add, self, y)

    def __sub__(self, y: Any) -> Any:
        return _binary(ufuncs.subtract, self, y)

    def __rsub__(self, y: Any) -> Any:
        return _reflected(ufuncs.subtract, self, y)

    def __isub__(self, y: Any) -> Any:
        return _in_place(ufuncs.subtract, self, y)

    def __mul__(self, y: Any) -> Any:
        return _binary(ufuncs.multiply, self, y)

    def __rmul__(self, y: Any) -> Any:
        return _reflected(ufuncs.multiply, self, y)

    def __imul__(self, y: Any) -> Any:
        return _in_place(ufuncs.multiply, self, y)

    def __truediv__(self, y: Any) -> Any:
        return _binary(ufuncs.true_divide, self, y)

    def __rtruediv__(self, y: Any) -> Any:
        return _reflected(ufuncs.true_divide, self, y)

    def __itruediv__(self, y: Any) -> Any:
        return _in_place(ufuncs.true_divide, self, y)

    def __floordiv__(self, y: Any) -> Any:
        return _binary(ufuncs.floor_divide, self, y)

    def __rfloordiv__(self, y: Any) -> Any:
        return _reflected(ufuncs.floor_divide, self, y)

    def __ifloordiv__(self, y: Any) -> Any:
        return _in_place(ufuncs.floor_divide, self, y)

    def __mod__(self, y: Any) -> Any:
        return _binary(ufuncs.remainder, self, y)

    def __rmod__(self, y: Any) -> Any:
        return _reflected(ufuncs.remainder, self, y)

    def __imod__(self, y: Any) -> Any:
        return _in_place(ufuncs.remainder, self, y)

    def __divmod__(self, y: Any) -> Any:
        return _binary(ufuncs.divmod, self, y)

    def __rdivmod__(self, y: Any) -> Any:
        return _reflected(ufuncs.divmod, self, y)

    def __pow__(self, y: Any, modulo: Any = None) -> Any:
        if type(y) in (int, float):
            # CuPy computes these powers by cheaper functions, with their dtypes.
            kind = self.dtype.kind  # type: ignore[attr-defined]
            if y == 2:
                return ufuncs.square(self) if kind != "b" else _binary(ufuncs.power, self, y)
            if kind in "fc" and y == 0.5:
                return ufuncs.sqrt(self)
            if kind in "fc" and y == -1:
                return ufuncs.reciprocal(self)
        return _binary(ufuncs.power, self, y)

    def __rpow__(self, y: Any, modulo: Any = None) -> Any:
        return _reflected(ufuncs.power, self, y)

    def __ipow__(self, y: Any) -> Any:
        return _in_place(ufuncs.power, self, y)

    def __lshift__(self, y: Any) -> Any:
        return _binary(ufuncs.left_shift, self, y)

    def __rlshift__(self, y: Any) -> Any:
        return _reflected(ufuncs.left_shift, self, y)

    def __ilshift__(self, y: Any) -> Any:
        return _in_place(ufuncs.left_shift, self, y)

    def __rshift__(self, y: Any) -> Any:
        return _binary(ufuncs.right_shift, self, y)

    def __rrshift__(self, y: Any) -> Any:
        return _reflected(ufuncs.right_shift, self, y)

    def __irshift__(self, y: Any) -> Any:
        return _in_place(ufuncs.right_shift, self, y)

    def __and__(self, y: Any) -> Any:
        return _binary(ufuncs.bitwise_and, self, y)

    def __rand__(self, y: Any) -> Any:
        return _reflected(ufuncs.bitwise_and, self, y)

    def __iand__(self, y: Any) -> Any:
        return _in_place(ufuncs.bitwise_and, self, y)

    def __or__(self, y: Any) -> Any:
        return _binary(ufuncs.bitwise_or, self, y)

    def __ror__(self, y: Any) -> Any:
        return _reflected(ufuncs.bitwise_or, self, y)

    def __ior__(self, y: Any) -> Any:
        return _in_place(ufuncs.bitwise_or, self, y)

    def __xor__(self, y: Any) -> Any:
        return _binary(ufuncs.bitwise_xor, self, y)

    def __rxor__(self, y: Any) -> Any:
        return _reflected(ufuncs.bitwise_xor, self, y)

    def __ixor__(self, y: Any) -> Any:
        return _in_place(ufuncs.bitwise_xor, self, y)

    def __matmul__(self, y: Any) -> Any:
        if _defers(self, y):
            return NotImplemented
        return ufuncs.matmul(self, y)

    def __rmatmul__(self, y: Any) -> Any:
        return ufuncs.matmul(y, self)

    def __imatmul__(self, y: Any) -> Any:
        return ufuncs.matmul(self, y, out=self)

    def __neg__(self) -> Any:
        return ufuncs.negative(self)

    def __pos__(self) -> Any:
        return ufuncs.positive(self)

    def __abs__(self) -> Any:
        return ufuncs.absolute(self)

    def __invert__(self) -> Any:
        return ufuncs.invert(self)

    def __eq__(self, y: Any) -> Any:
        return _binary(ufuncs.equal, self, y)

    def __ne__(self, y: Any) -> Any:
        return _binary(ufuncs.not_equal, self, y)

    def __lt__(self, y: Any) -> Any:
        return _binary(ufuncs.less, self, y)

    def __le__(self, y: Any) -> Any:
        return _binary(ufuncs.less_equal, self, y)

    def __gt__(self, y: Any) -> Any:
        return _binary(ufuncs.greater, self, y)

    def __ge__(self, y: Any) -> Any:
        return _binary(ufuncs.greater_equal, self, y)

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

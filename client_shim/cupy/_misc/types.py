"""Types and dtypes, by NumPy's rules: nothing here needs the device."""

from __future__ import annotations

import functools
import inspect
from typing import Any, NoReturn

import numpy as np
from numpy.lib.npyio import DataSource
from numpy.rec import format_parser

from cupool.client_shim.cupy._core import core
from cupool.client_shim.cupy._core.foreign import from_cupy_like

__all__ = [
    "DataSource",
    "base_repr",
    "binary_repr",
    "can_cast",
    "cfloat",
    "common_type",
    "complex_",
    "disp",
    "find_common_type",
    "float_",
    "format_parser",
    "get_array_wrap",
    "isscalar",
    "issctype",
    "issubclass_",
    "issubsctype",
    "min_scalar_type",
    "ndim",
    "obj2sctype",
    "result_type",
    "safe_eval",
    "sctype2char",
    "set_string_function",
    "singlecomplex",
    "size",
]

# Names that NumPy 2 has given up.
float_ = np.float64
complex_ = cfloat = np.complex128
singlecomplex = np.complex64


def ndim(a: Any) -> int:
    """Return the number of axes of an array or of what NumPy would make one of."""
    found = getattr(a, "ndim", None)
    return np.ndim(a) if found is None else int(found)


def size(a: Any, axis: Any = None) -> int:
    """Return the number of elements, of the whole or along an axis."""
    if isinstance(a, core.ndarray):
        return int(a.size if axis is None else a.shape[axis])
    return int(np.size(a, axis))


def can_cast(from_: Any, to: Any, casting: str = "safe") -> bool:
    """Return whether a dtype, or that of an array, casts to another by a rule."""
    if isinstance(from_, core.ndarray):
        from_ = from_.dtype
    return np.can_cast(from_, to, casting)  # type: ignore[arg-type]


def common_type(*arrays: Any) -> Any:
    """Return the scalar type that holds all arrays as inexact numbers; float16 for none.

    Raises:
        TypeError: bool.
    """
    if not arrays:
        return np.float16
    kinds = []
    for a in arrays:
        if a.dtype.kind == "b":
            raise TypeError("can't get common type for non-numeric array")
        kinds.append(np.dtype(np.float64) if a.dtype.kind in "iu" else a.dtype)
    return functools.reduce(np.promote_types, kinds).type


def result_type(*arrays_and_dtypes: Any) -> np.dtype[Any]:
    """Return the dtype that NumPy's promotion gives for arrays, dtypes and scalars."""
    kinds = [a.dtype if isinstance(a, core.ndarray) else a for a in arrays_and_dtypes]
    return np.result_type(*kinds)


def min_scalar_type(a: Any) -> np.dtype[Any]:
    """Return the smallest dtype that holds a scalar; of an array, its own dtype.

    The value of a device array is not looked at, also where it is a scalar; nor are those of
    nested sequences of device arrays of one dtype.
    """
    found = _device_dtype(a)
    return np.min_scalar_type(a) if found is None else found


def _device_dtype(a: Any) -> np.dtype[Any] | None:
    if isinstance(a, (list, tuple)):
        found = {_device_dtype(x) for x in a}
        return found.pop() if len(found) == 1 else None
    array = from_cupy_like(a)
    return None if array is None else array.dtype


def isscalar(element: Any) -> bool:
    """Return whether `element` is a scalar; a 0-d device array is none."""
    return bool(np.isscalar(element))


isscalar.__signature__ = inspect.signature(np.isscalar)  # type: ignore[attr-defined]


def binary_repr(num: int, width: int | None = None) -> str:
    """Return an int in binary digits."""
    return np.binary_repr(num, width)


def base_repr(number: int, base: int = 2, padding: int = 0) -> str:
    """Return an int in the digits of a base."""
    return np.base_repr(number, base, padding)


# Without annotations, as NumPy's have none: what compares signatures finds them equal.
binary_repr.__signature__ = inspect.signature(np.binary_repr)  # type: ignore[attr-defined]
base_repr.__signature__ = inspect.signature(np.base_repr)  # type: ignore[attr-defined]


def issubclass_(arg1: Any, arg2: Any) -> bool:
    """Return `issubclass(arg1, arg2)`, and False where that raises."""
    try:
        return issubclass(arg1, arg2)
    except TypeError:
        return False


def obj2sctype(rep: Any, default: Any = None) -> Any:
    """Return the scalar type of a dtype or array, `default` for anything else."""
    if isinstance(rep, type) and issubclass(rep, np.generic):
        return rep
    if isinstance(rep, np.ndarray):
        return rep.dtype.type
    try:
        return np.dtype(rep).type
    except (TypeError, ValueError, AttributeError):
        return default


def issubsctype(arg1: Any, arg2: Any) -> bool:
    """Return whether one scalar type is a kind of another."""
    return issubclass(obj2sctype(arg1), obj2sctype(arg2))


def sctype2char(sctype: Any) -> str:
    """Return the character of a scalar type.

    Raises:
        ValueError: not a type.
    """
    found = obj2sctype(sctype)
    if found is None:
        raise ValueError("unrecognized type")
    return str(np.dtype(found).char)


def issctype(rep: Any) -> bool:
    """Return whether `rep` stands for a scalar type other than object."""
    if not isinstance(rep, (type, np.dtype)):
        return False
    found = obj2sctype(rep)
    return bool(found and found != np.object_)


def _removed(instead: str) -> NoReturn:
    raise RuntimeError(f"This function has been removed in NumPy v2.\nUse {instead} instead.\n")


def find_common_type(*args: Any, **kwds: Any) -> NoReturn:
    """Gone with NumPy 2: raises RuntimeError."""
    _removed("`promote_types` or `result_type`")


def set_string_function(*args: Any, **kwds: Any) -> NoReturn:
    """Gone with NumPy 2: raises RuntimeError."""
    _removed("`np.set_printoptions`")


def get_array_wrap(*args: Any, **kwds: Any) -> NoReturn:
    """Gone with NumPy 2: raises RuntimeError."""
    _removed("<no replacement>")


def disp(*args: Any, **kwds: Any) -> NoReturn:
    """Gone with NumPy 2: raises RuntimeError."""
    _removed("your own print function")


def safe_eval(*args: Any, **kwds: Any) -> NoReturn:
    """Gone with NumPy 2: raises RuntimeError."""
    _removed("`ast.literal_eval`")

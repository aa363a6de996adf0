"""Which dtypes exist on the device, and NumPy-to-CuPy rules about them."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np

from cupool.proto.bfloat16 import is_bfloat16, is_foreign

DType: TypeAlias = "np.dtype[Any]"

NUMERIC_CHARS = frozenset("?bBhHiIlLqQefdFD")
_ALLOWED_KINDS = frozenset("biufcmMV")


def get_dtype(spec: Any) -> DType:
    """Return the native dtype of a specification (`None` = float64, as NumPy).

    Raises:
        TypeError: not a dtype, or fields as a list or dict: CuPy looks a specification up, which
            must have a hash. dask asks by that error whether there are structured arrays.
        ValueError: a dtype that CuPy does not have.
    """
    dtype: DType = spec
    if not isinstance(spec, np.dtype):
        hash(spec)
        dtype = np.dtype(spec)
    if dtype.char in NUMERIC_CHARS and dtype.isnative:
        return dtype
    return check_supported(dtype)


def check_supported(dtype: DType) -> DType:
    """Return the dtype, or raise ValueError as CuPy does; foreign byte order is refused too.

    CuPy has bool, integers, float16/32/64, complex64/128 and `ml_dtypes.bfloat16`; structured
    and datetime types only as far as storage goes.
    """
    if not dtype.isnative:
        raise ValueError(f"Unsupported dtype {dtype} with big-endian byte-order")
    if dtype.subdtype is not None or (dtype.kind == "V" and not dtype.itemsize):
        raise ValueError(f"Unsupported dtype {dtype}")
    if dtype.char in NUMERIC_CHARS:
        return dtype
    if is_foreign(dtype) and not is_bfloat16(dtype):
        raise ValueError(f"Unsupported dtype {dtype}")
    if dtype.kind not in _ALLOWED_KINDS or dtype.hasobject or dtype.char in "gG":
        raise ValueError(f"Unsupported dtype {dtype}")
    return dtype


def accumulator(dtype: DType) -> DType:
    """Return what sums and products of small integers are computed in (as NumPy)."""
    if dtype.kind in "bi" and dtype.itemsize < 8:
        return np.dtype(np.int64)
    if dtype.kind == "u" and dtype.itemsize < 8:
        return np.dtype(np.uint64)
    return dtype


def to_inexact(dtype: DType) -> DType:
    """Return float64 for bool and integers, else the dtype itself."""
    return np.dtype(np.float64) if dtype.kind in "biu" else dtype


def real_of(dtype: DType) -> DType:
    """Return the real dtype of a complex one (complex64 -> float32), else the dtype itself."""
    if dtype.kind == "c":
        return np.dtype(np.float32 if dtype.itemsize == 8 else np.float64)
    return dtype


def complex_of(dtype: DType) -> DType:
    """Return the complex dtype of a floating one; complex128 for integers."""
    if dtype.kind == "c":
        return dtype
    return np.dtype(np.complex64 if dtype.char in "ef" else np.complex128)


def check_comparable(dtype: DType) -> None:
    """Check that structured elements can be compared on the device.

    Raises:
        ValueError: a field, at any depth, is an array.
    """
    for kind, *_ in (dtype.fields or {}).values():
        if kind.subdtype is not None:
            raise ValueError(f"{dtype}: CuPy does not support comparing subarray dtypes")
        check_comparable(kind)


def check_sortable(dtype: DType) -> None:
    """Check that elements can be sorted on the device.

    Raises:
        NotImplementedError: they are no numbers of NumPy's.
    """
    if dtype.char not in NUMERIC_CHARS:
        raise NotImplementedError(f"Sorting arrays with dtype '{dtype}' is not supported")

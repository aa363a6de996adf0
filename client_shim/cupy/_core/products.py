"""`matmul`, `dot` and their kin: shapes and dtypes of products of arrays."""

from __future__ import annotations

from typing import Any

import numpy as np

from cupool.client_shim.cupy._core import calls, core
from cupool.client_shim.cupy._core._documentation import describe
from cupool.client_shim.cupy._core._dtype import get_dtype
from cupool.client_shim.cupy._core._kernel import broadcast_shapes
from cupool.client_shim.cupy._core.views import require

ndarray = core.ndarray


def matmul_shape(a: tuple[int, ...], b: tuple[int, ...]) -> tuple[int, ...]:
    """Return the shape of `a @ b`.

    Raises:
        ValueError: 0-d operands, or inner lengths that differ.
    """
    if not a or not b:
        raise ValueError(
            "matmul: Input operand does not have enough dimensions (has 0, gufunc core with"
            " signature (n?,k),(k,m?)->(n?,m?) requires 1)"
        )
    left = a if len(a) > 1 else (1, *a)
    right = b if len(b) > 1 else (*b, 1)
    if left[-1] != right[-2]:
        raise ValueError(
            "matmul: Input operand 1 has a mismatch in its core dimension 0, with gufunc"
            f" signature (n?,k),(k,m?)->(n?,m?) (size {right[-2]} is different from {left[-1]})"
        )
    batch = broadcast_shapes([left[:-2], right[:-2]])
    rows = left[-2:-1] if len(a) > 1 else ()
    columns = right[-1:] if len(b) > 1 else ()
    return (*batch, *rows, *columns)


class _Matmul:
    """`cupy.matmul`, a generalized ufunc: (n?,k),(k,m?)->(n?,m?)."""

    __name__ = "matmul"
    name = "cupy_matmul"
    nin, nout, nargs = 2, 1, 3
    __doc__ = describe("cupy.matmul", "Matrix product of two arrays, with broadcasting.")
    _numpy = np.matmul

    def __repr__(self) -> str:
        return "<ufunc 'cupy_matmul'>"

    def __call__(
        self,
        a: Any,
        b: Any,
        out: Any = None,
        *,
        dtype: Any = None,
        casting: str = "same_kind",
        axes: Any = None,
        order: Any = None,
    ) -> Any:
        for operand in (a, b):
            if not isinstance(operand, ndarray) and not hasattr(operand, "__cupy_get_ndarray__"):
                raise TypeError(f"Unsupported type {type(operand)}")
        a, b = require(a), require(b)
        if axes is not None:
            return _along_axes(a, b, axes, dtype)
        result_dtype = np.result_type(a.dtype, b.dtype) if dtype is None else get_dtype(dtype)
        if isinstance(out, tuple):
            (out,) = out
        if out is not None and not np.can_cast(result_dtype, out.dtype, casting):
            raise TypeError(
                f"output (typecode '{result_dtype.char}') could not be coerced to provided output"
                f" parameter (typecode '{out.dtype.char}') according to the casting rule"
                f' "{casting}"'
            )
        shape = matmul_shape(a.shape, b.shape)
        kwargs = None if dtype is None else {"dtype": result_dtype}
        result = calls.call_one("matmul", (a, b), kwargs, shape, result_dtype)
        return calls.with_out(result, out)


def _along_axes(a: ndarray, b: ndarray, axes: Any, dtype: Any) -> ndarray:
    """Move the named core axes to the end, multiply, and move the result's back."""
    from cupool.client_shim.cupy._manipulation.transpose import moveaxis

    first, second, third = axes
    a = moveaxis(a, first, tuple(range(-len(first), 0)))
    b = moveaxis(b, second, tuple(range(-len(second), 0)))
    product: ndarray = matmul(a, b, dtype=dtype)
    return moveaxis(product, tuple(range(-len(third), 0)), third)


matmul = _Matmul()


def dot(a: Any, b: Any, out: Any = None) -> ndarray:
    """Return the dot product: last axis of `a` with the second last of `b`.

    Raises:
        ValueError: the lengths differ.
    """
    if not isinstance(a, ndarray) or not isinstance(b, ndarray):
        if isinstance(a, ndarray) or isinstance(b, ndarray):
            from cupool.client_shim.cupy._core import _operators

            return calls.with_out(_operators.ufuncs.multiply(a, b), out)
        require(a)
    a, b = require(a), require(b)
    if a.ndim == 0 or b.ndim == 0:
        from cupool.client_shim.cupy._core import _operators

        return calls.with_out(_operators.ufuncs.multiply(a, b), out)
    inner = b.shape[-2] if b.ndim > 1 else b.shape[0]
    if a.shape[-1] != inner:
        raise ValueError("Axis dimension mismatch")
    tail = (*b.shape[:-2], b.shape[-1]) if b.ndim > 1 else ()
    shape = (*a.shape[:-1], *tail)
    dtype = np.result_type(a.dtype, b.dtype)
    return calls.with_out(calls.call_one("dot", (a, b), None, shape, dtype), out)

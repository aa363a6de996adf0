"""`matmul` and `dot`: shapes and dtypes of products of arrays."""

from __future__ import annotations

from typing import Any

import numpy as np

from cupool.client_shim.cupy._core import calls, core
from cupool.client_shim.cupy._core._documentation import describe
from cupool.client_shim.cupy._core._dtype import get_dtype
from cupool.client_shim.cupy._core._kernel import broadcast_shapes
from cupool.client_shim.cupy._core.routines_indexing import normalize_axis
from cupool.client_shim.cupy._core.views import require

__all__ = ["dot", "matmul", "matmul_shape"]
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
    signature = "(n?,k),(k,m?)->(n?,m?)"
    __doc__ = describe("cupy.matmul", "Matrix product of two arrays, with broadcasting.")
    _numpy = np.matmul

    def __repr__(self) -> str:
        return "<ufunc 'cupy_matmul'>"

    def __reduce__(self) -> str:
        return self.__name__

    def __call__(
        self,
        x1: Any,
        x2: Any,
        /,
        out: Any = None,
        *,
        axes: Any = None,
        axis: Any = None,
        keepdims: bool = False,
        casting: Any = "same_kind",
        dtype: Any = None,
        signature: Any = None,
        order: str | None = "K",
    ) -> Any:
        """Multiply.

        Args:
            out: array to write into.
            axes: positions of the core axes of both operands and of the result.
            casting: what conversion to `dtype` and `out` is allowed.
            dtype: of the computation and the result.
            order: "C", "F", "A" or "K" layout of the result.

        Raises:
            TypeError: not device arrays, a conversion that `casting` forbids, `signature`.
            ValueError: shapes that do not fit, axes that cannot be used here.
        """
        self._refuse(axis, keepdims, signature)
        for operand in (x1, x2):
            if not isinstance(operand, ndarray) and not hasattr(operand, "__cupy_get_ndarray__"):
                raise TypeError(f"Unsupported type {type(operand)}")
        a, b = require(x1), require(x2)
        if isinstance(out, tuple):
            (out,) = out
        if out is not None and not isinstance(out, ndarray):
            raise TypeError("`out` must be a tuple or `cupy.ndarray`")
        made = _result_dtype(a, b, dtype, casting)
        if out is not None and not np.can_cast(made, out.dtype, casting):
            raise _cast_error(made, out.dtype, casting)
        if axes is not None:
            return _along_axes(a, b, out, axes, made)
        result = _multiply(a, b, made, _layout(a, b, order))
        return _into(result, out)

    def _refuse(self, axis: Any, keepdims: bool, signature: Any) -> None:
        if axis is not None:
            raise ValueError(
                "`axis` can be used only, if there is a single shared core dimension, but 3 are"
                f" present in the signature {self.signature}"
            )
        if keepdims:
            raise ValueError("`keepdims` can only be used for scalar outputs")
        if signature is not None:
            raise TypeError(
                "No loop matching the specified signature and casting was found for ufunc matmul"
            )


def _result_dtype(a: ndarray, b: ndarray, dtype: Any, casting: Any) -> np.dtype[Any]:
    if dtype is None:
        return np.result_type(a.dtype, b.dtype)
    made = get_dtype(dtype)
    for operand in (a, b):
        if not np.can_cast(operand.dtype, made, casting):
            raise _cast_error(operand.dtype, made, casting)
    return made


def _cast_error(source: np.dtype[Any], target: np.dtype[Any], casting: str) -> TypeError:
    return TypeError(
        f"output (typecode '{source.char}') could not be coerced to provided output parameter"
        f" (typecode '{target.char}') according to the casting rule \"{casting}\""
    )


def _layout(a: ndarray, b: ndarray, order: str | None) -> str:
    char = core.order_char(order or "K", allowed="CFAK")
    if char == "A":
        fortran = all(x.flags.f_contiguous and not x.flags.c_contiguous for x in (a, b))
        return "F" if fortran else "C"
    return "F" if char == "F" else "C"


def _multiply(a: ndarray, b: ndarray, dtype: np.dtype[Any], order: str = "C") -> ndarray:
    shape = matmul_shape(a.shape, b.shape)
    kwargs = None if dtype == np.result_type(a.dtype, b.dtype) else {"dtype": dtype}
    return calls.call_one("matmul", (a, b), kwargs, shape, dtype, order)


def _into(result: ndarray, out: ndarray | None) -> ndarray:
    if out is not None and out.shape != result.shape:
        raise ValueError(f"Output operand 0 has invalid shape {out.shape} expected {result.shape}")
    return calls.with_out(result, out)


def _along_axes(
    a: ndarray, b: ndarray, out: ndarray | None, axes: Any, dtype: np.dtype[Any]
) -> ndarray:
    """Move the named core axes to the end, multiply, and move the result's back."""
    if not isinstance(axes, list):
        raise ValueError("`axes` has to be of type list")
    if len(axes) != 3:
        raise ValueError(
            "The number of `axes` entries is not equal to the number of input and output"
            " arguments. Outputs may only be omitted if they are all scalar."
        )
    first, second, third = ((x,) if isinstance(x, int) else tuple(x) for x in axes)
    product = _multiply(_cores_last(a, first, 0), _cores_last(b, second, 1), dtype)
    core_axes = 2 - (a.ndim == 1) - (b.ndim == 1)
    order = _cores_last_order(product.ndim, third, core_axes, 2)
    back = sorted(range(product.ndim), key=order.__getitem__)
    return _into(core.view_of(product, product._shadow.transpose(back)), out)


def _cores_last(array: ndarray, axes: tuple[int, ...], index: int) -> ndarray:
    order = _cores_last_order(array.ndim, axes, min(array.ndim, 2), index)
    return core.view_of(array, array._shadow.transpose(order))


def _cores_last_order(ndim: int, axes: tuple[int, ...], count: int, index: int) -> list[int]:
    if len(axes) != count:
        raise np.exceptions.AxisError(
            f"Number of axes passed for argument {index} does not match the number of core"
            " dimensions."
        )
    named = [normalize_axis(x, ndim) for x in axes]
    if len(set(named)) != len(named):
        raise ValueError("duplicate value in 'axes'")
    return [i for i in range(ndim) if i not in named] + named


matmul = _Matmul()


def dot(a: Any, b: Any, out: Any = None) -> ndarray:
    """Return the dot product: last axis of `a` with the second last of `b`.

    Args:
        out: C-contiguous array of the result's dtype to write into.

    Raises:
        ValueError: the lengths differ, `out` does not fit.
        TypeError: neither is a device array.
    """
    from cupool.client_shim.cupy._core import _operators

    multiply = _operators.ufuncs.multiply
    if not isinstance(a, ndarray) or not isinstance(b, ndarray):
        if isinstance(a, ndarray) or isinstance(b, ndarray):
            return calls.with_out(multiply(a, b), out)
    a, b = require(a), require(b)
    dtype = np.result_type(a.dtype, b.dtype)
    if out is not None:
        if not isinstance(out, ndarray):
            raise TypeError(f"return arrays must be of ArrayType, not {type(out)}")
        if out.dtype != dtype:
            raise ValueError("Not supported dtype combination.")
        if not out.flags.c_contiguous:
            raise ValueError("Output array must be C-contiguous")
    if a.ndim == 0 or b.ndim == 0:
        return calls.with_out(multiply(a, b), out)
    inner = b.shape[-2] if b.ndim > 1 else b.shape[0]
    if a.shape[-1] != inner:
        raise ValueError("Axis dimension mismatch")
    tail = (*b.shape[:-2], b.shape[-1]) if b.ndim > 1 else ()
    shape = (*a.shape[:-1], *tail)
    if out is not None and out.shape != shape:
        raise ValueError("Output array has an invalid size")
    return calls.with_out(calls.call_one("dot", (a, b), None, shape, dtype), out)

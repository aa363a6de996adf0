"""Filters by a kernel of the user's: it is called for each window, or each line, as a function.

The windows are gathered into an array first, so the borders are those of `cupy.pad`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from cupool.client_shim.cupy._core import core
from cupool.client_shim.cupy._core._elementwise_kernel import ElementwiseKernel
from cupool.client_shim.cupy._core._reduction_kernel import ReductionKernel
from cupool.client_shim.cupy._core.raw import RawKernel
from cupool.client_shim.cupy._creation.basic import empty, zeros_like
from cupool.client_shim.cupy._creation.from_data import asarray, ascontiguousarray
from cupool.client_shim.cupy._misc.memoization import memoize
from cupool.client_shim.cupy._padding.pad import pad
from cupool.client_shim.cupy.lib.stride_tricks import sliding_window_view
from cupool.client_shim.cupyx.scipy.ndimage import _util
from cupool.proto.kernels import Parameter, c_type

ndarray = core.ndarray

_PAD_MODES = {
    "reflect": "symmetric",
    "grid-mirror": "symmetric",
    "grid-reflect": "symmetric",
    "mirror": "reflect",
    "nearest": "edge",
    "wrap": "wrap",
    "grid-wrap": "wrap",
    "constant": "constant",
}
_CAST = """
template <typename T> __device__ T ndimage_cast(double x) {
  return (T)(-1) > (T)0 && x < 0 ? (T)(-(T)(-x)) : (T)x;
}
template <> __device__ bool ndimage_cast<bool>(double x) { return x != 0; }
"""
"""SciPy casts negative numbers to unsigned types modulo their range."""


def _padded(array: ndarray, widths: Any, modes: Any, cval: Any) -> ndarray:
    for axis, (width, mode) in enumerate(zip(widths, modes, strict=True)):
        if width == (0, 0):
            continue
        every = [(0, 0)] * array.ndim
        every[axis] = width
        options = {"constant_values": cval} if mode == "constant" else {}
        # A line of one element has nothing to be mirrored in.
        alone = mode == "mirror" and array.shape[axis] == 1
        array = pad(array, every, "edge" if alone else _PAD_MODES[mode], **options)
    return array


def _result(input: ndarray, output: Any) -> ndarray:
    dtype = _util.output_dtype(input, output, input.shape, input.dtype.kind == "c")
    return output if isinstance(output, ndarray) else empty(input.shape, dtype)


# ------------------------------------------------------------------- windows


def generic_filter(
    input: Any,
    function: Any,
    size: Any = None,
    footprint: Any = None,
    output: Any = None,
    mode: Any = "reflect",
    cval: Any = 0.0,
    origin: Any = 0,
    *,
    axes: Any = None,
) -> ndarray:
    """Filter an image with a kernel that reduces each window to a number.

    Args:
        input: the image.
        function: a `ReductionKernel` of one input and one output, or a `RawKernel`
            ``void f(double* window, int size, double* result)`` that uses no thread index.
        size, footprint: lengths of the window, or a bool array: which of its elements are passed.
        output, mode, cval, origin, axes: as of the other filters.

    Raises:
        TypeError: another kind of function.
        RuntimeError, ValueError: no window, or one that does not fit the axes.
    """
    _util.check_array(input)
    axes = _util.check_axes(axes, input.ndim)
    shape, taken = _footprint(size, footprint, len(axes))
    _check_function(function)
    _util.check_modes(mode, len(axes))
    _util.check_origins(origin, shape)
    modes = _util.sequence(mode, len(axes), "mode", str)
    origins = _util.sequence(origin, len(axes), "origin", int)
    full_shape, widths, full_modes = (
        [1] * input.ndim,
        [(0, 0)] * input.ndim,
        ["nearest"] * input.ndim,
    )
    for axis, length, shift, one in zip(axes, shape, origins, modes, strict=True):
        before = length // 2 + shift
        full_shape[axis], widths[axis] = length, (before, length - 1 - before)
        full_modes[axis] = one
    if input.size == 0:
        return zeros_like(input)
    result = _result(input, output)
    order = [axis for _, axis in sorted(zip(axes, range(len(axes)), strict=True))]
    taken = np.flatnonzero(taken.transpose(order))
    windows = sliding_window_view(_padded(input, widths, full_modes, cval), tuple(full_shape))
    flat = windows.reshape(input.size, -1)
    if taken.size != flat.shape[1]:
        flat = flat[:, asarray(taken)]
    kernel = _window_kernel(function, input.dtype, result.dtype, taken.size)
    if isinstance(function, RawKernel):
        flat = flat.astype(np.float64)
    made = kernel(ascontiguousarray(flat), size=input.size)
    result[...] = made.reshape(input.shape)
    return result


def _footprint(size: Any, footprint: Any, ndim: int) -> tuple[tuple[int, ...], Any]:
    """Return the window's shape, and which elements of it are taken, on this machine."""
    if footprint is None:
        if size is None:
            raise RuntimeError("no footprint or filter size provided")
        shape = tuple(_util.sequence(size, ndim, "size", int))
        return shape, np.ones(shape, bool)
    found = footprint.get() if isinstance(footprint, ndarray) else np.asarray(footprint)
    found = found.astype(bool)
    if not found.any():
        raise ValueError("all-zero footprint is not supported")
    if found.ndim != ndim:
        raise RuntimeError("footprint array has incorrect shape")
    return found.shape, found


def _check_function(function: Any) -> None:
    if isinstance(function, ReductionKernel):
        if function.nin != 1 or function.nout != 1:
            raise TypeError("ReductionKernel must have 1 input and output")
    elif isinstance(function, ElementwiseKernel):
        raise TypeError("only ReductionKernel allowed (not ElementwiseKernel)")
    elif not isinstance(function, RawKernel):
        raise TypeError("bad function type")


@memoize()
def _window_kernel(function: Any, source: Any, target: Any, size: int) -> ElementwiseKernel:
    """Return the kernel that calls the user's for row `i` of the windows."""
    if isinstance(function, RawKernel):
        operation = f"""double found = 0;
            user_kernel::{function.name}(&windows[(ptrdiff_t)i * {size}], {size}, &found);
            result[i] = ndimage_cast<{c_type(target)}>(found);"""
        return ElementwiseKernel(
            "raw _non_const float64 windows",
            f"raw {target.name} result",
            operation,
            f"generic_{size}_{function.name}",
            preamble=f"{_CAST}\n{_as_function(function)}",
            options=function.options,
        )
    made = _output_type(function, source, target)
    operation = f"""{made} found;
        const ptrdiff_t length[] = {{{size}}}, one[] = {{1}};
        CArray<{c_type(source)}, 1, true, true> window(&windows[(ptrdiff_t)i * {size}], length);
        CArray<{made}, 1, true, true> results(&found, one);
        user_kernel::{function.name}(window, results);
        result[i] = {_converted("found", made, target)};"""
    return ElementwiseKernel(
        f"raw _non_const {source.name} windows",
        f"raw {target.name} result",
        operation,
        f"generic_{size}_{function.name}",
        preamble=f"{_CAST}\n{_reduction_function(function, source, target, size)}",
        options=function.options,
    )


def _converted(value: str, made: str, target: Any) -> str:
    kind = c_type(target)
    return value if "complex" in made or "complex" in kind else f"ndimage_cast<{kind}>({value})"


def _as_function(kernel: RawKernel) -> str:
    code = (kernel.code or "").replace("__global__", "__device__")
    return f"namespace user_kernel {{\n{code}\n}}"


def _type_of(parameter: Parameter, dtype: Any) -> str:
    return c_type(dtype if parameter.dtype is None else parameter.dtype)


def _output_type(kernel: ReductionKernel, source: Any, target: Any) -> str:
    given, made = kernel.in_params[0], kernel.out_params[0]
    same = made.dtype is None and made.letter == given.letter
    return _type_of(made, source if same else target)


def _reduction_function(kernel: ReductionKernel, source: Any, target: Any, size: int) -> str:
    """Return a device function that reduces one window as the user's kernel would."""
    given, made = kernel.in_params[0], kernel.out_params[0]
    in_type, out_type = _type_of(given, source), _output_type(kernel, source, target)
    letters = {}
    if made.dtype is None:
        letters[made.letter] = out_type
    if given.dtype is None:
        letters[given.letter] = in_type
    typedefs = "\n".join(f"typedef {kind} {letter};" for letter, kind in letters.items())
    reduce_type = kernel.reduce_type or out_type
    return f"""namespace user_kernel {{
{typedefs}
{kernel.preamble}
#define REDUCE(a, b) ({kernel.reduce_expr})
#define POST_MAP(a) ({kernel.post_map_expr})
__device__ void {kernel.name}(const CArray<{in_type}, 1, true, true>& _raw_{given.name},
                              CArray<{out_type}, 1, true, true>& _raw_{made.name}) {{
  const ptrdiff_t _shape[] = {{{size}}};
  CIndexer<1> _in_ind(_shape);
  typedef {reduce_type} _type_reduce;
  _type_reduce _s = _type_reduce({kernel.identity});
  for (int _j = 0; _j < {size}; ++_j) {{
    _in_ind.set(_j);
    const {in_type}& {given.name} = _raw_{given.name}[_j];
    _type_reduce _a = static_cast<_type_reduce>({kernel.map_expr});
    _s = REDUCE(_s, _a);
  }}
  {out_type}& {made.name} = _raw_{made.name}[0];
  POST_MAP(_s);
}}
#undef REDUCE
#undef POST_MAP
}}"""


# ------------------------------------------------------------------- lines


def generic_filter1d(
    input: Any,
    function: Any,
    filter_size: int,
    axis: int = -1,
    output: Any = None,
    mode: Any = "reflect",
    cval: Any = 0.0,
    origin: Any = 0,
) -> ndarray:
    """Filter the lines along an axis with a kernel that takes a whole line.

    Args:
        input: real array.
        function: a `RawKernel` that uses no thread index: ``void f(double* input, ptrdiff_t
            input_length, double* output, ptrdiff_t output_length)``; the input line is longer by
            ``filter_size - 1``.
        filter_size: length of the filter.
        axis, output, mode, cval, origin: as of the other filters.

    Raises:
        TypeError: complex input, or another kind of function.
        RuntimeError, ValueError, AxisError: size, origin or axis out of range.
    """
    _util.check_array(input)
    if input.dtype.kind == "c":
        raise TypeError("Complex type not supported")
    if not isinstance(function, RawKernel):
        raise TypeError("bad function type")
    if filter_size < 1:
        raise RuntimeError("invalid filter size")
    axis = int(np.lib.array_utils.normalize_axis_index(axis, input.ndim))
    _util.check_origins(origin, (filter_size,))
    _util.check_modes(mode, 1)
    result = _result(input, output)
    if input.size == 0:
        return result
    length = input.shape[axis]
    before = filter_size // 2 + origin
    widths = [(0, 0)] * input.ndim
    widths[axis] = (before, filter_size - 1 - before)
    order = [a for a in range(input.ndim) if a != axis] + [axis]
    lines = _padded(input.astype(np.float64), widths, [mode] * input.ndim, cval).transpose(order)
    kernel = _line_kernel(function, result.dtype, lines.shape[-1], length)
    count = input.size // length
    lines = ascontiguousarray(lines)
    made = empty((count, length), result.dtype)
    kernel(lines, empty((count, length)), made, size=count)
    target = result.transpose(order)
    target[...] = made.reshape(target.shape)
    return result


@memoize()
def _line_kernel(
    function: RawKernel, target: Any, in_length: int, out_length: int
) -> ElementwiseKernel:
    """Return the kernel that calls the user's for line `i`."""
    operation = f"""double* line = &made[(ptrdiff_t)i * {out_length}];
        user_kernel::{function.name}(&lines[(ptrdiff_t)i * {in_length}], {in_length}, line,
                                     {out_length});
        for (ptrdiff_t j = 0; j < {out_length}; ++j)
          result[(ptrdiff_t)i * {out_length} + j] = ndimage_cast<{c_type(target)}>(line[j]);"""
    return ElementwiseKernel(
        "raw _non_const float64 lines, raw _non_const float64 made",
        f"raw {target.name} result",
        operation,
        f"generic1d_{function.name}",
        preamble=f"{_CAST}\n{_as_function(function)}",
        options=function.options,
        no_return=True,
    )

"""Functions that kernels call as `cupyx.jit.NAME`, and the Python functions they may use."""

from __future__ import annotations

import warnings
from functools import reduce
from typing import TYPE_CHECKING, Any

from cupool.client_shim.cupyx.jit import _cuda_types as types
from cupool.client_shim.cupyx.jit import _routines
from cupool.client_shim.cupyx.jit._expressions import index_into
from cupool.client_shim.cupyx.jit._internal_types import BuiltinFunc, Constant, Data, Expr, Range

if TYPE_CHECKING:
    from cupool.client_shim.cupyx.jit._compile import Environment

_FULL_MASK = 0xFFFFFFFF
_WARP_SIZE = 32


class RangeFunc(BuiltinFunc):
    """Count in a for-loop: `range(stop)`, `range(start, stop[, step])`.

    `unroll`: True, False or how many iterations, for `#pragma unroll`; all numbers must then be
    constants. None leaves it to the compiler.
    """

    def call(self, env: Environment, *args: Expr, unroll: Expr | None = None, **_: Expr) -> Range:
        if not 1 <= len(args) <= 3:
            bound = "least 1" if not args else "most 3"
            raise TypeError(f"range expected at {bound} argument, got {len(args)}")
        given = (Constant(0), *args) if len(args) == 1 else args
        start, stop, step = (*given, Constant(1))[:3]
        pragma = None if unroll is None else _unroll(unroll, (start, stop, step))
        ascending: bool | None = None
        if isinstance(step, Constant):
            ascending = step.obj >= 0
        first, last, stride = (Data.init(x, env) for x in (start, stop, step))
        for value in (first, last, stride):
            if not isinstance(value.ctype, types.Scalar) or value.ctype.dtype.kind not in "iu":
                raise TypeError("range supports only for integer type.")
        assert isinstance(stride.ctype, types.Scalar)
        if stride.ctype.dtype.kind == "u":
            ascending = True
        ctype = types.int64 if env.mode == "numpy" else last.ctype
        return Range(first, last, stride, ctype, ascending, pragma)


def _unroll(unroll: Expr, numbers: tuple[Expr, ...]) -> int | bool:
    if not isinstance(unroll, Constant) or not all(isinstance(n, Constant) for n in numbers):
        raise TypeError("loop unrolling requires constant start, stop, step and unroll value")
    value = unroll.obj
    if not isinstance(value, int):
        raise TypeError(f"unroll value expected to be of type int, got {type(value).__name__}")
    if value is True:
        return True
    if value is not False and not 0 < value < 1 << 31:
        warnings.warn(
            "loop unrolling is ignored as the unroll value is non-positive or greater than INT_MAX",
            stacklevel=2,
        )
    return 1 if value is False else value


class LenFunc(BuiltinFunc):
    """Length of an array's first axis."""

    def call(self, env: Environment, *args: Expr, **kwargs: Expr) -> Expr:
        if len(args) != 1:
            raise TypeError(f"len() expects only 1 argument, got {len(args)}")
        if kwargs:
            raise TypeError("keyword arguments are not supported")
        (value,) = args
        if isinstance(value, Constant):
            return Constant(len(value.obj))
        if not isinstance(value, Data) or not isinstance(value.ctype, types.CArray):
            raise TypeError("len() supports only array type")
        if not value.ctype.ndim:
            raise TypeError("len() of unsized array")
        return Data(f"{value.code}.shape[0]", types.int64)


class ExtremeFunc(BuiltinFunc):
    """Python's `min` and `max` of two or more numbers."""

    def __init__(self, name: str, ufunc: str) -> None:
        self._name, self._ufunc = name, ufunc

    def call(self, env: Environment, *args: Expr, **kwargs: Expr) -> Expr:
        if len(args) < 2:
            raise TypeError(f"{self._name}() expects at least 2 arguments, got {len(args)}")
        if kwargs:
            raise TypeError("keyword arguments are not supported")
        ufunc = _routines.named_ufunc(self._ufunc)
        return reduce(lambda x, y: _routines.apply_ufunc(ufunc, (x, y), None, env), args)


class SyncThreads(BuiltinFunc):
    """Wait for all threads of the block."""

    def call_const(self, env: Environment) -> Expr:
        return Data("__syncthreads()", types.void)


class SyncWarp(BuiltinFunc):
    """Wait for the threads of the warp that `mask` names (all by default)."""

    def call(self, env: Environment, *, mask: Expr | None = None) -> Expr:
        if mask is None:
            return Data("__syncwarp()", types.void)
        if isinstance(mask, Constant):
            return Data(f"__syncwarp({_mask(mask)})", types.void)
        given = Data.init(_routines.cast(mask, types.int32), env)
        return Data(f"__syncwarp({given.code})", types.void)


def _mask(mask: Expr) -> str:
    if not isinstance(mask, Constant):
        raise TypeError("mask must be an integer")
    if not 0 <= mask.obj <= _FULL_MASK:
        raise ValueError("mask is out of range")
    return hex(mask.obj)


class SharedMemory(BuiltinFunc):
    """Memory of the block, as a 1-D array.

    `size` is a number of elements, or None for what the launch gives (`shared_mem`);
    `alignment` is in bytes.
    """

    def call_const(
        self, env: Environment, dtype: Any, size: int | None, alignment: int | None = None
    ) -> Expr:
        for value, words in ((size, "size of shared_memory"), (alignment, "alignment")):
            if value is not None and not isinstance(value, int):
                raise TypeError(f"{words} must be integer or `None`")
        child = dtype if isinstance(dtype, types.TypeBase) else types.scalar(dtype)
        name = env.fresh("_smem")
        pointer = types.Pointer(child, str(child))
        env.declared[name] = types.SharedMem(child, size, alignment)
        env.locals[name] = Data(name, pointer)
        return Data(name, pointer)


class AtomicOp(BuiltinFunc):
    """Change `array[index]` in one step that no other thread can interrupt; return the old value.

    `atomic_cas` takes the value to compare with, then the one to store.
    """

    def __init__(self, op: str, dtypes: str) -> None:
        self._name = "atomic" + op
        self._dtypes = dtypes.split()

    def call(
        self,
        env: Environment,
        array: Expr,
        index: Expr,
        value: Expr,
        alt_value: Expr | None = None,
    ) -> Expr:
        array = Data.init(array, env)
        if not isinstance(array.ctype, types.ArrayBase):
            raise TypeError("The first argument must be of array type.")
        place = Data.init(index_into(array, index, env), env)
        ctype = place.ctype
        if not isinstance(ctype, types.Scalar):
            raise TypeError("Array indices must be as many as the array has axes.")
        if ctype.dtype.name not in self._dtypes:
            raise TypeError(f"`{self._name}` does not support {ctype.dtype} input.")
        if (alt_value is not None) != (self._name == "atomicCAS"):
            raise TypeError(f"`{self._name}` got a wrong number of values.")
        values = [value] if alt_value is None else [value, alt_value]
        texts = [f"&{place.code}"]
        for given in values:
            code = Data.init(_routines.cast(given, ctype), env).code
            texts.append(f"__half({code})" if ctype.dtype.char == "e" else code)
        result = f"{self._name}({', '.join(texts)})"
        return Data(f"(float){result}" if ctype.dtype.char == "e" else result, ctype)


class GridFunc(BuiltinFunc):
    """A number for 1 axis, a tuple for 2 or 3; as Numba's `cuda.grid` and `cuda.gridsize`."""

    def __init__(self, code: str) -> None:
        self._code = code

    def call_const(self, env: Environment, ndim: int) -> Expr:
        if not isinstance(ndim, int):
            raise TypeError("ndim must be an integer")
        if not 1 <= ndim <= 3:
            raise ValueError("Only ndim=1,2,3 are supported")
        items = [Data(f"({self._code.format(axis=a)})", types.uint32) for a in "xyz"[:ndim]]
        return items[0] if ndim == 1 else types.tuple_of(items)


class WarpShuffleOp(BuiltinFunc):
    """The value that another lane of the warp holds.

    Args: mask (constant), the own value, then the lane, the distance or the bits to flip; `width`
    is that of the parts of the warp that work by themselves.
    """

    _DTYPES = "int32 uint32 int64 uint64 float16 float32 float64"

    def __init__(self, op: str) -> None:
        self._name = f"__shfl_{op}sync"
        self._other = types.uint32 if op in ("up_", "down_") else types.int32

    def call(
        self, env: Environment, mask: Expr, var: Expr, val_id: Expr, *, width: Expr | None = None
    ) -> Expr:
        value = Data.init(var, env)
        if not isinstance(value.ctype, types.Scalar):
            raise TypeError(f"{value.code} is not scalar type.")
        if value.ctype.dtype.name not in self._DTYPES.split():
            raise TypeError(f"`{self._name}` does not support {value.ctype.dtype} input.")
        width = width or Constant(_WARP_SIZE)
        if isinstance(width, Constant) and width.obj not in (2, 4, 8, 16, 32):
            raise ValueError("width needs to be power of 2")
        other = Data.init(_routines.cast(val_id, self._other), env)
        parts = Data.init(_routines.cast(width, types.int32), env)
        code = f"{self._name}({_mask(mask)}, {value.code}, {other.code}, {parts.code})"
        return Data(code, value.ctype)


class LaneID(BuiltinFunc):
    """The thread's place in its warp."""

    def call_const(self, env: Environment) -> Expr:
        env.module.add(
            "__device__ inline unsigned int lane_id() {\n"
            "  unsigned int lane;\n"
            '  asm("mov.u32 %0, %%laneid;" : "=r"(lane));\n'
            "  return lane;\n"
            "}"
        )
        return Data("lane_id()", types.uint32)


range_ = RangeFunc()
syncthreads = SyncThreads()
syncwarp = SyncWarp()
shared_memory = SharedMemory()
grid = GridFunc("threadIdx.{axis} + blockIdx.{axis} * blockDim.{axis}")
gridsize = GridFunc("blockDim.{axis} * gridDim.{axis}")
laneid = LaneID()

atomic_add = AtomicOp("Add", "int32 uint32 uint64 float16 float32 float64")
atomic_sub = AtomicOp("Sub", "int32 uint32")
atomic_exch = AtomicOp("Exch", "int32 uint32 uint64 float32")
atomic_min = AtomicOp("Min", "int32 uint32 uint64")
atomic_max = AtomicOp("Max", "int32 uint32 uint64")
atomic_inc = AtomicOp("Inc", "uint32")
atomic_dec = AtomicOp("Dec", "uint32")
atomic_cas = AtomicOp("CAS", "uint16 int32 uint32 uint64")
atomic_and = AtomicOp("And", "int32 uint32 uint64")
atomic_or = AtomicOp("Or", "int32 uint32 uint64")
atomic_xor = AtomicOp("Xor", "int32 uint32 uint64")

shfl_sync = WarpShuffleOp("")
shfl_up_sync = WarpShuffleOp("up_")
shfl_down_sync = WarpShuffleOp("down_")
shfl_xor_sync = WarpShuffleOp("xor_")

_PYTHON: dict[Any, BuiltinFunc] = {
    range: range_,
    len: LenFunc(),
    min: ExtremeFunc("min", "minimum"),
    max: ExtremeFunc("max", "maximum"),
}


def of_python(func: Any) -> BuiltinFunc | None:
    """Return what stands for a Python function in a kernel, if something does."""
    try:
        return _PYTHON.get(func)
    except TypeError:  # not hashable
        return None

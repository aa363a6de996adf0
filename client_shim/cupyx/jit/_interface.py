"""`cupyx.jit.rawkernel`: a Python function becomes a kernel when it is first launched."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, NoReturn

import numpy as np

from cupool.client_shim.cupy._core import core
from cupool.client_shim.cupy._core._kernel_codes import KernelCodes
from cupool.client_shim.cupy._core.raw import RawKernel
from cupool.client_shim.cupy._util import experimental
from cupool.client_shim.cupyx.jit import _compile
from cupool.client_shim.cupyx.jit import _cuda_types as types
from cupool.client_shim.cupyx.jit._internal_types import Data
from cupool.errors import OperationNotSupported

OPTIONS = ("--std=c++17",)
_MODES = ("cuda", "numpy")


class _JitRawKernel(KernelCodes):
    """A kernel, or a function that kernels call; made by `rawkernel`."""

    def __init__(self, func: Callable[..., Any], mode: str, device: bool) -> None:
        if mode not in _MODES:
            raise ValueError(f"mode must be 'cuda' or 'numpy', not {mode!r}")
        self._func = func
        self._mode = mode
        self._device = device
        self._codes: dict[tuple[types.TypeBase, ...], _compile.Result] = {}
        self._kernels: dict[tuple[types.TypeBase, ...], RawKernel] = {}

    def __call__(
        self, grid: Any, block: Any, args: Any, shared_mem: int = 0, stream: Any = None
    ) -> None:
        """Launch on `grid` blocks of `block` threads.

        Args:
            args: device arrays and scalars; their types choose the code, which is made and
                compiled at the first launch with them.
            shared_mem: bytes of memory for each block, on top of what the code declares.

        Raises:
            TypeError: an argument of another type, or an error of the function's types.
            CompileException: the device's compiler refuses the code.
        """
        args = tuple(args)
        in_types = tuple([self._type_of(a) for a in args])
        kernel = self._kernel(in_types)
        values: list[Any] = []
        for value, ctype in zip(args, in_types, strict=True):
            values += launch_arguments(value, ctype)
        kernel(_three(grid), _three(block), tuple(values), shared_mem=shared_mem, stream=stream)

    def __getitem__(self, grid_and_block: Any) -> Callable[..., None]:
        """Return the launch on a grid, as Numba writes it: `kernel[grid, block](*args)`."""
        grid, block = grid_and_block
        return lambda *args, **kwargs: self(grid, block, args, **kwargs)

    def _type_of(self, value: Any) -> types.TypeBase:
        if isinstance(value, core.ndarray):
            return types.CArray.from_ndarray(value)
        if isinstance(value, (bool, int, float, complex, np.generic)):
            return types.scalar_of(self._mode, value)
        raise TypeError(f"{type(value)} is not supported for RawKernel")

    def _kernel(self, in_types: tuple[types.TypeBase, ...]) -> RawKernel:
        found = self._kernels.get(in_types)
        if found is None:
            result = _compile.transpile(self._func, self._mode, in_types, kernel=True)
            self._codes[in_types] = result
            found = self._kernels[in_types] = RawKernel(
                result.code,
                result.func_name,
                OPTIONS,
                enable_cooperative_groups=result.cooperative,
            )
        return found

    def get_lto_ir(self, args: Any) -> NoReturn:
        """Refuse: the intermediate code is of use only to a compiler on this machine."""
        raise OperationNotSupported("cupyx.jit kernels have no get_lto_ir on a pool")

    @property
    def _cached_codes(self) -> dict[tuple[types.TypeBase, ...], str]:
        return {key: result.code for key, result in self._codes.items()}


def launch_arguments(value: Any, ctype: types.TypeBase) -> list[Any]:
    """Return what a kernel is given for one argument of the function.

    For an array: it, then the length and the stride in bytes of each axis.
    """
    if isinstance(ctype, types.Scalar):
        dtype = np.dtype(np.float32) if ctype.dtype.char == "e" else ctype.dtype
        return [dtype.type(value)]
    layout: list[Any] = [value]
    for length, stride in zip(value.shape, value.strides, strict=True):
        layout += [np.int64(length), np.int64(stride)]
    return layout


def _three(lengths: Any) -> tuple[Any, ...]:
    found = tuple(lengths) if isinstance(lengths, (tuple, list)) else (lengths,)
    return (*found, 1, 1, 1)[:3] if len(found) < 3 else found


def rawkernel(*, mode: str = "cuda", device: bool = False) -> Callable[..., _JitRawKernel]:
    """Decorate a Python function so that it is compiled into a CUDA kernel.

    Args:
        mode: rules for the types of numbers: "cuda" as C++ has them, "numpy" as NumPy.
        device: a function that kernels call, instead of a kernel.

    The function's source text must be at hand. Nothing of it runs as Python.
    """
    experimental("cupyx.jit.rawkernel")

    def wrapper(func: Callable[..., Any]) -> _JitRawKernel:
        made = _JitRawKernel(func, mode, device)
        functools.update_wrapper(made, func)
        return made

    return wrapper


threadIdx = Data("threadIdx", types.dim3)
blockDim = Data("blockDim", types.dim3)
blockIdx = Data("blockIdx", types.dim3)
gridDim = Data("gridDim", types.dim3)
warpsize = Data("warpSize", types.int32)

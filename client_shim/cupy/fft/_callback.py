"""`cupy.fft.config.set_cufft_callbacks`: device functions that a transform reads and writes with.

cuFFT links a callback into its own kernels. Here each becomes a kernel of its own before or after
the transform, on every kind of device: the load callback is called for every element of the
(padded) input, the store callback for every element of the result before it is scaled.
"""

from __future__ import annotations

import math
import re
import threading
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from cupool.client_shim.cupy._core import core
from cupool.client_shim.cupy._core._dtype import complex_of, real_of
from cupool.client_shim.cupy._core.raw import RawKernel
from cupool.client_shim.cupy._creation.basic import empty_like, zeros
from cupool.client_shim.cupy.cuda import _runtime_memory
from cupool.client_shim.cupy.cuda.memory import MemoryPointer
from cupool.errors import OperationNotSupported

__all__ = ["get_current_callback_manager", "set_cufft_callbacks"]

ndarray = core.ndarray
Send = Callable[..., ndarray]
_BLOCK = 256
_TYPES = {"f": "cufftReal", "d": "cufftDoubleReal", "F": "cufftComplex", "D": "cufftDoubleComplex"}
_LETTERS = {"f": ("R", "Real"), "d": ("D", "DoubleReal"), "F": ("C", "Complex")}
_LETTERS["D"] = ("Z", "DoubleComplex")
_HEADERS = re.compile(r'^[ \t]*#[ \t]*include[ \t]*[<"]cufft(?:Xt|w)?\.h[>"][^\n]*$', re.MULTILINE)
_NAMED = r"d_{}CallbackPtr\s*=\s*&?\s*([A-Za-z_]\w*)\s*;"


def _type_declarations() -> str:
    """Return the types that cuFFT's headers give to the source of a callback."""
    lines = [
        "#include <cuComplex.h>",
        "typedef float cufftReal;",
        "typedef double cufftDoubleReal;",
        "typedef cuComplex cufftComplex;",
        "typedef cuDoubleComplex cufftDoubleComplex;",
    ]
    for version, offset in (("", "size_t"), ("JIT", "unsigned long long")):
        for char, (letter, _) in _LETTERS.items():
            kind = _TYPES[char]
            name = f"(*cufft{version}Callback"
            lines += [
                f"typedef {kind} {name}Load{letter})(void*, {offset}, void*, void*);",
                f"typedef void {name}Store{letter})(void*, {offset}, {kind}, void*, void*);",
            ]
    return "\n".join(lines) + "\n"


_LOAD = """
extern "C" __global__ void cupool_callback(
    void* data, {kind}* values, unsigned long long count, void* caller) {{
  unsigned long long i = blockIdx.x * (unsigned long long)blockDim.x + threadIdx.x;
  if (i < count) values[i] = {name}(data, i, caller, nullptr);
}}
"""
_STORE = """
extern "C" __global__ void cupool_callback(
    void* data, {kind}* values, unsigned long long count, void* caller) {{
  unsigned long long i = blockIdx.x * (unsigned long long)blockDim.x + threadIdx.x;
  if (i < count) {name}(data, i, values[i], caller, nullptr);
}}
"""


class _Callback:
    """One device function.

    Args:
        source: its CUDA C++.
        name: its name, or that of a pointer to it.
        wrapper: the kernel that calls it.
        options: for the compiler.
    """

    def __init__(self, source: str, name: str, wrapper: str, options: tuple[str, ...]) -> None:
        self._source = _HEADERS.sub("", source)
        self._name, self._wrapper, self._options = name, wrapper, options
        self._kernels: dict[str, RawKernel] = {}

    def run(self, data: ndarray, values: ndarray, caller: MemoryPointer | None) -> None:
        """Call it for all elements, in the order of memory.

        Raises:
            CompileException: it does not compile, or its types are not those of the transform.
        """
        char = values.dtype.char
        kernel = self._kernels.get(char)
        if kernel is None:
            wrapper = self._wrapper.format(kind=_TYPES[char], name=self._name)
            code = f"{_type_declarations()}#line 1\n{self._source}\n{wrapper}"
            options = ("--std=c++17", *self._options)
            kernel = self._kernels[char] = RawKernel(code, "cupool_callback", options)
        count = values.size
        if count:
            blocks = -(-count // _BLOCK)
            kernel((blocks,), (_BLOCK,), (data, values, np.uint64(count), caller))


class _CallbackManager:
    """The callbacks of a block of code.

    Attributes:
        identity: "legacy" or "jit".
        cb_load, cb_store: the sources; empty ones for none.
        cb_load_data, cb_store_data: what the functions get as `callerInfo`.
    """

    def __init__(
        self,
        identity: str,
        sources: tuple[Any, Any],
        names: tuple[str | None, str | None],
        data: tuple[MemoryPointer | None, MemoryPointer | None],
        options: tuple[str, ...],
    ) -> None:
        self.identity = identity
        self.cb_load, self.cb_store = sources
        self.cb_load_name, self.cb_store_name = names
        self.set_caller_infos(*data)
        self._load = self._store = None
        if self.cb_load:
            name = self.cb_load_name or "d_loadCallbackPtr"
            self._load = _Callback(self.cb_load, name, _LOAD, options)
        if self.cb_store:
            name = self.cb_store_name or "d_storeCallbackPtr"
            self._store = _Callback(self.cb_store, name, _STORE, options)

    def set_caller_infos(
        self, cb_load_data: MemoryPointer | None = None, cb_store_data: MemoryPointer | None = None
    ) -> None:
        """Set what the functions get as `callerInfo`."""
        self.cb_load_data, self.cb_store_data = cb_load_data, cb_store_data

    def plan_key(self) -> tuple[Any, ...]:
        """Return what tells a plan with these callbacks from others: sources, caller's memory.

        CuPy compares addresses; the allocation stands for its own here, which nothing waits for.
        """
        key: list[Any] = [self.cb_load, self.cb_store]
        for pointer in (self.cb_load_data, self.cb_store_data):
            root, begin = (None, 0) if pointer is None else _runtime_memory._place(pointer)
            key.append((id(root), begin))
        return tuple(key)

    def transform(
        self,
        send: Send,
        a: ndarray,
        lengths: Sequence[int],
        axes: Sequence[int],
        norm: str,
        direction: int,
        value_type: str,
        order: str | None,
    ) -> ndarray:
        """Transform as cuFFT with these callbacks does.

        Args:
            send: transforms without callbacks: array, lengths, axes, norm, direction, value type,
                order.
            lengths: of the transform along the axes; for C2R of the result.
            order: of the result; None transforms axis by axis, each with the callbacks.
        """
        real = real_of(a.dtype)
        a = a.astype(real if value_type == "R2C" else complex_of(real), copy=False)
        a = _padded(a, lengths, axes, value_type)
        if order is not None:
            whole = a.copy(order)
            return self._once(send, whole, lengths, axes, norm, direction, value_type, order)
        steps = [(axis, n, "C2C") for axis, n in zip(axes, lengths, strict=True)]
        if value_type != "C2C":
            last = (axes[-1], lengths[-1], value_type)
            steps = [last, *steps[:-1]] if value_type == "R2C" else [*steps[:-1], last]
        for axis, length, kind in steps:
            moved = a.swapaxes(axis, -1).copy("C")
            made = self._once(send, moved, (length,), (-1,), norm, direction, kind, "C")
            a = made.swapaxes(axis, -1)
        return a

    def _once(
        self,
        send: Send,
        a: ndarray,
        lengths: Sequence[int],
        axes: Sequence[int],
        norm: str,
        direction: int,
        value_type: str,
        order: str,
    ) -> ndarray:
        if self._load is not None:
            loaded = empty_like(a)
            self._load.run(a, loaded, self.cb_load_data)
            a = loaded
        unscaled = "backward" if direction < 0 else "forward"
        made = send(a, lengths, axes, unscaled, direction, value_type, order)
        if self._store is not None:
            stored = empty_like(made)
            self._store.run(stored, made, self.cb_store_data)
            made = stored
        points = math.prod(lengths)
        if norm == "ortho":
            made /= math.sqrt(points)
        elif norm != unscaled:
            made /= points
        return made


def _padded(a: ndarray, lengths: Sequence[int], axes: Sequence[int], value_type: str) -> ndarray:
    """Return an input cut or padded with zeros to what the transform reads."""
    shape = list(a.shape)
    for axis, length in zip(axes, lengths, strict=True):
        shape[axis] = length
    if value_type == "C2R":
        shape[axes[-1]] = lengths[-1] // 2 + 1
    if tuple(shape) == a.shape:
        return a
    common = tuple(slice(min(n, m)) for n, m in zip(shape, a.shape, strict=True))
    if all(n <= m for n, m in zip(shape, a.shape, strict=True)):
        return a[common]  # type: ignore[no-any-return]
    made = zeros(tuple(shape), a.dtype)
    made[common] = a[common]
    return made


class _Current(threading.local):
    manager: _CallbackManager | None = None


_current = _Current()


def get_current_callback_manager() -> _CallbackManager | None:
    """Return the callbacks of the innermost ``with set_cufft_callbacks(...)`` block, or None."""
    return _current.manager


class set_cufft_callbacks:
    """A block of code whose transforms read and write with functions of the user's.

    Args:
        cb_load: source of a device function that returns an element of the input:
            ``T f(void* dataIn, size_t offset, void* callerInfo, void* sharedPtr)``; the legacy
            version must point `d_loadCallbackPtr` to it.
        cb_store: source of a device function that stores an element of the result:
            ``void f(void* dataOut, size_t offset, T element, void* callerInfo, void* sharedPtr)``;
            the legacy version must point `d_storeCallbackPtr` to it.
        cb_load_aux_arr, cb_store_aux_arr: arrays for `callerInfo`; deprecated by CuPy.
        cb_load_name, cb_store_name: the functions' names, for "jit".
        cb_load_data, cb_store_data: memory for `callerInfo`.
        cb_ver: "legacy" or "jit": the offset is a `size_t` or an ``unsigned long long``.
        nvrtc_options: for the compiler.

    Raises:
        ValueError: no callback, data or a name that does not fit.
        TypeError: one callback is a str and the other is not.
        OperationNotSupported: a callback in LTO-IR.

    What does not compile raises CompileException at the first transform. `sharedPtr` is null.

    See https://docs.cupy.dev/en/stable/user_guide/fft.html
    """

    __module__ = "cupy.fft._callback"

    def __init__(
        self,
        cb_load: str | None = None,
        cb_store: str | None = None,
        *,
        cb_load_aux_arr: ndarray | None = None,
        cb_store_aux_arr: ndarray | None = None,
        cb_load_name: str | None = None,
        cb_store_name: str | None = None,
        cb_load_data: MemoryPointer | None = None,
        cb_store_data: MemoryPointer | None = None,
        cb_ver: str = "legacy",
        nvrtc_options: tuple[str, ...] = (),
    ) -> None:
        if cb_ver not in ("legacy", "jit"):
            raise ValueError('cb_ver must be "legacy" or "jit"')
        data = (
            _caller_data("load", cb_load, cb_load_data, cb_load_aux_arr),
            _caller_data("store", cb_store, cb_store_data, cb_store_aux_arr),
        )
        if not cb_load and not cb_store:
            raise ValueError("need to specify either cb_load or cb_store, or both")
        if cb_load and cb_store and type(cb_load) is not type(cb_store):
            raise TypeError("cb_load and cb_store must be of the same type")
        for source in (cb_load, cb_store):
            if source and not isinstance(source, str):
                raise OperationNotSupported(
                    "a cuFFT callback must be CUDA C++ source: cupool does not link LTO-IR"
                )
        find = _legacy_name if cb_ver == "legacy" else _jit_name
        names = (find("load", cb_load, cb_load_name), find("store", cb_store, cb_store_name))
        if cb_ver == "legacy":
            warnings.warn(
                "Using the legacy callback is considered deprecated, please switch to use "
                'cb_ver="jit" instead',
                DeprecationWarning,
                stacklevel=2,
            )
        self.mgr = _CallbackManager(cb_ver, (cb_load, cb_store), names, data, nvrtc_options)
        self._before: _CallbackManager | None = None

    def __enter__(self) -> _CallbackManager:
        self._before, _current.manager = _current.manager, self.mgr
        return self.mgr

    def __exit__(self, *exc: object) -> None:
        _current.manager = self._before


def _caller_data(kind: str, source: Any, data: Any, array: Any) -> MemoryPointer | None:
    if array is not None:
        warnings.warn(
            "passing an ndarray to cb_load_aux_arr or cb_store_aux_arr is deprecated, pass "
            "arr.data as cb_load_data or cb_store_data instead",
            DeprecationWarning,
            stacklevel=3,
        )
        if data is not None:
            raise ValueError(f"only use cb_{kind}_data and not cb_{kind}_aux_arr")
        data = array.data
    if data is not None and not source:
        raise ValueError(f"{kind} callback is not given")
    return data  # type: ignore[no-any-return]


def _legacy_name(kind: str, source: str | None, name: str | None) -> str | None:
    pointer = f"d_{kind}CallbackPtr"
    if source and pointer not in source:
        raise ValueError(f"need to specify {pointer} in cb_{kind}")
    found = re.search(_NAMED.format(kind), source or "")
    return found[1] if found else None


def _jit_name(kind: str, source: str | None, name: str | None) -> str | None:
    if not source or name is not None:
        return name
    found = re.search(_NAMED.format(kind), source)
    if found is None:
        raise ValueError(f"cb_{kind}_name cannot be inferred, please specify it explicitly")
    return found[1]

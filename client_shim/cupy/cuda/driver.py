"""`cupy.cuda.driver`: errors, contexts, modules and functions by number, occupancy.

Launches are in `_driver_launch.py`, the linker in `_driver_link.py`.
"""

from __future__ import annotations

import threading
from typing import Any
from weakref import WeakValueDictionary

from cupool.client_shim import session as _session
from cupool.client_shim.cupy import _unsupported
from cupool.client_shim.cupy.cuda import _runtime_streams
from cupool.client_shim.cupy.cuda._driver_launch import *  # noqa: F403
from cupool.client_shim.cupy.cuda._driver_link import *  # noqa: F403
from cupool.proto import cuda_errors, failures

_FIRST_CONTEXT = 0x5F00_0000_0000
_INVALID_VALUE, _INVALID_CONTEXT, _INVALID_HANDLE = 1, 201, 400
_FUNCTION_ATTRIBUTES = (
    "max_threads_per_block",
    "shared_size_bytes",
    "const_size_bytes",
    "local_size_bytes",
    "num_regs",
    "ptx_version",
    "binary_version",
    "cache_mode_ca",
    "max_dynamic_shared_size_bytes",
    "preferred_shared_memory_carveout",
)
"""By CUDA's numbers (`CUfunction_attribute`)."""
_WARP, _REGISTERS_AT_ONCE, _WARPS_AT_ONCE, _SHARED_AT_ONCE = 32, 256, 4, 128
_modules: dict[tuple[int, int], tuple[Any, list[Any]]] = {}  # with the functions taken from them
_functions: WeakValueDictionary[tuple[int, int], Any] = WeakValueDictionary()


class CUDADriverError(RuntimeError):
    """An error of the CUDA driver.

    Attributes:
        status: the error code.
    """

    __module__ = "cupy_backends.cuda.api.driver"

    def __init__(self, status: int, text: str = "") -> None:
        self.status = status
        super().__init__(text or cuda_errors.driver_text(status))

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.status, self.args[0])


failures.register("CUDADriverError", CUDADriverError, CUDADriverError)


def check_status(status: int) -> None:
    """Raise the error of a status, unless it is success."""
    if status:
        raise CUDADriverError(status)


def get_build_version() -> int:
    """Return the CUDA version that the mimicked CuPy was built for (12.9)."""
    return 12090


def _is_cuda_python() -> bool:
    """Return whether CuPy was built over NVIDIA's Python bindings: it was not."""
    return False


def ctxGetCurrent() -> int:
    """Return a number for the context of the current device; 0 in a thread that has used none."""
    main = threading.current_thread() is threading.main_thread()
    if not main and not _session.current.entered:
        return 0
    return _FIRST_CONTEXT + 0x100 * _session.current.device


def ctxGetDevice() -> int:
    """Return the device of the current context."""
    return _session.current.device


def ctxSetCurrent(ctx: int) -> None:
    """Make the device of a context current."""
    from cupool.client_shim.cupy.cuda import _runtime_devices

    ordinal, rest = divmod(ctx - _FIRST_CONTEXT, 0x100)
    if rest or not 0 <= ordinal < _runtime_devices.getDeviceCount():
        raise CUDADriverError(_INVALID_CONTEXT)
    _session.current.device = ordinal


def streamGetCtx(stream: int) -> int:
    """Return the context of a stream."""
    entry = _runtime_streams.entry_of(stream)
    ordinal = _session.current.device if entry is None else entry.session.ordinal
    return _FIRST_CONTEXT + 0x100 * ordinal


# ------------------------------------------------------------------- modules and functions


def remember(function: Any, ordinal: int) -> None:
    """Let a `Function` be found by its number, as long as it lives."""
    _functions[ordinal, function.ptr] = function


def function_of(number: int) -> Any:
    """Return the `Function` of a number on the current device.

    Raises:
        CUDADriverError: there is none, or its module was unloaded.
    """
    return _found(_functions, number)


def _found(table: Any, number: int) -> Any:
    found = table.get((_session.current.device, number))
    if found is None:
        raise CUDADriverError(_INVALID_HANDLE)
    return found


def _keep(load: str, source: Any) -> int:
    from cupool.client_shim.cupy.cuda.function import Module

    module = Module()
    getattr(module, load)(source)
    _modules[_session.current.device, module.ptr] = module, []
    return module.ptr


def moduleLoad(filename: str) -> int:
    """Return a module of a file of PTX or cubin on this machine; it lives until `moduleUnload`."""
    return _keep("load_file", filename)


def moduleLoadData(image: bytes) -> int:
    """Return a module of PTX or a cubin; it lives until `moduleUnload`."""
    return _keep("load", image)


def moduleUnload(module: int) -> None:
    """Forget a module and its functions."""
    _, taken = _found(_modules, module)
    del _modules[_session.current.device, module]
    for function in taken:
        _functions.pop((_session.current.device, function.ptr), None)


def moduleGetFunction(module: int, funcname: str) -> int:
    """Return the number of a module's kernel, as `Function.ptr`."""
    owner, taken = _found(_modules, module)
    function = owner.get_function(funcname)
    taken.append(function)
    return int(function.ptr)


def moduleGetGlobal(module: int, varname: str) -> int:
    """Return the device address of a module's variable."""
    return int(_found(_modules, module)[0].get_global_var(varname))


def funcGetAttribute(attribute: int, f: int) -> int:
    """Return an attribute of a kernel, by CUDA's number."""
    if not 0 <= attribute < len(_FUNCTION_ATTRIBUTES):
        raise CUDADriverError(_INVALID_VALUE)
    return int(_found(_functions, f).attributes[_FUNCTION_ATTRIBUTES[attribute]])


def funcSetAttribute(f: int, attribute: int, value: int) -> None:
    """Set an attribute of a kernel: dynamic shared memory (8) or its share of the cache (9)."""
    if attribute not in (8, 9):
        raise CUDADriverError(_INVALID_VALUE)
    _found(_functions, f).set_attribute(_FUNCTION_ATTRIBUTES[attribute], value)


def _up(value: int, step: int) -> int:
    return -(-value // step) * step


def occupancyMaxActiveBlocksPerMultiprocessor(
    func: int, blockSize: int, dynamicSMemSize: int
) -> int:
    """Return how many blocks of a kernel run on a multiprocessor at once, by CUDA's model.

    Args:
        func: `Function.ptr`.
        blockSize: threads of a block.
        dynamicSMemSize: bytes of dynamic shared memory of a block.

    Raises:
        CUDADriverError: no such kernel, or a size below 1.
    """
    from cupool.client_shim.cupy.cuda.device import Device

    own = _found(_functions, func).attributes
    if blockSize < 1 or dynamicSMemSize < 0:
        raise CUDADriverError(_INVALID_VALUE)
    if blockSize > own["max_threads_per_block"]:
        return 0
    limits = Device().attributes
    warps = _up(blockSize, _WARP) // _WARP
    registers = _up(max(1, own["num_regs"]) * _WARP, _REGISTERS_AT_ONCE)
    warps_at_once = limits["MaxRegistersPerMultiprocessor"] // registers
    shared = own["shared_size_bytes"] + dynamicSMemSize
    shared += limits.get("ReservedSharedMemoryPerBlock", 0)
    return min(
        limits["MaxBlocksPerMultiprocessor"],
        limits["MaxThreadsPerMultiProcessor"] // _WARP // warps,
        warps_at_once // _WARPS_AT_ONCE * _WARPS_AT_ONCE // warps,
        limits["MaxSharedMemoryPerMultiprocessor"] // max(1, _up(shared, _SHARED_AT_ONCE)),
    )


def occupancyMaxPotentialBlockSize(
    func: int, dynamicSMemSize: int, blockSizeLimit: int
) -> tuple[int, int]:
    """Return how many blocks fill the device, and the threads of a block that fill it best.

    Args:
        blockSizeLimit: threads of a block at most, 0 for the kernel's own limit.
    """
    from cupool.client_shim.cupy.cuda.device import Device

    own, limits = _found(_functions, func).attributes, Device().attributes
    most = min(own["max_threads_per_block"], blockSizeLimit or own["max_threads_per_block"])
    best = (0, 0, 0)
    for size in range(_up(most, _WARP), 0, -_WARP):
        threads = min(size, most)
        blocks = occupancyMaxActiveBlocksPerMultiprocessor(func, threads, dynamicSMemSize)
        if blocks * threads > best[0]:
            best = (blocks * threads, blocks, threads)
    return best[1] * limits["MultiProcessorCount"], best[2]


_unsupported.fill(globals(), "cupy.cuda.driver")

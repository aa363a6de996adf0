"""`cupy.cuda.driver`: launches whose arguments lie at addresses of this process.

How they lie there: https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__EXEC.html,
"cuLaunchKernel". The device says which parameters a kernel has; nothing else is read.
"""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np

__all__ = ["launchCooperativeKernel", "launchKernel"]

_INVALID_VALUE = 1
_END, _BUFFER, _BUFFER_SIZE = 0, 1, 2
"""CU_LAUNCH_PARAM_*: the keys in `extra`."""
_POINTER_BYTES = ctypes.sizeof(ctypes.c_void_p)


def _refuse() -> Exception:
    from cupool.client_shim.cupy.cuda import driver

    return driver.CUDADriverError(_INVALID_VALUE)


def _pointers(address: int, count: int) -> list[int]:
    found = (ctypes.c_void_p * count).from_address(address)
    return [int(each or 0) for each in found]


def _one_by_one(address: int, places: list[tuple[int, int]]) -> list[bytes]:
    """Read arguments by an array of pointers to them."""
    pointers = _pointers(address, len(places))
    if not all(pointers):
        raise _refuse()
    return [
        ctypes.string_at(pointer, size) for pointer, (_, size) in zip(pointers, places, strict=True)
    ]


def _packed(address: int, places: list[tuple[int, int]]) -> list[bytes]:
    """Read arguments from one buffer, which a list of keys and values names."""
    given: dict[int, int] = {}
    while len(given) <= _BUFFER_SIZE:
        (key,) = _pointers(address, 1)
        if key == _END:
            break
        given[key] = _pointers(address, 2)[1]
        address += 2 * _POINTER_BYTES
    if set(given) != {_BUFFER, _BUFFER_SIZE} or not all(given.values()):
        raise _refuse()
    size_bytes = ctypes.c_size_t.from_address(given[_BUFFER_SIZE]).value
    if size_bytes < max((offset + size for offset, size in places), default=0):
        raise _refuse()
    return [ctypes.string_at(given[_BUFFER] + offset, size) for offset, size in places]


def _launch(
    f: int,
    grid: tuple[int, int, int],
    block: tuple[int, int, int],
    shared_bytes: int,
    stream: int,
    arguments: tuple[int, int],
    cooperative: bool,
) -> None:
    from cupool.client_shim.cupy.cuda import driver

    function = driver.function_of(f)
    if min(*grid, *block) < 1 or shared_bytes < 0 or all(arguments):
        raise _refuse()
    places = function.parameter_places()
    if not places:
        values = []
    elif arguments[0]:
        values = _one_by_one(arguments[0], places)
    elif arguments[1]:
        values = _packed(arguments[1], places)
    else:
        raise _refuse()
    args: list[Any] = [np.frombuffer(value, f"V{len(value)}") for value in values]
    function(grid, block, args, shared_bytes, stream, cooperative)


def launchKernel(
    f: int,
    grid_dim_x: int,
    grid_dim_y: int,
    grid_dim_z: int,
    block_dim_x: int,
    block_dim_y: int,
    block_dim_z: int,
    shared_mem_bytes: int,
    stream: int,
    kernel_params: int,
    extra: int,
) -> None:
    """Queue a launch.

    Args:
        f: `Function.ptr`.
        kernel_params: address of an array of addresses, one for each argument's value.
        extra: or the address of CU_LAUNCH_PARAM_* keys and values that name one buffer.

    Raises:
        CUDADriverError: no such kernel; a size below 1; both or none of the two addresses, a
            null one among the arguments', a buffer that is too small.
    """
    grid, block = (
        (grid_dim_x, grid_dim_y, grid_dim_z),
        (block_dim_x, block_dim_y, block_dim_z),
    )
    _launch(f, grid, block, shared_mem_bytes, stream, (kernel_params, extra), False)


def launchCooperativeKernel(
    f: int,
    grid_dim_x: int,
    grid_dim_y: int,
    grid_dim_z: int,
    block_dim_x: int,
    block_dim_y: int,
    block_dim_z: int,
    shared_mem_bytes: int,
    stream: int,
    kernel_params: int,
) -> None:
    """Queue a launch of a grid that can wait for itself; see `launchKernel`."""
    grid, block = (
        (grid_dim_x, grid_dim_y, grid_dim_z),
        (block_dim_x, block_dim_y, block_dim_z),
    )
    _launch(f, grid, block, shared_mem_bytes, stream, (kernel_params, 0), True)

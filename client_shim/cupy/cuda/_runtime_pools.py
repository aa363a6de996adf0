"""Stream-ordered pools of `cupy.cuda.runtime` (`cudaMallocAsync`): their use and their attributes.

The use is that of this script; what CUDA would hold for it is computed, in its whole granules.
"""

from __future__ import annotations

from cupool.client_shim import session as _session
from cupool.client_shim.cupy.cuda import _runtime_errors as errors
from cupool.client_shim.cupy.cuda._runtime_devices import check_device, session_of
from cupool.client_shim.cupy.cuda._runtime_errors import fail

__all__ = [
    "MemPoolProps",
    "cudaMemPoolAttrReleaseThreshold",
    "cudaMemPoolAttrReservedMemCurrent",
    "cudaMemPoolAttrReservedMemHigh",
    "cudaMemPoolAttrUsedMemCurrent",
    "cudaMemPoolAttrUsedMemHigh",
    "deviceGetDefaultMemPool",
    "deviceGetMemPool",
    "deviceSetMemPool",
    "memPoolCreate",
    "memPoolDestroy",
    "memPoolGetAttribute",
    "memPoolSetAttribute",
    "memPoolTrimTo",
]

cudaMemPoolAttrReleaseThreshold = 4
cudaMemPoolAttrReservedMemCurrent, cudaMemPoolAttrReservedMemHigh = 5, 6
cudaMemPoolAttrUsedMemCurrent, cudaMemPoolAttrUsedMemHigh = 7, 8
_GRANULE_BYTES = 32 << 20
_FIRST_POOL = 0x5D00_0000_0000
_pools: dict[int, dict[int, int]] = {}
_current_pools: dict[int, int] = {}


class MemPoolProps:
    """What a stream-ordered pool is made for."""

    __module__ = "cupy_backends.cuda.api.runtime"

    def __init__(self, allocType: int, handleType: int, locationType: int, devId: int) -> None:
        self.allocType = allocType
        self.handleType = handleType
        self.locationType = locationType
        self.devId = devId


def _new_pool(pool: int) -> int:
    _pools.setdefault(pool, {cudaMemPoolAttrReleaseThreshold: (1 << 64) - 1, 1: 1, 2: 1, 3: 1})
    return pool


def deviceGetDefaultMemPool(device: int) -> int:
    """Return the stream-ordered pool of a device."""
    check_device(device)
    return _new_pool(_FIRST_POOL + device)


def deviceGetMemPool(device: int) -> int:
    """Return the pool that a device allocates from now."""
    return _current_pools.get(device) or deviceGetDefaultMemPool(device)


def deviceSetMemPool(device: int, pool: int) -> None:
    """Let a device allocate from a pool; all of a device's share its memory."""
    check_device(device)
    _attributes(pool)
    _current_pools[device] = pool


def memPoolCreate(props: MemPoolProps) -> int:
    """Make a pool of a device."""
    check_device(props.devId)
    return _new_pool(_FIRST_POOL + 0x1000 + 0x100 * len(_pools) + props.devId)


def memPoolDestroy(pool: int) -> None:
    """Forget a pool."""
    _attributes(pool)
    del _pools[pool]


def _attributes(pool: int) -> dict[int, int]:
    if pool not in _pools:
        fail(errors.INVALID_VALUE)
    return _pools[pool]


def _session_of_pool(pool: int) -> _session.DeviceSession:
    return session_of((pool - _FIRST_POOL) & 0xFF)


def _used_and_reserved(pool: int) -> tuple[int, int]:
    """Return what is allocated, and what CUDA would hold for it: it grows in whole granules."""
    attributes = _attributes(pool)
    used = _session_of_pool(pool).addresses.held_bytes("async")
    needed = -(-used // _GRANULE_BYTES) * _GRANULE_BYTES
    reserved = max(attributes.get(cudaMemPoolAttrReservedMemCurrent, 0), needed)
    attributes[cudaMemPoolAttrReservedMemCurrent] = reserved
    attributes[cudaMemPoolAttrReservedMemHigh] = max(
        attributes.get(cudaMemPoolAttrReservedMemHigh, 0), reserved
    )
    attributes[cudaMemPoolAttrUsedMemCurrent] = used
    attributes[cudaMemPoolAttrUsedMemHigh] = max(
        attributes.get(cudaMemPoolAttrUsedMemHigh, 0), used
    )
    return used, reserved


def memPoolGetAttribute(pool: int, attr: int) -> int:
    """Return an attribute of a pool; use is that of this script, on the pool's device."""
    _used_and_reserved(pool)
    if attr not in _attributes(pool):
        fail(errors.INVALID_VALUE)
    return _attributes(pool)[attr]


def memPoolSetAttribute(pool: int, attr: int, value: int) -> None:
    """Set an attribute of a pool."""
    if attr in (cudaMemPoolAttrReservedMemCurrent, cudaMemPoolAttrUsedMemCurrent):
        fail(errors.INVALID_VALUE)
    _attributes(pool)[attr] = int(value)


def memPoolTrimTo(pool: int, size: int) -> None:
    """Give back what a pool holds beyond a size and beyond its use."""
    _attributes(pool)[cudaMemPoolAttrReservedMemCurrent] = 0
    _used_and_reserved(pool)

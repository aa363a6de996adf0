"""Devices of `cupy.cuda.runtime`: which there are, what they say of themselves."""

from __future__ import annotations

import re
from typing import Any

from cupool.client_shim import session as _session
from cupool.client_shim.cupy.cuda import _runtime_errors as errors
from cupool.client_shim.cupy.cuda._runtime_errors import fail
from cupool.errors import OperationNotSupported

__all__ = [
    "deviceCanAccessPeer",
    "deviceDisablePeerAccess",
    "deviceEnablePeerAccess",
    "deviceGetAttribute",
    "deviceGetByPCIBusId",
    "deviceGetLimit",
    "deviceGetPCIBusId",
    "deviceSetLimit",
    "deviceSynchronize",
    "driverGetVersion",
    "getDevice",
    "getDeviceCount",
    "getDeviceProperties",
    "profilerStart",
    "profilerStop",
    "runtimeGetVersion",
    "setDevice",
]

_BUS_ID = re.compile(r"([0-9A-Fa-f]{1,8}):([0-9A-Fa-f]{2}):([0-9A-Fa-f]{2})(\.[0-9A-Fa-f])?")
_PROPERTIES = {
    "sharedMemPerBlock": 8,
    "regsPerBlock": 12,
    "warpSize": 10,
    "maxThreadsPerBlock": 1,
    "maxThreadsDim": (2, 3, 4),
    "maxGridSize": (5, 6, 7),
    "clockRate": 13,
    "totalConstMem": 9,
    "major": 75,
    "minor": 76,
    "textureAlignment": 14,
    "texturePitchAlignment": 51,
    "multiProcessorCount": 16,
    "kernelExecTimeoutEnabled": 17,
    "integrated": 18,
    "canMapHostMemory": 19,
    "computeMode": 20,
    "maxTexture1D": 21,
    "maxTexture2D": (22, 23),
    "maxTexture3D": (24, 25, 26),
    "concurrentKernels": 31,
    "ECCEnabled": 32,
    "pciBusID": 33,
    "pciDeviceID": 34,
    "pciDomainID": 50,
    "tccDriver": 35,
    "memoryClockRate": 36,
    "memoryBusWidth": 37,
    "l2CacheSize": 38,
    "maxThreadsPerMultiProcessor": 39,
    "isMultiGpuBoard": 84,
    "cooperativeLaunch": 95,
    "cooperativeMultiDeviceLaunch": 96,
    "deviceOverlap": 15,
    "memPitch": 11,
    "maxTexture1DMipmap": 77,
    "maxTexture1DLinear": 69,
    "maxTexture1DLayered": (42, 43),
    "maxTexture2DMipmap": (73, 74),
    "maxTexture2DLinear": (70, 71, 72),
    "maxTexture2DLayered": (27, 28, 29),
    "maxTexture2DGather": (45, 46),
    "maxTexture3DAlt": (47, 48, 49),
    "maxTextureCubemap": 52,
    "maxTextureCubemapLayered": (53, 54),
    "maxSurface1D": 55,
    "maxSurface1DLayered": (61, 62),
    "maxSurface2D": (56, 57),
    "maxSurface2DLayered": (63, 64, 65),
    "maxSurface3D": (58, 59, 60),
    "maxSurfaceCubemap": 66,
    "maxSurfaceCubemapLayered": (67, 68),
    "surfaceAlignment": 30,
    "asyncEngineCount": 40,
    "unifiedAddressing": 41,
    "streamPrioritiesSupported": 78,
    "globalL1CacheSupported": 79,
    "localL1CacheSupported": 80,
    "sharedMemPerMultiprocessor": 81,
    "regsPerMultiprocessor": 82,
    "managedMemory": 83,
    "multiGpuBoardGroupID": 85,
    "hostNativeAtomicSupported": 86,
    "singleToDoublePrecisionPerfRatio": 87,
    "pageableMemoryAccess": 88,
    "concurrentManagedAccess": 89,
    "computePreemptionSupported": 90,
    "canUseHostPointerForRegisteredMem": 91,
    "sharedMemPerBlockOptin": 97,
    "pageableMemoryAccessUsesHostPageTables": 100,
    "directManagedMemAccessFromHost": 101,
    "maxBlocksPerMultiProcessor": 106,
    "reservedSharedMemPerBlock": 111,
}
"""Fields of cudaDeviceProp that are attributes, by the numbers of these."""
_LIMITS = {0: 1024, 1: 1 << 20, 2: 8 << 20, 3: 2, 4: 2048, 5: 64}
_limits: dict[tuple[int, int], int] = {}
_told: dict[int, tuple[_session.DeviceSession, dict[str, Any]]] = {}
_peers: set[tuple[int, int]] = set()


def check_device(ordinal: int) -> None:
    """Raise CUDARuntimeError unless the device was granted."""
    if not 0 <= ordinal < _session.device_count():
        fail(errors.INVALID_DEVICE)


def session_of(ordinal: int) -> _session.DeviceSession:
    """Return a device's session, or raise CUDARuntimeError."""
    check_device(ordinal)
    return _session.sessions()[ordinal]


def _ask(ordinal: int) -> dict[str, Any]:
    """Return what the server says of a device; asked once for each session."""
    session = session_of(ordinal)
    known = _told.get(ordinal)
    if known is None or known[0] is not session:
        known = _told[ordinal] = (session, session.ask("attributes", (), quiet=True))
    return known[1]


def getDeviceCount() -> int:
    """Return how many devices were granted; takes the lease."""
    return _session.device_count()


def getDevice() -> int:
    """Return the thread's current device."""
    return _session.current.device


def setDevice(device: int) -> None:
    """Make a device the thread's current one.

    Raises:
        CUDARuntimeError: no such device.
    """
    if device:
        check_device(device)
    _session.current.device = device
    _session.current.entered = True


def deviceSynchronize() -> None:
    """Wait for everything queued on the current device."""
    _session.session().synchronize()


def deviceGetAttribute(attrib: int, device: int) -> int:
    """Return an attribute of a device, a number of cudaDeviceAttr.

    Raises:
        CUDARuntimeError: no such attribute or device.
    """
    value = _ask(device)["attributes"].get(str(int(attrib)))
    if value is None:
        fail(errors.INVALID_VALUE)
    return int(value)


def getDeviceProperties(device: int) -> dict[str, Any]:
    """Return cudaDeviceProp of a device: name (bytes), memory in bytes, limits, and more.

    Memory is what was granted; a device that the server does not describe in full (a mock) has
    its attributes in the fields of the same meaning.
    """
    told = _ask(device)
    session = session_of(device)
    attributes, given = told["attributes"], dict(told["properties"])
    for field in ("uuid", "luid", "name"):
        if isinstance(given.get(field), str):
            given[field] = given[field].encode("latin-1")
    found: dict[str, Any] = {}
    for field, numbers in _PROPERTIES.items():
        if isinstance(numbers, tuple):
            found[field] = tuple(attributes.get(str(n), 0) for n in numbers)
        else:
            found[field] = attributes.get(str(numbers), 0)
    info = session.info
    found |= {"uuid": b"\0" * 16, "luid": b"", "luidDeviceNodeMask": 0}
    found |= {"persistingL2CacheMaxSize": 0, "accessPolicyMaxWindowSize": 0}
    found |= given
    found |= {"name": info.name.encode(), "totalGlobalMem": info.memory_bytes}
    return found


def deviceGetPCIBusId(device: int) -> str:
    """Return a device's address on its server's bus, "domain:bus:device.function" in hex."""
    attributes = _ask(device)["attributes"]
    domain, bus, number = (attributes.get(n, 0) for n in ("50", "33", "34"))
    return f"{domain:04X}:{bus:02X}:{number:02X}.0"


def deviceGetByPCIBusId(pci_bus_id: str) -> int:
    """Return the device at an address of a bus.

    Raises:
        CUDARuntimeError: not an address, or none of the granted devices is there.
    """
    match = _BUS_ID.fullmatch(pci_bus_id)
    if match is None:
        fail(errors.INVALID_VALUE)
    wanted = tuple(int(part, 16) for part in match.groups()[:3])
    for device in range(getDeviceCount()):
        found = _ask(device)["attributes"]
        if wanted == tuple(found.get(n, 0) for n in ("50", "33", "34")):
            return device
    fail(errors.INVALID_DEVICE)


def deviceCanAccessPeer(device: int, peerDevice: int) -> int:
    """Return 0: devices of a pool are in workers of their own, and do not see each other."""
    check_device(device)
    check_device(peerDevice)
    return 0


def deviceEnablePeerAccess(peerDevice: int) -> None:
    """Refuse with the error of devices without peer access."""
    check_device(peerDevice)
    fail(errors.INVALID_DEVICE if peerDevice == getDevice() else errors.PEER_ACCESS_UNSUPPORTED)


def deviceDisablePeerAccess(peerDevice: int) -> None:
    """Refuse: it was never enabled."""
    check_device(peerDevice)
    fail(errors.PEER_ACCESS_NOT_ENABLED)


def deviceGetLimit(limit: int) -> int:
    """Return a limit of the current device (cudaLimit), the default where none was set."""
    if limit not in _LIMITS:
        fail(errors.INVALID_VALUE)
    return _limits.get((getDevice(), limit), _LIMITS[limit])


def deviceSetLimit(limit: int, value: int) -> None:
    """Remember a limit; kernels run under the server's own."""
    if limit not in _LIMITS or value < 0:
        fail(errors.INVALID_VALUE)
    _limits[getDevice(), limit] = int(value)


def runtimeGetVersion() -> int:
    """Return the CUDA runtime version of the CuPy that is mimicked (12.9)."""
    return 12090


_getLocalRuntimeVersion = runtimeGetVersion
driverGetVersion = runtimeGetVersion


def _getCUDAMajorVersion() -> int:
    return runtimeGetVersion() // 1000


def _ensure_context() -> None:
    """There is one: the session's."""
    _session.session()


def profilerStart() -> None:
    """Accepted: a profiler runs where the GPU is, and its server's operator starts it."""


def profilerStop() -> None:
    """Accepted, see `profilerStart`."""


def refuse_ipc(*args: Any, **kwargs: Any) -> Any:
    """Refuse to share memory or events between processes.

    Raises:
        OperationNotSupported: always.
    """
    raise OperationNotSupported(
        "CUDA's inter-process handles join processes on one machine; each script has a session of"
        " its own, and sessions do not share memory",
        remedy="send NumPy arrays between processes (cupy.asnumpy)",
    )


def refuse_array(*args: Any, **kwargs: Any) -> Any:
    """Refuse CUDA arrays, textures and surfaces.

    Raises:
        OperationNotSupported: always.
    """
    raise OperationNotSupported(
        "CUDA arrays, textures and surfaces are not supported by cupool: their descriptors are"
        " structures in this machine's memory, and a mock GPU has no texture units",
        remedy="interpolate with cupyx.scipy.ndimage.map_coordinates, or read the array itself",
    )

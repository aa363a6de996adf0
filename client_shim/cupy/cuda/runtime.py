"""`cupy.cuda.runtime`: the CUDA runtime calls that make sense on granted devices."""

from __future__ import annotations

from typing import Any

from cupool.client_shim import session as _session
from cupool.client_shim.cupy import _unsupported
from cupool.proto import failures

is_hip = False
_NAMES = {2: "cudaErrorMemoryAllocation", 101: "cudaErrorInvalidDevice", 1: "cudaErrorInvalidValue"}
_TEXTS = {2: "out of memory", 101: "invalid device ordinal", 1: "invalid argument"}


class CUDARuntimeError(RuntimeError):
    """An error of the CUDA runtime.

    Attributes:
        status: the error code.
    """

    __module__ = "cupy_backends.cuda.api.runtime"

    def __init__(self, status: int, text: str = "") -> None:
        self.status = status
        name = _NAMES.get(status, f"cudaError {status}")
        super().__init__(text or f"{name}: {_TEXTS.get(status, 'unknown error')}")

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.status, self.args[0])


failures.register("CUDARuntimeError", CUDARuntimeError, CUDARuntimeError)


def check_device(ordinal: int) -> None:
    """Raise CUDARuntimeError unless the device was granted."""
    if not 0 <= ordinal < _session.device_count():
        raise CUDARuntimeError(101)


def memory_info(session: _session.DeviceSession) -> tuple[int, int]:
    """Return free and total bytes of a session's share."""
    granted = session.info.memory_bytes
    return granted - session.ask("memory", ())["total"], granted


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
    check_device(device)
    _session.current.device = device


def deviceSynchronize() -> None:
    """Wait for everything queued on the current device."""
    _session.session().synchronize()


def memGetInfo() -> tuple[int, int]:
    """Return free and total bytes of the current device."""
    return memory_info(_session.session())


def getDeviceProperties(device: int) -> dict[str, Any]:
    """Return what is known of a device: name (bytes), memory, compute capability, and more."""
    check_device(device)
    info = _session.sessions()[device].info
    major, _, minor = info.compute_capability.partition(".")
    return {
        "name": info.name.encode(),
        "totalGlobalMem": info.memory_bytes,
        "major": int(major or 0),
        "minor": int(minor or 0),
        "pciBusID": device,
        "pciDeviceID": 0,
        "pciDomainID": 0,
        "multiProcessorCount": 1,
        "warpSize": 32,
        "maxThreadsPerBlock": 1024,
        **info.properties,
    }


def deviceCanAccessPeer(device: int, peerDevice: int) -> int:
    """Return 0: devices of a pool have no peer access."""
    check_device(device)
    check_device(peerDevice)
    return 0


def runtimeGetVersion() -> int:
    """Return the CUDA runtime version of the CuPy that is mimicked (12.9)."""
    return 12090


def driverGetVersion() -> int:
    """Return the driver version that goes with `runtimeGetVersion`."""
    return 12090


_unsupported.fill(globals(), "cupy.cuda.runtime")

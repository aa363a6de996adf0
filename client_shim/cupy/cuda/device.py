"""`cupy.cuda.Device`: which of the granted devices a thread works on."""

from __future__ import annotations

import threading
from typing import Any

from cupool.client_shim import session as _session
from cupool.client_shim.cupy import _unsupported
from cupool.client_shim.cupy.cuda import _runtime_devices, _runtime_memory, runtime
from cupool.proto.operations.api import listing


class _Thread(threading.local):
    def __init__(self) -> None:
        self.stack: list[int] = []
        self.handles: dict[tuple[str, int], int] = {}


_thread = _Thread()


class Device:
    """One of the granted devices, numbered 0, 1, ... in the order of the grant.

    As a context manager it is the thread's current device inside.

    Args:
        device: number or another Device; the current one by default.

    Raises:
        CUDARuntimeError: on use, if there is no such device.
    """

    __module__ = "cupy.cuda"

    def __init__(self, device: Any = None) -> None:
        self.id = _session.current.device if device is None else int(device)

    @classmethod
    def from_pci_bus_id(cls, pci_bus_id: str) -> Device:
        """Return the device at an address of its server's bus.

        Raises:
            CUDARuntimeError: not an address, or none of the granted devices is there.
        """
        return cls(runtime.deviceGetByPCIBusId(pci_bus_id))

    def __int__(self) -> int:
        return self.id

    def __index__(self) -> int:
        return self.id

    def __enter__(self) -> Device:
        _thread.stack.append(_session.current.device)
        if self.id != _session.current.device:
            runtime.setDevice(self.id)
        return self

    def __exit__(self, *exc: object) -> None:
        _session.current.device = _thread.stack.pop()

    def use(self) -> Device:
        """Make it the thread's current device."""
        runtime.setDevice(self.id)
        return self

    def synchronize(self) -> None:
        """Wait for everything queued on the device; raises what went wrong."""
        _runtime_devices.session_of(self.id).synchronize()

    @property
    def compute_capability(self) -> str:
        """Major and minor number without a dot, e.g. "90"."""
        return _runtime_devices.session_of(self.id).info.compute_capability.replace(".", "")

    @property
    def mem_info(self) -> tuple[int, int]:
        """Free and total bytes: the granted share is the total."""
        return _runtime_memory.memory_info(_runtime_devices.session_of(self.id))

    @property
    def pci_bus_id(self) -> str:
        """Address on its server's bus, "domain:bus:device.function" in hexadecimal."""
        return runtime.deviceGetPCIBusId(self.id)

    @property
    def attributes(self) -> dict[str, int]:
        """CUDA's attributes by name without "cudaDevAttr", e.g. "MaxThreadsPerBlock"."""
        found = {}
        for name, number in _ATTRIBUTES.items():
            try:
                found[name] = runtime.deviceGetAttribute(number, self.id)
            except runtime.CUDARuntimeError as exc:
                if exc.status != runtime.errorInvalidValue:
                    raise
        return found

    def _handle(self, library: str) -> int:
        """Return the thread's handle of a library on this device, made at first use."""
        from cupool.client_shim.cupy.cuda import _libraries

        handle = _thread.handles.get((library, self.id))
        if handle is None:
            _runtime_devices.check_device(self.id)
            handle = _thread.handles[library, self.id] = _libraries.create(library, self.id)
        return handle

    @property
    def cublas_handle(self) -> int:
        """The thread's cuBLAS handle."""
        return self._handle("cublas")

    @property
    def cusolver_handle(self) -> int:
        """The thread's cuSOLVER handle."""
        return self._handle("cusolver")

    @property
    def cusolver_sp_handle(self) -> int:
        """The thread's handle of cuSOLVER for sparse matrices."""
        return self._handle("cusolver_sp")

    @property
    def cusparse_handle(self) -> int:
        """The thread's cuSPARSE handle."""
        return self._handle("cusparse")

    @property
    def cutensor_handle(self) -> Any:
        """Refused: cuTENSOR is not supported by cupool."""
        _unsupported.refuse("cupy.cuda.Device.cutensor_handle")

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Device) and self.id == other.id

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __lt__(self, other: object) -> bool:
        return self.id < other.id if isinstance(other, Device) else NotImplemented

    def __le__(self, other: object) -> bool:
        return self.id <= other.id if isinstance(other, Device) else NotImplemented

    def __gt__(self, other: object) -> bool:
        return self.id > other.id if isinstance(other, Device) else NotImplemented

    def __ge__(self, other: object) -> bool:
        return self.id >= other.id if isinstance(other, Device) else NotImplemented

    def __hash__(self) -> int:
        return hash(("Device", self.id))

    def __repr__(self) -> str:
        return f"<CUDA Device {self.id}>"


_PREFIX = "cupy.cuda.runtime.cudaDevAttr"
_ATTRIBUTES = {
    name.removeprefix(_PREFIX): int(number)
    for name, number in listing().constants.items()
    if name.startswith(_PREFIX)
}


def get_device_id() -> int:
    """Return the number of the thread's current device."""
    return _session.current.device


def get_compute_capability() -> str:
    """Return the compute capability of the current device."""
    return Device().compute_capability


def from_pointer(ptr: int) -> Device:
    """Return the device on which an address is."""
    return Device(runtime.pointerGetAttributes(ptr).device)


def get_cublas_handle() -> int:
    """Return the thread's cuBLAS handle on the current device."""
    return Device().cublas_handle


def get_cusolver_handle() -> int:
    """Return the thread's cuSOLVER handle on the current device."""
    return Device().cusolver_handle


def get_cusolver_sp_handle() -> int:
    """Return the thread's handle of cuSOLVER for sparse matrices on the current device."""
    return Device().cusolver_sp_handle


def get_cusparse_handle() -> int:
    """Return the thread's cuSPARSE handle on the current device."""
    return Device().cusparse_handle


def get_cutensor_handle() -> Any:
    """Refused: cuTENSOR is not supported by cupool."""
    return Device().cutensor_handle


_unsupported.fill(globals(), "cupy.cuda.device")

"""`cupy.cuda.Device`: which of the granted devices a thread works on."""

from __future__ import annotations

import threading
from typing import Any

from cupool.client_shim import session as _session
from cupool.client_shim.cupy.cuda import runtime


class _Stack(threading.local):
    def __init__(self) -> None:
        self.devices: list[int] = []


_stack = _Stack()


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

    def __int__(self) -> int:
        return self.id

    def __index__(self) -> int:
        return self.id

    def __enter__(self) -> Device:
        _stack.devices.append(_session.current.device)
        self._select()
        return self

    def __exit__(self, *exc: object) -> None:
        _session.current.device = _stack.devices.pop()

    def use(self) -> Device:
        """Make it the thread's current device."""
        self._select()
        return self

    def _select(self) -> None:
        if self.id != 0:
            runtime.check_device(self.id)
        _session.current.device = self.id

    def _session(self) -> _session.DeviceSession:
        runtime.check_device(self.id)
        return _session.sessions()[self.id]

    def synchronize(self) -> None:
        """Wait for everything queued on the device; raises what went wrong."""
        self._session().synchronize()

    @property
    def compute_capability(self) -> str:
        """Two digits, e.g. "90"."""
        return self._session().info.compute_capability.replace(".", "")

    @property
    def mem_info(self) -> tuple[int, int]:
        """Free and total bytes: the granted share is the total."""
        return runtime.memory_info(self._session())

    @property
    def pci_bus_id(self) -> str:
        """An address made of the device's place in the lease."""
        return f"0000:{self.id:02X}:00.0"

    @property
    def attributes(self) -> dict[str, Any]:
        """Numbers that the server told of the device."""
        return dict(self._session().info.properties)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Device) and self.id == other.id

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __lt__(self, other: Device) -> bool:
        return self.id < other.id

    def __hash__(self) -> int:
        return hash(("Device", self.id))

    def __repr__(self) -> str:
        return f"<CUDA Device {self.id}>"


def get_device_id() -> int:
    """Return the number of the thread's current device."""
    return _session.current.device


def get_compute_capability() -> str:
    """Return the compute capability of the current device."""
    return Device().compute_capability

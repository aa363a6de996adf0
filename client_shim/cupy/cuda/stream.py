"""`cupy.cuda.Stream` and `Event`: ordered queues on a device, and points in them.

The server orders operations by their streams; what a program leaves unordered runs in the order
of the calls, which is one of those that CUDA allows (`cupool run --mock-race` tries others).
"""

from __future__ import annotations

import threading
import warnings
from collections.abc import Callable
from typing import Any, ClassVar

from cupool.client_shim import session as _session
from cupool.client_shim.cupy import _unsupported
from cupool.client_shim.cupy.cuda import _runtime_streams as _calls
from cupool.client_shim.cupy.cuda import graph, runtime


class _Thread(threading.local):
    """A thread's streams: the current one of each device, and those of its `with` statements."""

    def __init__(self) -> None:
        self.current: dict[int, _BaseStream] = {}
        self.stacks: dict[int, list[_BaseStream]] = {}
        self.devices: list[int] = []

    def get(self, device: int) -> _BaseStream:
        return self.current.get(device) or _default()

    def set(self, stream: _BaseStream, device: int) -> None:
        _calls.set_current_pointer(stream.ptr, device)
        self.current[device] = stream

    def push(self, stream: _BaseStream, device: int) -> None:
        self.set(stream, device)
        self.stacks.setdefault(device, [_default()]).append(stream)
        self.devices.append(device)

    def pop(self) -> None:
        """Go back to what the enclosing `with` made current; `use()` in between is forgotten."""
        device = self.devices.pop()
        stack = self.stacks[device]
        stack.pop()
        self.set(stack[-1], device)


class Event:
    """A point in a stream, with a time by the server's clock.

    Args:
        block: accepted; to wait for an event never spins.
        disable_timing: keep no time.
        interprocess: accepted together with `disable_timing`.

    Attributes:
        ptr: a number that stands for it.

    Raises:
        ValueError: `interprocess` with timing.
    """

    __module__ = "cupy.cuda"

    def __init__(
        self, block: bool = False, disable_timing: bool = False, interprocess: bool = False
    ) -> None:
        self.ptr = 0
        if interprocess and not disable_timing:
            raise ValueError("Timing must be disabled for interprocess events")
        flags = (
            (runtime.eventBlockingSync if block else 0)
            | (runtime.eventDisableTiming if disable_timing else 0)
            | (runtime.eventInterprocess if interprocess else 0)
        )
        self.ptr = runtime.eventCreateWithFlags(flags)

    def __del__(self) -> None:
        _destroy(self, _calls.eventDestroy)

    @property
    def done(self) -> bool:
        """Whether the point was reached: asks the server."""
        return runtime.eventQuery(self.ptr) == 0

    def record(self, stream: Any = None) -> None:
        """Mark the point behind what is in a stream, the current one by default."""
        pointer = _calls.current_pointer() if stream is None else stream.ptr
        runtime.eventRecord(self.ptr, pointer)

    def synchronize(self) -> None:
        """Wait until the point is reached."""
        runtime.eventSynchronize(self.ptr)


def _destroy(owner: Any, destroy: Callable[[int], None]) -> None:
    """Forget what stands behind an object, also while the interpreter goes down."""
    try:
        if owner.ptr > runtime.streamPerThread:
            destroy(owner.ptr)
    except (AttributeError, TypeError, runtime.CUDARuntimeError):
        return  # it was never made, or is gone with its session


def get_elapsed_time(start_event: Event, end_event: Event) -> float:
    """Return the milliseconds between two recorded events.

    Raises:
        CUDARuntimeError: one was not recorded, keeps no time, or is not reached.
    """
    return runtime.eventElapsedTime(start_event.ptr, end_event.ptr)


class _BaseStream:
    """What streams have in common.

    Attributes:
        ptr: a number that stands for it; 0, 1 and 2 for the default streams, as in CUDA.
        device_id: the device that it was made on, -1 for the default streams.
    """

    def __init__(self, ptr: int, device_id: int) -> None:
        self.ptr = ptr
        self.device_id = device_id

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _BaseStream) and self.ptr == other.ptr

    def __hash__(self) -> int:
        return self.ptr

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.ptr} (device {self.device_id})>"

    def __cuda_stream__(self) -> tuple[int, int]:
        """The stream for other libraries: version 0 of the protocol, and `ptr`."""
        return (0, self.ptr)

    def _device(self) -> int:
        device = _session.current.device
        if self.device_id not in (-1, device):
            raise RuntimeError(
                f"The device that the stream is created on ({self.device_id}) does not match with"
                f" the current device ({device})"
            )
        return device

    def __enter__(self) -> Any:
        _thread.push(self, self._device())
        return self

    def __exit__(self, *exc: object) -> None:
        _thread.pop()

    def use(self) -> Any:
        """Make it the thread's current stream."""
        _thread.set(self, self._device())
        return self

    @property
    def done(self) -> bool:
        """Whether everything queued is finished: asks the server."""
        return runtime.streamQuery(self.ptr) == 0

    def synchronize(self) -> None:
        """Wait for everything queued, host functions included; raises what went wrong."""
        runtime.streamSynchronize(self.ptr)

    def add_callback(self, callback: Callable[[Any, int, Any], object], arg: Any) -> None:
        """Call `callback(stream, status, arg)` on this machine after what is queued."""
        runtime.streamAddCallback(
            self.ptr, lambda pointer, status, nothing: callback(self, status, arg), 0
        )

    def launch_host_func(self, callback: Callable[[Any], object], arg: Any) -> None:
        """Call `callback(arg)` on this machine after what is queued; does not wait for it."""
        runtime.launchHostFunc(self.ptr, callback, arg)

    def record(self, event: Event | None = None) -> Event:
        """Put an event, a new one by default, behind what is queued."""
        event = Event() if event is None else event
        runtime.eventRecord(event.ptr, self.ptr)
        return event

    def wait_event(self, event: Event) -> None:
        """Let later operations wait for an event."""
        runtime.streamWaitEvent(self.ptr, event.ptr)

    def begin_capture(self, mode: int | None = None) -> None:
        """Keep what comes later for a graph instead of doing it; end with `end_capture`.

        Raises:
            RuntimeError: the default stream.
        """
        if self.ptr in (0, runtime.streamLegacy):
            raise RuntimeError("cannot capture on the default (legacy) stream")
        runtime.streamBeginCapture(
            self.ptr, runtime.streamCaptureModeRelaxed if mode is None else mode
        )

    def end_capture(self) -> graph.Graph:
        """Return the graph of what was called since `begin_capture`."""
        return graph.Graph._from_pointer(runtime.streamEndCapture(self.ptr))

    def is_capturing(self) -> bool:
        """Whether it is capturing."""
        return runtime.streamIsCapturing(self.ptr)

    @property
    def is_non_blocking(self) -> bool:
        """Whether it is out of step with the null stream."""
        return bool(runtime.streamGetFlags(self.ptr) & runtime.streamNonBlocking)

    @property
    def priority(self) -> int:
        """Lower numbers go first."""
        return runtime.streamGetPriority(self.ptr)


class Stream(_BaseStream):
    """An ordered queue of operations on the device that is current when it is made.

    Args:
        null: the default stream, which keeps step with all others.
        non_blocking: keep out of step with the null stream.
        ptds: the thread's own default stream.
        priority: lower numbers go first, -5 to 0.
    """

    __module__ = "cupy.cuda"
    null: ClassVar[Stream]
    ptds: ClassVar[Stream]

    def __init__(
        self,
        null: bool = False,
        non_blocking: bool = False,
        ptds: bool = False,
        priority: int | None = None,
    ) -> None:
        self._foreign_stream_ref: Any = None
        if null:
            super().__init__(0, -1)
        elif ptds:
            super().__init__(runtime.streamPerThread, -1)
        else:
            flags = runtime.streamNonBlocking if non_blocking else runtime.streamDefault
            pointer = runtime.streamCreateWithPriority(flags, priority or 0)
            super().__init__(pointer, _session.current.device)

    @classmethod
    def from_external(cls, obj: Any) -> Stream:
        """Return the stream of an object with `__cuda_stream__`, which is kept alive.

        Raises:
            TypeError: it has none, or gives something else than (0, address).
        """
        protocol = getattr(obj, "__cuda_stream__", None)
        if protocol is None:
            raise TypeError(f"{type(obj)} does not implement the CUDA stream protocol")
        told = protocol()
        if not isinstance(told, tuple) or len(told) != 2:
            raise TypeError(f"__cuda_stream__ must return a 2-tuple, not {told!r}")
        version, pointer = told
        if not isinstance(version, int) or not isinstance(pointer, int):
            raise TypeError(f"__cuda_stream__ must return (int, int), not {told!r}")
        if version != 0:
            raise TypeError(f"__cuda_stream__ has the unsupported version {version}, 0 is known")
        stream = cls.__new__(cls)
        _BaseStream.__init__(stream, pointer, -1)
        stream._foreign_stream_ref = obj
        return stream

    def __del__(self) -> None:
        if getattr(self, "_foreign_stream_ref", None) is None:
            _destroy(self, _calls.streamDestroy)


class ExternalStream(_BaseStream):
    """A stream that `cupy.cuda.runtime` or another object made; it is not destroyed.

    Args:
        ptr: what stands for it.
        device_id: its device, -1 if unknown.
    """

    __module__ = "cupy.cuda"

    def __init__(self, ptr: int, device_id: int = -1) -> None:
        warnings.warn(
            "ExternalStream is deprecated. Use Stream.from_external instead.",
            DeprecationWarning,
            stacklevel=2,
        )
        super().__init__(ptr, device_id)


Stream.null = Stream(null=True)
Stream.ptds = Stream(ptds=True)
_thread = _Thread()
_session.on_reset(lambda: _thread.__init__())  # type: ignore[misc]


def is_ptds_enabled() -> bool:
    """Whether CUPY_CUDA_PER_THREAD_DEFAULT_STREAM makes each thread's own stream its default."""
    return _calls.default_pointer == runtime.streamPerThread


def get_default_stream_ptr() -> int:
    """Return the default stream by its number: 1 or 2, as in CUDA."""
    return runtime.streamPerThread if is_ptds_enabled() else runtime.streamLegacy


def _default() -> Stream:
    return Stream.ptds if is_ptds_enabled() else Stream.null


def get_current_stream(device_id: int = -1) -> Any:
    """Return the thread's current stream on a device, the current one by default."""
    return _thread.get(_session.current.device if device_id == -1 else device_id)


_unsupported.fill(globals(), "cupy.cuda.stream")

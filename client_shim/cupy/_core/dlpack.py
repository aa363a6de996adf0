"""DLPack: our arrays to the host by copy, and to ourselves without; nothing else can be reached."""

from __future__ import annotations

import warnings
from math import prod
from typing import Any

from numpy.exceptions import VisibleDeprecationWarning

from cupool.client_shim.cupy._core import _capsules, core
from cupool.client_shim.cupy.cuda import _runtime_streams as streams
from cupool.client_shim.cupy.cuda import memory, runtime
from cupool.errors import OperationNotSupported


def _deprecated() -> None:
    warnings.warn(
        "This function is deprecated and will be removed in a future release."
        " Use the cupy.from_dlpack() array constructor instead.",
        VisibleDeprecationWarning,
        stacklevel=3,
    )


def device_of(array: core.ndarray) -> tuple[int, int]:
    """Return the device of an array as DLPack names it: a CUDA device or its managed memory."""
    kind = _capsules.CUDA
    if getattr(array.data.mem, "identity", "") == "ManagedMemory" or isinstance(
        array.data.mem, memory.ManagedMemory
    ):
        kind = _capsules.MANAGED
    return (kind, core.session_of(array).ordinal)


def export(
    array: core.ndarray, stream: Any, max_version: Any, dl_device: Any, copy: bool | None
) -> Any:
    """Return a capsule of an array.

    A capsule of device memory is good for `cupy.from_dlpack` of this script: other libraries are
    shown a device that they do not know, since the memory is not of this machine.

    Raises:
        BufferError: another device than the array's and the CPU, or a copy on the device.
        ValueError: the CPU without a copy.
    """
    versioned = max_version is not None and max_version[0] >= 1
    if dl_device is None or tuple(dl_device) == device_of(array):
        if copy is True:
            raise BufferError("copy=True only supported for copy to CPU.")
        _order(stream)
        address = array.data.ptr if array.size else 0
        ordinal = core.session_of(array).ordinal
        return _capsules.device_capsule(array, address, ordinal, versioned)
    if tuple(dl_device) != (_capsules.CPU, 0):
        raise BufferError("unsupported device requested.")
    if copy is False:
        raise ValueError("GPU memory cannot be exported to CPU without copy.")
    return _capsules.host_capsule(array.get(order="A"), versioned)


def _order(stream: Any) -> None:
    """Let the consumer's stream wait for what is in ours."""
    consumer = runtime.streamLegacy if stream is None else stream
    if not isinstance(consumer, int) or consumer < -1:
        raise ValueError(
            "On CUDA, the valid stream for the DLPack protocol is -1, 1, 2, or any larger value,"
            f" but {stream} was provided"
        )
    if consumer == 0:
        warnings.warn(
            "Stream 0 is passed from a library that you are converting to; CuPy assumes 0 as a"
            " legacy default stream. Please report this problem to the library as this violates"
            " the DLPack protocol.",
            stacklevel=4,
        )
        consumer = runtime.streamLegacy
    current = streams.current_pointer() or runtime.streamLegacy
    if consumer not in (-1, current):
        event = streams.eventCreateWithFlags(streams.eventDisableTiming)
        streams.eventRecord(event, current)
        streams.streamWaitEvent(consumer, event)
        streams.eventDestroy(event)


class DLPackMemory(memory.UnownedMemory):
    """Memory that a capsule of ours shows; the capsule's array is kept as long as this."""

    __module__ = "cupy._core.dlpack"

    def __init__(self, shown: _capsules.Shown) -> None:
        size_bytes = shown.dtype.itemsize * prod(shown.shape)
        super().__init__(shown.address, size_bytes, None, shown.device[1])
        self._release = shown.release

    def __del__(self) -> None:
        release = getattr(self, "_release", None)
        if release is not None:
            release()


def _consume(capsule: Any) -> core.ndarray:
    shown = _capsules.take(capsule)
    if shown.device[0] != _capsules.ELSEWHERE:
        shown.release()
        if shown.device[0] not in (_capsules.CUDA, _capsules.MANAGED):
            raise RuntimeError(
                "CuPy is built against CUDA, different from the backend that backs the incoming"
                " DLPack tensor"
            )
        raise OperationNotSupported(
            "this DLPack tensor lies on a GPU of this machine, which the pool's GPU cannot reach",
            remedy="copy it by way of the host:   cupy.asarray(tensor.cpu().numpy())",
        )
    pointer = memory.MemoryPointer(DLPackMemory(shown), 0)
    return core.ndarray(shown.shape, shown.dtype, pointer, shown.strides)


def fromDlpack(dltensor: Any) -> core.ndarray:
    """Deprecated: `from_dlpack` of a capsule."""
    _deprecated()
    return _consume(dltensor)


def toDlpack(array: core.ndarray) -> Any:
    """Deprecated: `array.__dlpack__()`, in the newer version of the structure."""
    _deprecated()
    return export(array, -1, (1, 0), None, None)


def from_dlpack(array: Any, *, device: Any = None, copy: bool | None = None) -> core.ndarray:
    """Return an array over the memory of an object with `__dlpack__`, or of a capsule.

    Args:
        array: an array of this script's session.
        device: not supported, as in CuPy.
        copy: handed to the object.

    Raises:
        BufferError: a copy on the device.
        TypeError: it is not on a CUDA device.
        OperationNotSupported: memory of a GPU of this machine.
    """
    if not hasattr(array, "__dlpack_device__"):
        return _consume(array)
    kind, ordinal = array.__dlpack_device__()
    if device is not None:
        raise NotImplementedError("from_dlpack() does not support device yet.")
    if kind == _capsules.CPU:
        raise TypeError(
            "CPU arrays cannot be directly imported to CuPy."
            " Use `cupy.array(numpy.from_dlpack(input))` instead."
        )
    if kind not in (_capsules.CUDA, _capsules.MANAGED):
        raise TypeError(f"Unsupported array type: {kind}")
    stream = streams.current_pointer() or runtime.streamLegacy
    options: dict[str, Any] = {} if copy is None else {"copy": copy}
    try:
        capsule = array.__dlpack__(stream=stream, max_version=(1, 0), **options)
    except TypeError:
        if copy is not None:
            raise
        capsule = array.__dlpack__(stream=stream)  # a producer of before version 1
    made = _consume(capsule)
    if made.device.id != ordinal:
        raise ValueError(f"the capsule's device is not that which was announced ({ordinal})")
    return made

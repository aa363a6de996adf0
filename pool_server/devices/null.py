"""The null device: answers at once, computes nothing. What is left is cupool's own overhead."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from cupool.errors import OperationNotSupported
from cupool.pool_server.devices.base import (
    Device,
    Direct,
    Layout,
    MemoryUse,
    check_bounds,
    memory_order,
)
from cupool.proto.messages import DeviceInfo
from cupool.proto.operations import Operation

_NOWHERE = 0x7F0000000000
_ANSWERS: dict[str, Any] = {
    "RawModule.describe": {"names": {}, "log": ""},
    "RawModule.global_size": 0,
    "nvrtc.compileProgram": {"status": 0, "log": "", "ptx": "", "cubin": "", "names": {}},
    "ElementwiseKernel.codes": [],
    "ReductionKernel.codes": [],
}


class NullArray:
    """An array's layout; `owner_bytes` is the size of the memory that it would lie in."""

    __slots__ = ("layout", "owner_bytes")

    def __init__(self, layout: Layout, owner_bytes: int | None = None) -> None:
        self.layout = layout
        self.owner_bytes = layout.size_bytes if owner_bytes is None else owner_bytes


class NullDevice(Device):
    """Results are as promised, and zero when somebody looks."""

    def __init__(
        self, server: str = "local", ordinal: int = 0, memory_bytes: int = 4 << 30
    ) -> None:
        self.info = DeviceInfo(
            "cupool null device", "null", memory_bytes, "8.0", server, ordinal, {}
        )
        self._limit_bytes = 0

    def empty(self, layout: Layout) -> NullArray:
        memory_order(layout)
        return NullArray(layout)

    def upload(self, layout: Layout, data: memoryview) -> NullArray:
        return NullArray(layout)

    def write(self, target: NullArray, layout: Layout, data: memoryview) -> None:
        return None

    def view(self, owner: NullArray, offset_bytes: int, layout: Layout) -> NullArray:
        check_bounds(offset_bytes, layout, owner.owner_bytes)
        return NullArray(layout, owner.owner_bytes)

    def fetch(self, source: NullArray) -> tuple[Layout, memoryview]:
        layout = source.layout
        order = "F" if layout.order == "F" else "C"
        zeros = np.zeros(layout.size_bytes, np.uint8)
        return Layout(layout.shape, layout.dtype, order), zeros.data

    def fill(self, target: NullArray, value: Any) -> None:
        return None

    def assign(self, target: NullArray, source: Any) -> None:
        return None

    def call(
        self,
        operation: Operation,
        args: Sequence[Any],
        kwargs: Mapping[str, Any],
        outs: Sequence[Layout | None],
    ) -> list[Any]:
        # An object of the device, such as a generator, has no layout either and is welcome.
        if operation.kind == "query":
            return [_ANSWERS.get(operation.name, {})]
        asks = operation.kind == "object" and operation.rule == "data"
        if None in outs and (asks or not operation.has_objects):
            raise OperationNotSupported(
                f"'{operation.name}': the null device computes nothing, and the shape of this "
                "result depends on data",
                remedy="use the mock device:   cupool serve --mock 1",
            )
        return [NullArray(out) if out is not None else None for out in outs]

    def direct(self, operation: Operation) -> Direct | None:
        if operation.has_objects or operation.kind == "query" or operation.outputs != 1:
            return None
        return lambda args, layout: NullArray(layout)

    def layout(self, array: NullArray) -> Layout:
        return array.layout

    def matches(self, array: NullArray, layout: Layout) -> bool:
        return array.layout is layout or super().matches(array, layout)

    def address(self, array: NullArray) -> int:
        return _NOWHERE

    def relay(self, array: NullArray, layout: Layout) -> NullArray:
        return NullArray(layout)

    def free(self, array: NullArray) -> None:
        return None

    def synchronize(self) -> None:
        return None

    def memory(self) -> MemoryUse:
        return MemoryUse(0, 0, 0, self._limit_bytes)

    def release_blocks(self) -> None:
        return None

    def set_limit(self, size_bytes: int) -> None:
        self._limit_bytes = size_bytes

    def close(self) -> None:
        return None

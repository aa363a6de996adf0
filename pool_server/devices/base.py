"""What a device back end is: a small interface that a session worker drives.

`Array` below is whatever the back end keeps for an array (a NumPy array on the mock, a CuPy
array on CUDA); nobody else looks inside.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from math import prod
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from cupool.pool_server.devices.queues import Queues
from cupool.proto.messages import DeviceInfo
from cupool.proto.operations import Operation
from cupool.proto.values import DType

if TYPE_CHECKING:
    from cupool.pool_server.devices.mock.streams import RaceSchedule
    from cupool.pool_server.session.turns import MemoryShare

Array: TypeAlias = Any
Order: TypeAlias = "str | tuple[int, ...]"
Direct: TypeAlias = "Callable[[Sequence[Any], Layout], Array]"


@dataclass(frozen=True, slots=True)
class Layout:
    """Shape, dtype and strides: `order` is "C", "F" or strides in bytes."""

    shape: tuple[int, ...]
    dtype: DType
    order: Order = "C"
    size_bytes: int = field(init=False, compare=False, repr=False, default=0)

    def __post_init__(self) -> None:
        object.__setattr__(self, "size_bytes", prod(self.shape) * self.dtype.itemsize)


@dataclass(frozen=True, slots=True)
class MemoryUse:
    """Of the session's memory pool, in bytes; `limit_bytes` 0 = none but the device's size.

    `outside_bytes` were allocated beside the pool; `blocks` are those that it keeps for reuse.
    """

    used_bytes: int
    held_bytes: int
    total_bytes: int
    limit_bytes: int
    outside_bytes: int = 0
    blocks: int = 0


class Device(ABC):
    """One device as one session sees it. Single-threaded: the worker's loop is the only caller.

    Errors are Python exceptions; those that CuPy raises (`OutOfMemoryError`, ...) have CuPy's
    class names and arguments, see `cupool.proto.failures`.

    Attributes:
        info: what the client is told.
        queues: streams and events.
        schedule: decides in which order operations run; None = as they come.
    """

    info: DeviceInfo
    queues: Queues = Queues()
    schedule: RaceSchedule | None = None

    @abstractmethod
    def empty(self, layout: Layout) -> Array:
        """Allocate, not cleared; memory that another tenant used before is zeroed."""

    @abstractmethod
    def upload(self, layout: Layout, data: memoryview) -> Array:
        """Make an array of host bytes (laid out as `layout` says, "C" or "F")."""

    @abstractmethod
    def write(self, target: Array, layout: Layout, data: memoryview) -> None:
        """Overwrite an array of the same shape and dtype with host bytes."""

    @abstractmethod
    def view(self, owner: Array, offset_bytes: int, layout: Layout) -> Array:
        """Make a view of an owner's memory; bounds are checked."""

    @abstractmethod
    def fetch(self, source: Array) -> tuple[Layout, memoryview]:
        """Copy an array to the host, contiguous: F order if it is F and not C, else C order."""

    @abstractmethod
    def fill(self, target: Array, value: Any) -> None: ...

    @abstractmethod
    def assign(self, target: Array, source: Any) -> None:
        """Copy with broadcasting and unsafe casting; overlapping memory is handled."""

    @abstractmethod
    def call(
        self,
        operation: Operation,
        args: Sequence[Any],
        kwargs: Mapping[str, Any],
        outs: Sequence[Layout | None],
    ) -> list[Array]:
        """Run an operation of the table and return its new arrays (or objects).

        Args:
            outs: what the client predicted for each, None where it could not; one entry for each
                expected result. A device may use them to check memory first and to pick layouts.
        """

    @abstractmethod
    def layout(self, array: Array) -> Layout:
        """Describe an array as it is."""

    @abstractmethod
    def relay(self, array: Array, layout: Layout) -> Array:
        """Copy an array into the promised memory layout."""

    @abstractmethod
    def free(self, array: Array) -> None:
        """The session has dropped its last handle of this array (views count by themselves)."""

    @abstractmethod
    def synchronize(self) -> None: ...

    @abstractmethod
    def memory(self) -> MemoryUse: ...

    @abstractmethod
    def release_blocks(self) -> None: ...

    @abstractmethod
    def set_limit(self, size_bytes: int) -> None: ...

    def limit_plans(self, count: int, size_bytes: int, *, clear: bool) -> None:
        """Limit the cuFFT plans that are kept, -1 = no limit; a device may keep none."""
        return None

    @abstractmethod
    def close(self) -> None: ...

    def use_share(self, share: MemoryShare) -> None:
        """Ask `share` before the session's memory grows, tell it when that shrinks."""
        return None

    # What follows has defaults.

    def allocate(self, size_bytes: int, kind: str) -> Array:
        """Allocate bytes outside the memory pool; `kind` is "device", "managed" or "async".

        Raises:
            CUDARuntimeError: there is no room.
        """
        return self.empty(Layout((size_bytes,), np.dtype(np.uint8)))

    def address(self, array: Array) -> int:
        """Return the device address of an array's first byte."""
        raise NotImplementedError(f"a {self.info.kind} device has no addresses")

    def attributes(self) -> dict[str, dict[str, Any]]:
        """Return CUDA's "attributes" (by number, as text) and "properties" of the device."""
        return {"attributes": {}, "properties": dict(self.info.properties)}

    # A back end overrides these to be faster.

    def matches(self, array: Array, layout: Layout) -> bool:
        """Is the array laid out as promised? Strides count only where they have a meaning."""
        return agrees(self.layout(array), layout)

    def direct(self, operation: Operation) -> Direct | None:
        """Return a quicker `call` for positional arguments and one result, if there is one."""
        return None

    def context(self) -> AbstractContextManager[Any]:
        """Return what must surround the operations of a batch."""
        return nullcontext()

    def take_printed(self) -> str:
        """Return what kernels have printed since the last call, bounded as on a GPU."""
        return ""

    def host_memory(self, array: Array) -> memoryview | None:
        """Return the array's own memory to receive into or send from, None if the host has none.

        Only for contiguous arrays; the caller runs no operation while it uses the memory.
        """
        return None


def contiguous_strides(shape: Sequence[int], itemsize: int, order: str = "C") -> tuple[int, ...]:
    """Return the strides of a contiguous array, for lengths of 0 as NumPy computes them."""
    strides: list[int] = []
    step = itemsize
    for length in reversed(shape) if order == "C" else shape:
        strides.append(step)
        step *= max(length, 1)
    return tuple(reversed(strides)) if order == "C" else tuple(strides)


def strides_of(layout: Layout) -> tuple[int, ...]:
    """Return a layout's strides in bytes."""
    if isinstance(layout.order, tuple):
        return layout.order
    return contiguous_strides(layout.shape, layout.dtype.itemsize, layout.order)


def agrees(made: Layout, promised: Layout) -> bool:
    """Compare layouts; strides of empty arrays and of dimensions of length 1 mean nothing."""
    if made.dtype != promised.dtype or made.shape != promised.shape:
        return False
    if made.order == promised.order or 0 in made.shape:
        return True
    rows = zip(made.shape, strides_of(made), strides_of(promised), strict=True)
    return all(length == 1 or ours == theirs for length, ours, theirs in rows)


def extent(layout: Layout) -> tuple[int, int]:
    """Return the lowest and one past the highest byte that a layout touches, from its origin."""
    if 0 in layout.shape:
        return 0, 0
    low, high = 0, layout.dtype.itemsize
    for length, stride in zip(layout.shape, strides_of(layout), strict=True):
        reach = (length - 1) * stride
        low, high = (low + reach, high) if reach < 0 else (low, high + reach)
    return low, high


def memory_order(layout: Layout) -> list[int]:
    """Return the axes of a dense layout from the slowest to the fastest in memory.

    Raises:
        ValueError: the layout has gaps or overlaps, so that it cannot own its memory.
    """
    strides = strides_of(layout)
    axes = sorted(range(len(strides)), key=lambda i: (strides[i], layout.shape[i]), reverse=True)
    step = layout.dtype.itemsize
    for axis in reversed(axes):
        if layout.shape[axis] != 1 and strides[axis] != step and layout.size_bytes:
            raise ValueError(f"strides {strides} of shape {layout.shape} are not dense")
        step *= layout.shape[axis]
    return axes


def check_bounds(offset_bytes: int, layout: Layout, size_bytes: int) -> None:
    """Raise ValueError if a view would leave memory of `size_bytes`."""
    low, high = extent(layout)
    if offset_bytes + low < 0 or offset_bytes + high > size_bytes:
        raise ValueError(
            f"a view of bytes {offset_bytes + low} to {offset_bytes + high} "
            f"leaves its owner's {size_bytes} bytes"
        )

"""The mock device: arrays are NumPy arrays, memory is counted as CuPy's pool would."""

from __future__ import annotations

import importlib
import os
import time
import warnings
import weakref
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any

import numpy as np

from cupool.errors import PredictionMismatch
from cupool.pool_server.devices import errors
from cupool.pool_server.devices.base import (
    Device,
    Direct,
    Layout,
    MemoryUse,
    check_bounds,
    memory_order,
)
from cupool.pool_server.devices.mock import adapters, attributes, calls, elementwise
from cupool.pool_server.devices.mock.casts import cast
from cupool.pool_server.devices.mock.kernels.state import Kernels, open_kernels
from cupool.pool_server.devices.mock.memory import ROUND_BYTES, Block, MemoryPool
from cupool.pool_server.devices.mock.options import MockOptions
from cupool.pool_server.devices.mock.streams import RaceSchedule
from cupool.proto.messages import DeviceInfo
from cupool.proto.operations import Operation

if TYPE_CHECKING:
    from cupool.pool_server.session.turns import MemoryShare

NpArray = np.ndarray[Any, Any]

adapters.load()


class _Holder(weakref.ref[NpArray]):
    """Notices the end of an array that owns device memory."""

    __slots__ = ("block", "key", "span")
    block: Block | None
    key: int
    span: tuple[int, int] | None  # first byte and end, once a kernel has run


class MockDevice(Device):
    """A GPU made of NumPy.

    Args:
        server: name of the server, for `info`.
        ordinal: number of the device on its server.
        memory_bytes: what the session was granted.
        options: see `MockOptions`.
        sleep: how slowness is acted out.
    """

    def __init__(
        self,
        server: str = "local",
        ordinal: int = 0,
        memory_bytes: int = 4 << 30,
        options: MockOptions | None = None,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self.options = options or MockOptions()
        memory_bytes = self.options.memory_bytes or memory_bytes
        self.info = DeviceInfo(
            f"cupool mock {self.options.model or 'GPU'}",
            "mock",
            memory_bytes,
            self.options.compute,
            server,
            ordinal,
            {"multiProcessorCount": 1, "warpSize": 32},
        )
        self.pool = MemoryPool(memory_bytes)
        if self.options.race:
            self.schedule = RaceSchedule(self.options.race)
        self._sleep = sleep
        self._operations = 0
        self._functions: dict[str, calls.Adapter] = {}
        # Owners of device memory by id; an entry goes when the array does, so also when the last
        # view of a freed array goes.
        self._owners: dict[int, _Holder] = {}
        self._kernels: Kernels | None = None  # made when the session first sends a kernel

    # Memory

    def _own(self, array: NpArray, block: Block | None) -> NpArray:
        holder = _Holder(array, self._gone)
        holder.block = block
        holder.span = None
        holder.key = id(array)
        self._owners[holder.key] = holder
        return array

    def _gone(self, holder: _Holder) -> None:
        self._owners.pop(holder.key, None)
        self.pool.release(holder.block)

    def _allocate(self, layout: Layout) -> tuple[NpArray, NpArray]:
        """Return a new array and the owner of its memory, which differ for permuted layouts."""
        block = self.pool.allocate(layout.size_bytes)
        try:
            if isinstance(layout.order, str):
                owner = array = np.empty(layout.shape, layout.dtype, layout.order)  # type: ignore[call-overload]
            else:
                axes = memory_order(layout)
                owner = np.empty([layout.shape[axis] for axis in axes], layout.dtype)
                array = owner.transpose(np.argsort(axes)) if axes else owner
        except BaseException:
            self.pool.release(block)
            raise
        self._own(owner, block)
        return array, owner

    def empty(self, layout: Layout) -> NpArray:
        return self._allocate(layout)[0]

    def upload(self, layout: Layout, data: memoryview) -> NpArray:
        array = self.empty(layout)
        self.write(array, layout, data)
        return array

    def write(self, target: NpArray, layout: Layout, data: memoryview) -> None:
        self._copy_time(layout.size_bytes)
        target[...] = np.ndarray(layout.shape, layout.dtype, data, order=_letter(layout))

    def view(self, owner: NpArray, offset_bytes: int, layout: Layout) -> NpArray:
        root = _root(owner)
        check_bounds(offset_bytes, layout, root.nbytes)
        shape, order = layout.shape, layout.order
        if order == "C":
            return np.ndarray(shape, layout.dtype, _flat(root), offset_bytes)
        if order == "F":
            return np.ndarray(shape, layout.dtype, _flat(root), offset_bytes, order="F")
        if 0 in shape:
            # NumPy checks the strides of empty arrays too, though they touch nothing.
            return np.ndarray(shape, layout.dtype, _flat(root), min(offset_bytes, root.nbytes))
        return np.ndarray(shape, layout.dtype, _flat(root), offset_bytes, order)  # type: ignore[arg-type]

    def fetch(self, source: NpArray) -> tuple[Layout, memoryview]:
        self._copy_time(source.nbytes)
        flags = source.flags
        order = "F" if flags.f_contiguous and not flags.c_contiguous else "C"
        data = memoryview(source.tobytes("A" if order == "F" else "C"))
        return Layout(source.shape, source.dtype, order), data

    def host_memory(self, array: NpArray) -> memoryview | None:
        if not array.flags.forc or not array.nbytes:
            return None
        flat = array.reshape(-1, order="A" if array.flags.f_contiguous else "C")
        return flat.view(np.uint8).data

    def fill(self, target: NpArray, value: Any) -> None:
        self._step()
        if isinstance(value, np.ndarray) and value.ndim:
            raise ValueError("fill takes a scalar")
        target[...] = _real_if_needed(value, target.dtype)

    def assign(self, target: NpArray, source: Any) -> None:
        self._step()
        source = _real_if_needed(source, target.dtype)
        if isinstance(source, np.ndarray):
            source = cast(source, target.dtype)
        np.copyto(target, source, casting="unsafe")

    def allocate(self, size_bytes: int, kind: str) -> NpArray:
        block = self.pool.allocate_outside(size_bytes)
        # Aligned as cudaMalloc's: pools and kernels count on that.
        raw = memoryview(bytearray(size_bytes + ROUND_BYTES))
        start = -np.frombuffer(raw, np.uint8).ctypes.data % ROUND_BYTES
        return self._own(np.frombuffer(raw[start : start + size_bytes], np.uint8), block)

    def address(self, array: NpArray) -> int:
        return int(array.__array_interface__["data"][0])

    def attributes(self) -> dict[str, dict[str, Any]]:
        info = self.info
        found = attributes.of_mock(info.compute_capability, info.ordinal)
        return {"attributes": found, "properties": {}}

    # Operations

    def call(
        self,
        operation: Operation,
        args: Sequence[Any],
        kwargs: Mapping[str, Any],
        outs: Sequence[Layout | None],
    ) -> list[Any]:
        self._step()
        found = self._functions.get(operation.name)
        if found is None:
            found = self._functions[operation.name] = calls.resolve(operation)
        if operation.kind in ("kernel", "query"):
            return self._call_kernels(found, args, kwargs, outs)
        # As on a GPU, memory for the results is taken before anything is computed.
        blocks = [self.pool.allocate(out.size_bytes) if out is not None else None for out in outs]
        try:
            with _quiet():
                results = calls.run(found, operation, args, kwargs, outs)
        finally:
            # Owners made below take it again at once: nothing runs between.
            for block in blocks:
                self.pool.release(block)
        return [self._adopt(result) for result in results]

    def _call_kernels(
        self,
        found: calls.Adapter,
        args: Sequence[Any],
        kwargs: Mapping[str, Any],
        outs: Sequence[Layout | None],
    ) -> list[Any]:
        """Run a row of the user kernels: they allocate their arrays by this device."""
        if self._kernels is None:
            self._kernels = open_kernels(self, self._engine)
        if found.wants_outs:
            made: list[Any] = found.function(self._kernels, *args, outs=outs, **kwargs)
            return made
        result = found.function(self._kernels, *args, **kwargs)
        return [] if result is None else [result]

    def _engine(self) -> Any:
        # By name: it needs packages that a mock without kernels does without.
        ptx: Any = importlib.import_module("cupool.pool_server.devices.ptx.engine")
        options = ptx.EngineOptions.cached(self.options.kernel_s, bool(self.options.checked))
        return ptx.Engine(lambda: ptx.AllocationTable(self._spans()), options)

    def _spans(self) -> list[tuple[int, int]]:
        """Return the memory of this session, first bytes and ends: what a kernel may touch."""
        spans = []
        for holder in list(self._owners.values()):
            span = holder.span
            if span is None:
                array = holder()
                if array is None:
                    continue
                address = array.__array_interface__["data"][0]
                span = holder.span = (address, address + array.nbytes)
            spans.append(span)
        return spans

    def take_printed(self) -> str:
        return "" if self._kernels is None else self._kernels.take_printed()

    def direct(self, operation: Operation) -> Direct | None:
        if operation.kind != "ufunc" or self.options.has_faults:
            return None
        function = calls.resolve(operation).function
        if not isinstance(function, np.ufunc) or function.nout != 1:
            return None
        allocate, release, own = self.pool.allocate, self.pool.release, self._own
        ndarray = np.ndarray
        comparison = function in elementwise.COMPARISONS

        def run(args: Sequence[Any], layout: Layout) -> NpArray:
            block = allocate(layout.size_bytes)
            try:
                if comparison:
                    args = elementwise.firm(args)
                result = function(*args, order="C")
                if type(result) is not ndarray:
                    result = np.asarray(result)
                if result.nbytes != layout.size_bytes or result.dtype.hasobject:
                    raise PredictionMismatch(
                        f"operation '{operation.name}': promised {layout.shape} {layout.dtype}, "
                        f"made {result.shape} {result.dtype}"
                    )
            except BaseException:
                release(block)
                raise
            return own(result, block)

        return run

    def _adopt(self, result: Any) -> Any:
        """Make a result an owner of device memory: a copy, if it is made of another's memory."""
        if not isinstance(result, np.ndarray):
            return result
        if result.base is not None or id(result) in self._owners:
            block = self.pool.allocate(result.nbytes)
            return self._own(result.copy("K"), block)
        return self._own(result, self.pool.allocate(result.nbytes))

    def layout(self, array: NpArray) -> Layout:
        flags = array.flags
        if flags.c_contiguous:
            return Layout(array.shape, array.dtype, "C")
        return Layout(array.shape, array.dtype, "F" if flags.f_contiguous else array.strides)

    def matches(self, array: NpArray, layout: Layout) -> bool:
        dtype, order = array.dtype, layout.order
        if (dtype is not layout.dtype and dtype != layout.dtype) or array.shape != layout.shape:
            return False
        if order == "C":
            return array.flags.c_contiguous
        if order == "F":
            return array.flags.f_contiguous
        return array.strides == order or super().matches(array, layout)

    def relay(self, array: NpArray, layout: Layout) -> NpArray:
        result = self.empty(layout)
        result[...] = array
        return result

    def free(self, array: NpArray) -> None:
        """Nothing to do: memory goes with the last reference, handle or view."""

    # State

    def context(self) -> AbstractContextManager[Any]:
        return np.errstate(all="ignore")

    def synchronize(self) -> None:
        self._step()

    def memory(self) -> MemoryUse:
        pool = self.pool
        return MemoryUse(
            pool.used_bytes,
            pool.held_bytes,
            pool.total_bytes,
            pool.limit_bytes,
            pool.outside_bytes,
            pool.free_blocks,
        )

    def use_share(self, share: MemoryShare) -> None:
        self.pool.share = share

    def release_blocks(self) -> None:
        self.pool.release_blocks()

    def set_limit(self, size_bytes: int) -> None:
        self.pool.limit_bytes = size_bytes

    def close(self) -> None:
        self._owners.clear()
        if self._kernels is not None:
            self._kernels.close()

    # Slowness and faults

    def _step(self) -> None:
        options = self.options
        if not options.has_faults:
            return
        self._operations += 1
        if options.latency_us:
            self._sleep(options.latency_us / 1e6)
        if options.die_after and self._operations > options.die_after:
            os._exit(70)
        if options.fail_after and self._operations > options.fail_after:
            raise errors.DeviceLost(errors.ILLEGAL_ADDRESS)
        if options.oom_after and self._operations > options.oom_after:
            self.pool.capacity_bytes = 0

    def _copy_time(self, size_bytes: int) -> None:
        self._step()
        if self.options.bandwidth_gbps:
            self._sleep(size_bytes * 8 / (self.options.bandwidth_gbps * 1e9))


def _quiet() -> AbstractContextManager[Any]:
    # A worker process ignores all warnings once; elsewhere it is done for each call.
    if warnings.filters and warnings.filters[0][:3] == ("ignore", None, Warning):
        return _NOTHING
    caught = warnings.catch_warnings()
    return _Silence(caught)


class _Silence:
    def __init__(self, caught: warnings.catch_warnings[Any]) -> None:
        self._caught = caught

    def __enter__(self) -> None:
        self._caught.__enter__()
        warnings.simplefilter("ignore")

    def __exit__(self, *exc_info: Any) -> None:
        self._caught.__exit__(*exc_info)


class _Nothing:
    def __enter__(self) -> None: ...

    def __exit__(self, *exc_info: Any) -> None: ...


_NOTHING = _Nothing()


def _letter(layout: Layout) -> Any:
    return "F" if layout.order == "F" else "C"


def _root(array: NpArray) -> NpArray:
    """Return the array that owns the memory of this one."""
    base = array.base
    while isinstance(base, np.ndarray):
        array, base = base, base.base
    return array


def _flat(root: NpArray) -> NpArray:
    """Return an owner's memory C-contiguous, as NumPy's buffers need it."""
    flags = root.flags
    if flags.c_contiguous:
        return root
    if flags.f_contiguous:
        return root.T
    return root.transpose(memory_order(Layout(root.shape, root.dtype, root.strides)))


def _real_if_needed(value: Any, dtype: np.dtype[Any]) -> Any:
    """Drop the imaginary part without NumPy's warning: the client has given it already.

    As a bool a number is true if either part is.
    """
    if dtype.kind in "iuf":
        if isinstance(value, complex):
            return value.real
        if isinstance(value, (np.ndarray, np.generic)) and value.dtype.kind == "c":
            return value.real
    return value

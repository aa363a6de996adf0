"""Launching: limits of a GPU, buffers of a launch, and what comes back."""

from __future__ import annotations

import ctypes
import threading
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from cupool.pool_server.devices.errors import CUDADriverError
from cupool.pool_server.devices.ptx import abi, jit
from cupool.pool_server.devices.ptx.allocations import AllocationTable
from cupool.pool_server.devices.ptx.faults import KernelFault, describe

if TYPE_CHECKING:
    from cupool.pool_server.devices.ptx.engine import EngineOptions
    from cupool.pool_server.devices.ptx.modules import Function

INVALID_VALUE = 1
OUT_OF_RESOURCES = 701
MAX_GRID = (2**31 - 1, 65535, 65535)
MAX_BLOCK = (1024, 1024, 64)
MAX_THREADS = 1024
MAX_RESIDENT_THREADS = 16 << 10
"""That run at once, if blocks wait for each other: as many as guard pages allow a process."""
_PAGE = 4096
_WORKSPACE_WORDS = 8
_LOCAL_RESERVE_BYTES = 16 << 10


class Launcher:
    """Runs one kernel at a time.

    Args:
        table: says what is allocated.
        printed: takes the text that a kernel printed.
        options: of the engine.
    """

    def __init__(
        self,
        table: Callable[[], AllocationTable],
        printed: Callable[[str], None],
        options: EngineOptions,
    ) -> None:
        self._table = table
        self._printed = printed
        self._options = options
        self._lock = threading.Lock()
        self._machine = 0
        self._machine_local = 0
        self._capacity = 0
        self._shared: np.ndarray[Any, Any] = np.empty(0, np.uint8)
        self._out: np.ndarray[Any, Any] | None = None
        self.fault: KernelFault | None = None
        """The fault that ended this context, which every later launch raises again."""

    def launch(
        self,
        function: Function,
        grid: tuple[int, int, int],
        block: tuple[int, int, int],
        params: bytearray,
        shared_bytes: int,
        cooperative: bool,
    ) -> None:
        """See `Function.launch`; `params` is the kernel's parameter block."""
        if self.fault is not None:
            raise KernelFault(self.fault.status, self.fault.detail)
        _check(function, grid, block, shared_bytes)
        with self._lock:
            self._run(function, grid, block, params, shared_bytes, cooperative)

    def _run(
        self,
        function: Function,
        grid: tuple[int, int, int],
        block: tuple[int, int, int],
        params: bytearray,
        shared_bytes: int,
        cooperative: bool,
    ) -> None:
        facts, binary = function.facts, function.module.binary
        table = self._table()
        sites = np.zeros(2 * len(binary.facts.sites) + 2, np.uint64)
        words = (len(params) + 7) // 8
        buffer = (ctypes.c_uint64 * (words + _WORKSPACE_WORDS))()
        ctypes.memmove(buffer, bytes(params), len(params))
        shared = binary.facts.shared_bytes + shared_bytes
        launch = abi.Launch()
        launch.grid[:], launch.block[:] = grid, block
        launch.params = ctypes.addressof(buffer)
        launch.params_end = launch.params + len(params)
        if cooperative:  # the workspace of its barrier follows the parameters
            launch.workspace = launch.params + 8 * words
            launch.params_end = launch.workspace + 8 * _WORKSPACE_WORDS
            buffer[words] = 8 * _WORKSPACE_WORDS  # its size; the count after it is 0
        launch.shared, launch.shared_bytes = self._shared_memory(shared), shared
        launch.globals = function.module.globals_address
        launch.ranges, launch.range_count = table.array.ctypes.data, len(table)
        launch.sites = sites.ctypes.data
        launch.deadline_ns = time.monotonic_ns() + int(self._options.timeout_s * 1e9)
        launch.dynamic_shared_bytes = shared_bytes
        out = self._output()
        launch.out, launch.out_capacity = out.ctypes.data, len(out)
        launch.entry, launch.fibers, launch.local_bytes = (
            function.address,
            facts.fibers,
            facts.local_bytes,
        )
        context = np.empty(facts.context_bytes, np.uint8)
        launch.context = context.ctypes.data
        launch.cooperative, launch.overtakes = cooperative, facts.overtakes
        machine = self._machine_for(facts.local_bytes)
        status = jit.runtime().launch(machine, ctypes.byref(launch))
        if status == abi.TOO_LARGE:
            raise CUDADriverError(
                status,
                f"all blocks of a cooperative launch run at once, on a mock GPU at most "
                f"{self._capacity:,} threads: a grid of {grid} with blocks of {block} is too large",
            )
        if launch.out_used or launch.out_lost:
            self._print(launch, out)
        if status:
            about = (launch, binary.facts.sites, table, self._options.timeout_s)
            self.fault = describe(function.name, facts.strides, *about)
            raise self.fault

    def _shared_memory(self, size: int) -> int:
        """Return the address of shared memory, aligned as a GPU's."""
        if len(self._shared) < size + 1024:
            self._shared = np.zeros(max(size + 1024, 64 << 10), np.uint8)
        return (int(self._shared.ctypes.data) + 1023) & ~1023

    def _output(self) -> np.ndarray[Any, Any]:
        if self._out is None:
            self._out = np.empty(self._options.printf_bytes, np.uint8)
        return self._out

    def _print(self, launch: abi.Launch, out: np.ndarray[Any, Any]) -> None:
        text = out[: launch.out_used].tobytes().decode("utf-8", "replace")
        if launch.out_lost:
            text += (
                f"\n[cupool: the buffer of printf was full, {launch.out_lost:,} bytes are lost]\n"
            )
        self._printed(text)

    def _machine_for(self, local_bytes: int) -> int:
        """Return the runtime's state, with room for the kernel's local memory."""
        local = max(self._options.local_bytes, local_bytes + _LOCAL_RESERVE_BYTES)
        local = (local + _PAGE - 1) // _PAGE * _PAGE
        if self._machine and self._machine_local >= local:
            return self._machine
        self.close()
        stack = max(self._options.stack_bytes // _PAGE, 8) * _PAGE
        # Only address space is taken; where that is limited, fewer threads run at once.
        capacity = MAX_RESIDENT_THREADS
        while not self._machine and capacity >= MAX_THREADS:
            self._machine = jit.runtime().new_machine(stack, local, capacity) or 0
            self._capacity = capacity
            capacity //= 2
        if not self._machine:
            raise CUDADriverError(
                OUT_OF_RESOURCES, f"no address space for {local} bytes of local memory per thread"
            )
        self._machine_local = local
        return self._machine

    def close(self) -> None:
        if self._machine:
            jit.runtime().free_machine(self._machine)
        self._machine = self._machine_local = 0


def _check(
    function: Function, grid: tuple[int, int, int], block: tuple[int, int, int], shared_bytes: int
) -> None:
    """Refuse what a driver refuses before it launches."""
    for extents, limits, name in ((grid, MAX_GRID, "grid"), (block, MAX_BLOCK, "block")):
        for extent, limit in zip(extents, limits, strict=True):
            if not 1 <= extent <= limit:
                raise CUDADriverError(INVALID_VALUE, f"{name} {extents}: the limits are {limits}")
    threads = block[0] * block[1] * block[2]
    if threads > MAX_THREADS:
        raise CUDADriverError(
            INVALID_VALUE, f"block {block} has {threads} threads; {MAX_THREADS} are allowed"
        )
    required = function.facts.required
    if required and tuple(block[: len(required)]) != tuple(required):
        raise CUDADriverError(INVALID_VALUE, f"{function.name} requires blocks of {required}")
    if threads > function.facts.max_threads:
        raise CUDADriverError(
            OUT_OF_RESOURCES, f"{function.name} allows {function.facts.max_threads} threads a block"
        )
    limit = function.attributes["max_dynamic_shared_size_bytes"]
    if not 0 <= shared_bytes <= limit:
        raise CUDADriverError(
            INVALID_VALUE, f"{shared_bytes} bytes of dynamic shared memory; {limit} are allowed"
        )

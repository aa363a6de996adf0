"""What a kernel died of, in words."""

from __future__ import annotations

from typing import Any

from cupool.pool_server.devices.errors import CUDARuntimeError, DeviceLost
from cupool.pool_server.devices.ptx import abi
from cupool.pool_server.devices.ptx.allocations import AllocationTable
from cupool.pool_server.devices.ptx.strides import BLOCK

_ROUND_BYTES = 512


class KernelFault(DeviceLost):
    """A kernel failed while it ran; nothing of this context can be used any more.

    Attributes:
        status: CUDA's code.
        detail: kernel, thread, block, address, and the line of the source if it is known.
    """

    def __init__(self, status: int, detail: str = "") -> None:
        super().__init__(status, str(CUDARuntimeError(status)) + (f"\n{detail}" if detail else ""))
        self.detail = detail


def _place(site: tuple[int, str, int] | None) -> str:
    if site is None:
        return ""
    line, file, source_line = site
    if file and source_line:
        return f" at {file}:{source_line} (PTX line {line})"
    return f" at PTX line {line}; compile with -lineinfo to see the line of the source"


def _address(launch: abi.Launch, table: AllocationTable) -> str:
    address, size = launch.fault_address, launch.fault_size
    text = f"access of {size} bytes at {address:#x}"
    if address < 4096:
        return text + " (a null pointer)"
    nearest = table.nearest(address)
    if nearest is None:
        return text
    low, high = nearest
    where = "inside" if low <= address < high else "before" if address < low else "after"
    distance = (
        low - address if address < low else address - high if address >= high else address - low
    )
    text += f", {distance} bytes {where} the allocation of {high - low} bytes at {low:#x}"
    if high <= address < low + (high - low + _ROUND_BYTES - 1) // _ROUND_BYTES * _ROUND_BYTES:
        text += f" (a GPU may not notice: CuPy's pool rounds sizes up to {_ROUND_BYTES} bytes)"
    return text


def describe(
    kernel: str,
    strides: bool,
    launch: abi.Launch,
    sites: list[tuple[int, str, int]],
    table: AllocationTable,
    limit_s: float,
) -> KernelFault:
    """Return the exception for a launch that failed; `strides` as in KernelFacts."""
    status = int(launch.status)
    tid, ctaid = tuple(launch.fault_tid), tuple(launch.fault_ctaid)
    if strides and tuple(launch.grid[1:]) == tuple(launch.block[1:]) == (1, 1):
        threads = int(launch.block[0])
        step = ctaid[0] * BLOCK + tid[0]  # the thread that would have come to it
        block, thread = divmod(step % (threads * int(launch.grid[0])), threads)
        tid, ctaid = (thread, 0, 0), (block, 0, 0)
    where = f"{kernel}: block {ctaid}, thread {tid}"
    index = int(launch.fault_site)
    site: Any = sites[index] if index < len(sites) else None
    if status in (abi.ILLEGAL_ADDRESS, abi.MISALIGNED):
        return KernelFault(status, f"{where}: {_address(launch, table)}{_place(site)}")
    if status == abi.TIMEOUT:
        return KernelFault(status, f"{kernel}: did not end within {limit_s:g} s")
    if status == abi.DEADLOCK:
        waiting = f"{launch.fault_size} threads wait for others that ended or wait elsewhere"
        return KernelFault(
            719, f"{kernel}: block {ctaid} is deadlocked: {waiting}; first: thread {tid}"
        )
    if status == abi.STACK_OVERFLOW:
        return KernelFault(719, f"{where}: the stack is full: calls are too deep{_place(site)}")
    if status == abi.LAUNCH_FAILURE:
        return KernelFault(719, f"{where}: trap{_place(site)}")
    return KernelFault(status, f"{where}{_place(site)}")

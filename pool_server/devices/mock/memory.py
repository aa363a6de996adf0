"""A model of CuPy's memory pool: who holds which bytes, without any memory.

Sizes are rounded up to 512 bytes. A freed block is kept and given out again, best fit first; a
larger one is split, and parts that are free side by side are joined again. What the pool holds
counts against the limit and the device's size; when a request does not fit, whole free blocks
are given back first, as CuPy does.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from typing import TYPE_CHECKING

from cupool.pool_server.devices.errors import (
    OUT_OF_MEMORY,
    CUDARuntimeError,
    OutOfMemoryError,
)

if TYPE_CHECKING:
    from cupool.pool_server.session.turns import MemoryShare

ROUND_BYTES = 512


class Block:
    """A part of device memory; its neighbours were split from the same allocation."""

    __slots__ = ("following", "free", "outside", "previous", "size_bytes")

    def __init__(self, size_bytes: int, outside: bool = False) -> None:
        self.size_bytes = size_bytes
        self.outside = outside
        self.free = False
        self.previous: Block | None = None
        self.following: Block | None = None


class MemoryPool:
    """Counts the memory of one session on one device.

    Args:
        capacity_bytes: the device's memory, of which nobody else takes a part.
    """

    def __init__(self, capacity_bytes: int) -> None:
        self.capacity_bytes = capacity_bytes
        self.limit_bytes = 0
        self.used_bytes = 0
        self.total_bytes = 0
        self.share: MemoryShare | None = None
        self.outside_bytes = 0  # allocated beside the pool, as by cudaMalloc
        # size -> free blocks of that size; a dict serves as a set that is popped in order.
        self._bins: dict[int, dict[Block, None]] = {}
        self._sizes: list[int] = []  # sorted keys of _bins; an empty bin stays until it is met

    @property
    def held_bytes(self) -> int:
        """Bytes that are free and yet kept."""
        return self.total_bytes - self.used_bytes

    @property
    def free_blocks(self) -> int:
        return sum(len(blocks) for blocks in self._bins.values())

    def allocate(self, size_bytes: int) -> Block | None:
        """Return a block, or None for a size of 0.

        Raises:
            OutOfMemoryError: it does not fit, and giving back free blocks did not help.
        """
        size = (size_bytes + (ROUND_BYTES - 1)) & -ROUND_BYTES
        blocks = self._bins.get(size)
        if blocks:
            block = blocks.popitem()[0]
            block.free = False
        elif not size:
            return None
        else:
            block = self._best_fit(size) or self._new(size)
        self.used_bytes += size
        return block

    def allocate_outside(self, size_bytes: int) -> Block:
        """Return a block that is not of the pool and goes back to the device when released.

        Raises:
            CUDARuntimeError: there is no room on the device.
        """
        size = (size_bytes + (ROUND_BYTES - 1)) & -ROUND_BYTES
        if self.total_bytes + self.outside_bytes + size > self.capacity_bytes:
            raise CUDARuntimeError(OUT_OF_MEMORY)
        if not self._may_hold(size):
            raise CUDARuntimeError(OUT_OF_MEMORY)
        self.outside_bytes += size
        return Block(size, outside=True)

    def release(self, block: Block | None) -> None:
        """Take a block back and join it with free neighbours."""
        if block is None:
            return
        if block.outside:
            self.outside_bytes -= block.size_bytes
            self._tell_share()
            return
        self.used_bytes -= block.size_bytes
        following, previous = block.following, block.previous
        if following is not None and following.free:
            self._unlist(following)
            self._join(block, following)
        if previous is not None and previous.free:
            self._unlist(previous)
            self._join(previous, block)
            block = previous
        self._enlist(block)

    def release_blocks(self) -> None:
        """Give free blocks back to the device, except parts of blocks that are in use."""
        for blocks in self._bins.values():
            for block in [b for b in blocks if b.previous is None and b.following is None]:
                del blocks[block]
                self.total_bytes -= block.size_bytes
        self._tell_share()

    def _best_fit(self, size: int) -> Block | None:
        sizes = self._sizes
        index = bisect_left(sizes, size)
        while index < len(sizes):
            blocks = self._bins[sizes[index]]
            if not blocks:
                del self._bins[sizes.pop(index)]
                continue
            block = blocks.popitem()[0]
            block.free = False
            if block.size_bytes > size:
                self._split(block, size)
            return block
        return None

    def _new(self, size: int) -> Block:
        limit = self.limit_bytes
        bound = self.capacity_bytes - self.outside_bytes
        bound = min(limit, bound) if limit else bound
        if self.total_bytes + size > bound:
            self.release_blocks()
        if self.total_bytes + size > bound or not self._may_hold(size):
            if self.share is not None:
                raise self.share.error(size, self.total_bytes, limit)
            raise OutOfMemoryError(size, self.total_bytes, limit)
        self.total_bytes += size
        return Block(size)

    def _may_hold(self, more_bytes: int) -> bool:
        """Whether the share has room, beside what the job's other sessions hold of it."""
        share = self.share
        if share is None:
            return True
        if share.fits(self.total_bytes + self.outside_bytes + more_bytes):
            return True
        self.release_blocks()
        return share.fits(self.total_bytes + self.outside_bytes + more_bytes)

    def _tell_share(self) -> None:
        if self.share is not None:
            self.share.hold(self.total_bytes + self.outside_bytes)

    def _split(self, block: Block, size: int) -> None:
        rest = Block(block.size_bytes - size)
        block.size_bytes = size
        rest.previous, rest.following = block, block.following
        if rest.following is not None:
            rest.following.previous = rest
        block.following = rest
        self._enlist(rest)

    def _join(self, first: Block, second: Block) -> None:
        first.size_bytes += second.size_bytes
        first.following = second.following
        if first.following is not None:
            first.following.previous = first

    def _enlist(self, block: Block) -> None:
        block.free = True
        blocks = self._bins.get(block.size_bytes)
        if blocks is None:
            blocks = self._bins[block.size_bytes] = {}
            insort(self._sizes, block.size_bytes)
        blocks[block] = None

    def _unlist(self, block: Block) -> None:
        del self._bins[block.size_bytes][block]

"""Chunks: the pieces of a distributed array, each on one device."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from cupool.client_shim import cupy
from cupool.client_shim.cupy.cuda import Device, Event, Stream, get_current_stream
from cupool.client_shim.cupyx.distributed.array import _index_arith, _modes
from cupool.client_shim.cupyx.distributed.array._index_arith import Index


class _Chunk:
    """A piece of a distributed array.

    Attributes:
        array: its elements, on one device.
        ready: recorded when they are there; whoever uses them in another stream waits for it.
        index: where in the whole array it lies, normalized.
    """

    __slots__ = ("array", "index", "ready")

    def __init__(self, array: Any, ready: Event, index: Index) -> None:
        self.array = array
        self.ready = ready
        self.index = index

    @classmethod
    def of(cls, array: Any, index: Index) -> _Chunk:
        """Make a chunk of what the current stream of the current device has computed."""
        return cls(array, get_current_stream().record(), index)

    @classmethod
    def blank(
        cls,
        shape: tuple[int, ...],
        dtype: np.dtype[Any],
        device: int,
        index: Index,
        mode: _modes.Mode,
    ) -> _Chunk:
        """Make a chunk of an array of that shape which waits to be filled."""
        lengths = _index_arith._shape_after_indexing(shape, index)
        with Device(device):
            if mode is None:
                return cls.of(cupy.empty(lengths, dtype), index)
            return cls.of(cupy.full(lengths, mode.identity_of(dtype), dtype), index)

    @property
    def device_id(self) -> int:
        """The device it is on."""
        return int(self.array.device.id)

    @contextmanager
    def on_ready(self) -> Iterator[Stream]:
        """Work on the chunk's device, in its current stream, after the chunk is ready."""
        with self.array.device:
            stream = get_current_stream()
            stream.wait_event(self.ready)
            yield stream

    def copy(self) -> _Chunk:
        """Return a chunk with memory of its own."""
        with self.on_ready():
            return _Chunk.of(self.array.copy(), self.index)

    def part(self, common: Index, shape: tuple[int, ...], device: int) -> Any:
        """Return a part of the chunk on a device: a view there, a copy on another one."""
        here = _index_arith._index_for_subindex(self.index, common, shape)
        with self.on_ready():
            view = self.array[here]
        if device == self.device_id:
            return view
        with Device(device):
            return cupy.array(view)

    def take(
        self, source: _Chunk, common: Index, shape: tuple[int, ...], mode: _modes.Mode
    ) -> None:
        """Take over, or combine with, what another chunk has of a common part."""
        here = _index_arith._index_for_subindex(self.index, common, shape)
        given = source.part(common, shape, self.device_id)
        with self.on_ready() as stream:
            if mode is None:
                self.array[here] = given
            else:
                self.array[here] = mode.func(self.array[here], given)
            stream.record(self.ready)

    def blank_out(self, common: Index, shape: tuple[int, ...], mode: _modes._OpMode) -> None:
        """Let a part of the chunk contribute nothing."""
        here = _index_arith._index_for_subindex(self.index, common, shape)
        with self.on_ready() as stream:
            self.array[here] = mode.identity_of(self.array.dtype)
            stream.record(self.ready)


def overlaps(
    chunks: Sequence[_Chunk], shape: tuple[int, ...]
) -> Iterator[tuple[_Chunk, _Chunk, Index]]:
    """Give each pair of chunks, in order, that overlap, and where."""
    for position, earlier in enumerate(chunks):
        for later in chunks[position + 1 :]:
            common = _index_arith._index_intersection(earlier.index, later.index, shape)
            if common is not None:
                yield earlier, later, common


def reconcile(chunks: Sequence[_Chunk], shape: tuple[int, ...], mode: _modes._OpMode) -> None:
    """Give overlapping chunks equal values, the combination of what they had; in place.

    What an element has in several chunks is collected in the last of them, then handed back.
    """
    pairs = list(overlaps(chunks, shape))
    for earlier, later, common in pairs:
        later.take(earlier, common, shape, mode)
        if not mode.idempotent:  # given once: nobody else may count it again
            earlier.blank_out(common, shape, mode)
    for earlier, later, common in reversed(pairs):
        earlier.take(later, common, shape, None)


def keep_once(chunks: Sequence[_Chunk], shape: tuple[int, ...], mode: _modes._OpMode) -> None:
    """Let of equal values in overlapping chunks only the last one count; in place."""
    for earlier, _, common in overlaps(chunks, shape):
        earlier.blank_out(common, shape, mode)


def hand_over(
    sources: Iterable[_Chunk], targets: Iterable[_Chunk], shape: tuple[int, ...], mode: _modes.Mode
) -> None:
    """Fill blank chunks from others; the sources of a mode like SUM are used up."""
    sources = list(sources)
    for target in targets:
        filled = set()
        device = target.device_id
        for source in sorted(sources, key=lambda one: one.device_id != device):
            common = _index_arith._index_intersection(source.index, target.index, shape)
            if common is None:
                continue
            key = _index_arith._key(common)
            if mode is None and key in filled:  # replicas: the same once more
                continue
            filled.add(key)
            target.take(source, common, shape, mode)
            if mode is not None and not mode.idempotent:
                source.blank_out(common, shape, mode)

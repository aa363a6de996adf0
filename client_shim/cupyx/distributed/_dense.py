"""Collective operations on dense arrays."""

from __future__ import annotations

from typing import Any

from cupool.client_shim import cupy
from cupool.client_shim.cupy.cuda._collectives import Group

_CHARS = frozenset("bBiIlLqQefdFD")
_OPERATIONS = {"sum": "add", "prod": "multiply", "max": "maximum", "min": "minimum"}


def combine_of(op: str, dtype: Any) -> Any:
    """Return the ufunc of a reduction.

    Raises:
        RuntimeError: none of that name.
        ValueError: complex arrays can be summed only.
    """
    if op not in _OPERATIONS:
        raise RuntimeError(f"Unknown op {op} for NCCL")
    if dtype.char in "FD" and op != "sum":
        raise ValueError("Only nccl.SUM is supported for complex arrays")
    return getattr(cupy, _OPERATIONS[op])


def flat(array: Any) -> Any:
    """Return a contiguous array as a view of one axis.

    Raises:
        RuntimeError: it is not contiguous.
        TypeError: a dtype that NCCL does not have.
    """
    flags = array.flags
    if not (flags.c_contiguous or flags.f_contiguous):
        raise RuntimeError("NCCL requires arrays to be either c- or f-contiguous")
    if array.dtype.char not in _CHARS:
        raise TypeError(f"Unknown dtype {array.dtype} for NCCL")
    return array.reshape(-1, order="C" if flags.c_contiguous else "F")


class Dense:
    """The operations of `NCCLBackend` for `cupy.ndarray`."""

    def __init__(self, group: Group) -> None:
        self._group = group

    def all_reduce(self, source: Any, target: Any, op: str) -> None:
        self._group.all_reduce(flat(source), flat(target), combine_of(op, source.dtype))

    def reduce(self, source: Any, target: Any, root: int, op: str) -> None:
        to = flat(target) if self._group.rank == root else None
        self._group.reduce(flat(source), to, root, combine_of(op, source.dtype))

    def broadcast(self, array: Any, root: int) -> None:
        self._group.broadcast(flat(array), root)

    def reduce_scatter(self, source: Any, target: Any, count: int, op: str) -> None:
        combine = combine_of(op, source.dtype)
        self._group.reduce_scatter(flat(source), flat(target), count, combine)

    def all_gather(self, source: Any, target: Any, count: int) -> None:
        self._group.all_gather(flat(source), flat(target), count)

    def send(self, array: Any, peer: int) -> None:
        self._group.send(flat(array), peer)

    def recv(self, array: Any, peer: int) -> None:
        self._group.receive_into(flat(array), peer)

    def scatter(self, source: Any, target: Any, root: int) -> None:
        self._check_rows(source, "scatter", "in_array")
        if self._group.rank == root:
            for peer in range(self._group.size):
                self.send(source[peer], peer)
        self.recv(target, root)

    def gather(self, source: Any, target: Any, root: int) -> None:
        self._check_rows(target, "gather", "out_array")
        self.send(source, root)
        if self._group.rank == root:
            for peer in range(self._group.size):
                self.recv(target[peer], peer)

    def all_to_all(self, source: Any, target: Any) -> None:
        self._check_rows(source, "all_to_all", "in_array")
        self._check_rows(target, "all_to_all", "out_array")
        for peer in range(self._group.size):
            self.send(source[peer], peer)
        for peer in range(self._group.size):
            self.recv(target[peer], peer)

    def _check_rows(self, array: Any, what: str, name: str) -> None:
        if array.shape[0] != self._group.size:
            raise RuntimeError(
                f"{what} requires {name} to have {self._group.size} elements in its first"
                f" dimension, found {array.shape}"
            )

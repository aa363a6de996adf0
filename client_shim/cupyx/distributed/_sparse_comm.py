"""Collective operations on sparse matrices: their sizes first, which the receiver waits for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from cupool.client_shim import cupy
from cupool.client_shim.cupy.cuda._collectives import Group

_HEADER = 5  # rows, columns, lengths of three arrays


def parts_of(matrix: Any) -> tuple[Any, Any, Any]:
    """Return the arrays that a matrix consists of.

    Raises:
        TypeError: a format without three arrays.
    """
    kind = getattr(matrix, "format", None)
    if kind == "coo":
        matrix.sum_duplicates()
        return matrix.data, matrix.row, matrix.col
    if kind in ("csr", "csc"):
        return matrix.data, matrix.indptr, matrix.indices
    raise TypeError("NCCL is not supported for this type of sparse matrix")


def made_like(matrix: Any, parts: Sequence[Any], shape: tuple[int, int]) -> Any:
    """Return a matrix of the same class with other arrays."""
    if matrix.format == "coo":
        return type(matrix)((parts[0], (parts[1], parts[2])), shape=shape)
    return type(matrix)((parts[0], parts[2], parts[1]), shape=shape)


def put(matrix: Any, other: Any) -> None:
    """Give a matrix the arrays and the shape of another of its format.

    Raises:
        ValueError: another format.
    """
    if matrix.format != other.format:
        raise ValueError("in_array and out_array must be the same format")
    names = ("data", "row", "col") if matrix.format == "coo" else ("data", "indptr", "indices")
    for name in names:
        setattr(matrix, name, getattr(other, name))
    matrix._shape = tuple(other.shape)
    for flag in ("_has_canonical_format", "_has_sorted_indices"):
        matrix.__dict__.pop(flag, None)


class Sparse:
    """The operations of `NCCLBackend` for matrices in COO, CSR and CSC format."""

    def __init__(self, group: Group) -> None:
        self._group = group

    def send(self, matrix: Any, *peers: int) -> None:
        parts = parts_of(matrix)
        header = np.array([*matrix.shape, *(part.size for part in parts)], np.int64)
        for array in (cupy.asarray(header), *parts):
            if array.size:
                self._group.send(array, *peers)

    def _received(self, like: Any, peer: int) -> Any:
        header = self._group.receive(_HEADER, np.dtype(np.int64), peer).get().tolist()
        parts = [
            self._group.receive(size, part.dtype, peer) if size else cupy.empty(0, part.dtype)
            for size, part in zip(header[2:], parts_of(like), strict=True)
        ]
        return made_like(like, parts, (header[0], header[1]))

    def recv(self, matrix: Any, peer: int) -> None:
        put(matrix, self._received(matrix, peer))

    def broadcast(self, matrix: Any, root: int) -> None:
        if self._group.rank == root:
            self.send(matrix, *(p for p in range(self._group.size) if p != root))
        else:
            self.recv(matrix, root)

    def reduce(self, source: Any, target: Any, root: int, op: str) -> None:
        if op not in ("sum", "prod"):
            raise ValueError("Sparse matrix only supports sum/prod reduction")
        if self._group.rank != root:
            self.send(source, root)
            return
        matrices = [
            source if peer == root else self._received(source, peer)
            for peer in range(self._group.size)
        ]
        result = matrices[0]
        for one in matrices[1:]:
            result = result + one if op == "sum" else result * one
        put(target, result.asformat(source.format))

    def all_reduce(self, source: Any, target: Any, op: str) -> None:
        self.reduce(source, target, 0, op)
        self.broadcast(target, 0)

    def reduce_scatter(self, source: Any, target: Any, count: int, op: str) -> None:
        if not isinstance(source, (list, tuple)):
            raise ValueError("in_array must be a list or a tuple of sparse matrices")
        for peer, matrix in enumerate(source):
            self.reduce(matrix, target, peer, op)

    def gather(self, source: Any, target: list[Any], root: int) -> None:
        self.send(source, root)
        if self._group.rank == root:
            target += [self._received(source, peer) for peer in range(self._group.size)]

    def all_gather(self, source: Any, target: list[Any], count: int) -> None:
        self.send(source, *range(self._group.size))
        target += [self._received(source, peer) for peer in range(self._group.size)]

    def scatter(self, source: Sequence[Any], target: Any, root: int) -> None:
        if self._group.rank == root:
            for peer, matrix in enumerate(source):
                self.send(matrix, peer)
        self.recv(target, root)

    def all_to_all(self, source: Sequence[Any], target: list[Any]) -> None:
        if len(source) != self._group.size:
            raise RuntimeError(
                f"all_to_all requires in_array to have {self._group.size} elements,"
                f" found {len(source)}"
            )
        for peer, matrix in enumerate(source):
            self.send(matrix, peer)
        target += [self._received(source[peer], peer) for peer in range(self._group.size)]

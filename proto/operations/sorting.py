"""Sorting, searching, counting."""

from cupool.proto.operations.operation import Operation

OPERATIONS: tuple[Operation, ...] = ()

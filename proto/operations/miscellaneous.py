"""Bits, padding, and what belongs nowhere else."""

from cupool.proto.operations.operation import Operation

OPERATIONS: tuple[Operation, ...] = ()

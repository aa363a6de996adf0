"""Discrete Fourier transforms."""

from cupool.proto.operations.operation import Operation

OPERATIONS: tuple[Operation, ...] = ()

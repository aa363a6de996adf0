"""Mathematical functions that are neither ufuncs nor reductions."""

from cupool.proto.operations.operation import Operation

OPERATIONS: tuple[Operation, ...] = ()

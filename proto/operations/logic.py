"""Logic: comparison and content of arrays."""

from cupool.proto.operations.operation import Operation

OPERATIONS: tuple[Operation, ...] = ()

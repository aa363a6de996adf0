"""Special functions (`cupyx.scipy.special`)."""

from cupool.proto.operations.operation import Operation

OPERATIONS: tuple[Operation, ...] = ()

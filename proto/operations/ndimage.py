"""Pictures of any dimension (`cupyx.scipy.ndimage`)."""

from cupool.proto.operations.operation import Operation

OPERATIONS: tuple[Operation, ...] = ()

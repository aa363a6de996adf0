"""Signal processing (`cupyx.scipy.signal`, `cupyx.signal`)."""

from cupool.proto.operations.operation import Operation

OPERATIONS: tuple[Operation, ...] = ()

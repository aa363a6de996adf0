"""Random numbers: generator objects on the device and draws from them."""

from cupool.proto.operations.operation import Operation

OPERATIONS: tuple[Operation, ...] = ()

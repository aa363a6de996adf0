"""Statistics beyond plain reductions."""

from cupool.proto.operations.operation import Operation

OPERATIONS: tuple[Operation, ...] = ()

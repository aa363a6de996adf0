"""Products of arrays and linear algebra."""

from cupool.proto.operations.operation import Operation

OPERATIONS = (
    Operation("dot", "function", "cupy.dot", "numpy.dot", "own"),
)

"""Advanced indexing. The key is a tuple with an item for every axis: slices, None, ints, arrays."""

from cupool.proto.operations.operation import Operation

OPERATIONS = (
    Operation("getitem", "function", "cupy.ndarray.__getitem__", rule="own"),
    Operation("setitem", "function", "cupy.ndarray.__setitem__", rule="own", outputs=0),
    Operation("scatter_add", "function", "cupy.ndarray.scatter_add", rule="own", outputs=0),
    Operation("scatter_max", "function", "cupy.ndarray.scatter_max", rule="own", outputs=0),
    Operation("scatter_min", "function", "cupy.ndarray.scatter_min", rule="own", outputs=0),
    Operation("take", "function", "cupy.take", rule="own"),
)

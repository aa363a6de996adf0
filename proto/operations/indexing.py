"""Advanced indexing. The key is a tuple with an item for every axis: slices, None, ints, arrays.

Integers out of range wrap around, except where a `mode` says otherwise.
"""

from cupool.proto.operations.operation import Operation

OPERATIONS = (
    Operation("getitem", "function", "cupy.ndarray.__getitem__", rule="data"),
    Operation("setitem", "function", "cupy.ndarray.__setitem__", rule="own", outputs=0),
    Operation("scatter_add", "function", "cupy.ndarray.scatter_add", rule="own", outputs=0),
    Operation("scatter_max", "function", "cupy.ndarray.scatter_max", rule="own", outputs=0),
    Operation("scatter_min", "function", "cupy.ndarray.scatter_min", rule="own", outputs=0),
    Operation("take", "function", "cupy.take", rule="own"),
    Operation("take_along_axis", "function", "cupy.take_along_axis", rule="own"),
    Operation("choose", "function", "cupy.choose", rule="own"),
    Operation("compress", "function", "cupy.compress", rule="data"),
    Operation("extract", "function", "cupy.extract", "numpy.extract", "data"),
    Operation("select", "function", "cupy.select", "numpy.select", "own"),
    Operation("place", "function", "cupy.place", rule="own", outputs=0),
    Operation("put", "function", "cupy.put", rule="own", outputs=0),
    Operation("put_along_axis", "function", "cupy.put_along_axis", rule="own", outputs=0),
    Operation("putmask", "function", "cupy.putmask", "numpy.putmask", "own", outputs=0),
    Operation("indices", "function", "cupy.indices", "numpy.indices", "own"),
    Operation("ravel_multi_index", "function", "cupy.ravel_multi_index", rule="own"),
    Operation("unravel_index", "function", "cupy.unravel_index", rule="own", outputs=-1),
    Operation("tril_indices", "function", "cupy.tril_indices", "numpy.tril_indices", "own", 2),
    Operation("triu_indices", "function", "cupy.triu_indices", "numpy.triu_indices", "own", 2),
)

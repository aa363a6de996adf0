"""Sorting, searching, counting."""

from cupool.proto.operations.operation import Operation

OPERATIONS = (
    Operation("sort", "function", "cupy.sort", rule="own"),
    Operation("sort_in_place", "function", "cupy.ndarray.sort", rule="own", outputs=0),
    Operation("argsort", "function", "cupy.argsort", rule="own"),
    Operation("lexsort", "function", "cupy.lexsort", "numpy.lexsort", "own"),
    Operation("partition", "function", "cupy.partition", "numpy.partition", "own"),
    Operation(
        "partition_in_place",
        "function",
        "cupy.ndarray.partition",
        "numpy.ndarray.partition",
        "own",
        0,
    ),
    Operation("argpartition", "function", "cupy.argpartition", "numpy.argpartition", "own"),
    Operation("argwhere", "function", "cupy.argwhere", "numpy.argwhere", "data"),
    Operation("where", "function", "cupy.where", "numpy.where", "own"),
    Operation("searchsorted", "function", "cupy.searchsorted", rule="own"),
)

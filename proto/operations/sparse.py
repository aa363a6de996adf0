"""Sparse matrices, as their parts (`cupyx.scipy.sparse`).

A matrix never crosses the wire: its arrays do. *Parts* below are `(data, indices, indptr)` of a
compressed matrix, its stored elements in order of the major axis: rows for CSR, columns for CSC,
so that one operation serves both. *Shapes* are of the matrix read as CSR.
"""

from cupool.proto.operations.operation import Operation

_PREDICTED = (
    ("sparse.to_dense", 1),  # parts, shape
    ("sparse.is_canonical", 1),  # indices, indptr: (sorted, no duplicates either), bool
    ("sparse.transpose", 3),  # parts, length of the minor axis: the parts of the other format
    ("sparse.expand", 1),  # indptr, stored elements: the major index of each
    ("sparse.condense", 1),  # ascending major indices, length of the major axis: indptr
    ("sparse.sort", 2),  # parts: data, indices
    ("sparse.matmul_dense", 1),  # parts, shape, array, whether transposed
    ("sparse.sample", 1),  # parts, shape, major indices, minor indices
    ("sparse.clear", 1),  # parts, shape, major indices, minor indices: data with zeros there
    ("sparse.extreme", 1),  # "max" or "min", parts, shape, whether only stored elements count
    ("sparse.arg_extreme", 1),  # "max" or "min", parts, shape
    ("sparse.diagonal", 1),  # parts, shape, which
    ("sparse.solve", 1),  # parts, array: by QR
    ("sparse.solve_triangular", 1),  # parts, array, lower, unit diagonal, "N" or "T" or "H"
    ("sparse.ilu0", 2),  # parts: data of both factors; rows without or with a zero pivot, or -1
)
_DATA = (
    ("sparse.from_dense", 3),  # array, dtype of indices
    ("sparse.from_coordinates", 3),  # data, major indices, minor indices, length of major axis
    ("sparse.sum_coordinates", 3),  # data, rows, columns
    ("sparse.canonicalize", 3),  # parts; without elements if they are canonical already
    ("sparse.compress", 3),  # parts, magnitude up to which elements go
    ("sparse.matmul", 3),  # parts, shape, parts, shape
    ("sparse.add", 3),  # parts, factor, parts, factor, shape
    ("sparse.binary", 3),  # name of the operation, parts, shape, parts, shape
    ("sparse.select", 3),  # parts, shape, majors, minors: None = all, (start, stop), indices
    ("sparse.assign", 3),  # parts, shape, major indices, minor indices, values
    ("sparse.from_diagonals", 3),  # data, offsets, shape: parts by column
)

OPERATIONS: tuple[Operation, ...] = tuple(
    Operation(name, "function", rule=rule, outputs=outputs)
    for rows, rule in ((_PREDICTED, "own"), (_DATA, "data"))
    for name, outputs in rows
)
BINARY = ("lt", "gt", "le", "ge", "eq", "ne", "maximum", "minimum", "multiply")
"""What `sparse.binary` can do."""

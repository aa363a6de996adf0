"""Logic: comparison and content of arrays, arrays as sets."""

from cupool.proto.operations.operation import Operation

OPERATIONS = (
    Operation("isclose", "function", "cupy.isclose", rule="own"),
    Operation("allclose", "function", "cupy.allclose", rule="own"),
    Operation("array_equal", "function", "cupy.array_equal", "numpy.array_equal", "own"),
    Operation("array_equiv", "function", "cupy.array_equiv", "numpy.array_equiv", "own"),
    Operation("isin", "function", "cupy.isin", rule="own"),
    Operation("intersect1d", "function", "cupy.intersect1d", rule="data", outputs=-1),
    Operation("setdiff1d", "function", "cupy.setdiff1d", "numpy.setdiff1d", "data"),
    Operation("setxor1d", "function", "cupy.setxor1d", "numpy.setxor1d", "data"),
    Operation("union1d", "function", "cupy.union1d", "numpy.union1d", "data"),
)

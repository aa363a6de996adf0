"""Making and converting arrays."""

from cupool.proto.operations.operation import Operation

OPERATIONS = (
    Operation("zeros", "function", "cupy.zeros", "numpy.zeros", "own"),
    Operation("arange", "function", "cupy.arange", "numpy.arange", "own"),
    Operation("linspace", "function", "cupy.linspace", "numpy.linspace", "own"),
    Operation("astype", "function", "cupy.ndarray.astype", "numpy.ndarray.astype", "own"),
    Operation("byteswap", "function", "cupy.ndarray.byteswap", "numpy.ndarray.byteswap", "own"),
    Operation("tri", "function", "cupy.tri", "numpy.tri", "own"),
    Operation("tril", "function", "cupy.tril", "numpy.tril", "own"),
    Operation("triu", "function", "cupy.triu", "numpy.triu", "own"),
    Operation("vander", "function", "cupy.vander", "numpy.vander", "own"),
)

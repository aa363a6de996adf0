"""Mathematical functions that are not ufuncs."""

from cupool.proto.operations.operation import Operation

OPERATIONS = (
    Operation("bartlett", "function", "cupy.bartlett", "numpy.bartlett", "own"),
    Operation("blackman", "function", "cupy.blackman", "numpy.blackman", "own"),
    Operation("convolve", "function", "cupy.convolve", rule="own"),
    Operation("gradient", "function", "cupy.gradient", rule="own", outputs=-1),
    Operation("hamming", "function", "cupy.hamming", "numpy.hamming", "own"),
    Operation("hanning", "function", "cupy.hanning", "numpy.hanning", "own"),
    Operation("interp", "function", "cupy.interp", rule="own"),
    Operation("kaiser", "function", "cupy.kaiser", "numpy.kaiser", "own"),
    Operation("nan_to_num", "function", "cupy.nan_to_num", rule="own", outputs=-1),
    Operation("packbits", "function", "cupy.packbits", rule="own"),
    Operation("unpackbits", "function", "cupy.unpackbits", rule="own"),
    Operation("unwrap", "function", "cupy.unwrap", rule="own"),
)

"""Joining and rearranging, where it takes a copy; views are made by the client alone."""

from cupool.proto.operations.operation import Operation

OPERATIONS = (
    Operation("concatenate", "function", "cupy.concatenate", "numpy.concatenate", "own"),
    Operation("copyto", "function", "cupy.copyto", "numpy.copyto", "own", outputs=0),
    Operation("delete", "function", "cupy.delete", rule="data"),
    Operation("pad", "function", "cupy.pad", "numpy.pad", "own"),
    Operation("poly", "function", "cupy.poly", rule="own"),
    Operation("polymul", "function", "cupy.polymul", rule="data"),
    Operation("polyval", "function", "cupy.polyval", rule="own"),
    Operation("repeat", "function", "cupy.repeat", "numpy.repeat", "data"),
    Operation("resize", "function", "cupy.resize", "numpy.resize", "own"),
    Operation("roll", "function", "cupy.roll", "numpy.roll", "own"),
    Operation("roots", "function", "cupy.roots", rule="data"),
    Operation("tile", "function", "cupy.tile", "numpy.tile", "own"),
    Operation("unique", "function", "cupy.unique", "numpy.unique", "data", outputs=-1),
)

"""Joining and rearranging, where it takes a copy; views are made by the client alone."""

from cupool.proto.operations.operation import Operation

OPERATIONS = (
    Operation("concatenate", "function", "cupy.concatenate", "numpy.concatenate", "own"),
)

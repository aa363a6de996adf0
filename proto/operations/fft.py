"""Discrete Fourier transforms.

The shim sends every transform as one of several axes, with lengths and axes written out:
array, lengths, axes, norm.
"""

from cupool.proto.operations.operation import Operation

_TRANSFORMS = ("fftn", "ifftn", "rfftn", "irfftn")
_HELPERS = ("fftfreq", "rfftfreq", "fftshift", "ifftshift")

OPERATIONS = (
    *(Operation(f"fft.{name}", "function", f"cupy.fft.{name}", "", "own") for name in _TRANSFORMS),
    *(
        Operation(f"fft.{name}", "function", f"cupy.fft.{name}", f"numpy.fft.{name}", "own")
        for name in _HELPERS
    ),
)

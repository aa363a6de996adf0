"""`cupy.exceptions`: NumPy's own classes, as in CuPy."""

from cupool.client_shim.cupy import _unsupported

_unsupported.fill(globals(), "cupy.exceptions")

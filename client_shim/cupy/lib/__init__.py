"""`cupy.lib`."""

from cupool.client_shim.cupy import _unsupported

_unsupported.fill(globals(), "cupy.lib")

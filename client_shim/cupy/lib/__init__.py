"""`cupy.lib`."""

from cupool.client_shim.cupy import _unsupported
from cupool.client_shim.cupy.lib import stride_tricks

_unsupported.fill(globals(), "cupy.lib")
__all__ = ["stride_tricks"]

"""CuPy's chapter "Array manipulation routines"."""

from cupool.client_shim.cupy._manipulation.join import *  # noqa: F403
from cupool.client_shim.cupy._manipulation.transpose import *  # noqa: F403

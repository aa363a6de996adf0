"""CuPy's chapter "Array creation routines"."""

from cupool.client_shim.cupy._creation.basic import *  # noqa: F403
from cupool.client_shim.cupy._creation.from_data import *  # noqa: F403
from cupool.client_shim.cupy._creation.matrix import *  # noqa: F403
from cupool.client_shim.cupy._creation.ranges import *  # noqa: F403

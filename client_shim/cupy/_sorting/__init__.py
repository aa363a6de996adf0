"""CuPy's chapter "Sorting, searching, and counting"."""

from cupool.client_shim.cupy._sorting.count import *  # noqa: F403
from cupool.client_shim.cupy._sorting.search import *  # noqa: F403
from cupool.client_shim.cupy._sorting.sort import *  # noqa: F403

"""CuPy's chapter "Indexing routines"."""

from cupool.client_shim.cupy._indexing.generate import *  # noqa: F403
from cupool.client_shim.cupy._indexing.indexing import *  # noqa: F403
from cupool.client_shim.cupy._indexing.insert import *  # noqa: F403
from cupool.client_shim.cupy._indexing.iterate import *  # noqa: F403

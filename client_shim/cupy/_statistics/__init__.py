"""CuPy's chapter "Statistics"."""

from cupool.client_shim.cupy._statistics.correlation import *  # noqa: F403
from cupool.client_shim.cupy._statistics.histogram import *  # noqa: F403
from cupool.client_shim.cupy._statistics.meanvar import *  # noqa: F403
from cupool.client_shim.cupy._statistics.order import *  # noqa: F403

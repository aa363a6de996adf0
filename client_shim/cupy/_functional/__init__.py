"""CuPy's chapter "Functional programming"."""

from cupool.client_shim.cupy._functional.along_axis import *  # noqa: F403
from cupool.client_shim.cupy._functional.piecewise import *  # noqa: F403
from cupool.client_shim.cupy._functional.vectorize import *  # noqa: F403

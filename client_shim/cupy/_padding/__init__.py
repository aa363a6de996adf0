"""CuPy's chapter "Padding arrays"."""

from cupool.client_shim.cupy._padding.pad import *  # noqa: F403

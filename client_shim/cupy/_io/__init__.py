"""CuPy's chapter "Input and output": files are those of this machine."""

from cupool.client_shim.cupy._io.formatting import *  # noqa: F403
from cupool.client_shim.cupy._io.npz import *  # noqa: F403
from cupool.client_shim.cupy._io.text import *  # noqa: F403

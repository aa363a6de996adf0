"""CuPy's chapter "Miscellaneous routines"."""

from cupool.client_shim.cupy._misc.alignment import *  # noqa: F403
from cupool.client_shim.cupy._misc.byte_bounds import *  # noqa: F403
from cupool.client_shim.cupy._misc.configuration import *  # noqa: F403
from cupool.client_shim.cupy._misc.memoization import *  # noqa: F403
from cupool.client_shim.cupy._misc.memory_ranges import *  # noqa: F403
from cupool.client_shim.cupy._misc.types import *  # noqa: F403
from cupool.client_shim.cupy._misc.who import *  # noqa: F403

"""CuPy's chapter "Array manipulation routines"."""

from cupool.client_shim.cupy._manipulation.add_remove import *  # noqa: F403
from cupool.client_shim.cupy._manipulation.basic import *  # noqa: F403
from cupool.client_shim.cupy._manipulation.dims import *  # noqa: F403
from cupool.client_shim.cupy._manipulation.join import *  # noqa: F403
from cupool.client_shim.cupy._manipulation.kind import *  # noqa: F403
from cupool.client_shim.cupy._manipulation.rearrange import *  # noqa: F403
from cupool.client_shim.cupy._manipulation.shape import *  # noqa: F403
from cupool.client_shim.cupy._manipulation.split import *  # noqa: F403
from cupool.client_shim.cupy._manipulation.tiling import *  # noqa: F403
from cupool.client_shim.cupy._manipulation.transpose import *  # noqa: F403

"""CuPy's chapter "Mathematical functions"."""

from cupool.client_shim.cupy._math.arithmetic import *  # noqa: F403
from cupool.client_shim.cupy._math.misc import *  # noqa: F403
from cupool.client_shim.cupy._math.rounding import *  # noqa: F403
from cupool.client_shim.cupy._math.sumprod import *  # noqa: F403
from cupool.client_shim.cupy._math.trigonometric import *  # noqa: F403
from cupool.client_shim.cupy._math.window import *  # noqa: F403

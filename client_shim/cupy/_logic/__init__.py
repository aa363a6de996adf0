"""CuPy's chapter "Logic functions"; the comparisons are ufuncs."""

from cupool.client_shim.cupy._logic.comparison import *  # noqa: F403
from cupool.client_shim.cupy._logic.content import *  # noqa: F403
from cupool.client_shim.cupy._logic.truth import *  # noqa: F403
from cupool.client_shim.cupy._logic.type_testing import *  # noqa: F403

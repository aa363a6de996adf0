"""`cupyx.profiler`: measuring functions, and marking ranges for a profiler."""

from __future__ import annotations

from cupool.client_shim.cupy import _unsupported
from cupool.client_shim.cupyx.profiler._profile import profile
from cupool.client_shim.cupyx.profiler._time import benchmark
from cupool.client_shim.cupyx.profiler._time_range import time_range

__all__ = ["benchmark", "profile", "time_range"]

_unsupported.fill(globals(), "cupyx.profiler")

"""`cupy.cuda.profiler`: switches of CUDA's profiler, which would run on the server."""

from cupool.client_shim.cupy.cuda._runtime_devices import profilerStart as start
from cupool.client_shim.cupy.cuda._runtime_devices import profilerStop as stop

__all__ = ["start", "stop"]

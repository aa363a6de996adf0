"""`cupy_backends.cuda.api.driver`: the module of `cupy.cuda.driver` under its old path."""

from cupool.client_shim.cupy.cuda.driver import *  # noqa: F403
from cupool.client_shim.cupy.cuda.driver import CUDADriverError

__all__ = ["CUDADriverError"]

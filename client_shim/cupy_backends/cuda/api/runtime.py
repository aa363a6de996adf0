"""`cupy_backends.cuda.api.runtime`: the module of `cupy.cuda.runtime` under its old path."""

from cupool.client_shim.cupy.cuda.runtime import *  # noqa: F403
from cupool.client_shim.cupy.cuda.runtime import CUDARuntimeError

__all__ = ["CUDARuntimeError"]

"""`cupyx.distributed`: processes that each have a device work together, over the pool's links."""

from cupool.client_shim.cupy import _unsupported
from cupool.client_shim.cupyx.distributed._init import init_process_group
from cupool.client_shim.cupyx.distributed._nccl_comm import NCCLBackend

__all__ = ["NCCLBackend", "init_process_group"]

_unsupported.fill(globals(), "cupyx.distributed")

"""`cupyx.distributed.array`: arrays in pieces on several devices of the lease."""

from cupool.client_shim.cupyx.distributed.array._array import DistributedArray, distributed_array
from cupool.client_shim.cupyx.distributed.array._linalg import make_2d_index_map, matmul
from cupool.client_shim.cupyx.distributed.array._modes import MAX, MIN, PROD, REPLICA, SUM, Mode

__all__ = [
    "MAX",
    "MIN",
    "PROD",
    "REPLICA",
    "SUM",
    "DistributedArray",
    "Mode",
    "distributed_array",
    "make_2d_index_map",
    "matmul",
]

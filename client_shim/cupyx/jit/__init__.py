"""`cupyx.jit`: kernels written in Python. Their text becomes CUDA C++ here, on the client."""

from __future__ import annotations

from cupool.client_shim.cupyx.jit import _compile  # noqa: F401  (order matters: first of all)
from cupool.client_shim.cupyx.jit._builtin_funcs import (
    atomic_add,
    atomic_and,
    atomic_cas,
    atomic_dec,
    atomic_exch,
    atomic_inc,
    atomic_max,
    atomic_min,
    atomic_or,
    atomic_sub,
    atomic_xor,
    grid,
    gridsize,
    laneid,
    shared_memory,
    shfl_down_sync,
    shfl_sync,
    shfl_up_sync,
    shfl_xor_sync,
    syncthreads,
    syncwarp,
)
from cupool.client_shim.cupyx.jit._builtin_funcs import range_ as range
from cupool.client_shim.cupyx.jit._interface import (
    blockDim,
    blockIdx,
    gridDim,
    rawkernel,
    threadIdx,
    warpsize,
)

from cupool.client_shim.cupyx.jit import cg, cub, thrust  # isort: skip

__all__ = [
    "atomic_add",
    "atomic_and",
    "atomic_cas",
    "atomic_dec",
    "atomic_exch",
    "atomic_inc",
    "atomic_max",
    "atomic_min",
    "atomic_or",
    "atomic_sub",
    "atomic_xor",
    "blockDim",
    "blockIdx",
    "cg",
    "cub",
    "grid",
    "gridDim",
    "gridsize",
    "laneid",
    "range",
    "rawkernel",
    "shared_memory",
    "shfl_down_sync",
    "shfl_sync",
    "shfl_up_sync",
    "shfl_xor_sync",
    "syncthreads",
    "syncwarp",
    "threadIdx",
    "thrust",
    "warpsize",
]

"""Products of arrays that CuPy has at top level; they live in `cupy.linalg` and `cupy._core`."""

from cupool.client_shim.cupy.linalg._einsum import einsum
from cupool.client_shim.cupy.linalg._norms import trace
from cupool.client_shim.cupy.linalg._product import (
    cross,
    dot,
    inner,
    kron,
    outer,
    tensordot,
    vdot,
)

__all__ = ["cross", "dot", "einsum", "inner", "kron", "outer", "tensordot", "trace", "vdot"]

"""The array class, the ufunc class, and how they speak to the session. Open `core.py` first."""

from cupool.client_shim.cupy._core._accelerator import (
    get_elementwise_accelerators,
    get_reduction_accelerators,
    get_routine_accelerators,
    set_elementwise_accelerators,
    set_reduction_accelerators,
    set_routine_accelerators,
)
from cupool.client_shim.cupy._core._sizes import get_size

__all__ = [
    "get_elementwise_accelerators",
    "get_reduction_accelerators",
    "get_routine_accelerators",
    "get_size",
    "set_elementwise_accelerators",
    "set_reduction_accelerators",
    "set_routine_accelerators",
]

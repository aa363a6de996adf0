"""The array class, the ufunc class, and how they speak to the session. Open `core.py` first."""

from typing import Any

from cupool.client_shim.cupy._core import internal
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
    "internal",
    "set_elementwise_accelerators",
    "set_reduction_accelerators",
    "set_routine_accelerators",
]


def _get_warpsize() -> int:
    """Return the number of threads of a warp."""
    return 32


def _full_mask() -> int:
    """Return the mask that names all threads of a warp."""
    return 0xFFFFFFFF


def __getattr__(name: str) -> Any:
    # After the package: these modules need the array class first.
    if name == "ndarray":
        from cupool.client_shim.cupy._core.core import ndarray

        return ndarray
    if name == "array":
        from cupool.client_shim.cupy._creation.from_data import array

        return array
    if name in ("create_reduction_func", "create_ufunc", "elementwise_copy"):
        from cupool.client_shim.cupy._core import _makers

        return getattr(_makers, name)
    if name in ("ElementwiseKernel", "ReductionKernel", "RawKernel", "RawModule"):
        import cupool.client_shim.cupy as cupy

        return getattr(cupy, name)
    if name == "new_fusion":
        from cupool.client_shim.cupy._core import fusion

        return fusion
    if name == "ufunc":
        from cupool.client_shim.cupy._core._kernel import ufunc

        return ufunc
    raise AttributeError(f"module 'cupy._core' has no attribute {name!r}")

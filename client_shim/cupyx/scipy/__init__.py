"""`cupyx.scipy`: SciPy's functions for device arrays, as far as they are here."""

from __future__ import annotations

from typing import Any

from cupool.client_shim import cupy

__all__ = ["get_array_module"]


def get_array_module(*args: Any) -> Any:
    """Return `cupyx.scipy` if any argument is a device array, else `scipy`."""
    if any(isinstance(a, cupy.ndarray) for a in args):
        from cupool.client_shim.cupyx import scipy as own

        return own
    import scipy

    return scipy

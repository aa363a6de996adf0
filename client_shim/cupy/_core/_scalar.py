"""C++ names of dtypes, under CuPy's private path."""

from __future__ import annotations

from typing import Any

from cupool.client_shim.cupy._core._dtype import get_dtype
from cupool.proto.kernels import c_type


def get_typename(dtype: Any, type_decls: Any = None) -> str:
    """Return the C++ type that kernels have for elements of a dtype; it needs no declaration.

    Raises:
        ValueError: they have none.
    """
    return c_type(get_dtype(dtype))

"""`around`, `round`; `rint`, `floor` and their kin are ufuncs, in `_core._ufuncs`."""

from __future__ import annotations

import warnings
from typing import Any

from cupool.client_shim.cupy._creation.from_data import asarray

__all__ = ["around", "round", "round_"]


def around(a: Any, decimals: int = 0, out: Any = None) -> Any:
    """Return the elements rounded to a number of decimals, halves to even.

    Args:
        a: array, or what `array` takes.
        decimals: negative ones round to tens, hundreds, ...
    """
    return asarray(a).round(decimals, out=out)


def round(a: Any, decimals: int = 0, out: Any = None) -> Any:
    """Return the elements rounded to a number of decimals; see `around`."""
    return around(a, decimals, out=out)


def round_(a: Any, decimals: int = 0, out: Any = None) -> Any:
    """Old name of `round`."""
    warnings.warn("Please use `round` instead.", DeprecationWarning, stacklevel=2)
    return around(a, decimals, out=out)

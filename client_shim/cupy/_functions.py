"""Where the array's methods find the package's functions, once all of it is imported.

`ndarray` is defined before the functions that take it; these one-line look-ups break the circle.
"""

from __future__ import annotations

import sys
import warnings
from typing import Any

import numpy as np

_PACKAGE = "cupool.client_shim.cupy"


def cupy() -> Any:
    return sys.modules[_PACKAGE]


def core() -> Any:
    return sys.modules[f"{_PACKAGE}._core.core"]


def calls() -> Any:
    return sys.modules[f"{_PACKAGE}._core.calls"]


def views() -> Any:
    return sys.modules[f"{_PACKAGE}._core.views"]


def indexing() -> Any:
    return sys.modules[f"{_PACKAGE}._core.routines_indexing"]


def sorting() -> Any:
    return sys.modules[f"{_PACKAGE}._sorting.sort"]


def ufuncs() -> Any:
    return sys.modules[f"{_PACKAGE}._core._ufuncs"]


def reduce(*args: Any, **options: Any) -> Any:
    return sys.modules[f"{_PACKAGE}._core._reduction"].reduce(*args, **options)


def scan(*args: Any) -> Any:
    return sys.modules[f"{_PACKAGE}._core._reduction"].scan(*args)


def rounding() -> Any:
    return sys.modules[f"{_PACKAGE}._core._rounding"].around


def get_dtype(spec: Any) -> Any:
    return sys.modules[f"{_PACKAGE}._core._dtype"].get_dtype(spec)


def warn_complex() -> None:
    warnings.warn(
        "Casting complex values to real discards the imaginary part",
        np.exceptions.ComplexWarning,
        stacklevel=3,
    )

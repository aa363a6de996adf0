"""The ufunc objects, one for each row of kind "ufunc" in the operation table."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from cupool.client_shim.cupy._core import _operators
from cupool.client_shim.cupy._core._documentation import describe
from cupool.client_shim.cupy._core._kernel import ufunc
from cupool.client_shim.cupy._core.products import matmul
from cupool.proto.operations import TABLE

# NumPy has these as plain functions: only their promotion is needed here.
_PROMOTES_LIKE = {"fix": np.floor, "i0": np.sin, "sinc": np.sin}
ALIASES = {
    "abs": "absolute",
    "acos": "arccos",
    "acosh": "arccosh",
    "asin": "arcsin",
    "asinh": "arcsinh",
    "atan": "arctan",
    "atan2": "arctan2",
    "atanh": "arctanh",
    "bitwise_invert": "invert",
    "bitwise_left_shift": "left_shift",
    "bitwise_not": "invert",
    "bitwise_right_shift": "right_shift",
    "conj": "conjugate",
    "divide": "true_divide",
    "mod": "remainder",
    "pow": "power",
}


def _build() -> dict[str, Any]:
    made: dict[str, Any] = {"matmul": matmul}
    for row in TABLE.values():
        if row.kind == "ufunc":
            like = _PROMOTES_LIKE.get(row.name) or getattr(np, row.name)
            made[row.name] = ufunc(row.name, like, describe(f"cupy.{row.name}"))
    made |= {alias: made[name] for alias, name in ALIASES.items()}
    return made


ALL = _build()
globals().update(ALL)
_operators.ufuncs = sys.modules[__name__]


def __getattr__(name: str) -> Any:
    raise AttributeError(f"cupy has no ufunc {name!r}")

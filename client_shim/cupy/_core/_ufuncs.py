"""The ufunc objects, one for each row of kind "ufunc" in the operation table."""

from __future__ import annotations

import sys
from typing import Any

from cupool.client_shim.cupy._core import _operators
from cupool.client_shim.cupy._core._documentation import describe
from cupool.client_shim.cupy._core._kernel import ufunc
from cupool.client_shim.cupy._core._loops import Loops
from cupool.client_shim.cupy._core.products import matmul
from cupool.proto.operations import TABLE
from cupool.proto.operations.api import listing

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
    "degrees": "rad2deg",
    "divide": "true_divide",
    "mod": "remainder",
    "pow": "power",
    "radians": "deg2rad",
}

_BOOLEAN_SUBTRACT = (
    "cupy boolean subtract, the `-` operator, is deprecated, use the bitwise_xor, the `^` operator,"
    " or the logical_xor function instead."
)
_BOOLEAN_NEGATIVE = (
    "The cupy boolean negative, the `-` operator, is not supported, use the `~` operator or the"
    " logical_not function instead."
)
_BOOLEAN_POSITIVE = "The cupy boolean positive, the `+` operator, is not supported."
REFUSALS = {
    "gcd": {"??->?": "gcd cannot be computed with boolean arrays"},
    "lcm": {"??->?": "lcm cannot be computed with boolean arrays"},
    "negative": {"?->?": _BOOLEAN_NEGATIVE},
    "positive": {"?->?": _BOOLEAN_POSITIVE},
    "subtract": {"??->?": _BOOLEAN_SUBTRACT},
}
for _name in ("arctan2", "copysign", "hypot", "nextafter"):
    # On the list, but CUDA has no such function: CuPy fails when it compiles the kernel.
    _text = f"{_name} is not defined for complex numbers"
    REFUSALS[_name] = {"FF->F": _text, "DD->D": _text}
"""Loops on CuPy's lists that raise TypeError."""

_FLOATS = "e f d F D".split()
_BY_DTYPE = {"true_divide": [f"{c}{c}->{c}" for c in _FLOATS]}
"""Ufuncs that look `dtype=` up in another list."""

_NO_BFLOAT16 = frozenset(
    "divmod float_power logical_and logical_not logical_or logical_xor".split()
)
"""Ufuncs with loops of float16, but none of bfloat16."""

_WHOLE = "? b B h H i I l L q Q".split()
_INTERNAL = {
    "clip": [f"{c}{c}{c}->{c}" for c in (*_WHOLE, *"efd")],
    "angle": ["?->d", "e->e", "f->f", "d->d", "F->f", "D->d"],
    "round": ["?q->e", *(f"{c}q->{c}" for c in (*_WHOLE[1:], *_FLOATS))],
}
"""What CuPy computes by a ufunc that it does not show."""


def _build() -> dict[str, Any]:
    made: dict[str, Any] = {"matmul": matmul}
    for row in TABLE.values():
        if row.kind == "ufunc" and row.cupy == f"cupy.{row.name}":
            name = row.name
            described = listing().ufunc(row.cupy)
            if described is None:
                continue
            has_bfloat16 = name not in _NO_BFLOAT16
            loops = Loops(name, described.types, REFUSALS.get(name, {}), has_bfloat16)
            by_dtype = Loops(name, _BY_DTYPE[name], {}, has_bfloat16) if name in _BY_DTYPE else None
            made[name] = ufunc(name, loops, describe(row.cupy), by_dtype)
    made |= {alias: made[name] for alias, name in ALIASES.items()}
    return made


def build_elsewhere(module: str) -> dict[str, Any]:
    """Make the ufuncs of another module of CuPy's, e.g. "cupyx.scipy.special", by short name."""
    made: dict[str, Any] = {}
    for row in TABLE.values():
        parent, _, name = row.cupy.rpartition(".")
        described = listing().ufunc(row.cupy)
        if row.kind == "ufunc" and parent == module and described is not None:
            loops = Loops(name, described.types)
            made[name] = ufunc(name, loops, describe(row.cupy), op=row.name, module=module)
    return made


ALL = _build()
globals().update(ALL)
_clip_ufunc = ufunc("clip", Loops("clip", _INTERNAL["clip"]))
angle_loops = Loops("angle", _INTERNAL["angle"], {}, True)
round_loops = Loops("round", _INTERNAL["round"])
_operators.ufuncs = sys.modules[__name__]


def __getattr__(name: str) -> Any:
    raise AttributeError(f"cupy has no ufunc {name!r}")

"""Computing with bfloat16 on the mock: in float32, and rounded at the end, as CuPy's kernels do.

`ml_dtypes` has loops of its own, but sums in them lose what is small, and some are missing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from cupool.proto.bfloat16 import is_bfloat16
from cupool.proto.operations import Operation, creation, indexing, manipulation, sorting

_WIDE = np.dtype(np.float32)
_MOVES = (
    row.name
    for chapter in (creation, indexing, manipulation, sorting)
    for row in chapter.OPERATIONS
)
_AS_THEY_ARE = frozenset(_MOVES) - {"where"} | {"nan_to_num", "nextafter"}
"""Operations that only move elements, or look for bfloat16's own numbers."""


def concerns(
    operation: Operation, args: Sequence[Any], kwargs: Mapping[str, Any], results: int
) -> bool:
    """Whether an operation of so many results computes with bfloat16."""
    if operation.kind != "ufunc" and (operation.kind != "function" or not results):
        return False  # what has no result writes into its arguments
    for value in args:
        if _is_narrow(value):
            return operation.name not in _AS_THEY_ARE
    for value in kwargs.values():
        if _is_narrow(value):
            return operation.name not in _AS_THEY_ARE
    return False


def _is_narrow(value: Any) -> bool:
    if isinstance(value, (list, tuple)):
        return any(_is_narrow(each) for each in value)
    if isinstance(value, np.dtype):
        return is_bfloat16(value)
    return isinstance(value, (np.ndarray, np.generic)) and is_bfloat16(value.dtype)


def widened(value: Any) -> Any:
    """Return arrays, scalars and dtypes of bfloat16 as those of float32; the rest as it is."""
    if isinstance(value, (list, tuple)):
        return type(value)([widened(each) for each in value])
    if not _is_narrow(value):
        return value
    return _WIDE if isinstance(value, np.dtype) else value.astype(_WIDE)


def widened_options(kwargs: Mapping[str, Any]) -> dict[str, Any]:
    """Do the same to keyword arguments, but for outputs: they are written as what they are."""
    return {name: v if name == "out" else widened(v) for name, v in kwargs.items()}

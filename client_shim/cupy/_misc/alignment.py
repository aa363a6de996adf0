"""`make_aligned_dtype`: structured dtypes laid out as CUDA's compilers lay structures out."""

from __future__ import annotations

from typing import Any

import numpy as np

__all__ = ["make_aligned_dtype"]

_KEY = "__cuda_alignment__"
"""Where a dtype's metadata says that it was given a larger alignment than it needs."""


def _alignment(dtype: np.dtype[Any]) -> int:
    """Return what CUDA aligns an element to: complex numbers to their size."""
    base = dtype.base
    metadata: Any = base.metadata or {}
    asked = metadata.get(_KEY)
    if asked is not None:
        return int(asked)
    return base.itemsize if base.kind == "c" else base.alignment


def _up(offset: int, alignment: int) -> int:
    return -(-offset // alignment) * alignment


def _laid_out(dtype: np.dtype[Any], alignment: int, recurse: bool) -> tuple[np.dtype[Any], int]:
    """Return a structured dtype with its fields, and its end, aligned; and its alignment."""
    names, formats, offsets = [], [], []
    end = given_end = 0
    needed = 1
    for name, (kind, given_offset, *_) in (dtype.fields or {}).items():
        if given_offset < given_end:
            raise ValueError("make_aligned_dtype() only supports well behaved in-order fields")
        given_end = given_offset + kind.itemsize
        if kind.fields is not None and recurse and _KEY not in (kind.metadata or {}):
            kind, own = _laid_out(kind, -1, recurse)
        else:
            own = _alignment(kind)
        start = _up(end, own)
        needed = max(needed, own)
        names.append(name)
        formats.append(kind)
        offsets.append(start)
        end = start + kind.itemsize
    metadata: dict[str, Any] = {}
    if alignment != -1:
        if alignment < needed:
            raise ValueError(
                f"make_aligned_dtype(): given alignment={alignment} smaller than minimum"
                f" alignment {needed}"
            )
        metadata = {"metadata": {_KEY: alignment}}
        needed = alignment
    size_bytes = _up(end, needed)
    if dtype.itemsize > size_bytes:
        raise ValueError("Input descriptor had larger itemsize than inferred.")
    described = {"names": names, "formats": formats, "offsets": offsets, "itemsize": size_bytes}
    made: np.dtype[Any] = np.dtype(described, align=True, **metadata)  # type: ignore[call-overload]
    return made, needed


def make_aligned_dtype(dtype: Any, *, alignment: int = -1, recurse: bool = True) -> np.dtype[Any]:
    """Return a structured dtype whose fields lie where CUDA needs them.

    Args:
        dtype: what `numpy.dtype` takes.
        alignment: of the whole, a power of two; what the fields need if not given.
        recurse: lay structures within it out anew, too.

    Raises:
        ValueError: not structured, fields out of order, or an alignment that is too small.
    """
    described = np.dtype(dtype, align=True)
    if alignment != -1 and (alignment <= 0 or alignment & (alignment - 1)):
        raise ValueError("Reasonable alignments must be >0 and a power of 2.")
    if described.fields is None:
        raise ValueError("make_aligned_dtype() only supports structured dtypes.")
    return _laid_out(described, alignment, recurse)[0]

"""`who`."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any

from cupool.client_shim.cupy._core import core

__all__ = ["who"]


def who(vardict: Mapping[str, Any] | None = None) -> None:
    """Print the device arrays of a mapping, by default of the caller's global names."""
    if vardict is None:
        vardict = sys._getframe(1).f_globals
    rows: list[tuple[str, str, str, str]] = []
    seen: dict[int, str] = {}
    total_bytes = 0
    for name in sorted(vardict):
        array = vardict[name]
        if not isinstance(array, core.ndarray):
            continue
        label = name
        if id(array) in seen:
            label = f"{name} ({seen[id(array)]})"
        else:
            seen[id(array)] = name
            total_bytes += array.nbytes
        shape = " x ".join(str(n) for n in array.shape)
        rows.append((label, shape, str(array.nbytes), array.dtype.name))
    if rows:
        name_width, shape_width, bytes_width = (
            max(10, *(len(row[i]) for row in rows)) for i in range(3)
        )
        head = f"Name {name_width * ' '} Shape {shape_width * ' '} Bytes {bytes_width * ' '} Type"
        print(f"{head}\n{'=' * (len(head) + 5)}\n")
        for label, shape, size, kind in rows:
            gaps = (
                " " * (name_width - len(label) + 4),
                " " * (shape_width - len(shape) + 5),
                " " * (bytes_width - len(size) + 5),
            )
            print(f"{label} {gaps[0]} {shape} {gaps[1]} {size} {gaps[2]} {kind}")
    print(f"\nUpper bound on total bytes  =       {total_bytes}")

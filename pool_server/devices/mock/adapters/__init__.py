"""Where CuPy differs from NumPy: one module for each chapter of the operation table.

Decorate a function with `calls.adapter("name")`; a new module goes into `_CHAPTERS`.
"""

from __future__ import annotations

import importlib

_CHAPTERS = (
    "creation",
    "cuda",
    "fft",
    "indexing",
    "interpolate",
    "kernels",
    "libraries",
    "linalg",
    "logic",
    "manipulation",
    "mathematics",
    "miscellaneous",
    "ndimage",
    "reductions",
    "scientific",
    "signal",
    "solvers",
    "sorting",
    "sparse",
    "sparse_linalg",
    "spatial",
    "special",
    "statistics",
    "ufuncs",
)


def load() -> None:
    """Import all chapters, which registers their adapters."""
    for chapter in _CHAPTERS:
        importlib.import_module(f"{__name__}.{chapter}")

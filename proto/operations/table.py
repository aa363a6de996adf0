"""The table: every chapter's rows, by name."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from cupool.proto.operations import (
    core,
    creation,
    cuda,
    exchange,
    fft,
    indexing,
    interpolate,
    kernels,
    libraries,
    linalg,
    logic,
    manipulation,
    mathematics,
    miscellaneous,
    ndimage,
    random,
    reductions,
    scientific,
    signal,
    sorting,
    sparse,
    spatial,
    special,
    statistics,
    ufuncs,
)
from cupool.proto.operations.operation import Operation

_CHAPTERS = (
    core,
    creation,
    cuda,
    exchange,
    fft,
    indexing,
    interpolate,
    kernels,
    libraries,
    linalg,
    logic,
    manipulation,
    mathematics,
    miscellaneous,
    ndimage,
    random,
    reductions,
    scientific,
    signal,
    sorting,
    sparse,
    spatial,
    special,
    statistics,
    ufuncs,
)


def _build() -> Mapping[str, Operation]:
    rows: dict[str, Operation] = {}
    for chapter in _CHAPTERS:
        for row in chapter.OPERATIONS:
            if row.name in rows:
                raise ValueError(f"operation {row.name!r} is in the table twice")
            rows[row.name] = row
    return MappingProxyType(rows)


TABLE: Mapping[str, Operation] = _build()

"""`cupyx.cusolver`: only the question what there is; the routines raise when they are used."""

from __future__ import annotations

from typing import Any

from cupool.client_shim.cupy import _unsupported

__all__ = ["check_availability"]

_ROUTINES = frozenset(
    "gesvdj gesvdjBatched gesvda potrfBatched potrsBatched syevj syevjBatched gesv gels csrlsvqr "
    "geev".split()
)


def check_availability(name: str) -> bool:
    """Return whether the device's cuSOLVER has a routine; servers run a version that has all.

    Raises:
        ValueError: no such routine.
    """
    if name not in _ROUTINES:
        raise ValueError(f"No available version information specified for {name}")
    return True


def __getattr__(name: str) -> Any:
    names: dict[str, Any] = {}
    _unsupported.fill(names, "cupyx.cusolver")
    try:
        return names[name]
    except KeyError:
        raise AttributeError(f"module 'cupyx.cusolver' has no attribute {name!r}") from None

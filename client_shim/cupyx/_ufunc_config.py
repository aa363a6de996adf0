"""`cupyx.errstate`, `seterr`, `geterr`: whether linear algebra raises for bad values.

Only `linalg` can be set, for each thread: "ignore" (the default, no wait) or "raise".
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from typing import Any

__all__ = ["errstate", "get_config_linalg", "geterr", "seterr"]


class _Config(threading.local):
    linalg = "ignore"


_config = _Config()


def get_config_linalg() -> str:
    """Return "ignore" or "raise"."""
    return _config.linalg


@contextlib.contextmanager
def errstate(
    *,
    divide: Any = None,
    over: Any = None,
    under: Any = None,
    invalid: Any = None,
    linalg: str | None = None,
) -> Iterator[None]:
    """Set what `seterr` sets for the length of a `with` block."""
    old = seterr(divide=divide, over=over, under=under, invalid=invalid, linalg=linalg)
    try:
        yield
    finally:
        seterr(**old)


def seterr(
    *,
    divide: Any = None,
    over: Any = None,
    under: Any = None,
    invalid: Any = None,
    linalg: str | None = None,
) -> dict[str, Any]:
    """Set how errors are handled, and return what was set before.

    Args:
        linalg: "ignore" or "raise" (waits for each decomposition).

    Raises:
        NotImplementedError: any other key or value.
    """
    if (divide, over, under, invalid) != (None,) * 4 or linalg not in (None, "ignore", "raise"):
        raise NotImplementedError("only linalg='ignore' and linalg='raise' can be set")
    old = geterr()
    if linalg is not None:
        _config.linalg = linalg
    return old


def geterr() -> dict[str, Any]:
    """Return how errors are handled."""
    return {
        "divide": None,
        "over": None,
        "under": None,
        "invalid": None,
        "linalg": _config.linalg,
    }

"""`optimize`: accepted, and without effect."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

__all__ = ["optimize"]

_KNOWN = {"max_trials", "timeout", "expected_total_time_per_trial", "max_total_time_per_trial"}


@contextlib.contextmanager
def optimize(
    *, key: Any = None, path: Any = None, readonly: bool = False, **config_dict: Any
) -> Iterator[None]:
    """Do the block's reductions with the device's own launch parameters: nothing is tuned.

    Args:
        key, path, readonly: where CuPy would keep what it found; no file is read or written.
        config_dict: CuPy's settings of the search.

    Raises:
        TypeError: no such setting.
    """
    unknown = set(config_dict) - _KNOWN
    if unknown:
        raise TypeError(f"optimize() got an unexpected keyword argument {min(unknown)!r}")
    yield

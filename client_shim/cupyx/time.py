"""`cupyx.time`: the former home of `cupyx.profiler.benchmark`."""

from __future__ import annotations

import math
import warnings
from typing import Any

from cupool.client_shim.cupyx.profiler._time import _PerfCaseResult, benchmark

__all__ = ["repeat"]


def repeat(
    func: Any,
    args: Any = (),
    kwargs: Any = {},  # noqa: B006
    n_repeat: int = 10000,
    *,
    name: str | None = None,
    n_warmup: int = 10,
    max_duration: float = math.inf,
    devices: Any = None,
) -> _PerfCaseResult:
    """Measure a function; deprecated for `cupyx.profiler.benchmark`."""
    warnings.warn(
        "cupyx.time.repeat is now cupyx.profiler.benchmark; the old name will be removed.",
        stacklevel=2,
    )
    return benchmark(
        func,
        args,
        kwargs,
        n_repeat,
        name=name,
        n_warmup=n_warmup,
        max_duration=max_duration,
        devices=devices,
    )

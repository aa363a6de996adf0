"""`cupyx.scipy.stats`: entropy, z-scores, trimmed means."""

from __future__ import annotations

from cupool.client_shim.cupy import _unsupported
from cupool.client_shim.cupyx.scipy.stats._distributions import entropy
from cupool.client_shim.cupyx.scipy.stats._morestats import boxcox_llf
from cupool.client_shim.cupyx.scipy.stats._stats import trim_mean
from cupool.client_shim.cupyx.scipy.stats._stats_py import zmap, zscore

__all__ = ["boxcox_llf", "entropy", "trim_mean", "zmap", "zscore"]

_unsupported.fill(globals(), "cupyx.scipy.stats")

"""`cupyx.scipy.signal.windows`: windows for filters and spectra."""

from __future__ import annotations

from cupool.client_shim.cupy import _unsupported
from cupool.client_shim.cupyx.scipy.signal.windows import _windows
from cupool.client_shim.cupyx.scipy.signal.windows._windows import *  # noqa: F403
from cupool.client_shim.cupyx.scipy.signal.windows._windows import check_window as check_window

__all__ = _windows.__all__

_unsupported.fill(globals(), "cupyx.scipy.signal.windows")

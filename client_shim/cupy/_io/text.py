"""`savetxt`."""

from __future__ import annotations

from typing import Any

import numpy as np

from cupool.client_shim.cupy._creation.from_data import asnumpy

__all__ = ["savetxt"]


def savetxt(fname: Any, X: Any, *args: Any, **kwargs: Any) -> None:
    """Write an array to a text file of this machine, as `numpy.savetxt`; waits for the data."""
    np.savetxt(fname, asnumpy(X), *args, **kwargs)

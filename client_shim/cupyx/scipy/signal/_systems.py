"""What the declarations of this package predict with."""

from __future__ import annotations

from typing import Any

import numpy as np

from cupool.client_shim.cupyx.scipy._declared import Spec

__all__ = ["count_of", "named_window", "window"]

_FORMS = {"ba": 2, "tf": 2, "zpk": 3, "sos": 1, "ss": 4}


def count_of(output: str) -> int:
    """Return how many arrays a form of a filter has; 1 for a form that the device will refuse."""
    return _FORMS.get(output, 1)


def window(M: Any) -> Spec:
    """Predict a window.

    Raises:
        ValueError: a length that is no whole number, or negative.
    """
    if int(M) != M or M < 0:
        raise ValueError("Window length M must be a non-negative integer")
    return Spec((int(M),), np.dtype(np.float64))


def named_window(window: Any) -> int:
    """Check what names a window: ValueError if it can name none."""
    if not isinstance(window, (str, tuple, float, int)):
        raise ValueError(f"{type(window)} as window type is not supported.")
    return 1

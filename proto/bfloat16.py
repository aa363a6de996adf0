"""bfloat16: the one dtype of CuPy's that NumPy has not. The package `ml_dtypes` brings it.

Source: https://github.com/jax-ml/ml_dtypes; CuPy 14 takes it where that package is installed.
"""

from __future__ import annotations

from typing import Any

import numpy as np

DType = np.dtype[Any]

NAME = "bfloat16"
_FIRST_OF_OTHERS = 256
"""NumPy numbers dtypes that are not its own from here."""


def is_foreign(dtype: DType) -> bool:
    """Whether another package than NumPy brings a dtype."""
    return dtype.num >= _FIRST_OF_OTHERS


def is_bfloat16(dtype: DType) -> bool:
    """Whether a dtype is `ml_dtypes.bfloat16`."""
    return dtype.num >= _FIRST_OF_OTHERS and dtype.type.__name__ == NAME


def bfloat16() -> DType:
    """Return the dtype.

    Raises:
        ModuleNotFoundError: `ml_dtypes` is not installed.
    """
    import ml_dtypes

    found: DType = np.dtype(ml_dtypes.bfloat16)
    return found

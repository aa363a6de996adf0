"""Powers of sparse matrices."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

from cupool.client_shim.cupyx.scipy.sparse._construct import eye_array

__all__ = ["matrix_power"]


def power_by_squaring(A: Any, power: Any, identity: Callable[[], Any]) -> Any:
    """Multiply a matrix with itself, halving the exponent; each product waits once.

    Raises:
        TypeError: not square.
        ValueError: the exponent is negative, or no integer.
    """
    if A.shape[0] != A.shape[1]:
        raise TypeError("sparse matrix is not square")
    try:
        power = operator.index(power)
    except TypeError:
        raise ValueError("exponent must be an integer") from None
    if power < 0:
        raise ValueError("exponent must be >= 0")
    if power == 0:
        return identity()
    result = A.copy() if power == 1 else None
    for bit in bin(power)[3:]:
        result = A if result is None else result
        result = result @ result
        if bit == "1":
            result = A @ result
    return result


def matrix_power(A: Any, power: int) -> Any:
    """Return a square sparse matrix to the power of a non-negative integer."""
    return power_by_squaring(A, power, lambda: eye_array(A.shape[0], dtype=A.dtype))

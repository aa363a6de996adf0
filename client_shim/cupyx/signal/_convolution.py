"""Convolution with filters of second and third order (Volterra's)."""

from __future__ import annotations

from typing import Any

import numpy as np

from cupool.client_shim.cupyx.scipy._declared import Spec, declared

__all__ = ["convolve1d2o", "convolve1d3o"]
_operation = declared("signal")


def _check(in1: Any, in2: Any, ndim: int, mode: str, method: str) -> Spec:
    if in1.ndim != 1:
        raise ValueError("in1 should have one dimension")
    if in2.ndim != ndim:
        raise ValueError(f"in2 should have {ndim} dimensions")
    if mode != "valid":
        raise NotImplementedError(f"Mode == {mode} not implemented")
    if method != "direct":
        raise NotImplementedError("Only Direct method implemented")
    length = in1.shape[0] - max(in2.shape) + 1
    return Spec((length,), np.result_type(in1.dtype, in2.dtype))


@_operation
def convolve1d2o(in1: Any, in2: Any, mode: str = "valid", method: str = "direct") -> Any:
    """Sum the products of pairs of samples with weights `in2` of two axes.

    Raises:
        NotImplementedError: another mode than "valid", another method than "direct".
        ValueError: inputs of other numbers of axes.
    """
    return _check(in1, in2, 2, mode, method)


@_operation
def convolve1d3o(in1: Any, in2: Any, mode: str = "valid", method: str = "direct") -> Any:
    """Sum the products of triples of samples with weights of three axes; see `convolve1d2o`."""
    return _check(in1, in2, 3, mode, method)

"""Whether a cuFFT plan fits the transform that it is given to."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from cupool.client_shim.cupy.cuda import cufft

__all__ = ["check_at_once", "check_axis_by_axis", "chosen"]


def chosen(plan: Any) -> Any:
    """Return the plan given as an argument, or that of the ``with`` block around, or None.

    Raises:
        RuntimeError: there are both.
    """
    around = cufft.get_current_plan()
    if around is None:
        return plan
    if plan is not None:
        raise RuntimeError("Use the cuFFT plan either as a context manager or as an argument.")
    return around


def check_axis_by_axis(
    plan: Any, dtype: np.dtype[Any], source: Sequence[int], axes: Sequence[int], value_type: str
) -> None:
    """Check the plan of a transform that is done one axis at a time.

    Args:
        plan: as an argument; CuPy does not look at it for real transforms.
        dtype: of the input.
        source: its shape, once cut and padded; for C2R the lengths of the result.
        axes: in order.

    Raises:
        RuntimeError: two plans.
        ValueError: the plan is for another transform.
    """
    plan = chosen(plan if value_type == "C2C" else None)
    if plan is None:
        return
    if not isinstance(plan, cufft.Plan1d):
        raise ValueError("expected plan to have type cufft.Plan1d")
    if cufft.fft_type_of(dtype, value_type) != plan.fft_type:
        raise ValueError("cuFFT plan dtype mismatch.")
    for axis in axes:
        points = source[axis]
        if points != plan.nx:
            raise ValueError("Target array size does not match the plan.", points, plan.nx)
        if prod(source) // points != plan.batch:
            raise ValueError("Batch size does not match the plan.")


def check_at_once(
    plan: Any,
    dtype: np.dtype[Any],
    lengths: Sequence[int],
    order: str,
    value_type: str,
    last_axis: int,
) -> None:
    """Check the plan of a transform of several axes; `lengths` along these, in order of axes.

    Raises:
        ValueError: the plan is for another transform.
    """
    plan = cufft.get_current_plan() or plan
    if plan is None:
        return
    if not isinstance(plan, cufft.PlanNd):
        raise ValueError("expected plan to have type cufft.PlanNd")
    if order != plan.order:
        raise ValueError(f"array orders mismatch (plan: {plan.order}, input: {order})")
    expected = tuple(lengths if order == "C" else reversed(lengths))
    if expected != plan.shape:
        raise ValueError(
            f"The cuFFT plan and a.shape do not match: plan.shape = {plan.shape}, "
            f"expected_shape={expected}"
        )
    if cufft.fft_type_of(dtype, value_type) != plan.fft_type:
        raise ValueError("cuFFT plan dtype mismatch.")
    if value_type == "C2C":
        return
    size = lengths[-1] if value_type == "C2R" else lengths[-1] // 2 + 1
    if last_axis != plan.last_axis:
        raise ValueError("The last axis for R2C/C2R mismatch")
    if size != plan.last_size:
        raise ValueError("The size along the last R2C/C2R axis mismatch")

"""cuFFT plans: those that transforms make, and whether one fits that it is given to."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from cupool.client_shim.cupy.cuda import cufft
from cupool.client_shim.cupy.fft import _cache
from cupool.client_shim.cupy.fft._callback import get_current_callback_manager
from cupool.client_shim.cupy.fft._config import config

__all__ = [
    "check_at_once",
    "check_axis_by_axis",
    "chosen",
    "gpus_of",
    "plan_nd",
    "use_at_once",
    "use_axis_by_axis",
]


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


def gpus_of(plan: Any, value_type: str) -> tuple[int, ...]:
    """Return the devices that share a transform along an axis, () = it runs on the current one.

    Args:
        plan: as an argument; as in `check_axis_by_axis`, only C2C looks at it.
    """
    plan = chosen(plan if value_type == "C2C" else None)
    return tuple((config.devices if plan is None else plan.gpus) or ())


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
    if config.use_multi_gpus != (plan.gpus is not None):
        raise ValueError(
            f"cupy.fft.config.use_multi_gpus is {config.use_multi_gpus}, and the plan is for "
            f"{'one GPU' if plan.gpus is None else f'GPUs {plan.gpus}'}"
        )


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


def plan_nd(
    shape: Sequence[int],
    in_order: Sequence[int],
    lengths: Sequence[int],
    order: str,
    fft_type: int,
    value_type: str,
) -> cufft.PlanNd:
    """Make the plan of a transform of several axes.

    Args:
        shape: of the input; only the axes that are not transformed are looked at.
        in_order: the axes.
        lengths: along them, for C2R those of the result.
        order: of the arrays, "C" or "F".
    """
    last: int | None = None
    if value_type != "C2C":
        last = lengths[-1] if value_type == "C2R" else lengths[-1] // 2 + 1
    batch = prod(n for axis, n in enumerate(shape) if axis not in in_order)
    # The axes of the batch are the first or the last ones. In memory its transforms lie one behind
    # the other, or point by point beside each other.
    beside = (0 in in_order) == (order == "C") and len(in_order) < len(shape)

    def layout(kind: str, other: str) -> tuple[list[int], int, int]:
        halved = [*lengths[:-1], lengths[-1] // 2 + 1] if (kind, other) == ("C", "R") else lengths
        embedding = list(halved if order == "C" else reversed(halved))
        return (embedding, batch, 1) if beside else (embedding, 1, prod(embedding))

    source, target = value_type.split("2")
    places = (*layout(source, target), *layout(target, source))
    points = list(lengths if order == "C" else reversed(lengths))
    return cufft.PlanNd(points, *places, fft_type, batch, order, in_order[-1], last)


def use_axis_by_axis(
    dtype: np.dtype[Any],
    lengths: Sequence[int],
    axes: Sequence[int],
    value_type: str,
    gpus: Sequence[int] = (),
) -> None:
    """Note the plans of a transform that is done one axis at a time.

    Args:
        lengths: of all axes, once cut and padded; for C2R those of the result.
        gpus: the devices that share it.

    Raises:
        RuntimeError: a plan takes more memory than all may, see `_cache`.
        ValueError, CuFFTError: the devices cannot share it, see `cufft.check_shared`.
    """
    shape = list(lengths)
    half = shape[axes[-1]] // 2 + 1
    turns = [(axis, "C2C") for axis in axes]
    if value_type == "R2C":  # the last axis first, which halves it
        turns = [(axes[-1], "R2C"), *turns[:-1]]
    elif value_type == "C2R":
        turns[-1] = (axes[-1], "C2R")
    for axis, kind in turns:
        points = shape[axis]
        others = prod(shape) // points if points else 0
        if kind == "C2C" and value_type != "C2C":
            others = others // shape[axes[-1]] * half
        fft_type = cufft.fft_type_of(dtype, kind)
        if gpus:  # even where no cache keeps the plan
            cufft.check_shared(points, kind, others, gpus)
        _use_1d(points, fft_type, others, gpus)


def _use_1d(points: int, fft_type: int, batch: int, gpus: Sequence[int]) -> None:
    key = (points, fft_type, batch, *gpus, *_callbacks())
    devices = list(gpus) or None
    _cache.remember(key, lambda: cufft.Plan1d(points, fft_type, batch, devices), gpus)


def _callbacks() -> tuple[Any, ...]:
    manager = get_current_callback_manager()
    return () if manager is None else manager.plan_key()


def use_at_once(
    dtype: np.dtype[Any],
    shape: Sequence[int],
    in_order: Sequence[int],
    lengths: Sequence[int],
    order: str,
    value_type: str,
) -> None:
    """Note the plan of a transform of several axes at once; see `plan_nd`."""
    fft_type = cufft.fft_type_of(dtype, value_type)
    batch = tuple(n for axis, n in enumerate(shape) if axis not in in_order)
    key = (tuple(lengths), fft_type, batch, order, tuple(in_order), *_callbacks())
    _cache.remember(key, lambda: plan_nd(shape, in_order, lengths, order, fft_type, value_type))

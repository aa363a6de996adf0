"""Runs cuFFT plans on memory: each plan says where its points lie, as cuFFT's advanced layout does.

Point `(x, y, z)` of transform `b` is element `b * distance + ((x * ny + y) * nz + z) * stride`,
where ny and nz are the embedding's (https://docs.nvidia.com/cuda/cufft, "Advanced Data Layout").
"""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from cupool.client_shim.cupy.cuda.cufft import _Plan

__all__ = ["Layout", "kind_of", "output", "transform"]
_FORWARD = -1
_COMPLEX: dict[str, np.dtype[Any]] = {"f": np.dtype(np.complex64), "d": np.dtype(np.complex128)}


def _dtype(precision: str, is_complex: bool) -> np.dtype[Any]:
    return _COMPLEX[precision] if is_complex else np.dtype(precision)


class Layout(NamedTuple):
    """Where the points of a batch of transforms lie.

    Attributes:
        embedding: lengths of the memory along each axis; None: the points lie side by side, and
            the other two are ignored.
        stride, distance: elements between points, and between transforms.
    """

    embedding: Any
    stride: int
    distance: int

    def strides(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        """Return the strides in elements of (batch, *shape)."""
        lengths, stride, distance = self
        if lengths is None:
            lengths, stride, distance = shape, 1, prod(shape)
        inner = [stride * prod(lengths[axis + 1 :]) for axis in range(len(shape))]
        return (distance, *inner)


def kind_of(idtype: Any, odtype: Any, edtype: Any) -> tuple[str, str]:
    """Return the value type, as C2C, and the precision, e, f or d, of a plan's three types.

    Raises:
        ValueError: they do not go together.
    """
    chars = [t if t == "E" else np.dtype(t).char for t in (idtype, odtype, edtype)]
    made = "".join("R" if char.islower() else "C" for char in chars)
    precisions = {char.lower() for char in chars}
    if made not in ("CCC", "RCC", "CRC") or len(precisions) != 1 or precisions > set("efd"):
        raise ValueError("input/output/execution types mismatch")
    return f"{made[0]}2{made[1]}", precisions.pop()


def output(plan: _Plan, a: Any, order: str) -> Any:
    """Return an uninitialised array for the transform of `a`."""
    import cupy

    shape = list(a.shape)
    last: Any = plan
    if plan.value_type != "C2C":
        halved = shape[-1] // 2 + 1 if plan.value_type == "R2C" else plan.shape[-1]
        shape[last.last_axis] = getattr(plan, "last_size", halved)
    if plan.precision == "e":
        raise ValueError("there is no dtype for complex numbers of half precision")
    made = plan.precision if plan.value_type == "C2R" else _COMPLEX[plan.precision]
    return cupy.empty(shape, made, order=order)


def transform(plan: _Plan, a: Any, out: Any, direction: int) -> None:
    """Run a plan."""
    from cupool.client_shim.cupy.fft import _fft

    half = (*plan.shape[:-1], plan.shape[-1] // 2 + 1)
    value_type = plan.value_type
    points = _points(a, plan, plan.source, half if value_type == "C2R" else plan.shape, 0)
    room = _points(out, plan, plan.target, half if value_type == "R2C" else plan.shape, 2)
    if plan.precision == "e":
        points = points.astype(np.float32)
        if value_type != "R2C":
            points = points.view(np.complex64)[..., 0]
    forward = value_type == "R2C" or (value_type == "C2C" and direction == _FORWARD)
    norm, sign = ("backward", -1) if forward else ("forward", 1)  # neither of them divides
    axes = tuple(range(1, len(plan.shape) + 1))
    result = _fft._send(points, plan.shape, axes, norm, sign, value_type, "C")
    if plan.precision == "e" and value_type != "C2R":
        result = result.view(np.float32).reshape(*result.shape, 2)
    room[...] = result.astype(room.dtype, copy=False)


def _points(array: Any, plan: _Plan, layout: Layout, shape: tuple[int, ...], side: int) -> Any:
    """Return a view of (batch, *shape) of an array's memory; half complex has one axis more.

    Args:
        side: where in "C2R" the array's kind stands.
    """
    from cupool.client_shim.cupy.lib import stride_tricks

    complex_numbers = plan.value_type[side] == "C"
    pair = complex_numbers and plan.precision == "e"
    wanted = _dtype(plan.precision, complex_numbers and not pair)
    if array.dtype != wanted:
        raise ValueError(f"the plan is for {wanted}, and the array has {array.dtype}")
    scale = wanted.itemsize * (2 if pair else 1)
    strides = [n * scale for n in layout.strides(shape)]
    ends = (step * (n - 1) for step, n in zip(strides, (plan.batch, *shape), strict=True))
    if array.nbytes < sum(ends) + scale:
        raise ValueError(f"the plan reaches beyond the {array.nbytes} bytes of an array")
    last = ([2], [wanted.itemsize]) if pair else ([], [])
    return stride_tricks.as_strided(array, (plan.batch, *shape, *last[0]), (*strides, *last[1]))

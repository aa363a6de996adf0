"""`cupy.cuda.cufft`: plans describe a transform; the device makes its own, and keeps them.

A plan is checked against the transform that it is used for, as CuPy does. Using one saves no time.
"""

from __future__ import annotations

import threading
from typing import Any

import numpy as np

from cupool.client_shim.cupy import _unsupported

__all__ = ["Plan1d", "PlanNd", "getVersion", "get_current_plan"]


class _Current(threading.local):
    plan: Any = None


_current = _Current()

_TYPES = {
    ("C2C", False): 41,
    ("R2C", False): 42,
    ("C2R", False): 44,
    ("C2C", True): 105,
    ("R2C", True): 106,
    ("C2R", True): 108,
}


def fft_type_of(dtype: np.dtype[Any], value_type: str) -> int:
    """Return cuFFT's code of a transform; `dtype` is that of the input or of the result."""
    if value_type not in ("C2C", "R2C", "C2R"):
        raise ValueError("Wrong value type")
    double = dtype.char not in "efF"
    return _TYPES[value_type, double]


def get_current_plan() -> Any:
    """Return the plan of the innermost ``with plan:`` block, or None."""
    return _current.plan


def getVersion() -> int:
    """Return the version of cuFFT that is mimicked, that of CUDA 12.9."""
    return 11401


class _Plan:
    """What both kinds of plan have; as a context, the plan of all transforms in its block."""

    gpus = None
    handle = 0
    work_area = None
    fft_type: int

    def __enter__(self) -> Any:
        _current.plan = self
        return self

    def __exit__(self, *exc: object) -> None:
        _current.plan = None

    def fft(self, a: Any, out: Any, direction: int) -> None:
        """Refuse: transforms are called by the functions of `cupy.fft`."""
        _unsupported.refuse("running a cuFFT plan by itself")


class Plan1d(_Plan):
    """A transform of one axis.

    Args:
        nx: number of points.
        fft_type: a constant as `CUFFT_C2C`.
        batch: how many such transforms there are.
        devices: several devices are refused.
    """

    __module__ = "cupy.cuda.cufft"

    def __init__(
        self,
        nx: int,
        fft_type: int,
        batch: int,
        devices: Any = None,
        *,
        out: Any = None,
        prealloc_plan: int = 0,
    ) -> None:
        if devices is not None:
            _unsupported.refuse("a cuFFT plan of several GPUs")
        self.nx, self.fft_type, self.batch = int(nx), int(fft_type), int(batch)


class PlanNd(_Plan):
    """A transform of up to three neighbouring axes.

    Args:
        shape: numbers of points.
        inembed, istride, idist, onembed, ostride, odist, batch: layout, without effect here.
        fft_type: a constant as `CUFFT_C2C`.
        order: "C" or "F".
        last_axis, last_size: the axis that is halved, and its length in the result.
    """

    __module__ = "cupy.cuda.cufft"

    def __init__(
        self,
        shape: Any,
        inembed: Any,
        istride: int,
        idist: int,
        onembed: Any,
        ostride: int,
        odist: int,
        fft_type: int,
        batch: int,
        order: str,
        last_axis: int,
        last_size: Any,
        prealloc_plan: int = 0,
    ) -> None:
        self.shape, self.fft_type = tuple(shape), int(fft_type)
        self.order, self.last_axis, self.last_size = order, last_axis, last_size


_unsupported.fill(globals(), "cupy.cuda.cufft")

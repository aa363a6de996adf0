"""`cupy.cuda.cufft`: plans describe a transform; the device makes its own, and keeps them.

A plan is checked against the transform that it is used for, as CuPy does. Using one saves no time.
`plan.fft` runs one by itself, on the memory of two arrays (`_cufft_memory`).
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from cupool.client_shim import session as _session
from cupool.client_shim.cupy import _unsupported
from cupool.client_shim.cupy.cuda import _cufft_memory
from cupool.client_shim.cupy.cuda._cufft_memory import Layout

__all__ = ["CuFFTError", "Plan1d", "PlanNd", "XtPlanNd", "getVersion", "get_current_plan"]


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
_KINDS = {
    code: (value_type, "d" if double else "f") for (value_type, double), code in _TYPES.items()
}


_INVALID_DEVICE = 11
_ERRORS = dict(
    enumerate(
        (
            "CUFFT_SUCCESS",
            "CUFFT_INVALID_PLAN",
            "CUFFT_ALLOC_FAILED",
            "CUFFT_INVALID_TYPE",
            "CUFFT_INVALID_VALUE",
            "CUFFT_INTERNAL_ERROR",
            "CUFFT_EXEC_FAILED",
            "CUFFT_SETUP_FAILED",
            "CUFFT_INVALID_SIZE",
            "CUFFT_UNALIGNED_DATA",
            "CUFFT_INCOMPLETE_PARAMETER_LIST",
            "CUFFT_INVALID_DEVICE",
            "CUFFT_PARSE_ERROR",
            "CUFFT_NO_WORKSPACE",
            "CUFFT_NOT_IMPLEMENTED",
            "CUFFT_LICENSE_ERROR",
            "CUFFT_NOT_SUPPORTED",
        )
    )
)
"""By `cufftResult` (https://docs.nvidia.com/cuda/cufft/#return-value-cufftresult)."""
_LEAST_POINTS = {2: 64, 4: 64, 8: 128, 16: 1024}
_COMPLEX_BYTES = {"e": 4, "f": 8, "d": 16}


def fft_type_of(dtype: np.dtype[Any], value_type: str) -> int:
    """Return cuFFT's code of a transform; `dtype` is that of the input or of the result."""
    if value_type not in ("C2C", "R2C", "C2R"):
        raise ValueError("Wrong value type")
    double = dtype.char not in "efF"
    return _TYPES[value_type, double]


def get_current_plan() -> Any:
    """Return the plan of the innermost ``with plan:`` block, or None."""
    return _current.plan


class CuFFTError(RuntimeError):
    """An error of cuFFT; `result` is its code."""

    def __init__(self, result: int) -> None:
        self.result = result
        super().__init__(_ERRORS.get(result, f"CUFFT_ERROR_{result}"))

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.result,)


def several(gpus: Any) -> tuple[int, ...]:
    """Return the devices that are meant by their number (the first ones), or by a list.

    Raises:
        ValueError: less than two, or one of them twice.
    """
    if not isinstance(gpus, int | list | tuple):
        raise ValueError(f"gpus must be a number or a list of devices, not {gpus!r}")
    found = tuple(range(gpus)) if isinstance(gpus, int) else tuple(int(each) for each in gpus)
    if len(found) < 2 or len(set(found)) != len(found):
        raise ValueError(f"must use at least 2 GPUs, each once, not {gpus!r}")
    return found


def check_shared(points: int, value_type: str, batch: int, gpus: Sequence[int]) -> None:
    """Refuse what cuFFT's plans of several devices cannot do.

    A batch of any size is shared by any number of devices; a single transform has a length that is
    a power of 2, and 2, 4, 8 or 16 devices
    (https://docs.nvidia.com/cuda/cufft, "Multiple GPU Data Organization").

    Raises:
        ValueError: not C2C; a single transform of another length or number of devices.
        CuFFTError: there is no such device.
    """
    if value_type != "C2C":
        raise ValueError(f"several GPUs share C2C and Z2Z transforms only, not {value_type}")
    if batch == 1:
        least = _LEAST_POINTS.get(len(gpus))
        if least is None:
            raise ValueError(
                f"a single transform (batch = 1) is shared by 2, 4, 8 or 16 GPUs, not {len(gpus)}"
            )
        if points & (points - 1) or points < least:
            raise ValueError(
                f"a single transform (batch = 1) on {len(gpus)} GPUs needs a power of 2, at least "
                f"{least}, not {points} points"
            )
    if not all(0 <= gpu < len(_session.sessions()) for gpu in gpus):
        raise CuFFTError(_INVALID_DEVICE)


def getVersion() -> int:
    """Return the version of cuFFT that is mimicked, that of CUDA 12.9."""
    return 11401


class _WorkArea:
    """What a plan takes on the device beside its input and output, in bytes.

    The device's cuFFT alone knows; here it is what a pass over the points needs, once.
    """

    def __init__(self, size_bytes: int) -> None:
        self.size = size_bytes
        self.mem = self


class _Plan:
    """What all kinds of plan have; as a context, the plan of all transforms in its block."""

    gpus: Any = None
    handle = 0
    value_type: str
    precision: str
    shape: tuple[int, ...]
    batch: int
    source: Layout
    target: Layout

    def __enter__(self) -> Any:
        _current.plan = self
        return self

    def __exit__(self, *exc: object) -> None:
        _current.plan = None

    @property
    def work_area(self) -> _WorkArea:
        """The memory of a device's own plan, as far as it can be told from here."""
        points = -(-prod(self.shape) * self.batch // len(self.gpus or (0,)))
        return _WorkArea(points * _COMPLEX_BYTES[self.precision])

    def fft(self, a: Any, out: Any, direction: int) -> None:
        """Transform the memory that begins at `a` into that at `out`, without dividing.

        Args:
            direction: `CUFFT_FORWARD` or `CUFFT_INVERSE`, for C2C.

        Raises:
            ValueError: an array's dtype is not the plan's, or the plan reaches beyond its memory.
        """
        if self.gpus is None:
            _cufft_memory.transform(self, a, out, direction)
        else:
            from cupool.client_shim.cupy.fft import _several

            _several.on_memory(self, a, out, direction)

    def get_output_array(self, a: Any, order: str = "C") -> Any:
        """Return an uninitialised array for the transform of `a`."""
        return _cufft_memory.output(self, a, order)


class Plan1d(_Plan):
    """A transform of one axis.

    Args:
        nx: number of points.
        fft_type: a constant as `CUFFT_C2C`.
        batch: how many such transforms there are, one behind the other.
        devices: that share the work, as `set_cufft_gpus` takes them; None = the current one.

    Raises:
        ValueError, CuFFTError: several devices cannot share it, see `check_shared`.
    """

    __module__ = "cupy.cuda.cufft"
    last_axis = -1

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
        self.nx, self.fft_type, self.batch = int(nx), int(fft_type), int(batch)
        self.shape = (self.nx,)
        self.value_type, self.precision = _kind(self.fft_type)
        self.source = self.target = Layout(None, 1, 0)
        if devices is not None:
            self.gpus = list(several(devices))
            check_shared(self.nx, self.value_type, self.batch, self.gpus)


class PlanNd(_Plan):
    """A transform of up to three neighbouring axes.

    Args:
        shape: numbers of points.
        inembed, istride, idist, onembed, ostride, odist, batch: layout, as in cuFFT.
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
        self.shape, self.fft_type, self.batch = tuple(shape), int(fft_type), int(batch)
        self.order, self.last_axis, self.last_size = order, last_axis, last_size
        self.value_type, self.precision = _kind(self.fft_type)
        self.source = Layout(inembed, istride, idist)
        self.target = Layout(onembed, ostride, odist)


class XtPlanNd(_Plan):
    """A transform of up to three axes by the types of its arrays, half precision too.

    Args:
        idtype, odtype, edtype: of input, output and arithmetic; "E" is complex of two float16.

    The others are those of `PlanNd`.

    Raises:
        ValueError: types that do not go together; lengths in half precision that are no powers
            of 2.
    """

    __module__ = "cupy.cuda.cufft"

    def __init__(
        self,
        shape: Any,
        inembed: Any,
        istride: int,
        idist: int,
        idtype: Any,
        onembed: Any,
        ostride: int,
        odist: int,
        odtype: Any,
        batch: int,
        edtype: Any,
        *,
        order: str,
        last_axis: int,
        last_size: Any,
        prealloc_plan: int = 0,
    ) -> None:
        self.shape, self.batch = tuple(shape), int(batch)
        self.itype, self.otype, self.etype = idtype, odtype, edtype
        self.order, self.last_axis, self.last_size = order, last_axis, last_size
        self.value_type, self.precision = _cufft_memory.kind_of(idtype, odtype, edtype)
        length = self.shape[-1] if last_size is None else last_size
        if self.precision == "e" and length & (length - 1):
            raise ValueError("size must be power of 2")
        self.source = Layout(inembed, istride, idist)
        self.target = Layout(onembed, ostride, odist)


def _kind(fft_type: int) -> tuple[str, str]:
    if fft_type not in _KINDS:
        raise ValueError(f"{fft_type} is no type of transform that cuFFT has")
    return _KINDS[fft_type]


_unsupported.fill(globals(), "cupy.cuda.cufft")

"""`cupy.cuda.curand`: generators by address. CuPy's own are `cupy.random`; these only exist."""

from __future__ import annotations

from typing import Any

from cupool.client_shim import session as _session
from cupool.client_shim.cupy import _unsupported
from cupool.client_shim.cupy.cuda import _libraries

_NAME = "curand"
STATUS = {
    0: "CURAND_STATUS_SUCCESS",
    100: "CURAND_STATUS_VERSION_MISMATCH",
    101: "CURAND_STATUS_NOT_INITIALIZED",
    102: "CURAND_STATUS_ALLOCATION_FAILED",
    103: "CURAND_STATUS_TYPE_ERROR",
    104: "CURAND_STATUS_OUT_OF_RANGE",
    105: "CURAND_STATUS_LENGTH_NOT_MULTIPLE",
    106: "CURAND_STATUS_DOUBLE_PRECISION_REQUIRED",
    201: "CURAND_STATUS_LAUNCH_FAILURE",
    202: "CURAND_STATUS_PREEXISTING_FAILURE",
    203: "CURAND_STATUS_INITIALIZATION_FAILED",
    204: "CURAND_STATUS_ARCH_MISMATCH",
    999: "CURAND_STATUS_INTERNAL_ERROR",
}
_TYPES = (*range(100, 162), *range(200, 205))
CURANDError = _libraries.error_class("CURANDError", "cupy_backends.cuda.libs.curand", STATUS)


def check_status(status: int) -> None:
    """Raise the error of a status, unless it is success."""
    if status:
        raise CURANDError(status)


def createGenerator(rng_type: int) -> int:
    """Return a generator of a type (`CURAND_RNG_...`) on the current device."""
    if rng_type not in _TYPES:
        raise CURANDError(103)
    return _libraries.create(_NAME, _session.current.device)


def destroyGenerator(generator: int) -> None:
    """Forget a generator."""
    if not _libraries.destroy(generator, _NAME):
        raise CURANDError(101)


def getVersion() -> int:
    """Return the version of cuRAND that is mimicked, that of CUDA 12.9."""
    return 10310


def _in_pairs(name: str) -> Any:
    """Make a function of normal draws: of an odd number, CuPy itself says no."""

    def generate(generator: int, outputPtr: int, n: int, mean: float, stddev: float) -> None:
        if n % 2 == 1:
            raise ValueError(
                f"{name} requires an even number of samples; the odd number {n} was given"
            )
        _unsupported.refuse(f"cupy.cuda.curand.{name}")

    generate.__name__ = generate.__qualname__ = name
    generate.__doc__ = f"Refused: cupy.random draws; {name} by address is not supported."
    return generate


generateNormal = _in_pairs("generateNormal")
generateNormalDouble = _in_pairs("generateNormalDouble")
generateLogNormal = _in_pairs("generateLogNormal")
generateLogNormalDouble = _in_pairs("generateLogNormalDouble")

_unsupported.fill(globals(), "cupy.cuda.curand")

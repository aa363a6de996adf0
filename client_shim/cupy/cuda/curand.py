"""`cupy.cuda.curand`: pseudo-random generators that fill memory at addresses.

A mock draws other numbers than cuRAND, of the same distributions; a seed gives the same ones again.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from cupool.client_shim import session as _session
from cupool.client_shim.cupy import _unsupported
from cupool.client_shim.cupy._core import calls
from cupool.client_shim.cupy.cuda import _libraries, _runtime_streams

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
_NOT_INITIALIZED, _TYPE_ERROR = 101, 103
_QUASI, _QUASI_64, _MASK = 200, (203, 204), (1 << 64) - 1
_TYPES = (*range(100, 162), *range(200, 205))
CURANDError = _libraries.error_class("CURANDError", "cupy_backends.cuda.libs.curand", STATUS)


def check_status(status: int) -> None:
    """Raise the error of a status, unless it is success."""
    if status:
        raise CURANDError(status)


def createGenerator(rng_type: int) -> int:
    """Return a generator of a type (`CURAND_RNG_...`) on the current device."""
    if rng_type not in _TYPES:
        raise CURANDError(_TYPE_ERROR)
    made = _libraries.create(_NAME, _session.current.device)
    _generator(made).settings["type"] = rng_type
    return made


def destroyGenerator(generator: int) -> None:
    """Forget a generator."""
    if not _libraries.destroy(generator, _NAME):
        raise CURANDError(_NOT_INITIALIZED)


def getVersion() -> int:
    """Return the version of cuRAND that is mimicked, that of CUDA 12.9."""
    return 10310


def _generator(generator: int) -> _libraries.Handle:
    found = _libraries.find(generator, _NAME)
    if found is None:
        raise CURANDError(_NOT_INITIALIZED)
    return found


def setStream(generator: int, stream: int) -> None:
    """Let a generator's draws be in a stream."""
    _runtime_streams.entry_of(stream)
    _generator(generator).settings["stream"] = stream


def setPseudoRandomGeneratorSeed(generator: int, seed: int) -> None:
    """Begin the sequence of a seed, 0 to 2**64 - 1."""
    settings = _generator(generator).settings
    settings["seed"], settings["offset"] = seed & _MASK, 0


def setGeneratorOffset(generator: int, offset: int) -> None:
    """Go to a position of the sequence."""
    _generator(generator).settings["offset"] = offset & _MASK


def setGeneratorOrdering(generator: int, order: int) -> None:
    """Remember an ordering (`CURAND_ORDERING_...`): the results are the same for all."""
    _generator(generator).settings["order"] = order


def _draw(
    kind: str, generator: int, pointer: int, count: int, dtype: Any, *parameters: float
) -> None:
    """Fill memory with the next draws of a generator.

    Raises:
        CURANDError: no such generator.
        OperationNotSupported: a quasi-random one.
    """
    handle = _generator(generator)
    type_ = handle.settings["type"]
    if type_ >= _QUASI:
        _unsupported.refuse("cupy.cuda.curand: quasi-random generators")
    if not count:
        return
    settings = handle.settings
    offset = settings.get("offset", 0)
    settings["offset"] = offset + count
    with _runtime_streams.on_stream(settings.get("stream") or None):
        out = _libraries.vector(pointer, count, 1, np.dtype(dtype))
        args = (kind, out, type_, settings.get("seed", 0), offset, list(map(float, parameters)))
        calls.call_into("curand.draw", args)


def generate(generator: int, outputPtr: int, num: int) -> None:
    """Fill memory with 32 random bits for each element."""
    _draw("bits", generator, outputPtr, num, np.uint32)


def generateLongLong(generator: int, outputPtr: int, num: int) -> None:
    """Fill memory with 64 random bits for each element: of 64-bit quasi-random generators only."""
    if _generator(generator).settings["type"] not in _QUASI_64:
        raise CURANDError(_TYPE_ERROR)
    _draw("bits", generator, outputPtr, num, np.uint64)


def generateUniform(generator: int, outputPtr: int, num: int) -> None:
    """Fill memory with float32 between 0 (left out) and 1."""
    _draw("uniform", generator, outputPtr, num, np.float32)


def generateUniformDouble(generator: int, outputPtr: int, num: int) -> None:
    """Fill memory with float64 between 0 (left out) and 1."""
    _draw("uniform", generator, outputPtr, num, np.float64)


def _in_pairs(name: str, kind: str, dtype: Any) -> Any:
    """Make a function of normal draws: of an odd number, CuPy itself says no."""

    def function(generator: int, outputPtr: int, n: int, mean: float, stddev: float) -> None:
        if n % 2 == 1:
            raise ValueError(
                f"{name} requires an even number of samples; the odd number {n} was given"
            )
        _draw(kind, generator, outputPtr, n, dtype, mean, stddev)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"Fill memory with {kind} draws, {np.dtype(dtype).name}."
    return function


generateNormal = _in_pairs("generateNormal", "normal", np.float32)
generateNormalDouble = _in_pairs("generateNormalDouble", "normal", np.float64)
generateLogNormal = _in_pairs("generateLogNormal", "lognormal", np.float32)
generateLogNormalDouble = _in_pairs("generateLogNormalDouble", "lognormal", np.float64)


def generatePoisson(generator: int, outputPtr: int, n: int, lam: float) -> None:
    """Fill memory with Poisson draws, uint32."""
    _draw("poisson", generator, outputPtr, n, np.uint32, lam)


_unsupported.fill(globals(), "cupy.cuda.curand")

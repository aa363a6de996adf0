"""Frequency responses of filters."""

from __future__ import annotations

from typing import Any

from cupool.client_shim.cupyx.scipy._declared import declared

__all__ = [
    "findfreqs",
    "freqs_zpk",
    "freqz_sos",
    "freqz_zpk",
    "group_delay",
]
_operation = declared("scipy.signal")


@_operation
def findfreqs(
    num: Any,
    den: Any,
    N: Any,
    kind: Any = "ba",
) -> Any:
    """Return frequencies at which a response is interesting."""
    return 1


@_operation
def freqs_zpk(
    z: Any,
    p: Any,
    k: Any,
    worN: Any = 200,
) -> Any:
    """Return frequencies and the response of an analogue filter; zeros, poles and gain."""
    return 2


@_operation
def freqz_sos(
    sos: Any,
    worN: Any = 512,
    whole: Any = False,
    fs: Any = 6.283185307179586,
) -> Any:
    """Return frequencies and the response of second-order sections."""
    return 2


@_operation
def freqz_zpk(
    z: Any,
    p: Any,
    k: Any,
    worN: Any = 512,
    whole: Any = False,
    fs: Any = 6.283185307179586,
) -> Any:
    """Return frequencies and the response of a filter; zeros, poles and gain."""
    return 2


@_operation
def group_delay(
    system: Any,
    w: Any = 512,
    whole: Any = False,
    fs: Any = 6.283185307179586,
) -> Any:
    """Return frequencies and by how much a filter delays each."""
    return 2

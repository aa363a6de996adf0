"""CUDA's libraries as the CUDA device calls them, with the shim in the place of CuPy.

What the shim sends for a function by address is done by `LibraryOperations`, the CUDA device's
side; that calls the functions by address of the `cupy` that it is given, and those are the shim's
again, which reach the mock. Numbers then agree only if both sides mean the same arguments.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import cupy
import pytest

from cupool.client_shim.cupy._core import calls
from cupool.pool_server.devices.cuda_libraries import LibraryOperations
from cupool.proto.operations import TABLE


def on_a_mock() -> bool:
    """Return whether the device is a mock: what CUDA leaves open may differ on a GPU."""
    name: bytes = cupy.cuda.runtime.getDeviceProperties(0)["name"]
    return b"mock" in name


def by_the_cuda_device(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the CUDA device's side do what the shim sends, until the test ends."""
    table = LibraryOperations(cupy).table()
    send, send_one = calls.call_into, calls.call_one
    inside: list[str] = []

    def checked(name: str, args: Sequence[Any], *more: Any, **kwargs: Any) -> Any:
        assert not _has_gaps(name, args)
        return send_one(name, args, *more, **kwargs)

    def call_into(name: str, args: Sequence[Any], kwargs: dict[str, Any] | None = None) -> None:
        assert not _has_gaps(name, args)
        if inside or name not in table or name.startswith("curand."):
            send(name, args, kwargs)
            return
        inside.append(name)
        try:
            table[name](*args, **(kwargs or {}))
        finally:
            inside.pop()

    monkeypatch.setattr(calls, "call_into", call_into)
    monkeypatch.setattr(calls, "call_one", checked)


def _has_gaps(name: str, args: Sequence[Any]) -> bool:
    """Return whether a function of `cupy.cublas` gets a vector with gaps: it takes them for 1."""
    if not name.startswith("cublas.") or TABLE[name].cupy is None:
        return False
    vectors = [a for a in args if isinstance(a, cupy.ndarray) and a.ndim == 1]
    return not all(vector.flags.c_contiguous for vector in vectors)

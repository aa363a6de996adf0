"""What tests of the kernel engine share: an engine, arrays as memory, arguments as bytes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
import pytest

from cupool.errors import OperationNotSupported
from cupool.pool_server.devices.ptx.engine import AllocationTable, Engine, EngineOptions, Function

pytest.importorskip("llvmlite", reason="llvmlite is not installed")
try:
    from cupool.pool_server.devices.ptx.compiler import toolkit

    FOLDERS = [str(f) for f in toolkit().folders]
except OperationNotSupported:
    FOLDERS = []

needs_nvrtc = pytest.mark.skipif(not FOLDERS, reason="NVRTC is not installed")
needs_curand = pytest.mark.skipif(
    not any("curand" in f or "cu1" in f for f in FOLDERS),
    reason="headers of cuRAND are not installed",
)
needs_cccl = pytest.mark.skipif(
    not any("cccl" in f for f in FOLDERS), reason="headers of CCCL are not installed"
)

Array = np.ndarray[Any, Any]


def packed(value: Any) -> bytes:
    """Return an argument's bytes: an array is its address."""
    if isinstance(value, np.ndarray):
        return int(value.ctypes.data).to_bytes(8, "little")
    if isinstance(value, bytes):
        return value
    if isinstance(value, np.generic):
        return value.tobytes()
    return np.int32(value).tobytes() if isinstance(value, int) else np.float64(value).tobytes()


class Bench:
    """An engine whose memory is the arrays of the running launch."""

    def __init__(self, **options: Any) -> None:
        self.arrays: list[Array] = []
        self.engine = Engine(
            lambda: AllocationTable.of_arrays(self.arrays), EngineOptions(**options)
        )

    def function(
        self, source: str, name: str = "k", options: Sequence[str] = (), names: Sequence[str] = ()
    ) -> Function:
        compiled = self.engine.compile(source, options, names)
        return self.engine.load(compiled.ptx).function(compiled.lowered.get(name, name))

    def ptx(self, text: str, name: str = "k") -> Function:
        return self.engine.load(text.encode()).function(name)

    def run(
        self,
        function: Function | str,
        grid: int | Iterable[int],
        block: int | Iterable[int],
        *args: Any,
        shared_bytes: int = 0,
        cooperative: bool = False,
        **how: Any,
    ) -> None:
        if isinstance(function, str):
            function = self.function(function, **how)
        self.arrays = [a for a in args if isinstance(a, np.ndarray)]
        values = [packed(a) for a in args]
        function.launch(_three(grid), _three(block), values, shared_bytes, cooperative)


def _three(extent: int | Iterable[int]) -> tuple[int, int, int]:
    values = (extent,) if isinstance(extent, int) else tuple(extent)
    x, y, z = (*values, 1, 1, 1)[:3]
    return x, y, z


def closing(make: Callable[[], Bench]) -> Any:
    bench = make()
    yield bench
    bench.engine.close()

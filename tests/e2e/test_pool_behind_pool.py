"""The CUDA device without a GPU: its `import cupy` is our own shim on a second, mock pool.

    script -> shim -> outer worker (device "cuda") -> shim -> inner worker (device "mock")

What CuPy itself would compute is computed by the mock; everything that `devices/cuda.py` does
with CuPy's public API is done for real.
"""

from __future__ import annotations

import sys
from pathlib import Path

from tests.e2e.pools import WITHIN_S, Pool, a_pool, said

SCRIPT = """
import numpy as np
import cupy as cp
a = cp.arange(12.0).reshape(3, 4)
a[1] = 5
a[a > 9] = 0
print(a.sum(axis=0).get().tolist(), (a.T @ a).trace())
print(a[[0, 2], [1, -1]].get().tolist(), a[::-1, ::2].ravel().get().tolist())
print(cp.concatenate([a, a]).shape, cp.eye(2, dtype=cp.float32).get().tolist())
host = np.arange(300_000.0)
big = cp.asarray(host)
print(bool((big.get() == host).all()), float(big[::2].sum()))
print(cp.sort(cp.asarray([3, 1, 2])).get().tolist(), cp.fft.fft(a[0]).dtype)
print(np.round(cp.linalg.norm(a).get(), 6), cp.random.default_rng(1).random((2, 2)).shape)
try:
    cp.zeros(1 << 40)
except cp.cuda.memory.OutOfMemoryError as exc:
    print("out of memory")
try:
    a @ cp.ones(3)
except ValueError:
    print("shapes")
print(cp.cuda.runtime.getDeviceProperties(0)["name"].decode())
del a, big
print(cp.get_default_memory_pool().used_bytes())
"""
EXPECTED = """\
[13.0, 15.0, 7.0, 8.0] 259.0
[1.0, 0.0] [8.0, 0.0, 5.0, 5.0, 0.0, 2.0]
(6, 4) [[1.0, 0.0], [0.0, 1.0]]
True 22499850000.0
[1, 2, 3] complex128
16.093477 (2, 2)
out of memory
shapes
cupool mock GPU
0
"""


def start_outer_server(outer: Pool, inner: Pool) -> None:
    """Serve the inner pool's GPU in the outer pool, as a CUDA device."""
    command = [sys.executable, "-m", "cupool", "serve", "--broker", outer.url]
    command += ["--name", "outer", "--cuda", "auto", "--grace", "0"]
    server = inner.run("--", *command, cwd=Path.cwd())
    outer.servers["outer"] = server
    inner.scripts.remove(server)
    said(server, "serving")


def test_the_cuda_device_runs_on_our_own_shim(tmp_path: Path) -> None:
    (tmp_path / "script.py").write_text(SCRIPT)
    with a_pool(inner=("--mock", "1")) as inner, a_pool() as outer:
        start_outer_server(outer, inner)
        script = outer.run("script.py", cwd=tmp_path)
        out, err = script.communicate(timeout=WITHIN_S)
        assert (out, script.returncode) == (EXPECTED, 0), err

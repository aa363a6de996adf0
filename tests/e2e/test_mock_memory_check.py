"""The memory check of mock GPUs is a switch: reads past an allocation's end are refused, or not."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.e2e.pools import WITHIN_S, Pool, no_pool

pytest.importorskip("llvmlite", reason="pip install 'cupool[mock-kernels]'")
pytest.importorskip("nvidia.cuda_nvrtc", reason="pip install 'cupool[mock-kernels]'")

SCRIPT = """
import cupy as cp

x, y = cp.ones(3), cp.zeros(4)
copy = cp.RawKernel('extern "C" __global__ void f(const double* x, double* y) '
                    '{ y[threadIdx.x] = x[threadIdx.x]; }', "f")
copy((1,), (4,), (x, y))
try:
    print(y[:3].get().tolist())
except cp.cuda.runtime.CUDARuntimeError as error:
    print(error)
"""


def said(pool: Pool, folder: Path, *flags: str) -> str:
    script = pool.run("--mock", "1", *flags, "script.py", cwd=folder, pool=False)
    out, err = script.communicate(timeout=WITHIN_S)
    assert script.returncode == 0, err
    return out


def test_a_read_past_the_end_is_refused_unless_the_check_is_off(tmp_path: Path) -> None:
    (tmp_path / "script.py").write_text(SCRIPT)
    with no_pool() as pool:
        found = said(pool, tmp_path)
        assert "0 bytes after the allocation of 24 bytes" in found
        assert "a GPU may not notice" in found
        assert said(pool, tmp_path, "--no-mock-memory-check") == "[1.0, 1.0, 1.0]\n"

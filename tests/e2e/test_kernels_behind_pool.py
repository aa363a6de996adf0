"""The kernel tests against the CUDA device, whose CuPy is our own shim on a second, mock pool.

Without a GPU this is what runs the CUDA device's kernel code.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cupy import kernel_packages
from tests.e2e.pools import Pool, a_pool
from tests.e2e.test_pool_behind_pool import start_outer_server

kernel_packages.needed()

ROOT = Path(__file__).parents[2]
QUICK = "test_kernels_raw.py"
SLOW = (
    "test_kernels_elementwise.py",
    "test_kernels_errors.py",
    "test_kernels_gufunc.py",
    "test_kernels_guide.py",
    "test_kernels_libraries.py",
    "test_kernels_nvrtc.py",
    "test_kernels_reduction.py",
    "test_fft_callbacks.py",
    "test_fuse.py",
    "test_jit.py",
    "test_vectorize.py",
)


@pytest.fixture(scope="module")
def pool() -> Iterator[Pool]:
    with a_pool(inner=("--mock", "1")) as inner, a_pool() as outer:
        start_outer_server(outer, inner)
        yield outer


@pytest.mark.timeout(900)
@pytest.mark.parametrize(
    "name", [QUICK, *(pytest.param(name, marks=pytest.mark.slow) for name in SLOW)]
)
def test_kernels_run_on_the_cuda_device(pool: Pool, name: str) -> None:
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--tb=short"]
    done = subprocess.run(
        [*command, f"tests/cupy/{name}"],
        cwd=ROOT,
        env=pool.environment() | {"CUPOOL_POOL": pool.url},
        capture_output=True,
        text=True,
        timeout=800,
    )
    assert done.returncode == 0, done.stdout[-8000:] + done.stderr[-2000:]


def test_no_kernel_test_is_forgotten() -> None:
    there = {path.name for path in ROOT.glob("tests/cupy/test_kernels_*.py")}
    assert there <= {QUICK, *SLOW}

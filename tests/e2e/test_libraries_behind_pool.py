"""CUDA's libraries by address against the CUDA device, whose CuPy is our own shim on a second,
mock pool. Without a GPU this is what runs the CUDA device's side of them whole."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.pools import Pool, a_pool
from tests.e2e.test_pool_behind_pool import start_outer_server

ROOT = Path(__file__).parents[2]
QUICK = "test_cuda_cusparse_old.py"
SLOW = (
    "test_cuda_cublas.py",
    "test_cuda_cublas_calls.py",
    "test_cuda_cusolver.py",
    "test_cuda_cusparse.py",
    "test_cuda_cusparse_formats.py",
    "test_cuda_libraries.py",
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
def test_libraries_run_on_the_cuda_device(pool: Pool, name: str) -> None:
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


def test_no_test_of_a_library_is_forgotten() -> None:
    there = {path.name for path in ROOT.glob("tests/cupy/test_cuda_cu[bs]*.py")}
    assert there <= {QUICK, *SLOW}

"""The kernel tests against the CUDA device, whose CuPy is our own shim on a second, mock pool.

Without a GPU this is what runs the CUDA device's kernel code.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.cupy import kernel_packages
from tests.e2e.behind_pool import ROOT, a_pool_behind_a_pool, check_array_tests
from tests.e2e.pools import Pool

kernel_packages.needed()

QUICK = "test_kernels_raw.py"
SLOW = (
    "test_bfloat16.py",
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
    with a_pool_behind_a_pool() as found:
        yield found


@pytest.mark.timeout(900)
@pytest.mark.parametrize(
    "name", [QUICK, *(pytest.param(name, marks=pytest.mark.slow) for name in SLOW)]
)
def test_kernels_run_on_the_cuda_device(pool: Pool, name: str) -> None:
    check_array_tests(pool, name)


def test_no_kernel_test_is_forgotten() -> None:
    there = {path.name for path in ROOT.glob("tests/cupy/test_kernels_*.py")}
    assert there <= {QUICK, *SLOW}

"""CUDA's libraries by address against the CUDA device, whose CuPy is our own shim on a second,
mock pool. Without a GPU this is what runs the CUDA device's side of them whole."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.e2e.behind_pool import ROOT, a_pool_behind_a_pool, check_array_tests
from tests.e2e.pools import Pool

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
    with a_pool_behind_a_pool() as found:
        yield found


@pytest.mark.timeout(900)
@pytest.mark.parametrize(
    "name", [QUICK, *(pytest.param(name, marks=pytest.mark.slow) for name in SLOW)]
)
def test_libraries_run_on_the_cuda_device(pool: Pool, name: str) -> None:
    check_array_tests(pool, name)


def test_no_test_of_a_library_is_forgotten() -> None:
    there = {path.name for path in ROOT.glob("tests/cupy/test_cuda_cu[bs]*.py")}
    assert there <= {QUICK, *SLOW}

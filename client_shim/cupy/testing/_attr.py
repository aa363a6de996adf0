"""Marks that say what a test needs: time, or several GPUs."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

from cupool.client_shim.cupy.testing import _pytest_impl


def slow(*args: Any, **kwargs: Any) -> Any:
    """Mark a test as slow, by pytest's mark of that name."""
    _pytest_impl.check_available("slow")
    import pytest

    return pytest.mark.slow(*args, **kwargs)


def multi_gpu(gpu_num: int) -> Callable[[Any], Any]:
    """Mark a test as one that needs several GPUs.

    It is skipped where the environment variable CUPY_TEST_GPU_LIMIT grants fewer.
    """
    _pytest_impl.check_available("multi_gpu")
    if gpu_num < 2:
        raise AssertionError(f"multi_gpu is for two and more, not {gpu_num}")
    import pytest

    limit = int(os.environ.get("CUPY_TEST_GPU_LIMIT", "-1"))
    too_few = 0 <= limit < gpu_num

    def mark(impl: Any) -> Any:
        skip = pytest.mark.skipif(too_few, reason=f"{gpu_num} GPUs required")
        return skip(pytest.mark.multi_gpu(impl))

    return mark

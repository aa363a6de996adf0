"""What the mock needs to run kernels; tests of kernels begin with `needed()`."""

from __future__ import annotations

import pytest


def needed() -> None:
    """Skip a module's tests where the extra `mock-kernels` is not installed."""
    pytest.importorskip("llvmlite", reason="pip install 'cupool[mock-kernels]'")
    pytest.importorskip("nvidia.cuda_nvrtc", reason="pip install 'cupool[mock-kernels]'")

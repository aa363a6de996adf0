"""PyTorch, JAX and Numba themselves beside `cupy`, where they are installed."""

from __future__ import annotations

import importlib
import importlib.util
import subprocess
import sys
from typing import Any

import cupy
import numpy as np
import pytest

HOST = np.arange(6, dtype=np.float32).reshape(2, 3)
BY_THE_HOST = r"asks for this array's GPU memory.*x\.get\(\)"


@pytest.fixture
def torch() -> Any:
    return pytest.importorskip("torch", reason="PyTorch is not installed")


@pytest.fixture
def jax() -> Any:
    return pytest.importorskip("jax", reason="JAX is not installed")


def test_torch_tensors_come_by_copy(torch: Any) -> None:
    tensor = torch.arange(6.0).reshape(2, 3)
    for made in (cupy.asarray(tensor), cupy.array(np.from_dlpack(tensor.T)).T):
        assert (made.dtype, made.shape) == (np.float32, (2, 3))
        np.testing.assert_array_equal(made.get(), HOST)
    made = cupy.asarray(tensor)
    tensor[0, 0] = 9
    assert made[0, 0] == 0
    with pytest.raises(RuntimeError, match="requires grad"):
        cupy.asarray(tensor.clone().requires_grad_())
    with pytest.raises(TypeError, match=r"cupy\.array\(numpy\.from_dlpack"):
        cupy.from_dlpack(tensor)
    with pytest.raises(RuntimeError, match="different from the backend"):
        cupy.from_dlpack(torch.utils.dlpack.to_dlpack(tensor))


def test_torch_gets_copies(torch: Any) -> None:
    a = cupy.asarray(HOST)
    for made in (
        torch.from_numpy(a.get()),
        torch.as_tensor(a.get()),
        torch.from_dlpack(a.__dlpack__(dl_device=(1, 0))),
        torch.from_dlpack(np.from_dlpack(a.T, device="cpu")).T,
    ):
        assert made.dtype == torch.float32
        np.testing.assert_array_equal(made.numpy(), HOST)


def test_torch_is_told_that_the_memory_is_elsewhere(torch: Any) -> None:
    a = cupy.asarray(HOST)
    for options in ({}, {"device": "cpu"}):
        with pytest.raises(BufferError, match=f"torch {BY_THE_HOST}"):
            torch.from_dlpack(a, **options)
    with pytest.raises(BufferError, match="Unsupported device_type"):
        torch.from_dlpack(a.__dlpack__())
    with pytest.raises(TypeError):
        a + torch.ones(3)
    assert cupy.asarray(a) is a


def test_jax_arrays_come_and_go_by_copy(jax: Any) -> None:
    made = cupy.asarray(jax.numpy.asarray(HOST))
    np.testing.assert_array_equal(made.get(), HOST)
    np.testing.assert_array_equal(np.asarray(jax.numpy.asarray(made.get())), HOST)
    for ask in (jax.numpy.asarray, jax.numpy.from_dlpack, jax.dlpack.from_dlpack):
        with pytest.raises(BufferError, match=f"jax {BY_THE_HOST}"):
            ask(made)
    with pytest.raises(TypeError, match=r"cupy\.array\(numpy\.from_dlpack"):
        cupy.from_dlpack(jax.numpy.asarray(HOST))


def test_numba_compiles_for_what_is_fetched() -> None:
    numba = pytest.importorskip("numba", reason="Numba is not installed")
    total = numba.njit(lambda values: values.sum())
    a = cupy.asarray(HOST)
    assert total(a.get()) == 15
    with pytest.raises(numba.core.errors.TypingError):
        total(a)


SIMULATED = """
import cupool.auto
import cupy
from numba import cuda

@cuda.jit
def add_one(values):
    i = cuda.grid(1)
    if i < values.size:
        values[i] += 1

a = cupy.arange(5.0)
add_one[1, 8](a)
print(a.get().tolist(), cupy.asarray(cuda.to_device(a.get())).sum())
"""


def test_numbas_simulator_takes_our_arrays(monkeypatch: pytest.MonkeyPatch) -> None:
    if importlib.util.find_spec("numba") is None:
        pytest.skip("Numba is not installed")
    monkeypatch.setenv("NUMBA_ENABLE_CUDASIM", "1")
    ran = subprocess.run(
        [sys.executable, "-c", SIMULATED], capture_output=True, text=True, timeout=120, check=False
    )
    assert ran.stdout == "[1.0, 2.0, 3.0, 4.0, 5.0] 15.0\n", ran.stderr

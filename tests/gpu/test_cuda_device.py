"""The CUDA device on a real GPU with real CuPy; says why it cannot where there is none."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from cupool.errors import ConfigurationError
from cupool.pool_server.devices.cuda import CudaDevice
from cupool.pool_server.session.loopback import Loopback, out, ref
from cupool.pool_server.session.worker import SessionCore
from cupool.proto.operations import TABLE
from cupool.proto.values import TUPLE

pytestmark = pytest.mark.gpu
GRANTED = 256 << 20


@pytest.fixture
def client() -> Iterator[Loopback]:
    try:
        device = CudaDevice("here", 0, GRANTED)
    except ConfigurationError as exc:
        pytest.skip(f"no GPU to test on: {exc.message}")
    core = SessionCore(device)
    yield Loopback(core)
    core.close()
    device.release_blocks()


def test_device_info(client: Loopback) -> None:
    info = client.core.device.info
    assert info.kind == "cuda"
    assert info.memory_bytes == GRANTED
    assert int(info.compute_capability.split(".")[0]) >= 3
    assert info.properties["multiProcessorCount"] > 0


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("dtype", ["?", "u1", "i4", "f2", "f4", "f8", "c8", "c16"])
def test_copies_both_ways(client: Loopback, dtype: str, order: Any) -> None:
    array = np.asarray(np.arange(24).reshape(2, 3, 4).astype(dtype), order=order)
    client.upload(1, array)
    fetched = client.fetch(1)
    np.testing.assert_array_equal(fetched, array)
    assert fetched.flags.c_contiguous == (order == "C")


def test_large_copies(client: Loopback) -> None:
    array = np.random.default_rng(0).random(4 << 20)
    client.upload(1, array)
    np.testing.assert_array_equal(client.fetch(1), array)


def test_views_share_memory(client: Loopback) -> None:
    client.upload(1, np.arange(12.0).reshape(3, 4))
    client.batch(
        ["view", [out(2, "f8", (4, 3), [8, 32])], [ref(1), 0], None],
        ["view", [out(3, "f8", (2,), [-16])], [ref(1), 88], None],
        ["fill", [], [ref(3), -1.0], None],
    )
    expected = np.arange(12.0)
    expected[[9, 11]] = -1
    np.testing.assert_array_equal(client.fetch(2), expected.reshape(3, 4).T)
    client.batch(["view", [out(4, "f8", (1 << 20,))], [ref(1), 0], None])
    assert client.failures[0].error == "ProtocolViolation"


@pytest.mark.parametrize("name", ["sqrt", "exp", "sin", "tanh", "square", "negative"])
def test_ufuncs_agree_with_numpy(client: Loopback, name: str) -> None:
    array = np.linspace(0.1, 3, 1000).astype("f4")
    client.upload(1, array)
    client.batch([name, [out(2, "f4", (1000,))], [ref(1)], None])
    assert not client.failures
    np.testing.assert_allclose(client.fetch(2), getattr(np, name)(array), rtol=1e-5)
    assert not client.relaid


def test_every_row_names_something_of_cupy(client: Loopback) -> None:
    device = client.core.device
    assert isinstance(device, CudaDevice)
    missing = []
    for row in TABLE.values():
        if row.kind not in ("core", "request"):
            try:
                device._resolve(row)
            except (AttributeError, ImportError, NotImplementedError) as exc:
                missing.append(f"{row.name}: {exc}")
    assert not missing


def test_memory_is_counted_and_limited(client: Loopback) -> None:
    before = client.ask("memory")["used"]
    client.batch(["empty", [out(1, "u1", (1000,))], [], None])
    assert client.ask("memory")["used"] == before + 1024
    client.batch(["empty", [out(2, "u1", (GRANTED + 1,))], [], None])
    (failure,) = client.failures
    assert failure.error == "OutOfMemoryError"
    assert failure.arguments[2] == GRANTED
    assert "limit set to" in failure.message
    client.batch(["free", [], [1, 2], None], ["release_blocks", [], [], None])
    assert client.ask("memory")["used"] == before


def test_limits_of_the_plan_cache_reach_cupy(client: Loopback) -> None:
    device = client.core.device
    assert isinstance(device, CudaDevice)
    cache = device._cupy.fft.config.get_plan_cache()
    client.batch(["plan_cache", [], [3, 1 << 20, True], None])
    assert (cache.get_size(), cache.get_memsize()) == (3, 1 << 20)
    client.upload(1, np.ones(8, "c8"))
    client.batch(
        ["fft.fftn", [out(2, "c8", (8,))], [ref(1), [TUPLE, [8]], [TUPLE, [0]], "backward"], None]
    )
    assert not client.failures
    assert cache.get_curr_size() == 1
    client.batch(["plan_cache", [], [16, -1, True], None])
    assert (cache.get_size(), cache.get_memsize(), cache.get_curr_size()) == (16, -1, 0)


def test_errors_keep_their_class(client: Loopback) -> None:
    client.upload(1, np.ones(3))
    client.upload(2, np.ones(4))
    client.batch(["add", [[3]], [ref(1), ref(2)], None])
    assert client.failures[0].error == "ValueError"

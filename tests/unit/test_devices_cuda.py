"""The CUDA device's own code, over a stand-in for the few names of CuPy that it uses."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from cupool.errors import ConfigurationError
from cupool.pool_server.devices.base import Layout
from cupool.pool_server.devices.cuda import CudaDevice
from cupool.pool_server.devices.errors import CUDARuntimeError, DeviceLost, OutOfMemoryError
from cupool.pool_server.session.loopback import Loopback, out, ref
from cupool.pool_server.session.worker import SessionCore
from cupool.proto import messages as m
from cupool.proto.operations import TABLE

F8 = np.dtype("f8")


class _Memory:
    def __init__(self, size: int) -> None:
        self.size = -(-size // 512) * 512
        self.buffer = np.zeros(self.size, np.uint8)


class _Pointer:
    def __init__(self, mem: _Memory, offset: int) -> None:
        self.mem, self.offset = mem, offset


class _Array(np.ndarray):  # type: ignore[type-arg]
    """Looks like cupy.ndarray: memory of its own, `base` only for views made by methods."""

    pointer: Any = None

    def __new__(
        cls,
        shape: Any,
        dtype: Any = float,
        memptr: Any = None,
        strides: Any = None,
        order: Any = "C",
    ) -> Any:
        dtype = np.dtype(dtype)
        memptr = memptr or _Pointer(_Memory(int(np.prod(shape)) * dtype.itemsize), 0)
        array = super().__new__(cls, shape, dtype, memptr.mem.buffer, memptr.offset, strides, order)
        array.pointer = memptr
        return array

    @property
    def base(self) -> Any:
        base = super().base
        return base if isinstance(base, _Array) else None

    @property
    def data(self) -> Any:
        return self.pointer

    def set(self, host: Any) -> None:
        assert host.flags.c_contiguous == self.flags.c_contiguous
        self[...] = host


class _OutOfMemory(MemoryError):
    def __reduce__(self) -> Any:
        return type(self), (512, 1024, 2048)


class _Runtime(RuntimeError):
    def __init__(self, status: int) -> None:
        super().__init__(f"cudaError{status}: text")
        self.status = status


class _Driver(_Runtime):
    pass


class _Pool:
    def __init__(self) -> None:
        self.limit = 0

    def set_limit(self, size: int) -> None:
        self.limit = size

    def used_bytes(self) -> int:
        return 512

    free_bytes = total_bytes = free_all_blocks = n_free_blocks = used_bytes


class _Device:
    mem_info = (1 << 30, 2 << 30)
    compute_capability = "90"

    def __init__(self, ordinal: int) -> None:
        if ordinal > 7:
            raise _Runtime(101)

    def use(self) -> None: ...

    def synchronize(self) -> None: ...


def _own(array: Any) -> Any:
    result = _Array(np.shape(array), np.asarray(array).dtype)
    result[...] = array
    return result


def _raise(exc: Exception) -> Any:
    def function(*args: Any) -> Any:
        raise exc

    return function


def fake_cupy() -> Any:
    pool = _Pool()
    properties = {"name": b"Fake GPU", "multiProcessorCount": 4, "major": 9, "pciBusID": 3}
    return SimpleNamespace(
        ndarray=_Array,
        empty=lambda shape, dtype, order: _Array(shape, dtype, order=order),
        asarray=lambda a: a if isinstance(a, _Array) else _own(a),
        asnumpy=lambda a, order: np.array(a, order=order),
        copyto=np.copyto,
        add=lambda a, b: _own(np.add(a, b)),
        divmod=lambda a, b: tuple(_own(part) for part in np.divmod(a, b)),
        transpose=lambda a: a.T,
        get_default_memory_pool=lambda: pool,
        cuda=SimpleNamespace(
            Device=_Device,
            alloc=lambda size: _Pointer(_Memory(size), 0),
            MemoryPointer=_Pointer,
            memory=SimpleNamespace(OutOfMemoryError=_OutOfMemory),
            driver=SimpleNamespace(CUDADriverError=_Driver),
            runtime=SimpleNamespace(
                CUDARuntimeError=_Runtime, getDeviceProperties=lambda ordinal: properties
            ),
        ),
    )


@pytest.fixture
def device() -> CudaDevice:
    return CudaDevice("srv", 1, 1 << 30, fake_cupy())


def test_it_says_what_it_is(device: CudaDevice) -> None:
    info = device.info
    assert (info.name, info.kind, info.compute_capability) == ("Fake GPU", "cuda", "9.0")
    assert info.memory_bytes == 1 << 30
    assert info.properties == {"multiProcessorCount": 4, "major": 9}


def test_no_such_gpu() -> None:
    with pytest.raises(ConfigurationError, match="GPU 9"):
        CudaDevice("srv", 9, 0, fake_cupy())


def test_the_grant_is_a_hard_limit(device: CudaDevice) -> None:
    pool = device._pool
    assert pool.limit == 1 << 30
    device.set_limit(4096)
    assert (pool.limit, device.memory().limit_bytes) == (4096, 4096)
    device.set_limit(1 << 40)
    assert pool.limit == 1 << 30
    device.set_limit(0)
    assert (pool.limit, device.memory().limit_bytes) == (1 << 30, 0)


def test_a_session_on_it(device: CudaDevice) -> None:
    client = Loopback(SessionCore(device))
    array = np.arange(6.0).reshape(2, 3)
    client.upload(1, array)
    client.upload(2, np.asfortranarray(array))
    client.batch(
        ["add", [out(3, F8, (2, 3))], [ref(1), ref(2)], None],
        ["divmod", [[4], [5]], [ref(3), 4.0], None],
        ["view", [out(6, F8, (3,), [-8])], [ref(1), 40], None],
        ["fill", [], [ref(6), 9.0], None],
        ["add", [out(7, F8, (2, 3), [8, 16])], [ref(1), 0.0], None],
        ["assign", [], [ref(2), 1.5], None],
        ["write", [], [ref(7), [9, 0, "<f8", [2, 3], "C"]], None],
        payloads=[array.tobytes()],
    )
    assert not client.failures
    assert client.relaid == {"add": 1}
    np.testing.assert_array_equal(client.fetch(3), array * 2)
    np.testing.assert_array_equal(client.fetch(4), array * 2 // 4)
    np.testing.assert_array_equal(client.fetch(1), [[0, 1, 2], [9, 9, 9]])
    np.testing.assert_array_equal(client.fetch(2), np.full((2, 3), 1.5))
    np.testing.assert_array_equal(client.fetch(7), array)
    assert client.fetch(2).flags.f_contiguous
    assert client.ask("memory")["used"] == 512
    client.ask("synchronize")
    client.batch(["release_blocks", [], [], None])
    client.batch(["view", [out(8, F8, (65,))], [ref(1), 0], None])
    assert "leaves its owner" in client.failures[0].message


def test_results_never_alias(device: CudaDevice) -> None:
    source = device.upload(Layout((2, 2), F8), memoryview(np.eye(2).tobytes()))
    row = TABLE["add"]
    for function in (lambda a: a, lambda a: a.T):
        device._functions["add"] = function
        (made,) = device.call(row, [source], {}, [None])
        assert not np.shares_memory(made, source)


@pytest.mark.parametrize(
    ("raised", "expected", "arguments"),
    [
        (_OutOfMemory(), OutOfMemoryError, (512, 1024, 2048)),
        (_Runtime(2), CUDARuntimeError, (2,)),
        (_Runtime(700), DeviceLost, (700,)),
        (_Driver(719), DeviceLost, (719,)),
    ],
)
def test_errors_of_cupy_become_ours(
    device: CudaDevice, raised: Exception, expected: type[Exception], arguments: Any
) -> None:
    device._functions["add"] = _raise(raised)
    with pytest.raises(expected) as caught:
        device.call(TABLE["add"], [], {}, [None])
    assert caught.value.args[: len(arguments)] == arguments
    if isinstance(raised, _Runtime):
        assert str(caught.value) == str(raised)


def test_a_dead_context_ends_the_session(device: CudaDevice) -> None:
    client = Loopback(SessionCore(device))
    client.upload(1, np.ones(3))
    device._functions["add"] = _raise(_Runtime(719))
    client.batch(["add", [out(2, F8, (3,))], [ref(1), 1.0], None])
    assert client.failures[0].error == "CUDARuntimeError"
    assert isinstance(bye := client.replies[-1], m.Bye) and bye.reason == "device_lost"


def test_without_cupy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "cupy", None)
    with pytest.raises(ConfigurationError, match="needs CuPy"):
        CudaDevice()


def test_results_in_a_dictionary_come_one_after_the_other(device: CudaDevice) -> None:
    found = {"heights": np.ones(2), "widths": (np.zeros(2), np.full(2, 3.0))}
    device._functions["scipy.signal.find_peaks"] = lambda *args: (np.arange(2), found)
    made = device.call(TABLE["scipy.signal.find_peaks"], [], {}, [None] * 4)
    assert [float(one[1]) for one in made] == [1, 1, 0, 3]

"""The mock device: what it shares with a real one, its adapters, its switches."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from cupool.errors import ConfigurationError, OperationNotSupported
from cupool.pool_server.devices.base import (
    Layout,
    agrees,
    check_bounds,
    extent,
    memory_order,
    strides_of,
)
from cupool.pool_server.devices.errors import DeviceLost, OutOfMemoryError
from cupool.pool_server.devices.mock import MockDevice, MockOptions, calls
from cupool.pool_server.devices.registry import open_device, warm
from cupool.proto.operations import TABLE, Operation

F8 = np.dtype("f8")


def call(device: MockDevice, name: str, *args: Any, outs: Any = (None,), **kwargs: Any) -> Any:
    row = TABLE.get(name) or Operation(name, "random")
    with device.context():
        results = device.call(row, args, kwargs, outs)
    return results[0] if len(results) == 1 else results


def array(device: MockDevice, values: Any) -> Any:
    host = np.asarray(values)
    return device.upload(Layout(host.shape, host.dtype), host.copy().data.cast("B"))


@pytest.fixture
def device() -> MockDevice:
    return MockDevice(memory_bytes=1 << 20)


def test_it_says_that_it_is_a_mock(device: MockDevice) -> None:
    assert device.info.name == "cupool mock GPU"
    assert device.info.kind == "mock"


def test_every_row_of_the_table_can_be_called() -> None:
    for row in TABLE.values():
        if row.kind not in ("core", "request"):
            assert callable(calls.resolve(row).function), row.name


def test_adapters_belong_to_the_table() -> None:
    assert set(calls.ADAPTERS) <= set(TABLE)


def test_rows_without_a_function_say_so(device: MockDevice) -> None:
    with pytest.raises(NotImplementedError, match="'nothing'"):
        device.call(Operation("nothing", "function"), [], {}, [None])


def test_results_never_alias(device: MockDevice) -> None:
    row = Operation("x", "function", numpy="numpy.asarray")
    source = array(device, [1.0, 2.0])
    (same,) = device.call(row, [source], {}, [None])
    assert not np.shares_memory(same, source)
    (part,) = device.call(
        Operation("y", "function", numpy="numpy.diagonal"), [array(device, np.eye(3))], {}, [None]
    )
    assert part.base is None
    assert device.pool.used_bytes == 4 * 512 - 512


@pytest.mark.parametrize("order", ["C", "F", (8, 32, 16), (48, 8, 24)])
def test_results_have_the_order_that_was_promised(device: MockDevice, order: Any) -> None:
    array = np.random.default_rng(0).random((2, 3, 2))
    promised = Layout((2, 3, 2), F8, order)
    (result,) = device.call(
        TABLE["fft.irfftn"], [array, [2, 3, 2], [0, 1, 2], None], {}, [promised]
    )
    assert device.matches(result, promised)
    np.testing.assert_allclose(result, np.fft.irfftn(array, (2, 3, 2), (0, 1, 2)))


def test_memory_is_counted_until_the_last_reference_goes(device: MockDevice) -> None:
    owner = array(device, np.zeros(1000))
    view = device.view(owner, 8, Layout((3,), F8))
    assert device.memory().used_bytes == 8192
    device.free(owner)
    del owner
    assert device.memory().used_bytes == 8192
    del view
    assert device.memory().used_bytes == 0
    assert device.memory().held_bytes == 8192


def test_failing_operations_take_no_memory(device: MockDevice) -> None:
    with pytest.raises(ValueError, match="broadcast"):
        call(device, "add", array(device, [1.0]), np.ones((2, 0)), np.ones(3), outs=[None])
    layout = Layout((1 << 10,), F8)
    with pytest.raises(TypeError):
        call(device, "add", "x", 1, outs=[layout])
    assert device.memory().used_bytes == 0


def test_host_memory_is_the_arrays_own(device: MockDevice) -> None:
    owner = device.empty(Layout((2, 3), F8, "F"))
    memory = device.host_memory(owner)
    assert memory is not None and memory.nbytes == 48
    memory[:8] = np.float64(5).tobytes()
    assert owner[0, 0] == 5
    strided = device.view(owner, 0, Layout((3,), F8, (16,)))
    assert device.host_memory(strided) is None
    assert device.host_memory(device.empty(Layout((0,), F8))) is None


@pytest.mark.parametrize("order", ["C", "F", (8, 16), (24, 8)])
def test_layouts_come_out_as_asked(device: MockDevice, order: Any) -> None:
    layout = Layout((2, 3), F8, order)
    made = device.empty(layout)
    assert made.strides == strides_of(layout)
    assert device.matches(made, layout)
    assert agrees(device.layout(made), layout)


def test_layout_arithmetic() -> None:
    assert strides_of(Layout((2, 3, 4), F8)) == (96, 32, 8)
    assert strides_of(Layout((2, 3, 4), F8, "F")) == (8, 16, 48)
    assert extent(Layout((3, 2), F8, (-16, 8))) == (-32, 16)
    assert extent(Layout((0, 2), F8, (-16, 8))) == (0, 0)
    assert memory_order(Layout((2, 3, 4), F8, (32, 64, 8))) == [1, 0, 2]
    with pytest.raises(ValueError, match="not dense"):
        memory_order(Layout((2, 2), F8, (8, 8)))
    check_bounds(0, Layout((0,), F8), 0)
    with pytest.raises(ValueError, match="leaves"):
        check_bounds(0, Layout((1,), F8), 7)
    assert not agrees(Layout((2,), F8), Layout((2,), np.dtype("f4")))


# Where CuPy differs from NumPy


@pytest.mark.parametrize("name", ["fix", "sinc", "i0"])
def test_ufuncs_that_numpy_has_not(device: MockDevice, name: str) -> None:
    values = array(device, np.array([-1.5, 0.0, 2.5], "f4"))
    layout = Layout((3,), np.dtype("f4"))
    result = call(device, name, values, outs=[layout])
    assert result.dtype == np.float32
    expected = np.trunc if name == "fix" else getattr(np, name)  # NumPy 2.5 deprecates `fix`
    np.testing.assert_allclose(result, expected(values.astype("f8")), rtol=1e-5)
    target = array(device, np.zeros(3))
    mask = array(device, [True, False, True])
    call(device, name, values, outs=[], out=target, _where=mask)
    assert target[1] == 0


def test_indices_wrap(device: MockDevice) -> None:
    values = array(device, np.arange(12).reshape(3, 4))
    index = array(device, [5, -7, 2])
    np.testing.assert_array_equal(call(device, "getitem", values, (index,)), values[[2, 2, 2]])
    np.testing.assert_array_equal(
        call(device, "getitem", values, (slice(None), None, index)), values[:, None, [1, 1, 2]]
    )
    mask = array(device, [True, False, True])
    np.testing.assert_array_equal(
        call(device, "getitem", values, (mask, slice(0, 2))), values[[0, 2], :2]
    )
    np.testing.assert_array_equal(call(device, "take", values, index, axis=1), values[:, [1, 1, 2]])
    call(device, "setitem", values, (index,), 0, outs=[])
    assert values[2].tolist() == [0, 0, 0, 0]
    call(device, "scatter_add", values, (index, 0), 1.0, outs=[])
    assert values[2, 0] == 3


def test_random_generators_draw_the_same_from_the_same_seed(device: MockDevice) -> None:
    states = [call(device, "random.RandomState", 7) for _ in range(2)]
    bits = [call(device, "random.Philox4x3210", 7) for _ in range(2)]
    generators = [call(device, "random.Generator", one) for one in bits]
    layout = Layout((3,), F8)
    for objects, name in ((states, "RandomState.random_sample"), (generators, "Generator.random")):
        first, second = (
            call(device, f"random.{name}", one, (3,), outs=[layout]) for one in objects
        )
        np.testing.assert_array_equal(first, second)
        assert first.shape == (3,) and first.dtype == F8
    call(device, "random.RandomState.set_seed", states[0], 7, outs=[])
    again = call(device, "random.RandomState.random_sample", states[0], (3,), outs=[layout])
    np.testing.assert_array_equal(
        again,
        call(
            device,
            "random.RandomState.random_sample",
            call(device, "random.RandomState", 7),
            (3,),
            outs=[layout],
        ),
    )


def test_draws_need_a_generator(device: MockDevice) -> None:
    bits = call(device, "random.Philox4x3210", 7)
    with pytest.raises(TypeError):
        call(device, "random.RandomState.normal", bits, 0.0, 1.0, (3,), outs=[Layout((3,), F8)])
    for name in ("random.Generator.__class__", "random.Generator._x.y", "random.os", "random.X.y"):
        with pytest.raises(NotImplementedError):
            call(device, name, bits)


def test_casting_drops_the_imaginary_part_quietly(device: MockDevice) -> None:
    target = array(device, np.zeros(2))
    device.assign(target, array(device, [1 + 2j, 3 + 4j]))
    assert target.tolist() == [1, 3]
    device.fill(target, 2 + 3j)
    assert target.tolist() == [2, 2]


def test_warnings_of_numpy_stay_away(device: MockDevice) -> None:
    zero = array(device, [0.0, 1.0])
    assert np.isnan(call(device, "true_divide", zero, zero)[0])
    assert np.isnan(call(device, "mean", array(device, np.zeros(0))))


# Switches


def test_slowness() -> None:
    slept: list[float] = []
    options = MockOptions(latency_us=50, bandwidth_gbps=8)
    device = MockDevice(memory_bytes=1 << 20, options=options, sleep=slept.append)
    values = array(device, np.zeros(1000))
    call(device, "add", values, 1)
    assert device.direct(TABLE["add"]) is None
    device.fetch(values)
    assert slept == [50e-6, 8e-6, 50e-6, 50e-6, 8e-6]


def test_faults() -> None:
    device = MockDevice(options=MockOptions(fail_after=2))
    device.synchronize()
    device.synchronize()
    for _ in range(2):
        with pytest.raises(DeviceLost) as caught:
            device.synchronize()
    assert caught.value.status == 700
    device = MockDevice(options=MockOptions(oom_after=1))
    array(device, [1.0])
    with pytest.raises(OutOfMemoryError):
        call(device, "add", array(device, [1.0]), np.ones(1000))


def test_options_are_checked() -> None:
    made = open_device("mock", options={"compute": "9.0", "memory_bytes": "4096"})
    assert made.info.compute_capability == "9.0"
    assert made.info.memory_bytes == 4096
    for wrong in ({"memry": 1}, {"latency_us": "fast"}, {"latency_us": -1}, {"fail_after": None}):
        with pytest.raises(ConfigurationError):
            MockOptions.read(wrong)


def test_device_kinds() -> None:
    assert open_device("null").info.kind == "null"
    with pytest.raises(ConfigurationError, match="known are"):
        open_device("tpu")
    assert warm("null") == []
    assert isinstance(warm("mock"), list)


def test_null_objects_have_no_answers_that_depend_on_data() -> None:
    device = open_device("null")
    assert device.call(TABLE["scipy.spatial.Delaunay"], [], {}, [None]) == [None]
    with pytest.raises(OperationNotSupported, match="depends on data"):
        device.call(TABLE["scipy.spatial.Delaunay.triangles"], [], {}, [None, None])

"""Whatever a client sends, a session answers; it never raises and never lies about memory."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from cupool.pool_server.devices.mock import MockDevice
from cupool.pool_server.session.loopback import Loopback
from cupool.pool_server.session.worker import SessionCore
from cupool.proto import messages as m
from cupool.proto.operations import TABLE

_scalars = (
    st.none()
    | st.booleans()
    | st.integers(-5, 20)
    | st.integers(-(1 << 63), (1 << 64) - 1)
    | st.floats()
    | st.text(max_size=5)
    | st.binary(max_size=9)
    | st.sampled_from(["C", "F", "<f8", "<i4", "O", "object", "|b1", "<c16", "M8[s]", "V3", "U4"])
)
_wire: st.SearchStrategy[Any] = st.recursive(
    _scalars,
    lambda inner: (
        st.lists(inner, max_size=5)
        | st.builds(lambda tag, rest: [tag, *rest], st.integers(0, 12), st.lists(inner, max_size=4))
        | st.dictionaries(st.text(max_size=4), inner, max_size=3)
    ),
    max_leaves=12,
)
_handles = st.integers(1, 12)
_refs = st.builds(lambda handle: [0, handle], _handles)
_orders = st.sampled_from(["C", "F"]) | st.lists(st.sampled_from([0, 8, -8, 16, 1, 24]), max_size=3)
_specs = (
    st.builds(
        lambda *spec: list(spec),
        _handles,
        st.sampled_from(["<f8", "<i4", "|b1", "<c16", "|u1"]),
        st.lists(st.integers(0, 4), max_size=3),
        _orders,
    )
    | st.builds(lambda handle: [handle], _handles)
    | st.builds(lambda handle: [handle, "object"], _handles)
    | _wire
)
_arguments = st.lists(_refs | st.integers(0, 50) | _wire, max_size=4)
_records = st.builds(
    lambda name, outs, args, kwargs: [name, outs, args, kwargs],
    st.sampled_from(sorted(TABLE)) | st.text(max_size=8),
    st.lists(_specs, max_size=3) | st.integers(0, 9),
    _arguments | _wire,
    st.none() | st.dictionaries(st.sampled_from(["out", "axis", "dtype", "x"]), _wire, max_size=2),
) | st.lists(_wire, max_size=6)


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(_records, max_size=12), st.lists(st.binary(max_size=40), max_size=3))
def test_garbage_records(records: list[list[Any]], payloads: list[bytes]) -> None:
    device = MockDevice(memory_bytes=1 << 20)
    client = Loopback(SessionCore(device, 1000))
    client.upload(1, np.arange(6.0).reshape(2, 3))
    client.upload(2, np.arange(4))
    client.batch(*records, payloads=payloads)
    while client.core.transferring and client.core.ended is None:
        incoming = client.core._movement.incoming
        assert incoming is not None
        client.send(m.Chunk(incoming.transfer, m.ABORTED), [b""])
    assert client.core.ended is None
    assert client.acknowledged == 3
    # Still alive and right.
    client.upload(999, np.ones(3))
    np.testing.assert_array_equal(client.fetch(999), np.ones(3))
    assert not any(array.dtype.hasobject for array in client.core.table.arrays.values())
    client.batch(["free", [], list(client.core.table.arrays), None])
    client.batch(["free", [], list(client.core.table.others), None])
    assert device.memory().used_bytes == 0


_messages = (
    st.builds(m.Batch, st.integers(-2, 6), st.lists(_records, max_size=2))
    | st.builds(m.Chunk, st.integers(0, 3), st.integers(-2, 40))
    | st.builds(m.Credit, st.integers(0, 3), st.integers(-2, 9))
    | st.builds(m.Ping, st.integers(0, 3))
    | st.builds(m.Hello, st.just(1), st.just(1), st.just("t"), st.just("c"))
    | st.builds(m.Bye, st.text(max_size=3))
    | st.just(m.Pong(1))
)


@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(_messages, max_size=15), st.lists(st.binary(max_size=40), max_size=2))
def test_garbage_conversations(messages: list[m.Message], payloads: list[bytes]) -> None:
    core = SessionCore(MockDevice(memory_bytes=1 << 20), 1000)
    for message in messages:
        core.execute(message, payloads)
        while core.unfinished:
            core.proceed()
    core.disconnected()
    core.resume(0)
    core.close()

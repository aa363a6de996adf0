"""What a session does with batches: order, handles, predictions, failures, memory."""

from __future__ import annotations

import numpy as np
import pytest

from cupool.pool_server.devices.mock import MockDevice, MockOptions
from cupool.pool_server.session.handles import Opaque
from cupool.pool_server.session.loopback import Loopback, out, ref
from cupool.pool_server.session.worker import SessionCore
from cupool.proto import messages as m
from cupool.proto.failures import from_failure
from cupool.proto.values import PAYLOAD

F8 = "f8"


def loopback(memory_bytes: int = 1 << 20, max_handles: int = 1000, **options: object) -> Loopback:
    device = MockDevice(memory_bytes=memory_bytes, options=MockOptions.read(options))
    return Loopback(SessionCore(device, max_handles))


@pytest.fixture
def client() -> Loopback:
    client = loopback()
    client.upload(1, np.arange(6.0).reshape(2, 3))
    return client


def add(handle: int, a: object, b: object, shape: tuple[int, ...] = (2, 3)) -> list[object]:
    return ["add", [out(handle, F8, shape)], [a, b], None]


def test_upload_add_fetch(client: Loopback) -> None:
    client.batch(add(2, ref(1), ref(1)), add(3, ref(2), 1.5))
    assert client.acknowledged == 2
    np.testing.assert_array_equal(client.fetch(3), np.arange(6.0).reshape(2, 3) * 2 + 1.5)


def test_zero_dimensional_results_are_arrays(client: Loopback) -> None:
    client.upload(2, np.float64(3))
    client.batch(add(3, ref(2), ref(2), ()))
    assert client.fetch(3).shape == ()
    assert client.fetch(3) == 6


def test_answers_come_before_the_ack_and_after_earlier_failures(client: Loopback) -> None:
    client.batch(
        ["add", [out(2, "f4", (2, 3))], [ref(1), ref(1)], None],
        ["synchronize", 9, [], None],
    )
    kinds = [type(reply) for reply in client.replies]
    assert kinds == [m.Ack, m.Value, m.Ack]
    first = client.replies[0]
    assert isinstance(first, m.Ack)
    assert len(first.failures) == 1
    assert first.sequence == client.sequence - 1


def test_duplicate_batch_is_ignored(client: Loopback) -> None:
    client.batch(add(2, ref(1), ref(1)))
    client.batch(add(2, ref(1), ref(1)), sequence=client.sequence)
    assert not client.failures


def test_gap_ends_the_session(client: Loopback) -> None:
    client.batch(add(2, ref(1), ref(1)), sequence=17)
    assert isinstance(client.replies[-1], m.Bye)
    assert client.replies[-1].reason == "protocol"
    assert "17" in client.replies[-1].message
    client.batch(add(2, ref(1), ref(1)), sequence=2)
    assert not client.replies


def test_acks_are_coalesced(client: Loopback) -> None:
    core = client.core
    for sequence in (2, 3, 4):
        assert core.execute(m.Batch(sequence, []), more=True) == []
    client.sequence = 4
    client.batch()
    assert [type(reply) for reply in client.replies] == [m.Ack]
    assert client.acknowledged == 5


@pytest.mark.parametrize(
    ("record", "text"),
    [
        ([], "record of 0 parts"),
        (["add"], "record of 1 parts"),
        (["add", [], [], {}, -1], "not a stream"),
        (["add", [], [], {}, "x"], "not a stream"),
        (["add", [], [], {}, 0, 0], "record of 6 parts"),
        ([5, [], [], {}], "name"),
        ([["add"], [], [], {}], "name"),
        (["os.system", [], ["ls"], {}], "unknown operation"),
        (["__class__", [], [], {}], "unknown operation"),
        (["add", [[2, "<f8", [2, 3]]], [[0, 1], [0, 1]], {}], "not a predicted output"),
        (["add", [[2, "O", [2, 3], "C"]], [[0, 1], [0, 1]], {}], "dtype"),
        (["add", [[2, "<f8", [2, -3], "C"]], [[0, 1], [0, 1]], {}], "shape"),
        (["add", [[2, "<f8", [1 << 47, 1 << 47], "C"]], [[0, 1], [0, 1]], {}], "bytes"),
        (["add", [[2, "<f8", [2, 3], "K"]], [[0, 1], [0, 1]], {}], "order"),
        (["add", [[2, "<f8", [2, 3], [8]]], [[0, 1], [0, 1]], {}], "strides"),
        (["add", [[0]], [[0, 1], [0, 1]], {}], "not a handle"),
        (["add", [[-4]], [[0, 1], [0, 1]], {}], "not a handle"),
        (["add", [[True]], [[0, 1], [0, 1]], {}], "not a handle"),
        (["add", [[1]], [[0, 1], [0, 1]], {}], "in use"),
        (["divmod", [[2], [2]], [[0, 1], [0, 1]], {}], "in use"),
        (["add", "x", [[0, 1], [0, 1]], {}], "outputs"),
        (["add", [[2]], [[0, 99], [0, 1]], {}], "unknown handle 99"),
        (["add", [[2]], [[77, 1], [0, 1]], {}], "tag"),
        (["add", [[2]], [b"raw", [0, 1]], {}], "tagged"),
        (["add", [[2]], "args", {}], "malformed arguments"),
        (["add", [[2]], [[0, 1], [0, 1]], [1]], "malformed arguments"),
        (["add", [[2]], [[0, 1], [0, 1]], {3: 4}], "keyword"),
        (["free", [], [99], {}], "unknown handle"),
        (["free", [], [[1]], {}], "not a handle"),
        (["free", [], 1, {}], "list of handles"),
        (["upload", [[2, "<f8", [2], "C"]], [[9, 7, "<f8", [2], "C"]], {}], "no payload"),
        (["upload", [[2, "<f8", [2], "C"]], [[9, 0, "<f8", [2], "C"]], {}], "no payload"),
        (["upload", [[2, "<f8", [2], "C"]], [5], {}], "host array"),
        (["upload", [], [[9, 0, "<f8", [2], "C"]], {}], "one output"),
        (["view", [[2, "<f8", [7], "C"]], [[0, 1], 0], {}], "leaves its owner"),
        (["view", [[2, "<f8", [1], "C"]], [[0, 1], 48], {}], "leaves its owner"),
        (["view", [[2, "<f8", [2], [-8]]], [[0, 1], 0], {}], "leaves its owner"),
        (["view", [[2, "<f8", [1], "C"]], [[0, 1], -8], {}], "offset"),
        (["view", [[2, "<f8", [1], "C"]], [1, 0], {}], "not an array"),
        (["set_limit", [], [-1], {}], "limit"),
        (["plan_cache", [], [-2, 0, False], {}], "limit of the plan cache"),
        (["plan_cache", [], [16, "1", False], {}], "limit of the plan cache"),
        (["plan_cache", [], [16], {}], "arguments"),
    ],
)
def test_malformed_records_fail_and_nothing_else(
    client: Loopback, record: list[object], text: str
) -> None:
    client.batch(record, add(5, ref(1), ref(1)))
    assert [f.error for f in client.failures] == ["ProtocolViolation"]
    assert text in client.failures[0].message
    assert client.fetch(5)[1, 2] == 10
    assert client.core.ended is None


def test_too_many_handles() -> None:
    client = loopback(max_handles=3)
    client.upload(1, 1.0)
    client.batch(add(2, ref(1), 1, ()), add(3, ref(1), 1, ()), add(4, ref(1), 1, ()))
    assert "more than 3 handles" in client.failures[0].message
    client.batch(["free", [], [2], None], add(5, ref(1), 1, ()))
    assert len(client.failures) == 1


@pytest.mark.parametrize("spec", [out(2, "f4", (2, 3)), out(2, F8, (3, 2)), out(2, F8, (6,))])
def test_wrong_predictions_are_told(client: Loopback, spec: list[object]) -> None:
    client.batch(["add", [spec], [ref(1), ref(1)], None], ["fetch", 8, [ref(2)], None])
    (failure,) = client.failures
    assert failure.error == "PredictionMismatch"
    assert failure.operation == "add"
    assert "(2, 3)" in failure.message
    assert client.failed[8] == failure
    assert client.core.device.memory().used_bytes == 512


def test_wrong_number_of_outputs(client: Loopback) -> None:
    client.batch(["divmod", [out(2, F8, (2, 3))], [ref(1), 2.0], None])
    assert "promised 1 results, made 2" in client.failures[0].message


def test_unknown_outputs_are_described(client: Loopback) -> None:
    client.batch(["divmod", [[2], [3]], [ref(1), 2.0], None])
    rows = client.ask("describe", ref(2), ref(3), ref(1))
    assert rows == [[np.dtype(F8), (2, 3), (24, 8)]] * 3


def test_the_mock_makes_results_as_they_were_promised(client: Loopback) -> None:
    client.batch(
        ["add", [out(2, F8, (2, 3), "F")], [ref(1), ref(1)], None],
        ["add", [out(3, F8, (2, 3), [8, 16])], [ref(1), ref(1)], None],
        ["add", [out(4, F8, (2, 3), [24, 8])], [ref(1), ref(1)], None],
    )
    assert not client.relaid
    assert not client.failures
    rows = client.ask("describe", ref(2), ref(3), ref(4))
    assert [row[2] for row in rows] == [(8, 16), (8, 16), (24, 8)]
    for handle in (2, 3, 4):
        np.testing.assert_array_equal(client.fetch(handle), np.arange(6.0).reshape(2, 3) * 2)


def test_other_strides_are_relaid_and_counted(client: Loopback) -> None:
    host = np.arange(6.0).reshape(2, 3)
    wire = [PAYLOAD, 0, "<f8", [2, 3], "C"]
    client.batch(["upload", [out(2, F8, (2, 3), "F")], [wire], None], payloads=[host.tobytes()])
    assert client.relaid == {"upload": 1}
    assert not client.failures
    assert client.ask("describe", ref(2))[0][2] == (8, 16)
    np.testing.assert_array_equal(client.fetch(2), host)


def test_meaningless_strides_are_not_compared(client: Loopback) -> None:
    client.upload(2, np.ones((1, 3)))
    client.batch(
        ["add", [out(3, F8, (1, 3), [999, 8])], [ref(2), 1], None],
        ["add", [out(4, F8, (1, 3), "F")], [ref(2), 1], None],
    )
    client.upload(5, np.ones((0, 3)))
    client.batch(["add", [out(6, F8, (0, 3), [1, 1])], [ref(5), 1], None])
    assert not client.relaid
    assert not client.failures


def test_strides_with_gaps_cannot_own_memory(client: Loopback) -> None:
    client.batch(["empty", [out(2, F8, (2, 3), [48, 16])], [], None])
    assert client.failures[0].error == "ValueError"


def test_failures_poison_and_are_told_once(client: Loopback) -> None:
    client.batch(
        add(2, ref(1), ref(1), (9,)),
        add(3, ref(2), 1),
        ["divmod", [[4], [5]], [ref(3), ref(1)], None],
        ["assign", [], [ref(1), ref(4)], None],
        ["fetch", 7, [ref(5)], None],
        ["describe", 8, [ref(1), ref(4)], None],
        ["free", [], [2, 3, 4, 5], None],
    )
    assert len(client.failures) == 1
    assert client.failed == {7: client.failures[0], 8: client.failures[0]}
    assert len(client.core.table) == 1


def test_errors_keep_their_class_and_say_where(client: Loopback) -> None:
    client.upload(2, np.ones(5))
    client.batch(add(3, ref(1), ref(2)), ["synchronize", 1, [], None])
    exc = from_failure(client.failures[0])
    assert type(exc) is ValueError
    assert "broadcast" in str(exc)
    assert exc.__notes__ == [
        "cupool: raised by operation 'add' on cupool mock GPU 0 of server local"
    ]
    assert client.values == {1: None}


def test_views_share_and_hold_memory(client: Loopback) -> None:
    used = client.core.device.memory().used_bytes
    client.batch(
        ["view", [out(2, F8, (3,), [8])], [ref(1), 24], None],
        ["view", [out(3, F8, (2,), [-8])], [ref(2), 40], None],
        ["free", [], [1], None],
        ["fill", [], [ref(2), 7], None],
    )
    assert client.core.device.memory().used_bytes == used
    np.testing.assert_array_equal(client.fetch(2), [7, 7, 7])
    np.testing.assert_array_equal(client.fetch(3), [7, 7])
    client.batch(["free", [], [2, 3], None])
    assert client.core.device.memory().used_bytes == 0


def test_views_of_fortran_and_permuted_owners() -> None:
    client = loopback()
    array = np.arange(24.0).reshape(2, 3, 4)
    client.upload(1, np.asfortranarray(array))
    client.batch(
        ["view", [out(2, F8, (24,))], [ref(1), 0], None],
        ["add", [out(3, F8, (2, 3, 4), [32, 64, 8])], [ref(1), 0], None],
        ["view", [out(4, F8, (24,))], [ref(3), 0], None],
    )
    np.testing.assert_array_equal(client.fetch(2), array.ravel("F"))
    np.testing.assert_array_equal(client.fetch(4), array.transpose(1, 0, 2).ravel())


def test_view_may_change_the_dtype_and_be_empty(client: Loopback) -> None:
    client.batch(
        ["view", [out(2, "u1", (48,))], [ref(1), 0], None],
        ["view", [out(3, "c16", (3,))], [ref(1), 0], None],
        ["view", [out(4, F8, (0, 5), [8, 8])], [ref(1), 48], None],
        ["view", [out(5, F8, (0,), [-8])], [ref(1), 0], None],
        ["view", [out(6, F8, (4, 3), [0, 8])], [ref(1), 24], None],
    )
    assert not client.failures
    assert client.fetch(2).tobytes() == np.arange(6.0).tobytes()
    assert client.fetch(4).shape == (0, 5)
    np.testing.assert_array_equal(client.fetch(6), [[3, 4, 5]] * 4)


def test_fill_assign_write(client: Loopback) -> None:
    client.batch(
        ["empty", [out(2, "i4", (2, 3))], [], None],
        ["assign", [], [ref(2), ref(1)], None],
        ["empty", [out(3, "f4", (3,))], [], None],
        ["fill", [], [ref(3), [5, 2.5, 1.0]], None],
        ["write", [], [ref(1), [9, 0, "<f8", [2, 3], "F"]], None],
        payloads=[np.arange(6.0).tobytes()],
    )
    assert not client.failures
    np.testing.assert_array_equal(client.fetch(2), np.arange(6).reshape(2, 3))
    np.testing.assert_array_equal(client.fetch(3), np.full(3, 2.5))
    np.testing.assert_array_equal(client.fetch(1), np.arange(6.0).reshape(3, 2).T)
    client.batch(
        ["write", [], [ref(1), [9, 0, "<f8", [6], "C"]], None],
        payloads=[np.arange(6.0).tobytes()],
    )
    assert client.failures[0].error == "ValueError"


def test_out_keyword_writes_in_place(client: Loopback) -> None:
    client.batch(
        ["add", [], [ref(1), 1.0], {"out": ref(1)}],
        ["add", [], [ref(1), 1.0], {"out": [2, [ref(1)]]}],
    )
    assert not client.failures
    assert client.fetch(1)[0, 0] == 2


def test_operations_take_memory_before_they_compute() -> None:
    client = loopback(memory_bytes=4096)
    client.upload(1, np.ones(128))
    client.batch(["multiply", [out(2, F8, (128, 128))], [ref(1), ref(1)], None])
    (failure,) = client.failures
    assert failure.error == "OutOfMemoryError"
    assert failure.arguments == [131072, 1024, 0]
    assert failure.message == (
        "Out of memory allocating 131,072 bytes (allocated so far: 1,024 bytes)."
    )


def test_memory_limit_and_release(client: Loopback) -> None:
    client.batch(["set_limit", [], [2048], None], add(2, ref(1), 1), ["free", [], [2], None])
    use = {"used": 512, "total": 1024, "free": 512, "limit": 2048, "outside": 0, "blocks": 1}
    assert client.ask("memory") == use
    client.batch(["release_blocks", [], [], None])
    assert client.ask("memory") == use | {"total": 512, "free": 0, "blocks": 0}
    client.batch(["empty", [out(3, "u1", (4096,))], [], None])
    assert client.failures[0].arguments == [4096, 512, 2048]


def test_objects_are_not_arrays(client: Loopback) -> None:
    client.core.table.others[50] = Opaque(object())
    client.batch(add(51, ref(1), ref(50)), ["fetch", 3, [ref(50)], None])
    assert "no array" in client.failures[0].message
    assert "no array" in client.failed[3].message
    client.batch(["free", [], [50], None])
    assert len(client.failures) == 1


def test_object_dtypes_never_appear(client: Loopback) -> None:
    client.batch(["add", [[2]], [ref(1), ref(1)], {"dtype": "O", "casting": "unsafe"}])
    assert client.failures[0].error == "TypeError"
    assert "Python objects" in client.failures[0].message


def test_a_dead_context_ends_the_session() -> None:
    client = loopback(fail_after=3)
    client.upload(1, np.ones(3))
    client.batch(*(add(handle, ref(1), 1, (3,)) for handle in range(2, 9)))
    assert [f.error for f in client.failures] == ["CUDARuntimeError"]
    assert client.failures[0].arguments == [700]
    assert isinstance(client.replies[-1], m.Bye)
    assert client.replies[-1].reason == "device_lost"
    assert "cudaErrorIllegalAddress" in client.replies[-1].message


def test_pings_are_answered_and_bye_ends(client: Loopback) -> None:
    client.send(m.Ping(44))
    assert client.replies == [m.Pong(44)]
    client.send(m.Bye("closed", "done"))
    assert client.core.ended == m.Bye("closed", "done")
    assert client.core.left


@pytest.mark.parametrize("message", [m.Hello(1, 1, "t", "c"), m.Ack(1), m.Value(1, None)])
def test_messages_that_clients_do_not_send(client: Loopback, message: m.Message) -> None:
    client.send(message)
    assert isinstance(client.replies[-1], m.Bye)


def test_many_failures_fit_an_ack(client: Loopback) -> None:
    client.batch(*(["add", [[100 + i]], [ref(1), "x" * 50], None] for i in range(900)))
    assert 0 < len(client.failures) <= 128
    assert len(m.encode(client.replies[-1])) < m.HEADER_LIMIT_BYTES
    assert len(client.core.table) == 901


def test_structured_dtypes(client: Loopback) -> None:
    host = np.zeros(3, [("a", "f4"), ("b", "i2")])
    host["a"] = [1, 2, 3]
    client.upload(2, host)
    np.testing.assert_array_equal(client.fetch(2), host)

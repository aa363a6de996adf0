"""The meeting of a group's processes: keys, barriers, and members that end."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import pytest

from cupool.client_shim import rendezvous

HOST = "127.0.0.1"
SECRET = b"secret"


@pytest.fixture
def address() -> Iterator[tuple[str, int]]:
    server = rendezvous.Server(HOST, 0, 3, SECRET)
    yield HOST, server.port
    server.stop()


def ask(address: tuple[str, int], *message: Any, member: int = -1) -> Any:
    return rendezvous.request(address, *message, secret=SECRET, member=member)


class Asking(threading.Thread):
    """Asks in a thread of its own; `answer` is what came, or the error's text."""

    def __init__(self, address: tuple[str, int], *message: Any, member: int = -1) -> None:
        super().__init__()
        self._message = (address, *message)
        self._member = member
        self.answer: Any = None
        self.start()

    def run(self) -> None:
        try:
            self.answer = ask(*self._message, member=self._member)
        except RuntimeError as exc:
            self.answer = str(exc)

    def result(self) -> Any:
        self.join(30)
        assert not self.is_alive()
        return self.answer


def test_keys(address: tuple[str, int]) -> None:
    waits = Asking(address, "wait", "key", 1)
    ask(address, "set", "key", b"value")
    assert (waits.result(), ask(address, "get", "key")) == (b"value", b"value")
    with pytest.raises(RuntimeError, match="nobody has set 'other'"):
        ask(address, "get", "other")
    with pytest.raises(RuntimeError, match="the secret is not"):
        rendezvous.request(address, "get", "key")
    with pytest.raises(RuntimeError, match="unknown operation"):
        ask(address, "delete", "key")


def test_barriers_open_again_and_have_names(address: tuple[str, int]) -> None:
    for key, size in (("", 0), ("", 0), ("two", 2)):
        waiting = [Asking(address, "barrier", key, size) for _ in range((size or 3) - 1)]
        ask(address, "barrier", key, size)
        assert [one.result() for one in waiting] == [None] * len(waiting)


def test_a_member_that_ends_is_named_to_who_waits(address: tuple[str, int]) -> None:
    member = rendezvous.Attendance(address, 7, SECRET)
    waiting = [Asking(address, "barrier"), Asking(address, "wait", "its key", 7)]
    member.end()
    assert [one.result() for one in waiting] == [
        "rank 7 has ended and cannot come to the barrier of 3",
        "rank 7 has ended before the group was complete",
    ]
    with pytest.raises(RuntimeError, match="rank 7 has ended"):
        ask(address, "barrier")
    rendezvous.Attendance(address, 7, SECRET).leave()  # it had come back, and took leave
    waiting = [Asking(address, "barrier") for _ in range(2)]
    ask(address, "barrier")
    assert [one.result() for one in waiting] == [None, None]


def test_a_child_process_is_no_member(address: tuple[str, int]) -> None:
    member = rendezvous.Attendance(address, 1, SECRET)
    rendezvous._after_fork()
    assert member._socket.fileno() == -1


def test_who_waits_is_told_that_the_server_stops() -> None:
    server = rendezvous.Server(HOST, 0, 2, SECRET)
    address = (HOST, server.port)
    member = rendezvous.Attendance(address, 1, SECRET)
    waits = Asking(address, "barrier")
    while not server._barriers:
        ask(address, "set", "key", 1)
    server.stop()
    assert "rank 0 has ended" in waits.result()
    member.end()


def test_who_does_not_come_is_named_in_time(
    address: tuple[str, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CUPOOL_GROUP_WAIT", "50ms")
    busy = [rendezvous.Attendance(address, rank, SECRET) for rank in (0, 1)]
    with pytest.raises(RuntimeError, match=r"^rank 1, 2 did not come to the barrier of 3 within"):
        ask(address, "barrier", member=0)
    with pytest.raises(RuntimeError, match=r"^2 of 3 processes did not come to the barrier"):
        ask(address, "barrier")  # who asks did not say who it is
    with pytest.raises(
        RuntimeError, match=r"^rank 2 has not joined .* within 0.05 s: .*GROUP_WAIT"
    ):
        ask(address, "wait", "key", 2)
    # All that are missing are there: they are waited for, however short the bound.
    late = rendezvous.Attendance(address, 2, SECRET)
    waiting = [
        Asking(address, "barrier", "all", 3, member=0),
        Asking(address, "barrier", "all", 3, member=1),
        Asking(address, "wait", "key", 2),
    ]
    late.end()
    assert [one.result() for one in waiting] == [
        "rank 2 has ended and cannot come to the barrier of 3",
        "rank 2 has ended and cannot come to the barrier of 3",
        "rank 2 has ended before the group was complete",
    ]
    for one in busy:
        one.leave()

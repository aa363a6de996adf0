"""`cupy.cuda.nccl`: communicators over the pool's own links; no NCCL is involved.

The members may be processes with leases of their own: arrays go from server to server. A unique
id names where the members meet, a small server in the process that made it.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import threading
from collections.abc import Callable, Iterator
from typing import Any

import msgspec
import numpy as np

from cupool.client_shim import exchange, rendezvous
from cupool.client_shim import session as _session
from cupool.client_shim import shadow as _shadow
from cupool.client_shim.cupy import _unsupported
from cupool.client_shim.cupy._core import core
from cupool.client_shim.cupy.cuda import _runtime_memory
from cupool.client_shim.cupy.cuda._collectives import Group
from cupool.client_shim.cupy.cuda._runtime_streams import on_stream

available = True

NCCL_INT8, NCCL_UINT8, NCCL_INT32, NCCL_UINT32, NCCL_INT64, NCCL_UINT64 = range(6)
NCCL_CHAR, NCCL_INT = NCCL_INT8, NCCL_INT32
NCCL_FLOAT16, NCCL_FLOAT32, NCCL_FLOAT64 = NCCL_HALF, NCCL_FLOAT, NCCL_DOUBLE = 6, 7, 8
NCCL_SUM, NCCL_PROD, NCCL_MAX, NCCL_MIN = range(4)

ID_BYTES = 128
_SECRET_BYTES = 16
_VERSION = 21800  # whose calls are here
_DTYPES = tuple(np.dtype(char) for char in "bBiIqQefd")
_OPERATIONS = ("add", "multiply", "maximum", "minimum")
_INVALID_ARGUMENT, _INVALID_USAGE = 4, 5
_TEXTS = {
    _INVALID_ARGUMENT: "NCCL_ERROR_INVALID_ARGUMENT: invalid argument",
    _INVALID_USAGE: "NCCL_ERROR_INVALID_USAGE: invalid usage",
}
_DEFAULT_HOST = "127.0.0.1"
_NO_COLOR = -1
_servers: list[rendezvous.Server] = []


class NcclError(RuntimeError):
    """A call that NCCL would refuse; `status` is NCCL's number of the error."""

    def __init__(self, status: int) -> None:
        self.status = status
        super().__init__(_TEXTS.get(status, f"NCCL error {status}"))

    def __reduce__(self) -> Any:
        return type(self), (self.status,)


def get_build_version() -> int:
    """Return the version of NCCL whose calls this module has."""
    return _VERSION


def get_version() -> int:
    """Return the version of NCCL whose calls this module has."""
    return _VERSION


def get_unique_id() -> bytes:
    """Return an id for a group of communicators, to be handed to all its members.

    This process must live until all have made theirs. It listens at `CUPYX_DISTRIBUTED_HOST`,
    by default at this machine's loopback address.
    """
    return unique_id_at(os.environ.get("CUPYX_DISTRIBUTED_HOST", _DEFAULT_HOST))


def unique_id_at(host: str) -> bytes:
    """Return an id whose members meet at an address of this machine."""
    secret = secrets.token_bytes(_SECRET_BYTES)
    server = rendezvous.Server(host, 0, 0, secret)
    _servers.append(server)
    packed = secret + server.port.to_bytes(2, "big") + host.encode()
    if len(packed) > ID_BYTES:
        raise ValueError(f"the host's name is too long: {host:.120}")
    return packed.ljust(ID_BYTES, b"\0")


def operation(op: int) -> Callable[..., Any]:
    """Return the ufunc of a reduction.

    Raises:
        NcclError: not one of NCCL_SUM, NCCL_PROD, NCCL_MAX, NCCL_MIN.
    """
    from cupool.client_shim import cupy

    if not 0 <= op < len(_OPERATIONS):
        raise NcclError(_INVALID_ARGUMENT)
    combine: Callable[..., Any] = getattr(cupy, _OPERATIONS[op])
    return combine


# -------------------------------------------------------------------- groups of calls


class _Calls(threading.local):
    """Receives that wait for the end of the group: what is sent in it must be on its way first."""

    depth = 0

    def __init__(self) -> None:
        self.later: list[tuple[int, Callable[[], None]]] = []


_calls = _Calls()


def groupStart() -> None:
    """Start a group of calls: sends and receives in it happen as one."""
    _calls.depth += 1


def groupEnd() -> None:
    """End a group of calls.

    Raises:
        NcclError: no group was started.
    """
    if not _calls.depth:
        raise NcclError(_INVALID_USAGE)
    _calls.depth -= 1
    if not _calls.depth:
        later, _calls.later = _calls.later, []
        for device, call in later:
            with _on(device):
                call()


def in_group(call: Callable[[], None]) -> None:
    """Do a receiving call now, or at the end of the group."""
    if _calls.depth:
        _calls.later.append((_session.current.device, call))
    else:
        call()


@contextlib.contextmanager
def _on(device: int) -> Iterator[None]:
    before, _session.current.device = _session.current.device, device
    try:
        yield
    finally:
        _session.current.device = before


# -------------------------------------------------------------------- communicators


class _Meeting:
    """How members in several processes agree: at the server of the group's id."""

    def __init__(self, address: tuple[str, int], secret: bytes, name: str) -> None:
        self._at = address
        self._secret = secret
        self._name = name
        self._splits = 0

    def gather(self, rank: int, size: int, mine: bytes) -> list[bytes]:
        """Return what each member of the group gives, by rank.

        Raises:
            RuntimeError: a member has ended, or does not come in time.
        """
        ask, secret = rendezvous.request, self._secret
        attendance = rendezvous.Attendance(self._at, rank, secret)
        ask(self._at, "set", f"{self._name}/{rank}", mine, secret)
        told = [ask(self._at, "wait", f"{self._name}/{peer}", peer, secret) for peer in range(size)]
        # Nobody goes on before all have been told: the server is in a member's process.
        ask(self._at, "barrier", self._name, size, secret, member=rank)
        attendance.leave()
        return told

    def part(self, group: Group, color: int, key: int, made: NcclCommunicator) -> None:
        """Give a communicator its part of a group."""
        self._splits += 1
        meeting = _Meeting(self._at, self._secret, f"{self._name}.{self._splits}")
        told = meeting.gather(group.rank, group.size, msgspec.msgpack.encode((color, key)))
        wishes = [msgspec.msgpack.decode(one, type=tuple[int, int]) for one in told]
        name = f"{meeting._name}.{color}"
        made._split = _Meeting(self._at, self._secret, name)
        made._group = _part_of(group, name, wishes)


class _Siblings:
    """How members in one process agree: once the last has called."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._wishes: dict[int, tuple[int, int]] = {}
        self._waiting: list[tuple[Group, NcclCommunicator]] = []
        self._lock = threading.Lock()

    def part(self, group: Group, color: int, key: int, made: NcclCommunicator) -> None:
        """Give a communicator its part of a group, when all have called.

        Raises:
            NcclError: the member has called already.
        """
        with self._lock:
            if group.rank in self._wishes:
                raise NcclError(_INVALID_USAGE)
            self._wishes[group.rank] = color, key
            self._waiting.append((group, made))
            if len(self._waiting) < self._size:
                return
            wishes = [self._wishes[rank] for rank in range(self._size)]
            waiting, self._waiting, self._wishes = self._waiting, [], {}
        name = secrets.token_hex(_SECRET_BYTES)
        parts = {color: _Siblings(sum(one == color for one, _ in wishes)) for color, _ in wishes}
        for own, one in waiting:
            one._split = parts[wishes[own.rank][0]]
            one._group = _part_of(own, f"{name}.{wishes[own.rank][0]}", wishes)


def _part_of(group: Group, name: str, wishes: list[tuple[int, int]]) -> Group | None:
    """Return a member's group of those with its color, None for no color."""
    color = wishes[group.rank][0]
    if color == _NO_COLOR:
        return None
    ranks = sorted(
        (rank for rank, wish in enumerate(wishes) if wish[0] == color),
        key=lambda rank: (wishes[rank][1], rank),
    )
    return group.part(name, ranks)


class NcclConfig:
    """Options of `commSplit`; accepted, they change nothing here."""

    def __init__(self, split_share: int = 0) -> None:
        self.split_share = split_share


class NcclCommunicator:
    """A member of a group, on the current device. Buffers are given by address.

    Args:
        ndev: members.
        commId: of `get_unique_id`.
        rank: of this one.

    Raises:
        NcclError: no such rank.
        TypeError, ValueError: no id.
        RuntimeError: the members do not find each other in time, or their servers do not.
    """

    __module__ = "cupy.cuda.nccl"
    _device: int
    _split: _Meeting | _Siblings
    _group: Group | None

    def __init__(
        self, ndev: int, commId: bytes, rank: int, config: NcclConfig | None = None
    ) -> None:
        if not isinstance(commId, (bytes, bytearray)):
            raise TypeError(f"commId must be bytes, not {type(commId).__name__}")
        if len(commId) != ID_BYTES:
            raise ValueError(f"commId length {len(commId)} != {ID_BYTES}.")
        if not 0 <= rank < ndev:
            raise NcclError(_INVALID_ARGUMENT)
        secret = commId[:_SECRET_BYTES]
        port = int.from_bytes(commId[_SECRET_BYTES : _SECRET_BYTES + 2], "big")
        host = commId[_SECRET_BYTES + 2 :].rstrip(b"\0").decode("ascii", "replace")
        self._join((host, port), secret, secret.hex(), ndev, rank)

    def _join(
        self, meeting: tuple[str, int], secret: bytes, name: str, ndev: int, rank: int
    ) -> None:
        session = _session.session()
        self._device = _session.current.device
        self._split = split = _Meeting(meeting, secret, name)
        mine = msgspec.msgpack.encode(exchange.address_of(session))
        told = split.gather(rank, ndev, mine)
        addresses = [msgspec.msgpack.decode(one, type=exchange.Address) for one in told]
        self._group = Group(name, rank, addresses, session)

    @staticmethod
    def initAll(devices: Any) -> list[NcclCommunicator]:
        """Return communicators of several devices of this process.

        Args:
            devices: how many, or a list of their numbers.
        """
        if isinstance(devices, int):
            devices = list(range(devices))
        if not isinstance(devices, list):
            raise ValueError('"devices" should be an int or a list of int.')
        sessions = [_session.sessions()[device] for device in devices]
        addresses = [exchange.address_of(session) for session in sessions]
        name = secrets.token_hex(_SECRET_BYTES)
        split = _Siblings(len(devices))
        return [
            NcclCommunicator._of(device, split, Group(name, rank, addresses, session))
            for rank, (device, session) in enumerate(zip(devices, sessions, strict=True))
        ]

    @classmethod
    def _of(cls, device: int, split: _Meeting | _Siblings, group: Group | None) -> NcclCommunicator:
        made = cls.__new__(cls)
        made._device, made._split, made._group = device, split, group
        return made

    @property
    def group(self) -> Group:
        """What the calls are made of.

        Raises:
            NcclError: destroyed.
        """
        if self._group is None:
            raise NcclError(_INVALID_ARGUMENT)
        return self._group

    @property
    def comm(self) -> int:
        """A number of the communicator, 0 once it is destroyed."""
        return 0 if self._group is None else id(self._group)

    def destroy(self) -> None:
        """End the communicator; what was sent still arrives."""
        self._group = None

    def abort(self) -> None:
        """End the communicator."""
        self._group = None

    def device_id(self) -> int:
        """Return the number of the communicator's device."""
        return self._device

    def rank_id(self) -> int:
        """Return this member's rank."""
        return self.group.rank

    def size(self) -> int:
        """Return how many members there are."""
        return self.group.size

    def check_async_error(self) -> None:
        """Do nothing: what goes wrong is raised where the program waits for the device."""
        self.group  # noqa: B018  (raises if destroyed)

    def commSplit(
        self, color: int, key: int, config: NcclConfig | None = None
    ) -> NcclCommunicator | None:
        """Return a communicator of the members that give the same color; all members call it.

        Among communicators of one process (`initAll`) it is complete once the last of them has
        called, in a group of calls or not.

        Args:
            color: not negative; -1 for a member that is in no part, which gets None.
            key: the members of a part are ranked by it, and those of equal keys as before.

        Raises:
            NcclError: another negative color, or the communicator is destroyed.
            RuntimeError: a member has ended, or does not come in time.
        """
        if color < _NO_COLOR:
            raise NcclError(_INVALID_ARGUMENT)
        made = NcclCommunicator._of(self._device, self._split, None)
        self._split.part(self.group, color, key, made)
        return None if color == _NO_COLOR else made

    # Calls. Counts are elements, `datatype` and `op` NCCL's numbers, `stream` an address.

    @contextlib.contextmanager
    def _on(self, stream: int | None) -> Iterator[Group]:
        """Work on the communicator's device, in a stream; None for the thread's current one."""
        with _on(self._device), on_stream(stream):
            yield self.group

    def allReduce(
        self, sendbuf: int, recvbuf: int, count: int, datatype: int, op: int, stream: int
    ) -> None:
        """Combine `sendbuf` of all members in `recvbuf` of each."""

        def call() -> None:
            with self._on(stream) as group:
                of, to = _at(sendbuf, count, datatype), _at(recvbuf, count, datatype)
                group.all_reduce(of, to, operation(op))

        in_group(call)

    def reduce(
        self, sendbuf: int, recvbuf: int, count: int, datatype: int, op: int, root: int, stream: int
    ) -> None:
        """Combine `sendbuf` of all members in the root's `recvbuf`."""

        def call() -> None:
            with self._on(stream) as group:
                to = _at(recvbuf, count, datatype) if group.rank == root else None
                group.reduce(_at(sendbuf, count, datatype), to, root, operation(op))

        in_group(call)

    def broadcast(
        self, sendbuff: int, recvbuff: int, count: int, datatype: int, root: int, stream: int
    ) -> None:
        """Copy the root's `sendbuff` to `recvbuff` of each member."""

        def call() -> None:
            with self._on(stream) as group:
                to = _at(recvbuff, count, datatype)
                if group.rank == root and sendbuff != recvbuff:
                    to[...] = _at(sendbuff, count, datatype)
                group.broadcast(to, root)

        in_group(call)

    def bcast(self, buff: int, count: int, datatype: int, root: int, stream: int) -> None:
        """Copy the root's buffer to that of each member."""
        self.broadcast(buff, buff, count, datatype, root, stream)

    def reduceScatter(
        self, sendbuf: int, recvbuf: int, recvcount: int, datatype: int, op: int, stream: int
    ) -> None:
        """Combine `sendbuf` of all members and give `recvcount` elements to each."""

        def call() -> None:
            with self._on(stream) as group:
                of = _at(sendbuf, recvcount * group.size, datatype)
                to = _at(recvbuf, recvcount, datatype)
                group.reduce_scatter(of, to, recvcount, operation(op))

        in_group(call)

    def allGather(self, sendbuf: int, recvbuf: int, count: int, datatype: int, stream: int) -> None:
        """Put `count` elements of each member in a row, in `recvbuf` of each."""

        def call() -> None:
            with self._on(stream) as group:
                to = _at(recvbuf, count * group.size, datatype)
                group.all_gather(_at(sendbuf, count, datatype), to, count)

        in_group(call)

    def send(self, sendbuf: int, count: int, datatype: int, peer: int, stream: int) -> None:
        """Send elements to a member."""
        with self._on(stream) as group:
            group.send(_at(sendbuf, count, datatype), peer)

    def recv(self, recvbuf: int, count: int, datatype: int, peer: int, stream: int) -> None:
        """Receive elements of a member."""

        def call() -> None:
            with self._on(stream) as group:
                group.receive_into(_at(recvbuf, count, datatype), peer)

        in_group(call)


def _at(address: int, count: int, datatype: int) -> core.ndarray:
    """Return the elements at an address of the current device as an array."""
    if not 0 <= datatype < len(_DTYPES):
        raise NcclError(_INVALID_ARGUMENT)
    dtype = _DTYPES[datatype]
    root, offset = _runtime_memory.place_of(address, _session.current.device)
    shape = (count,)
    handle = root.session.emit_view(root, offset, shape, dtype, "C")
    return core.wrap(_shadow.make(shape, dtype, "C"), handle)


_unsupported.fill(globals(), "cupy.cuda.nccl")

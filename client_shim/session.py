"""The script's session on the pool: lease, handshake, one `DeviceSession` for each granted device.

Nothing happens at import: the lease is taken at the first use of a device. A forked child
starts over with a session of its own on the same lease.
"""

from __future__ import annotations

import itertools
import os
import sys
import threading
from collections.abc import Callable, Sequence
from math import prod
from typing import Any

import numpy as np

from cupool.client_shim import handshake, leaving, stats
from cupool.client_shim import lease as leases
from cupool.client_shim.addresses import AddressTable
from cupool.client_shim.callbacks import Callbacks
from cupool.client_shim.handles import Handle, PlacedHandle, crowded, settle
from cupool.client_shim.pipeline import Pipeline, Request
from cupool.client_shim.placement import OutLayout, emit_placed, moved
from cupool.config import Settings, load
from cupool.errors import LeaseLost, PoolError, SessionClosed
from cupool.proto import messages as m
from cupool.proto.values import PAYLOAD, TRANSFER, dtype_to_wire
from cupool.transport.channel import Channel, ChannelClosed

IDLE_BUSY_S = 0.002
IDLE_QUIET_S = 0.05
CLOSE_TIMEOUT_S = 2.0

before_wait: Callable[[], None] | None = None
"""Called before each wait for an answer; raises if the script has forbidden waits."""
own_stream: Callable[[DeviceSession], int] | None = None
"""Gives the stream of a thread that has chosen none, where that is not the null stream."""
gate: Callable[[DeviceSession, str, bool], None] | None = None
"""Called before an operation while a stream captures: (session, operation, does it wait?)."""
place: Callable[[int], Any] | None = None
"""Called for the memory of a result while another allocator is in use: bytes -> MemoryPointer."""


class DeviceSession:
    """One granted device: makes handles, emits operations, waits for values.

    Attributes:
        ordinal: the script's number of the device.
        info: what the server said of it; `info.memory_bytes` is what was granted.
        used_bytes: the client's own account of what its arrays take.
        pending: the pipeline's queue, where handles put their release.
        open: False once closed, broken away, or inherited by a forked child.
        plain: whether operations may be queued without a look at `open`, `gate` and `place`.
        addresses: which handle is at a device address.
    """

    def __init__(self, ordinal: int, granted: leases.GrantedDevice, settings: Settings) -> None:
        self.settings = settings
        self.ordinal = ordinal
        self.before_close: Callable[[], None] = lambda: None
        self.granted = granted
        self.handle_numbers = itertools.count(1)
        self._numbers = itertools.count(1)
        self.used_bytes = 0
        self.settling = threading.RLock()
        self.limit_to(granted.memory_bytes)
        self.open = self.plain = True
        self.addresses = AddressTable()
        self.blocking = settings.blocking
        self.wait_sites: dict[str, int] | None = {} if settings.stats else None
        self.channel = handshake.open_channel(granted)
        self.info: m.DeviceInfo
        self.pipeline = Pipeline(self.channel, self._lost, self._resume)
        self.pending = self.pipeline.pending
        self.submit: Callable[[tuple[Any, ...]], None] = self.pipeline.submit
        self.callbacks = Callbacks()
        self._streams = False

    def welcome(self) -> None:
        """Read the answer to Hello.

        Raises:
            ProtocolMismatch, AccessDenied, LeaseLost, PoolUnreachable
        """
        try:
            self.info = handshake.receive_welcome(self.channel, self.granted).device
        except ChannelClosed as exc:
            raise self._lost(str(exc)) from exc

    def _resume(self, resume_after: int) -> tuple[Channel, int] | None:
        found = handshake.resume(self.settings, self.granted, resume_after)
        if found is not None:
            self.channel = found[0]
        return found

    def _lost(self, what: str, sticky: BaseException | None = None) -> BaseException:
        self.open = self.plain = False
        if sticky is not None:
            sticky.add_note(
                "cupool: the device is of no more use; cupool.reset() gives a new session"
            )
            return sticky
        state, message = leases.explain(self.settings, self.granted.session_id)
        where = f"GPU {self.ordinal} ({self.granted.name} of server {self.granted.server})"
        if state == handshake.RUNNING or state in handshake.UNEXPLAINED:
            message = f"the link to its worker broke, {what}; {message}" if message else what
        return LeaseLost(
            f"the session on {where} is lost: {message or what}",
            remedy="run the script again; what is left of the pool:   cupool status",
            reference=f"session {self.granted.session_id}, {state or 'no word from the broker'}",
        )

    # ---------------------------------------------------------------- operations

    def check(self) -> None:
        """Raise unless this session can be used from here."""
        if self.open:
            return
        if self.pipeline.broken is not None:
            raise self.pipeline.broken
        raise SessionClosed(
            "this array belongs to a session that this process does not have: it was made before"
            " a fork, or the session was closed",
            remedy="pass data to a forked child as NumPy arrays (cupy.asnumpy), or use the"
            " multiprocessing start method 'spawn'",
        )

    def emit(
        self,
        name: str,
        args: Sequence[Any],
        kwargs: dict[str, Any] | None,
        outs: Sequence[OutLayout],
    ) -> list[Handle]:
        """Queue an operation whose results are predicted; return their handles at once.

        Args:
            args, kwargs: in the grammar of `proto.values`.
            outs: shape, dtype, order of each result.

        Raises:
            OutOfMemoryError: the device confirmed that the results do not fit.
        """
        if not self.plain:
            self.check()
            if gate is not None:
                gate(self, name, False)
            if place is not None and outs:
                return emit_placed(self, place, name, args, kwargs, outs)
        return self.emit_plain(name, args, kwargs, outs)

    def emit_plain(
        self,
        name: str,
        args: Sequence[Any],
        kwargs: dict[str, Any] | None,
        outs: Sequence[OutLayout],
    ) -> list[Handle]:
        """Queue an operation whose results lie in the session's own memory pool."""
        handles = []
        specs = []
        for shape, dtype, order in outs:
            size_bytes = dtype.itemsize
            for length in shape:
                size_bytes *= length
            handle = Handle(self, size_bytes)
            handles.append(handle)
            specs.append((handle.ref[1], dtype_to_wire(dtype), shape, order))
        full = crowded(self)
        self.submit((name, specs, args, kwargs))
        if full or self.blocking:
            settle(self, handles)
        return handles

    def emit_view(
        self, owner: Handle, offset_bytes: int, shape: tuple[int, ...], dtype: Any, order: Any
    ) -> Handle:
        """Queue a view of an owner's memory."""
        if type(owner) is PlacedHandle:
            offset_bytes += owner.origin_bytes
            owner = owner.root
        handle = Handle(self)
        spec = (handle.ref[1], dtype_to_wire(dtype), shape, order)
        self.submit(("view", (spec,), (owner.ref, offset_bytes), None))
        return handle

    def emit_object(self, name: str, args: Sequence[Any], kwargs: dict[str, Any] | None) -> Handle:
        """Queue an operation that makes an object of the device, such as a random generator."""
        if not self.open:
            self.check()
        handle = Handle(self)
        self.submit((name, ((handle.ref[1], "object"),), args, kwargs))
        return handle

    def emit_unknown(
        self, name: str, args: Sequence[Any], kwargs: dict[str, Any] | None, count: int
    ) -> tuple[list[Handle], list[tuple[Any, ...]]]:
        """Queue an operation whose results cannot be predicted, and wait for their layouts.

        Returns:
            the handles, and (shape, dtype, order or strides) of each.
        """
        if not self.plain:
            self.check()
            if gate is not None:
                gate(self, name, True)
        handles = [Handle(self) for _ in range(count)]
        self.submit((name, [(h.ref[1],) for h in handles], args, kwargs))
        described = self.ask("describe", [h.ref for h in handles])
        rows = [(tuple(shape), dtype, tuple(strides)) for dtype, shape, strides in described]
        for handle, (shape, dtype, _) in zip(handles, rows, strict=True):
            handle.charge(dtype.itemsize * prod(shape))
        if place is not None:
            pointers = [place(dtype.itemsize * prod(shape)) for shape, dtype, _ in rows]
            handles = [
                moved(self, h, p, r) for h, p, r in zip(handles, pointers, rows, strict=True)
            ]
        return handles, rows

    def upload(
        self, name: str, prefix: tuple[Any, ...], array: np.ndarray[Any, Any], out: OutLayout | None
    ) -> list[Handle]:
        """Send a contiguous host array as the last argument of `upload` or `write`.

        The array's bytes are copied or sent before this returns: the caller may change them.
        """
        if not self.plain:
            self.check()
            if gate is not None:
                gate(self, name, True)
        order = "C" if array.flags.c_contiguous else "F"
        flat = array.reshape(-1) if order == "C" else array.T.reshape(-1)
        handles = [] if out is None else [Handle(self, array.nbytes)]
        outs = () if out is None else ((handles[0].ref[1], dtype_to_wire(out[1]), out[0], out[2]),)
        wire = (dtype_to_wire(array.dtype), array.shape, order)
        full = crowded(self)
        if array.nbytes <= m.INLINE_LIMIT_BYTES:
            record: tuple[Any, ...] = (name, outs, (*prefix, (PAYLOAD, 0, *wire)), None)
            if self._streams:
                record = self._on_stream(record)
            self.pipeline.attach(record, [flat.tobytes()], array.nbytes)
        else:
            transfer = next(self._numbers)
            self.submit((name, outs, (*prefix, (TRANSFER, transfer, *wire)), None))
            self.pipeline.upload(transfer, flat.view(np.uint8).data)
        if full or self.blocking:
            settle(self, handles)
        if place is not None and out is not None:
            handles = [moved(self, handles[0], place(array.nbytes), out)]
        return handles

    # ---------------------------------------------------------------- streams

    def use_streams(self) -> None:
        """Let operations carry the number of their thread's stream from now on."""
        self._streams = True
        self.submit = self._submit_on_stream

    def current_stream(self) -> int:
        """Return the handle of this thread's stream on this device, 0 for the null stream."""
        stream = current.streams.get(self)
        return stream if stream is not None else own_stream(self) if own_stream else 0

    def _on_stream(self, record: tuple[Any, ...]) -> tuple[Any, ...]:
        stream = self.current_stream()
        return (*record, stream) if stream else record

    def _submit_on_stream(self, record: tuple[Any, ...]) -> None:
        self.pipeline.submit(self._on_stream(record))

    def call_back(self, stream: Any, function: Callable[[BaseException | None], object]) -> None:
        """Call a function in a thread of its own once the work of a stream is done.

        Args:
            stream: ref of one, None for the null stream.
            function: takes what went wrong before, or None.
        """
        self.check()
        number = next(self._numbers)
        request = self.pipeline.request(number)
        self.pipeline.pending.append(("stream_synchronize", number, (stream,), None))
        self.callbacks.put(lambda: self.pipeline.follow(number, request), function, stream)

    # ---------------------------------------------------------------- waits

    def ask(
        self,
        name: str,
        args: Sequence[Any],
        destination: np.ndarray[Any, Any] | None = None,
        *,
        quiet: bool = False,
    ) -> Any:
        """Queue a request record, wait for its answer and return it.

        Args:
            quiet: CuPy would not wait here, so no rule against waiting applies.

        Raises:
            what went wrong in this or an earlier operation; LeaseLost.
        """
        if not self.plain:
            self.check()
            if gate is not None and not quiet:
                gate(self, name, True)
        if before_wait is not None and not quiet:
            before_wait()
        if self.wait_sites is not None:
            site = stats.user_line()
            self.wait_sites[site] = self.wait_sites.get(site, 0) + 1
        number = next(self._numbers)
        request: Request = self.pipeline.request(number, destination)
        record: tuple[Any, ...] = (name, number, args, None)
        self.pipeline.pending.append(self._on_stream(record) if self._streams else record)
        return self.pipeline.wait(number, request)

    def fetch(self, handle: Handle, destination: np.ndarray[Any, Any] | None = None) -> Any:
        """Wait for an array's data; a new or the given host array, contiguous in C or F order."""
        return self.ask("fetch", (handle.ref,), destination)

    def synchronize(self) -> None:
        """Wait until everything queued so far is done, and the host functions among it."""
        self.ask("synchronize", ())
        self.callbacks.wait()

    def limit_to(self, size_bytes: int) -> None:
        """Bound what the session's arrays may take; `handles.crowded` looks at both."""
        self.limit_bytes, self.collect_above_bytes = size_bytes, size_bytes // 2

    def close(self) -> None:
        """End the session; queued operations are sent, nothing is waited for."""
        if self.open:
            self.before_close()
            self.open = self.plain = False
            self.pipeline.close("closed", CLOSE_TIMEOUT_S)

    def abandon(self) -> None:
        """Forget the session in a forked child: it is the parent's."""
        self.open = self.plain = False
        self.channel.abandon()


# -------------------------------------------------------------------- the process's sessions


class _Current(threading.local):
    """Each thread's current device, and the handle of its stream on each (0 = null stream)."""

    device = 0
    entered = False  # has this thread chosen a device?

    def __init__(self) -> None:
        self.streams: dict[DeviceSession, int] = {}


current = _Current()
_sessions: list[DeviceSession] = []
_lock = threading.RLock()
_at_reset: list[Callable[[], None]] = []
_at_open: list[Callable[[DeviceSession], None]] = []


def on_reset(action: Callable[[], None]) -> None:
    """Call `action` when the sessions of this process are forgotten (fork, `reset`)."""
    _at_reset.append(action)


def on_open(action: Callable[[DeviceSession], None]) -> None:
    """Call `action` with each session that is opened."""
    _at_open.append(action)


def set_hooks(new_gate: Any, new_place: Any) -> None:
    """Set `gate` and `place`; None where nothing is to be looked at."""
    global gate, place
    gate, place = new_gate, new_place
    for one in _sessions:
        one.plain = one.open and gate is None and place is None


def sessions() -> list[DeviceSession]:
    """Return the sessions of all granted devices, taking the lease at the first call.

    Raises:
        NoDeviceAvailable, PoolUnreachable, AccessDenied, ProtocolMismatch
    """
    if _sessions:
        return _sessions
    with _lock:
        if not _sessions:
            settings = load().settings
            lease = leases.acquire(settings)
            opened = [DeviceSession(i, one, settings) for i, one in enumerate(lease.devices)]
            for session in opened:
                session.welcome()
            _sessions.extend(opened)
            set_hooks(gate, place)
            for one in opened:
                for action in _at_open:
                    action(one)
            # Before the carriers' own exit handlers: those were registered earlier.
            leaving.at_exit(_at_exit)
            _start_idle_thread()
    return _sessions


def opened() -> bool:
    """Whether this process has its sessions already."""
    return bool(_sessions)


def session() -> DeviceSession:
    """Return the session of this thread's current device."""
    ordinal = current.device
    if ordinal < len(_sessions):
        return _sessions[ordinal]
    return sessions()[ordinal]


def device_count() -> int:
    """Return how many devices were granted."""
    return len(sessions())


def reset() -> None:
    """Close all sessions; the next use of a device starts new ones on the same lease or a new one.

    Arrays made before can no longer be used.
    """
    with _lock:
        closing = list(_sessions)
        _sessions.clear()
        for one in closing:
            one.close()
        for action in _at_reset:
            action()


_idle_thread: threading.Thread | None = None


def _start_idle_thread() -> None:
    global _idle_thread
    if _idle_thread is None or not _idle_thread.is_alive():
        _idle_thread = threading.Thread(target=_idle, name="cupool-idle", daemon=True)
        _idle_thread.start()


def _idle() -> None:
    """Send what a computing or idle script left queued, and take what has arrived."""
    pause = threading.Event()
    quiet = 0
    while True:
        opened = [one for one in _sessions if one.open]
        busy = False
        for one in opened:
            try:
                if one.pending:
                    busy = True
                    one.pipeline.flush()
                one.pipeline.poll()
            except PoolError:
                continue  # kept in the pipeline; raised where the script waits
        quiet = 0 if busy else quiet + 1
        pause.wait(IDLE_BUSY_S if quiet < 50 else IDLE_QUIET_S)


def _after_fork() -> None:
    global _lock, _idle_thread
    _lock = threading.RLock()
    _idle_thread = None
    for one in _sessions:
        one.abandon()
    _sessions.clear()
    for action in _at_reset:
        action()


def _at_exit() -> None:
    for one in list(_sessions):
        if one.wait_sites is not None:
            stats.print_stats(one)
        for failure in list(one.pipeline.failures)[:1]:
            # Nothing waited for this operation, so nothing could raise it.
            print(f"cupool: an operation failed and no one looked: {failure!r}", file=sys.stderr)
        one.close()
    _sessions.clear()


os.register_at_fork(after_in_child=_after_fork)

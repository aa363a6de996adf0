"""One ZeroMQ socket and its monitor, shared by the threads of its channels.

ZeroMQ sockets belong to one thread at a time, and one ROUTER serves several peers. So every
call on the socket is made under a short lock and never blocks; a thread that must wait sleeps
outside the lock on the socket's descriptors. Those are edge-triggered: whoever uses the socket
may swallow the signal that another sleeper needs, and therefore wakes it (`hand_over`).
Whichever thread reads the socket sorts what it finds into the inboxes of the peers; the windows
of `cupool.transport.frames` bound these.
"""

from __future__ import annotations

import collections
import contextlib
import select
import struct
import threading
import time
from collections.abc import Iterator, Sequence
from typing import TypeAlias

import zmq
from zmq.utils import garbage

from cupool.errors import ProtocolViolation
from cupool.proto.messages import Frame
from cupool.transport import frames as wire
from cupool.transport.channel import ChannelClosed
from cupool.transport.sleeper import Sleeper
from cupool.transport.zeromq_peers import Peer, Stages

HEARTBEAT_INTERVAL_S = 1.0
HEARTBEAT_TIMEOUT_S = 4.0
"""A peer whose carrier says nothing for this long is taken for dead."""
_STAGE_FROM = 64 << 10  # bytes; below, ZeroMQ's own copy is cheaper
_LINGER_LOOK_S = 0.005
_SMALL = 2048  # bytes; below, a slice is cheaper than a view
_NEVER_MS = 10**9
_MAX_PEERS = 256
_SEAL_BYTES = 33  # CurveZMQ's MESSAGE: name 8, nonce 8, MAC 16, flags 1; ZeroMQ counts them
_NOBLOCK = int(zmq.NOBLOCK)
_SOCKET_EVENTS = int(zmq.EVENTS)  # as ints: the operators of pyzmq's enums cost as much as a call
_POLLIN = int(zmq.POLLIN)
_MORE = _NOBLOCK | int(zmq.SNDMORE)
_FUSE = 2 * wire.WINDOW_MESSAGES + 64  # ZeroMQ's high-water mark: the window stays below it
_LOST = {
    int(zmq.EVENT_DISCONNECTED),
    int(zmq.EVENT_CLOSED),
    int(zmq.EVENT_HANDSHAKE_FAILED_NO_DETAIL),
    int(zmq.EVENT_HANDSHAKE_FAILED_PROTOCOL),
    int(zmq.EVENT_HANDSHAKE_FAILED_AUTH),
}
_EVENTS = (
    zmq.EVENT_ACCEPTED | zmq.EVENT_HANDSHAKE_SUCCEEDED | zmq.EVENT_DISCONNECTED | zmq.EVENT_CLOSED
    | zmq.EVENT_HANDSHAKE_FAILED_NO_DETAIL | zmq.EVENT_HANDSHAKE_FAILED_PROTOCOL
    | zmq.EVENT_HANDSHAKE_FAILED_AUTH
)  # fmt: skip


# What to send, its flags, the staging buffer that it lies in, and whether ZeroMQ may refer to it.
_Part: TypeAlias = tuple[Frame, int, bytearray | None, bool]

LEAKED: list[object] = []
"""What must never be destroyed in this process: it is shared with a parent or still busy."""


class SharedSocket:
    """A DEALER with one peer, or a ROUTER with several. Methods are called under `lock`."""

    def __init__(self, kind: int, url: str) -> None:
        if not garbage.gc.is_alive():
            # pyzmq starts this thread at the first large frame, where Ctrl-C could break it off.
            garbage.gc.start()
        # A context of its own: closing waits for this socket's messages and no others, bulk and
        # control channels get their own I/O threads, and a forked child makes its own.
        self.context: zmq.Context[zmq.Socket[bytes]] = zmq.Context()
        self.socket = self.context.socket(kind)
        self.url = url
        self.lock = threading.RLock()
        self.peers: dict[bytes, Peer] = {}
        self.backlog: collections.deque[Peer] = collections.deque()
        self.closed = False
        self._router = kind == zmq.ROUTER
        self.asleep: set[Sleeper] = set()
        self._connected: set[int] = set()
        self._by_descriptor: dict[int, Peer] = {}
        self._stages = Stages()
        self._configure()
        self._monitor = self.socket.get_monitor_socket(_EVENTS)
        self._monitor_poll = select.poll()
        self._monitor_poll.register(self._monitor.fileno(), select.POLLIN)
        # Its descriptor tells of news only; what was there before it was first read is no news.
        self._monitor_drained = False
        self.handshaken = self.failed = False
        self.arrivals = self.sleeper()
        # The methods under pyzmq's convenience layer: cheaper, and without a Python function
        # around them at whose start Ctrl-C could strike before anything was sent.
        self._send = super(zmq.Socket, self.socket).send
        self._receive = super(zmq.Socket, self.socket).recv
        self._option = super(zmq.Socket, self.socket).get

    def _configure(self) -> None:
        options = {
            zmq.LINGER: 0,
            zmq.SNDHWM: _FUSE,
            zmq.RCVHWM: _FUSE,
            zmq.MAXMSGSIZE: wire.FRAME_LIMIT_BYTES + _SEAL_BYTES * self.url.startswith("zmq+curve"),
            # Never: a new connection may reach another process, which knows nothing of us.
            zmq.RECONNECT_IVL: _NEVER_MS,
            zmq.HEARTBEAT_IVL: int(HEARTBEAT_INTERVAL_S * 1000),
            zmq.HEARTBEAT_TIMEOUT: int(HEARTBEAT_TIMEOUT_S * 1000),
            zmq.HANDSHAKE_IVL: 5000,
            zmq.IPV6: int("[" in self.url),
        }
        if self._router:
            options[zmq.ROUTER_MANDATORY] = 1
        for option, value in options.items():
            self.socket.setsockopt(option, value)
        self.socket.copy_threshold = 0

    def sleeper(self) -> Sleeper:
        """Return a new place to wait for this socket."""
        return Sleeper(self.socket.fileno(), self._monitor.fileno())

    def add_peer(self, key: bytes, url: str) -> Peer:
        """Make the record of a peer."""
        peer = Peer(key, url, self.sleeper(), self.sleeper())
        self.peers[key] = peer
        return peer

    # -- reading ---------------------------------------------------------------------------

    def read(self, limit: int = wire.WINDOW_MESSAGES) -> bool:
        """Sort messages that have come into their peers' inboxes; False if there were none.

        One whole call is one loop: a method call for each message would cost as much as the
        message.
        """
        receive = self._receive
        router = self._router
        peers = self.peers
        key = b""
        count = 0
        if self.closed:
            return False
        try:
            while count < limit:
                if router:
                    key = receive(_NOBLOCK)
                    part = receive(_NOBLOCK, False)
                    first = part.bytes
                    apart = self._rest(part) if part.more else ()
                    peer = peers.get(key)
                    if peer is None:
                        self._stranger(key, part, apart)
                        continue
                else:
                    # Only here is it safe to believe what the first part says of the others:
                    # a lie can confuse no other peer.
                    first = receive(_NOBLOCK)
                    peer = peers[key]
                    apart = () if first[:1] != b"\1" else self._announced(peer, first)
                count += 1
                if peer.refused:
                    continue
                size = len(first)
                if not apart and size < _SMALL and first[:1] == b"\0":
                    inbox = peer.inbox
                    if len(inbox) < wire.WINDOW_MESSAGES:
                        inbox.append(([first[1:]], size + wire.ONE_COST))
                        if self.asleep:
                            peer.reader.wake()
                            self.arrivals.wake()
                        continue
                self._sort(peer, first, apart)
        except zmq.Again:
            return count > 0
        except BaseException:
            self._broken_off()
            raise
        return True

    def _sort(self, peer: Peer, first: bytes, apart: Sequence[memoryview]) -> None:
        try:
            if first[:1] > b"\1":
                self._control(peer, first)
            else:
                message = wire.unpack(first, apart)
                size = wire.message_size(message)
                wire.check_window([waiting for _, waiting in tuple(peer.inbox)], size)
                peer.inbox.append((message, size))
        except ProtocolViolation as error:
            self.refuse(peer, error)
        if self.asleep:
            peer.reader.wake()
            self.arrivals.wake()

    def _rest(self, part: zmq.Frame) -> Sequence[memoryview]:
        """Read the remaining parts of a message; ZeroMQ has them all when it has the first."""
        parts: list[memoryview] = []
        while part.more:
            part = self._receive(_NOBLOCK, False)
            parts.append(part.buffer)
        return parts

    def _announced(self, peer: Peer, first: bytes) -> Sequence[memoryview]:
        try:
            count = len(wire.apart_lengths(first))
        except ProtocolViolation:
            return ()  # unpacking says so again
        return [self._receive(_NOBLOCK, False).buffer for _ in range(count)]

    def _broken_off(self) -> None:
        # Ctrl-C inside a socket call: the rest of a message may lie in the socket, and none of
        # its peers can be read safely again. Sessions resume over a new channel.
        for peer in self.peers.values():
            peer.finish(ChannelClosed(f"{peer.url}: a receive was interrupted midway"), True)

    def _stranger(self, key: bytes, part: zmq.Frame, apart: Sequence[memoryview]) -> None:
        if apart or part.bytes != wire.OPENING or not self._router:
            return
        self.watch()  # the connection's own events come first, so they are there by now
        if len(self.peers) >= _MAX_PEERS:
            self._send_control(key, wire.closing("too many peers"))
            return
        address = str(part.get("Peer-Address"))
        peer = self.add_peer(key, f"{self.url.partition('://')[0]}://{address}")
        peer.descriptor = int(part.get(zmq.SRCFD))
        older = self._by_descriptor.get(peer.descriptor)
        if older is not None:
            self._lose(older)
        self._by_descriptor[peer.descriptor] = peer
        if peer.descriptor not in self._connected:
            self._lose(peer)
        self.backlog.append(peer)
        self.arrivals.wake()

    def _control(self, peer: Peer, part: bytes) -> None:
        if part[0] == wire.CLOSE:
            reason = wire.closing_reason(part)
            if peer.lost and not peer.told:
                peer.end = None  # the loss that follows a close may be noticed before it
            peer.finish(ChannelClosed(f"{peer.url}: closed by the peer: {reason}"))
            self.arrivals.wake()
        elif part[0] == wire.CREDIT:
            try:
                peer.outgoing.credit(part)
                peer.writer.wake()
            except ProtocolViolation as error:
                self.refuse(peer, error)
        else:
            self.refuse(peer, ProtocolViolation(f"{peer.url}: unknown part {part[:16]!r}"))

    def refuse(self, peer: Peer, error: ProtocolViolation) -> None:
        """End a peer that broke the rules, and tell it."""
        self._send_control(peer.key, wire.closing(f"protocol violation: {error.message}"))
        peer.finish(error, refuse=True)
        self.arrivals.wake()

    def report(self, peer: Peer) -> None:
        """Send the peer a credit for what was taken."""
        if not peer.closed and self._send_control(peer.key, peer.incoming.credit()):
            peer.incoming.credited()

    # -- sending ---------------------------------------------------------------------------

    def write(self, peer: Peer, parts: Sequence[Frame], size: int) -> bool:
        """Send a message if the peer's window and ZeroMQ take it now; all of it or nothing."""
        window = peer.outgoing
        if not window.admit(size):
            return False
        try:
            if len(parts) == 1 and not self._router:
                self._send(parts[0], _NOBLOCK)
            else:
                self._write_parts(peer.key, parts)
        except zmq.Again:
            window.unsent(size)
            return False
        except zmq.ZMQError as error:
            # EHOSTUNREACH: the ROUTER has dropped the connection already.
            self._lose(peer, str(error))
            assert peer.end is not None
            raise peer.end from None
        return True

    def _write_parts(self, key: bytes, parts: Sequence[Frame]) -> None:
        staged: list[_Part] = [(key, _MORE, None, False)] if self._router else []
        for part in parts:
            if len(part) < _STAGE_FROM:
                staged.append((part, _MORE, None, False))
            else:
                copied, buffer = self._stages.copy(part)
                staged.append((copied, _MORE, buffer, True))
        last = staged[-1]
        staged[-1] = (last[0], _NOBLOCK, last[2], last[3])
        rest = iter(staged)
        try:
            self._write_rest(rest)
        except zmq.ZMQError:
            raise
        except BaseException:
            # Ctrl-C after a part was sent: the message must not stay half sent.
            self._write_rest(rest)
            raise

    def _write_rest(self, rest: Iterator[_Part]) -> None:
        send = self._send
        for part, flags, buffer, shared in rest:
            if shared:
                tracker = send(part, flags, False, True)
                if buffer is not None:
                    self._stages.sent(tracker, buffer)
            else:
                send(part, flags)

    def _send_control(self, key: bytes, part: bytes) -> bool:
        """Send a part that is no message; False if ZeroMQ does not take it now."""
        try:
            self._write_parts(key, [part])
        except zmq.ZMQError:
            return False
        return True

    def open(self) -> None:
        """Tell the listener that a peer has come."""
        self._send(wire.OPENING, _NOBLOCK)

    # -- connections -----------------------------------------------------------------------

    def watch(self) -> bool:
        """Take in what the monitor reports about connections; True if there was anything."""
        if self.closed or (self._monitor_drained and not self._monitor_poll.poll(0)):
            return False
        self._monitor_drained = True
        while True:
            try:
                event, value = struct.unpack("=HI", self._monitor.recv_multipart(_NOBLOCK)[0])
            except zmq.Again:
                return True
            if not self._router:
                if event in _LOST:
                    self.failed = True
                    for peer in list(self.peers.values()):
                        self._lose(peer)
                elif event == zmq.EVENT_HANDSHAKE_SUCCEEDED:
                    self.handshaken = True
            elif event == zmq.EVENT_ACCEPTED:
                self._connected.add(value)
            elif event == zmq.EVENT_DISCONNECTED:
                self._connected.discard(value)
                gone = self._by_descriptor.pop(value, None)
                if gone is not None:
                    self._lose(gone)

    def _lose(self, peer: Peer, detail: str = "the connection was lost") -> None:
        peer.lost = True
        peer.finish(ChannelClosed(f"{peer.url}: {detail}"))
        self.arrivals.wake()
        if peer.closed:
            self._forget(peer)

    def _forget(self, peer: Peer) -> None:
        self.peers.pop(peer.key, None)
        if self._by_descriptor.get(peer.descriptor) is peer:
            del self._by_descriptor[peer.descriptor]

    # -- waiting ---------------------------------------------------------------------------

    def readable(self) -> bool:
        """Whether a read would find something; cheaper than a read that finds nothing."""
        return not self.closed and bool(int(self._option(_SOCKET_EVENTS)) & _POLLIN)

    def hand_over(self) -> None:
        """Wake the sleepers if this thread's use of the socket took the signal that they need."""
        if self.asleep and self.readable():
            for sleeper in list(self.asleep):
                sleeper.wake()

    def arm(self, sleeper: Sleeper) -> None:
        """Announce a sleep; the socket must have been read empty under the same lock.

        The sleep itself comes after the lock was given back by its `with`: Ctrl-C can strike
        anywhere, and a lock that is released and taken again by hand would not survive it.
        """
        sleeper.asleep = True
        sleeper.thread = threading.get_ident()
        self.asleep.add(sleeper)

    def doze(self, sleeper: Sleeper, timeout_s: float | None) -> None:
        """Sleep after `arm`, without the lock."""
        try:
            sleeper.sleep(timeout_s)
        finally:
            sleeper.asleep = False
            self.asleep.discard(sleeper)

    # -- ending ----------------------------------------------------------------------------

    def part_with(self, peer: Peer, reason: str, linger_s: float) -> None:
        """Close one peer's channel; wait until what was sent to it has left. Not under the lock."""
        with self.lock:
            if peer.closed or self.closed:
                return
            tracker = None
            if peer.end is None:
                with contextlib.suppress(zmq.ZMQError):
                    if self._router:
                        self._send(peer.key, _MORE)
                    tracker = self._send(wire.closing(reason), _NOBLOCK, False, True)
            peer.closed = True
            peer.inbox.clear()
            peer.finish(ChannelClosed(f"{peer.url}: closed at this end"), refuse=True)
            if peer.lost:
                self._forget(peer)
        if tracker is not None:
            self._linger(peer, tracker, linger_s)
        self._until_awake(peer.reader, peer.writer)
        peer.reader.close()
        peer.writer.close()

    def _until_awake(self, *sleepers: Sleeper) -> None:
        # A descriptor must not be closed, and its number given away, under a sleeping thread.
        this = threading.get_ident()
        for _ in range(1000):
            with self.lock:
                for sleeper in sleepers:
                    if sleeper.thread == this:
                        sleeper.asleep = False  # Ctrl-C came between its arming and its sleep
                    sleeper.wake()
            if not any(sleeper.asleep for sleeper in sleepers):
                break
            time.sleep(0.001)
        self.asleep.difference_update(sleepers)

    def _linger(self, peer: Peer, tracker: zmq.MessageTracker, linger_s: float) -> None:
        """Wait until a last message has left, or the peer has: then it never will."""
        deadline = time.monotonic() + linger_s
        while not tracker.done and not peer.lost and time.monotonic() < deadline:
            with contextlib.suppress(zmq.NotDone):
                tracker.wait(_LINGER_LOOK_S)
            with self.lock:
                self.watch()

    def destroy(self, linger_s: float) -> None:
        """Close the socket; wait up to `linger_s` for what was sent. Not under the lock."""
        with self.lock:
            if self.closed:
                return
            self.closed = True
        self._until_awake(*self.asleep)
        with self.lock:
            self.socket.disable_monitor()
            self._monitor.close(0)
            self.socket.close(int(linger_s * 1000))
            self.arrivals.close()
        try:
            self.context.term()
        except BaseException:
            LEAKED.append(self.context)
            raise

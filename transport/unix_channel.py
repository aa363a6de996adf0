"""One end of a Unix stream socket as a channel."""

from __future__ import annotations

import atexit
import collections
import contextlib
import os
import select
import socket
import struct
import threading
import time
import weakref
from collections.abc import Sequence
from pathlib import Path

from cupool.errors import ProtocolViolation
from cupool.proto.messages import Frame
from cupool.transport import frames as wire
from cupool.transport.channel import Channel, ChannelClosed, Frames
from cupool.transport.sleeper import Sleeper
from cupool.transport.unix_stream import Inflow, Outflow, head

LOOK_S = 1.0
STOPPED_S = 4.0
"""A peer whose process is stopped for this long is taken for dead; looked at so often."""
_PATIENCE_S = 0.005  # for a peer that is just reading; after it, what is left is copied
_BUFFER_BYTES = 4 << 20  # asked of the kernel, which has a limit of its own
_FLAGS = socket.MSG_NOSIGNAL | socket.MSG_DONTWAIT
_MAX_PARTS = 512  # of one sendmsg; the kernel takes 1024


class UnixChannel(Channel):
    """One end of a connected stream socket.

    State changes under `_lock`, which is never held in a sleep. `_midway` is set while bytes
    move and are not counted yet: if it is found set, Ctrl-C struck there and the stream is lost.
    """

    def __init__(self, connected: socket.socket, url: str) -> None:
        connected.setblocking(False)
        with contextlib.suppress(OSError):
            connected.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, _BUFFER_BYTES)
        self.url = url
        self._socket = connected
        self._lock = threading.RLock()
        self._inflow, self._outflow = Inflow(), Outflow()
        self._incoming, self._outgoing = wire.ReceiveWindow(), wire.SendWindow()
        self.inbox: collections.deque[tuple[Frames, int]] = collections.deque()
        self._descriptor = connected.fileno()
        self._reader, self._writer = Sleeper(self._descriptor), Sleeper(self._descriptor)
        self._midway = self._draining = False
        self._end: Exception | None = None
        self._lost: Exception | None = None  # nothing can be sent; what came may still be read
        self._told = False  # the application knows the end
        self._closed = False
        self._abandoned = False
        self.opened = False  # the peer has said that it is one of ours
        self._peer = _peer_process(connected)
        self._next_look_s = self._stopped_since_s = 0.0
        self._release = weakref.finalize(self, _release, connected, self._reader, self._writer)
        self._release.atexit = False
        _living.add(self)

    # -- the channel -----------------------------------------------------------------------

    def send(self, frames: Sequence[Frame], timeout_s: float | None = None) -> None:
        parts, size = wire.pack(frames)
        parts[0] = head(parts[0])
        with self._lock:
            self._check()
            if self._end or self._lost:
                raise self._again()
            if not self._outflow and self._outgoing.admit(size):
                if len(parts) == 1:
                    self._write_one(parts[0])
                else:
                    self._outflow.put(parts)
                    self._flush()
                if not self._outflow:
                    return
                admitted = True
            else:
                admitted = False
        if not admitted:
            self._admit(parts, size, timeout_s)
        self._settle()

    def _admit(self, parts: Sequence[Frame], size: int, timeout_s: float | None) -> None:
        """Wait until the peer's window takes a message; then it is in the outflow."""
        deadline = None if timeout_s is None else time.monotonic() + timeout_s
        while True:
            with self._lock:
                self._read()  # the peer's credits come in with its messages
                if self._end or self._lost:
                    raise self._again()
                if self._outgoing.admit(size):
                    self._outflow.keep()
                    self._outflow.put(parts)
                    self._flush()
                    return
                left = None if deadline is None else deadline - time.monotonic()
                if left is not None and left <= 0:
                    raise TimeoutError(f"{self.url}: the peer took nothing for {timeout_s} s")
                self._arm(self._writer)
            self._doze(self._writer, left)

    def _settle(self) -> None:
        """Give the peer a moment to take what is left; then keep a copy of it.

        Never longer: the peer may itself be waiting for this side to take something.
        """
        deadline = time.monotonic() + _PATIENCE_S
        try:
            while self._outflow and (left := deadline - time.monotonic()) > 0:
                with self._lock:
                    self._read()
                    self._flush()
                    if not self._outflow or self._end is not None:
                        return
                    self._arm(self._writer)
                self._doze(self._writer, left)
        finally:
            with self._lock:
                self._outflow.keep()
                self._drain()

    def _drain(self) -> None:
        """Let a thread send what is left, also if nobody calls for a while."""
        if self._outflow and self._end is None and not self._draining:
            self._draining = True
            drain = threading.Thread(target=self._drained, name="cupool-unix", daemon=True)
            try:
                drain.start()
            except RuntimeError:  # no thread to be had, or the interpreter is ending
                self._draining = False

    def _drained(self) -> None:
        poll = select.poll()
        with self._lock:
            descriptor = -1 if self._closed else os.dup(self._descriptor)
        if descriptor < 0:
            return
        try:
            poll.register(descriptor, select.POLLOUT)
            while True:
                poll.poll(LOOK_S * 1000)
                with self._lock:
                    if not self._closed and self._end is None:
                        with contextlib.suppress(ChannelClosed):
                            self._flush()
                    if self._closed or self._end is not None or not self._outflow:
                        self._draining = False
                        return
        finally:
            os.close(descriptor)

    def receive(self, timeout_s: float | None = None) -> Frames | None:
        try:
            # Only this thread takes from the inbox, so this needs no lock.
            message, size = self.inbox.popleft() if self.inbox else self._await(timeout_s)
        except IndexError:
            return None
        if self._incoming.taken(size):
            with self._lock:
                if not self._closed and self._end is None:
                    self._control(self._incoming.credit())
                    self._incoming.credited()
        return message

    def _await(self, timeout_s: float | None) -> tuple[Frames, int]:
        """Read until there is a message; raises IndexError if none comes in time."""
        deadline = None
        left = timeout_s
        while True:
            with self._lock:
                self._check()
                self._read()
                if self.inbox:
                    return self.inbox.popleft()
                if self._end is not None:
                    self._told = True
                    raise self._again()
                if timeout_s is not None:
                    now = time.monotonic()
                    deadline = now + timeout_s if deadline is None else deadline
                    left = deadline - now
                    if left <= 0:
                        raise IndexError
                self._arm(self._reader)
            self._doze(self._reader, left)

    @property
    def gone(self) -> bool:
        with self._lock:
            if self._end is not None or self.descriptor < 0:
                return True
            poll = select.poll()
            poll.register(self._descriptor, select.POLLRDHUP)
            return bool(poll.poll(0))

    def close(self, linger_s: float = 1.0) -> None:
        if self._abandoned:
            return
        with self._lock:
            if self._closed:
                return
            if self._end is None:
                self._control(wire.closing("closed"))
        deadline = time.monotonic() + linger_s
        while self._outflow and self._end is None and (left := deadline - time.monotonic()) > 0:
            with self._lock:
                self._read()
                self.inbox.clear()
                self._flush()
                self._arm(self._writer)
            self._doze(self._writer, left)
        with self._lock:
            self._closed = True
            self.inbox.clear()
            self._end = None  # what this end did counts more than what the peer did
            self._finish(ChannelClosed(f"{self.url}: closed at this end"))
        self._give_back()

    def abandon(self) -> None:
        if not self._abandoned:
            self._abandoned = True
            self.inbox = collections.deque()
            # The parent's threads may have held the lock; a copy of the descriptor in this
            # process would keep the peer from noticing the parent's end.
            self._socket.close()

    # -- what a listener asks --------------------------------------------------------------

    @property
    def descriptor(self) -> int:
        """The socket's descriptor, -1 once closed."""
        return -1 if self._closed or self._abandoned else self._descriptor

    @property
    def ready(self) -> bool:
        """Whether a receive would have something to say."""
        return bool(self.inbox) or (self._end is not None and not self._told and not self._closed)

    def look(self) -> None:
        """Take in what has come."""
        with self._lock:
            if not self._closed and not self._abandoned:
                self._read()

    @property
    def ended(self) -> bool:
        """Whether nothing more comes."""
        return self._end is not None

    # -- under the lock --------------------------------------------------------------------

    def _read(self) -> None:
        """Sort what has come into the inbox."""
        if self._end is not None:
            return
        if self._midway:
            self._finish(ChannelClosed(f"{self.url}: a call was interrupted midway"))
            with contextlib.suppress(OSError):
                self._socket.shutdown(socket.SHUT_RDWR)  # the peer must know, to take a new link
            return
        inflow = self._inflow
        received = self.inbox
        before = len(received)
        try:
            while True:
                self._midway = True
                room = inflow.room
                if len(room) == 1:
                    count = self._socket.recv_into(room[0])
                else:
                    count = self._socket.recvmsg_into(room)[0]
                if not count:
                    self._midway = False
                    self._finish(ChannelClosed(f"{self.url}: the connection was lost"))
                    break
                inflow.received(count)
                while (item := inflow.take()) is not None:
                    if isinstance(item, bytes):
                        self._controlled(item)
                    else:
                        self._arrived(item)
                self._midway = False
                if len(room) == 1 and count < room[0].nbytes:
                    break  # nothing was left in the socket
                if len(received) > before:
                    break  # bounded: the rest stays in the socket until somebody looks again
        except BlockingIOError:
            self._midway = False
        except ProtocolViolation as error:
            self._midway = False
            self._refuse(error)
        except OSError as error:
            self._midway = False
            self._finish(ChannelClosed(f"{self.url}: the connection was lost: {error.strerror}"))
        if self._reader.asleep and len(received) > before:
            self._reader.wake()

    def _arrived(self, item: tuple[Frames, int]) -> None:
        if not self.opened:
            raise ProtocolViolation("the peer does not open the stream as cupool does")
        size = item[1]
        inbox = self.inbox
        if inbox:
            wire.check_window([waiting for _, waiting in tuple(inbox)], size)
        inbox.append(item)

    def _controlled(self, part: bytes) -> None:
        if part == wire.OPENING and not self.opened:
            self.opened = True
        elif not self.opened:
            raise ProtocolViolation("the peer does not open the stream as cupool does")
        elif part[0] == wire.CLOSE:
            reason = wire.closing_reason(part)
            self._finish(ChannelClosed(f"{self.url}: closed by the peer: {reason}"))
        elif part[0] == wire.CREDIT:
            self._outgoing.credit(part)
            self._writer.wake()
        else:
            raise ProtocolViolation(f"{self.url}: unknown part {part[:16]!r}")

    def _write_one(self, part: Frame) -> None:
        """Write a part while the outflow is empty."""
        if self._midway:
            self._read()  # says so
            return
        self._midway = True
        try:
            count = self._socket.send(part, _FLAGS)
        except BlockingIOError:
            count = 0
        except OSError as error:
            self._failed(error)
            return
        if count < len(part):
            self._outflow.put((part,))
            self._outflow.sent(count)
        self._midway = False

    def _flush(self) -> None:
        """Write as much of the outflow as the socket takes."""
        outflow = self._outflow
        if self._midway:
            self._read()
            return
        try:
            while outflow:
                self._midway = True
                outflow.sent(self._socket.sendmsg(outflow.parts[:_MAX_PARTS], (), _FLAGS))
                self._midway = False
        except BlockingIOError:
            self._midway = False
        except OSError as error:
            self._failed(error)

    def _failed(self, error: OSError) -> None:
        """Note that nothing can be sent; what the peer has sent may still be read."""
        self._midway = False
        self._outflow = Outflow()
        self._lost = ChannelClosed(f"{self.url}: the connection was lost: {error.strerror}")
        self._read()  # its reason to close, perhaps
        raise self._again()

    def _control(self, part: bytes) -> None:
        """Send a part that is no message, behind what is in the outflow."""
        if self._lost is None:
            with contextlib.suppress(ChannelClosed):
                self._outflow.keep()
                self._outflow.put((head(part),))
                self._flush()
                self._drain()

    def greet(self) -> None:
        """Tell the other end that this is one of ours."""
        with self._lock:
            self._control(wire.OPENING)

    def _refuse(self, error: ProtocolViolation) -> None:
        """End a peer that broke the rules, and tell it."""
        self._control(wire.closing(f"protocol violation: {error.message}"))
        self._finish(error)

    def _finish(self, error: Exception) -> None:
        """Note the first reason why nothing more comes, and wake who waits."""
        if self._end is None:
            self._end = error
        self._reader.wake()
        self._writer.wake()

    def _check(self) -> None:
        if self._abandoned:
            raise ChannelClosed(f"{self.url}: belongs to the process that this one was forked from")

    def _again(self) -> Exception:
        # A new one each time: one exception raised again and again would collect tracebacks.
        error = self._end or self._lost
        assert error is not None
        return type(error)(*error.args)

    # -- waiting ---------------------------------------------------------------------------

    def _arm(self, sleeper: Sleeper) -> None:
        """Announce a sleep. The sleep comes after the lock was given back by its `with`."""
        events = select.POLLIN | select.POLLOUT if self._outflow else select.POLLIN
        sleeper.watch(self._descriptor, events)
        sleeper.thread = threading.get_ident()
        sleeper.asleep = True

    def _doze(self, sleeper: Sleeper, timeout_s: float | None) -> None:
        """Sleep after `_arm`, without the lock; look whether the peer is stopped now and then."""
        try:
            sleeper.sleep(LOOK_S if timeout_s is None else min(timeout_s, LOOK_S))
        finally:
            sleeper.asleep = False
        now = time.monotonic()
        if now >= self._next_look_s:
            self._next_look_s = now + LOOK_S
            if not _stopped(self._peer):
                self._stopped_since_s = 0.0
            elif not self._stopped_since_s:
                self._stopped_since_s = now
            elif now - self._stopped_since_s >= STOPPED_S:
                with self._lock:
                    what = f"the peer's process {self._peer} is stopped"
                    self._finish(ChannelClosed(f"{self.url}: {what}"))

    def _give_back(self) -> None:
        """Close the descriptors when no thread sleeps on them."""
        this = threading.get_ident()
        for _ in range(1000):
            busy = False
            for sleeper in (self._reader, self._writer):
                if sleeper.thread == this:
                    sleeper.asleep = False  # Ctrl-C came between its arming and its sleep
                sleeper.wake()
                busy = busy or sleeper.asleep
            if not busy:
                break
            time.sleep(0.001)
        with self._lock:
            if self._release.detach() is not None:  # called itself, it does nothing late at exit
                _release(self._socket, self._reader, self._writer)


def _release(connected: socket.socket, *sleepers: Sleeper) -> None:
    connected.close()
    for sleeper in sleepers:
        sleeper.close()


def _peer_process(connected: socket.socket) -> int:
    """Return the process at the other end, 0 if it cannot be seen from here."""
    raw = connected.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12)
    pid: int = struct.unpack("3i", raw)[0]
    return pid


def _stopped(process: int) -> bool:
    """Whether a process is stopped by a signal: proc(5), the third field of `stat`."""
    try:
        text = Path(f"/proc/{process}/stat").read_text()
    except OSError:
        return False
    return text.rpartition(")")[2].split()[0] in ("T", "t")


_living: weakref.WeakSet[UnixChannel] = weakref.WeakSet()


def _after_fork() -> None:
    for one in list(_living):
        one.abandon()


def _at_exit() -> None:
    for one in list(_living):
        one.close(linger_s=0.5)


os.register_at_fork(after_in_child=_after_fork)
atexit.register(_at_exit)

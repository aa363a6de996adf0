"""A session's loop: who is connected, who may connect, when it ends.

One thread. It waits for the client's messages and looks at everything else (control socket, new
peers, deadlines) a few times a second. Clock, listeners and control link are passed in.
"""

from __future__ import annotations

import contextlib
import hmac
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from cupool.errors import ProtocolViolation
from cupool.pool_server.session.control import Close, Ended, Notice, Open, Report
from cupool.pool_server.session.link import ControlLink
from cupool.pool_server.session.records import Reply
from cupool.pool_server.session.worker import SessionCore
from cupool.proto import messages as m
from cupool.proto import versions
from cupool.proto.messages import Bye, Frame, Hello, Refuse, Welcome, decode, encode
from cupool.transport.channel import Channel, ChannelClosed, Listener

TICK_S = 0.1
HELLO_WITHIN_S = 5.0
PROGRESS_WITHIN_S = 30.0
REPORT_EVERY_S = 1.0
MAX_PENDING = 16
BURST = 16
"""Batches that are executed before they are acknowledged, at most."""
_SEND_SLICE_S = 0.25
_REFUSE_LINGER_S = 0.2
_RELEASING = frozenset({"released", "drained", "failed"})


@dataclass(slots=True)
class _Pending:
    """A peer that has not said Hello yet."""

    channel: Channel
    deadline: float


class _Over(Exception):
    """The session is over."""


class Serving:
    """Serves one session until it ends.

    Args:
        opening: what the daemon asked for.
        core: the session.
        listeners: where the client connects, at any of them.
        control: to the daemon.
        clock: seconds, monotonic.
    """

    def __init__(
        self,
        opening: Open,
        core: SessionCore,
        listeners: Sequence[Listener],
        control: ControlLink,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._opening = opening
        self._core = core
        self._listeners = list(listeners)
        self._control = control
        core.forsaken = lambda: self._active is not None and self._active.gone
        self._clock = clock
        self._active: Channel | None = None
        self._pending: list[_Pending] = []
        self._ended: Ended | None = None
        now = clock()
        self._deadline = now + opening.connect_within_s  # for a client, while there is none
        self._why = f"no client connected within {opening.connect_within_s:g} s"
        self._progress = now
        self._next_tick = self._next_report = now
        self._reported: Report | None = None
        self._unacknowledged = 0
        self._notices: list[m.Notice] = []  # for the script, once it is there

    def run(self) -> Ended:
        """Serve; return how the session ended. Everything is closed then."""
        try:
            while True:
                self.step()
        except _Over:
            assert self._ended is not None
            return self._ended
        finally:
            self._close()

    def step(self) -> None:
        """Wait for the next event for a tick at most, and handle it."""
        if self._active is None:
            self._wait_for_peers()
            self._tick()
        else:
            self._serve(self._active)
            if self._clock() >= self._next_tick:
                self._tick()
                if self._active is not None and self._active.gone:
                    self._forsaken(self._active, "the client has ended")

    # The client that is connected

    def _serve(self, channel: Channel) -> None:
        try:
            frames = channel.receive(TICK_S)
            if frames is None:
                self._acknowledge()
                return
            answered = False
            for _ in range(BURST):
                answered = self._handle(frames)
                if self._core.halted:
                    self._forsaken(channel, "the client has ended")
                if self._active is not channel:
                    return
                # Who was answered is likely to think first: look for more only if none was.
                frames = None if answered else channel.receive(0)
                if frames is None or self._progress >= self._next_tick:
                    break  # a long queue must not keep the daemon waiting
                self._core.expect()
            if frames is not None:
                answered = self._handle(frames)
            # An answer tells the client as much as an Ack: that may come with a later one.
            if not answered or self._unacknowledged >= BURST or self._core.failing:
                self._acknowledge()
        except ChannelClosed as exc:
            self._forsaken(channel, str(exc))
        except ProtocolViolation as exc:
            self._say(channel, Bye("protocol", exc.message))
            self._end("failed", exc.message)

    def _forsaken(self, channel: Channel, why: str) -> None:
        """The client has ended. What it left unread is done if it said Bye, else it is dropped:
        nobody waits for it, and who comes back on a new link sends it again.
        """
        left: list[list[Frame]] = []
        with contextlib.suppress(ChannelClosed, ProtocolViolation):
            while (frames := channel.receive(0)) is not None:
                left.append(frames)
        with contextlib.suppress(ProtocolViolation):
            polite = bool(left) and isinstance(decode(left[-1]), Bye)
            if polite:
                self._core.carry_on()
            for frames in left if polite else ():
                self._core.execute(decode(frames), frames[1:])
                self._tick_if_due()
                while self._core.unfinished:
                    self._core.proceed()
                    self._tick_if_due()
        self._end_with_core()
        self._lost(why)

    def _handle(self, frames: list[Frame]) -> bool:
        """Execute one message and send the replies; return whether there were any."""
        core = self._core
        self._progress = self._clock()
        self._unacknowledged += 1
        replies = core.execute(decode(frames), frames[1:], more=True)
        self._send(replies)
        while core.unfinished:
            self._send(core.proceed())
            self._tick_if_due()
        self._end_with_core()
        return bool(replies)

    def _end_with_core(self) -> None:
        if self._core.ended is not None:
            self._end("closed" if self._core.left else "failed", self._core.ended.message)

    def _acknowledge(self) -> None:
        replies: list[Reply] = []
        self._core.acknowledge(replies)
        self._unacknowledged = 0
        self._send(replies)

    def _send(self, replies: Sequence[Reply]) -> None:
        channel = self._active
        for reply in replies:
            # While one is being sent, the client may be lost or come back on another channel.
            if channel is None or self._active is not channel:
                return
            self._send_frames(channel, [encode(reply.message), *reply.payloads])

    def _send_frames(self, channel: Channel, frames: list[Frame]) -> None:
        deadline = self._clock() + PROGRESS_WITHIN_S
        while True:
            try:
                channel.send(frames, _SEND_SLICE_S)
                return
            except TimeoutError:
                self._tick()  # the daemon may want an end to this
                if self._active is not channel:
                    return
                if self._clock() > deadline:
                    raise ChannelClosed(
                        f"{channel.url}: the client took nothing for {PROGRESS_WITHIN_S:g} s"
                    ) from None

    def _lost(self, why: str) -> None:
        """The link broke: keep the session for a client that comes back."""
        if self._active is not None:
            self._active.close(0)
            self._active = None
        self._core.disconnected()
        self._deadline = self._clock() + self._opening.grace_s
        self._why = f"the link to the client broke ({why}) and none came back within "
        self._why += f"{self._opening.grace_s:g} s"
        self._tick()

    # Peers that connect

    def _wait_for_peers(self) -> None:
        if len(self._listeners) == 1:
            self._listeners[0].wait(min(TICK_S, max(0.0, self._deadline - self._clock())))
        else:
            for listener in self._listeners:
                if listener.wait(TICK_S / (10 * len(self._listeners))):
                    return

    def _accept(self) -> None:
        now = self._clock()
        for listener in self._listeners:
            while (channel := listener.accept(0)) is not None:
                if len(self._pending) >= MAX_PENDING:
                    channel.close(0)
                else:
                    self._pending.append(_Pending(channel, now + HELLO_WITHIN_S))
        waiting = self._pending
        self._pending = []
        for peer in waiting:
            try:
                frames = peer.channel.receive(0)
                if frames is not None:
                    self._greet(peer.channel, frames)
                elif now < peer.deadline:
                    self._pending.append(peer)
                else:
                    peer.channel.close(0)
            except ChannelClosed:
                peer.channel.close(0)
            except ProtocolViolation as exc:
                self._refuse(peer.channel, "protocol", exc.message)

    def _greet(self, channel: Channel, frames: list[Frame]) -> None:
        hello = decode(frames)
        if not isinstance(hello, Hello):
            raise ProtocolViolation("the first message must be Hello")
        if not hmac.compare_digest(hello.token.encode(), self._opening.token.encode()):
            self._refuse(channel, "denied", "the token is not this session's")
            return
        version = versions.agree(hello.minimum, hello.current)
        if version is None:
            self._refuse(
                channel,
                "version",
                f"the client speaks protocol {hello.minimum} to {hello.current}, "
                f"this server {versions.MINIMUM} to {versions.CURRENT}",
            )
            return
        if hello.resume_after > self._core.executed:
            self._refuse(channel, "lost", f"batch {hello.resume_after} was never executed here")
            return
        if self._active is not None:
            if not hello.resume_after:
                self._refuse(channel, "busy", "another client uses this session")
                return
            # The client came back before the loss of its old link was noticed.
            self._say(self._active, Bye("replaced", "the client connected again"))
            self._active.close(0)
            self._core.disconnected()
        self._active = channel
        welcome = Welcome(
            version, self._opening.session, self._core.device.info, self._core.executed
        )
        try:
            self._send([Reply(welcome), *self._core.resume(hello.resume_after)])
        except ChannelClosed as exc:
            self._lost(str(exc))

    def _refuse(self, channel: Channel, reason: str, message: str) -> None:
        self._say(channel, Refuse(reason, message, versions.MINIMUM, versions.CURRENT))
        channel.close(_REFUSE_LINGER_S)

    def _say(self, channel: Channel, message: Bye | Refuse | m.Ack) -> None:
        """Send a message, if the peer takes it."""
        try:
            channel.send([encode(message)], _SEND_SLICE_S)
        except (ChannelClosed, TimeoutError):
            return

    # Everything else

    def _tick_if_due(self) -> None:
        if self._clock() >= self._next_tick:
            self._tick()

    def _tick(self) -> None:
        now = self._clock()
        self._next_tick = now + TICK_S
        for message in self._control.receive(0):
            if isinstance(message, Close):
                if self._active is not None:
                    self._say(self._active, Bye(message.reason, message.message))
                state = message.reason if message.reason in _RELEASING else "released"
                self._end(state, message.message)
            elif isinstance(message, Notice):
                notice = m.Notice(message.reason, message.message, message.within_s)
                self._notices.append(notice)
        if self._control.closed:
            if self._active is not None:
                self._say(self._active, Bye("server_lost", "the pool server's daemon has ended"))
            self._end("failed", "the daemon is gone")
        self._accept()
        if self._notices and self._active is not None:
            self._say(self._active, m.Ack(0, notices=self._notices))
            self._notices = []
        if self._active is None and now >= self._deadline:
            self._end("client_lost", self._why)
        if (
            self._active is not None
            and self._core.transferring
            and now - self._progress > PROGRESS_WITHIN_S
        ):
            self._lost(f"a transfer made no progress for {PROGRESS_WITHIN_S:g} s")
        if now >= self._next_report:
            self._report(now)

    def _report(self, now: float) -> None:
        self._next_report = now + REPORT_EVERY_S
        report = Report(
            self._opening.session,
            self._active is not None,
            self._core.device.memory().used_bytes,
            self._core.operations,
            round(self._core.device_time_s, 3),
        )
        if report != self._reported:
            self._reported = report
            self._control.send(report)

    def _end(self, state: str, message: str) -> None:
        self._ended = Ended(self._opening.session, state, message)
        raise _Over

    def _close(self) -> None:
        for peer in self._pending:
            peer.channel.close(0)
        if self._active is not None:
            self._active.close()
        for listener in self._listeners:
            listener.close()
        self._core.close()

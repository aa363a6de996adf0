"""The giving side of copies between sessions: offers, and the threads that serve who pulls them.

    Hello(secret, token)  ──►    the session's secret, and the token of one offer; "" asks only
                          ◄──    Pong(how many were pulled)     whether anybody is there
                          ◄──    Value(size in bytes), then Chunks; or Failed, or Refuse

A client that is away offers nothing: who waits for it is told so before the session ends.

An offer is a copy that was made when the `offer` ran, so what the session does later changes
nothing. Each token is good for one pull. Who does not know the secret learns nothing.
"""

from __future__ import annotations

import hmac
import secrets
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from time import monotonic

from cupool.errors import ProtocolViolation
from cupool.proto import messages as m
from cupool.proto import versions
from cupool.transport.channel import Channel, ChannelClosed, Listener, listen

OFFERED_BYTES = 1 << 30
"""Kept for pulls at once; an offer beyond that waits, unless it is the only one."""
OFFERED_WITHIN_S = 600.0
"""Within this an offer is pulled, and what is pulled is offered: devices may be busy."""
MAX_OFFERS = 4096
MAX_PULLERS = 64
STALLED_WITHIN_S = 30.0
AWAY_WITHIN_S = 10.0
"""How long who waits for an offer waits on while the giver's own client is away."""
_HELLO_WITHIN_S = 5.0
_IDLE_S = 0.2
_ASKED_S = 0.001  # between looks for an offer that somebody waits for
_SLICE_S = 0.02
_CHUNKS_AT_ONCE = 8


class Copy:
    """Bytes of an array, kept until they were pulled `uses` times."""

    __slots__ = ("data", "uses")

    def __init__(self, data: memoryview, uses: int) -> None:
        self.data = data
        self.uses = uses


@dataclass(slots=True)
class _Offer:
    what: Copy | m.Failure
    until: float


@dataclass(slots=True)
class _Puller:
    """A peer: silent until its Hello, then waiting for an offer, then being sent it."""

    channel: Channel
    until: float
    token: str = ""
    copy: Copy | None = None
    position: int = 0


class Giver:
    """A session's offers.

    Args:
        urls: where to listen, with port 0 and empty names.

    Attributes:
        urls: where pullers connect.
        secret: what they must know.

    Raises:
        ConfigurationError: an address cannot be listened at.
    """

    def __init__(self, urls: Sequence[str]) -> None:
        self.secret = secrets.token_hex(16)
        self._offers: dict[str, _Offer] = {}
        self._kept_bytes = 0
        self._settled = 0  # tokens that are used up
        self._changed = threading.Condition()
        self._closed = False
        self._away_since: float | None = None  # the session's client
        self._listeners: list[Listener] = []
        try:
            for url in urls:
                self._listeners.append(listen(url))
        except BaseException:
            for listener in self._listeners:
                listener.close()
            raise
        self.urls = [listener.url for listener in self._listeners]
        self._threads = [
            threading.Thread(target=self._serve, args=(one,), name="cupool-offers", daemon=True)
            for one in self._listeners
        ]
        for thread in self._threads:
            thread.start()

    # The session's thread

    def has_room(self, size_bytes: int) -> bool:
        """May an offer of that size be made now?"""
        kept = self._kept_bytes
        return not kept or kept + size_bytes <= OFFERED_BYTES

    def wait_for_room(self, size_bytes: int, timeout_s: float) -> bool:
        """Wait until an offer can be made."""
        with self._changed:
            return self._changed.wait_for(lambda: self.has_room(size_bytes), timeout_s)

    def offer(self, tokens: Sequence[str], what: memoryview | m.Failure) -> None:
        """Offer bytes, or the reason why there are none, to one pull for each token.

        Raises:
            ProtocolViolation: a token that is in use; too many offers.
        """
        until = monotonic() + OFFERED_WITHIN_S
        kept = Copy(what, len(tokens)) if isinstance(what, memoryview) else what
        with self._changed:
            if len(self._offers) + len(tokens) > MAX_OFFERS:
                raise ProtocolViolation(f"more than {MAX_OFFERS} offers that nobody has pulled")
            if any(token in self._offers for token in tokens):
                raise ProtocolViolation("the token of an offer is in use")
            self._offers.update({token: _Offer(kept, until) for token in tokens})
            if isinstance(kept, Copy):
                self._kept_bytes += kept.data.nbytes

    def client_is(self, here: bool) -> None:
        """Note that the session's client has lost its link, or has come back."""
        self._away_since = None if here else monotonic()

    def close(self) -> None:
        """Stop: who is pulling sees the link end."""
        self._closed = True
        for listener in self._listeners:
            listener.close()
        for thread in self._threads:
            thread.join(1.0)

    # The listeners' threads

    def _serve(self, listener: Listener) -> None:
        pullers: list[_Puller] = []
        try:
            while not self._closed:
                if not any(one.copy for one in pullers):
                    asked = any(one.token for one in pullers)
                    listener.wait(_ASKED_S if asked else _IDLE_S)
                while (channel := listener.accept(0)) is not None:
                    if len(pullers) < MAX_PULLERS:
                        pullers.append(_Puller(channel, monotonic() + _HELLO_WITHIN_S))
                    else:
                        channel.close(0)
                self._expire()
                pullers = [one for one in pullers if self._step(one)]
        except ChannelClosed:
            return  # closed
        finally:
            for one in pullers:
                one.channel.close(0)

    def _expire(self) -> None:
        now = monotonic()
        if any(offer.until < now for offer in list(self._offers.values())):
            with self._changed:
                old = [token for token, offer in self._offers.items() if offer.until < now]
                copies = [self._offers.pop(token).what for token in old]
            for copy in copies:
                self._used(copy)

    def _used(self, what: Copy | m.Failure) -> None:
        """Note that a token is used up."""
        with self._changed:
            self._settled += 1
            if isinstance(what, Copy):
                what.uses -= 1
                if not what.uses:
                    self._kept_bytes -= what.data.nbytes
                    self._changed.notify_all()

    def _step(self, one: _Puller) -> bool:
        """Do what can be done for a peer; return whether to keep it."""
        try:
            if one.copy is not None:
                going = self._send(one)
            else:
                going = self._give(one) if one.token else self._greeted(one)
        except (ChannelClosed, ProtocolViolation, TimeoutError):
            going = False
        if not going:
            if one.copy is not None:
                self._used(one.copy)
            one.copy = None
            one.channel.close(_SLICE_S)
        return going

    def _greeted(self, one: _Puller) -> bool:
        """Take a peer's Hello, if it has come."""
        frames = one.channel.receive(0)
        if frames is None:
            return monotonic() < one.until
        hello = m.decode(frames)
        if not isinstance(hello, m.Hello):
            raise ProtocolViolation("a puller's first message is no Hello")
        if not hmac.compare_digest(hello.token.encode(), self.secret.encode()):
            _refuse(one.channel, "denied", "the secret is not this session's")
            return False
        one.token = hello.client
        one.until = monotonic() + OFFERED_WITHIN_S
        if not one.token:
            one.channel.send([m.encode(m.Pong(self._settled))], _SLICE_S)
        return True

    def _give(self, one: _Puller) -> bool:
        """Begin to send the offer that a peer waits for, if it is there."""
        with self._changed:
            offer = self._offers.pop(one.token, None)
        if offer is None:
            one.channel.receive(0)  # raises if the peer has gone
            away_since = self._away_since
            if away_since is not None and monotonic() - away_since > AWAY_WITHIN_S:
                text = (
                    f"its script has been away for {AWAY_WITHIN_S:g} s: it has ended, or its link"
                )
                _refuse(one.channel, "away", f"{text} is broken")
                return False
            return monotonic() < one.until
        if isinstance(offer.what, m.Failure):
            one.channel.send([m.encode(m.Failed(0, offer.what))], STALLED_WITHIN_S)
            self._used(offer.what)
            return self._over(one)
        one.copy, one.position = offer.what, 0
        one.until = monotonic() + STALLED_WITHIN_S
        one.channel.send([m.encode(m.Value(0, offer.what.data.nbytes))], STALLED_WITHIN_S)
        return self._send(one)

    def _send(self, one: _Puller) -> bool:
        """Send some chunks."""
        assert one.copy is not None
        data = one.copy.data
        for _ in range(_CHUNKS_AT_ONCE):
            if one.position >= data.nbytes:
                self._used(one.copy)
                one.copy = None
                return self._over(one)
            part = data[one.position : one.position + m.CHUNK_BYTES]
            try:
                one.channel.send([m.encode(m.Chunk(0, one.position)), part], _SLICE_S)
            except TimeoutError:
                break
            one.position += part.nbytes
            one.until = monotonic() + STALLED_WITHIN_S
        return monotonic() < one.until

    def _over(self, one: _Puller) -> bool:
        """The peer has what it asked for; it may ask for another."""
        one.token = ""
        one.until = monotonic() + OFFERED_WITHIN_S
        return True


def _refuse(channel: Channel, reason: str, text: str) -> None:
    refusal = m.Refuse(reason, text, versions.MINIMUM, versions.CURRENT)
    channel.send([m.encode(refusal)], _SLICE_S)

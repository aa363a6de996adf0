"""Runners of `proto.operations.exchange`: copies between sessions, server to server.

The giving side keeps a copy and serves it from a thread (`giving`); the pulling side receives in
a thread, too, while the session's loop waits for it and goes on looking after everything else.
So sessions that pull from each other at once cannot block each other.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Sequence
from time import monotonic
from typing import Any

import numpy as np

from cupool.errors import PoolError, PoolUnreachable, ProtocolViolation
from cupool.pool_server.devices.base import Layout
from cupool.pool_server.session.giving import (
    OFFERED_WITHIN_S,
    STALLED_WITHIN_S,
    Giver,
)
from cupool.pool_server.session.handles import PoisonedInput
from cupool.pool_server.session.movement import check_request
from cupool.pool_server.session.records import Executor, Pause, Payloads
from cupool.proto import messages as m
from cupool.proto import versions
from cupool.proto.values import ARRAY
from cupool.transport.channel import LOCAL_CARRIERS, Channel, ChannelClosed, connect
from cupool.transport.transfers import Incoming

MAX_ADDRESSES = 8
MAX_TOKENS = 1024
MAX_TEXT = 192
REACH_LOCAL_S = 0.25
REACH_S = 3.0
_POLL_S = 0.5
# Not a path: a client must not choose files of the server to connect to.
_ADDRESS = re.compile(
    r"(?:unix://@|zmq\+ipc://@|zmq\+tcp://|zmq\+curve://[0-9a-f]{64}@|grpc://)[\w.:\[\]-]{1,100}"
)


class ExchangeFailed(RuntimeError):
    """A copy from another device did not come through; the text says why."""


class Pull:
    """One copy on its way to this session, received by a thread of its own.

    Args:
        giver: who gives the array, for messages.

    Attributes:
        done: set when it is there or has failed.
        failure: why it has.
    """

    def __init__(self, token: str, giver: str, memory: memoryview, into: Any, buffer: Any) -> None:
        self.token = token
        self._giver = giver
        self.into = into
        self.buffer = buffer
        self.done = threading.Event()
        self.failure: Exception | None = None
        self._memory = memory
        self._given_up = False

    def give_up(self) -> None:
        """Let the thread end."""
        self._given_up = True

    def run(self, links: Links, url: str, secret: str) -> None:
        """Receive; the link is kept for the next copy if all went well."""
        try:
            channel = links.take(url)
            try:
                self._receive(channel, secret)
            except BaseException:
                channel.close(0)
                raise
            links.keep(url, channel)
        except ChannelClosed as exc:
            self.failure = ExchangeFailed(f"the session of {self._giver} has ended: {exc}")
        except PoolError as exc:
            self.failure = ExchangeFailed(f"the copy from {self._giver} failed: {exc.message}")
        except Exception as exc:
            self.failure = exc
        finally:
            self.done.set()

    def _receive(self, channel: Channel, secret: str) -> None:
        hello = m.Hello(versions.MINIMUM, versions.CURRENT, secret, self.token)
        channel.send([m.encode(hello)], REACH_S)
        incoming: Incoming | None = None
        until = monotonic() + OFFERED_WITHIN_S
        while incoming is None or not incoming.done:
            frames = channel.receive(_POLL_S)
            if frames is None:
                if self._given_up or monotonic() > until:
                    raise ExchangeFailed(f"{self._giver} gave nothing in time")
                continue
            message = m.decode(frames)
            until = monotonic() + STALLED_WITHIN_S
            if isinstance(message, m.Failed):
                raise PoisonedInput(message.failure)
            if isinstance(message, m.Refuse):
                raise ExchangeFailed(f"{self._giver} refused: {message.message}")
            if isinstance(message, m.Value) and incoming is None:
                if message.value != self._memory.nbytes:
                    raise ExchangeFailed(
                        f"{self._memory.nbytes} bytes were promised, {message.value} are offered"
                    )
                incoming = Incoming(0, self._memory)
            elif isinstance(message, m.Chunk) and incoming is not None and len(frames) == 2:
                incoming.accept(message.offset, frames[1])
            else:
                raise ProtocolViolation(f"a giver sent {type(message).__name__}")


class Links:
    """Open links to givers, one for each address; used by one thread at a time."""

    def __init__(self) -> None:
        self._open: dict[str, Channel] = {}

    def take(self, url: str) -> Channel:
        """Return the open link to an address, or a new one.

        Raises:
            PoolUnreachable: nobody answers there.
        """
        channel = self._open.pop(url, None)
        if channel is not None:
            try:
                if channel.receive(0) is None:
                    return channel
            except (ChannelClosed, ProtocolViolation):
                channel.close(0)
        return connect(url, _reach_s(url))

    def keep(self, url: str, channel: Channel) -> None:
        """Keep a link for later."""
        while len(self._open) >= MAX_ADDRESSES:
            self._open.pop(next(iter(self._open))).close(0)
        self._open[url] = channel

    def close(self) -> None:
        for channel in self._open.values():
            channel.close(0)
        self._open.clear()


class Exchange:
    """Adds its runners to an executor.

    Args:
        executor: the session's.
        urls: addresses to listen at for pullers; none: this session gives nothing.
    """

    def __init__(self, executor: Executor, urls: Sequence[str] = ()) -> None:
        self._executor = executor
        self._device = executor.device
        self._table = executor.table
        self._urls = urls
        self._giver: Giver | None = None
        self._links = Links()
        self._pull: Pull | None = None
        self._wanted_bytes: int | None = None  # by an offer that waits for room
        self._wanted_until = 0.0
        executor.runners.update(
            {
                "offer": self._offer,
                "pull": self._take,
                "exchange": self._exchange,
                "reach": self._reach,
            }
        )

    @property
    def under_way(self) -> bool:
        """Does a record wait for another session, or has just done so?"""
        return self._pull is not None or self._wanted_bytes is not None

    @property
    def waiting(self) -> bool:
        """Can the record that waits not go on yet?"""
        if self._pull is not None:
            return not self._pull.done.is_set()
        wanted = self._wanted_bytes
        if wanted is None or self._giver is None or monotonic() > self._wanted_until:
            return False
        return not self._giver.has_room(wanted)

    def wait(self, timeout_s: float) -> None:
        """Wait a little for what `waiting` is about."""
        if self._pull is not None:
            self._pull.done.wait(timeout_s)
        elif self._wanted_bytes is not None and self._giver is not None:
            self._giver.wait_for_room(self._wanted_bytes, timeout_s)

    def close(self) -> None:
        """Give nothing more, take nothing more."""
        if self._giver is not None:
            self._giver.close()
        if self._pull is not None:
            self._pull.give_up()
        else:
            self._links.close()

    def client_is(self, here: bool) -> None:
        """Note that the session's client has lost its link, or has come back."""
        if self._giver is not None:
            self._giver.client_is(here)

    # Giving

    def _giving(self) -> Giver:
        if self._giver is None:
            self._giver = Giver(self._urls)
        return self._giver

    def _exchange(self, request: Any, args: Any, kwargs: Any, payloads: Payloads) -> None:
        check_request(request)
        giver = self._giving()
        self._executor.answer(request, [giver.urls, giver.secret])

    def _offer(self, outs: Any, args: Any, kwargs: Any, payloads: Payloads) -> None:
        ref, tokens = self._executor.arguments(args, 2)
        tokens = _texts(self._executor.reader(payloads).read(tokens), MAX_TOKENS)
        giver = self._giving()
        try:
            if not isinstance(ref, list) or len(ref) != 2 or ref[0] != ARRAY:
                raise ProtocolViolation(f"not an array: {ref!r:.80}")
            array = self._table.array(ref[1])
            size_bytes = self._device.layout(array).size_bytes
            if not giver.has_room(size_bytes):
                self._await_room(size_bytes)
            self._wanted_bytes = None
            data = self._device.fetch(array)[1]
        except Pause:
            raise
        except Exception as exc:
            self._wanted_bytes = None
            known = exc.failure if isinstance(exc, PoisonedInput) else None
            giver.offer(tokens, known or self._executor.describe(exc, "offer"))
            raise
        giver.offer(tokens, data.cast("B") if data.nbytes else memoryview(b""))

    def _await_room(self, size_bytes: int) -> None:
        now = monotonic()
        if self._wanted_bytes is None:
            self._wanted_bytes, self._wanted_until = size_bytes, now + OFFERED_WITHIN_S
        elif now > self._wanted_until:
            raise ExchangeFailed("earlier copies to other devices were not pulled in time")
        raise Pause(again=True)

    # Pulling

    def _take(self, outs: Any, args: Any, kwargs: Any, payloads: Payloads) -> None:
        handle, layout = self._executor.output(outs)
        url, secret, token, giver = self._executor.arguments(args, 4)
        _texts([url, secret, token, giver], 4)
        pull = self._pull
        if pull is None or pull.token != token:
            _addresses([url])
            self._pull = pull = self._begin(layout, token, giver)
            thread = threading.Thread(
                target=pull.run, args=(self._links, url, secret), name="cupool-pull", daemon=True
            )
            thread.start()
        if not pull.done.is_set():
            raise Pause(again=True)
        self._pull = None
        if pull.failure is not None:
            raise pull.failure
        if pull.buffer is not None:
            self._device.write(pull.into, layout, pull.buffer)
        self._table.arrays[handle] = pull.into

    def _begin(self, layout: Layout, token: str, giver: str) -> Pull:
        if layout.order not in ("C", "F"):
            raise ProtocolViolation(f"not an order: {layout.order!r:.40}")
        array = self._device.empty(layout)
        memory = self._device.host_memory(array)
        buffer = None
        if memory is None:
            memory = buffer = np.empty(layout.size_bytes, np.uint8).data
        return Pull(token, giver, memory, array, buffer)

    def _reach(self, request: Any, args: Any, kwargs: Any, payloads: Payloads) -> None:
        check_request(request)
        urls, secret = self._executor.arguments(args, 2)
        urls = _addresses(self._executor.reader(payloads).read(urls))
        _texts([secret], 1)
        found = (index for index, url in enumerate(urls) if self._answers(url, secret))
        self._executor.answer(request, next(found, -1))

    def _answers(self, url: str, secret: str) -> bool:
        """Does a giver with that secret answer there?"""
        try:
            channel = self._links.take(url)
        except PoolUnreachable:
            return False
        try:
            hello = m.Hello(versions.MINIMUM, versions.CURRENT, secret, "")
            channel.send([m.encode(hello)], REACH_S)
            frames = channel.receive(REACH_S)
            if frames is not None and isinstance(m.decode(frames), m.Pong):
                self._links.keep(url, channel)
                return True
        except (ChannelClosed, ProtocolViolation, TimeoutError):
            pass
        channel.close(0)
        return False


def _reach_s(url: str) -> float:
    """Return how long to try an address; one of this machine answers at once or not at all."""
    return REACH_LOCAL_S if url.partition("://")[0] in LOCAL_CARRIERS else REACH_S


def _texts(values: Any, limit: int) -> list[str]:
    if (
        not isinstance(values, list)
        or not 0 < len(values) <= limit
        or not all(isinstance(one, str) and 0 < len(one) <= MAX_TEXT for one in values)
    ):
        raise ProtocolViolation(f"not 1 to {limit} texts: {values!r:.80}")
    return values


def _addresses(urls: Any) -> list[str]:
    for url in _texts(urls, MAX_ADDRESSES):
        if not _ADDRESS.fullmatch(url):
            raise ProtocolViolation(f"not an address of a giver: {url!r:.80}")
    return list(urls)

"""Opening the link of a session: connect, Hello, Welcome; and doing it again when a link broke."""

from __future__ import annotations

import sys
import threading
from time import monotonic

from cupool import __version__
from cupool.client_shim import lease as leases
from cupool.config import Settings
from cupool.errors import (
    AccessDenied,
    LeaseLost,
    PoolError,
    PoolUnreachable,
    ProtocolMismatch,
    ProtocolViolation,
)
from cupool.proto import messages as m
from cupool.proto import versions
from cupool.transport.channel import Channel, ChannelClosed, connect

HANDSHAKE_TIMEOUT_S = 15.0
RETRY_TIMEOUT_S = 0.5
RETRY_PAUSE_S = 0.2
RESUME_WITHIN_S = 20.0
"""While the broker says that the session runs; less than the server's default grace of 30 s."""
UNEXPLAINED_WITHIN_S = 3.0
"""While nobody can say what became of the session."""

RUNNING = "running"
UNEXPLAINED = ("unknown", "broker_unreachable", "")
"""States of `lease.explain` in which nobody knows of a death."""


def open_channel(
    granted: leases.GrantedDevice, resume_after: int = 0, timeout_s: float = HANDSHAKE_TIMEOUT_S
) -> Channel:
    """Connect to the worker at the first address that answers, and send Hello.

    Raises:
        PoolUnreachable: no address answers.
        ChannelClosed: the link broke at once.
    """
    problem: PoolError | None = None
    for url in granted.urls:
        try:
            channel = connect(url, timeout_s)
        except PoolUnreachable as exc:
            problem = exc
            continue
        client = f"cupool {__version__}, python {sys.version_info[0]}.{sys.version_info[1]}"
        hello = m.Hello(versions.MINIMUM, versions.CURRENT, granted.token, client, resume_after)
        channel.send([m.encode(hello)], timeout_s)
        return channel
    raise problem or PoolUnreachable(
        f"server {granted.server} offers no address that this client can use",
        remedy="choose another carrier:   cupool run --carrier tcp ...\n"
        "or, where CUPOOL_ENCRYPT=on is set, let the server encrypt:   cupool serve --encrypt on",
    )


def receive_welcome(
    channel: Channel, granted: leases.GrantedDevice, timeout_s: float = HANDSHAKE_TIMEOUT_S
) -> m.Welcome:
    """Read the answer to Hello.

    Raises:
        ProtocolMismatch, AccessDenied, LeaseLost: refused.
        PoolUnreachable: no answer in time.
        ChannelClosed: the link broke.
    """
    deadline = monotonic() + timeout_s
    frames = None
    while frames is None and (left := deadline - monotonic()) > 0:
        frames = channel.receive(left)
    if frames is None:
        raise PoolUnreachable(
            f"the session worker at {channel.url} did not answer in {timeout_s:g} s",
            remedy="see the pool's state:   cupool status",
            reference=f"session {granted.session_id}",
        )
    answer = m.decode(frames)
    if isinstance(answer, m.Refuse):
        raise _refused(answer, granted)
    if not isinstance(answer, m.Welcome):
        raise ProtocolViolation(f"the server answered Hello with {type(answer).__name__}")
    return answer


def _refused(answer: m.Refuse, granted: leases.GrantedDevice) -> PoolError:
    reference = f"session {granted.session_id}"
    if answer.reason == "version":
        older = "this client" if answer.minimum > versions.CURRENT else f"server {granted.server}"
        return ProtocolMismatch(
            f"this client speaks protocol {versions.MINIMUM} to {versions.CURRENT}, the server"
            f" {answer.minimum} to {answer.current}",
            remedy=f"upgrade {older}:   pip install --upgrade cupool",
            reference=reference,
        )
    if answer.reason == "denied":
        return AccessDenied(answer.message, reference=reference)
    return LeaseLost(answer.message, reference=reference)


def resume(
    settings: Settings, granted: leases.GrantedDevice, resume_after: int
) -> tuple[Channel, int] | None:
    """Open a new link to a session that still runs, for as long as that may help.

    Args:
        resume_after: the last batch whose acknowledgement has arrived.

    Returns:
        the channel and the last batch that the worker has executed; None if the session is gone.
    """
    began = monotonic()
    pause = threading.Event()
    while True:
        channel = None
        try:
            channel = open_channel(granted, resume_after, RETRY_TIMEOUT_S)
            return channel, receive_welcome(channel, granted, RETRY_TIMEOUT_S).executed
        except (PoolError, ChannelClosed, TimeoutError):
            # Nobody there, or "busy": the worker has not noticed the loss yet.
            if channel is not None:
                channel.close(0)
        state, _ = leases.explain(settings, granted.session_id)
        if state == RUNNING:
            within_s = RESUME_WITHIN_S
        elif state in UNEXPLAINED:
            within_s = UNEXPLAINED_WITHIN_S
        else:
            return None
        if monotonic() - began > within_s:
            return None
        pause.wait(RETRY_PAUSE_S)

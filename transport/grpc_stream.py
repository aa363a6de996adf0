"""grpc://: one HTTP/2 bidirectional stream of raw bytes, where only HTTP passes.

    grpc://host:port           port 0 when listening: the system chooses
    grpc://unix-abstract:name  Linux's abstract namespace; an empty name: the system chooses

No protobuf: a gRPC message is one part of `cupool.transport.frames`. Threads, no event loop: gRPC
itself asks an iterator for what to send, and one thread of ours takes in what comes. Both ends of
the stream are bounded queues, and when the receiver's is full HTTP/2 flow control stops the
sender.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import threading
import time
import weakref
from collections.abc import Callable, Iterator, Sequence
from concurrent import futures
from typing import Any

from cupool.errors import ConfigurationError, ProtocolViolation
from cupool.proto.messages import Frame
from cupool.transport import frames as wire
from cupool.transport.channel import Channel, ChannelClosed, Frames, Listener, unreachable
from cupool.transport.pipe import Backlog, Pipe

# Read by gRPC when it is imported: it must not write to the user's terminal, and must survive
# the user's forks.
os.environ.setdefault("GRPC_VERBOSITY", "ERROR")
os.environ.setdefault("GRPC_ENABLE_FORK_SUPPORT", "1")
import grpc

_METHOD = "/cupool.transport.Stream/Open"
_MAX_PEERS = 64
KEEPALIVE_S = 1.0
KEEPALIVE_TIMEOUT_S = 3.5
"""A peer whose carrier is asked this often and says nothing for so long is taken for dead."""


def _options() -> list[tuple[str, int]]:
    timeout_ms = int(KEEPALIVE_TIMEOUT_S * 1000)
    return [
        ("grpc.max_receive_message_length", wire.FRAME_LIMIT_BYTES),
        ("grpc.max_send_message_length", -1),
        ("grpc.keepalive_time_ms", int(KEEPALIVE_S * 1000)),
        ("grpc.keepalive_timeout_ms", timeout_ms),
        # Without it, a peer that is stopped and not dead goes unnoticed for a minute.
        ("grpc.http2.ping_timeout_ms", timeout_ms),
        ("grpc.keepalive_permit_without_calls", 1),
        ("grpc.http2.max_pings_without_data", 0),
        # A server hangs up on clients that ask more often than every five minutes.
        ("grpc.http2.min_recv_ping_interval_without_data_ms", int(KEEPALIVE_S * 250)),
        ("grpc.http2.max_ping_strikes", 0),
        ("grpc.so_reuseport", 0),  # else two listeners share a port, each with half of the peers
        ("grpc.use_local_subchannel_pool", 1),
        ("grpc.initial_reconnect_backoff_ms", 50),
        ("grpc.min_reconnect_backoff_ms", 50),
        ("grpc.max_reconnect_backoff_ms", 500),
    ]


_LAST_EVENT_S = 1.0

_leaked: list[object] = []  # what a forked child must never destroy


class GrpcChannel(Channel):
    """One end of a stream: two queues, and a thread that fills the incoming one."""

    def __init__(self, url: str, arrived: Callable[[], None]) -> None:
        self.url = url
        self._incoming = Pipe(arrived)
        self._outgoing = Pipe(lambda: None, wire.SendWindow())
        self._taken = wire.ReceiveWindow()
        self._violation = self._reason = ""
        self._over = threading.Event()  # the stream has ended at gRPC's level
        self._answered = threading.Event()
        self._welcome = False
        self._hang_up: Callable[[], object] = lambda: None
        self._release: Callable[[], object] = lambda: None
        self._closed = False
        self._abandoned = False
        _living.add(self)

    # -- what gRPC calls -------------------------------------------------------------------

    def parts_to_send(self) -> Iterator[bytes]:
        """Yield every part that goes to the peer, until this end is closed."""
        yield wire.OPENING
        while True:
            try:
                message = self._outgoing.get(None, self.url)
            except ChannelClosed as end:
                if not self._over.is_set():
                    yield wire.closing(str(end).removeprefix(f"{self.url}: "))
                return
            assert message is not None
            yield from message[0]  # type: ignore[misc]  # `send` made bytes of them

    def take_in(self, parts: Iterator[bytes], opened: Callable[[], None]) -> None:
        """Sort the peer's parts into messages until the stream ends. Runs in its own thread."""
        reason = "the connection was lost"
        try:
            for opening in parts:
                if opening != wire.OPENING:
                    raise ProtocolViolation("the peer does not open the stream as cupool does")
                opened()
                break
            for first in parts:
                kind = first[0] if first else -1
                if kind == wire.CLOSE:
                    reason = f"closed by the peer: {wire.closing_reason(first)}"
                    break
                if kind == wire.CREDIT:
                    self._outgoing.credit(first)
                    continue
                apart = [self._apart(parts, size) for size in wire.apart_lengths(first)]
                message = wire.unpack(first, apart)
                self._incoming.push(message, wire.message_size(message))
        except ProtocolViolation as error:
            self._violation = error.message
            reason = f"protocol violation: {error.message}"
        except Exception as error:  # of gRPC: it has no common class for the end of a stream
            reason = f"the connection was lost: {_details(error)}"
        self._incoming.finish(reason)
        self._outgoing.finish(reason)
        self._reason = reason
        self._answered.set()

    def _apart(self, parts: Iterator[bytes], size: int) -> memoryview:
        part = next(parts, None)
        if part is None or len(part) != size:
            raise ProtocolViolation("a message's parts do not have the announced sizes")
        return memoryview(part)

    def over(self) -> None:
        """Note that the stream has ended at gRPC's level; nothing can be sent any more."""
        self._over.set()
        self._outgoing.finish("the connection was lost", forget=True)

    # -- the channel -----------------------------------------------------------------------

    def send(self, frames: Sequence[Frame], timeout_s: float | None = None) -> None:
        parts, size = wire.pack(frames)
        self._check()
        # gRPC takes bytes only, and later: what is not bytes must be copied here.
        copies: Frames = [part if type(part) is bytes else bytes(part) for part in parts]
        self._outgoing.put(copies, size, timeout_s, self.url)

    def receive(self, timeout_s: float | None = None) -> Frames | None:
        self._check()
        try:
            message = self._incoming.get(timeout_s, self.url)
        except ChannelClosed:
            if self._violation and not self._closed:
                raise ProtocolViolation(f"{self.url}: {self._violation}") from None
            raise
        if message is None:
            return None
        if self._taken.taken(message[1]):
            self._outgoing.push_control(self._taken.credit())
            self._taken.credited()
        return message[0]

    def close(self, linger_s: float = 1.0) -> None:
        if self._abandoned or self._closed:
            return
        self._closed = True
        self._outgoing.finish("closed")
        self._incoming.finish("closed at this end", forget=True)
        if linger_s > 0:
            self._over.wait(linger_s)
        self._hang_up()
        self._outgoing.finish("closed at this end", forget=True)
        # gRPC's thread has done with the call before the call may go: at the interpreter's end
        # its `__del__` would wait for a lock that the thread keeps for ever.
        self._over.wait(_LAST_EVENT_S)
        self._hang_up = lambda: None
        self._release()

    def abandon(self) -> None:
        if not self._abandoned:
            self._abandoned = True
            _leaked.append((self, self._hang_up, self._release))

    @property
    def gone(self) -> bool:
        return self._incoming.ended

    @property
    def ready(self) -> bool:
        """Whether a receive would have something to say."""
        return self._incoming.ready

    def _check(self) -> None:
        if self._abandoned:
            raise ChannelClosed(f"{self.url}: belongs to the process that this one was forked from")

    def _greet(self) -> None:
        self._welcome = True
        self._answered.set()

    def start_client(self, channel: grpc.Channel, timeout_s: float) -> None:
        """Open the stream and wait for the listener's answer."""
        method: grpc.StreamStreamMultiCallable[bytes, bytes] = channel.stream_stream(_METHOD)
        call = method(self.parts_to_send(), wait_for_ready=True)
        self._hang_up = call.cancel
        self._release = channel.close
        if not call.add_callback(self.over):
            self.over()
        _thread(self.take_in, call, self._greet)
        self._answered.wait(timeout_s)
        if not self._welcome:
            raise unreachable(self.url, timeout_s, self._reason)


class GrpcListener(Listener):
    """A gRPC server with one method, whose calls are channels."""

    def __init__(self, url: str, target: str) -> None:
        self._backlog: Backlog[GrpcChannel] = Backlog()
        self._abandoned = False
        self._server = grpc.server(
            _DaemonThreads(),  # type: ignore[arg-type]  # any executor does
            handlers=[_Handlers(self._serve)],
            options=_options(),
            maximum_concurrent_rpcs=_MAX_PEERS,
        )
        try:
            port = self._server.add_insecure_port(target)
        except RuntimeError as error:
            raise ConfigurationError(f"cannot listen at {url}: {error}") from None
        host = target.rpartition(":")[0]
        self.url = f"grpc://{target}" if target.startswith("unix") else f"grpc://{host}:{port}"
        self._server.start()
        _living.add(self)

    def _serve(self, parts: Iterator[bytes], context: grpc.ServicerContext) -> Iterator[bytes]:
        channel = GrpcChannel(f"grpc://{context.peer()}", self._backlog.arrived)
        channel._hang_up = context.cancel
        if not context.add_callback(channel.over):
            return iter(())
        _thread(channel.take_in, parts, lambda: self._greet(channel))
        return channel.parts_to_send()

    def _greet(self, channel: GrpcChannel) -> None:
        if not self._backlog.add(channel):
            raise ChannelClosed("the listener is closed")

    def accept(self, timeout_s: float | None = None) -> Channel | None:
        self._check()
        return self._backlog.accept(timeout_s, self.url)

    def wait(self, timeout_s: float | None = None) -> bool:
        self._check()
        return self._backlog.wait(timeout_s, self.url)

    def _check(self) -> None:
        if self._abandoned:
            raise ChannelClosed(f"{self.url}: belongs to the process that this one was forked from")

    def close(self) -> None:
        if self._abandoned:
            return
        for channel in self._backlog.close():
            channel.close(linger_s=0.2)
        self._server.stop(grace=0).wait()

    def abandon(self) -> None:
        if not self._abandoned:
            self._abandoned = True
            _leaked.append((self, self._server))


def _method(serve: Callable[..., Iterator[bytes]]) -> grpc.RpcMethodHandler[bytes, bytes]:
    return grpc.stream_stream_rpc_method_handler(serve)


class _Handlers(grpc.GenericRpcHandler):
    def __init__(self, serve: Callable[..., Iterator[bytes]]) -> None:
        self._handler = _method(serve)

    def service(self, details: grpc.HandlerCallDetails) -> Any:
        return self._handler if details.method == _METHOD else None


class _DaemonThreads(futures.Executor):
    """A thread a call; daemons, so that a forgotten listener does not keep the process alive."""

    def submit(self, call: Callable[..., Any], /, *args: Any, **kwargs: Any) -> futures.Future[Any]:
        future: futures.Future[Any] = futures.Future()

        def run() -> None:
            try:
                future.set_result(call(*args, **kwargs))
            except BaseException as error:
                future.set_exception(error)

        _thread(run)
        return future


def _thread(call: Callable[..., object], *args: object) -> None:
    threading.Thread(target=call, args=args, name="cupool-grpc", daemon=True).start()


def _details(error: Exception) -> str:
    if isinstance(error, grpc.RpcError):
        code, details = getattr(error, "code", None), getattr(error, "details", None)
        if code is not None and details is not None:
            return f"{code().name}: {details()}"
    return str(error) or type(error).__name__


def connect(url: str, timeout_s: float) -> Channel:
    """Open a stream to a listener."""
    target = _target(url)
    deadline = time.monotonic() + timeout_s
    channel = GrpcChannel(url, lambda: None)
    carrier = grpc.insecure_channel(target, options=_options())
    try:
        channel.start_client(carrier, max(0.0, deadline - time.monotonic()))
    except BaseException:
        channel.close(linger_s=0)
        carrier.close()
        raise
    return channel


def listen(url: str) -> Listener:
    """Start a gRPC server of one method."""
    target = _target(url)
    if target == "unix-abstract:":
        target = f"unix-abstract:cupool-{secrets.token_hex(8)}"
    return GrpcListener(url, target)


def _target(url: str) -> str:
    target = url.removeprefix("grpc://")
    host, colon, port = target.rpartition(":")
    if host == "unix-abstract":
        return target
    if not colon or not host or not port.isdecimal() or int(port) > 65535:
        raise ConfigurationError(f"{url} is not grpc://host:port or grpc://unix-abstract:name")
    return target


_living: weakref.WeakSet[GrpcChannel | GrpcListener] = weakref.WeakSet()


def _after_fork() -> None:
    for one in list(_living):
        with contextlib.suppress(Exception):
            one.abandon()


os.register_at_fork(after_in_child=_after_fork)

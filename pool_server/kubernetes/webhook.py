"""`cupool webhook`: the HTTPS server that the Kubernetes API asks about new pods."""

from __future__ import annotations

import json
import logging
import os
import ssl
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from cupool.errors import ConfigurationError
from cupool.pool_server.kubernetes.mutation import Target, review

log = logging.getLogger("cupool.webhook")

BODY_LIMIT_BYTES = 8 << 20
"""Larger than any object that the API server takes (3 MiB) in its review."""
_CLIENTS = 64
_WITHIN_S = 10.0
"""The API server gives a webhook at most 30 s, 10 s unless told otherwise."""


class Certificate:
    """A certificate and its key in files, read again when they change (they are rotated)."""

    def __init__(self, cert: str, key: str) -> None:
        self._files = (cert, key)
        self._seen: tuple[int, ...] = ()
        self._context = self._read()

    def _read(self) -> ssl.SSLContext:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.minimum_version = ssl.TLSVersion.TLSv1_2
        try:
            seen = tuple(os.stat(path).st_mtime_ns for path in self._files)
            context.load_cert_chain(*self._files)
        except OSError as exc:  # ssl.SSLError is one
            raise ConfigurationError(
                f"the certificate {self._files[0]} with key {self._files[1]} cannot be used: {exc}"
            ) from None
        self._seen = seen
        return context

    def context(self) -> ssl.SSLContext:
        """Return what is in force; a pair that is being replaced is left for the next time."""
        try:
            if tuple(os.stat(path).st_mtime_ns for path in self._files) != self._seen:
                self._context = self._read()
        except (OSError, ConfigurationError) as exc:
            log.warning("the old certificate is kept", extra={"why": str(exc)})
        return self._context


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(
        self, address: tuple[str, int], handler: type[BaseHTTPRequestHandler], cert: Certificate
    ) -> None:
        self._certificate = cert
        self._places = threading.BoundedSemaphore(_CLIENTS)
        super().__init__(address, handler)

    def process_request(self, request: Any, client_address: Any) -> None:
        if not self._places.acquire(blocking=False):
            self.shutdown_request(request)  # the API server asks again
            return
        super().process_request(request, client_address)

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        """Shake hands here, in the client's own thread: a slow one must not stop the others."""
        try:
            request.settimeout(_WITHIN_S)
            secure = self._certificate.context().wrap_socket(request, server_side=True)
        except OSError as exc:
            log.debug("no handshake", extra={"why": str(exc)})
            self.shutdown_request(request)
        else:
            super().process_request_thread(secure, client_address)
        finally:
            self._places.release()

    def handle_error(self, request: Any, client_address: Any) -> None:
        log.warning("a request failed", exc_info=True)


def server(listen: str, cert: str, key: str, target: Target) -> ThreadingHTTPServer:
    """Open the port and return a server: call `serve_forever`, later `shutdown`.

    Args:
        listen: HOST:PORT; port 0 is any free one.
        cert, key: PEM files.

    Raises:
        ConfigurationError: the address or the certificate cannot be used.
    """
    host, _, port = listen.rpartition(":")
    if not host or not port.isdecimal() or int(port) > 65535:
        raise ConfigurationError(f"{listen!r} is no address; write HOST:PORT, e.g. 0.0.0.0:8443")

    class Handler(_Handler):
        answer = staticmethod(lambda body: review(body, target))

    certificate = Certificate(cert, key)
    try:
        return _Server((host, int(port)), Handler, certificate)
    except OSError as exc:
        raise ConfigurationError(f"{listen} cannot be bound: {exc.strerror}") from None


class _Handler(BaseHTTPRequestHandler):
    """POST /mutate takes an AdmissionReview; GET /healthz says that the server is there."""

    protocol_version = "HTTP/1.1"
    timeout = _WITHIN_S
    answer: Callable[[Any], dict[str, Any]]

    def do_GET(self) -> None:
        found = self.path.partition("?")[0] == "/healthz"
        self._reply(200 if found else 404, b"ok\n" if found else b"not found\n", "text/plain")

    def do_POST(self) -> None:
        length = self.headers.get("Content-Length", "")
        if self.path.partition("?")[0] != "/mutate":
            self._refuse(404, "post to /mutate")
        elif not length.isdecimal() or int(length) > BODY_LIMIT_BYTES:
            self._refuse(413, f"the body must have a length of at most {BODY_LIMIT_BYTES} bytes")
        else:
            self._review(self.rfile.read(int(length)))

    def _review(self, body: bytes) -> None:
        try:
            answer = self.answer(json.loads(body))
        except (ValueError, TypeError, AttributeError, RecursionError) as exc:
            self._refuse(400, f"this is no AdmissionReview of a pod: {exc}")
            return
        response = answer["response"]
        if not response["allowed"]:
            log.info("a pod was refused", extra={"why": response["status"]["message"]})
        self._reply(200, json.dumps(answer).encode(), "application/json")

    def _refuse(self, code: int, why: str) -> None:
        self.close_connection = True  # a body that was not read is still in the way
        self._reply(code, f"{why}\n".encode(), "text/plain")

    def _reply(self, code: int, body: bytes, kind: str) -> None:
        self.send_response(code)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        log.debug(format, *args)

"""`cupool publish`: keeps the API's DeviceClass and ResourceSlices like the pool.

Speaks to the API with the standard library: lists, creates, updates and deletes, nothing else.
"""

from __future__ import annotations

import json
import logging
import os
import ssl
import threading
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any

from cupool.errors import ConfigurationError, PoolError, PoolUnreachable
from cupool.pool_server.kubernetes import slices
from cupool.pool_server.kubernetes.slices import Object
from cupool.proto.v1 import pool_pb2 as pb

log = logging.getLogger("cupool.publish")

_ACCOUNT = "/var/run/secrets/kubernetes.io/serviceaccount"
_WITHIN_S = 15.0
_PAGE = 250
_MOST_PAGES = 100
_LIMIT_BYTES = 64 << 20
_SLICES = f"/apis/{slices.API}/resourceslices"
_CLASSES = f"/apis/{slices.API}/deviceclasses"


class ApiError(PoolError):
    """The Kubernetes API refused, or did not answer."""

    def __init__(self, message: str, code: int = 0) -> None:
        super().__init__(message)
        self.code = code


class Api:
    """The Kubernetes API as a service account reaches it.

    Args:
        url: e.g. https://10.0.0.1:443.
        token_file: read anew for each call, because it is rotated; "" = none.
        ca_file: whose certificates are believed; "" = the system's.
    """

    def __init__(self, url: str, token_file: str = "", ca_file: str = "") -> None:
        self._url = url.rstrip("/")
        self._token_file = token_file
        self._context = None
        if url.startswith("https:"):
            self._context = ssl.create_default_context(cafile=ca_file or None)

    @classmethod
    def of_pod(cls) -> Api:
        """Return the API of the cluster in which this process runs.

        Raises:
            ConfigurationError: it runs in none.
        """
        host = os.environ.get("KUBERNETES_SERVICE_HOST", "")
        port = os.environ.get("KUBERNETES_SERVICE_PORT", "443")
        if not host or not os.path.isfile(f"{_ACCOUNT}/token"):
            raise ConfigurationError(
                "this is no pod of Kubernetes with a service account",
                remedy="elsewhere:   kubectl proxy &   cupool publish --api http://127.0.0.1:8001",
            )
        host = f"[{host}]" if ":" in host else host
        return cls(f"https://{host}:{port}", f"{_ACCOUNT}/token", f"{_ACCOUNT}/ca.crt")

    def call(self, method: str, path: str, body: Object | None = None) -> Object:
        """Make a call and return the answer's object.

        Raises:
            ApiError: it failed; `code` is HTTP's, 0 if there was no answer.
        """
        headers = {"Accept": "application/json", "Content-Type": "application/json"}
        if self._token_file:
            headers["Authorization"] = f"Bearer {Path(self._token_file).read_text().strip()}"
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self._url + path, data, headers, method=method)
        try:
            with urllib.request.urlopen(request, timeout=_WITHIN_S, context=self._context) as reply:
                found: Any = json.loads(reply.read(_LIMIT_BYTES))
        except urllib.error.HTTPError as exc:
            with exc:
                text = _message(exc.read(1 << 20)) or exc.reason
            raise ApiError(
                f"the Kubernetes API refused {method} {path} ({exc.code}): {text}", exc.code
            ) from None
        except (OSError, ValueError) as exc:
            raise ApiError(f"the Kubernetes API at {self._url} did not answer: {exc}") from None
        return found if isinstance(found, dict) else {}

    def slices(self, broker: str) -> list[Object]:
        """Return all slices that were published for a broker."""
        found: list[Object] = []
        query = {"labelSelector": f"{slices.LABEL}={broker}", "limit": str(_PAGE)}
        for _ in range(_MOST_PAGES):
            page = self.call("GET", f"{_SLICES}?{urllib.parse.urlencode(query)}")
            found += page.get("items") or []
            query["continue"] = (page.get("metadata") or {}).get("continue", "")
            if not query["continue"]:
                return found
        raise ApiError(f"there are more than {_PAGE * _MOST_PAGES} slices of broker {broker}")


def _message(body: bytes) -> str:
    try:
        found = json.loads(body)
    except ValueError:
        return ""
    return str(found.get("message", "")) if isinstance(found, dict) else ""


def publish(api: Api, status: pb.StatusReply, broker: str) -> int:
    """Make the API say what the pool is; returns how many objects were changed.

    Raises:
        ApiError: a call failed; those before it were made.
    """
    changed = 0
    try:
        api.call("GET", f"{_CLASSES}/{slices.CLASS}")
    except ApiError as exc:
        if exc.code != 404:
            raise
        api.call("POST", _CLASSES, slices.device_class())
        changed += 1
    for change in slices.changes(api.slices(broker), slices.resource_slices(status, broker)):
        name = change.item["metadata"]["name"]
        if change.verb == "create":
            api.call("POST", _SLICES, change.item)
        elif change.verb == "update":
            api.call("PUT", f"{_SLICES}/{name}", change.item)
        else:
            _delete(api, name)
        log.info("published", extra={"verb": change.verb, "slice": name})
        changed += 1
    return changed


def _delete(api: Api, name: str) -> None:
    try:
        api.call("DELETE", f"{_SLICES}/{name}")
    except ApiError as exc:
        if exc.code != 404:  # somebody else was faster
            raise


def keep(
    api: Api,
    status: Callable[[], pb.StatusReply],
    broker: str,
    interval_s: float,
    stop: threading.Event,
) -> None:
    """Publish again and again until told to stop.

    A broker that is away for a moment changes nothing; failures are logged, and tried again.
    """
    while not stop.is_set():
        try:
            publish(api, status(), broker)
        except (ApiError, PoolUnreachable) as exc:
            log.warning("not published", extra={"why": exc.message})
        stop.wait(interval_s)

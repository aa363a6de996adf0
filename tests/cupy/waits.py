"""Counting the waits of a session."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from unittest import mock

from cupool.client_shim import session


@contextmanager
def waits() -> Iterator[list[str]]:
    """Collect the names of the requests that the block waits for."""
    seen: list[str] = []
    ask = session.DeviceSession.ask

    def noted(self, name, *args, **kwargs):
        seen.append(name)
        return ask(self, name, *args, **kwargs)

    with mock.patch.object(session.DeviceSession, "ask", noted):
        yield seen


@contextmanager
def no_waits() -> Iterator[None]:
    """Assert that the block waits for nothing."""
    with waits() as seen:
        yield
    assert seen == []

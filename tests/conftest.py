"""Rules for every test."""

from __future__ import annotations

import signal
from collections.abc import Iterator

import pytest

# Whoever starts the tests in the background ignores Ctrl-C, and they inherit that; so do the
# processes that they start, unless it is undone here.
signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(autouse=True)
def signals_are_given_back() -> Iterator[None]:
    """A test that takes Ctrl-C for itself must give it back: others in this process need it."""
    before = signal.getsignal(signal.SIGINT)
    yield
    after = signal.getsignal(signal.SIGINT)
    signal.signal(signal.SIGINT, before)
    assert after is before

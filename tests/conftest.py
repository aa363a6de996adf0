"""Rules for every test."""

from __future__ import annotations

import signal
from collections.abc import Iterator

import pytest

# Whoever starts the tests in the background ignores Ctrl-C, and they inherit that; so do the
# processes that they start, unless it is undone here.
signal.signal(signal.SIGINT, signal.default_int_handler)


# SIGALRM is left out: it is the timeout's, which takes it back after the fixtures.
_GIVEN_BACK = (
    signal.SIGINT,
    signal.SIGTERM,
    signal.SIGHUP,
    signal.SIGPIPE,
    signal.SIGXFSZ,
    signal.SIGUSR1,
    signal.SIGUSR2,
    signal.SIGCHLD,
)


@pytest.fixture(autouse=True)
def signals_are_given_back() -> Iterator[None]:
    """A test that takes a signal for itself must give it back: others in this process need it.

    A SIGPIPE that is no longer ignored ends this process without a word, many tests later.
    """
    before = {number: signal.getsignal(number) for number in _GIVEN_BACK}
    yield
    after = {number: signal.getsignal(number) for number in _GIVEN_BACK}
    for number, handler in before.items():
        signal.signal(number, handler)
    assert after == before

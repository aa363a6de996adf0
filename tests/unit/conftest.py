"""Fixtures of the unit tests."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Coroutine, Iterator
from typing import Any

import pytest

os.environ.setdefault("GRPC_VERBOSITY", "ERROR")  # before gRPC is imported


@pytest.fixture(scope="session")
def runner() -> Iterator[asyncio.Runner]:
    """One event loop for all: gRPC's asyncio side does not like several in a process."""
    with asyncio.Runner() as one:
        yield one


@pytest.fixture
def drive(runner: asyncio.Runner) -> Callable[[Coroutine[Any, Any, None]], None]:
    """Run a coroutine to its end, within 30 s."""

    def run(main: Coroutine[Any, Any, None]) -> None:
        runner.run(asyncio.wait_for(main, 30))

    return run

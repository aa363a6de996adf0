"""Array tests on the CUDA device, whose CuPy is our own shim on a second, mock pool.

Without a GPU this is what runs the CUDA device's code whole.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.e2e.pools import Pool, a_pool
from tests.e2e.test_pool_behind_pool import start_outer_server

ROOT = Path(__file__).parents[2]


@contextmanager
def a_pool_behind_a_pool() -> Iterator[Pool]:
    """Start both; yields the outer one, which has one device."""
    with a_pool(inner=("--mock", "1")) as inner, a_pool() as outer:
        start_outer_server(outer, inner)
        yield outer


def check_array_tests(pool: Pool, name: str) -> None:
    """Run a file of `tests/cupy` on a pool's device; all of it must pass."""
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--tb=short"]
    done = subprocess.run(
        [*command, f"tests/cupy/{name}"],
        cwd=ROOT,
        env=pool.environment() | {"CUPOOL_POOL": pool.url},
        capture_output=True,
        text=True,
        timeout=800,
    )
    assert done.returncode == 0, done.stdout[-8000:] + done.stderr[-2000:]

"""Several brokers as processes: one is killed, another leads, and scripts notice nothing."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from cupool.cli import pool_status
from cupool.errors import PoolUnreachable
from tests.e2e.pools import Pool, said

SCRIPT = """
import cupy, sys
print(int(cupy.arange(5).sum()), flush=True)
for line in sys.stdin:
    print(int(cupy.arange(int(line)).sum()), flush=True)
"""


class Brokers(Pool):
    """A pool whose brokers share a state."""

    def __init__(self) -> None:
        super().__init__()
        self.brokers: dict[str, subprocess.Popen[str]] = {}

    def add_broker(self, state: str, *options: str, url: str = "grpc://127.0.0.1:0") -> str:
        process: Any = self._start("broker", "--listen", url, "--state", state, *options)
        url = str(said(process, "broker listens")["url"])
        self.brokers[url] = process
        self.url = ",".join(self.brokers)
        return url

    def kill(self, url: str) -> None:
        process = self.brokers.pop(url)
        process.send_signal(signal.SIGKILL)
        process.communicate()

    def stop(self) -> None:
        for url in list(self.brokers):
            self.kill(url)
        super().stop()


@pytest.fixture
def pool() -> Iterator[Brokers]:
    found = Brokers()
    try:
        yield found
    finally:
        found.stop()


def ask(script: subprocess.Popen[str], number: int) -> int:
    assert script.stdin is not None and script.stdout is not None
    script.stdin.write(f"{number}\n")
    script.stdin.flush()
    return int(script.stdout.readline())


def test_a_script_outlives_the_leader_and_its_lease_is_known_to_the_next(
    pool: Brokers, tmp_path: Path
) -> None:
    state = str(tmp_path / "broker.db")
    leader = pool.add_broker(state)
    pool.add_broker(state)
    pool.start_server("s", "--mock", "2")
    (tmp_path / "x.py").write_text(SCRIPT)
    script = pool.run("x.py", cwd=tmp_path)
    assert script.stdout is not None and script.stdout.readline() == "10\n"
    before = pool.status()
    pool.kill(leader)
    assert ask(script, 6) == 15
    after = pool.status()  # from the other one: the list of brokers is what it was
    assert after["epoch"] > before["epoch"]
    assert [each["lease_id"] for each in after["leases"]] == [
        each["lease_id"] for each in before["leases"]
    ]
    second = pool.run("x.py", cwd=tmp_path)  # it waits for the server, and gets the other GPU
    assert second.stdout is not None and second.stdout.readline() == "10\n"
    devices = [device for lease in pool.status()["leases"] for device in lease["devices"]]
    assert sorted(devices) == ["s/0", "s/1"]
    assert ask(script, 7) == 21 and ask(second, 8) == 28


def test_a_killed_broker_comes_back_to_its_leases_and_grants_nothing_twice(
    pool: Brokers, tmp_path: Path
) -> None:
    state, audit = str(tmp_path / "broker.db"), tmp_path / "audit.log"
    url = pool.add_broker(state, "--audit-log", str(audit))
    pool.start_server("s", "--mock", "1")
    (tmp_path / "x.py").write_text(SCRIPT)
    script = pool.run("x.py", cwd=tmp_path)
    assert script.stdout is not None and script.stdout.readline() == "10\n"
    (lease,) = pool.status()["leases"]
    pool.kill(url)
    assert ask(script, 6) == 15  # nobody is there to ask, and nobody has to be
    pool.add_broker(state, "--audit-log", str(audit), url=url)
    other = pool.run("--wait", "1m", "x.py", cwd=tmp_path)
    while not (status := pool.status())["waiting"]:
        assert other.poll() is None
    assert [each["lease_id"] for each in status["leases"]] == [lease["lease_id"]]
    assert ask(script, 7) == 21
    pool.kill(url)
    pool.add_broker(state, "--audit-log", str(audit), url=url)  # `other` waits in its line again
    assert ask(script, 8) == 28
    script.communicate(timeout=60)
    assert other.stdout is not None and other.stdout.readline() == "10\n"
    other.communicate(timeout=60)
    while pool.status()["leases"]:
        assert pool.servers["s"].poll() is None
    told = [json.loads(line) for line in audit.read_text().splitlines()]
    life = [(each["what"], each["lease_id"]) for each in told if "lease_id" in each]
    granted = [lease_id for what, lease_id in life if what == "lease-granted"]
    assert granted[0] == lease["lease_id"] and len(set(granted)) == len(granted) == 2
    ended = [("lease-ended", lease_id) for lease_id in granted]
    assert [each for each in life if each[0] in ("lease-granted", "lease-ended")] == [
        ("lease-granted", granted[0]),
        ended[0],
        ("lease-granted", granted[1]),
        ended[1],
    ]


def test_the_line_keeps_its_order_when_its_broker_is_killed(pool: Brokers, tmp_path: Path) -> None:
    state = str(tmp_path / "broker.db")
    url = pool.add_broker(state)
    pool.start_server("s", "--mock", "1")
    (tmp_path / "x.py").write_text(SCRIPT)
    holder = pool.run("x.py", cwd=tmp_path)
    assert holder.stdout is not None and holder.stdout.readline() == "10\n"
    scripts = [holder]
    for place in range(4):
        while len(pool.status()["waiting"]) < place:
            assert scripts[-1].poll() is None
        scripts.append(pool.run("--wait", "2m", "x.py", cwd=tmp_path))
    while len(waiting := pool.status()["waiting"]) < 4:
        assert scripts[-1].poll() is None
    before = [each["client"] for each in waiting]
    pool.kill(url)
    pool.add_broker(state, url=url)
    while len(waiting := pool.status()["waiting"]) < 4:
        assert scripts[-1].poll() is None
    assert [each["client"] for each in waiting] == before
    holder.communicate(timeout=60)
    for script in scripts[1:]:  # each is served when the one before it ends
        assert script.stdout is not None and script.stdout.readline() == "10\n"
        script.communicate(timeout=60)


def test_quotas_survive_a_broker_that_was_killed(pool: Brokers, tmp_path: Path) -> None:
    state = str(tmp_path / "broker.db")
    url = pool.add_broker(state)
    admin = [sys.executable, "-m", "cupool", "quota"]
    where = ["--pool", url]
    environment = pool.environment()
    subprocess.check_call(
        [*admin, "set", "vision", "--gpus", "4", *where], env=environment, stdout=subprocess.DEVNULL
    )
    pool.kill(url)
    assert pool.add_broker(state, url=url) == url
    out = subprocess.check_output([*admin, "list", "--json", *where], env=environment)
    assert [each["tenant"] for each in json.loads(out)] == ["vision"]


def test_a_broker_without_its_store_says_so(pool: Brokers, tmp_path: Path) -> None:
    pytest.importorskip("aetcd", reason="aetcd is not installed: pip install 'cupool[etcd]'")
    url = pool.add_broker("etcd://127.0.0.1:1")
    with pytest.raises(PoolUnreachable, match=r"no broker leads this pool.*etcd at"):
        pool_status.fetch(url)


def test_a_state_that_cannot_be_used_is_refused_at_the_start(tmp_path: Path) -> None:
    for state, why in (
        (str(tmp_path), "unable to open"),
        ("redis://a:1", "no store"),
        ("etcd://", "etcd's members"),
    ):
        command = [sys.executable, "-m", "cupool", "broker", "--listen", "grpc://127.0.0.1:0"]
        done = subprocess.run([*command, "--state", state], capture_output=True, text=True)
        assert done.returncode == 2 and why in done.stderr

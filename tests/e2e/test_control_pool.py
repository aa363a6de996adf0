"""A pool of real processes on this machine: who gets what, and what happens when parts die."""

from __future__ import annotations

import os
import pty
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.e2e.pools import Pool, a_pool, said

LOOP = """
import sys
import cupy as cp
a = cp.arange(10)
print("ready", flush=True)
steps = 0
while steps < 300 or sys.argv[1:] == ["forever"]:
    a = a + 1
    steps += 1
    a[0].item()
print("sum", int(a.sum()), "steps", steps)
"""
WITHIN_S = 60


@pytest.fixture
def script(tmp_path: Path) -> Path:
    path = tmp_path / "script.py"
    path.write_text(LOOP)
    return path


def begin(pool: Pool, script: Path, *options: str, forever: bool = True) -> subprocess.Popen[str]:
    """Start the script and return when it computes."""
    words = ["forever"] if forever else []
    process = pool.run(*options, str(script), *words, cwd=script.parent)
    assert process.stdout is not None
    line = process.stdout.readline()
    assert line == "ready\n", process.communicate(timeout=WITHIN_S)
    return process


def ends_with_error(process: subprocess.Popen[str], *words: str, within_s: float = 10) -> str:
    """Wait for the script to fail in time, with an error that has these words."""
    _, err = process.communicate(timeout=within_s)
    assert process.returncode == 1, err
    for word in words:
        assert word in err, err
    return err


@pytest.mark.parametrize("carrier", ["auto", "ipc", "tcp", "grpc"])
def test_a_script_runs_over_each_carrier(carrier: str, script: Path) -> None:
    with a_pool(a=("--mock", "1")) as pool:
        process = begin(pool, script, "--carrier", carrier, forever=False)
        out, err = process.communicate(timeout=WITHIN_S)
        assert (out, err) == ("sum 3045 steps 300\n", "")


def test_gpus_of_several_servers_are_one_view(tmp_path: Path) -> None:
    code = (
        "import cupy as cp\n"
        "n = cp.cuda.runtime.getDeviceCount()\n"
        "total = 0\n"
        "for i in range(n):\n"
        "    with cp.cuda.Device(i):\n"
        "        total += int((cp.ones(4) * i).sum())\n"
        "print(n, total)\n"
    )
    with a_pool(a=("--mock", "2"), b=("--mock", "2")) as pool:
        out, err = pool.run("--gpus", "3", "-c", code, cwd=tmp_path).communicate(timeout=WITHIN_S)
        assert out == "3 12\n", err
        out, err = pool.run("--gpus", "5", "-c", code, cwd=tmp_path).communicate(timeout=WITHIN_S)
        assert "5 GPUs were asked for, the pool has 4" in err


def test_a_second_job_waits_its_turn(script: Path) -> None:
    with a_pool(a=("--mock", "1")) as pool:
        first = begin(pool, script)
        hasty = pool.run("--wait", "0", str(script), cwd=script.parent)
        _, err = hasty.communicate(timeout=WITHIN_S)
        assert "no GPU is free in the pool (1 of 1 leased:" in err
        assert "cupool run --wait 30m" in err
        patient = pool.run("--wait", "50s", str(script), cwd=script.parent)
        first.kill()
        out, err = patient.communicate(timeout=WITHIN_S)
        assert "sum 3045" in out, err


def test_shares_of_one_device_run_side_by_side(script: Path) -> None:
    with a_pool(a=("--mock", "1", "--mock-memory", "2GiB")) as pool:
        both = [begin(pool, script, "--memory", "1GiB", forever=False) for _ in range(2)]
        for process in both:
            assert "sum 3045" in process.communicate(timeout=WITHIN_S)[0]


def test_a_killed_worker_is_named(script: Path) -> None:
    with a_pool(a=("--mock", "1")) as pool:
        process = begin(pool, script)
        os.kill(pool.worker_of("a"), signal.SIGKILL)
        ends_with_error(process, "LeaseLost", "GPU 0", "server a", "SIGKILL", "cupool status")
        # and the device is free again
        again = begin(pool, script, forever=False)
        assert "sum" in again.communicate(timeout=WITHIN_S)[0]


def test_a_killed_server_is_named(script: Path) -> None:
    with a_pool(a=("--mock", "1")) as pool:
        process = begin(pool, script)
        pool.servers["a"].kill()
        ends_with_error(process, "LeaseLost", "server a is gone")
        pool.servers["a"].wait(WITHIN_S)
        while pool.status()["servers"][0]["state"] != "lost":
            pass


def test_a_stopped_server_is_noticed_in_six_seconds(script: Path) -> None:
    with a_pool(a=("--mock", "1")) as pool:
        begin(pool, script)
        pool.servers["a"].send_signal(signal.SIGSTOP)
        since = time.monotonic()
        while pool.status()["servers"][0]["state"] == "up":
            assert time.monotonic() - since < 9
        assert pool.status()["leases"] == []


@pytest.mark.parametrize("carrier", ["ipc", "tcp", "grpc"])
def test_the_scripts_of_a_machine_that_hangs_are_told(carrier: str, script: Path) -> None:
    with a_pool(a=("--mock", "1")) as pool:
        process = begin(pool, script, "--carrier", carrier)
        worker = pool.worker_of("a")
        for pid in (worker, pool.servers["a"].pid):
            os.kill(pid, signal.SIGSTOP)
        ends_with_error(process, "LeaseLost", "server a is gone", within_s=WITHIN_S)
        assert pool.status()["leases"] == []
        os.kill(worker, signal.SIGKILL)


def test_a_killed_broker_disturbs_nobody_and_a_new_one_learns(script: Path) -> None:
    with a_pool(a=("--mock", "2")) as pool:
        running = begin(pool, script)
        assert pool.broker is not None
        pool.broker.kill()
        pool.broker.communicate(timeout=WITHIN_S)
        late = pool.run(str(script), cwd=script.parent)
        _, err = late.communicate(timeout=WITHIN_S)
        assert f"no broker answers at {pool.url}: Connection refused" in err
        assert "cupool broker" in err
        pool.start_broker(pool.url)
        while not (status := pool.status())["leases"]:
            pass
        assert status["leases"][0]["devices"] == ["a/0"]
        assert running.poll() is None
        beside = begin(pool, script, forever=False)  # on the other device, not on the same
        assert "sum" in beside.communicate(timeout=WITHIN_S)[0]
        os.kill(pool.worker_of("a"), signal.SIGKILL)
        ends_with_error(running, "SIGKILL")


def test_both_ends_dead_is_said_so(script: Path) -> None:
    with a_pool(a=("--mock", "1")) as pool:
        process = begin(pool, script)
        assert pool.broker is not None
        pool.broker.kill()
        pool.broker.wait(WITHIN_S)
        pool.servers["a"].kill()
        ends_with_error(process, "LeaseLost", "no broker answers")


def test_a_draining_server_lets_sessions_end(script: Path) -> None:
    with a_pool(a=("--mock", "1")) as pool:
        process = begin(pool, script, forever=False)
        pool.servers["a"].terminate()
        out, err = process.communicate(timeout=WITHIN_S)
        assert "sum 3045 steps 300" in out, err
        assert pool.servers["a"].wait(WITHIN_S) == 0
        assert pool.status()["servers"] == []


def test_a_drain_that_takes_too_long_says_goodbye(script: Path) -> None:
    with a_pool(a=("--mock", "1", "--drain-timeout", "100ms")) as pool:
        process = begin(pool, script)
        pool.servers["a"].terminate()
        ends_with_error(process, "LeaseLost", "shutting down")
        assert pool.servers["a"].wait(WITHIN_S) == 0


def test_children_share_the_lease(tmp_path: Path) -> None:
    code = (
        "import subprocess, sys\n"
        "import cupy as cp\n"
        "a = cp.ones(3)\n"
        "code = 'import cupy as cp; print(int((cp.ones(3) * 2).sum()))'\n"
        "print(subprocess.check_output([sys.executable, '-c', code]).decode().strip(), a.sum())\n"
    )
    with a_pool(a=("--mock", "1")) as pool:
        out, err = pool.run("-c", code, cwd=tmp_path).communicate(timeout=WITHIN_S)
        assert out == "6 3.0\n", err


def test_a_server_is_refused_a_taken_name() -> None:
    with a_pool(a=("--mock", "1")) as pool:
        other = pool._start("serve", "--broker", pool.url, "--name", "a", "--mock", "1")
        pool.servers["other"] = other
        why = said(other, "no stream to the broker, trying again")["why"]
        assert "already has a server named 'a'" in why


def test_a_hanging_broker_does_not_hang_a_script(script: Path) -> None:
    with a_pool(a=("--mock", "1")) as pool:
        running = begin(pool, script)
        assert pool.broker is not None
        pool.broker.send_signal(signal.SIGSTOP)
        late = pool.run(str(script), cwd=script.parent)
        _, err = late.communicate(timeout=WITHIN_S)
        assert "PoolUnreachable" in err and "does not answer" in err
        assert running.poll() is None
        pool.broker.send_signal(signal.SIGCONT)


FOLLOWING = """
import os, signal, sys
from cupool.cli import pool_status
from cupool.proto.v1 import pool_pb2 as pb

url, pid = sys.argv[1], int(sys.argv[2])
stop = lambda answer: os.kill(pid, signal.SIGSTOP)
pool_status.stream(url, "Admin", "Audit", pb.AuditRequest(follow=True), stop, endless=True)
print("noticed")
"""


def test_a_hanging_broker_does_not_hang_who_reads_its_audit_log(tmp_path: Path) -> None:
    with a_pool(a=("--mock", "1")) as pool:
        assert pool.broker is not None
        follower = pool.plain("-c", FOLLOWING, pool.url, str(pool.broker.pid), cwd=tmp_path)
        assert follower.communicate(timeout=WITHIN_S) == ("noticed\n", "")
        reader = pool.plain("-m", "cupool", "audit", "--pool", pool.url, cwd=tmp_path)
        _, err = reader.communicate(timeout=WITHIN_S)
        assert reader.returncode == 2 and "(DEADLINE_EXCEEDED)" in err
        pool.broker.send_signal(signal.SIGCONT)


def test_waiting_shows_the_place_in_line_on_a_terminal_and_ctrl_c_leaves_it(script: Path) -> None:
    with a_pool(a=("--mock", "1")) as pool:
        begin(pool, script)
        master, slave = pty.openpty()
        waiting = subprocess.Popen(
            [
                sys.executable,
                "-m",
                "cupool",
                "run",
                "--pool",
                pool.url,
                "--wait",
                "1h",
                str(script),
            ],
            env=pool.environment(),
            stderr=slave,
        )
        os.close(slave)
        shown = b""
        while b"1 of 1 in line (1 of 1 GPUs leased:" not in shown:
            shown += os.read(master, 1000)
        assert len(pool.status()["waiting"]) == 1
        waiting.send_signal(signal.SIGINT)
        assert waiting.wait(WITHIN_S) == -signal.SIGINT
        os.close(master)
        while pool.status()["waiting"]:
            pass

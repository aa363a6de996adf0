"""Shares, models, notices and administration through real processes."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from benchmarks import shares as benchmark

from tests.e2e.pools import WITHIN_S, Pool, a_pool

GRANTED = """
import cupy as cp, cupool
lease = cupool.lease()
names = sorted(each.model for each in lease.devices)
servers = {each.server for each in lease.devices}
print(len(lease.devices), names, len(servers), lease.tenant, lease.priority)
count = cp.cuda.runtime.getDeviceCount()
sizes = {cp.cuda.Device(n).mem_info[1] for n in range(count)}
for n in range(count):
    with cp.cuda.Device(n):
        sizes |= set(cp.cuda.runtime.memGetInfo())  # nothing is in use yet
        sizes.add(cp.cuda.runtime.getDeviceProperties(n)["totalGlobalMem"])
        sizes.add(lease.devices[n].memory_bytes)
print(count, *sizes, lease.devices[0].share, lease.bandwidth_mbps)
print(lease.time_left_s is not None and 3500 < lease.time_left_s <= 3600)
"""
TWO_PROCESSES = """
import subprocess, sys
import cupy as cp
mine = cp.zeros(700 << 20, cp.uint8)
cp.cuda.Device().synchronize()
theirs = "import cupy as cp; cp.zeros(400 << 20, cp.uint8); cp.cuda.Device().synchronize()"
done = subprocess.run([sys.executable, "-c", theirs], capture_output=True, text=True)
print(done.returncode, [line for line in done.stderr.splitlines() if "OutOfMemory" in line])
"""
HOLD = """
import signal, sys, threading
import cupool
import cupy as cp
told = threading.Event()
signal.signal(signal.SIGUSR1, lambda *ignored: print("signal", flush=True))

@cupool.on_notice
def save(notice):
    print("told", notice.reason, flush=True)
    told.set()

cp.zeros(3).get()
print("holds", flush=True)
told.wait(60)
sys.stdin.readline()
"""


def cli(pool: Pool, *arguments: str) -> str:
    command = [sys.executable, "-m", "cupool", *arguments, "--pool", pool.url]
    return subprocess.check_output(command, env=pool.environment(), text=True, timeout=WITHIN_S)


def said(script: subprocess.Popen[str]) -> str:
    assert script.stdout is not None
    return script.stdout.readline().strip()


def test_what_was_asked_for_is_granted_and_seen(tmp_path: Path) -> None:
    h100 = ("--mock", "2", "--mock-model", "H100", "--zone", "z1", "--link", "100Gbit")
    with a_pool(a=h100, b=("--mock", "1", "--mock-model", "MI300X")) as pool:
        options = "--gpus 2 --memory 256MiB --share 50% --gpu-model h100 --tenant vision"
        options += " --priority high --same-server --zone z1 --bandwidth 1Gbit --max-time 1h"
        script = pool.run(*options.split(), "-c", GRANTED, cwd=tmp_path)
        out, err = script.communicate(timeout=WITHIN_S)
        assert out.splitlines() == [
            "2 ['H100', 'H100'] 1 vision high",
            f"2 {256 << 20} 0.5 1000.0",
            "True",
        ], err
        asked = f"cupool.connect(pool={pool.url!r}, gpus=2, memory='256MiB', share=0.5, "
        asked += "gpu_model=['H100'], tenant='vision', priority='high', spread='same-server', "
        asked += "bandwidth='1Gbit', max_time='1h')"
        plain = pool.plain("-c", f"import cupool\n{asked}\n{GRANTED}", cwd=tmp_path)
        assert plain.communicate(timeout=WITHIN_S)[0] == out
        script = pool.run("--gpu-model", "B200", "-c", GRANTED, cwd=tmp_path)
        _, err = script.communicate(timeout=WITHIN_S)
        assert "asked for with model B200, the pool has none; there is: H100, MI300X" in err


def test_who_overcommits_queues_for_the_device_instead_of_failing(tmp_path: Path) -> None:
    with a_pool(a=("--mock", "1")) as pool:
        holder = pool.run("--share", "1", "--memory", "1GiB", "-c", HOLD, cwd=tmp_path)
        assert said(holder) == "holds"
        refused = pool.run("--memory", "1GiB", "--wait", "0", "-c", GRANTED, cwd=tmp_path)
        assert "no GPU is free" in refused.communicate(timeout=WITHIN_S)[1]
        lease = json.loads(cli(pool, "status", "--json"))["leases"][0]
        cli(pool, "release", lease["lease_id"])
        first, second = "--share 0.9 --memory 1GiB", "--share 0.9 --memory 1GiB --wait 0"
        sharing = pool.run(*first.split(), "-c", HOLD, cwd=tmp_path)
        assert said(sharing) == "holds"
        beside = pool.run(*second.split(), "-c", GRANTED, cwd=tmp_path)
        assert "no GPU is free" in beside.communicate(timeout=WITHIN_S)[1]
        beside = pool.run(*second.split(), "--overcommit", "-c", GRANTED, cwd=tmp_path)
        out, err = beside.communicate(timeout=WITHIN_S)
        assert out.splitlines()[1] == f"1 {1 << 30} 0.0 0.0", (
            err
        )  # it computes, and is promised none
        assert sharing.poll() is None


def test_processes_of_a_job_have_one_share_of_memory_together(tmp_path: Path) -> None:
    with a_pool(a=("--mock", "1")) as pool:
        script = pool.run("--memory", "1GiB", "-c", TWO_PROCESSES, cwd=tmp_path)
        out, err = script.communicate(timeout=WITHIN_S)
        assert out.startswith("1 ['cupy.cuda.memory.OutOfMemoryError"), out + err
        assert "share of GPU 0 of server a is 1,073,741,824 bytes" in out
        assert "other sessions of the job hold 734,003,200" in out


def test_a_script_is_told_before_its_server_is_drained(tmp_path: Path) -> None:
    with a_pool(a=("--mock", "1")) as pool:
        script = pool.run("--notice-signal", "USR1", "-c", HOLD, cwd=tmp_path)
        assert said(script) == "holds"
        reply = json.loads(cli(pool, "drain", "a", "--within", "2s", "--reason", "fan", "--json"))
        assert len(reply["leases"]) == 1
        assert {said(script), said(script)} == {"told drain", "signal"}
        _, err = script.communicate(timeout=WITHIN_S)
        assert "your GPU will be taken away in 2 s: server a is being drained" in err
        assert "draining by an administrator: fan" in cli(pool, "status")
        assert "takes leases again" in cli(pool, "uncordon", "a")


def test_a_job_past_its_time_is_ended_with_the_reason(tmp_path: Path) -> None:
    code = "import cupy as cp\na = cp.zeros(3)\nwhile True:\n    (a + 1).get()\n"
    with a_pool(a=("--mock", "1")) as pool:
        script = pool.run("--max-time", "8s", "-c", code, cwd=tmp_path)
        _, err = script.communicate(timeout=WITHIN_S)
        assert "the time that was asked for is over (8 s, --max-time)" in err
        assert "LeaseLost" in err and script.returncode == 1


def test_who_waits_can_ask_why(tmp_path: Path) -> None:
    with a_pool(a=("--mock", "1")) as pool:
        holder = pool.run("--max-time", "1h", "-c", HOLD, cwd=tmp_path)
        assert said(holder) == "holds"
        waiting = pool.run("--wait", "1h", "--tenant", "t", "-c", GRANTED, cwd=tmp_path)
        while not (queue := json.loads(cli(pool, "queue", "--json"))):
            assert waiting.poll() is None
        (entry,) = queue
        assert entry["tenant"] == "t" and 3000 < entry["expected_in_s"] <= 3600
        why = cli(pool, "explain", entry["request"])
        assert "GPU 0 of a is held by" in why and "expected: in 60m at the latest" in why
        (lease,) = pool.status()["leases"]
        assert "it ends in" in cli(pool, "explain", lease["lease_id"])
        assert "released" in cli(pool, "release", lease["lease_id"])
        out, _ = waiting.communicate(timeout=WITHIN_S)
        assert out.startswith("1 [''] 1 t normal")


@pytest.mark.slow
def test_device_time_goes_by_shares() -> None:
    assert abs(benchmark.two_shares(10.0, 0.3) / 0.3 - 1) <= 0.03

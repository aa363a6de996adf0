"""Devices of different servers in one script: copies go from server to server."""

from __future__ import annotations

import os
import re
import signal
from pathlib import Path

import pytest

from tests.e2e.pools import WITHIN_S, a_pool, no_pool

COPIES = """
import cupool
import cupy as cp
servers = [each.server for each in cupool.lease().devices]
with cp.cuda.Device(0):
    a = cp.arange(3_000_000.0).reshape(3, -1)
    small = cp.asfortranarray(cp.arange(12).reshape(3, 4))
with cp.cuda.Device(1):
    b = cp.asarray(a)
    c = small.copy(order="K")
    d = cp.zeros((3, 1_000_000))
    d[...] = a
    try:
        a + b
    except ValueError as exc:
        print(str(exc).rpartition(". ")[2])
    with cp.cuda.Stream(non_blocking=True) as stream:
        stream.begin_capture()
        try:
            cp.asarray(a)
        except RuntimeError as exc:
            print("disallowed" in str(exc))
        stream.end_capture()
    print(bool((b == d).all()), float(b[2, -1]), c.flags.f_contiguous, c.get().tolist())
with cp.cuda.Device(0):
    a *= 2
    cp.copyto(a, b)
    print(float(a.sum()), a.device.id, b.device.id)
    cp.cuda.alloc(80).copy_from_device(b.data, 80)
print(sorted(servers))
"""
SAID = """\
Peer access is unavailable
True
True 2999999.0 True [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9, 10, 11]]
4499998500000.0 0 1
['one', 'two']
"""
UNREACHABLE = """
import cupy as cp
from cupool.client_shim import exchange
exchange.address_of = lambda source: exchange.Address(("unix://@cupool-nobody",), "secret")
with cp.cuda.Device(0):
    a = cp.arange(300_000)
with cp.cuda.Device(1):
    print(int(cp.asarray(a).sum()), int(cp.asarray(a)[-1]))
"""
KILLED = """
import sys
import cupool
import cupy as cp
with cp.cuda.Device(0):
    a = cp.zeros(8_000_000)
    a.sum().get()
with cp.cuda.Device(1):
    cp.asarray(a).sum().get()
    print(cupool.lease().devices[0].server, flush=True)
    sys.stdin.readline()
    try:
        while True:
            b = [cp.asarray(a) for _ in range(4)]
            b[-1].sum().get()
    except Exception as exc:
        print(type(exc).__name__, flush=True)
    b = None
    try:
        print(int(cp.ones(5).sum()))
    except Exception as exc:  # of a copy that nobody had waited for
        print(int(cp.ones(5).sum()))
"""


@pytest.mark.parametrize("carrier", ["auto", "tcp", "grpc"])
def test_arrays_go_from_server_to_server(tmp_path: Path, carrier: str) -> None:
    (tmp_path / "script.py").write_text(COPIES)
    with a_pool(one=("--mock", "1"), two=("--mock", "1")) as pool:
        options = ("--gpus", "2", "--carrier", carrier, "--stats")
        script = pool.run(*options, "script.py", cwd=tmp_path)
        out, err = script.communicate(timeout=WITHIN_S)
    assert (out, script.returncode) == (SAID, 0), err
    assert re.findall(r"(\d+) arrays to other GPUs (.*)", err) == [
        ("3", "from server to server"),
        ("2", "from server to server"),
    ]
    # 24 MB were copied four times, and none of them came by here.
    received = [int(n.replace(",", "")) for n in re.findall(r"([\d,]+) received", err)]
    assert sum(received) < 10_000


def test_servers_that_cannot_reach_each_other(tmp_path: Path) -> None:
    (tmp_path / "script.py").write_text(UNREACHABLE)
    with no_pool() as pool:
        script = pool.run("--mock", "2", "--stats", "script.py", cwd=tmp_path, pool=False)
        out, err = script.communicate(timeout=WITHIN_S)
    assert (out, script.returncode) == ("44999850000 299999\n", 0), err
    assert "2 arrays to other GPUs by way of this process" in err


def test_a_server_that_dies_in_the_middle_of_copies(tmp_path: Path) -> None:
    (tmp_path / "script.py").write_text(KILLED)
    with a_pool(one=("--mock", "1"), two=("--mock", "1")) as pool:
        script = pool.run("--gpus", "2", "script.py", cwd=tmp_path)
        assert script.stdin is not None
        assert script.stdout is not None
        source = script.stdout.readline().strip()
        worker = pool.worker_of(source)
        script.stdin.write("go\n")
        script.stdin.flush()
        os.kill(worker, signal.SIGKILL)
        out, err = script.communicate(timeout=WITHIN_S)
    kind, usable = out.split()
    assert kind in ("RuntimeError", "LeaseLost", "RemoteError"), err
    assert (usable, script.returncode) == ("5", 0), err

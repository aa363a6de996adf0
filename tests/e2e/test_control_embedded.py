"""The pool that a run has of its own: quick, private, and gone without a trace."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import grpc
import pytest

from cupool.addresses import embedded_address
from cupool.proto.v1 import pool_pb2 as pb
from cupool.proto.v1 import pool_pb2_grpc as rpc
from tests.e2e.pools import Pool, no_pool

WITHIN_S = 60
USE = "import cupy as cp; print(int(cp.arange(5).sum()), flush=True)"


def sockets_of(token: str) -> list[str]:
    name = embedded_address(token).partition(":")[2]
    return [line for line in Path("/proc/net/unix").read_text().splitlines() if name in line]


def test_it_is_gone_after_the_script(tmp_path: Path) -> None:
    code = f"{USE}; import os; print(os.environ['CUPOOL_JOB_TOKEN'])"
    with no_pool() as pool:
        script = pool.run("-c", code, cwd=tmp_path, pool=False)
        out, err = script.communicate(timeout=WITHIN_S)
        assert out.startswith("10\n"), err
        assert err.count("\n") == 1 and "mock" in err
        pool.wait_until_gone()
        assert not sockets_of(out.split()[1])
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_it_is_gone_after_the_script_was_killed(number: int, tmp_path: Path) -> None:
    with no_pool() as pool:
        code = f"{USE}; import sys; sys.stdin.read()"
        script = pool.run("-c", code, cwd=tmp_path, pool=False)
        assert script.stdout is not None and script.stdout.readline() == "10\n"
        assert len(pool.processes()) == 3  # the script, the pool, the worker
        script.send_signal(number)
        assert script.wait(WITHIN_S) == -number
        pool.wait_until_gone()


def test_nothing_is_started_for_a_script_without_cupy(tmp_path: Path) -> None:
    with no_pool() as pool:
        code = "import sys; print('up', flush=True); sys.stdin.read()"
        script = pool.run("-c", code, cwd=tmp_path, pool=False)
        assert script.stdout is not None and script.stdout.readline() == "up\n"
        assert list(pool.processes()) == [script.pid]


def test_it_does_not_hold_the_scripts_pipes(tmp_path: Path) -> None:
    """Whoever reads the script's output must see its end when the script ends."""
    with no_pool() as pool:
        reader, writer = os.pipe()
        os.set_inheritable(writer, True)
        command = [sys.executable, "-m", "cupool", "run", "-c", USE]
        done = subprocess.run(
            command, env=pool.environment(), pass_fds=[writer], stdout=writer, stderr=writer,
            timeout=WITHIN_S,
        )  # fmt: skip
        os.close(writer)
        with os.fdopen(reader, "rb") as output:
            assert b"10\n" in output.read()
        assert done.returncode == 0


def test_it_is_not_the_scripts_child(tmp_path: Path) -> None:
    code = (
        f"{USE}; import os\n"
        "try:\n    os.waitpid(-1, os.WNOHANG)\n    print('a child')\n"
        "except ChildProcessError:\n    print('no child')\n"
    )
    with no_pool() as pool:
        script = pool.run(
            "-c", code.replace("; import os", "\nimport os"), cwd=tmp_path, pool=False
        )
        out, err = script.communicate(timeout=WITHIN_S)
        assert out == "10\nno child\n", err


def test_processes_that_start_at_once_share_one(tmp_path: Path) -> None:
    with no_pool() as pool:
        python = f"{sys.executable} -c '{USE}'"
        line = f"{python} & {python} & {python} & wait"
        script = pool.run("--", "sh", "-c", line, cwd=tmp_path, pool=False)
        out, err = script.communicate(timeout=WITHIN_S)
        assert out == "10\n" * 3, err


def test_an_orphan_keeps_it_until_done(tmp_path: Path) -> None:
    ready, marker = tmp_path / "ready", tmp_path / "fifo"
    os.mkfifo(ready)
    os.mkfifo(marker)
    child = (
        f"import cupy as cp; a = cp.arange(5); a.sum().item(); open({str(ready)!r}, 'w').close(); "
        f"open({str(marker)!r}).read(); print(int(a.sum()), flush=True)"
    )
    with no_pool() as pool:
        # The main process must not end before the other has its session.
        line = f'{sys.executable} -c "{child}" & cat {ready}; {sys.executable} -c "{USE}"'
        script = pool.run("--", "sh", "-c", line, cwd=tmp_path, pool=False)
        assert script.stdout is not None and script.stdout.readline() == "10\n"
        script.wait(WITHIN_S)
        marker.write_text("go on")
        assert script.stdout.readline() == "10\n"
        pool.wait_until_gone()


def test_who_lacks_the_token_is_refused(tmp_path: Path) -> None:
    with no_pool() as pool:
        tell = "import os, sys; print(os.environ['CUPOOL_JOB_TOKEN'], flush=True)"
        code = f"{USE}; {tell}; sys.stdin.read()"
        script = pool.run("-c", code, cwd=tmp_path, pool=False)
        assert script.stdout is not None
        script.stdout.readline()
        address = embedded_address(script.stdout.readline().strip())
        with grpc.insecure_channel(address) as channel:
            stub = rpc.BrokerStub(channel)  # type: ignore[no-untyped-call]
            with pytest.raises(grpc.RpcError) as caught:
                stub.Status(pb.StatusRequest(), timeout=10)
            assert caught.value.code() is grpc.StatusCode.UNAUTHENTICATED
            node = rpc.NodeStub(channel)  # type: ignore[no-untyped-call]
            with pytest.raises(grpc.RpcError) as caught:
                list(node.Serve(iter([pb.NodeEvent()]), timeout=10))
            assert caught.value.code() is grpc.StatusCode.UNIMPLEMENTED


def test_a_killed_worker_and_a_killed_pool_are_named(tmp_path: Path) -> None:
    code = (
        "import cupy as cp\na = cp.arange(5)\nprint('ready', flush=True)\n"
        "while True:\n    a.sum().item()\n"
    )
    for part, words in (
        ("session.process", "SIGKILL"),
        ("embedded", "the pool of this run is gone"),
    ):
        with no_pool() as pool:
            script = pool.run("-c", code, cwd=tmp_path, pool=False)
            assert script.stdout is not None and script.stdout.readline() == "ready\n"
            (victim,) = [pid for pid, line in pool.processes().items() if part in line]
            os.kill(victim, signal.SIGKILL)
            _, err = script.communicate(timeout=10)
            assert "LeaseLost" in err and words in err, err


def test_a_failing_start_says_why(tmp_path: Path) -> None:
    """A pool that cannot start must not leave the script waiting."""
    broken = tmp_path / "grpc"
    broken.mkdir()
    (broken / "__init__.py").write_text("raise ImportError('broken on purpose')")
    pool = Pool()
    env = pool.environment()
    env["PYTHONPATH"] = os.pathsep.join([str(tmp_path), env.get("PYTHONPATH", "")])
    command = [sys.executable, "-m", "cupool", "run", "-c", USE]
    done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=WITHIN_S)
    assert done.returncode == 1
    assert "PoolUnreachable" in done.stderr and "broken on purpose" in done.stderr
    pool.wait_until_gone()


def test_auto_does_the_same_by_hand(tmp_path: Path) -> None:
    with no_pool() as pool:
        code = f"import cupool.auto; {USE}"
        done = subprocess.run(
            [sys.executable, "-c", code], env=pool.environment(), capture_output=True, text=True,
            timeout=WITHIN_S, cwd=tmp_path,
        )  # fmt: skip
        assert done.stdout == "10\n", done.stderr
        late = (
            "import sys, types; sys.modules['cupy'] = types.ModuleType('cupy'); import cupool.auto"
        )
        done = subprocess.run(
            [sys.executable, "-c", late], env=pool.environment(), capture_output=True, text=True,
            timeout=WITHIN_S,
        )  # fmt: skip
        assert "cupy was imported before cupool.auto" in done.stderr


def test_several_mock_gpus_and_their_memory(tmp_path: Path) -> None:
    code = (
        "import cupy as cp\n"
        "print(cp.cuda.runtime.getDeviceCount(), cp.cuda.runtime.memGetInfo()[1] >> 20)\n"
    )
    with no_pool() as pool:
        words = ["--mock", "2", "--gpus", "2", "--mock-memory", "64MiB", "-c", code]
        out, err = pool.run(*words, cwd=tmp_path, pool=False).communicate(timeout=WITHIN_S)
        assert out == "2 64\n", err


def test_the_job_id_is_of_this_run_only(tmp_path: Path) -> None:
    """A run inside a run is a job of its own."""
    inner = f"{sys.executable} -m cupool run -c '{USE}'"
    with no_pool() as pool:
        line = f"{sys.executable} -c '{USE}'; {inner}"
        script = pool.run("--", "sh", "-c", line, cwd=tmp_path, pool=False)
        out, err = script.communicate(timeout=WITHIN_S)
        assert out == "10\n10\n", err

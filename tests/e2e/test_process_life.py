"""Threads, forks, Ctrl-C and the end of the process: the session follows its script."""

from __future__ import annotations

import signal
from pathlib import Path

from tests.e2e.running import TIMEOUT_S, cupool_run, start


def test_a_forked_child_has_a_session_of_its_own(tmp_path: Path) -> None:
    (tmp_path / "script.py").write_text(
        "import os, cupy as cp\n"
        "a = cp.arange(10)\nprint('parent', int(a.sum()), flush=True)\n"
        "pid = os.fork()\n"
        "if pid == 0:\n"
        "    try:\n"
        "        (a + 1).get()\n"
        "    except RuntimeError as exc:\n"
        "        print(type(exc).__name__, 'before a fork' in str(exc), flush=True)\n"
        "    print('child', int(cp.arange(5).sum()), flush=True)\n"
        "    del a\n"
        "    os._exit(0)\n"
        "os.waitpid(pid, 0)\n"
        "print('parent', int((a * 2).sum()))\n"
    )
    done = cupool_run(["script.py"], tmp_path)
    assert done.stdout.splitlines() == [
        "parent 45",
        "SessionClosed True",
        "child 10",
        "parent 90",
    ], done.stderr


def test_a_pool_of_forked_processes_computes(tmp_path: Path) -> None:
    (tmp_path / "script.py").write_text(
        "import multiprocessing as mp, cupy as cp\n"
        "def work(n):\n    return int(cp.arange(n).sum())\n"
        "print(work(3))\n"
        "with mp.get_context('fork').Pool(2) as pool:\n    print(pool.map(work, [3, 4, 5]))\n"
    )
    done = cupool_run(["script.py"], tmp_path)
    assert done.stdout == "3\n[3, 6, 10]\n", done.stderr


def test_threads_share_the_session_and_have_their_own_device(tmp_path: Path) -> None:
    (tmp_path / "script.py").write_text(
        "import threading, cupy as cp\n"
        "results = {}\n"
        "def work(i):\n"
        "    with cp.cuda.Device(i % 2):\n"
        "        x = cp.full((100,), i, dtype=cp.int64)\n"
        "        for _ in range(300):\n            x = x + 1\n"
        "        results[i] = (int(x[0]), x.device.id)\n"
        "threads = [threading.Thread(target=work, args=(i,)) for i in range(6)]\n"
        "[t.start() for t in threads]; [t.join() for t in threads]\n"
        "print(sorted(results.items()))\n"
    )
    done = cupool_run(["--mock", "2", "--gpus", "2", "script.py"], tmp_path)
    expected = [(i, (i + 300, i % 2)) for i in range(6)]
    assert done.stdout == f"{expected}\n", done.stderr


def test_garbage_is_released_from_any_thread(tmp_path: Path) -> None:
    (tmp_path / "script.py").write_text(
        "import gc, threading, cupy as cp\n"
        "pool = cp.get_default_memory_pool()\n"
        "class Cycle:\n"
        "    def __init__(self):\n        self.me = self; self.a = cp.zeros(1 << 16)\n"
        "def work():\n"
        "    for _ in range(50):\n        Cycle(); gc.collect()\n"
        "threads = [threading.Thread(target=work) for _ in range(3)]\n"
        "[t.start() for t in threads]; [t.join() for t in threads]\n"
        "gc.collect()\nprint(pool.used_bytes())\n"
    )
    done = cupool_run(["script.py"], tmp_path)
    assert done.stdout == "0\n", done.stderr


def test_ctrl_c_in_a_wait_leaves_the_session_usable(tmp_path: Path) -> None:
    (tmp_path / "script.py").write_text(
        "import cupy as cp\n"
        "a = cp.ones((1000, 1000)); a.sum().get()\n"
        "for _ in range(60):\n    a = (a @ a) / 1000\n"
        "try:\n"
        "    print('waiting', flush=True)\n    a.get()\n    print('not interrupted')\n"
        "except KeyboardInterrupt:\n    print('interrupted', flush=True)\n"
        "print(int(cp.arange(4).sum()))\n"
    )
    process = start(["script.py"], tmp_path)
    with process:
        assert process.stdout is not None
        assert process.stdout.readline() == "waiting\n"
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=TIMEOUT_S)
    assert (out, process.returncode) == ("interrupted\n6\n", 0), err


def test_an_interrupt_within_a_call_costs_the_link_and_not_the_session(tmp_path: Path) -> None:
    code = (
        "import cupy as cp\n"
        "from cupool.client_shim import session\n"
        "a = cp.arange(5)\n"
        "for turn in range(2):\n"
        "    session.session().channel._midway = True\n"  # as Ctrl-C leaves it, at times
        "    print(int(a.sum()))\n"
    )
    done = cupool_run(["-c", code], tmp_path)
    assert (done.stdout, done.returncode) == ("10\n10\n", 0), done.stderr


def test_a_script_may_end_without_waiting(tmp_path: Path) -> None:
    code = "import cupy as cp\na = cp.zeros(100)\nfor _ in range(1000): a += 1"
    done = cupool_run(["-c", code], tmp_path)
    assert done.returncode == 0
    assert len(done.stderr.splitlines()) == 1  # that the GPU is a mock


def test_out_of_memory_is_raised_at_the_call(tmp_path: Path) -> None:
    (tmp_path / "script.py").write_text(
        "import numpy as np, cupy as cp\n"
        "def refused(call):\n"
        "    try:\n        call()\n"
        "    except cp.cuda.memory.OutOfMemoryError as exc:\n"
        "        return 'Out of memory allocating' in str(exc) and isinstance(exc, MemoryError)\n"
        "a = cp.ones(1 << 20)\n"
        "print(refused(lambda: cp.zeros(1 << 40)))\n"
        "print(refused(lambda: cp.asarray(np.zeros(16 << 20))))\n"
        "print(refused(lambda: [a + i for i in range(9)]))\n"
        "pool = cp.get_default_memory_pool()\npool.free_all_blocks()\n"
        "pool.set_limit(size=10 << 20)\n"
        "print(refused(lambda: a + a))\n"
        "pool.set_limit(size=0)\nb = cp.ones(6 << 20)\n"
        "print(int(a.sum()), int(b.sum()), pool.used_bytes())\n"
    )
    done = cupool_run(["--mock-memory", "64MiB", "script.py"], tmp_path)
    expected = f"True\nTrue\nTrue\nTrue\n{1 << 20} {6 << 20} {7 << 23}\n"
    assert done.stdout == expected, done.stderr

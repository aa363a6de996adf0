"""`cupyx.distributed` and `cupy.cuda.nccl`: devices and processes that work together."""

from __future__ import annotations

import socket
from pathlib import Path

from tests.e2e.pools import WITHIN_S, a_pool, no_pool

COMMUNICATORS = """
import cupy as cp
from cupy.cuda import nccl

N = 3
comms = nccl.NcclCommunicator.initAll(N)
assert [c.rank_id() for c in comms] == [c.device_id() for c in comms] == [0, 1, 2]
assert {c.size() for c in comms} == {N}
sources, targets = [], []
for rank in range(N):
    with cp.cuda.Device(rank):
        sources.append(cp.arange(7.0) + rank)
        targets.append(cp.zeros(21))

def all_of(call):
    nccl.groupStart()
    for comm, source, target in zip(comms, sources, targets):
        call(comm, source.data.ptr, target.data.ptr)
    nccl.groupEnd()
    return [target.get().tolist() for target in targets]

D, SUM, MAX = nccl.NCCL_FLOAT64, nccl.NCCL_SUM, nccl.NCCL_MAX
print([t[:7] for t in all_of(lambda c, s, t: c.allReduce(s, t, 7, D, SUM, 0))])
print([t[:2] for t in all_of(lambda c, s, t: c.reduce(s, t, 2, D, MAX, 1, 0))])
print([t[:2] for t in all_of(lambda c, s, t: c.broadcast(s, t, 2, D, 2, 0))])
print([t[:2] for t in all_of(lambda c, s, t: c.reduceScatter(s, t, 2, D, SUM, 0))])
print([t[:6] for t in all_of(lambda c, s, t: c.allGather(s, t, 2, D, 0))])

def around(comm, source, target):
    comm.recv(target, 2, D, (comm.rank_id() + 2) % N, 0)
    comm.send(source, 2, D, (comm.rank_id() + 1) % N, 0)

print([t[:2] for t in all_of(around)])
parts = [c.commSplit(c.rank_id() % 2, -c.rank_id()) for c in comms]
print([(p.rank_id(), p.size(), p.device_id()) for p in parts])
nccl.groupStart()
for part, source, target in zip(parts, sources, targets):
    part.allReduce(source.data.ptr, target.data.ptr, 2, D, SUM, 0)
nccl.groupEnd()
print([target[:2].get().tolist() for target in targets])
print([p and p.size() for p in [c.commSplit(-1 if c.rank_id() else 5, 0) for c in comms]])
comms[0].destroy()
for wrong in (lambda: comms[0].size(), lambda: comms[1].send(0, 1, 99, 0, 0), nccl.groupEnd):
    try:
        wrong()
    except nccl.NcclError as exc:
        print(exc.status)
"""
OF_COMMUNICATORS = """\
[[3.0, 6.0, 9.0, 12.0, 15.0, 18.0, 21.0], [3.0, 6.0, 9.0, 12.0, 15.0, 18.0, 21.0], [3.0, 6.0, 9.0, 12.0, 15.0, 18.0, 21.0]]
[[3.0, 6.0], [2.0, 3.0], [3.0, 6.0]]
[[2.0, 3.0], [2.0, 3.0], [2.0, 3.0]]
[[3.0, 6.0], [9.0, 12.0], [15.0, 18.0]]
[[0.0, 1.0, 1.0, 2.0, 2.0, 3.0], [0.0, 1.0, 1.0, 2.0, 2.0, 3.0], [0.0, 1.0, 1.0, 2.0, 2.0, 3.0]]
[[2.0, 3.0], [0.0, 1.0], [1.0, 2.0]]
[(1, 2, 0), (0, 1, 1), (0, 2, 2)]
[[2.0, 4.0], [1.0, 2.0], [2.0, 4.0]]
[1, None, None]
4
4
5
"""  # noqa: E501
PROCESSES = """
import multiprocessing, sys
import numpy as np

N, PORT = 3, int(sys.argv[1])

def work(rank):
    import cupy as cp
    import cupyx.distributed
    from cupyx.scipy import sparse
    cp.cuda.Device(rank).use()
    comm = cupyx.distributed.init_process_group(N, rank, port=PORT)
    same, base = np.testing.assert_array_equal, cp.arange(6).reshape(2, 3)
    mine, out = (base + rank).astype("F"), cp.zeros((2, 3), "F")
    comm.all_reduce(mine, out)
    same(out.get(), base.get() * 3 + 3)
    comm.reduce(base + rank, big := cp.zeros((2, 3), base.dtype), root=2, op="prod")
    b = base.get()
    same(big.get(), b * (b + 1) * (b + 2) if rank == 2 else 0)
    rows, back = cp.stack([base + 10 * rank + i for i in range(N)]), cp.zeros((N, 2, 3), int)
    comm.all_to_all(rows, back)
    same(back.get(), np.stack([b + 10 * i + rank for i in range(N)]))
    one = cp.asfortranarray(cp.zeros((2, 3), int))
    comm.scatter(rows, one, root=1)
    comm.gather(one, back, root=0)
    comm.reduce_scatter(rows, part := cp.zeros((2, 3), int), 6, op="max")
    same(part.get(), b + 20 + rank)
    comm.all_gather(part, back, 6)
    same(back.get(), np.stack([b + 20 + i for i in range(N)]))
    for wrong, kind in ((lambda: comm.send(base[:, ::2], 0), RuntimeError),
                        (lambda: comm.send(base.astype("h"), 0), TypeError),
                        (lambda: comm.all_reduce(mine, out, "max"), ValueError)):
        try:
            wrong()
        except kind:
            continue
        raise AssertionError(kind)
    for form in ("csr", "csc", "coo"):
        m = sparse.random(5, 4, 0.4, form, "d", random_state=0) * (rank + 1)
        m = m.asformat(form)
        like = sparse.coo_matrix((5, 4)).asformat(form)
        comm.all_reduce(m, like)
        np.testing.assert_allclose(like.toarray().get(), m.toarray().get() * 6 / (rank + 1))
        comm.all_gather(m, many := [], 1)
        np.testing.assert_allclose(many[2].toarray().get(), like.toarray().get() / 2)
        if rank < 2:
            comm.send_recv(m, like, 1 - rank)
            np.testing.assert_allclose(float(like.sum()), float(m.sum()) / (rank + 1) * (2 - rank))
    part = comm._comm.commSplit(rank // 2, 0)
    assert (part.rank_id(), part.size()) == [(0, 2), (1, 2), (0, 1)][rank]
    ones = cp.ones(4, "f")
    part.allReduce(ones.data.ptr, ones.data.ptr, 4, 7, 0, cp.cuda.Stream.null.ptr)
    same(ones.get(), part.size())
    again = part.commSplit(part.rank_id(), 0)
    assert again.size() == 1 and part.commSplit(-1, 0) is None
    comm.barrier()
    comm.stop()

if __name__ == "__main__":
    started = [multiprocessing.Process(target=work, args=(rank,)) for rank in range(N)]
    for one in started:
        one.start()
    for one in started:
        one.join()
    print([one.exitcode for one in started])
"""
JOB = """
import sys
import cupy as cp
import cupyx.distributed
rank = int(sys.argv[1])
comm = cupyx.distributed.init_process_group(2, rank)
out = cp.zeros(300_000)
comm.all_reduce(cp.arange(300_000.0) * (rank + 1), out)
print(float(out[-1]))
comm.barrier()
"""


GONE = """
import multiprocessing, sys

def work(rank, device):
    import cupy as cp
    import cupyx.distributed
    cp.cuda.Device(device).use()
    comm = cupyx.distributed.init_process_group(2, rank)
    if rank == 0:
        comm.send(cp.arange(400_000.0), 1)
        return
    for _ in range(10):
        cp.ones((300, 300)) @ cp.ones((300, 300))  # the other one may end meanwhile
    comm.recv(got := cp.zeros(400_000), 0)
    print(float(got[-1]), flush=True)

if len(sys.argv) > 1:
    work(int(sys.argv[1]), 0)
else:
    started = [multiprocessing.Process(target=work, args=(rank, rank)) for rank in range(2)]
    for one in started:
        one.start()
    for one in started:
        one.join()
"""
DEAD = """
import os, signal, sys
import cupy as cp
import cupyx.distributed
rank = int(sys.argv[1])
comm = cupyx.distributed.init_process_group(3, rank)
comm.barrier()
if rank == 1:
    os.kill(os.getpid(), signal.SIGKILL)
for call in (lambda: comm.recv(cp.zeros(3), 1) or cp.cuda.Device().synchronize(), comm.barrier):
    try:
        call()
    except RuntimeError as exc:
        print(exc)
"""


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        return int(server.getsockname()[1])


def test_communicators_of_one_process(tmp_path: Path) -> None:
    (tmp_path / "script.py").write_text(COMMUNICATORS)
    with no_pool() as pool:
        script = pool.run("--mock", "3", "script.py", cwd=tmp_path, pool=False)
        out, err = script.communicate(timeout=WITHIN_S)
    assert (out, script.returncode) == (OF_COMMUNICATORS, 0), err


def test_operations_of_several_processes(tmp_path: Path) -> None:
    (tmp_path / "script.py").write_text(PROCESSES)
    with no_pool() as pool:
        command = ("--mock", "3", "script.py", str(free_port()))
        script = pool.run(*command, cwd=tmp_path, pool=False)
        out, err = script.communicate(timeout=2 * WITHIN_S)
    assert (out, script.returncode) == ("[0, 0, 0]\n", 0), err


def test_jobs_with_leases_of_their_own(tmp_path: Path) -> None:
    """Two `cupool run`, on GPUs of two servers, meet where CuPy's documents say."""
    port = free_port()
    lines = f"import os\nos.environ['CUPYX_DISTRIBUTED_PORT'] = '{port}'\n"
    (tmp_path / "script.py").write_text(lines + JOB)
    with a_pool(one=("--mock", "1"), two=("--mock", "1")) as pool:
        scripts = [pool.run("script.py", str(rank), cwd=tmp_path) for rank in range(2)]
        for script in scripts:
            out, err = script.communicate(timeout=WITHIN_S)
            assert (out, script.returncode) == ("899997.0\n", 0), err


def test_who_waits_for_a_dead_member_is_told_which(tmp_path: Path) -> None:
    port = free_port()
    lines = f"import os\nos.environ['CUPYX_DISTRIBUTED_PORT'] = '{port}'\n"
    (tmp_path / "script.py").write_text(lines + DEAD)
    with a_pool(one=("--mock", "2"), two=("--mock", "1")) as pool:
        scripts = [pool.run("script.py", str(rank), cwd=tmp_path) for rank in range(3)]
        for rank in (2, 0):
            out, err = scripts[rank].communicate(timeout=WITHIN_S)
            received, barrier = out.splitlines()
            assert "rank 1" in received and scripts[rank].returncode == 0, err
            gone = "rank 1 has ended and cannot come to the barrier of 3"
            assert barrier == gone or (rank == 2 and "rank 0" in barrier)


def test_what_was_sent_arrives_although_the_sender_ends_at_once(tmp_path: Path) -> None:
    port = free_port()
    lines = f"import os\nos.environ['CUPYX_DISTRIBUTED_PORT'] = '{port}'\n"
    (tmp_path / "script.py").write_text(lines + GONE)
    with a_pool(one=("--mock", "1"), two=("--mock", "1")) as pool:
        scripts = [pool.run("script.py", str(rank), cwd=tmp_path) for rank in range(2)]
        for script, said in zip(scripts, ("", "399999.0\n"), strict=True):
            out, err = script.communicate(timeout=WITHIN_S)
            assert (out, script.returncode) == (said, 0), err


def test_the_same_among_children_which_run_no_exit_handlers(tmp_path: Path) -> None:
    lines = f"import os\nos.environ['CUPYX_DISTRIBUTED_PORT'] = '{free_port()}'\n"
    (tmp_path / "script.py").write_text(lines + GONE)
    with no_pool() as pool:
        script = pool.run("--mock", "2", "script.py", cwd=tmp_path, pool=False)
        out, err = script.communicate(timeout=WITHIN_S)
    assert (out, script.returncode) == ("399999.0\n", 0), err

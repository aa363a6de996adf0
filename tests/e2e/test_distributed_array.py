"""`cupyx.distributed.array`: arrays in pieces on several devices, of one server and of two."""

from __future__ import annotations

from pathlib import Path

from tests.e2e.pools import WITHIN_S, a_pool, no_pool

DOCUMENTED = """
import cupy
from cupyx.distributed.array import DistributedArray, distributed_array, make_2d_index_map

A = distributed_array(
    cupy.arange(6).reshape(2, 3), make_2d_index_map([0, 2], [0, 1, 3], [[{0}, {1, 2}]]))
B = distributed_array(
    cupy.arange(12).reshape(3, 4),
    make_2d_index_map([0, 1, 3], [0, 2, 4], [[{0}, {0}], [{1}, {2}]]))
C = A @ B
assert isinstance(C, DistributedArray) and isinstance(C, cupy.ndarray)
print(C)
print({dev: [c.tolist() for c in own] for dev, own in C.all_chunks().items()})
R = C.change_mode("replica")
print({dev: [c.tolist() for c in own] for dev, own in R.all_chunks().items()})
print(C.mode, R.mode, sorted(C.devices), C.index_map[1])
print((R + R).max(axis=-1), cupy.add(C, R).sum(0).get().tolist())
wrong = (lambda: C[0], lambda: C + 1, lambda: C + cupy.ones((2, 4)), lambda: C.sum(),
         lambda: cupy.argmax(C, axis=0), lambda: cupy.linalg.norm(C), lambda: C.sum(5),
         lambda: A @ A, lambda: A + B, lambda: C.get(order="F"), lambda: C.data,
         lambda: C.reshard({0: slice(0, 0)}), lambda: C.reshard({0: 2}), lambda: C.reshard({9: 0}),
         lambda: distributed_array(C, {0: [slice(None, None, -1)]}), lambda: C.change_mode("no"),
         lambda: make_2d_index_map([0, 2], [1, 2], [[{0}]]),
         lambda: C.reshard({0: 0, 1: 1}) @ C.reshard({0: 0, 1: 1}).reshard({0: [slice(2)]}))
for call in wrong:
    try:
        call()
    except Exception as exc:
        print(type(exc).__name__, end=" ")
"""
OF_DOCUMENTED = """\
[[20 23 26 29]
 [56 68 80 92]]
{0: [[[0, 0], [0, 3]], [[0, 0], [6, 9]]], 1: [[[20, 23], [56, 65]]], 2: [[[26, 29], [74, 83]]]}
{0: [[[20, 23], [56, 68]], [[26, 29], [80, 92]]], 1: [[[20, 23], [56, 68]]], \
2: [[[26, 29], [80, 92]]]}
cupyx.distributed.array.SUM None [0, 1, 2] [(slice(0, 2, 1), slice(0, 2, 1))]
[ 58 184] [152, 182, 212, 242]
NotImplementedError RuntimeError RuntimeError RuntimeError NotImplementedError \
NotImplementedError AxisError ValueError ValueError RuntimeError NotImplementedError ValueError \
IndexError CUDARuntimeError ValueError ValueError ValueError ValueError """
RANDOM = """
import sys
import numpy as np
import cupy as cp
from cupyx.distributed import array as da

rng = np.random.default_rng(int(sys.argv[1]))
N = cp.cuda.runtime.getDeviceCount()
assert N == 4
MODES = [da.REPLICA, da.MIN, da.MAX, da.SUM, da.PROD]
NAMES = {"sum": da.SUM, "prod": da.PROD, "max": da.MAX, "min": da.MIN}

def some_slice(length):
    start = int(rng.integers(0, length))
    return slice(start, int(rng.integers(start + 1, length + 1)), int(rng.integers(1, 4)))

def some_map(shape):
    '''Random pieces, which overlap, and one device that has everything.'''
    made = {device: [tuple(some_slice(n) for n in shape) for _ in range(rng.integers(0, 3))]
            for device in range(N)}
    made[int(rng.integers(N))].append(slice(None) if shape else ())
    made = {device: own for device, own in made.items() if own}
    return dict(sorted(made.items(), key=lambda _: rng.random()))

def same(distributed, host):
    assert distributed.shape == host.shape and distributed.dtype == host.dtype
    np.testing.assert_array_equal(distributed.get(), host)

for _ in range(12):
    shape = tuple(rng.integers(1, 7, rng.integers(1, 4)).tolist())
    host = rng.integers(1, 4, shape)
    whole = host if rng.random() < 0.5 else cp.asarray(host)
    kept = []
    x = da.distributed_array(whole, some_map(shape), MODES[rng.integers(5)])
    for _ in range(5):
        kept.append((x, host))
        step = rng.integers(5)
        if step == 0:
            x = x.reshard(some_map(host.shape))
        elif step == 1:
            x = x.change_mode(MODES[rng.integers(5)])
        elif step == 2:
            other = rng.integers(1, 4, host.shape)
            y = da.distributed_array(other, some_map(host.shape), MODES[rng.integers(5)])
            x, host = x * y, host * other
        elif step == 3:
            x, host = cp.negative(x), -host
        elif host.ndim:
            name, axis = list(NAMES)[rng.integers(4)], int(rng.integers(-host.ndim, host.ndim))
            x, host = getattr(cp, name)(x, axis), getattr(host, name)(axis)
            assert x.mode is NAMES[name]
    for x, host in kept + [(x, host)]:  # nothing that came before has changed
        same(x, host)

def some_blocks(length):
    cuts = rng.choice(np.arange(1, length), rng.integers(0, 3), False)
    return [0, *sorted(cuts.tolist()), length]

for _ in range(4):
    m, n, k = rng.integers(3, 9, 3).tolist()
    rows, columns, inner = some_blocks(m), some_blocks(n), some_blocks(k)
    everybody = set(range(N))
    left = da.make_2d_index_map(rows, inner, [
        [everybody for _ in inner[1:]] for _ in rows[1:]])
    right = da.make_2d_index_map(inner, columns, [
        [{int(rng.integers(N))} for _ in columns[1:]] for _ in inner[1:]])
    a, b = rng.integers(0, 9, (m, k)), rng.integers(0, 9, (k, n))
    x = da.distributed_array(a, left, MODES[rng.integers(5)])
    y = da.distributed_array(b, right, MODES[rng.integers(5)])
    product = x @ y if rng.random() < 0.5 else np.matmul(x, y)
    assert product.mode is da.SUM
    same(product, a @ b)
    same(product.sum(1), (a @ b).sum(1))
    square = cp.ElementwiseKernel("int64 x, int64 y", "int64 z", "z = x * y", "square")
    same(square(product, product), (a @ b) ** 2)
    row = da.distributed_array(a[0], {d: [i[1:] for i in own] for d, own in left.items()})
    same(row.reshard({d: [i[:1] for i in own] for d, own in right.items()}) @ y, a[0] @ b)
print("equal")
"""


def test_what_the_documentation_shows_and_what_is_refused(tmp_path: Path) -> None:
    (tmp_path / "script.py").write_text(DOCUMENTED)
    with no_pool() as pool:
        script = pool.run("--mock", "3", "script.py", cwd=tmp_path, pool=False)
        out, err = script.communicate(timeout=WITHIN_S)
    assert (out, script.returncode) == (OF_DOCUMENTED, 0), err


def test_random_pieces_are_as_numpys_arrays(tmp_path: Path) -> None:
    (tmp_path / "script.py").write_text(RANDOM)
    with a_pool(one=("--mock", "2"), two=("--mock", "2")) as pool:
        script = pool.run("--gpus", "4", "script.py", "1", cwd=tmp_path)
        out, err = script.communicate(timeout=2 * WITHIN_S)
    assert (out, script.returncode) == ("equal\n", 0), err

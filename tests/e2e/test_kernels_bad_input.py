"""Kernels that hurt, in a pool of real processes: whoever sent one gets a GPU's error, all others
nothing, and the server goes on."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cupy import kernel_packages
from tests.e2e.pools import WITHIN_S, a_pool

kernel_packages.needed()

NEIGHBOUR = """
import sys
import cupy as cp
a = cp.arange(5.0)
add = cp.RawKernel('extern "C" __global__ void add(double* x) { x[threadIdx.x] += 1; }', "add")
for line in sys.stdin:
    add((1,), (5,), (a,))
    print(float(a.sum()), flush=True)
"""
BAD = """
import json, sys
import cupool
import cupy as cp

DEEP = '''__device__ __noinline__ double deep(volatile double* x, int n) {
    volatile double kept[64]; kept[n % 64] = x[0];
    return n < 0 ? 0 : deep(x, n + 1) + kept[n % 64]; }
'''
BODIES = json.loads(sys.argv[1])
DEAD = (700, 702, 710, 716, 718, 719)

def attempt(body, block=1, shared=0):
    code = DEEP + 'extern "C" __global__ void f(double* x) {' + body + '}'
    x = cp.arange(4.0)
    cp.RawKernel(code, "f")((1,), (block,), (x,), shared_mem=shared)
    cp.cuda.Device().synchronize()
    return x

def status_of(action, *arguments):
    try:
        action(*arguments)
    except Exception as exc:
        return getattr(exc, "status", type(exc).__name__)
    return 0

for name, (body, *more) in BODIES.items():
    first = status_of(attempt, body, *more)
    again = status_of(lambda: cp.arange(3.0).sum().get())
    if first in DEAD:
        cupool.reset()
    well = attempt("x[0] = 7;").get().tolist() == [7, 1, 2, 3]
    print("found", json.dumps([name, first, again, well]), flush=True)
    sys.stdin.readline()
"""
BODIES: dict[str, tuple[object, ...]] = {
    "does not compile": ("x[0] = nothing;",),
    "includes a host file": ('\n#include "/etc/passwd"\n',),
    "too many threads": ("x[0] = 1;", 1025),
    "too much shared memory": ("x[0] = 1;", 1, 1 << 20),
    "loops for ever": ("for (volatile int i = 0; ; ) i = 1 - i;",),
    "waits for ever": ("while (*(volatile double*)x == 0) ;",),
    "threads wait for each other": ("if (threadIdx.x) __syncthreads(); else while (x[1]) ;", 2),
    "writes wild": ("x[1ll << 33] = 1;",),
    "writes to a null pointer": ("*(int*)(long long)x[0] = 1;",),
    "one element too far": ("x[4 + 64] = 1;",),
    "misaligned": ("*(double*)((char*)x + 4) = 1;",),
    "recurses without end": ("x[0] = deep(x, 0);",),
    "asserts": ("assert(x[0] == 5);",),
    "traps": ("__trap();",),
}
EXPECTED = {
    "does not compile": ("CompileException", 0),
    "includes a host file": ("ValueError", 0),
    "too many threads": (1, 0),
    "too much shared memory": (1, 0),
    "loops for ever": (702, 702),
    "waits for ever": (702, 702),
    "threads wait for each other": (702, 702),
    "writes wild": (700, 700),
    "writes to a null pointer": (700, 700),
    "one element too far": (700, 700),
    "misaligned": (716, 716),
    "recurses without end": (719, 719),
    "asserts": (710, 710),
    "traps": (719, 719),
}


QUICK = ("includes a host file", "loops for ever", "writes wild")
SLOW = tuple(name for name in BODIES if name not in QUICK)


@pytest.mark.parametrize("names", [QUICK, pytest.param(SLOW, marks=pytest.mark.slow)])
def test_bad_kernels_hurt_nobody_else(tmp_path: Path, names: tuple[str, ...]) -> None:
    (tmp_path / "neighbour.py").write_text(NEIGHBOUR)
    (tmp_path / "bad.py").write_text(BAD)
    with a_pool() as pool:
        pool.start_server("s", "--mock", "1", "--mock-kernel-time", "500ms")
        share = ("--share", "0.4")
        neighbour = pool.run(*share, "neighbour.py", cwd=tmp_path)
        bad = pool.run(*share, "bad.py", json.dumps({n: BODIES[n] for n in names}), cwd=tmp_path)
        assert neighbour.stdin and neighbour.stdout and bad.stdin and bad.stdout
        total, found = 10.0, {}
        for name in names:
            # An assertion says on the script's output what was asserted.
            line = next((each for each in bad.stdout if each.startswith("found ")), "")
            assert line, bad.communicate(timeout=WITHIN_S)[1]
            said, first, again, well = json.loads(line.removeprefix("found "))
            found[said] = (first, again)
            assert (said, well) == (name, True)
            neighbour.stdin.write("next\n")
            neighbour.stdin.flush()
            total += 5
            assert neighbour.stdout.readline() == f"{total}\n"
            bad.stdin.write("next\n")
            bad.stdin.flush()
        assert found == {name: EXPECTED[name] for name in names}
        for script in (bad, neighbour):
            script.communicate(timeout=WITHIN_S)
            assert script.returncode == 0

"""Grid-stride loops, whose threads take turns: the same results in another order."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
from tests.unit.ptx_harness import Bench, closing, needs_nvrtc

from cupool.pool_server.devices.ptx.faults import KernelFault
from cupool.pool_server.devices.ptx.slices import Slices
from cupool.pool_server.devices.ptx.syntax import parse

pytestmark = needs_nvrtc

HEAD = 'extern "C" __global__ void k(const int* a, int* c, int n) {'
LOOP = "for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x)"
BODIES = {
    "one": LOOP + " c[i] = 3 * a[i] + i;",
    "inner": LOOP + " { int s = 0; for (int j = 0; j <= (a[i] & 7); j++) s += a[(i + j) % n] ^ j; c[i] = s; }",
    "break": LOOP + " { if (a[i] % 97 == 0) break; c[i] += a[i]; }",
    "continue": LOOP + " { if (a[i] & 1) continue; c[i] = a[i] * i; }",
    "return": LOOP + " { if (a[i] % 97 == 5) return; c[i] = i; } c[blockIdx.x * blockDim.x + threadIdx.x] += 7;",
    "two": LOOP + " c[i] = a[i];" + LOOP.replace("int i", "unsigned i") + " c[i] += a[i] * 2;",
    "carried": "int s = 0; bool odd = false; double d = 1;" + LOOP + " { s = s * 3 + a[i]; odd ^= s & 1; d *= 0.5; }"
               " c[blockIdx.x * blockDim.x + threadIdx.x] = s + odd + (int)(d * 4096);",
    "pointer": "const int* p = a + blockIdx.x * blockDim.x + threadIdx.x;"
               " for (int* q = c + (p - a); q < c + n; p += gridDim.x * blockDim.x, q += gridDim.x * blockDim.x) *q = *p - 1;",
    "nested": "for (int r = 0; r < 3; r++) " + LOOP + " c[i] += a[i] + r;",
    "late": "if (threadIdx.x % 3) " + LOOP + " c[i] = 1; else " + LOOP + " c[i] = a[i] + 2;",
}  # fmt: skip


@pytest.fixture(scope="module")
def bench() -> Iterator[Bench]:
    yield from closing(Bench)


def serial(bench: Bench, body: str, grid: int, block: int, a: np.ndarray, c: np.ndarray) -> None:
    """Run one thread after the other: each as a launch that says which thread it is."""
    for old, new in (("blockIdx.x", "_b"), ("threadIdx.x", "_t"), ("gridDim.x", "_g"), ("blockDim.x", "_s")):  # fmt: skip
        body = body.replace(old, new)
    body = body.replace("return;", "goto end;") + " end:;"
    source = f"""extern "C" __global__ void k(const int* a, int* c, int n, int _g, int _s) {{
        for (int _b = 0; _b < _g; _b++) for (int _t = 0; _t < _s; _t++) {{ {body} }} }}"""
    bench.run(source, 1, 1, a, c, len(a), grid, block)


@pytest.mark.parametrize(("grid", "block"), [(3, 64), (2, 300), (1, 1), (5, 1024)])
@pytest.mark.parametrize("name", BODIES)
def test_threads_that_take_turns_compute_the_same(bench, name, grid, block):
    source = HEAD + BODIES[name] + "}"
    assert Slices(parse(bench.engine.compile(source).ptx.decode()).functions["k"]).saved
    rng = np.random.default_rng(grid)
    a = rng.integers(0, 1000, 10_007).astype(np.int32)
    out, want = np.zeros_like(a), np.zeros_like(a)
    bench.run(source, grid, block, a, out, len(a))
    serial(bench, BODIES[name], grid, block, a, want)
    assert out.tolist() == want.tolist()


def test_rows_of_a_block_of_three_dimensions(bench):
    source = """extern "C" __global__ void k(int* c, int n) {
        int t = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
        int s = blockDim.x * blockDim.y * blockDim.z;
        for (int i = blockIdx.x * s + t; i < n; i += s * gridDim.x) c[i] += i + threadIdx.z; }"""
    out = np.zeros(5000, np.int32)
    bench.run(source, 3, (5, 3, 2), out, len(out))
    assert out.tolist() == [i + i % 30 // 15 for i in range(5000)]


def test_a_fault_names_the_thread_whose_turn_it_is():
    bench = Bench()
    a, c = np.zeros(1000, np.int32), np.zeros(990, np.int32)
    with pytest.raises(
        KernelFault, match=r"block \(1, 0, 0\), thread \(90, 0, 0\): access of 4 bytes"
    ):
        bench.run(HEAD + LOOP + " c[i] = a[i]; }", 2, 100, a, c, 1000)
    bench.engine.close()


def test_a_loop_without_end_is_ended():
    bench = Bench(timeout_s=0.2)
    source = HEAD + LOOP + " { c[i] = a[i]; i -= 2 * n; } }"
    with pytest.raises(KernelFault, match="did not end within"):
        bench.run(source, 2, 64, np.zeros(64, np.int32), np.zeros(64, np.int32), 64)
    bench.engine.close()


@pytest.mark.parametrize(
    "body",
    [
        LOOP + " { int x[40]; for (int j = 0; j < 40; j++) x[j] = a[i] * j; c[i] = x[a[i] & 31]; }",
        LOOP + ' { printf("%d", a[i]); c[i] = 1; }',
        LOOP + " c[i] = atomicAdd(c, a[i]);",
        "for (int i = threadIdx.x; i < n; i += blockDim.x) c[i] = a[i];",
    ],
)
def test_what_is_not_cut(bench, body):
    function = parse(bench.engine.compile(HEAD + body + "}").ptx.decode()).functions["k"]
    assert not Slices(function).saved

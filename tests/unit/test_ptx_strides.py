"""Grid-stride loops run step by step over all threads, and only where that changes nothing."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
from tests.unit.ptx_harness import Bench, closing, needs_nvrtc

from cupool.pool_server.devices.ptx.faults import KernelFault

pytestmark = needs_nvrtc

LOOP = """{prelude}
extern "C" __global__ void k(const float* x, float* y, {type} n, float* all) {{
  const {type} first = blockIdx.x * ({type})blockDim.x + threadIdx.x;
  const {type} step = ({type})blockDim.x * gridDim.x;
  {before}
  #pragma unroll 1
  for ({type} i = first; i < n; i += step) {{ {body} }}
  {after}
}}"""
ALWAYS = ("copy", "own variables")
"""Of the others, the compiler makes code that is not recognised for some types."""
TURNED = {
    "copy": "y[i] = x[i] + 1;",
    "branch": "if (x[i] > 50) y[i] = x[i]; else if (x[i] > 20) y[i] = -x[i];",
    "uniform": "y[i] = x[n - 1 - i] * all[0];",
    "own variables": "float a = x[i] * 2; if (a > 9) a = 1 - a; y[i] = a;",
    "add": "y[i] += x[i];",
    "gather": "y[i] = x[(i * 7) % n];",
    "skip": "if (x[i] > 50) continue; y[i] = 3;",
}
KEPT = {
    "a sum": ("float sum = 0;", "sum += x[i];", "y[first] = sum;"),
    "a count that is read": ("int turn = 0;", "y[i] = turn++;", ""),
    "the thread's number": ("", "y[i] = threadIdx.x;", ""),
    "the first step": ("", "y[i] = first;", ""),
    "how far threads stride": ("", "y[i] = i >= step ? 1 : 2;", ""),
    "an end in the middle": ("", "if (x[i] > 50) break; y[i] = 1;", ""),
    "a return": ("", "if (x[i] > 50) return; y[i] = 1;", ""),
    "something after it": ("", "y[i] = 1;", "all[blockIdx.x] = 5;"),
    "something before it": ("y[first] = 7;", "y[i] += 1;", ""),
    "shared memory": ("__shared__ float s[4]; s[0] = blockIdx.x;", "y[i] = s[0];", ""),
    "a loop within": ("", "for (int j = 0; j < x[i]; ++j) y[i] += j * x[j];", ""),
}
GEOMETRIES = [(1, 1), (1, 32), (3, 64), (7, 100), (2000, 2)]


@pytest.fixture(scope="module")
def bench() -> Iterator[Bench]:
    yield from closing(Bench)


def source(
    body: str, before: str = "", after: str = "", type: str = "int", prelude: str = ""
) -> str:
    return LOOP.format(body=body, before=before, after=after, type=type, prelude=prelude)


def run(bench: Bench, code: str, grid: object, block: object, n: int, wide: bool) -> list[float]:
    x = np.arange(5000, dtype=np.float32) % 97
    y, every = np.zeros(5000, np.float32), np.full(4000, 2, np.float32)
    bench.run(code, grid, block, x, y, np.int64(n) if wide else n, every)
    return [*y.tolist(), *every.tolist()]


def hidden(code: str) -> str:
    """Return the same kernel in a form that is not recognised: the step passes through memory."""
    seen = code.replace("float* all)", "float* all) { volatile int one[1]; one[0] = 1;", 1)
    return seen.replace("i += step", "i += step * one[0]") + "}"


@pytest.mark.parametrize("type", ["int", "long long", "size_t", "unsigned"])
@pytest.mark.parametrize("case", TURNED)
def test_a_loop_that_can_be_turned(bench: Bench, case: str, type: str) -> None:
    code = source(TURNED[case], type=type)
    assert bench.function(code).facts.strides or case not in ALWAYS
    plain = hidden(code)
    assert not bench.function(plain).facts.strides
    wide = type in ("long long", "size_t")
    for grid, block in GEOMETRIES:
        for n in (0, 1, 31, 1024, 1025, 5000):
            if case in ("gather", "uniform") and n == 0:
                continue
            assert run(bench, code, grid, block, n, wide) == run(
                bench, plain, grid, block, n, wide
            ), (grid, block, n)


def test_the_steps_of_one_thread_stay_in_order(bench: Bench) -> None:
    code = source("y[i % 8] = y[i % 8] * 0.5f + i; if (i % 8 == 0) all[i] = y[0];")
    assert bench.function(code).facts.strides
    for grid, block in ((1, 8), (2, 4), (1, 1)):
        assert run(bench, code, grid, block, 3000, False) == run(
            bench, hidden(code), grid, block, 3000, False
        )


@pytest.mark.parametrize("case", KEPT)
def test_a_loop_that_must_stay(bench: Bench, case: str) -> None:
    before, body, after = KEPT[case]
    code = source(body, before, after)
    assert not bench.function(code).facts.strides


def test_a_grid_of_two_dimensions_runs_thread_by_thread(bench: Bench) -> None:
    code = source("y[i] += 1;")
    assert bench.function(code).facts.strides
    result = run(bench, code, (2, 3), (4, 5), 100, False)
    assert result[:101] == [3 * 5] * 100 + [0]


def test_a_fault_names_the_thread_that_would_have_come_to_it() -> None:
    x, y = np.zeros(3000, np.float32), np.zeros(2500, np.float32)
    block, thread = divmod(2500 % 128, 32)
    for bench in closing(Bench):
        with pytest.raises(KernelFault) as caught:
            bench.run(source("y[i] = x[i];"), 4, 32, x, y, 3000, np.zeros(1, np.float32))
        assert f"block ({block}, 0, 0), thread ({thread}, 0, 0)" in str(caught.value)

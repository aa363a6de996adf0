"""How long the mock GPU takes to compile kernels that include CUDA's large headers.

    python benchmarks/kernel_headers.py [--rounds 3]

Milliseconds of one kernel each: NVRTC, and all that follows, nothing cached, the compiler's process
running; the least of the rounds. Needs the extra `mock-kernels`, and for cuRAND nvidia-curand-cu12.
"""

from __future__ import annotations

import argparse
import importlib.util
import time

from cupool.pool_server.devices.ptx.engine import AllocationTable, Engine

_KERNEL = 'extern "C" __global__ void k(float* a) { int i = threadIdx.x; %s }'
_CUB = """__shared__ typename S::TempStorage room; """
SOURCES = {
    "vector add": _KERNEL % "a[i] += a[i + 32];",
    "`cuda_fp16.h`, `hexp`": "#include <cuda_fp16.h>\n"
    + _KERNEL % "a[i] = __half2float(hexp(__float2half(a[i])));",
    "`cupy/carray.cuh` and the other headers of elementwise kernels": "#include <cupy/carray.cuh>\n"
    "#include <cupy/atomics.cuh>\n#include <cupy/math_constants.h>\n" + _KERNEL % "a[i] += 1;",
    "`cupy/complex.cuh`, `exp` and a quotient": "#include <cupy/complex.cuh>\n"
    + _KERNEL % "complex<float> z(a[i], 1); a[i] = (exp(z) / z).real();",
    "`cuda/std/complex`": "#include <cuda/std/complex>\n"
    + _KERNEL % "cuda::std::complex<float> z(a[i], 1); a[i] = (z * z).real();",
    "`cooperative_groups.h`, a grid that waits": "#include <cooperative_groups.h>\n"
    + _KERNEL % "cooperative_groups::this_grid().sync(); a[i] += 1;",
    "`cooperative_groups/reduce.h`": "#include <cooperative_groups.h>\n"
    "#include <cooperative_groups/reduce.h>\nnamespace cg = cooperative_groups;\n"
    + _KERNEL
    % "auto t = cg::tiled_partition<32>(cg::this_thread_block());"
    " a[i] = cg::reduce(t, a[i], cg::plus<float>());",
    "`cub/block/block_reduce.cuh`": "#include <cub/block/block_reduce.cuh>\n"
    "typedef cub::BlockReduce<float, 128> S;\n"
    + _KERNEL
    % f"{_CUB} float s = S(room).Sum(a[i]); if (!i) a[0] = s;",
    "`cub/block/block_radix_sort.cuh`": "#include <cub/block/block_radix_sort.cuh>\n"
    "typedef cub::BlockRadixSort<float, 128, 4> S;\n"
    + _KERNEL
    % f"{_CUB} float x[4] = {{a[i], a[i + 1], a[i + 2], a[i + 3]}};"
    " S(room).Sort(x); a[i] = x[0];",
    "`curand_kernel.h`, Philox": "#include <curand_kernel.h>\n"
    + _KERNEL % "curandStatePhilox4_32_10_t s; curand_init(1, i, 0, &s); a[i] = curand_normal(&s);",
    "`curand_kernel.h`, XORWOW": "#include <curand_kernel.h>\n"
    + _KERNEL % "curandState s; curand_init(1, i, 0, &s); a[i] = curand_normal(&s);",
}


def measure(engine: Engine, source: str) -> tuple[float, float]:
    """Return milliseconds of NVRTC, and of what follows, for a source that is new."""
    source += f"\n__device__ int fresh_{time.time_ns()};"
    start = time.perf_counter()
    ptx = engine.compile(source).ptx
    middle = time.perf_counter()
    engine.load(ptx)
    return (middle - start) * 1e3, (time.perf_counter() - middle) * 1e3


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--rounds", type=int, default=3)
    rounds = parser.parse_args().rounds
    engine = Engine(lambda: AllocationTable.of_arrays([]))
    engine.load(engine.compile(SOURCES["vector add"] + "\n// the first one").ptx)
    for name, source in SOURCES.items():
        if "curand" in name and importlib.util.find_spec("nvidia.curand") is None:
            print(f"| {name} | nvidia-curand-cu12 is not installed |")
            continue
        each = [measure(engine, source) for _ in range(rounds)]
        nvrtc, then = min(each, key=sum)
        print(f"| {name} | {nvrtc:.0f} | {then:.0f} | {nvrtc + then:.0f} |")
    engine.close()


if __name__ == "__main__":
    main()

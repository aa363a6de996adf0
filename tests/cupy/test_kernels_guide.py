"""Programs of the kind that CuPy's user guide teaches: kernels with arrays, streams and memory."""

from __future__ import annotations

import numpy as np
import pytest

from tests.cupy import kernel_packages

import cupy as cp  # isort: skip
import cupyx
from cupyx import jit

kernel_packages.needed()


def test_an_elementwise_kernel_reads_its_neighbours() -> None:
    smooth = cp.ElementwiseKernel(
        "raw T x, int32 radius",
        "T y",
        """
        T sum = 0; int count = 0;
        for (int j = -radius; j <= radius; ++j) {
          const ptrdiff_t k = i + j;
          if (k < 0 || k >= n) continue;
          sum += x[k]; ++count;
        }
        y = sum / count
        """,
        "smooth",
        loop_prep="const ptrdiff_t n = _ind.size()",
    )
    x = np.random.default_rng(0).standard_normal(3000)
    y = smooth(cp.asarray(x), 2, cp.empty(3000))
    sums = np.convolve(x, np.ones(5), "same")
    counts = np.convolve(np.ones(3000), np.ones(5), "same")
    np.testing.assert_allclose(y.get(), sums / counts, rtol=1e-12, atol=1e-14)


def test_a_loop_body_may_skip_the_rest_or_return() -> None:
    keep = cp.ElementwiseKernel("int64 x", "int64 y", "if (x % 2) continue; y = x")
    leave = cp.ElementwiseKernel("int64 x", "int64 y", "if (x % 2) return; y = x")
    for kernel in (keep, leave):
        y = kernel(cp.arange(2500), cp.full(2500, -1))
        if kernel is keep:
            wanted = np.where(np.arange(2500) % 2, -1, np.arange(2500))
            np.testing.assert_array_equal(y.get(), wanted)
        else:
            assert int(y[0]) == 0


def test_a_reduction_in_a_structure_of_ones_own() -> None:
    extremes = cp.ReductionKernel(
        "T x",
        "T low, T high",
        "Range(x, x)",
        "Range(min(a.low, b.low), max(a.high, b.high))",
        "low = a.low, high = a.high",
        "Range(1e300, -1e300)",
        "extremes",
        reduce_type="Range",
        preamble="""struct Range {
          double low, high;
          __device__ Range() {}
          __device__ Range(double l, double h) : low(l), high(h) {}
        };""",
    )
    x = np.random.default_rng(1).standard_normal((40, 50))
    low, high = cp.empty(40), cp.empty(40)
    extremes(cp.asarray(x), low, high, axis=1)
    np.testing.assert_array_equal(low.get(), x.min(axis=1))
    np.testing.assert_array_equal(high.get(), x.max(axis=1))


def test_a_raw_kernel_of_complex_numbers() -> None:
    kernel = cp.RawKernel(
        r"""#include <cupy/complex.cuh>
        extern "C" __global__ void rotate(complex<float>* z, float angle, int n) {
          const int i = blockDim.x * blockIdx.x + threadIdx.x;
          if (i < n) z[i] *= complex<float>(cosf(angle), sinf(angle));
        }""",
        "rotate",
    )
    z = cp.arange(100, dtype=np.complex64) + 1j
    before = z.get()
    kernel((4,), (32,), (z, np.float32(0.5), np.int32(100)))
    np.testing.assert_allclose(z.get(), before * np.exp(0.5j), rtol=1e-5)


def test_a_structure_goes_by_value() -> None:
    layout = np.dtype([("scale", "f8"), ("shift", "i4"), ("weights", "f4", (3,))], align=True)
    kernel = cp.RawKernel(
        r"""struct Options { double scale; int shift; float weights[3]; };
        extern "C" __global__ void apply(Options o, double* x) {
          x[threadIdx.x] = o.scale * threadIdx.x + o.shift + o.weights[threadIdx.x];
        }""",
        "apply",
    )
    options = np.zeros((), layout)
    options["scale"], options["shift"], options["weights"] = 0.5, 7, (1, 2, 3)
    x = cp.empty(3)
    kernel((1,), (3,), (options, x))
    assert x.get().tolist() == [8, 9.5, 11]


def test_constant_memory_and_templates_of_one_module() -> None:
    module = cp.RawModule(
        code=r"""
        __constant__ float factors[4];
        template <typename T> __global__ void scale(T* x, int n) {
          const int i = blockIdx.x * blockDim.x + threadIdx.x;
          if (i < n) x[i] *= (T)factors[i % 4];
        }""",
        options=("--std=c++14",),
        name_expressions=("scale<float>", "scale<long long>"),
    )
    place = module.get_global("factors")
    cp.ndarray((4,), np.float32, place)[...] = cp.asarray([1, 2, 3, 4], np.float32)
    for dtype, name in ((np.float32, "scale<float>"), (np.int64, "scale<long long>")):
        x = cp.ones(10, dtype)
        module.get_function(name)((1,), (10,), (x, np.int32(10)))
        assert x.get().tolist() == [1, 2, 3, 4, 1, 2, 3, 4, 1, 2]


def test_kernels_and_copies_of_several_streams() -> None:
    add = cp.RawKernel(
        'extern "C" __global__ void add(float* x, float v) { x[blockIdx.x] += v; }', "add"
    )
    streams = [cp.cuda.Stream(non_blocking=True) for _ in range(3)]
    done = cp.cuda.Event()
    shared, results = cp.zeros(50, np.float32), []
    cp.cuda.Device().synchronize()
    with streams[0]:
        add((50,), (1,), (shared, np.float32(2)))
        done.record()
    for number, stream in enumerate(streams[1:]):
        stream.wait_event(done)
        with stream:
            own = shared * 2
            add((50,), (1,), (own, np.float32(number)))
            results.append(cp.asnumpy(own))
    for stream in streams:
        stream.synchronize()
    assert [r.tolist() for r in results] == [[4] * 50, [5] * 50]


def test_a_kernel_writes_into_memory_of_the_pool() -> None:
    pool = cp.get_default_memory_pool()
    before = pool.used_bytes()
    memory = cp.cuda.alloc(4096)
    x = cp.ndarray((512,), np.float64, memptr=memory)
    cp.ElementwiseKernel("", "float64 y", "y = i", "number")(x)
    assert pool.used_bytes() - before >= 4096
    np.testing.assert_array_equal(x.get(), np.arange(512.0))
    del x, memory
    assert pool.used_bytes() == before


@cp.fuse()
def clipped_distance(x, y):  # type: ignore[no-untyped-def]
    return cp.minimum(cp.sqrt((x - y) * (x - y)), 1.0)


def total(x, y, size):  # type: ignore[no-untyped-def]
    tid = jit.blockIdx.x * jit.blockDim.x + jit.threadIdx.x
    steps = jit.gridDim.x * jit.blockDim.x
    mine = cp.float64(0)
    for i in range(tid, size, steps):
        mine += x[i]
    jit.atomic_add(y, 0, mine)


@pytest.mark.filterwarnings("ignore:.*is experimental:FutureWarning")
def test_python_functions_as_kernels() -> None:
    x, y = np.random.default_rng(2).standard_normal((2, 1000))
    result = clipped_distance(cp.asarray(x), cp.asarray(y))
    np.testing.assert_allclose(result.get(), np.minimum(np.abs(x - y), 1))
    made = cp.zeros(1)
    jit.rawkernel()(total)[4, 32](cp.asarray(x), made, 1000)
    np.testing.assert_allclose(made.get()[0], x.sum())
    larger = cp.vectorize(lambda a, b: a if a > b else b)
    np.testing.assert_array_equal(larger(cp.asarray(x), cp.asarray(y)).get(), np.maximum(x, y))
    x[:] = 1
    mean = cupyx.GeneralizedUFunc(lambda a: a.mean(axis=-1), "(n)->()")
    assert float(mean(cp.asarray(x))) == 1


HEADERS = {
    "cstdint": "std::uint8_t a = 3; uint32_t b = a; x[0] = b;",
    "stdint.h": "int64_t a = 3; x[0] = a;",
    "type_traits": "x[0] = std::is_same<int, std::remove_cv<const int>::type>::value ? 3 : 0;",
    "limits": "x[0] = std::numeric_limits<unsigned char>::max() == 255 ? 3 : 0;",
    "cmath": "x[0] = std::sqrt(9.0);",
    "utility": "int a = 3; x[0] = std::move(a);",
    "tuple": "x[0] = std::get<1>(std::make_tuple(1, 3.0));",
    "complex": "x[0] = (std::complex<double>(0, 3) * std::complex<double>(0, -1)).real();",
    "cassert": "assert(x); x[0] = 3;",
    "stdio.h": "x[0] = 3;",
    "thrust/complex.h": "x[0] = thrust::abs(thrust::complex<double>(0, 3));",
    "thrust/pair.h": "x[0] = thrust::make_pair(3, 1).first;",
    "thrust/tuple.h": "x[0] = thrust::get<0>(thrust::make_tuple(3, 1));",
}


@pytest.mark.parametrize("name", HEADERS)
def test_headers_of_the_standard_library(name: str) -> None:
    code = f'#include <{name}>\nextern "C" __global__ void f(double* x) {{ {HEADERS[name]} }}'
    x = cp.zeros(1)
    cp.RawKernel(code, "f", backend="nvcc")((1,), (1,), (x,))
    assert float(x[0]) == 3


def test_lines_keep_their_numbers_behind_headers() -> None:
    wrong = cp.RawKernel("#include <cstdint>\n\nint f = nothing;", "f")
    with pytest.raises(cp.cuda.compiler.CompileException, match=r"\(3\): error"):
        wrong((1,), (1,), ())

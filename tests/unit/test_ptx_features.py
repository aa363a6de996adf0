"""Features of CUDA C++ on the mock's kernel engine, each by a kernel that depends on it."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
import pytest
from tests.unit.ptx_harness import Bench, closing, needs_cccl, needs_curand, needs_nvrtc

pytestmark = needs_nvrtc


@pytest.fixture(scope="module")
def bench() -> Iterator[Bench]:
    yield from closing(Bench)


def floats(count: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).random(count, dtype=np.float32)


def test_vector_add(bench):
    a, b, c = floats(1000), floats(1000, 1), np.zeros(1000, np.float32)
    source = """extern "C" __global__ void k(const float* a, const float* b, float* c, int n) {
        int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) c[i] = a[i] + b[i]; }"""
    bench.run(source, 8, 128, a, b, c, 1000)
    assert np.array_equal(c, a + b)


def test_matrix_product_with_shared_tiles(bench):
    source = """extern "C" __global__ void k(const float* a, const float* b, float* c, int n) {
        __shared__ float x[16][16], y[16][16];
        int row = blockIdx.y * 16 + threadIdx.y, column = blockIdx.x * 16 + threadIdx.x; float s = 0;
        for (int t = 0; t < n / 16; t++) {
            x[threadIdx.y][threadIdx.x] = a[row * n + t * 16 + threadIdx.x];
            y[threadIdx.y][threadIdx.x] = b[(t * 16 + threadIdx.y) * n + column];
            __syncthreads();
            for (int i = 0; i < 16; i++) s += x[threadIdx.y][i] * y[i][threadIdx.x];
            __syncthreads(); }
        c[row * n + column] = s; }"""
    a, b, c = (
        floats(64 * 64).reshape(64, 64),
        floats(64 * 64, 1).reshape(64, 64),
        np.zeros((64, 64), "f4"),
    )
    bench.run(source, (4, 4), (16, 16), a, b, c, 64)
    np.testing.assert_allclose(c, a @ b, rtol=1e-5)


@pytest.mark.parametrize(
    "text", ["__hadd(__hmul(a[i], a[i]), __float2half(1.f))", "a[i] * a[i] + (half)1.0f"]
)
def test_half(bench, text):
    a, b = floats(64).astype(np.float16), np.zeros(64, np.float16)
    source = f"""#include <cuda_fp16.h>
        extern "C" __global__ void k(const half* a, half* b) {{ int i = threadIdx.x; b[i] = {text}; }}"""
    bench.run(source, 1, 64, a, b)
    fused = (a.astype(np.float64) ** 2 + 1).astype(np.float16)
    np.testing.assert_allclose(b, fused, rtol=2e-3)


def test_half2_and_bfloat16(bench):
    source = """#include <cuda_fp16.h>
        #include <cuda_bf16.h>
        extern "C" __global__ void k(const half2* a, half2* b, const __nv_bfloat16* x, __nv_bfloat16* y) {
            int i = threadIdx.x; b[i] = __hfma2(a[i], a[i], __float2half2_rn(2.0f));
            y[i] = x[i] * x[i] + __float2bfloat16(1.0f); }"""
    a, b = floats(64).astype(np.float16), np.zeros(64, np.float16)
    x = (floats(32).view(np.uint32) >> 16).astype(np.uint16)
    y = np.zeros(32, np.uint16)
    bench.run(source, 1, 32, a, b, x, y)
    assert np.array_equal(b, (a.astype(np.float64) ** 2 + 2).astype(np.float16))
    real = (x.astype(np.uint32) << 16).view(np.float32)
    np.testing.assert_allclose(
        (y.astype(np.uint32) << 16).view(np.float32), real * real + 1, rtol=1e-2
    )


def test_float4(bench):
    a, b = floats(64), np.zeros(64, np.float32)
    source = """extern "C" __global__ void k(const float4* a, float4* b) { float4 v = a[threadIdx.x];
        b[threadIdx.x] = make_float4(v.x * 2, v.y * 3, v.z * 4, v.w * 5); }"""
    bench.run(source, 1, 16, a, b)
    assert np.array_equal(b, a * np.tile(np.float32([2, 3, 4, 5]), 16))


@needs_curand
@pytest.mark.parametrize(
    "state", ["curandState", "curandStatePhilox4_32_10_t", "curandStateMRG32k3a"]
)
def test_curand(bench, state):
    out = np.zeros(1024, np.float32)
    source = f"""#include <curand_kernel.h>
        extern "C" __global__ void k(float* o) {{ int i = blockIdx.x * blockDim.x + threadIdx.x;
            {state} s; curand_init(1234, i, 0, &s); o[i] = curand_uniform(&s); }}"""
    bench.run(source, 4, 256, out)
    assert 0.45 < out.mean() < 0.55 and 0.25 < out.std() < 0.33 and len(set(out.tolist())) > 1000


@needs_cccl
def test_cooperative_groups(bench):
    a, out, tile = floats(256), np.zeros(8, np.float32), np.zeros(256, np.int32)
    source = """#include <cooperative_groups.h>
        #include <cooperative_groups/reduce.h>
        namespace cg = cooperative_groups;
        extern "C" __global__ void k(const float* a, float* o, int* r) {
            auto b = cg::this_thread_block(); auto t = cg::tiled_partition<32>(b);
            auto four = cg::tiled_partition<4>(t);
            float v = cg::reduce(t, a[b.thread_rank()], cg::plus<float>()); b.sync();
            if (t.thread_rank() == 0) o[b.thread_rank() / 32] = v;
            r[b.thread_rank()] = four.shfl(four.meta_group_rank() * 10 + four.thread_rank(), 2); }"""
    bench.run(source, 1, 256, a, out, tile)
    np.testing.assert_allclose(out, a.reshape(8, 32).sum(1), rtol=1e-5)
    assert np.array_equal(tile, np.arange(256) % 32 // 4 * 10 + 2)


@needs_cccl
def test_coalesced_threads(bench):
    out = np.zeros(64, np.int32)
    source = """#include <cooperative_groups.h>
        namespace cg = cooperative_groups;
        extern "C" __global__ void k(int* o) { if (threadIdx.x % 3 == 0) {
            auto g = cg::coalesced_threads(); o[threadIdx.x] = g.size() * 100 + g.thread_rank(); } }"""
    bench.run(source, 1, 64, out)
    lanes = np.arange(64)
    chosen = lanes % 3 == 0
    size = [sum(chosen[w * 32 : w * 32 + 32]) for w in (0, 1)]
    rank = [sum(chosen[i // 32 * 32 : i]) for i in lanes]
    assert np.array_equal(out, [size[i // 32] * 100 + rank[i] if chosen[i] else 0 for i in lanes])


@needs_cccl
def test_cub_block_reduce_and_scan(bench):
    a, out, scan = floats(128), np.zeros(1, np.float32), np.zeros(128, np.int32)
    source = """#include <cub/block/block_reduce.cuh>
        #include <cub/block/block_scan.cuh>
        extern "C" __global__ void k(const float* a, float* o, int* r) {
            typedef cub::BlockReduce<float, 128> R; typedef cub::BlockScan<int, 128> S;
            __shared__ typename R::TempStorage t; __shared__ typename S::TempStorage u;
            float s = R(t).Sum(a[threadIdx.x]); if (threadIdx.x == 0) *o = s;
            int v; S(u).InclusiveSum((int)threadIdx.x, v); r[threadIdx.x] = v; }"""
    bench.run(source, 1, 128, a, out, scan)
    np.testing.assert_allclose(out[0], a.sum(), rtol=1e-5)
    assert np.array_equal(scan, np.cumsum(np.arange(128)))


def test_templates_and_name_expressions(bench):
    source = """template <typename T> __device__ T f(T x) { return x * x; }
        template <typename T> __global__ void sq(T* a, int n) { int i = threadIdx.x; if (i < n) a[i] = f(a[i]); }"""
    names = ("sq<float>", "sq<int>")
    a, b = floats(32), np.arange(32, dtype=np.int32)
    bench.run(source, 1, 32, c := a.copy(), 32, name="sq<float>", names=names)
    bench.run(source, 1, 32, b, 32, name="sq<int>", names=names)
    assert np.array_equal(c, a * a) and np.array_equal(b, np.arange(32) ** 2)


def test_compare_and_swap_loop(bench):
    out = np.zeros(1)
    source = """extern "C" __global__ void k(double* o) { unsigned long long *p = (unsigned long long*)o, old = *p, as;
        do { as = old; old = atomicCAS(p, as, __double_as_longlong(0.5 + __longlong_as_double(as))); } while (as != old); }"""
    bench.run(source, 4, 64, out)
    assert out[0] == 128


def test_spin_lock(bench):
    out = np.zeros(2, np.int32)
    source = """extern "C" __global__ void k(int* o) { bool done = false; while (!done) {
        if (atomicCAS(&o[0], 0, 1) == 0) { o[1]++; __threadfence(); atomicExch(&o[0], 0); done = true; } }
        __syncthreads(); }"""
    bench.run(source, 4, 64, out)
    assert out[1] == 256


def test_waiting_for_a_later_thread(bench):
    out = np.zeros(2, np.int32)
    source = """extern "C" __global__ void k(volatile int* o) {
        if (threadIdx.x == 0) { while (o[0] == 0) {} o[1] = o[0] + 1; } if (threadIdx.x == 40) o[0] = 7; }"""
    bench.run(source, 1, 64, out)
    assert out[1] == 8


def test_ballot_match_and_reduce(bench):
    out = np.zeros((4, 64), np.uint32)
    source = """extern "C" __global__ void k(unsigned* o) { unsigned i = threadIdx.x, m = 0xffffffffu;
        o[i] = __ballot_sync(m, i & 1); o[64 + i] = __match_any_sync(m, i / 8);
        o[128 + i] = __reduce_add_sync(m, i); o[192 + i] = __any_sync(m, i == 5) * 2 + __all_sync(m, i < 32); }"""
    bench.run(source, 1, 64, out)
    lanes = np.arange(64)
    assert (out[0] == 0xAAAAAAAA).all()
    assert np.array_equal(out[1], 0xFF << (lanes % 32 // 8 * 8))
    assert np.array_equal(out[2], np.where(lanes < 32, 496, 496 + 1024))
    assert np.array_equal(out[3], np.where(lanes < 32, 3, 0))


def test_shuffles(bench):
    out = np.zeros((4, 32), np.int32)
    source = """extern "C" __global__ void k(int* o) { int i = threadIdx.x; unsigned m = 0xffffffffu;
        o[i] = __shfl_down_sync(m, i, 4); o[32 + i] = __shfl_up_sync(m, i, 4, 8);
        o[64 + i] = __shfl_xor_sync(m, i, 1); o[96 + i] = __shfl_sync(m, i, 3, 8); }"""
    bench.run(source, 1, 32, out)
    i = np.arange(32)
    assert np.array_equal(out[0], np.where(i + 4 < 32, i + 4, i))
    assert np.array_equal(out[1], np.where(i % 8 >= 4, i - 4, i))
    assert np.array_equal(out[2], i ^ 1)
    assert np.array_equal(out[3], i // 8 * 8 + 3)


def test_block_reduction_with_counts(bench):
    out = np.zeros(96, np.int32)
    source = """extern "C" __global__ void k(int* o) { int i = threadIdx.x;
        o[i] = __syncthreads_count(i % 3 == 0) * 100 + __syncthreads_and(i < 96) * 10 + __syncthreads_or(i == 95); }"""
    bench.run(source, 1, 96, out)
    assert (out == 3211).all()


def test_named_barriers(bench):
    out = np.zeros(128, np.int32)
    source = """extern "C" __global__ void k(int* o) { __shared__ int s[128]; int i = threadIdx.x;
        s[i] = i; if (i < 64) asm volatile("bar.sync 1, 64;"); else asm volatile("bar.sync 2, 64;");
        o[i] = s[i / 64 * 64 + 63 - i % 64]; }"""
    bench.run(source, 1, 128, out)
    i = np.arange(128)
    assert np.array_equal(out, i // 64 * 64 + 63 - i % 64)


def test_dynamic_shared_memory(bench):
    a, out = floats(128), np.zeros(128, np.float32)
    source = """extern __shared__ unsigned char sm[];
        extern "C" __global__ void k(const float* a, float* o) { float* s = (float*)sm; int* t = (int*)&s[128];
            s[threadIdx.x] = a[threadIdx.x]; t[threadIdx.x] = threadIdx.x; __syncthreads();
            o[threadIdx.x] = s[127 - threadIdx.x] + t[127 - threadIdx.x]; }"""
    bench.run(source, 1, 128, a, out, shared_bytes=1024)
    assert np.array_equal(out, a[::-1] + np.arange(128, dtype=np.float32)[::-1])


def test_struct_by_value(bench):
    p = np.zeros(1, np.dtype([("a", "i4"), ("b", "f8"), ("v", "f4", 3)], align=True))
    p["a"], p["b"], p["v"] = 3, 2.5, [1, 2, 3]
    out = np.zeros(2)
    source = """struct P { int a; double b; float v[3]; };
        extern "C" __global__ void k(P p, int i, double* o) { o[0] = p.a + p.b + p.v[0] + p.v[1] + p.v[2]; o[1] = p.v[i]; }"""
    bench.run(source, 1, 1, p.tobytes(), 2, out)
    assert out.tolist() == [11.5, 3]


def test_variables(bench):
    source = """__constant__ float c[4] = {1, 2, 3, 4}; __device__ int counter = 5; __device__ float* pointer = &c[0] + 1;
        extern "C" __global__ void k(float* o) { o[threadIdx.x] = c[threadIdx.x] * counter + pointer[0]; }"""
    source = source.replace(
        "__device__ float* pointer = &c[0] + 1;", "__device__ int* p = &counter;"
    ).replace("pointer[0]", "p[0]")
    out = np.zeros(4, np.float32)
    function = bench.function(source, options=("-rdc=true",))
    bench.run(function, 1, 4, out)
    assert out.tolist() == [10, 15, 20, 25]
    address, size = function.module.global_("counter")
    assert size == 4 and address


def test_inline_assembly(bench):
    out = np.zeros(64, np.int32)
    source = """extern "C" __global__ void k(int* o) { int l;
        asm volatile("{ .reg .u32 t; mov.u32 t, %%laneid; add.u32 %0, t, 1; }" : "=r"(l)); o[threadIdx.x] = l; }"""
    bench.run(source, 1, 64, out)
    assert np.array_equal(out, np.arange(64) % 32 + 1)


def test_recursion(bench):
    out = np.zeros(12, np.int32)
    source = """__device__ __noinline__ int fib(int n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }
        extern "C" __global__ void k(int* o) { o[threadIdx.x] = fib(threadIdx.x); }"""
    bench.run(source, 1, 12, out)
    assert out.tolist() == [0, 1, 1, 2, 3, 5, 8, 13, 21, 34, 55, 89]


def test_grid_in_three_dimensions(bench):
    out = np.zeros((4, 6, 8), np.int32)
    source = """extern "C" __global__ void k(int* o) { int x = blockIdx.x * blockDim.x + threadIdx.x,
        y = blockIdx.y * blockDim.y + threadIdx.y, z = blockIdx.z * blockDim.z + threadIdx.z;
        int i = (z * 6 + y) * 8 + x; o[i] = i; }"""
    bench.run(source, (2, 3, 2), (4, 2, 2), out)
    assert np.array_equal(out.ravel(), np.arange(192))


def test_math_of_doubles(bench):
    x, out = np.linspace(0.1, 5, 64), np.zeros(64)
    source = """extern "C" __global__ void k(const double* x, double* o) { int i = threadIdx.x;
        o[i] = sinh(x[i]) + cbrt(x[i]) + lgamma(x[i]) + erf(x[i]) + pow(x[i], 1.7) + sin(1e6 * x[i]); }"""
    bench.run(source, 1, 64, x, out)
    want = (
        np.sinh(x)
        + np.cbrt(x)
        + [math.lgamma(v) + math.erf(v) for v in x]
        + x**1.7
        + np.sin(1e6 * x)
    )
    np.testing.assert_allclose(out, want, rtol=1e-12)


def test_math_of_floats(bench):
    x, out = np.linspace(0.1, 5, 64).astype("f4"), np.zeros((6, 64), "f4")
    source = """extern "C" __global__ void k(const float* x, float* o) { int i = threadIdx.x; float v = x[i];
        o[i] = expf(v); o[64 + i] = logf(v); o[128 + i] = sinf(v * 100); o[192 + i] = __expf(v);
        o[256 + i] = powf(v, 2.3f); o[320 + i] = rsqrtf(v); }"""
    bench.run(source, 1, 64, x, out)
    v = x.astype("f8")
    want = [
        np.exp(v),
        np.log(v),
        np.sin((x * np.float32(100)).astype("f8")),
        np.exp(v),
        v ** np.float32(2.3),
        v**-0.5,
    ]
    np.testing.assert_allclose(out, want, rtol=1e-5, atol=1e-6)


def test_function_pointers(bench):
    out = np.zeros(2, np.float32)
    source = """typedef float (*F)(float); __device__ float a1(float x) { return x + 1; } __device__ float a2(float x) { return x + 2; }
        __device__ F t[2] = {a1, a2}; extern "C" __global__ void k(float* o) { o[threadIdx.x] = t[threadIdx.x](2.f); }"""
    bench.run(source, 1, 2, out)
    assert out.tolist() == [3, 4]


def test_virtual_functions(bench):
    out = np.zeros(2, np.int32)
    source = """struct B { __device__ virtual int f() { return 1; } }; struct D : B { __device__ int f() override { return 2; } };
        extern "C" __global__ void k(int* o) { B b; D d; B* p = threadIdx.x ? (B*)&d : &b; o[threadIdx.x] = p->f(); }"""
    bench.run(source, 1, 2, out)
    assert out.tolist() == [1, 2]


def test_printf(bench):
    source = """extern "C" __global__ void k(int n) {
        printf("t %d %5.2f %s %lld %c %u%% [%*d]\\n", threadIdx.x, 1.5 * n, "text", 1LL << 40, 'x', 7u, 4, n); }"""
    bench.engine.take_output()
    bench.run(source, 1, 2, 7)
    line = "t {} 10.50 text 1099511627776 x 7% [   7]\n"
    assert bench.engine.take_output() == line.format(0) + line.format(1)


def test_local_arrays(bench):
    out = np.zeros(32, np.int32)
    source = """extern "C" __global__ void k(int* o, int n) { int a[32]; for (int i = 0; i < n; i++) a[(i * 7) % 32] = i;
        o[threadIdx.x] = a[threadIdx.x]; }"""
    bench.run(source, 1, 32, out, 32)
    assert np.array_equal(out[np.arange(32) * 7 % 32], np.arange(32))


def test_atomics_of_every_kind(bench):
    out = np.array([0, 100, 0, 0, 0xFF, 0, 0, 0], np.uint32)
    real, half = np.zeros(2), np.zeros(2, np.float16)
    source = """#include <cuda_fp16.h>
        extern "C" __global__ void k(unsigned* o, double* d, half* h) { int i = threadIdx.x;
        atomicAdd(&o[0], i); atomicMin(&o[1], i + 3); atomicMax((int*)&o[2], i - 5); atomicOr(&o[3], 1 << (i % 32));
        atomicAnd(&o[4], ~(1 << (i % 4))); atomicXor(&o[5], i); atomicInc(&o[6], 9); atomicDec(&o[7], 5);
        atomicAdd(&d[0], 0.25); atomicAdd((float*)&d[1], 0.5f); atomicAdd(&h[0], __float2half(1.f));
        atomicAdd((half2*)&h[0], __floats2half2_rn(0.f, 2.f)); }"""
    bench.run(source, 1, 32, out, real, half)
    xor = int(np.bitwise_xor.reduce(np.arange(32)))
    assert out.tolist() == [496, 3, 26, 0xFFFFFFFF, 0xF0, xor, 2, 4]
    assert real[0] == 8 and real[1:].view(np.float32)[0] == 16 and half.tolist() == [32, 64]


def test_asynchronous_copies(bench):
    a, out = floats(128), np.zeros(128, np.float32)
    source = """#include <cuda_pipeline.h>
        extern "C" __global__ void k(const float* a, float* o) { __shared__ float s[128];
        __pipeline_memcpy_async(&s[threadIdx.x * 4], &a[threadIdx.x * 4], 16); __pipeline_commit(); __pipeline_wait_prior(0);
        __syncthreads(); o[threadIdx.x] = s[127 - threadIdx.x]; o[threadIdx.x + 32] = s[95 - threadIdx.x];
        o[threadIdx.x + 64] = s[63 - threadIdx.x]; o[threadIdx.x + 96] = s[31 - threadIdx.x]; }"""
    bench.run(source, 1, 32, a, out)
    assert np.array_equal(out, a[::-1])


def test_128_bit_and_wide_integers(bench):
    out = np.zeros(4, np.uint64)
    source = """extern "C" __global__ void k(unsigned long long* o, unsigned long long a, unsigned long long b) {
        unsigned __int128 p = (unsigned __int128)a * b + a; o[0] = p; o[1] = p >> 64; o[2] = __umul64hi(a, b); o[3] = a / b; }"""
    a, b = 0xFEDCBA9876543210, 0x123456789ABCDEF
    bench.run(source, 1, 1, out, np.uint64(a), np.uint64(b), options=("--device-int128",))
    p = a * b + a
    assert out.tolist() == [p & (2**64 - 1), p >> 64, a * b >> 64, a // b]

"""Every way in which a launch is refused or a kernel dies, and what the error says."""

from __future__ import annotations

import numpy as np
import pytest
from tests.unit.ptx_harness import Bench, needs_nvrtc

from cupool.pool_server.devices.errors import CompileException, CUDADriverError
from cupool.pool_server.devices.mock import MockDevice
from cupool.pool_server.devices.mock.options import MockOptions
from cupool.pool_server.devices.ptx.faults import KernelFault

pytestmark = needs_nvrtc


@pytest.fixture
def bench():
    bench = Bench(timeout_s=0.5)
    yield bench
    bench.engine.close()


def fault(bench: Bench, source: str, *args, block=1, **how) -> KernelFault:
    with pytest.raises(KernelFault) as caught:
        bench.run('extern "C" __global__ void k' + source, 1, block, *args, **how)
    return caught.value


def test_one_element_past_the_end(bench):
    a = np.zeros(10, np.float32)
    found = fault(bench, "(float* a) { a[threadIdx.x] = 1; }", a, block=11, options=("-lineinfo",))
    assert found.status == 700
    assert "an illegal memory access was encountered" in str(found)
    assert "thread (10, 0, 0)" in str(found) and "0 bytes after the allocation of 40 bytes" in str(
        found
    )
    assert "kernel.cu:1" in str(found)
    assert "a GPU may not notice: CuPy's pool rounds sizes up to 512 bytes" in str(found)
    assert a.all()


def test_where_a_gpu_would_notice_too_nothing_is_said_of_rounding(bench):
    a = np.zeros(10, np.float32)
    found = fault(bench, "(float* a) { a[128 + threadIdx.x] = 1; }", a)
    assert found.status == 700 and "may not notice" not in str(found)


@pytest.mark.parametrize("step", [1, -1, 3])
def test_rows_that_are_checked_at_once_name_the_thread_too(bench, step):
    a = np.zeros(400, np.int32)
    start = 0 if step > 0 else 99
    source = f"(int* a, int n) {{ int i = {start} + {step} * (int)threadIdx.x; a[i] = i; if (i > n) a[0] = 1; }}"
    found = fault(bench, source, a[:100], 1000, block=128)
    wrong = next(t for t in range(128) if not 0 <= start + step * t < 100)
    assert found.status == 700 and f"thread ({wrong}, 0, 0)" in str(found)
    assert not a[100:].any()


def test_before_the_start_and_null(bench):
    a = np.zeros(10, np.float32)
    assert "4 bytes before" in str(fault(bench, "(float* a) { a[-1] = 1; }", a))


def test_null_pointer(bench):
    found = fault(bench, "(float* a) { *a = 1; }", np.uint64(0))
    assert found.status == 700 and "null pointer" in str(found)


def test_a_fault_stays(bench):
    with pytest.raises(KernelFault):
        bench.run('extern "C" __global__ void k(int* p) { *p = 1; }', 1, 1, np.uint64(8))
    with pytest.raises(KernelFault) as again:
        bench.run('extern "C" __global__ void k() {}', 1, 1)
    assert again.value.status == 700


def test_misaligned(bench):
    a = np.zeros(10, np.float32)
    found = fault(bench, "(char* a) { *(float*)(a + 2) = 1; }", a)
    assert found.status == 716 and "misaligned address" in str(found)


@pytest.mark.parametrize("index", [16, -1, 1 << 20, -(1 << 28)])
def test_shared_memory_has_an_end(bench, index):
    source = "(int* o, int i) { __shared__ int s[16]; s[i] = 1; __syncthreads(); o[0] = s[0]; }"
    assert fault(bench, source, np.zeros(1, np.int32), index).status == 700


@pytest.mark.parametrize("index", [1 << 20, -(1 << 20)])
def test_local_memory_has_an_end(bench, index):
    source = "(int* o, int i) { int s[16]; for (int k = 0; k < 16; k++) s[k] = o[k % 2]; s[i] = 1; o[0] = s[o[1]]; }"
    assert fault(bench, source, np.zeros(2, np.int32), index).status == 700


def test_assertions(bench):
    bench.engine.take_output()
    found = fault(bench, "(int n) { assert(n == 2); }", 3)
    assert found.status == 710 and "device-side assert triggered" in str(found)
    text = bench.engine.take_output()
    assert "block: [0,0,0], thread: [0,0,0] Assertion `n == 2` failed." in text


def test_trap(bench):
    assert fault(bench, "() { __trap(); }").status == 719


def test_endless_loop(bench):
    found = fault(bench, "(volatile int* p) { while (*p == 0) {} }", np.zeros(1, np.int32))
    assert found.status == 702 and "0.5 s" in str(found)


def test_endless_loop_with_barriers(bench):
    source = "(int* p) { for (;;) { __syncthreads(); if (p[0]) break; } }"
    assert fault(bench, source, np.zeros(1, np.int32), block=64).status == 702


def test_endless_recursion_in_time(bench):
    source = """(int* o) { o[0] = 0; } __device__ __noinline__ int f(int n, int* o) {
        return n < 2 ? n + o[1] : f(n - 1, o) + f(n - 2, o); }
        extern "C" __global__ void slow(int* o) { o[0] = f(60, o); }"""
    with pytest.raises(KernelFault) as caught:
        bench.run('extern "C" __global__ void k' + source, 1, 1, np.zeros(2, np.int32), name="slow")
    assert caught.value.status == 702


def test_barrier_that_some_threads_never_reach(bench):
    source = '(int* o) { if (threadIdx.x < 32) __syncthreads(); else { __syncwarp(); asm volatile("bar.sync 1;"); } o[0] = 1; }'
    found = fault(bench, source, np.zeros(1, np.int32), block=64)
    assert found.status == 719 and "deadlock" in str(found)


def test_recursion_without_end(bench):
    source = """(int* o) { o[0] = 0; } __device__ __noinline__ int f(int n, int* o) {
        int a[64]; a[n & 63] = n; return f(n + 1, o) + a[o[0] & 63]; }
        extern "C" __global__ void deep(int* o) { o[0] = f(0, o); }"""
    with pytest.raises(KernelFault) as caught:
        bench.run('extern "C" __global__ void k' + source, 1, 1, np.zeros(1, np.int32), name="deep")
    assert caught.value.status in (700, 719) and "too deep" in str(caught.value)


def test_wild_function_pointer(bench):
    source = "(long long p, int* o) { o[0] = ((int (*)(int))p)(3); }"
    assert fault(bench, source, np.int64(0x1234), np.zeros(1, np.int32)).status == 718


def test_wild_printf(bench):
    assert fault(bench, '(const char* p) { printf("%s", p); }', np.uint64(0x1234)).status == 700


@pytest.mark.parametrize(
    ("grid", "block", "shared", "status"),
    [
        ((0, 1, 1), (1, 1, 1), 0, 1),
        ((1, 65536, 1), (1, 1, 1), 0, 1),
        ((2**31, 1, 1), (1, 1, 1), 0, 1),
        ((1, 1, 1), (1025, 1, 1), 0, 1),
        ((1, 1, 1), (1, 1, 65), 0, 1),
        ((1, 1, 1), (32, 32, 2), 0, 1),
        ((1, 1, 1), (-1, 1, 1), 0, 1),
        ((1, 1, 1), (1, 1, 1), 49153, 1),
        ((1, 1, 1), (65, 1, 1), 0, 701),
    ],
)
def test_refused_launches_leave_no_trace(bench, grid, block, shared, status):
    out = np.zeros(1, np.int32)
    source = 'extern "C" __global__ void __launch_bounds__(64) k(int* o) { o[0]++; }'
    function = bench.function(source)
    bench.arrays = [out]
    pointer = out.ctypes.data.to_bytes(8, "little")
    with pytest.raises(CUDADriverError) as caught:
        function.launch(grid, block, [pointer], shared)
    assert caught.value.status == status
    function.launch((1, 1, 1), (1, 1, 1), [pointer])
    assert out[0] == 1


def test_arguments_are_counted_and_measured(bench):
    function = bench.function('extern "C" __global__ void k(int* o, double d) {}')
    for args in ([bytes(8)], [bytes(8), bytes(4)], [bytes(8)] * 3):
        with pytest.raises(CUDADriverError, match="invalid argument"):
            function.launch((1, 1, 1), (1, 1, 1), args)
    function.launch((1, 1, 1), (1, 1, 1), [bytes(8), bytes(16)])


def test_unknown_names(bench):
    module = bench.function('extern "C" __global__ void k() {}').module
    with pytest.raises(CUDADriverError, match="CUDA_ERROR_NOT_FOUND: named symbol not found"):
        module.function("absent")
    with pytest.raises(CUDADriverError, match="CUDA_ERROR_NOT_FOUND"):
        module.global_("absent")


@pytest.mark.parametrize(
    ("text", "status", "said"),
    [
        (b"not PTX at all", 218, "not PTX"),
        (b"\x7fELF\x02\x01", 200, "cubin"),
        (
            b".version 8.0\n.target sm_80\n.visible .entry k() {\n frobnicate.u32 %r1;\n}",
            218,
            "line 4",
        ),
        (
            b".version 8.0\n.target sm_80\n.visible .entry k() {\n add.u32 %r1, %r2;\n",
            218,
            "no end",
        ),
        (
            b".version 8.0\n.target sm_80\n.visible .entry k() {\n.reg .f32 %f<9>; .reg .b32 %r<9>;\n\n"
            b"mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%f1,%f2,%f3,%f4},{%r1,%r2,%r3,%r4},{%r5,%r6},{%f1,%f2,%f3,%f4};\nret; }",
            218,
            "mma.sync.aligned.m16n8k8",
        ),
        (b".version 8.0\n.target sm_80\n.visible .entry k() {\n bra NOWHERE;\n ret; }", 218, ""),
    ],
)
def test_what_cannot_run_is_named(bench, text, status, said):
    with pytest.raises(CUDADriverError) as caught:
        bench.engine.load(text)
    assert caught.value.status == status and said in str(caught.value)


def test_textures_and_tensor_cores_are_named(bench):
    source = """extern "C" __global__ void k(cudaTextureObject_t t, float* o) { o[0] = tex1Dfetch<float>(t, 0); }"""
    with pytest.raises(CUDADriverError, match="tex"):
        bench.function(source)


def test_compile_errors_carry_the_log(bench):
    with pytest.raises(CompileException) as caught:
        bench.engine.compile('extern "C" __global__ void k() { oops; }', ("-DX=1",))
    assert 'identifier "oops" is undefined' in str(caught.value)
    assert caught.value.options == ("-DX=1",) and caught.value.backend == "nvrtc"


def test_a_missing_header_of_curand_is_explained(bench):
    with pytest.raises(CompileException, match="pip install nvidia-curand-cu12"):
        bench.engine.compile("#include <curand_of_no_version.h>\n__global__ void k() {}")


def test_printf_is_bounded():
    bench = Bench(printf_bytes=1000)
    source = """extern "C" __global__ void k() { for (int i = 0; i < 1000000; i++) printf("0123456789\\n"); }"""
    bench.run(source, 1, 1)
    text = bench.engine.take_output()
    bench.engine.close()
    assert 900 < len(text) < 1200 and "are lost" in text


def test_the_mock_says_how_long_a_kernel_may_run():
    engine = MockDevice(options=MockOptions(kernel_s=0.25))._engine()
    try:
        assert engine.options.timeout_s == 0.25
    finally:
        engine.close()

"""`cupy.RawKernel` and `cupy.RawModule`."""

from __future__ import annotations

import io
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.cupy import kernel_packages, waits

import cupy as cp  # isort: skip

kernel_packages.needed()

ADD = r"""
extern "C" __global__ void add(const float* x, const float* y, float* z, int n) {
    int i = blockDim.x * blockIdx.x + threadIdx.x;
    if (i < n) z[i] = x[i] + y[i];
}
"""


def test_vector_addition() -> None:
    kernel = cp.RawKernel(ADD, "add")
    x = cp.arange(25, dtype=cp.float32).reshape(5, 5)
    z = cp.zeros_like(x)
    kernel((5,), (5,), (x, x, z, 25))
    np.testing.assert_array_equal(z.get(), x.get() * 2)


def test_only_the_first_launch_waits() -> None:
    kernel = cp.RawKernel(ADD, "add")
    x = cp.ones(8, cp.float32)
    z = cp.zeros_like(x)
    kernel((1,), (8,), (x, x, z, 8))
    with waits.no_waits():
        for _ in range(5):
            kernel((1,), (8,), (x, z, z, 8))
    np.testing.assert_array_equal(z.get(), np.full(8, 7.0))


SCALARS = r"""
struct Pair { float first; double second; };
extern "C" __global__ void scalars(double* out, bool b, signed char i8, unsigned short u16, int i32,
    long long i64, float f32, double f64, double2 c128, Pair pair, const double* null) {
    double values[] = {(double)b, (double)i8, (double)u16, (double)i32, (double)i64, (double)f32,
                       f64, c128.x, c128.y, (double)pair.first, pair.second, null == 0 ? 1.0 : 0.0};
    for (int i = 0; i < 12; ++i) out[i] = values[i];
}
"""


def test_scalars_pass_by_value_in_their_own_size() -> None:
    pair = np.zeros((), np.dtype([("first", "f4"), ("second", "f8")], align=True))
    pair["first"], pair["second"] = 1.5, 2.5
    out = cp.zeros(12)
    arguments = (out, True, np.int8(-3), np.uint16(65535), 7, -(1 << 40), np.float32(0.25), 0.125)
    cp.RawKernel(SCALARS, "scalars")((1,), (1,), (*arguments, 3 - 4j, pair, None))
    expected = [1, -3, 65535, 7, -(1 << 40), 0.25, 0.125, 3, -4, 1.5, 2.5, 1]
    assert out.get().tolist() == expected


def test_views_pass_the_address_of_their_first_element() -> None:
    code = 'extern "C" __global__ void set(int* p) { p[threadIdx.x] = 10 + threadIdx.x; }'
    a = cp.zeros((4, 5), cp.int32)
    cp.RawKernel(code, "set")((1,), (3,), (a[2, 1:],))
    expected = np.zeros((4, 5), np.int32)
    expected[2, 1:4] = [10, 11, 12]
    np.testing.assert_array_equal(a.get(), expected)
    cp.RawKernel(code, "set")((1,), (2,), (a.data + 4,))
    assert a.get()[0].tolist() == [0, 10, 11, 0, 0]


def test_carray_arguments_know_their_shape_and_strides() -> None:
    code = r"""
    #include <cupy/carray.cuh>
    extern "C" __global__ void f(CArray<double, 2, false> x, double* out) {
        const int at[] = {1, 2};
        out[0] = x[at]; out[1] = x.size(); out[2] = x.shape()[0]; out[3] = x.strides()[1];
    }"""
    x = cp.arange(12.0).reshape(3, 4).T
    out = cp.zeros(4)
    cp.RawKernel(code, "f")((1,), (1,), (x, out))
    assert out.get().tolist() == [9.0, 12.0, 4.0, 32.0]


def test_shared_memory_and_barriers() -> None:
    code = r"""
    extern "C" __global__ void total(const double* x, double* out) {
        extern __shared__ double part[];
        int t = threadIdx.x;
        part[t] = x[blockIdx.x * blockDim.x + t];
        for (int step = blockDim.x / 2; step; step /= 2) {
            __syncthreads();
            if (t < step) part[t] += part[t + step];
        }
        if (!t) atomicAdd(out, part[0]);
    }"""
    x, out = cp.arange(512.0), cp.zeros(1)
    cp.RawKernel(code, "total")((4,), (128,), (x, out), shared_mem=128 * 8)
    assert out.get()[0] == 512 * 511 / 2


def test_grids_and_blocks_of_three_dimensions() -> None:
    code = r"""
    extern "C" __global__ void where(int* out) {
        int block = (blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x;
        int thread = (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x;
        atomicAdd(&out[block * 24 + thread], 1);
    }"""
    out = cp.zeros(24 * 6, cp.int32)
    cp.RawKernel(code, "where")((1, 2, 3), (2, 3, 4), (out,))
    assert out.get().tolist() == [1] * 144


def test_options_define_and_names_choose() -> None:
    code = r"""
    extern "C" {
    __global__ void one(REAL* x) { x[0] = N; }
    __global__ void two(REAL* x) { x[0] = N + 1; }
    }"""
    module = cp.RawModule(code=code, options=("-DREAL=double", "-D N=4"))
    x = cp.zeros(1)
    module.get_function("one")((1,), (1,), (x,))
    assert x.get()[0] == 4
    module.get_function("two")((1,), (1,), (x,))
    assert x.get()[0] == 5


def test_templates_by_name_expressions() -> None:
    code = "template <typename T, int N> __global__ void fill(T* x) { x[threadIdx.x] = N; }"
    names = ["fill<float, 3>", "fill<unsigned char, 200>"]
    module = cp.RawModule(code=code, options=("-std=c++17",), name_expressions=names)
    for name, dtype, value in zip(names, ("f4", "u1"), (3, 200), strict=True):
        x = cp.zeros(4, dtype)
        module.get_function(name)((1,), (4,), (x,))
        assert x.get().tolist() == [value] * 4
    assert set(module.module.mapping) == set(names)
    with pytest.raises(cp.cuda.driver.CUDADriverError, match="named symbol not found"):
        module.get_function("fill<int, 1>")


def test_globals_are_memory() -> None:
    code = r"""
    extern "C" { __constant__ float factors[4]; __device__ int counter; }
    extern "C" __global__ void scale(float* x) {
        x[threadIdx.x] *= factors[threadIdx.x];
        atomicAdd(&counter, 1);
    }"""
    module = cp.RawModule(code=code)
    factors = cp.ndarray((4,), cp.float32, module.get_global("factors"))
    factors[...] = cp.array([1, 2, 3, 4], cp.float32)
    x = cp.ones(4, cp.float32)
    module.get_function("scale")((1,), (4,), (x,))
    assert x.get().tolist() == [1, 2, 3, 4]
    assert cp.ndarray((), cp.int32, module.get_global("counter")).get() == 4
    with pytest.raises(cp.cuda.driver.CUDADriverError, match="named symbol not found"):
        module.get_global("missing")


PTX = r"""
.version 7.0
.target sm_52
.address_size 64
.visible .entry twice(.param .u64 p)
{
    .reg .f32 %f<3>; .reg .b64 %r<4>; .reg .b32 %t<2>;
    ld.param.u64 %r1, [p];
    cvta.to.global.u64 %r1, %r1;
    mov.u32 %t1, %tid.x;
    mul.wide.u32 %r2, %t1, 4;
    add.s64 %r3, %r1, %r2;
    ld.global.f32 %f1, [%r3];
    add.f32 %f2, %f1, %f1;
    st.global.f32 [%r3], %f2;
    ret;
}
"""


def test_ptx_files_are_read_on_this_machine(tmp_path: Path) -> None:
    file = tmp_path / "twice.ptx"
    file.write_text(PTX)
    x = cp.arange(4, dtype=cp.float32)
    cp.RawModule(path=str(file)).get_function("twice")((1,), (4,), (x,))
    assert x.get().tolist() == [0, 2, 4, 6]
    with pytest.raises(cp.cuda.driver.CUDADriverError, match="CUDA_ERROR_FILE_NOT_FOUND"):
        cp.RawModule(path=str(tmp_path / "missing.cubin")).get_function("twice")


def test_header_files_are_read_on_this_machine(tmp_path: Path) -> None:
    (tmp_path / "inner").mkdir()
    (tmp_path / "inner" / "seven.h").write_text("#pragma once\n#define SEVEN 7\n")
    (tmp_path / "outer.h").write_text('#include "inner/seven.h"\n#include "inner/seven.h"\n')
    code = '#include "outer.h"\nextern "C" __global__ void f(int* x) { x[0] = SEVEN; }'
    x = cp.zeros(1, cp.int32)
    cp.RawKernel(code, "f", (f"-I{tmp_path}",))((1,), (1,), (x,))
    assert x.get()[0] == 7


def test_cucomplex_is_translated() -> None:
    code = r"""
    #include <cuComplex.h>
    extern "C" __global__ void mul(cuDoubleComplex* x, cuDoubleComplex y) {
        x[threadIdx.x] = cuCmul(x[threadIdx.x], y);
    }"""
    x = cp.array([1 + 1j, 2 - 1j])
    cp.RawKernel(code, "mul", translate_cucomplex=True)((1,), (2,), (x, 2j))
    assert x.get().tolist() == [-2 + 2j, 2 + 4j]


def test_attributes() -> None:
    code = 'extern "C" __global__ void f() { __shared__ volatile int x[100]; x[threadIdx.x] = 1; }'
    kernel = cp.RawKernel(code, "f")
    assert kernel.shared_size_bytes == 400
    assert 0 < kernel.max_threads_per_block <= 1024
    assert kernel.attributes["num_regs"] == kernel.num_regs
    kernel.max_dynamic_shared_size_bytes = 60000
    assert kernel.max_dynamic_shared_size_bytes == 60000
    with pytest.raises(cp.cuda.driver.CUDADriverError, match="CUDA_ERROR_INVALID_VALUE"):
        kernel.max_dynamic_shared_size_bytes = 1 << 20


def test_kernels_are_pickled_as_their_source() -> None:
    kernel = pickle.loads(pickle.dumps(cp.RawKernel(ADD, "add")))
    x = cp.ones(2, cp.float32)
    kernel((1,), (2,), (x, x, x, 2))
    assert x.get().tolist() == [2, 2]


def test_printf_reaches_the_script(capsys: pytest.CaptureFixture[str]) -> None:
    code = r"""
    extern "C" __global__ void hello(double x) { printf("thread %d of %g\n", threadIdx.x, x); }"""
    cp.RawKernel(code, "hello")((1,), (2,), (2.5,))
    cp.cuda.Device().synchronize()
    assert capsys.readouterr().out == "thread 0 of 2.5\nthread 1 of 2.5\n"


def test_a_log_stream_gets_what_the_compiler_says() -> None:
    stream = io.StringIO()
    module = cp.RawModule(code="__global__ void f() { int unused; }")
    module.compile(log_stream=stream)
    assert "unused" in stream.getvalue()


@pytest.mark.parametrize(
    ("make", "error"),
    [
        (lambda: cp.RawModule(), TypeError),
        (lambda: cp.RawModule(code="", path="x"), TypeError),
        (lambda: cp.RawModule(path="x", name_expressions=["f"]), ValueError),
        (lambda: cp.RawModule(code="", backend="nvcc", name_expressions=["f"]), ValueError),
        (lambda: cp.RawKernel(b"", "f"), TypeError),  # type: ignore[arg-type]
        (lambda: cp.RawKernel("", "f", ["-w"]), TypeError),  # type: ignore[arg-type]
    ],
)
def test_what_cannot_be_a_kernel(make: Any, error: type[Exception]) -> None:
    with pytest.raises(error):
        make()


@pytest.mark.parametrize("wrong", [np.zeros(3), "text", [1], object()])
def test_what_cannot_be_an_argument(wrong: Any) -> None:
    kernel = cp.RawKernel(ADD, "add")
    with pytest.raises(TypeError):
        kernel((1,), (1,), (wrong, wrong, wrong, 0))

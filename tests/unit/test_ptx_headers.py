"""The headers of `cupy/` that kernels include."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
from tests.unit.ptx_harness import Bench, closing, needs_nvrtc

pytestmark = needs_nvrtc


@pytest.fixture(scope="module")
def bench() -> Iterator[Bench]:
    yield from closing(Bench)


FUNCTIONS = (
    "exp", "log", "log10", "sqrt", "sin", "cos", "tan", "sinh", "cosh", "tanh",
    "asin", "acos", "atan", "asinh", "acosh", "atanh", "conj",
)  # fmt: skip
NUMPY = {
    "asin": "arcsin", "acos": "arccos", "atan": "arctan",
    "asinh": "arcsinh", "acosh": "arccosh", "atanh": "arctanh",
}  # fmt: skip


@pytest.mark.parametrize(
    ("real", "dtype", "rtol"), [("float", "c8", 3e-6), ("double", "c16", 1e-14)]
)
def test_complex_functions_agree_with_numpy(bench, real, dtype, rtol):
    rng = np.random.default_rng(1)
    z = (rng.normal(size=128) * 2 + 2j * rng.normal(size=128)).astype(dtype)
    z[:4] = [0.5, -0.5, 1.5j, 2 - 0.25j]
    out = np.zeros((len(FUNCTIONS), 128), dtype)
    body = "".join(f"o[{i * 128} + i] = {name}(z[i]);" for i, name in enumerate(FUNCTIONS))
    source = f"""#include <cupy/complex.cuh>
        extern "C" __global__ void k(const complex<{real}>* z, complex<{real}>* o) {{ int i = threadIdx.x; {body} }}"""
    bench.run(source, 1, 128, z, out)
    for row, name in zip(out, FUNCTIONS, strict=True):
        want = getattr(np, NUMPY.get(name, name))(z.astype("c16"))
        error = np.abs(row - want) / np.maximum(np.abs(want), 1e-3)
        assert error.max() < rtol * 4, (name, error.max(), z[error.argmax()])


def test_complex_arithmetic(bench):
    rng = np.random.default_rng(2)
    a = (rng.normal(size=64) + 1j * rng.normal(size=64)).astype("c8")
    b = (rng.normal(size=64) + 1j * rng.normal(size=64)).astype("c16")
    out = np.zeros((8, 64), "c16")
    source = """#include <cupy/complex.cuh>
        extern "C" __global__ void k(const complex<float>* a, const thrust::complex<double>* b, complex<double>* o) {
            int i = threadIdx.x; complex<float> x = a[i]; complex<double> y = b[i];
            o[i] = x + y; o[64 + i] = x * y; o[128 + i] = y / x; o[192 + i] = 2 * x - 1.5f;
            complex<double> s(1, 2); s += x; s *= y; s /= 2; o[256 + i] = s;
            o[320 + i] = complex<double>(abs(y), arg(y)); o[384 + i] = pow(y, 3); o[448 + i] = (x == x) + 2 * (y != y) + norm(y); }"""
    bench.run(source, 1, 64, a, b, out)
    x, y = a.astype("c16"), b
    want = [
        x + y,
        x * y,
        y / x,
        2 * x - 1.5,
        (1 + 2j + x) * y / 2,
        np.abs(y) + 1j * np.angle(y),
        y**3,
        1 + np.abs(y) ** 2,
    ]
    np.testing.assert_allclose(out, want, rtol=1e-6)


def test_carray_and_cindexer(bench):
    base = np.arange(2 * 6 * 8, dtype=np.float32).reshape(2, 6, 8)
    view = base.transpose(2, 0, 1)[::2]
    out = np.zeros(view.size, np.float32)

    def carray(array: np.ndarray) -> bytes:
        head = array.__array_interface__["data"][0]
        return np.array([head, array.size, *array.shape, *array.strides], np.int64).tobytes()

    indexer = np.array([view.size, *view.shape, 0, 0, 0], np.int64).tobytes()
    source = """#include <cupy/carray.cuh>
        extern "C" __global__ void k(CArray<float, 3, false, true> a, CArray<float, 1, true, true> o, CIndexer<3, true> n) {
            CUPY_FOR(i, n.size()) { n.set(i); o[i] = a[n.get()] + (a[i] == a[n.get()] ? 0.5f : 100.0f)
                + (a.shape()[2] == 6 ? 0.0f : 1000.0f); } }"""
    function = bench.function(source)
    bench.arrays = [base, out]
    function.launch((2, 1, 1), (8, 1, 1), [carray(view), carray(out), indexer])
    assert np.array_equal(out, view.ravel() + 0.5)


def test_carray_and_cindexer_are_made_from_lists(bench):
    out = np.zeros(10, np.int64)
    source = """#include <cupy/carray.cuh>
        extern "C" __global__ void k(long long* o, int* data) {
            CArray<int, 2, true> whole(data, {3, 4}); CArray<int, 2> turned(data, {4, 3}, {4, 16});
            o[0] = whole[{1, 2}]; o[1] = turned[{1, 2}]; o[2] = turned[4]; o[3] = whole.strides()[0];
            CIndexer<2> n({3, 4}, {2, 1}); o[4] = n.get()[0] * 10 + n.get()[1]; o[5] = n.size();
            CIndexer<2> none; o[6] = none.get()[1]; CIndexer<2> m({3, 4}); m.set(7);
            o[7] = m.get()[0] * 10 + m.get()[1]; }"""
    bench.run(source, 1, 1, out, np.arange(12, dtype=np.int32))
    assert out.tolist() == [6, 9, 5, 16, 21, 12, 0, 13, 0, 0]


def test_carray_gives_tuples_in_jit_mode(bench):
    out = np.zeros(8, np.int64)
    source = """#define CUPY_JIT_MODE
        #include <cupy/carray.cuh>
        extern "C" __global__ void k(long long* o, int* data) {
            using namespace cuda::std; CArray<int, 3> a(data, {2, 3, 4}, {48, 16, 4});
            o[0] = get<2>(a.get_shape()); o[1] = get<0>(a.get_strides());
            o[2] = a._indexing(make_tuple(1, 2, 3)); a._indexing(make_tuple(0, 0, 1)) = -5;
            auto row = a._slicing(make_tuple(1, 1), Dim<2>()); o[3] = row[{2}]; o[4] = row.size();
            auto plane = a._slicing(1); o[5] = plane[{0, 1}]; o[6] = plane.ndim; o[7] = a[1]; }"""
    bench.run(source, 1, 1, out, np.arange(24, dtype=np.int32))
    assert out.tolist() == [4, 48, 23, 18, 4, 13, 2, -5]


def test_atomics_and_float16(bench):
    real, wide, half = np.float32([0.5, 0.5]), np.int64([5]), np.zeros(40, np.float16)
    double = np.array([-1.0, 1.0])
    source = """#include <cupy/carray.cuh>
        #include <cupy/atomics.cuh>
        extern "C" __global__ void k(float* f, double* d, long long* l, float16* h) { float v = threadIdx.x - 8.0f;
            atomicMax(&f[0], v); atomicMin(&f[1], v); atomicMax(&d[0], (double)v); atomicMin(&d[1], (double)v);
            atomicAdd(l, -1LL); atomicAdd(&h[0], float16(0.5f)); float16 x(3); x += 1; x *= v;
            h[4 + threadIdx.x] = x; if (threadIdx.x == 0) h[1] = nextafter(float16(1.0f), float16(2.0f)); }"""
    bench.run(source, 1, 32, real, double, wide, half)
    assert real.tolist() == [23, -8] and double.tolist() == [23, -8] and wide[0] == -27
    assert half[0] == 16 and half[1] == np.nextafter(np.float16(1), np.float16(2))
    assert np.array_equal(half[4:36], ((np.arange(32) - 8) * 4).astype(np.float16))


def test_type_dispatcher(bench):
    out = np.zeros(14, np.int32)
    source = """#include <cupy/type_dispatcher.cuh>
        struct Size { template <typename T> __device__ void operator()(int* o) const { *o = sizeof(T); } };
        extern "C" __global__ void k(int* o) { dtype_dispatcher(threadIdx.x, Size(), o + threadIdx.x); }"""
    bench.run(source, 1, 14, out)
    assert out.tolist() == [1, 1, 2, 2, 4, 4, 8, 8, 2, 4, 8, 8, 16, 1]

"""bfloat16, as CuPy 14 takes it from `ml_dtypes`: computed in float32 and rounded at the end."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

import cupy as cp
import ml_dtypes
import numpy as np
import pytest
from cupy.cuda import cublas, runtime

from cupool.errors import ProtocolViolation
from cupool.proto.bfloat16 import is_bfloat16
from cupool.proto.values import dtype_from_wire, dtype_to_wire

BF = np.dtype(ml_dtypes.bfloat16)
HOST = np.array([3, 1, -2.5, 7, 0.1, np.inf, np.nan], BF)
FINITE = HOST[:5]


def rounded(values: Any) -> Any:
    return np.asarray(values, np.float32).astype(BF)


def equal(got: Any, expected: Any) -> None:
    assert isinstance(got, cp.ndarray) and got.dtype == expected.dtype
    wide = "f4" if expected.dtype == BF else expected.dtype
    np.testing.assert_array_equal(got.get().astype(wide), expected.astype(wide))


# ------------------------------------------------------------------- the dtype itself


def test_arrays_come_and_go_bit_by_bit() -> None:
    bits = np.arange(1 << 16, dtype=np.uint16)
    x = cp.array(bits.view(BF))
    assert x.dtype == BF and x.itemsize == 2 and is_bfloat16(x.dtype)
    np.testing.assert_array_equal(x.get().view(np.uint16), bits)
    np.testing.assert_array_equal(x.view(np.uint16).get(), bits)
    np.testing.assert_array_equal(x[::-3].copy().view(np.uint16).get(), bits[::-3])


@pytest.mark.parametrize("spec", [BF, ml_dtypes.bfloat16, "bfloat16"])
def test_all_names_of_the_dtype(spec: Any) -> None:
    for made in (cp.zeros(2, spec), cp.full(2, 1.5, spec), cp.arange(2, dtype=spec)):
        assert made.dtype == BF
    assert cp.ones(2).astype(spec).dtype == BF


@pytest.mark.parametrize("other", [ml_dtypes.float8_e4m3fn, ml_dtypes.int4])
def test_no_other_foreign_dtype(other: Any) -> None:
    with pytest.raises(ValueError, match="Unsupported dtype"):
        cp.zeros(2, other)
    with pytest.raises(ValueError, match="Unsupported dtype"):
        cp.asarray(np.zeros(2, other))
    with pytest.raises(ProtocolViolation):
        dtype_from_wire(np.dtype(other).name)


def test_the_wire_has_its_name() -> None:
    assert dtype_to_wire(BF) == "bfloat16" and dtype_from_wire("bfloat16") == BF
    fields = np.dtype([("a", BF), ("b", "f4")])
    assert dtype_from_wire(dtype_to_wire(fields)) == fields


def test_fields_of_it() -> None:
    host = np.zeros(2, np.dtype([("a", BF), ("b", "f4")]))
    host["a"] = 1.5
    assert (cp.asarray(host)["a"] == 1.5).all()


# ------------------------------------------------------------------- what comes out


@pytest.mark.parametrize(
    ("other", "expected"),
    [("?", BF), ("b", BF), ("B", BF), ("h", "f"), ("i", "d"), ("q", "d"), ("e", "f"), ("f", "f")],
)
def test_arrays_of_two_types(other: str, expected: Any) -> None:
    got = cp.array(FINITE) + cp.ones(5, other)
    assert got.dtype == np.dtype(expected)
    values = FINITE.astype("f4").astype(np.float64 if got.dtype == "d" else np.float32) + 1
    equal(got, values.astype(got.dtype))


@pytest.mark.parametrize(("scalar", "expected"), [(2, BF), (0.5, BF), (1j, "F"), (True, BF)])
def test_scalars_are_weak(scalar: Any, expected: Any) -> None:
    x = cp.array(FINITE)
    for got in (x * scalar, scalar * x):
        equal(got, (FINITE.astype("f4") * scalar).astype(np.dtype(expected)))
    equal(x + BF.type(2), rounded(FINITE.astype("f4") + 2))


OWN: dict[str, Callable[[Any], Any]] = {
    "sqrt": lambda x: cp.sqrt(x),
    "exp": lambda x: cp.exp(x),
    "floor": lambda x: cp.floor(x),
    "sign": lambda x: cp.sign(x),
    "power": lambda x: x**2,
    "true_divide": lambda x: x / 3,
    "ldexp": lambda x: cp.ldexp(x, cp.arange(5, dtype="i")),
    "frexp": lambda x: cp.frexp(x)[0],
    "modf": lambda x: cp.modf(x)[1],
    "maximum": lambda x: cp.maximum(x, 1),
    "nextafter": lambda x: cp.nextafter(x, x + 1),
    "angle": lambda x: cp.angle(x),
    "dtype=": lambda x: cp.add(x, 1, dtype=BF),
    "sum": lambda x: x.sum(),
    "mean": lambda x: x.mean(),
    "std": lambda x: x.std(),
    "cumsum": lambda x: x.cumsum(),
    "max": lambda x: x.max(),
    "matmul": lambda x: x @ x,
    "outer": lambda x: cp.outer(x, x),
    "concatenate": lambda x: cp.concatenate([x, x]),
    "fuse": lambda x: cp.fuse(lambda y: y * 2 + y)(x),
    "take": lambda x: x[cp.array([0, 4])],
}
WIDER: dict[str, tuple[Callable[[Any], Any], Any]] = {
    "where": (lambda x: cp.where(x > 0, x, x), "f"),
    "clip": (lambda x: x.clip(0, 3), "f"),
    "round": (lambda x: x.round(1), "f"),
    "divmod": (lambda x: cp.divmod(x, x)[0], "f"),
    "float_power": (lambda x: cp.float_power(x, 2), "d"),
    "logical_and": (lambda x: cp.logical_and(x, x), "?"),
    "isnan": (lambda x: cp.isnan(x), "?"),
    "less": (lambda x: x < 2, "?"),
    "argmax": (lambda x: x.argmax(), "q"),
}
"""Functions that have no loop of bfloat16 in CuPy, or give something else."""


@pytest.mark.parametrize("name", OWN)
def test_what_stays_bfloat16(name: str) -> None:
    assert OWN[name](cp.array(FINITE)).get().dtype == BF


@pytest.mark.parametrize("name", WIDER)
def test_what_does_not(name: str) -> None:
    call, expected = WIDER[name]
    assert call(cp.array(FINITE)).get().dtype == np.dtype(expected)


def test_sums_are_made_in_single_precision() -> None:
    ones = cp.ones(10_000, BF)
    assert float(ones.sum()) == 9984  # in bfloat16 all the way it would stop at 256
    assert float(ones.mean()) == 1
    assert float(ones @ ones) == 9984
    assert float(cp.ones(300, BF).cumsum()[-1]) == 300


def test_products_of_matrices_are_rounded_once() -> None:
    a = np.random.default_rng(0).uniform(-1, 1, (20, 30)).astype(BF)
    expected = rounded(a.astype("f4") @ a.astype("f4").T)
    got = (cp.array(a) @ cp.array(a).T).get()
    np.testing.assert_allclose(got.astype("f4"), expected.astype("f4"), rtol=1 / 128)


@pytest.mark.parametrize("way", ["out", "in place", "setitem", "fill", "where="])
def test_what_is_written_into_it(way: str) -> None:
    third = rounded(1 / 3)
    x = cp.zeros(4, BF)
    if way == "out":
        cp.add(cp.zeros(4, "f"), 1 / 3, out=x)
    elif way == "in place":
        x += np.float32(1 / 3)
    elif way == "setitem":
        x[1:] = cp.full(3, 1 / 3)
        x[0] = 1 / 3
    elif way == "fill":
        x.fill(1 / 3)
    else:
        cp.add(x, 1 / 3, out=x, where=cp.ones(4, "?"))
    equal(x, np.full(4, third))


@pytest.mark.parametrize("target", ["b", "B", "i", "I", "q"])
def test_integers_of_it_are_cut_as_floats_are(target: str) -> None:
    x = cp.array(HOST)
    equal(x.astype(target), x.astype("f").astype(target).get())


def test_numbers_that_are_none_become_zero_as_in_cupy() -> None:
    expected = np.where(np.isfinite(HOST), HOST, BF.type(0))
    equal(cp.nan_to_num(cp.array(HOST), posinf=5), expected)
    x = cp.array(HOST)
    cp.nan_to_num(x, copy=False)
    equal(x, expected)


@pytest.mark.parametrize(
    "call",
    [
        cp.sort,
        cp.argsort,
        cp.unique,
        cp.median,
        lambda x: x.sort(),
        lambda x: cp.partition(x, 1),
        lambda x: cp.argpartition(x, 1),
        lambda x: cp.lexsort(cp.stack([x, x])),
        lambda x: cp.percentile(x, 50),
    ],
)
def test_it_cannot_be_sorted(call: Callable[[Any], Any]) -> None:
    with pytest.raises(NotImplementedError, match="Sorting arrays with dtype 'bfloat16'"):
        call(cp.array(FINITE))


# ------------------------------------------------------------------- kernels, libraries, others


def test_kernels_take_it() -> None:
    x = cp.array(FINITE)
    both = cp.ElementwiseKernel("T a, float32 b", "T c", "c = a * b + a", "bf16_both")
    expected = FINITE.astype("f4") * np.arange(5, dtype="f4") + FINITE.astype("f4")
    equal(both(x, cp.arange(5, dtype="f")), rounded(expected))
    total = cp.ReductionKernel("T a", "T c", "a", "a + b", "c = a", "0", "bf16_total")
    assert total(x).dtype == BF and float(total(x)) == float(rounded(8.6))
    tests = "c = isnan(a) + 2 * isinf(a) + 4 * signbit(a)"
    kinds = cp.ElementwiseKernel("T a", "int32 c", tests, "bf16_kinds")
    assert kinds(cp.array(HOST)).get().tolist() == [0, 0, 4, 0, 0, 2, 1]
    assert next(iter(both.cached_codes))[0] == BF


def test_dlpack_names_it() -> None:
    x = cp.array(HOST)
    equal(cp.from_dlpack(x), HOST)
    capsule = x.__dlpack__(dl_device=(1, 0))
    pointer = ctypes.pythonapi.PyCapsule_GetPointer
    pointer.restype, pointer.argtypes = ctypes.c_void_p, (ctypes.py_object, ctypes.c_char_p)
    # The tensor: data, device (8 bytes), ndim, then its dtype: code 4 is kDLBfloat.
    found = ctypes.string_at(pointer(capsule, b"dltensor"), 24)
    assert found[20:24] == bytes([4, 16, 1, 0])


@pytest.mark.parametrize("dtype", [BF, np.dtype("V6")])
def test_the_array_interface_shows_raw_elements(dtype: np.dtype[Any]) -> None:
    x = cp.zeros(3, dtype)
    shown = type("Shown", (), {"__cuda_array_interface__": x.__cuda_array_interface__})()
    taken = cp.asarray(shown)
    assert taken.dtype == f"V{dtype.itemsize}" and taken.view(dtype).dtype == dtype


@pytest.mark.parametrize("to", [BF, np.dtype("f")])
def test_gemm_ex_multiplies_it(to: np.dtype[Any]) -> None:
    rng = np.random.default_rng(1)
    a, b = (rng.integers(-4, 5, shape).astype(BF) for shape in ((3, 4), (4, 2)))
    left, right = cp.array(a, order="F"), cp.array(b, order="F")
    out = cp.zeros((3, 2), to, order="F")
    one, zero = np.array(1, "f"), np.array(0, "f")
    handle = cp.cuda.get_cublas_handle()
    code = runtime.CUDA_R_16BF
    places = ((left.data.ptr, code, 3), (right.data.ptr, code, 4))
    cublas.gemmEx(
        handle,
        *(0, 0, 3, 2, 4, one.ctypes.data),
        *places[0],
        *places[1],
        *(zero.ctypes.data, out.data.ptr, code if to == BF else runtime.CUDA_R_32F, 3),
        *(cublas.CUBLAS_COMPUTE_32F, -1),
    )
    np.testing.assert_array_equal(out.get().astype("f4"), a.astype("f4") @ b.astype("f4"))

"""Functions of cuda_fp16.h and cuda_bf16.h: many are inline PTX in a style of their own.

Expected values are NumPy's in double precision, rounded once; what the header computes by
approximate instructions may be one unit in the last place away (CUDA Math API: half functions).
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
from tests.unit.ptx_harness import Bench, closing, needs_nvrtc

pytestmark = needs_nvrtc
ONE = {
    "exp": np.exp, "exp2": np.exp2, "exp10": lambda x: np.power(10.0, x), "log": np.log,
    "log2": np.log2, "log10": np.log10, "sin": np.sin, "cos": np.cos, "sqrt": np.sqrt,
    "rsqrt": lambda x: 1 / np.sqrt(x), "rcp": lambda x: 1 / x, "ceil": np.ceil, "floor": np.floor,
    "trunc": np.trunc, "rint": np.rint,
}  # fmt: skip
TWO = {
    "__hadd": np.add, "__hsub": np.subtract, "__hmul": np.multiply, "__hdiv": np.divide,
    "__hadd_sat": lambda a, b: np.clip(a + b, 0, 1), "__hsub_sat": lambda a, b: np.clip(a - b, 0, 1),
    "__hmul_sat": lambda a, b: np.clip(a * b, 0, 1), "__hmax": np.fmax, "__hmin": np.fmin,
    "__hmax_nan": np.maximum, "__hmin_nan": np.minimum,
}  # fmt: skip
COMPARED = {
    "__heq": np.equal, "__hne": lambda a, b: (a < b) | (a > b), "__hlt": np.less,
    "__hle": np.less_equal, "__hgt": np.greater, "__hge": np.greater_equal,
    "__hequ": lambda a, b: ~((a < b) | (a > b)), "__hneu": np.not_equal,
    "__hltu": lambda a, b: ~(a >= b), "__hgtu": lambda a, b: ~(a <= b),
}  # fmt: skip
KINDS = {
    "half": ("cuda_fp16.h", "half", "half2", 11),
    "bf16": ("cuda_bf16.h", "__nv_bfloat16", "__nv_bfloat162", 8),
}


@pytest.fixture(scope="module")
def bench() -> Iterator[Bench]:
    yield from closing(Bench)


def stored(kind: str, values: np.ndarray) -> np.ndarray:
    """Return the bits of values, which have to be exact."""
    if kind == "half":
        return values.astype(np.float16).view(np.uint16)
    return (values.astype(np.float32).view(np.uint32) >> 16).astype(np.uint16)


def read(kind: str, bits: np.ndarray) -> np.ndarray:
    if kind == "half":
        return bits.view(np.float16).astype(np.float64)
    return (bits.astype(np.uint32) << 16).view(np.float32).astype(np.float64)


def run(bench: Bench, kind: str, body: str, *inputs: np.ndarray) -> np.ndarray:
    header, one, _, _ = KINDS[kind]
    out = np.zeros(len(inputs[0]), np.uint16)
    source = f"""#include <{header}>
        extern "C" __global__ void k(const {one}* a, const {one}* b, const {one}* c, {one}* o) {{
            int i = threadIdx.x; o[i] = {body}; }}"""
    arrays = [*(stored(kind, each) for each in inputs)]
    arrays += [arrays[0]] * (3 - len(arrays))
    bench.run(source, 1, len(out), *arrays, out)
    return read(kind, out)


def near(kind: str, found: np.ndarray, expected: np.ndarray, units: float) -> None:
    bits = KINDS[kind][3]
    if kind == "half":
        expected = np.where(np.abs(expected) >= 65520, np.copysign(np.inf, expected), expected)
    step = np.exp2(np.floor(np.log2(np.maximum(np.abs(expected), 2.0**-14))) - bits + 1)
    with np.errstate(invalid="ignore"):
        wrong = ~(
            (np.abs(found - expected) <= units * step)
            | (found == expected)
            | (np.isnan(found) & np.isnan(expected))
        )
    assert not wrong.any(), (found[wrong], expected[wrong])


POINTS = np.array([0.125, 0.25, 0.5, 1.0, 1.5, 2.0, 2.5, 3.0, 3.5, 4.0, 5.0, 7.0])
LEFT = np.array([1.0, -2.0, 0.5, 3.0, -0.25, 6.0, 0.75, np.nan, 2.0, np.inf])
RIGHT = np.array([0.5, 4.0, 0.5, -3.0, 8.0, 2.0, 0.125, 1.0, np.nan, 1.0])


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", ONE)
def test_functions_of_one_value(bench: Bench, kind: str, name: str) -> None:
    near(kind, run(bench, kind, f"h{name}(a[i])", POINTS), ONE[name](POINTS), 1.0)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", TWO)
def test_functions_of_two_values(bench: Bench, kind: str, name: str) -> None:
    expected = TWO[name](LEFT, RIGHT)
    if name.endswith("_sat"):
        expected = np.nan_to_num(expected)  # a NaN becomes +0
    near(kind, run(bench, kind, f"{name}(a[i], b[i])", LEFT, RIGHT), expected, 0.5)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", COMPARED)
def test_comparisons(bench: Bench, kind: str, name: str) -> None:
    one = KINDS[kind][1]
    body = f"{name}(a[i], b[i]) ? {one}(1.f) : {one}(0.f)"
    assert run(bench, kind, body, LEFT, RIGHT).tolist() == COMPARED[name](LEFT, RIGHT).tolist()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("__hfma", lambda x: x),
        ("__hfma_sat", lambda x: np.clip(x, 0, 1)),
        ("__hfma_relu", lambda x: np.maximum(x, 0)),
    ],
)
def test_fused_multiply_and_add_rounds_once(bench: Bench, kind: str, name: str, expected) -> None:
    a, b, c = np.array([1.0625, 2.0, -1.5, 0.5]), np.array([1.0625, 3.0, 2.0, 0.5]), -np.ones(4)
    near(kind, run(bench, kind, f"{name}(a[i], b[i], c[i])", a, b, c), expected(a * b + c), 0.5)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    "name", ["h2exp", "h2log", "h2sin", "h2cos", "h2sqrt", "h2rcp", "h2exp10", "h2rint"]
)
def test_pairs(bench: Bench, kind: str, name: str) -> None:
    header, _, two, _ = KINDS[kind]
    bits, out = stored(kind, POINTS), np.zeros(len(POINTS), np.uint16)
    source = f"""#include <{header}>
        extern "C" __global__ void k(const {two}* a, {two}* o) {{ o[threadIdx.x] = {name}(a[threadIdx.x]); }}"""
    bench.run(source, 1, len(out) // 2, bits, out)
    near(kind, read(kind, out), ONE[name[2:]](POINTS), 1.0)


@pytest.mark.parametrize(
    ("suffix", "expected"),
    [("rn", [2, 2, 4, -2]), ("rz", [2, 1, 3, -1]), ("ru", [3, 2, 4, -1]), ("rd", [2, 1, 3, -2])],
)
@pytest.mark.parametrize("kind", KINDS)
def test_conversions_to_integers_round_as_told(
    bench: Bench, kind: str, suffix: str, expected
) -> None:
    header, one, _, _ = KINDS[kind]
    prefix = "__half" if kind == "half" else "__bfloat16"
    out = np.zeros(4, np.int32)
    source = f"""#include <{header}>
        extern "C" __global__ void k(const {one}* a, int* o) {{ o[threadIdx.x] = {prefix}2int_{suffix}(a[threadIdx.x]); }}"""
    bench.run(source, 1, 4, stored(kind, np.array([2.25, 1.5, 3.5, -1.75])), out)
    assert out.tolist() == expected

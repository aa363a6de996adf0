"""Floats to integers: saturated as CUDA does it, wherever a cast happens.

Values of CuPy's page of differences to NumPy, and of what NVRTC makes of `y = x` (PTX's cvt).
"""

from __future__ import annotations

from collections.abc import Callable

import cupy as cp
import numpy as np
import pytest

VALUES = [-1.0, -1.5, -0.5, -300.0, 300.7, 1e10, -1e10, np.nan, np.inf, -np.inf, 3e9, 7e4, 2e19]
MOST = {"u4": 2**32 - 1, "i4": 2**31 - 1, "u8": 2**64 - 1, "i8": 2**63 - 1}
LEAST = {"u4": 0, "i4": -(2**31), "u8": 0, "i8": -(2**63)}


def saturated(values: list[float], target: str) -> list[int]:
    """Say it once more, with Python's numbers."""
    wide = target if target in MOST else f"{target[0]}4"
    found = []
    for value in values:
        whole = 0 if value != value else value
        whole = max(LEAST[wide], min(MOST[wide], whole))
        bits = 8 * int(target[1])
        low = int(whole) % 2**bits
        found.append(low - 2**bits if target[0] == "i" and low >= 2 ** (bits - 1) else low)
    return found


WAYS: dict[str, Callable[[cp.ndarray, cp.ndarray], cp.ndarray]] = {
    "astype": lambda a, out: a.astype(out.dtype),
    "assign": lambda a, out: out.__setitem__(..., a) or out,
    "setitem": lambda a, out: out.__setitem__(cp.arange(a.size), a) or out,
    "copyto": lambda a, out: cp.copyto(out, a, casting="unsafe") or out,
    "where": lambda a, out: cp.copyto(out, a, casting="unsafe", where=cp.ones(a.size, "?")) or out,
    "put": lambda a, out: out.put(cp.arange(a.size), a) or out,
    "ufunc": lambda a, out: cp.positive(a, out=out, casting="unsafe"),
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("target", ["u1", "i1", "u2", "i2", "u4", "i4", "u8", "i8"])
@pytest.mark.parametrize("source", ["e", "f", "d"])
def test_floats_are_saturated(source: str, target: str, way: str) -> None:
    with np.errstate(over="ignore"):
        values = np.array(VALUES, source)
    out = cp.zeros(len(values), target)
    found = WAYS[way](cp.asarray(values), out)
    assert found.get().tolist() == saturated([float(v) for v in values], target)


@pytest.mark.parametrize("target", ["u1", "i1", "u2", "i2", "u4", "i4", "u8", "i8"])
@pytest.mark.parametrize("source", ["f", "d"])
def test_and_so_does_a_kernel(source: str, target: str) -> None:
    pytest.importorskip("llvmlite", reason="user kernels need pip install 'cupool[mock-kernels]'")
    values = cp.asarray(np.array(VALUES, source))
    out = cp.empty(len(VALUES), target)
    cp.ElementwiseKernel("S x", "T y", "y = x", "cast_like_cuda")(values, out)
    assert out.get().tolist() == values.astype(target).get().tolist()


def test_what_fits_is_cut_off_as_by_numpy() -> None:
    values = np.random.default_rng(0).uniform(-3e4, 3e4, (50, 20)).astype("f")
    for target in ("i2", "i4", "i8"):
        np.testing.assert_array_equal(
            cp.asarray(values).astype(target).get(), values.astype(target)
        )
        turned = cp.asarray(values).T.astype(target)
        assert turned.strides == values.T.astype(target).strides
    assert cp.zeros(0).astype("u1").shape == (0,)
    assert cp.array([np.nan, 0.0, -2.0]).astype(bool).get().tolist() == [True, False, True]


@pytest.mark.parametrize("name", ["sum", "prod", "cumsum", "cumprod", "nansum", "nanprod"])
def test_each_element_of_a_sum_in_integers_is_cut_first(name: str) -> None:
    adds = "sum" in name
    values = cp.array([2.7, np.inf, -1.5] if adds else [2.7, -1.5], "f")
    whole = values.astype("i8").get()
    found = getattr(cp, name)(values, dtype="i8")
    np.testing.assert_array_equal(found.get(), getattr(np, name)(whole, dtype="i8"))
    holes = cp.array([3.7, np.nan], "d")
    expected = 3 if adds or name == "nanprod" else 0
    assert np.ravel(getattr(cp, name)(holes, dtype="i4").get())[-1] == expected


def test_joined_arrays_are_cut_too() -> None:
    found = cp.concatenate(
        [cp.array([np.nan, -1.0]), cp.array([1e30])], dtype="u4", casting="unsafe"
    )
    assert found.get().tolist() == [0, 0, 2**32 - 1]
    complex_ones = cp.array([complex(np.nan, 1), complex(-2.5, 1), complex(np.inf, 0)], "F")
    with pytest.warns(np.exceptions.ComplexWarning):
        assert complex_ones.astype("i4").get().tolist() == [0, -2, 2**31 - 1]


@pytest.mark.parametrize("other", [1, 1.0, 1 + 0j])
@pytest.mark.parametrize("shape", [(), (1,), (2, 2)])
def test_outputs_of_whole_numbers_are_cut_whatever_the_shape(
    shape: tuple[int, ...], other: complex
) -> None:
    out = cp.zeros(shape, "i4")
    given = cp.full(shape, 1e20, "D")
    with pytest.warns(np.exceptions.ComplexWarning):
        cp.multiply(given, other, out=out, casting="unsafe")
    np.testing.assert_array_equal(out.get(), np.full(shape, 2**31 - 1))
    cp.multiply(given.real, -1.0, out=out, casting="unsafe")
    np.testing.assert_array_equal(out.get(), np.full(shape, -(2**31)))


def test_complex_inputs_of_a_loop_in_integers_are_cut_first() -> None:
    values = cp.array([1e20 + 1j, -1e20, -2.5])
    found = cp.add(values, 1, dtype="i4", casting="unsafe")
    assert found.get().tolist() == [-(2**31), -(2**31) + 1, -1]


def test_each_of_two_outputs_is_cut() -> None:
    fractions, whole = cp.zeros(2), cp.zeros(2, "i4")
    cp.modf(cp.array([1e20, -1e20]), fractions, whole, casting="unsafe")
    assert whole.get().tolist() == [2**31 - 1, -(2**31)]

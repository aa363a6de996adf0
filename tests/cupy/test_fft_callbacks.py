"""`set_cufft_callbacks`: transforms that read and write with device functions."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

from cupool.errors import OperationNotSupported
from tests.cupy import kernel_packages

import cupy as cp  # isort: skip

kernel_packages.needed()

LOAD = """
__device__ {kind} twice(void* data, {offset} i, void* caller, void* shared) {{
  {kind} x = (({kind}*)data)[i];
  x{part} *= 2 * (caller ? *(float*)caller : 1);
  return x;
}}
__device__ cufft{jit}CallbackLoad{letter} d_loadCallbackPtr = twice;
"""
STORE = """
__device__ void halve(void* data, {offset} i, {kind} x, void* caller, void* shared) {{
  x{part} /= 2;
  (({kind}*)data)[i] = x;
}}
__device__ cufft{jit}CallbackStore{letter} d_storeCallbackPtr = halve;
"""
KINDS = {
    "f": {"kind": "cufftReal", "letter": "R", "part": ""},
    "d": {"kind": "cufftDoubleReal", "letter": "D", "part": ""},
    "F": {"kind": "cufftComplex", "letter": "C", "part": ".x"},
    "D": {"kind": "cufftDoubleComplex", "letter": "Z", "part": ".x"},
}
RNG_SHAPE = (3, 4, 6)


def source(template: str, char: str, version: str = "jit") -> str:
    jit, offset = ("JIT", "unsigned long long") if version == "jit" else ("", "size_t")
    header = "#include <cufftXt.h>\n" if version == "jit" else ""
    return header + template.format(jit=jit, offset=offset, **KINDS[char])


def callbacks(**options: Any) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        return cp.fft.config.set_cufft_callbacks(**options)


def signal(char: str) -> np.ndarray:
    rng = np.random.default_rng(3)
    made = rng.standard_normal(RNG_SHAPE)
    return (made + 1j * rng.standard_normal(RNG_SHAPE)).astype(char) if char in "FD" else made


def real_doubled(a: np.ndarray, factor: float = 2.0) -> np.ndarray:
    made = a.copy()
    made.real *= factor
    return made


@pytest.mark.parametrize("version", ["legacy", "jit"])
@pytest.mark.parametrize("norm", [None, "ortho", "forward"])
@pytest.mark.parametrize("n", [None, 4, 9])
def test_both_callbacks_of_one_axis(version: str, norm: str | None, n: int | None) -> None:
    a = signal("D")
    load, store = source(LOAD, "D", version), source(STORE, "D", version)
    for name in ("fft", "ifft"):
        with callbacks(cb_load=load, cb_store=store, cb_ver=version):
            result = getattr(cp.fft, name)(cp.asarray(a), n=n, norm=norm)
        wanted = real_doubled(getattr(np.fft, name)(real_doubled(a), n=n, norm=norm), 0.5)
        np.testing.assert_allclose(result.get(), wanted, rtol=1e-12)


def test_real_transforms_have_callbacks_of_their_types() -> None:
    real, half = signal("d"), np.fft.rfftn(signal("d"))
    with callbacks(cb_load=source(LOAD, "d"), cb_store=source(STORE, "D"), cb_ver="jit"):
        result = cp.fft.rfftn(cp.asarray(real))
    np.testing.assert_allclose(result.get(), real_doubled(np.fft.rfftn(2 * real), 0.5), atol=1e-12)
    with callbacks(cb_load=source(LOAD, "D"), cb_store=source(STORE, "d"), cb_ver="jit"):
        result = cp.fft.irfftn(cp.asarray(half))
    wanted = np.fft.irfftn(real_doubled(half)) / 2
    np.testing.assert_allclose(result.get(), wanted, atol=1e-12)


def test_several_axes_are_one_transform_in_either_order() -> None:
    a = signal("D")
    for given in (cp.asarray(a), cp.asfortranarray(cp.asarray(a))):
        with callbacks(cb_load=source(LOAD, "D"), cb_ver="jit"):
            result = cp.fft.fftn(given)
        np.testing.assert_allclose(result.get(), np.fft.fftn(real_doubled(a)), rtol=1e-12)


def test_caller_data_and_scope() -> None:
    a = cp.asarray(signal("F"))
    factor = cp.asarray(3.0, dtype="f")
    outer = callbacks(cb_load=source(LOAD, "F"), cb_load_data=factor.data, cb_ver="jit")
    with outer as manager:
        assert cp.fft.config.get_current_callback_manager() is manager
        result = cp.fft.fft(a)
        with callbacks(cb_store=source(STORE, "F"), cb_ver="jit"):
            stored = cp.fft.fft(a)
        again = cp.fft.fft(a)
    assert cp.fft.config.get_current_callback_manager() is None
    np.testing.assert_allclose(result.get(), np.fft.fft(real_doubled(a.get(), 6)), rtol=1e-4)
    np.testing.assert_allclose(stored.get(), real_doubled(np.fft.fft(a.get()), 0.5), rtol=1e-4)
    np.testing.assert_array_equal(again.get(), result.get())
    np.testing.assert_allclose(cp.fft.fft(a).get(), np.fft.fft(a.get()), rtol=1e-4)


def test_what_is_refused() -> None:
    load, store = source(LOAD, "F"), source(STORE, "F")
    data = cp.zeros(1).data
    for options, error, message in (
        ({}, ValueError, "either cb_load or cb_store"),
        ({"cb_load": load, "cb_ver": "lto"}, ValueError, "cb_ver"),
        ({"cb_load": load, "cb_store_data": data}, ValueError, "store callback is not given"),
        ({"cb_load": "int x;"}, ValueError, "d_loadCallbackPtr"),
        ({"cb_store": "int x;", "cb_ver": "jit"}, ValueError, "cannot be inferred"),
        ({"cb_load": b"lto", "cb_store": store, "cb_ver": "jit"}, TypeError, "same type"),
        ({"cb_load": b"lto", "cb_ver": "jit"}, OperationNotSupported, "LTO-IR"),
    ):
        with pytest.raises(error, match=message):
            callbacks(**options)
    wrong = load.replace("return x;", "return y;")
    with (
        callbacks(cb_load=wrong, cb_ver="jit"),
        pytest.raises(cp.cuda.compiler.CompileException, match='"y"'),
    ):
        cp.fft.fft(cp.zeros(3, "F"))
    with pytest.warns(DeprecationWarning, match="legacy callback"):
        cp.fft.config.set_cufft_callbacks(cb_load=source(LOAD, "F", "legacy"))

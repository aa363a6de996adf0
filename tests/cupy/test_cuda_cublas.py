"""`cupy.cublas` against NumPy: layouts, factors on the host and on the device, `out`."""

from __future__ import annotations

from typing import Any

import cupy
import numpy as np
import pytest
from cupy import cublas

DTYPES = [np.float32, np.float64, np.complex64, np.complex128]
ORDERS = ["C", "F"]


def _matrix(shape: tuple[int, ...], dtype: Any, order: str = "C", seed: int = 0) -> Any:
    rng = np.random.default_rng(seed)
    made = rng.standard_normal(shape)
    if np.dtype(dtype).kind == "c":
        made = made + 1j * rng.standard_normal(shape)
    return np.asarray(made, dtype, order=order)


def _close(found: Any, wanted: Any) -> None:
    tolerance = 1e-4 if np.dtype(wanted.dtype).char in "fF" else 1e-11
    assert found.dtype == wanted.dtype
    np.testing.assert_allclose(found.get(), wanted, rtol=tolerance, atol=tolerance)


def _op(a: Any, trans: str) -> Any:
    return {"N": a, "T": a.T, "H": a.T.conj()}[trans]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize(("transa", "transb"), [("N", "N"), ("T", "H"), ("H", "T"), ("N", "T")])
def test_gemm(dtype: Any, order: str, transa: str, transb: str) -> None:
    a = _matrix((3, 4) if transa == "N" else (4, 3), dtype, order)
    b = _matrix((4, 5) if transb == "N" else (5, 4), dtype, order, 1)
    c = _matrix((3, 5), dtype, order, 2)
    da, db, dc = cupy.asarray(a), cupy.asarray(b), cupy.asarray(c, order=order)
    wanted = _op(a, transa) @ _op(b, transb)
    made = cublas.gemm(transa, transb, da, db)
    _close(made, wanted)
    assert made.flags.f_contiguous
    alpha = cupy.asarray(2, dtype)
    assert cublas.gemm(transa, transb, da, db, out=dc, alpha=alpha, beta=3.0) is dc
    _close(dc, (2 * wanted + 3 * c).astype(dtype))


@pytest.mark.parametrize("dtype", DTYPES)
def test_vectors(dtype: Any) -> None:
    x, y = _matrix((9,), dtype), _matrix((9,), dtype, seed=1)
    dx, dy = cupy.asarray(x), cupy.asarray(y)
    parts = np.abs(x.real) + np.abs(x.imag)
    assert cublas.iamax(dx).item() == parts.argmax() + 1
    assert cublas.iamin(dx).item() == parts.argmin() + 1
    _close(cublas.asum(dx), parts.sum())
    _close(cublas.dotc(dx, dy), np.vdot(x, y))
    host = np.empty((), dtype)
    assert cublas.dotu(dx, dy, out=host) is host
    np.testing.assert_allclose(host, x @ y, rtol=1e-4)
    on_device = cupy.empty((), np.float64)
    cublas.nrm2(dx, out=on_device)
    np.testing.assert_allclose(on_device.get(), np.linalg.norm(x), rtol=1e-5)
    cublas.axpy(2, dx, dy)
    cublas.scal(np.asarray(3), dx)
    _close(dy, (y + 2 * x).astype(dtype))
    _close(dx, (3 * x).astype(dtype))


@pytest.mark.parametrize("order", ORDERS)
def test_rank_one_and_triangles(order: str) -> None:
    x, y = _matrix((3,), np.complex128), _matrix((4,), np.complex128, seed=1)
    a = _matrix((3, 4), np.complex128, order, 2)
    da = cupy.asarray(a, order=order)
    cublas.gerc(1j, cupy.asarray(x), cupy.asarray(y), da)
    _close(da, a + 1j * np.outer(x, y.conj()))
    out = cupy.full((3, 3), 7.0 + 0j, order=order)
    cublas.syrk("N", cupy.asarray(a), out=out, lower=True)
    assert (out.get()[np.triu_indices(3, 1)] == 7).all()
    np.testing.assert_allclose(np.tril(out.get()), np.tril(a @ a.T))


def test_a_band_matrix() -> None:
    full = np.diag(np.arange(1.0, 6)) + np.diag(np.arange(4.0), 1) + np.diag(np.arange(4.0), -1)
    band = np.zeros((2, 5))
    band[0, 1:], band[1] = np.arange(4.0), np.arange(1.0, 6)
    x, y = cupy.arange(5.0), cupy.ones(5)
    cublas.sbmv(1, 2.0, cupy.asarray(band), x, 1.0, y)
    _close(y, 2 * full @ np.arange(5.0) + 1)


def test_beta_zero_does_not_read_the_output() -> None:
    out = cupy.full((2, 2), np.nan)
    cublas.gemm("N", "N", cupy.eye(2), cupy.ones((2, 2)), out=out)
    assert out.get().tolist() == [[1, 1], [1, 1]]


def test_wrong_arguments() -> None:
    a = cupy.ones((2, 2))
    with pytest.raises(TypeError, match="invalid trans"):
        cublas.gemm("X", "N", a, a)
    with pytest.raises(TypeError, match="invalid dtype"):
        cublas.asum(cupy.ones(3, np.int32))
    with pytest.raises(TypeError, match="dotu"):
        cublas.dot(cupy.ones(3, complex), cupy.ones(3, complex))
    with pytest.raises(ValueError, match="same size"):
        cublas.dot(cupy.ones(3), cupy.ones(4))
    with pytest.raises(ValueError, match="invalid side"):
        cublas.dgmm("X", a, cupy.ones(2))


def test_a_product_by_addresses() -> None:
    raw = cupy.cuda.cublas
    handle = raw.create()
    a, b = _matrix((2, 3), np.float32, "F"), _matrix((3, 4), np.float32, "F", 1)
    da, db = cupy.asarray(a, order="F"), cupy.asarray(b, order="F")
    dc = cupy.ones((2, 4), np.float32, order="F")
    alpha, beta = np.float32(2), np.asarray(3, np.float32)
    alpha = np.asarray(alpha)
    shape = (handle, raw.CUBLAS_OP_N, raw.CUBLAS_OP_N, 2, 4, 3)
    places = (da.data.ptr, 2, db.data.ptr, 3, beta.ctypes.data, dc.data.ptr, 2)
    raw.sgemm(*shape, alpha.ctypes.data, *places)
    _close(dc, 2 * (a @ b) + 3)
    raw.destroy(handle)
    with pytest.raises(raw.CUBLASError, match="CUBLAS_STATUS_NOT_INITIALIZED"):
        raw.getVersion(handle)
    assert cupy.cuda.get_cublas_handle() == cupy.cuda.Device().cublas_handle != 0

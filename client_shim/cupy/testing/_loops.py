"""Decorators that compare CuPy with NumPy: `numpy_cupy_*`. Those that repeat are in `_dtypes`."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from cupool.client_shim import cupy as _cupy
from cupool.client_shim.cupy.testing import _array
from cupool.client_shim.cupy.testing import _dtypes as _d
from cupool.client_shim.cupy.testing._running import (
    Names,
    check_errors,
    run_cupy,
    run_numpy,
    wraps_without,
    wraps_without_modules,
)

cupy: Any = _cupy
Check = Callable[[Any, Any], None]


def _wraps_partial(wrapped: Any, *names: str) -> Callable[[Any], Any]:
    return wraps_without(wrapped, names)


def _wraps_partial_xp(
    wrapped: Any, name: str, sp_name: str | None = None, scipy_name: str | None = None
) -> Callable[[Any], Any]:
    return wraps_without_modules(wrapped, Names(name, sp_name, scipy_name))


def _contains_signed_and_unsigned(kw: dict[str, Any]) -> bool:
    """Return whether the dtypes among a test's arguments are of both kinds."""
    given = {v for v in kw.values() if _means_dtype(v)}
    signed = (*_d.FLOATS, *_d.SIGNED)
    return any(x in given for x in _d.UNSIGNED) and any(x in given for x in signed)


def _means_dtype(value: Any) -> bool:
    if isinstance(value, type):
        return issubclass(value, np.number)
    return isinstance(value, (np.dtype, str))


def _comparing(
    check: Check,
    names: Names,
    accept_error: Any = False,
    *,
    type_check: bool = True,
    contiguous_check: bool = False,
    check_sparse_format: bool = True,
) -> Callable[[Any], Any]:
    """Return a decorator that runs a test's body twice and checks the pairs of results."""

    def decorate(impl: Any) -> Any:
        @wraps_without_modules(impl, names)
        def test_func(*args: Any, **kw: Any) -> None:
            ours = run_cupy(impl, args, kw, names)
            numpys = run_numpy(impl, args, kw, names)
            if ours.error is not None or numpys.error is not None:
                check_errors(ours.error, numpys.error, accept_error)
                return
            results = _pair(ours.result, numpys.result)
            pairs = [_arrays(c, n, names.sp, check_sparse_format) for c, n in results]
            for c, n in pairs:
                if type_check and c.dtype != n.dtype:
                    raise AssertionError(f"dtypes differ:\ncupy: {c.dtype}\nnumpy: {n.dtype}")
            if contiguous_check:
                for c, n in results:
                    _check_contiguity(c, n)
            for c, n in pairs:
                if c.shape != n.shape:
                    raise AssertionError(f"shapes differ:\ncupy: {c.shape}\nnumpy: {n.shape}")
            for c, n in _without_undefined(pairs, impl, args, kw, names):
                check(c, n)

        return test_func

    return decorate


def _pair(ours: Any, numpys: Any) -> list[tuple[Any, Any]]:
    if ours is None or numpys is None:
        raise AssertionError(f"the test returns None: cupy {ours!r}, numpy {numpys!r}")
    ours = ours if isinstance(ours, (tuple, list)) else (ours,)
    numpys = numpys if isinstance(numpys, (tuple, list)) else (numpys,)
    if len(ours) != len(numpys):
        raise AssertionError(f"cupy gives {len(ours)} results, numpy {len(numpys)}")
    return list(zip(ours, numpys, strict=True))


def _arrays(ours: Any, numpys: Any, sp: str | None, check_format: bool) -> tuple[Any, Any]:
    """Return a pair of results as arrays; they must be of corresponding types."""
    if isinstance(ours, cupy.ndarray) and isinstance(numpys, (np.ndarray, np.generic)):
        return ours, numpys
    if sp is not None and hasattr(ours, "toarray") and hasattr(numpys, "toarray"):
        if check_format and ours.format != numpys.format:
            raise AssertionError(f"formats differ: cupy {ours.format}, numpy {numpys.format}")
        return ours.toarray(), numpys.toarray()
    if isinstance(ours, cupy.poly1d) and isinstance(numpys, np.poly1d):
        if ours.variable != numpys.variable:
            raise AssertionError(f"variables differ: {ours.variable}, {numpys.variable}")
        return ours.coeffs, numpys.coeffs
    if isinstance(ours, np.generic) and isinstance(numpys, np.generic):
        return ours, numpys
    if np.isscalar(ours) and np.isscalar(numpys):
        return cupy.array(ours), np.array(numpys)
    raise AssertionError(f"types differ:\ncupy: {type(ours)}\nnumpy: {type(numpys)}")


def _check_contiguity(ours: Any, numpys: Any) -> None:
    """What NumPy returns contiguous must be so in CuPy; the other way round is free."""
    if not isinstance(numpys, np.ndarray):
        return
    for flag in ("c_contiguous", "f_contiguous"):
        if getattr(numpys.flags, flag) and not getattr(ours.flags, flag):
            raise AssertionError(f"{flag} with NumPy only; strides: {ours.strides}")


def _without_undefined(
    pairs: list[tuple[Any, Any]], impl: Any, args: Any, kw: dict[str, Any], names: Names
) -> list[tuple[Any, Any]]:
    """Drop elements that came of negative numbers made unsigned: GPU and CPU may differ there.

    Where these are is found by running the body again with the signed dtypes.
    """
    touched = [c.dtype in _d.UNSIGNED for c, _ in pairs]
    if not any(touched) or not _contains_signed_and_unsigned(kw):
        return pairs
    signed = {
        k: np.dtype(np.dtype(v).char.lower()).type if v in _d.UNSIGNED else v
        for k, v in kw.items()
        if not isinstance(v, (np.ndarray, cupy.ndarray))
    }
    again = run_cupy(impl, args, {**kw, **signed}, names)
    if again.error is not None:
        raise again.error
    results = again.result if isinstance(again.result, (tuple, list)) else (again.result,)
    kept = []
    for (c, n), one, drop in zip(pairs, results, touched, strict=True):
        if not drop:
            kept.append((c, n))
            continue
        defined = cupy.asnumpy(one) >= 0
        host = cupy.asnumpy(c)
        if host.ndim == 0:
            kept += [(host, n)] if defined.any() else []
        else:
            kept.append((host[defined], n[defined]))
    return kept


# -------------------------------------------------------------------- the decorators


def numpy_cupy_allclose(
    rtol: Any = 1e-7,
    atol: Any = 0,
    err_msg: str = "",
    verbose: bool = True,
    name: str = "xp",
    type_check: bool = True,
    accept_error: Any = False,
    sp_name: str | None = None,
    scipy_name: str | None = None,
    contiguous_check: bool = True,
    *,
    _check_sparse_format: bool = True,
) -> Any:
    """Run a test with CuPy and with NumPy; what it returns must agree within the tolerance.

    Args:
        rtol, atol: numbers, or dicts from dtypes to numbers, with "default" for the others.
        err_msg, verbose: what an error says; with the values or without.
        name, sp_name, scipy_name: the arguments that receive `numpy` or `cupy`, `scipy.sparse`
            or `cupyx.scipy.sparse`, `scipy` or `cupyx.scipy`.
        type_check: dtypes must be the same.
        accept_error: which errors are well when both raise one: False, True, or classes.
        contiguous_check: what NumPy gives contiguous must be so.
    """
    for tolerance in (rtol, atol):
        if not isinstance(tolerance, dict):
            continue
        if not type_check:
            raise TypeError("tolerances by dtype need type_check")
        if any(k != "default" and type(k) is not type for k in tolerance):
            raise TypeError("tolerances are given by types as numpy.float32, or 'default'")

    def check(c: Any, n: Any) -> None:
        bounds = _tolerance(rtol, c.dtype), _tolerance(atol, c.dtype)
        _array.assert_allclose(c, n, *bounds, err_msg=err_msg, verbose=verbose)

    return _comparing(
        check,
        Names(name, sp_name, scipy_name),
        accept_error,
        type_check=type_check,
        contiguous_check=contiguous_check,
        check_sparse_format=_check_sparse_format,
    )


def _tolerance(given: Any, dtype: np.dtype[Any]) -> Any:
    if not isinstance(given, dict):
        return given
    found = given.get(dtype.type, given.get("default"))
    if found is None:
        raise TypeError(f"no tolerance for {dtype.type}, and no default")
    return found


def numpy_cupy_array_almost_equal(
    decimal: int = 6,
    err_msg: str = "",
    verbose: bool = True,
    name: str = "xp",
    type_check: bool = True,
    accept_error: Any = False,
    sp_name: str | None = None,
    scipy_name: str | None = None,
) -> Any:
    """As `numpy_cupy_allclose`, with `assert_array_almost_equal`."""

    def check(c: Any, n: Any) -> None:
        _array.assert_array_almost_equal(c, n, decimal, err_msg, verbose)

    names = Names(name, sp_name, scipy_name)
    return _comparing(check, names, accept_error, type_check=type_check)


def numpy_cupy_array_almost_equal_nulp(
    nulp: int = 1,
    name: str = "xp",
    type_check: bool = True,
    accept_error: Any = False,
    sp_name: str | None = None,
    scipy_name: str | None = None,
) -> Any:
    """As `numpy_cupy_allclose`, with `assert_array_almost_equal_nulp`."""

    def check(c: Any, n: Any) -> None:
        _array.assert_array_almost_equal_nulp(c, n, nulp)

    names = Names(name, sp_name, scipy_name)
    return _comparing(check, names, accept_error, type_check=type_check)


def numpy_cupy_array_max_ulp(
    maxulp: int = 1,
    dtype: Any = None,
    name: str = "xp",
    type_check: bool = True,
    accept_error: Any = False,
    sp_name: str | None = None,
    scipy_name: str | None = None,
) -> Any:
    """As `numpy_cupy_allclose`, with `assert_array_max_ulp`."""

    def check(c: Any, n: Any) -> None:
        _array.assert_array_max_ulp(c, n, maxulp, dtype)

    names = Names(name, sp_name, scipy_name)
    return _comparing(check, names, accept_error, type_check=type_check)


def numpy_cupy_array_equal(
    err_msg: str = "",
    verbose: bool = True,
    name: str = "xp",
    type_check: bool = True,
    accept_error: Any = False,
    sp_name: str | None = None,
    scipy_name: str | None = None,
    strides_check: bool = False,
) -> Any:
    """As `numpy_cupy_allclose`, with `assert_array_equal`.

    Args:
        strides_check: strides must be the same.
    """

    def check(c: Any, n: Any) -> None:
        _array.assert_array_equal(c, n, err_msg, verbose, strides_check=strides_check)

    names = Names(name, sp_name, scipy_name)
    return _comparing(check, names, accept_error, type_check=type_check)


def numpy_cupy_array_list_equal(
    err_msg: str = "",
    verbose: bool = True,
    name: str = "xp",
    sp_name: str | None = None,
    scipy_name: str | None = None,
) -> Any:
    """As `numpy_cupy_array_equal`, which takes its place."""
    warnings.warn(
        "numpy_cupy_array_list_equal is deprecated, numpy_cupy_array_equal does the same",
        DeprecationWarning,
        stacklevel=2,
    )

    def check(c: Any, n: Any) -> None:
        _array.assert_array_equal(c, n, err_msg, verbose)

    return _comparing(check, Names(name, sp_name, scipy_name), type_check=False)


def numpy_cupy_array_less(
    err_msg: str = "",
    verbose: bool = True,
    name: str = "xp",
    type_check: bool = True,
    accept_error: Any = False,
    sp_name: str | None = None,
    scipy_name: str | None = None,
) -> Any:
    """As `numpy_cupy_allclose`; what CuPy gives must be less than what NumPy gives."""

    def check(c: Any, n: Any) -> None:
        _array.assert_array_less(c, n, err_msg, verbose)

    names = Names(name, sp_name, scipy_name)
    return _comparing(check, names, accept_error, type_check=type_check)


def numpy_cupy_equal(
    name: str = "xp", sp_name: str | None = None, scipy_name: str | None = None
) -> Any:
    """Run a test with CuPy and with NumPy; what it returns must be equal by `==`."""
    names = Names(name, sp_name, scipy_name)

    def decorate(impl: Any) -> Any:
        @wraps_without_modules(impl, names)
        def test_func(*args: Any, **kw: Any) -> None:
            ours = run_cupy(impl, args, kw, names)
            numpys = run_numpy(impl, args, kw, names)
            if ours.error is not None or numpys.error is not None:
                check_errors(ours.error, numpys.error, False)
            elif ours.result != numpys.result:
                text = f"results differ:\ncupy: {ours.result}\nnumpy: {numpys.result}"
                raise AssertionError(text)

        return test_func

    return decorate


def numpy_cupy_raises(
    name: str = "xp",
    sp_name: str | None = None,
    scipy_name: str | None = None,
    accept_error: Any = Exception,
) -> Any:
    """Run a test with CuPy and with NumPy; both must raise errors of like classes."""
    warnings.warn("cupy.testing.numpy_cupy_raises is deprecated", DeprecationWarning, stacklevel=2)
    names = Names(name, sp_name, scipy_name)

    def decorate(impl: Any) -> Any:
        @wraps_without_modules(impl, names)
        def test_func(*args: Any, **kw: Any) -> None:
            ours = run_cupy(impl, args, kw, names)
            numpys = run_numpy(impl, args, kw, names)
            check_errors(ours.error, numpys.error, accept_error)

        return test_func

    return decorate

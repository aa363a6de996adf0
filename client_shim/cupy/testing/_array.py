"""NumPy's assertions for arrays of the host and of the device."""

from __future__ import annotations

from typing import Any

from numpy import testing

from cupool.client_shim.cupy._creation.from_data import asnumpy


def assert_allclose(
    actual: Any,
    desired: Any,
    rtol: float = 1e-7,
    atol: float = 0,
    equal_nan: bool = True,
    err_msg: str = "",
    verbose: bool = True,
    *,
    strict: bool = False,
) -> None:
    """Raise AssertionError unless all elements are within the tolerance.

    Args:
        rtol, atol: how far from `desired`: `atol + rtol * abs(desired)`.
        equal_nan: NaNs equal each other.
        err_msg, verbose: what the error says; with the values or without.
        strict: shapes and dtypes must be the same, scalars are not broadcast.
    """
    testing.assert_allclose(
        asnumpy(actual), asnumpy(desired), rtol, atol, equal_nan, err_msg, verbose, strict=strict
    )


def assert_array_almost_equal(
    actual: Any, desired: Any, decimal: int = 6, err_msg: str = "", verbose: bool = True
) -> None:
    """Raise AssertionError unless all elements agree to `decimal` places."""
    testing.assert_array_almost_equal(asnumpy(actual), asnumpy(desired), decimal, err_msg, verbose)


def assert_array_almost_equal_nulp(x: Any, y: Any, nulp: int = 1) -> None:
    """Raise AssertionError unless elements differ by `nulp` spacings of the larger at most."""
    testing.assert_array_almost_equal_nulp(asnumpy(x), asnumpy(y), nulp)


def assert_array_max_ulp(a: Any, b: Any, maxulp: int = 1, dtype: Any = None) -> None:
    """Raise AssertionError if elements are more than `maxulp` representable numbers apart."""
    testing.assert_array_max_ulp(asnumpy(a), asnumpy(b), maxulp, dtype)


def assert_array_equal(
    actual: Any,
    desired: Any,
    err_msg: str = "",
    verbose: bool = True,
    *,
    strict: bool = False,
    strides_check: bool = False,
) -> None:
    """Raise AssertionError unless shapes and all elements are equal.

    Args:
        err_msg, verbose: what the error says; with the values or without.
        strict: shapes and dtypes must be the same, scalars are not broadcast.
        strides_check: the strides must be the same.
    """
    testing.assert_array_equal(asnumpy(actual), asnumpy(desired), err_msg, verbose, strict=strict)
    if not strides_check or actual.strides == desired.strides:
        return
    text = f"Strides are not equal: {err_msg}".rstrip()
    if verbose:
        text += f"\n x: {actual.strides}\n y: {desired.strides}"
    raise AssertionError(text)


def assert_array_list_equal(
    xlist: Any, ylist: Any, err_msg: str = "", verbose: bool = True
) -> None:
    """Raise AssertionError unless two lists or two tuples hold equal arrays, pair by pair."""
    if type(xlist) is not type(ylist):
        raise AssertionError(f"two lists or two tuples, not {type(xlist)} and {type(ylist)}")
    if type(xlist) not in (list, tuple):
        raise AssertionError(f"a list or a tuple of arrays, not {type(xlist)}")
    if len(xlist) != len(ylist):
        raise AssertionError(f"{len(xlist)} arrays on one side, {len(ylist)} on the other")
    for x, y in zip(xlist, ylist, strict=True):
        assert_array_equal(x, y, err_msg, verbose)


def assert_array_less(
    x: Any, y: Any, err_msg: str = "", verbose: bool = True, *, strict: bool = False
) -> None:
    """Raise AssertionError unless every element of `x` is less than that of `y`."""
    testing.assert_array_less(asnumpy(x), asnumpy(y), err_msg, verbose, strict=strict)

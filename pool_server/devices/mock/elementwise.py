"""Calling NumPy's ufuncs as CuPy's are called: its keywords, and its freer casting."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from cupool.pool_server.devices.base import Layout
from cupool.pool_server.devices.mock.casts import cast

NpArray = np.ndarray[Any, Any]

_NUMBER = np.dtype(np.float64)
_NONE = np.dtype(bool)
_COMPARISONS: dict[Any, Callable[..., Any]] = {np.equal: operator.eq, np.not_equal: operator.ne}
"""Structured arrays are compared by the operators alone."""

_LARGEST_INT = np.iinfo(np.int64).max
COMPARISONS: frozenset[Any] = frozenset(
    (np.equal, np.not_equal, np.less, np.less_equal, np.greater, np.greater_equal)
)


def firm(args: Sequence[Any]) -> Sequence[Any]:
    """Give ints beyond int64 their type: NumPy refuses to compare them with bool."""
    if any(type(a) is int and a > _LARGEST_INT for a in args):
        if any(getattr(a, "dtype", None) == np.bool_ for a in args):
            return [np.uint64(a) if type(a) is int else a for a in args]
    return args


def run(
    function: Callable[..., Any],
    args: Sequence[Any],
    kwargs: Mapping[str, Any],
    outs: Sequence[Layout | None],
) -> Any:
    """Call a ufunc, or a function of the same arguments, with CuPy's keywords.

    With `dtype=` CuPy casts the inputs to that loop without asking, and it checks the outputs
    alone against `casting` (the client has done that).
    """
    options = dict(kwargs)
    where = options.pop("_where", True)
    given = options.pop("out", None)
    options.pop("casting", None)
    dtype = options.pop("dtype", None)
    if not isinstance(function, np.ufunc):
        return _plain(function, args, where, given, dtype, outs)
    if function in _COMPARISONS and getattr(args[0], "dtype", _NUMBER).kind == "V":
        if args[0].dtype.names is None:
            differ = _as_numbers(args[0]) != _as_numbers(args[1])
            return differ.any(axis=-1) == (function is np.not_equal)
        return _plain(_COMPARISONS[function], args, where, given, dtype, outs)
    if function in COMPARISONS:
        args = firm(args)
    keywords: dict[str, Any] = {}
    if dtype is not None:
        keywords = {"dtype": dtype, "casting": "unsafe"}
        args = [cast(a, np.dtype(dtype)) if _cut_by(a, dtype) else a for a in args]
    if isinstance(given, np.ndarray) and _may_cut(args, given):
        np.copyto(given, cast(function(*args, **keywords), given.dtype), where=where)
        return given
    if isinstance(given, tuple) and any(
        each is not None and _may_cut(args, each) for each in given
    ):
        return _plain(function, args, where, given, dtype, outs)
    if given is not None:
        return function(*args, out=given, where=where, casting="unsafe", **_dtype(dtype))
    if where is True:
        return function(*args, order="C", **keywords)
    made = [np.empty(out.shape, out.dtype) for out in outs if out is not None]
    target: Any = made[0] if len(made) == 1 else tuple(made)
    return function(*args, out=target, where=where, casting="unsafe", **_dtype(dtype))


def _cut_by(value: Any, dtype: Any) -> bool:
    """Whether a loop of this dtype cuts fractions off."""
    return (
        isinstance(value, np.ndarray) and value.dtype.kind in "fc" and np.dtype(dtype).kind in "iu"
    )


def _may_cut(args: Sequence[Any], given: NpArray) -> bool:
    """Whether floating-point or complex results go into integers."""
    if given.dtype.kind not in "iu":
        return False
    return any(type(a) in (float, complex) or getattr(a, "dtype", _NONE).kind in "fc" for a in args)


def _as_numbers(array: NpArray) -> NpArray:
    """Return raw elements as bytes along a last axis."""
    packed = np.ascontiguousarray(array).reshape(array.shape)
    return packed.reshape((*array.shape, 1)).view(np.uint8)


def _dtype(dtype: Any) -> dict[str, Any]:
    return {} if dtype is None else {"dtype": dtype}


def _plain(
    function: Callable[..., Any],
    args: Sequence[Any],
    where: Any,
    given: Any,
    dtype: Any,
    outs: Sequence[Layout | None],
) -> Any:
    """Do the same around a function that takes arrays alone."""
    values = args
    if dtype is not None:
        values = [cast(np.asarray(a), np.dtype(dtype)) for a in args]
    result = function(*values)
    if given is None and where is True:
        return result
    targets = given if isinstance(given, (tuple, list)) else [given]
    results = result if isinstance(result, (tuple, list)) else [result]
    written = []
    for index, (target, one) in enumerate(zip(targets, results, strict=True)):
        if target is None:
            layout = outs[index]
            assert layout is not None
            target = np.empty(layout.shape, layout.dtype)
        np.copyto(target, cast(np.asarray(one), target.dtype), casting="unsafe", where=where)
        written.append(target)
    return written[0] if len(written) == 1 else tuple(written)

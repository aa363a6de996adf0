"""Decorators that repeat a test: with dtypes, orders, axes."""

from __future__ import annotations

import itertools
import os
import random
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from cupool.client_shim.cupy.testing._pytest_impl import skip_classes
from cupool.client_shim.cupy.testing._running import wraps_without

Types = tuple[type[Any], ...]

COMPLEX: Types = (np.complex64, np.complex128)
REGULAR_FLOATS: Types = (np.float64, np.float32)
FLOATS: Types = (*REGULAR_FLOATS, np.float16)
SIGNED: Types = tuple(np.dtype(c).type for c in "bhilq")
UNSIGNED: Types = tuple(np.dtype(c).type for c in "BHILQ")
INTEGERS: Types = SIGNED + UNSIGNED
INTEGERS_BOOL: Types = (*INTEGERS, np.bool_)

_FRACTION = 15
"""Of n cases, 1 + n // 15 are kept when only a sample is asked for."""


def _sampler() -> random.Random | None:
    """Return the source that picks samples, if CUPY_TEST_RANDOM_SUBSAMPLE asks for samples.

    It is the module's own, so that no test changes what is picked.
    """
    if not int(os.environ.get("CUPY_TEST_RANDOM_SUBSAMPLE", "0")):
        return None
    seed = os.environ.get("_CUPY_TEST_SUBSAMPLE_SEED")
    return random.Random(None if seed is None else int(seed))


_subsample_rng = _sampler()


def _sample(cases: Sequence[Any]) -> Sequence[Any]:
    if _subsample_rng is None or not cases:
        return cases
    return _subsample_rng.sample(cases, 1 + len(cases) // _FRACTION)


def _repeating(
    cases: Iterable[dict[str, Any]], names: Sequence[str], *, skippable: bool = True
) -> Callable[[Any], Any]:
    """Return a decorator that runs a test once with each set of further arguments.

    Args:
        skippable: a case that is skipped lets the others run.
    """
    cases = list(cases)

    def decorate(impl: Any) -> Any:
        @wraps_without(impl, tuple(names))
        def test_func(*args: Any, **kw: Any) -> None:
            for case in cases:
                try:
                    impl(*args, **{**kw, **case})
                except skip_classes() as exc:
                    if not skippable:
                        raise
                    print(f"skipped: {_show(case)} ({exc})")
                except Exception:
                    print(f"failed: {_show(case)}")
                    raise

        return test_func

    return decorate


def _show(case: dict[str, Any]) -> str:
    return ", ".join(f"{name} = {value}" for name, value in case.items())


# -------------------------------------------------------------------- one dtype


def for_dtypes(dtypes: Any, name: str = "dtype") -> Any:
    """Run a test with each of some dtypes as the argument `name`."""
    chosen = _sample(dtypes)
    return _repeating(({name: np.dtype(one).type} for one in chosen), (name,))


def _all(no_float16: bool, no_bool: bool, no_complex: bool) -> Types:
    floats = REGULAR_FLOATS if no_float16 else FLOATS
    integers = INTEGERS if no_bool else INTEGERS_BOOL
    return floats + integers + (() if no_complex else COMPLEX)


def for_all_dtypes(
    name: str = "dtype", no_float16: bool = False, no_bool: bool = False, no_complex: bool = False
) -> Any:
    """Run a test with every floating, integer and complex dtype and bool, or without some."""
    return for_dtypes(_all(no_float16, no_bool, no_complex), name)


def for_float_dtypes(name: str = "dtype", no_float16: bool = False) -> Any:
    """Run a test with every floating dtype."""
    return for_dtypes(REGULAR_FLOATS if no_float16 else FLOATS, name)


def for_signed_dtypes(name: str = "dtype") -> Any:
    """Run a test with every signed integer dtype."""
    return for_dtypes(SIGNED, name)


def for_unsigned_dtypes(name: str = "dtype") -> Any:
    """Run a test with every unsigned integer dtype."""
    return for_dtypes(UNSIGNED, name)


def for_int_dtypes(name: str = "dtype", no_bool: bool = False) -> Any:
    """Run a test with every integer dtype, and with bool unless `no_bool`."""
    return for_dtypes(INTEGERS if no_bool else INTEGERS_BOOL, name)


def for_complex_dtypes(name: str = "dtype") -> Any:
    """Run a test with both complex dtypes."""
    return for_dtypes(COMPLEX, name)


# -------------------------------------------------------------------- several dtypes


def for_dtypes_combination(
    types: Any, names: Sequence[str] = ("dtype",), full: bool | None = None
) -> Any:
    """Run a test with combinations of dtypes as the arguments `names`.

    Args:
        full: True takes all, False a random part in which each argument has each dtype; by
            default the environment variable CUPY_TEST_FULL_COMBINATION=1 asks for all.
    """
    types = list(types)
    if len(types) == 1:
        (name,) = names
        return for_dtypes(types, name)
    if full is None:
        full = int(os.environ.get("CUPY_TEST_FULL_COMBINATION", "0")) != 0
    rows: Iterable[tuple[Any, ...]]
    if full:
        rows = itertools.product(types, repeat=len(names))
    else:
        rows = zip(*([*types, *random.sample(types, len(types))] for _ in names), strict=True)
    chosen = _sample(list(dict.fromkeys(rows)))
    return _repeating((dict(zip(names, row, strict=True)) for row in chosen), names)


def for_all_dtypes_combination(
    names: Sequence[str] = ("dtyes",),
    no_float16: bool = False,
    no_bool: bool = False,
    full: bool | None = None,
    no_complex: bool = False,
) -> Any:
    """Run a test with combinations of the dtypes of `for_all_dtypes`."""
    return for_dtypes_combination(_all(no_float16, no_bool, no_complex), names, full)


def for_signed_dtypes_combination(
    names: Sequence[str] = ("dtype",), full: bool | None = None
) -> Any:
    """Run a test with combinations of signed integer dtypes."""
    return for_dtypes_combination(SIGNED, names, full)


def for_unsigned_dtypes_combination(
    names: Sequence[str] = ("dtype",), full: bool | None = None
) -> Any:
    """Run a test with combinations of unsigned integer dtypes."""
    return for_dtypes_combination(UNSIGNED, names, full)


def for_int_dtypes_combination(
    names: Sequence[str] = ("dtype",), no_bool: bool = False, full: bool | None = None
) -> Any:
    """Run a test with combinations of integer dtypes, and of bool unless `no_bool`."""
    return for_dtypes_combination(INTEGERS if no_bool else INTEGERS_BOOL, names, full)


# -------------------------------------------------------------------- orders and axes


def for_orders(orders: Any, name: str = "order") -> Any:
    """Run a test with each of some orders as the argument `name`."""
    return _repeating(({name: one} for one in orders), (name,), skippable=False)


def for_CF_orders(name: str = "order") -> Any:
    """Run a test with the orders C and F, in either case, and None."""
    return for_orders([None, "C", "F", "c", "f"], name)


def for_contiguous_axes(name: str = "axis") -> Any:
    """Run a test with every run of axes that lies together in memory.

    The test has arguments `shape` and `order`; in C order the runs end with the last axis, in F
    order they start with the first.
    """

    def decorate(impl: Any) -> Any:
        @wraps_without(impl, (name,))
        def test_func(*args: Any, **kw: Any) -> None:
            axes, order = range(len(kw["shape"])), kw["order"]
            if order not in ("C", "c", "F", "f"):
                raise ValueError(f"order must be C or F, not {order!r}")
            for i in axes:
                run = tuple(axes[i:] if order in "Cc" else axes[: i + 1])
                try:
                    impl(*args, **{**kw, name: run})
                except Exception:
                    print(f"failed: {name} = {run}, shape {kw['shape']}, order {order}")
                    raise

        return test_func

    return decorate

"""A test's body run with CuPy and with NumPy: results, errors, and how they must agree."""

from __future__ import annotations

import functools
import inspect
import os
import traceback
from collections.abc import Callable
from importlib import import_module
from typing import Any, NamedTuple

import numpy as np

from cupool.client_shim import cupy as _cupy
from cupool.client_shim.cupy.testing._pytest_impl import skip_classes

cupy: Any = _cupy

_CLASSES = (
    Exception,
    AttributeError,
    IndexError,
    TypeError,
    ValueError,
    NotImplementedError,
    DeprecationWarning,
    np.exceptions.AxisError,
    np.linalg.LinAlgError,
)
"""What scripts catch: an error of CuPy's must be of just those that NumPy's is of."""


class Names(NamedTuple):
    """The arguments that receive the modules: xp, sp, scipy."""

    xp: str
    sp: str | None = None
    scipy: str | None = None


class Outcome(NamedTuple):
    """What a run gave."""

    result: Any
    error: BaseException | None


def wraps_without(wrapped: Any, names: tuple[str, ...]) -> Callable[[Any], Any]:
    """Return a decorator like `functools.wraps`, for a wrapper that fills in some arguments.

    pytest must not take those for fixtures, so the signature is without them.
    """

    def decorate(wrapper: Any) -> Any:
        wrapper = functools.wraps(wrapped)(wrapper)
        filled = functools.partial(wrapped, **dict.fromkeys(names))
        wrapper.__signature__ = inspect.signature(filled)
        return wrapper

    return decorate


def wraps_without_modules(wrapped: Any, names: Names) -> Callable[[Any], Any]:
    """Return `wraps_without` for the arguments that receive the modules."""
    return wraps_without(wrapped, tuple(name for name in names if name is not None))


def run_cupy(impl: Any, args: Any, kwargs: dict[str, Any], names: Names) -> Outcome:
    """Run a body with CuPy."""
    modules = {names.xp: cupy}
    if names.sp:
        modules[names.sp] = import_module("cupool.client_shim.cupyx.scipy.sparse")
    if names.scipy:
        modules[names.scipy] = import_module("cupool.client_shim.cupyx.scipy")
    return _run(impl, args, {**kwargs, **modules})


def run_numpy(impl: Any, args: Any, kwargs: dict[str, Any], names: Names) -> Outcome:
    """Run a body with NumPy."""
    modules: dict[str, Any] = {names.xp: np}
    if names.sp:
        import scipy.sparse

        modules[names.sp] = scipy.sparse
    if names.scipy:
        import scipy

        modules[names.scipy] = scipy
    return _run(impl, args, {**kwargs, **modules})


def _run(impl: Any, args: Any, kwargs: dict[str, Any]) -> Outcome:
    caught: tuple[type[BaseException], ...] = (Exception, *skip_classes())
    try:
        return Outcome(impl(*args, **kwargs), None)
    except caught as exc:
        if exc.__traceback__ is None or exc.__traceback__.tb_next is None:
            raise  # the body was never entered: its arguments are wrong
        return Outcome(None, exc)


def check_errors(
    ours: BaseException | None, numpys: BaseException | None, accept_error: Any
) -> None:
    """Raise AssertionError unless both runs raised errors of like classes that are accepted.

    Args:
        accept_error: False, True, an exception or a tuple of them.

    Raises:
        the skip, if both runs skipped alike.
    """
    skips = skip_classes()
    if isinstance(ours, skips) and isinstance(numpys, skips):
        if type(ours) is not type(numpys):
            raise AssertionError("NumPy and CuPy were skipped by different exceptions")
        if ours.args != numpys.args:
            raise AssertionError(f"skipped for different reasons: {ours!r} and {numpys!r}")
        raise numpys
    if os.environ.get("CUPY_CI") and ours is not None:
        _check_raised_by_library(ours)
    if ours is None and numpys is None:
        raise AssertionError("both NumPy and CuPy should raise an error, neither did")
    if ours is None:
        _fail("only NumPy raises an error", ours, numpys)
    if numpys is None:
        _fail("only CuPy raises an error", ours, numpys)
    if any(isinstance(ours, one) != isinstance(numpys, one) for one in _CLASSES):
        _fail("CuPy and NumPy raise errors of different classes", ours, numpys)
    accepted = Exception if accept_error is True else accept_error or ()
    if not (isinstance(ours, accepted) and isinstance(numpys, accepted)):
        _fail("both CuPy and NumPy raise an error", ours, numpys)


def _check_raised_by_library(error: BaseException) -> None:
    last = traceback.extract_tb(error.__traceback__)[-1]
    file = os.path.basename(last.filename)
    if file.startswith("test_") and file != "test_helper.py":
        _fail("the test itself raises the error", error, None)


def _fail(what: str, ours: BaseException | None, numpys: BaseException | None) -> None:
    lines = [what]
    for title, error in (("cupy", ours), ("numpy", numpys)):
        if error is not None:
            lines += ["", title, "".join(traceback.format_exception(error))]
    shown = ours if ours is not None else numpys
    assert shown is not None
    raise AssertionError("\n".join(lines)).with_traceback(shown.__traceback__)

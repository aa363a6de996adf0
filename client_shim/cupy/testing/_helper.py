"""Test data, version checks, and assertions about calls and warnings."""

from __future__ import annotations

import contextlib
import importlib.metadata
import inspect
import unittest
import warnings
from collections.abc import Callable, Iterator
from importlib import import_module
from math import prod
from typing import Any
from unittest import mock

import numpy as np

from cupool.client_shim import cupy as _cupy
from cupool.client_shim.cupy.testing import _pytest_impl

cupy: Any = _cupy

_BASELINES = {"numpy": "2.3", "scipy": "1.14"}
"""What CuPy 14.2.0 follows; newer behaviour of these is not asked for."""

# -------------------------------------------------------------------- versions


def installed(*specifiers: str) -> bool:
    """Return whether all packages are installed in these versions.

    Args:
        specifiers: as in a requirements file: ``"numpy>=2.1"``.
    """
    from packaging.requirements import Requirement

    for text in specifiers:
        wanted = Requirement(text)
        found = _version(wanted.name)
        if found is None or not wanted.specifier.contains(found, prereleases=True):
            return False
    return True


def _version(name: str) -> str | None:
    """Return the version of a distribution, or of the one that brings a package of that name."""
    with contextlib.suppress(importlib.metadata.PackageNotFoundError):
        return importlib.metadata.version(name)
    bringing = importlib.metadata.packages_distributions().get(name)
    return importlib.metadata.version(bringing[0]) if bringing else None


def numpy_satisfies(version_range: str) -> bool:
    """Return whether NumPy's version is in a range such as ``">=2.1"``."""
    return installed(f"numpy{version_range}")


def with_requires(*requirements: str) -> Any:
    """Skip a test unless all packages are installed; see `installed`."""
    return _pytest_impl.skip_if(
        not installed(*requirements), reason=f"requires: {','.join(requirements)}"
    )


def is_after_baseline(*, numpy: str | None = None, scipy: str | None = None) -> bool:
    """Return whether a version of NumPy, or of SciPy, is newer than what CuPy follows."""
    from packaging.version import Version

    if (numpy is None) == (scipy is None):
        raise ValueError("either numpy or scipy, and one of them")
    name, version = ("numpy", numpy) if numpy is not None else ("scipy", scipy)
    return Version(str(version)) > Version(_BASELINES[name])


def skip_if_after_baseline(
    *, numpy: str | None = None, scipy: str | None = None, reason: str = ""
) -> Callable[[Any], Any]:
    """Skip a test on a NumPy or SciPy from a version on that is newer than what CuPy follows."""

    def decorate(impl: Any) -> Any:
        for name, version in (("numpy", numpy), ("scipy", scipy)):
            if version is None or not is_after_baseline(**{name: version}):
                continue
            impl = _pytest_impl.skip_if(installed(f"{name}>={version}"), reason=reason)(impl)
        return impl

    return decorate


# -------------------------------------------------------------------- data


def _ramp(numbers: Any, dtype: np.dtype[Any]) -> Any:
    """Bring whole numbers to a dtype: even ones are True, complex ones lie on the diagonal."""
    if dtype.kind == "b":
        numbers = numbers % 2 == 0
    elif dtype.kind == "c":
        numbers = numbers * (1 + 1j)
    return numbers.astype(dtype)


def shaped_arange(shape: Any, xp: Any = cupy, dtype: Any = np.float32, order: Any = "C") -> Any:
    """Return an array of `xp` with 1, 2, 3, …; for bool, every second is True."""
    numbers = np.arange(1, prod(shape) + 1)
    return xp.array(_ramp(numbers, np.dtype(dtype)).reshape(shape), order=order)


def shaped_reverse_arange(shape: Any, xp: Any = cupy, dtype: Any = np.float32) -> Any:
    """Return an array of `xp` with …, 3, 2, 1; for bool, every second is True."""
    numbers = np.arange(prod(shape), 0, -1)
    return xp.array(_ramp(numbers, np.dtype(dtype)).reshape(shape))


def shaped_random(
    shape: Any,
    xp: Any = cupy,
    dtype: Any = np.float32,
    scale: Any = 10,
    seed: Any = 0,
    order: Any = "C",
) -> Any:
    """Return an array of `xp` with even random numbers from [0, `scale`), or random bools."""
    source = np.random.RandomState(seed)
    kind = np.dtype(dtype).kind
    numbers: Any
    if kind == "b":
        numbers = source.randint(2, size=shape)
    elif kind == "c":
        real = source.rand(*shape)
        numbers = (real + 1j * source.rand(*shape)) * scale
    else:
        numbers = source.rand(*shape) * scale
    return xp.asarray(numbers, dtype=np.dtype(dtype), order=order)


def shaped_sparse_random(
    shape: Any,
    sp: Any = None,
    dtype: Any = np.float32,
    density: float = 0.01,
    format: str = "coo",
    seed: Any = 0,
) -> Any:
    """Return a random sparse matrix of `sp`: `cupyx.scipy.sparse` by default.

    Raises:
        ValueError: `sp` makes no sparse matrices.
    """
    import scipy.sparse

    if sp is None:
        sp = import_module("cupool.client_shim.cupyx.scipy.sparse")
    rows, columns = shape
    host = scipy.sparse.random(rows, columns, density, random_state=seed).astype(dtype)
    try:
        return sp.coo_matrix(host).asformat(format)
    except AttributeError as exc:
        raise ValueError(f"{sp} makes no sparse matrices") from exc


def shaped_linspace(
    start: Any, stop: Any, shape: Any, xp: Any = cupy, dtype: Any = np.float32
) -> Any:
    """Return an array of `xp` with even steps, kept to what bool or unsigned dtypes hold."""
    kind = np.dtype(dtype).kind
    if kind in "bu":
        start = max(start, 0)
    if kind == "b":
        stop = min(stop, 1)
    numbers = np.linspace(start, stop, int(np.prod(shape))).astype(dtype)
    return xp.array(numbers.reshape(shape))


def generate_matrix(
    shape: Any, xp: Any = cupy, dtype: Any = np.float32, *, singular_values: Any = None
) -> Any:
    """Return random matrices of `xp` that have the given singular values.

    Args:
        shape: of a matrix or a stack of them.
        dtype: a floating or complex one.
        singular_values: real and not negative; broadcast to the matrices.
    """
    kind = np.dtype(dtype).kind
    if len(shape) < 2:
        raise ValueError(f"a matrix needs two axes, shape {shape} has too few")
    if singular_values is None:
        raise TypeError("singular_values must be given")
    wanted = xp.asarray(singular_values)
    if kind not in "fc":
        raise TypeError(f"dtype {np.dtype(dtype)} is neither floating nor complex")
    if wanted.dtype.kind == "c":
        raise TypeError("singular values are real")
    if (wanted < 0).any():
        raise ValueError("singular values are not negative")
    noise = xp.random.randn(*shape)
    if kind == "c":
        noise = noise + 1j * xp.random.randn(*shape)
    left, values, right = xp.linalg.svd(noise, full_matrices=False)
    scaled = left * xp.broadcast_to(wanted, values.shape)[..., None, :]
    return xp.matmul(scaled, right).astype(dtype)


# -------------------------------------------------------------------- calls and warnings


@contextlib.contextmanager
def assert_warns(expected: Any) -> Iterator[None]:
    """Raise AssertionError at the end of the block unless it gave a warning of this class."""
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        yield
    if not any(isinstance(one.message, expected) for one in seen):
        raise AssertionError(f"no {getattr(expected, '__name__', expected)} was given")


@contextlib.contextmanager
def assert_function_is_called(*args: Any, times_called: int = 1, **kwargs: Any) -> Iterator[None]:
    """Replace something by `unittest.mock.patch` and count its calls in the block.

    Args:
        args, kwargs: those of `patch`.
        times_called: how many calls there must be.
    """
    with mock.patch(*args, **kwargs) as double:
        yield
    if double.call_count != times_called:
        raise AssertionError(f"called {double.call_count} times, not {times_called}")


AssertFunctionIsCalled = assert_function_is_called


class NumpyAliasTestBase(unittest.TestCase):
    """For functions that CuPy has as NumPy has them; `func` is the name."""

    @property
    def func(self) -> str:
        raise NotImplementedError("a subclass names the function")

    @property
    def cupy_func(self) -> Any:
        return getattr(cupy, self.func)

    @property
    def numpy_func(self) -> Any:
        return getattr(np, self.func)


class NumpyAliasBasicTestBase(NumpyAliasTestBase):
    """The signature is the same, and there is a docstring of its own."""

    def test_argspec(self) -> None:
        assert inspect.signature(self.cupy_func) == inspect.signature(self.numpy_func)

    def test_docstring(self) -> None:
        assert self.cupy_func.__doc__
        assert self.cupy_func.__doc__ is not self.numpy_func.__doc__


class NumpyAliasValuesTestBase(NumpyAliasTestBase):
    """The results are equal for `args`."""

    args: Any

    def test_values(self) -> None:
        assert self.cupy_func(*self.args) == self.numpy_func(*self.args)

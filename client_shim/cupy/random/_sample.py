"""Uniform samples and choices, with the current device's state."""

from __future__ import annotations

from math import prod
from typing import Any

from cupool.client_shim.cupy._core import routines_indexing, views
from cupool.client_shim.cupy._creation.basic import zeros
from cupool.client_shim.cupy._creation.ranges import arange
from cupool.client_shim.cupy.random import _distributions, _generator
from cupool.client_shim.cupy.random._parameters import shape_of
from cupool.client_shim.cupy.random._state_distributions import _only_dtype

__all__ = [
    "choice",
    "multinomial",
    "rand",
    "randint",
    "randn",
    "random_integers",
    "random_sample",
]


def rand(*size: int, **kwarg: Any) -> Any:
    """Return floats from [0, 1) in an array of the lengths given; keyword `dtype`."""
    dtype = _only_dtype("rand", kwarg)
    return random_sample(size=size, dtype=dtype)


def randn(*size: int, **kwarg: Any) -> Any:
    """Return standard normal draws in an array of the lengths given; keyword `dtype`."""
    dtype = _only_dtype("randn", kwarg)
    return _distributions.normal(size=size, dtype=dtype)


def randint(low: Any, high: Any = None, size: Any = None, dtype: Any = "l") -> Any:
    """Return integers from [low, high), or [0, low) without `high`."""
    return _generator.get_random_state().randint(low, high, size, dtype)


def random_integers(low: Any, high: Any = None, size: Any = None) -> Any:
    """Return integers from low to high, both included, or from 1 to low."""
    if high is None:
        low, high = 1, low
    return randint(low, high + 1, size)


def random_sample(size: Any = None, dtype: Any = float) -> Any:
    """Return floats from [0, 1)."""
    return _generator.get_random_state().random_sample(size=size, dtype=dtype)


def choice(a: Any, size: Any = None, replace: bool = True, p: Any = None) -> Any:
    """Return a sample of a vector, or of `range(a)`; see `RandomState.choice`."""
    return _generator.get_random_state().choice(a, size, replace, p)


def multinomial(n: int, pvals: Any, size: Any = None) -> Any:
    """Return how often each of several outcomes comes in `n` trials.

    Args:
        pvals: probabilities of the outcomes.
        size: shape of the result before its last axis, which is that of `pvals`.

    Raises:
        ValueError: `pvals` are no probabilities.
    """
    lead = shape_of(size)
    outcomes = len(pvals)
    counts = zeros((*lead, outcomes), "l")
    if counts.size > 0:
        trials = n * prod(lead)
        drawn = choice(outcomes, p=pvals, size=trials)
        if trials:
            rows = arange(trials) // n * outcomes
            routines_indexing.scatter_add(views.ravel(counts), rows + drawn, 1)
    return counts

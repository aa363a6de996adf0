"""Random numbers that are the same in every run of a test."""

from __future__ import annotations

import functools
import os
import random
import types
import unittest
from typing import Any

import numpy as np

from cupool.client_shim import cupy as _cupy
from cupool.client_shim.cupy.random import _generator
from cupool.client_shim.cupy.testing import _pytest_impl

_SEEDS = (99, 100, 101)
"""For Python's, NumPy's and the device's generators: those of CuPy's own tests."""


class _Fixed:
    """The fixed state. It may be entered within itself; only the outermost counts."""

    def __init__(self) -> None:
        self.depth = 0
        self._before: tuple[Any, Any, Any] | None = None

    def enter(self) -> None:
        if self.depth == 0:
            states = _generator._random_states
            self._before = (random.getstate(), np.random.get_state(), states)
            _generator._random_states = {}
            free = int(os.environ.get("CUPY_TEST_RANDOM_NONDETERMINISTIC", "0")) != 0
            own, numpys, devices = (None, None, None) if free else _SEEDS
            random.seed(own)
            np.random.seed(numpys)
            _cupy.random.seed(devices)
        self.depth += 1

    def leave(self) -> None:
        if self.depth == 0 or self._before is None:
            raise AssertionError("the random state was not fixed")
        self.depth -= 1
        if self.depth == 0:
            own, numpys, states = self._before
            random.setstate(own)
            np.random.set_state(numpys)
            _generator._random_states = states
            self._before = None


_fixed = _Fixed()


def generate_seed() -> int:
    """Return a seed, the same in every run of a test under `fix_random`."""
    if _fixed.depth == 0:
        raise AssertionError("generate_seed() is for tests under fix_random()")
    return int(np.random.randint(0x7FFFFFFF))


def fix_random() -> Any:
    """Fix the random states of Python, NumPy and the device during a test.

    It decorates a test method or a `unittest.TestCase`. CUPY_TEST_RANDOM_NONDETERMINISTIC=1 in
    the environment takes other numbers in each run.
    """

    def decorate(impl: Any) -> Any:
        if isinstance(impl, types.FunctionType) and impl.__name__.startswith("test_"):
            return _fix_method(impl)
        if isinstance(impl, type) and issubclass(impl, unittest.TestCase):
            return _fix_class(impl)
        raise ValueError(f"fix_random() is for test methods and TestCases, not for {impl}")

    return decorate


def _fix_method(impl: types.FunctionType) -> Any:
    @functools.wraps(impl)
    def test_func(*args: Any, **kwargs: Any) -> None:
        _fixed.enter()
        try:
            impl(*args, **kwargs)
        finally:
            _fixed.leave()

    return _pytest_impl.thread_unsafe(test_func, "the random states are the process's")


def _fix_class(cls: Any) -> Any:
    set_up, tear_down = cls.setUp, cls.tearDown

    def setUp(self: Any) -> None:
        _fixed.enter()
        set_up(self)

    def tearDown(self: Any) -> None:
        try:
            tear_down(self)
        finally:
            _fixed.leave()

    cls.setUp, cls.tearDown = setUp, tearDown
    return cls

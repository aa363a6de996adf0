"""Whether pytest is there. It is imported when a test asks for it, never before."""

from __future__ import annotations

import sys
import unittest
from functools import cache
from importlib.util import find_spec
from typing import Any


@cache
def is_available() -> bool:
    """Return whether pytest can be imported."""
    return find_spec("pytest") is not None


def check_available(feature: str) -> None:
    """Raise RuntimeError, with the name of what needs pytest, if it is not installed."""
    if not is_available():
        raise RuntimeError(f"cupy.testing: {feature} needs pytest, which is not installed")


def skip_classes() -> tuple[type[BaseException], ...]:
    """Return the exceptions that mean "skip this test": unittest's, and pytest's if it runs."""
    outcomes: Any = sys.modules.get("_pytest.outcomes")
    if outcomes is None:
        return (unittest.SkipTest,)
    return (unittest.SkipTest, outcomes.Skipped)


def skip_if(condition: bool, reason: str) -> Any:
    """Return a decorator that skips, by pytest or else by unittest."""
    if not is_available():
        return unittest.skipIf(condition, reason)
    import pytest

    return pytest.mark.skipif(condition, reason=reason)


def thread_unsafe(impl: Any, reason: str) -> Any:
    """Mark a test for the plugin that runs tests in several threads, if it is installed."""
    if find_spec("pytest_run_parallel") is None:
        return impl
    import pytest

    return pytest.mark.thread_unsafe(reason=reason)(impl)


@cache
def _mixin() -> type:
    import pytest

    class Parameterized:
        """Gives each instance of a test class one set of attributes."""

        def __repr__(self) -> str:
            return f"<{super().__repr__()}  parameter: {self.__dict__}>"

        @pytest.fixture(autouse=True)
        def _cupy_testing_parameterize(self, _cupy_testing_param: dict[str, Any]) -> None:
            if self.__dict__:
                raise AssertionError("something else has set attributes of this test instance")
            self.__dict__.update(_cupy_testing_param)

    return Parameterized


def parameterize(cls: type, params: Any, identify: Any) -> Any:
    """Return a class of pytest's style that runs once with each set of attributes.

    Args:
        params: dicts of attributes.
        identify: gives a set's name from its number and the set.
    """
    check_available("parameterize")
    import pytest

    mixin = _mixin()
    if issubclass(cls, mixin):
        raise RuntimeError(f"{cls.__name__} is parameterized twice")
    sets = [pytest.param(one, id=identify(i, one)) for i, one in enumerate(params)]
    made = type(cls.__name__, (mixin, cls), {"__module__": cls.__module__})
    return pytest.mark.parametrize("_cupy_testing_param", sets)(made)

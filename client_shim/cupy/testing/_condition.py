"""Tests that may fail now and then: run several times, judged by how often they succeed."""

from __future__ import annotations

import functools
import os
import unittest
from collections.abc import Callable
from typing import Any

from cupool.client_shim.cupy.testing import _pytest_impl


def repeat_with_success_at_least(times: int, min_success: int) -> Callable[[Any], Any]:
    """Run a test method of a `TestCase` up to `times`; it passes with `min_success` successes.

    Each run has its own instance, set up and torn down. The runs end as soon as the outcome is
    certain; a run that is skipped skips the test.
    """
    if times < min_success:
        raise AssertionError(f"{min_success} successes cannot come out of {times} runs")

    def decorate(impl: Any) -> Any:
        @functools.wraps(impl)
        def test_func(instance: unittest.TestCase, *args: Any, **kwargs: Any) -> None:
            successes = 0
            failures: list[str] = []
            while successes < min_success or not (successes or failures):
                result = _run_once(impl, instance, args, kwargs)
                if result.skipped:
                    instance.skipTest(result.skipped[0][1])
                if result.wasSuccessful():
                    successes += 1
                else:
                    failures.append((result.failures + result.errors)[0][1])
                if len(failures) > times - min_success:
                    instance.fail(_summary(successes, failures))

        return _pytest_impl.thread_unsafe(test_func, "runs a test runner of its own")

    return decorate


def repeat(times: int, intensive_times: int | None = None) -> Callable[[Any], Any]:
    """Run a test several times; all runs must succeed.

    Args:
        intensive_times: taken instead of `times`, unless CUPY_TEST_CASUAL is set to 1.
    """
    casual = int(os.environ.get("CUPY_TEST_CASUAL", "0")) != 0
    if intensive_times is not None and not casual:
        times = intensive_times
    return repeat_with_success_at_least(times, times)


def retry(times: int) -> Callable[[Any], Any]:
    """Run a test up to `times` until it succeeds once."""
    return repeat_with_success_at_least(times, 1)


def _run_once(
    impl: Any, instance: unittest.TestCase, args: Any, kwargs: Any
) -> unittest.TestResult:
    fresh = type(instance)(instance._testMethodName)
    case = unittest.FunctionTestCase(
        lambda: impl(fresh, *args, **kwargs), setUp=fresh.setUp, tearDown=fresh.tearDown
    )
    result = unittest.TestResult()
    case.run(result)
    return result


def _summary(successes: int, failures: list[str]) -> str:
    return (
        f"\n{len(failures)} runs failed, {successes} succeeded.\n\n"
        f"The first error message:\n{failures[0]}"
    )

"""`cupy.fuse`: values and dtypes of the plain function, and the rules of fusion."""

from __future__ import annotations

import cupy
import numpy as np
import pytest


@cupy.fuse
def plain(x, y):
    """Its own words."""
    return (x - y) * (x - y)


@cupy.fuse(kernel_name="norm")
def named(x):
    return cupy.sqrt(cupy.sum(x * x, axis=1))


def test_decorator_with_and_without_call() -> None:
    x = np.arange(12, dtype=np.float32).reshape(3, 4)
    squares = plain(cupy.asarray(x), 2.0)
    assert squares.dtype == np.float32
    np.testing.assert_array_equal(squares.get(), (x - 2) ** 2)
    np.testing.assert_allclose(named(cupy.asarray(x)).get(), np.linalg.norm(x, axis=1), rtol=1e-6)
    assert (plain.__name__, plain.__doc__) == ("plain", "Its own words.")
    assert (plain.name, named.name) == ("plain", "norm")


def test_host_arguments_are_a_plain_call() -> None:
    result = plain(np.arange(3), 1)
    assert type(result) is np.ndarray
    assert plain(5, 3) == 4


def test_arguments_are_written_in_place() -> None:
    @cupy.fuse()
    def update(parameter, velocity, gradient, rate):
        velocity *= 0.5
        velocity -= rate * gradient
        parameter += velocity

    p, v, g = (cupy.full(4, n, dtype=np.float32) for n in (1, 2, 4))
    assert update(p, v, g, 0.25) is None
    np.testing.assert_array_equal(v.get(), np.zeros(4))
    np.testing.assert_array_equal(p.get(), np.ones(4))


def test_what_is_returned_is_the_callers_own() -> None:
    @cupy.fuse()
    def same(x, y):
        x += y
        return x, x, y

    x, y = cupy.arange(3), cupy.arange(3)
    first, second, third = same(x, y)
    for array in (first, second, third):
        array[...] = -1
    np.testing.assert_array_equal(x.get(), [0, 2, 4])
    np.testing.assert_array_equal(y.get(), [0, 1, 2])
    first[...] = -2
    np.testing.assert_array_equal(second.get(), [-1, -1, -1])


def test_scalar_results_fill_the_arguments_shape() -> None:
    @cupy.fuse()
    def negated(x, scalar):
        return -scalar, x

    filled, _ = negated(cupy.zeros((2, 3)), np.float32(4))
    assert filled.dtype == np.float32
    np.testing.assert_array_equal(filled.get(), np.full((2, 3), -4))


def test_functions_may_call_each_other() -> None:
    @cupy.fuse()
    def inner(x, y):
        return x + y, 1  # a tuple with a constant: only the outer call's results are checked

    @cupy.fuse()
    def outer(x):
        total, one = inner(x, x)
        return total + one

    np.testing.assert_array_equal(outer(cupy.arange(3)).get(), [1, 3, 5])


@pytest.mark.parametrize("convert", [bool, int, float, complex])
def test_elements_must_not_be_looked_at(convert) -> None:
    @cupy.fuse()
    def branch(x):
        return -x if convert(x) else x

    with pytest.raises(TypeError, match="Cannot convert to Python scalar"):
        branch(cupy.ones(()))
    assert convert(cupy.ones(())) == 1, "outside, after the failure, it may be converted again"


def test_arguments_are_arrays_scalars_or_none() -> None:
    @cupy.fuse()
    def optional(x, y):
        return x if y is None else x + y

    np.testing.assert_array_equal(optional(cupy.arange(2), None).get(), [0, 1])
    with pytest.raises(TypeError, match="Invalid argument type for 'optional'"):
        optional(cupy.arange(2), [1, 2])


@pytest.mark.parametrize("result", [[1], "text", (cupy, 1)])
def test_results_are_arrays_tuples_of_them_or_none(result) -> None:
    @cupy.fuse()
    def other(x):
        return result

    with pytest.raises(ValueError, match="fused function"):
        other(cupy.arange(2))

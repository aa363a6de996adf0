"""`cupy.vectorize` on the mock GPU, against `numpy.vectorize`."""

from __future__ import annotations

import cupy
import numpy as np
import pytest

from tests.cupy import kernel_packages

kernel_packages.needed()


def smooth(x, edge):
    """Nothing below the edge."""
    if x < edge:
        y = 0 * x
    else:
        y = x * x - edge
    return y


@pytest.mark.parametrize("dtype", ["i2", "i8", "f2", "f4", "f8"])
def test_broadcasting_and_types(dtype) -> None:
    x = np.arange(-6, 6).reshape(3, 4).astype(dtype)
    edge = np.array([0, 1, 2, 30], dtype=dtype)
    result = cupy.vectorize(smooth)(cupy.asarray(x), cupy.asarray(edge))
    expected = np.where(x < edge, 0, x * x - edge)
    assert result.shape == (3, 4)
    assert result.get().tolist() == expected.tolist()


def test_constants_lambdas_and_scalars() -> None:
    scale = 3
    function = cupy.vectorize(lambda x, y: x * scale + y)
    assert function(cupy.arange(4), 10).get().tolist() == [10, 13, 16, 19]
    assert function(cupy.arange(4.0), 0.5).get().tolist() == [0.5, 3.5, 6.5, 9.5]


def test_several_results() -> None:
    def both(x, y):
        return x + y, x / y

    total, ratio = cupy.vectorize(both)(cupy.arange(4), cupy.arange(1, 5))
    assert (total.dtype, ratio.dtype) == (np.int64, np.float64)
    assert total.get().tolist() == [1, 3, 5, 7]
    assert ratio.get().tolist() == (np.arange(4) / np.arange(1, 5)).tolist()


def test_complex_numbers_and_ufuncs() -> None:
    def rotate(z):
        return cupy.conjugate(z) * 1j + cupy.absolute(z)

    z = (np.arange(4) - 1.5j).astype(np.complex64)
    result = cupy.vectorize(rotate)(cupy.asarray(z))
    np.testing.assert_allclose(result.get(), z.conj() * 1j + abs(z), rtol=1e-6)


def test_documentation_and_what_is_not_supported() -> None:
    assert cupy.vectorize(smooth).__doc__ == "Nothing below the edge."
    assert cupy.vectorize(smooth, doc="other").__doc__ == "other"
    for option in ({"excluded": {0}}, {"signature": "(n)->()"}):
        with pytest.raises(NotImplementedError, match=next(iter(option))):
            cupy.vectorize(smooth, **option)
    with pytest.raises(NotImplementedError, match="otypes"):
        cupy.vectorize(smooth, otypes="d")(cupy.arange(3), 1)


def test_errors_name_the_line() -> None:
    def text(x):
        return "x"

    functions = [lambda a: a + 1, lambda a: a * 2]  # fmt: skip
    with pytest.raises(NotImplementedError, match=r'> *return "x"'):
        cupy.vectorize(text)(cupy.arange(3))
    with pytest.raises(ValueError, match="Multiple callables are found"):
        cupy.vectorize(functions[0])(cupy.arange(3))
    with pytest.raises(TypeError, match="boolean condition"):
        cupy.vectorize(lambda z: 1 if z else 0)(cupy.zeros(2, dtype=complex))

"""Ufuncs: loops, outputs, masks, methods, NumPy's dispatch."""

from __future__ import annotations

import operator
from itertools import product

import cupy as cp
import numpy as np
import pytest

from tests.cupy.agreement import same
from tests.cupy.waits import no_waits

DTYPES = [np.dtype(c) for c in "?bBhHiIqQefdFD"]
BINARY = ["add", "multiply", "true_divide", "power", "maximum", "less", "logical_or", "arctan2"]
UNARY = ["sqrt", "sin", "absolute", "square", "sign", "isnan", "floor", "conjugate", "exp2"]


def _outcome(function, *args):
    try:
        return function(*args).dtype
    except TypeError:
        return TypeError


@pytest.mark.parametrize("name", BINARY)
def test_result_types_of_two_arrays(name: str) -> None:
    ours, numpys = getattr(cp, name), getattr(np, name)
    for first, second in product(DTYPES, DTYPES):
        a, b = np.ones(2, first), np.ones(2, second)
        if name == "logical_or" and "c" in first.kind + second.kind:
            continue  # CuPy has no such loop
        assert _outcome(ours, cp.array(a), cp.array(b)) == _outcome(numpys, a, b), (first, second)
    cp.cuda.Device().synchronize()


@pytest.mark.parametrize("name", UNARY)
def test_result_types_of_one_array(name: str) -> None:
    for dtype in DTYPES:
        if dtype.kind == "b" and name in ("sign", "conjugate", "square"):
            continue  # CuPy has int8 loops for them
        if dtype.kind == "c" and name == "floor":
            continue
        same(lambda xp, dtype=dtype: getattr(xp, name)(xp.ones(3, dtype)), rtol=1e-3)


def test_out_dtype_and_casting() -> None:
    def run(xp):
        a = xp.arange(4, dtype=xp.int32)
        out = xp.zeros(4, dtype=xp.float32)
        made = xp.add(a, 1, out=out)
        both = (xp.zeros(4), xp.zeros(4))
        parts = xp.modf(a / 3, out=both)
        return [made, out, *parts, xp.add(a, a, dtype=xp.float64), xp.multiply(a, a, out)]

    same(run)
    a = cp.arange(4.0)
    assert cp.add(a, a, dtype=int).get().tolist() == [0, 2, 4, 6]  # inputs are cut, as in CuPy
    assert cp.add(a, 1, out=cp.zeros(4, int), casting="unsafe").get().tolist() == [1, 2, 3, 4]
    with pytest.raises(TypeError, match="same_kind"):
        cp.add(a, 1, out=cp.zeros(4, int))
    with pytest.raises(ValueError, match="mismatched"):
        cp.add(a, 1, out=cp.zeros(1))
    with pytest.raises(TypeError):
        cp.add(a, 1, out=np.zeros(4))
    with pytest.raises(TypeError, match="Wrong arguments"):
        cp.add(a, 1, axis=0)
    with pytest.raises(TypeError, match="Wrong number"):
        cp.add(a)


def test_where_leaves_the_rest() -> None:
    def run(xp):
        a = xp.arange(5.0)
        out = xp.full(5, -1.0)
        xp.sqrt(a, out=out, where=a > 2)
        return out

    same(run)
    with pytest.raises(TypeError, match="Cannot cast"):
        cp.sqrt(cp.ones(2), where=cp.ones(2))


def test_methods() -> None:
    def run(xp):
        a = xp.arange(1.0, 7).reshape(2, 3)
        index = xp.array([0, 1])
        return [
            xp.add.outer(a, xp.arange(2)),
            xp.add.reduce(a),
            xp.multiply.reduce(a, axis=1, keepdims=True),
            xp.add.accumulate(a, axis=1),
            xp.multiply.accumulate(a),
            xp.add.reduceat(a, index, axis=1),
        ]

    same(run)
    with pytest.raises(NotImplementedError):
        cp.maximum.reduce(cp.ones(2))
    with pytest.raises(NotImplementedError):
        cp.sin.at(cp.ones(2), 0)


@pytest.mark.parametrize("name", ["add", "subtract", "maximum", "minimum", "bitwise_xor"])
def test_at_counts_repeated_indices(name: str) -> None:
    def run(xp):
        a = xp.arange(6, dtype=xp.int32)
        getattr(xp, name).at(a, xp.array([1, 1, 3]), xp.array([5, 6, 7], dtype=xp.int32))
        getattr(xp, name).at(a, slice(4, None), 2)
        return a

    same(run)
    with pytest.raises(TypeError, match="only supports"):
        getattr(cp, name).at(cp.zeros(3, np.int8), cp.array([0]), 1)


def test_numpy_calls_ours() -> None:
    a = cp.arange(4.0)
    assert isinstance(np.sin(a), cp.ndarray)
    assert isinstance(np.add(1, a), cp.ndarray)
    assert isinstance(np.sum(a), cp.ndarray)
    assert isinstance(np.add.reduce(a), cp.ndarray)
    assert isinstance(np.float64(2) * a, cp.ndarray)
    with pytest.raises(TypeError, match="Unsupported type"):
        np.add(a, np.arange(4.0))
    with pytest.raises(TypeError):
        np.spacing(a)


def test_powers_of_integers() -> None:
    a = cp.array([1, -1, 2, 3], dtype=int)
    assert (a ** cp.array([-2, -3, -1, 2])).get().tolist() == [1, -1, 0, 9]


def test_foreign_operands_may_answer() -> None:
    class Deaf:
        __array_ufunc__ = None

        def __radd__(self, other):
            return "mine"

    class Proud:
        __array_priority__ = 1000

        def __rmul__(self, other):
            return "mine"

    assert cp.ones(2) + Deaf() == "mine"
    assert cp.ones(2) * Proud() == "mine"
    with pytest.raises(TypeError):
        operator.iadd(cp.ones(2), Deaf())


def test_names_and_types() -> None:
    assert repr(cp.add) == "<ufunc 'cupy_add'>"
    assert (cp.divmod.nin, cp.divmod.nout, cp.divmod.nargs) == (2, 2, 4)
    assert cp.divide is cp.true_divide and cp.abs is cp.absolute
    assert "dd->d" in cp.add.types


def test_nothing_waits() -> None:
    with no_waits():
        a = cp.arange(4.0)
        cp.sin(a, out=a)
        cp.add.at(a, cp.array([1]), 2)
        cp.modf(a)


def test_shapes_seen_before_broadcast_as_the_first_time() -> None:
    def run(xp):
        a, b = xp.arange(12.0).reshape(3, 4), xp.arange(4.0)
        big = xp.zeros((2, 3, 4))
        made = [xp.add(a, b, out=big).copy()]
        return made + [op(x, y) for _ in range(3) for x, y in ((a, b), (b, a)) for op in OPS]

    OPS = (lambda x, y: x + y, lambda x, y: x * y, lambda x, y: x > y)
    same(run)


def test_in_place_keeps_dtype_shape_and_identity() -> None:
    def run(xp):
        a, b = xp.arange(6.0).reshape(2, 3), xp.arange(3.0)
        view = a[0]
        for _ in range(3):
            before = a
            a += a
            a *= 2
            a -= b
            a /= 4.0
            assert a is before
        view += 1
        n = xp.arange(3, dtype=xp.int8)
        n += 1
        n *= n
        n[1:] += n[:-1]
        return [a, view, n]

    same(run)
    with pytest.raises(TypeError):
        n = cp.arange(3)
        n += cp.ones(3)
    with pytest.raises(ValueError):
        a = cp.ones(3)
        a += cp.ones((2, 3))

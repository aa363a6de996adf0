"""The array class: attributes, views, operators, conversions, subclasses."""

from __future__ import annotations

import copy
import math
import pickle

import cupy as cp
import numpy as np
import pytest

from tests.cupy.agreement import same
from tests.cupy.waits import no_waits, waits


def test_attributes_agree_with_numpy() -> None:
    host = np.arange(24, dtype=np.float32).reshape(2, 3, 4).transpose(1, 0, 2)
    a = cp.arange(24, dtype=np.float32).reshape(2, 3, 4).transpose(1, 0, 2)
    for name in ("shape", "strides", "ndim", "size", "itemsize", "nbytes", "dtype"):
        assert getattr(a, name) == getattr(host, name)
    assert (a.flags.c_contiguous, a.flags.f_contiguous, a.flags.owndata) == (False, False, False)
    assert len(a) == 3
    with pytest.raises(AttributeError):
        a.flags.owndata = True  # type: ignore[misc]
    with pytest.raises(AttributeError):
        a.strides = (4, 8, 16)  # type: ignore[misc]
    with pytest.raises(TypeError, match="unsized"):
        len(cp.array(1))


def test_assigning_a_shape_never_copies() -> None:
    a = cp.arange(6)
    a.shape = (2, -1)
    assert a.shape == (2, 3)
    with pytest.raises(AttributeError):
        a.T.shape = (6,)


def test_views_write_through_and_wait_for_nothing() -> None:
    with no_waits():
        a = cp.zeros((3, 4), dtype=complex)
        a[1].real[...] = 2
        a[:, 2].imag[...] = 3
        a.T[0] += 1
        a.reshape(-1)[-1] = 9
        a.view(np.float64)[0, 0] = 5
    expected = np.zeros((3, 4), dtype=complex)
    expected[1].real[...] = 2
    expected[:, 2].imag[...] = 3
    expected.T[0] += 1
    expected.reshape(-1)[-1] = 9
    expected.view(np.float64)[0, 0] = 5
    np.testing.assert_array_equal(a.get(), expected)


def test_the_base_is_the_owner_and_pointers_add_up() -> None:
    a = cp.arange(12.0).reshape(3, 4)
    owner = a.base
    view = a[1:, 1:][1:]
    assert view.base is owner
    assert view.data.ptr - owner.data.ptr == view[0, 0].data.ptr - owner.data.ptr == 9 * 8
    same_memory = cp.ndarray(3, float, owner.data + 9 * 8)
    assert same_memory.get().tolist() == [9.0, 10.0, 11.0]


def test_constructor() -> None:
    assert cp.ndarray(3).shape == (3,)
    assert cp.ndarray((2, 3), "f4", order="F").strides == (4, 8)
    for bad in (1.0, (1.0,), None):
        with pytest.raises(TypeError):
            cp.ndarray(bad)
    with pytest.raises(ValueError, match="Negative"):
        cp.ndarray((-1,))
    with pytest.raises(ValueError, match="negative strides"):
        cp.ndarray((3,), strides=(-8,))


def test_operators_reflect_and_take_weak_scalars() -> None:
    def run(xp):
        a = xp.arange(1, 7, dtype=xp.int8).reshape(2, 3)
        f = a.astype(xp.float32)
        results = [1 - a, 2.5 * f, 2**f, 7 // a, 7 % a, 1j * f, a + True, a == 3, 3 > a]
        results += [a & 1, 1 | a, a ^ 3, ~a, a << 1, 64 >> a, abs(-a), a**2, f**0.5, f**-1.0]
        return [*results, np.float64(2) * f, f / np.float32(3), divmod(a, 4), divmod(9, a)]

    same(run, rtol=1e-6)


def test_integers_out_of_range() -> None:
    a = cp.arange(3, dtype=np.uint8)
    with pytest.raises(OverflowError):
        a + 300
    assert (a < 300).get().all()
    assert (a > -1).get().all()
    big = cp.array([1], np.uint64)
    assert (big + (2**63 + 1)).get()[0] == 2**63 + 2
    assert (big > -1).get().all()
    with pytest.raises(OverflowError):
        cp.arange(3) + 2**64


def test_in_place_operators_keep_dtype_and_refuse_bad_casts() -> None:
    def run(xp):
        a = xp.ones(3, dtype=xp.float32)
        a += 1
        a *= xp.arange(3)
        a **= 2
        return a

    same(run)
    a = cp.ones(3, dtype=int)
    with pytest.raises(TypeError, match="same_kind"):
        a += 0.5
    with pytest.raises(ValueError, match="mismatched"):
        a += cp.ones((2, 3), dtype=int)


def test_errors_are_numpys_and_come_at_once() -> None:
    flags = cp.array([True, False])
    with pytest.raises(TypeError, match="boolean subtract"):
        _ = flags - flags
    with pytest.raises(TypeError, match="boolean negative"):
        _ = -flags
    with pytest.warns(DeprecationWarning):
        assert (+flags).dtype == bool
    with pytest.raises(ValueError, match="broadcast"):
        cp.ones(2) + cp.ones(3)
    with pytest.raises(TypeError, match="Unsupported type"):
        cp.add(cp.ones(2), [1, 2])
    with pytest.raises(TypeError):
        _ = cp.ones(2) & 1
    assert (cp.ones(2) == None).get().tolist() == [False, False]  # noqa: E711
    assert (cp.ones(2) != object()).get().tolist() == [True, True]


def test_conversions_to_python() -> None:
    a = cp.array(2.5)
    assert (int(a), float(a), complex(a), bool(a)) == (2, 2.5, 2.5 + 0j, True)
    assert f"{a:.2f}" == "2.50"
    assert a.item() == 2.5
    assert cp.array(3).__index__() == 3
    assert cp.arange(3).tolist() == [0, 1, 2]
    assert math.isclose(cp.array([4.0]).item(), 4.0)
    with pytest.raises(ValueError, match="size 1"):
        cp.arange(2).item()
    with pytest.raises(ValueError, match="ambiguous"):
        bool(cp.arange(2))
    with pytest.warns(DeprecationWarning):
        assert not bool(cp.zeros(0))


def test_get_and_set() -> None:
    a = cp.arange(6).reshape(2, 3).T
    assert a.get().flags.c_contiguous
    assert a.get(order="A").flags.f_contiguous
    out = np.empty((3, 2), dtype=int)
    assert a.get(out=out) is out
    with pytest.raises(TypeError):
        a.get(out=np.empty((3, 2)))
    with pytest.raises(ValueError, match="Shape mismatch"):
        a.get(out=np.empty((2, 2), dtype=int))
    a.set(np.full((3, 2), 7))
    assert a.get().tolist() == [[7, 7]] * 3
    with pytest.raises(TypeError):
        a.set([1])


def test_fill_and_assignment_take_scalars_only_from_the_host() -> None:
    a = cp.zeros(3, dtype=np.int8)
    a.fill(cp.array(4))
    a[0] = np.array(5)
    a[1:] = 6.0
    assert a.get().tolist() == [5, 6, 6]
    with pytest.raises(ValueError, match="non-scalar"):
        a[...] = np.arange(3)
    with pytest.raises(OverflowError):
        a[0] = 1000
    with pytest.raises(ValueError, match="broadcast"):
        a[:2] = cp.zeros(3)


def test_astype_copy_and_order() -> None:
    a = cp.ones((2, 3, 4)).transpose(2, 0, 1)
    assert (
        a.astype(np.float32).strides == np.ones((2, 3, 4)).transpose(2, 0, 1).astype("f4").strides
    )
    assert a.copy().flags.c_contiguous
    assert a.copy("F").flags.f_contiguous
    assert a.astype(float, copy=False) is a
    with pytest.warns(np.exceptions.ComplexWarning):
        cp.ones(2, dtype=complex).astype(float)
    with pytest.raises(TypeError, match="not supported"):
        a.astype(int, casting="safe")


def test_reshape_copy() -> None:
    a = cp.arange(6)
    assert a.reshape(2, 3).base is a
    assert a.reshape(2, 3, copy=True).base is None
    with pytest.raises(ValueError, match="copy"):
        a.reshape(2, 3).T.reshape(6, copy=False)


@pytest.mark.parametrize("order", ["C", "F"])
def test_pickles_and_copies_keep_order(order: str) -> None:
    a = cp.array(np.arange(6.0).reshape(2, 3), order=order)
    for made in (pickle.loads(pickle.dumps(a)), copy.copy(a), copy.deepcopy(a)):
        np.testing.assert_array_equal(made.get(), a.get())
    assert pickle.loads(pickle.dumps(a)).flags.f_contiguous == (order == "F")


class Named(cp.ndarray):
    """A subclass with an attribute, as the NumPy manual makes them."""

    def __new__(cls, *args, name=None, **kwargs):
        made = super().__new__(cls, *args, **kwargs)
        made.name = name
        return made

    def __array_finalize__(self, obj):
        if obj is not None:
            self.name = getattr(obj, "name", None)


def test_subclasses_pass_through_views_and_ufuncs() -> None:
    a = Named((2, 3), name="x")
    a[...] = 1
    assert type(a) is Named and a.name == "x"
    for made in (a[0], a.T, a + 1, cp.ones((2, 3)) * a):
        assert type(made) is Named and made.name == "x"
    assert type(a.view(cp.ndarray)) is cp.ndarray
    assert type(cp.ones(3).view(Named)) is Named
    assert type(cp.array(a)) is cp.ndarray


def test_iteration_and_structured_fields() -> None:
    assert [int(x.sum()) for x in cp.ones((3, 2))] == [2, 2, 2]
    with pytest.raises(TypeError, match="0-d"):
        iter(cp.array(1))
    rows = cp.array(np.array([(1, 2.0), (3, 4.0)], dtype=[("n", "i8"), ("x", "f8")]))
    rows["x"] = 5
    assert rows["n"].get().tolist() == [1, 3]
    assert rows.get()["x"].tolist() == [5.0, 5.0]
    with pytest.raises(ValueError, match="aligned"):
        cp.zeros(2, dtype="i4,f8")["f1"]
    assert cp.array([(1, 2.0)], dtype=[("n", "i8"), ("x", "f8")])["n"].item() == 1
    for make in (lambda d: cp.zeros(2, d), lambda d: np.empty_like(rows, dtype=d), rows.view):
        with pytest.raises(TypeError, match="unhashable"):
            make([("n", "i8"), ("x", "f8")])


def test_the_cuda_array_interface_leads_back_to_our_arrays() -> None:
    class Wrapper:
        def __init__(self, array):
            self.__cuda_array_interface__ = array.__cuda_array_interface__

    a = cp.arange(12).reshape(3, 4)[:, 1:]
    shown = a.__cuda_array_interface__
    assert (shown["shape"], shown["typestr"], shown["version"]) == ((3, 3), "<i8", 3)
    assert cp.add(Wrapper(a), 1).get().tolist() == (np.arange(12).reshape(3, 4)[:, 1:] + 1).tolist()


def test_counted_waits() -> None:
    with no_waits():
        a = cp.arange(10.0)
        b = (a * 2 + 1).sum() / a.mean()
        a[2:] -= b
        c = cp.sqrt(abs(a)).reshape(2, 5).T.copy()
    with waits() as seen:
        c.get()
        float(b)
    assert seen == ["fetch", "fetch"]


@pytest.mark.parametrize("size", [1, 5000, 300_000])
@pytest.mark.parametrize("order", ["C", "F", "A"])
def test_what_comes_to_the_host_is_the_callers_own(size: int, order: str) -> None:
    host = cp.zeros((size, 2)).T.get(order=order)
    assert host.flags.writeable
    host += 1
    assert float(host.sum()) == 2 * size


def test_long_long_stays_what_it_is() -> None:
    for char in "qQlL":
        assert cp.arange(3).astype(char).get().dtype.char == char

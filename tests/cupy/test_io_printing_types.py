"""Files, text, dtype routines, memory questions: what is answered on this machine."""

from __future__ import annotations

import inspect
import io
from unittest import mock

import cupy as cp
import cupyx
import numpy as np
import pytest

from tests.cupy.waits import no_waits, waits


def test_npy_and_npz_files_are_numpys(tmp_path) -> None:
    a = cp.arange(6.0).reshape(2, 3)
    cp.save(tmp_path / "a.npy", a)
    np.testing.assert_array_equal(np.load(tmp_path / "a.npy"), a.get())
    np.testing.assert_array_equal(cp.load(tmp_path / "a.npy").get(), a.get())
    for save in (cp.savez, cp.savez_compressed):
        save(tmp_path / "b.npz", a, named=a + 1)
        with cp.load(tmp_path / "b.npz") as found:
            assert isinstance(found["named"], cp.ndarray)
            np.testing.assert_array_equal(found["arr_0"].get(), a.get())


def test_dumps_load_again() -> None:
    a = cp.arange(3)
    stream = io.BytesIO(a.dumps())
    assert cp.load(stream, allow_pickle=True).get().tolist() == [0, 1, 2]


def test_text_files(tmp_path) -> None:
    cp.savetxt(tmp_path / "a.txt", cp.arange(3.0), fmt="%.1f")
    assert (tmp_path / "a.txt").read_text() == "0.0\n1.0\n2.0\n"


def test_printing_is_numpys() -> None:
    a = cp.array([[1.5, 2], [3, 4]])
    host = a.get()
    assert (repr(a), str(a)) == (repr(host), str(host))
    assert cp.array_repr(a, precision=1) == np.array_repr(host, precision=1)
    assert cp.array2string(a, separator=";") == np.array2string(host, separator=";")
    assert cp.format_float_positional(cp.array(1.25), 1) == np.format_float_positional(1.25, 1)
    assert cp.base_repr(10, 3) == "101"
    with waits() as seen:
        repr(a)
    assert len(seen) == 1


def test_dtype_routines() -> None:
    f4, i8 = cp.ones(1, "f4"), cp.ones(1, "i8")
    with no_waits():
        assert cp.result_type(f4, 2.5) == np.float32
        assert cp.result_type(f4, i8) == np.float64
        assert cp.can_cast(f4, np.float64) and not cp.can_cast(i8, "f4", "safe")
        assert cp.common_type(f4, i8) is np.float64
        assert cp.min_scalar_type(i8) == np.int64 and cp.min_scalar_type(3) == np.uint8
        assert cp.min_scalar_type([i8[0], (i8,)]) == np.int64
        assert cp.isscalar(3.0) and not cp.isscalar(cp.array(3.0))
        assert (cp.ndim(f4), cp.size(i8), cp.ndim([[1]])) == (1, 1, 2)
    with pytest.raises(TypeError):
        cp.common_type(cp.array([True]))
    with pytest.raises(RuntimeError, match="removed"):
        cp.find_common_type([], [])


def test_memory_is_known_without_asking() -> None:
    a = cp.zeros(10)
    address = a.data.ptr  # the device's own, asked for once
    with no_waits():
        assert cp.shares_memory(a[::2], a[2:])
        assert not cp.shares_memory(a[::2], a[1::2])
        assert cp.may_share_memory(a[::2], a[1::2])
        assert not cp.may_share_memory(a, cp.zeros(10))
        # Over the same address, without a common owner.
        again = cp.ndarray((4,), a.dtype, cp.cuda.MemoryPointer(a.data.mem, 32))
        assert cp.may_share_memory(a[4:], again) and not cp.may_share_memory(a[:4], again)
        assert cp.shares_memory(a[5::2], again) and not cp.shares_memory(a[:4], again)
        low, high = cp.byte_bounds(a[2:5])
        assert (high - low, low - address) == (24, 16)
    with pytest.raises(NotImplementedError):
        cp.shares_memory(a, a[1:], 5)


def test_who_and_show_config(capsys) -> None:
    a = cp.zeros((2, 3), dtype=np.float32)
    cp.who({"first": a, "second": a, "other": 3})
    text = capsys.readouterr().out
    assert "second (first)" in text and "2 x 3" in text and text.rstrip().endswith("24")
    cp.show_config()
    assert "Device 0 Name" in capsys.readouterr().out


def test_memoize() -> None:
    calls = []

    @cp.memoize(for_each_device=True)
    def slow(x, *, y=0):
        calls.append(x)
        return x + y

    assert (slow(1), slow(1), slow(1, y=2)) == (1, 1, 3)
    assert len(calls) == 2
    cp.clear_memo()
    slow(1)
    assert len(calls) == 3


def test_get_array_module() -> None:
    assert cp.get_array_module(np.ones(1), cp.ones(1)) is cp
    assert cp.get_array_module(np.ones(1)) is np


def test_signatures_are_numpys() -> None:
    for name in ("binary_repr", "base_repr"):
        ours, numpys = getattr(cp, name), getattr(np, name)
        assert inspect.getfullargspec(ours) == inspect.getfullargspec(numpys)


def test_show_config_writes_once() -> None:
    with mock.patch("sys.stdout.write") as write:
        cp.show_config()
    write.assert_called_once_with(str(cupyx.get_runtime_info()))

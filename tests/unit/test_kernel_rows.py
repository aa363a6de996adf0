"""Rows of user kernels: what a session may say, and what it may not."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from cupool.errors import OperationNotSupported
from cupool.pool_server.devices.errors import CUDADriverError
from cupool.pool_server.devices.kernel_sources import (
    check_arguments,
    check_options,
    check_source,
)
from cupool.pool_server.devices.mock import MockDevice
from cupool.pool_server.devices.mock.kernels import packing
from cupool.pool_server.devices.null import NullDevice
from cupool.pool_server.devices.ptx import jit
from cupool.pool_server.session.loopback import Loopback, out, ref
from cupool.pool_server.session.worker import SessionCore
from cupool.proto import kernels
from cupool.proto import messages as m
from cupool.proto.failures import from_failure

F8 = np.dtype("f8")


def test_a_parameter_list_is_read() -> None:
    first, second = kernels.parse("raw T x, float32 y", True)
    assert (first.name, first.letter, first.raw, first.dtype) == ("x", "T", True, None)
    assert (second.name, second.letter, second.raw, second.const) == ("y", "", False, True)
    (third,) = kernels.parse("raw _non_const int8 z", True)
    assert (third.raw, third.const) == (True, False)
    assert kernels.parse("  ", False) == ()


@pytest.mark.parametrize("text", ["x", "T", "T x,", "odd T x", "object x", "M8[s] x", "T x-y"])
def test_a_wrong_parameter_list(text: str) -> None:
    with pytest.raises(Exception, match=r".+"):
        kernels.parse(text, True)


def test_types_come_from_arrays() -> None:
    ins, outs = kernels.parse("T x, U y, T z", True), kernels.parse("T a, float32 b", False)
    types = kernels.decide_types(ins, outs, (F8, np.dtype("i4"), None), ())
    assert types.inputs == (F8, np.dtype("i4"), F8)
    assert types.outputs == (F8, np.dtype("f4"))
    with pytest.raises(TypeError, match="mismatched"):
        kernels.decide_types(ins, outs, (F8, None, np.dtype("f4")), ())
    with pytest.raises(KeyError):
        kernels.decide_types(ins, outs, (F8, None, None), ())


@pytest.mark.parametrize(
    "source",
    [
        '#include "/etc/passwd"',
        "#include </etc/passwd>",
        '# include "../x.h"',
        "%:include <../x.h>",
        "??=include <../x.h>",
        '#inc\\\nlude "/etc/passwd"',
        '#include /* */ "/etc/passwd"',
        '#/* */include "/etc/passwd"',
        "#define F </etc/passwd>\n#include F",
        "#if __has_include(</etc/passwd>)\n#endif",
        '#embed "/etc/passwd"',
    ],
)
def test_sources_that_would_read_files_are_refused(source: str) -> None:
    with pytest.raises(ValueError, match="own headers only"):
        check_source(source)


def test_sources_and_options_that_are_fine() -> None:
    check_source("#include <cupy/complex.cuh>\n#include <cooperative_groups.h>\nint x;")
    assert check_options(["-DA=1", "-D B", "--std=c++17", "--use_fast_math", "-lineinfo"])


@pytest.mark.parametrize(
    "option",
    ["-I/etc", "--include-path=/etc", "-include=/etc/passwd", "--pre-include=x", "-o=x", "x", ""],
)
def test_options_that_name_files_are_refused(option: str) -> None:
    with pytest.raises(ValueError, match="not allowed"):
        check_options([option])


@pytest.mark.parametrize("shape", [(), (1,), (4, 5), (2, 3, 4), (3, 1, 4), (1, 1)])
@pytest.mark.parametrize("axes", [(0, 1, 2), (2, 0, 1), (1, 2, 0)])
def test_joined_dimensions_are_the_same_elements(shape: Any, axes: Any) -> None:
    a = np.arange(int(np.prod(shape)), dtype="i8").reshape(shape)
    if a.ndim == 3:
        a = a.transpose(axes)
    new_shape, (one,) = packing.joined(a.shape, [packing.Strided(a, a.shape, a.strides)])
    seen = np.lib.stride_tricks.as_strided(a, new_shape, one.strides)
    assert seen.ravel().tolist() == a.ravel().tolist()
    assert len(new_shape) <= max(a.ndim, 1)


DEFINITION = ["T x", "T y", "y = x + 1", "f"]
WRONG: list[Any] = [
    ["ElementwiseKernel", [[9, "object"]], [1, 2, 3, 4], None],
    ["ElementwiseKernel", [[9, "object"]], ["T x", "T y", "y = x", "not a name"], None],
    ["ElementwiseKernel", [[9, "object"]], ["T x", "T y", "y = x"], None],
    ["ElementwiseKernel", [[9, "object"]], DEFINITION, {"unknown": 1, "options": 5}],
    ["ElementwiseKernel.call", [out(9, F8, (3,))], [ref(1), [1, []], None, 128], None],
    ["ElementwiseKernel.call", [out(9, F8, (3,))], [ref(2), [1, []], None, 128], None],
    ["ElementwiseKernel.call", [[9]], [ref(2), [1, [ref(1)]], None, 128], None],
    ["ElementwiseKernel.call", [out(9, F8, (3,))], [ref(2), [1, [ref(2)]], None, 128], None],
    ["ElementwiseKernel.call", [out(9, F8, (3,))], [ref(2), [1, [ref(1)]], None, 0], None],
    ["ElementwiseKernel.call", [out(9, F8, (3,))], [ref(2), [1, [5]], None, 128], None],
    ["ReductionKernel.call", [out(9, F8, ())], [ref(2), [1, [ref(1)]], [2, [0]], False], None],
    ["RawKernel", [], [ref(1), [2, [1, 1, 1]], [2, [1, 1, 1]], [1, []], 0, False], None],
    ["RawModule.get_function", [[9, "object"]], [ref(1), "f"], None],
    ["RawModule.load", [[9, "object"]], [ref(1)], None],
]


@pytest.mark.parametrize("record", WRONG, ids=range(len(WRONG)))
def test_a_malformed_record_is_an_error_of_its_own(record: Any) -> None:
    pytest.importorskip("llvmlite")
    client = Loopback(SessionCore(MockDevice()))
    client.upload(1, np.arange(3.0))
    client.batch(["ElementwiseKernel", [[2, "object"]], DEFINITION, None])
    assert not client.failures
    client.batch(record)
    assert len(client.failures) == 1
    assert not any(isinstance(reply, m.Bye) for reply in client.replies)


def test_an_old_llvmlite_is_named_with_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    llvmlite = pytest.importorskip("llvmlite")
    monkeypatch.setattr(jit, "OLDEST_LLVM", (99, 0, 0))
    client = Loopback(SessionCore(MockDevice()))
    client.batch(["ElementwiseKernel", [[2, "object"]], DEFINITION, None])
    failure = from_failure(client.failures[0])
    assert isinstance(failure, OperationNotSupported)
    assert f"a newer llvmlite than {llvmlite.__version__} to run kernels" in str(failure)
    assert failure.remedy == "pip install 'cupool[mock-kernels]'"


def test_the_null_device_makes_outputs_and_runs_nothing() -> None:
    client = Loopback(SessionCore(NullDevice()))
    client.upload(1, np.arange(3.0))
    client.batch(
        ["ElementwiseKernel", [[2, "object"]], DEFINITION, None],
        ["ElementwiseKernel.call", [out(3, F8, (3,))], [ref(2), [1, [ref(1)]], None, 128], None],
    )
    assert not client.failures


def test_arguments_are_held_against_the_parameters() -> None:
    check_arguments([16, 16, 48, 16], [8, 4, 40])
    check_arguments([1], [8])  # scalars lie in 16 bytes
    with pytest.raises(CUDADriverError, match="takes 2 arguments, 1 were given"):
        check_arguments([16], [8, 4])
    with pytest.raises(CUDADriverError, match="parameter 1 has 24 bytes, its argument 16"):
        check_arguments([16, 16], [8, 24])

"""What goes wrong with kernels: the error that a GPU gives, and what can still be used after it."""

from __future__ import annotations

import io
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import cupool
from cupool.errors import SessionClosed
from tests.cupy import kernel_packages

import cupy as cp  # isort: skip

kernel_packages.needed()

CompileException = cp.cuda.compiler.CompileException
DriverError = cp.cuda.driver.CUDADriverError
RuntimeError_ = cp.cuda.runtime.CUDARuntimeError


@pytest.fixture
def fresh() -> Iterator[None]:
    """Let a test break its session: where it does, the next test gets a new one."""
    yield
    try:
        cp.cuda.Device().synchronize()
    except RuntimeError_:
        cupool.reset()


ELSEWHERE = """
import sys
import cupool.auto, cupy as cp
a = cp.arange(5.0)
for line in sys.stdin:
    print(float((a + int(line)).sum()), flush=True)
"""


class Neighbour:
    """Another process of the same job, on the same server, with an array of its own."""

    def __init__(self) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-c", ELSEWHERE],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=dict(os.environ),
        )

    def is_well(self) -> bool:
        """Does it still have its array, in the same session?"""
        process = self.process
        assert process.stdin is not None and process.stdout is not None
        process.stdin.write("1\n")
        process.stdin.flush()
        return process.stdout.readline() == "15.0\n"

    def end(self) -> None:
        self.process.communicate(timeout=60)


@pytest.fixture(scope="module")
def neighbour() -> Iterator[Neighbour]:
    cp.zeros(1)  # the pool is there before the other process looks for it
    other = Neighbour()
    try:
        assert other.is_well()
        yield other
        other.end()
    finally:
        other.process.kill()
        other.process.wait()


def kernel(body: str, parameters: str = "double* x", options: tuple[str, ...] = ()) -> cp.RawKernel:
    code = f'extern "C" __global__ void f({parameters}) {{ {body} }}'
    return cp.RawKernel(code, "f", options)


def usable() -> bool:
    x = cp.arange(3.0)
    kernel("x[threadIdx.x] += 1;")((1,), (3,), (x,))
    return bool(x.get().tolist() == [1, 2, 3])


# ------------------------------------------------------------------- before a launch


def test_a_kernel_that_does_not_compile() -> None:
    wrong = kernel("x[0] = undefined_name;", options=("-DTHIS=1",))
    with pytest.raises(CompileException, match="undefined_name") as caught:
        wrong((1,), (1,), (cp.zeros(1),))
    assert "undefined_name" in caught.value.get_message()
    text = io.StringIO()
    caught.value.dump(text)
    dumped = text.getvalue()
    assert "NVRTC compilation error" in dumped
    assert "-DTHIS=1" in dumped
    assert "1 extern" in dumped
    assert usable()


def test_an_elementwise_kernel_that_does_not_compile() -> None:
    wrong = cp.ElementwiseKernel("T x", "T y", "y = undefined_name", options=("-DA=1",))
    with pytest.raises(CompileException, match="undefined_name") as caught:
        wrong(cp.zeros(3))
    text = io.StringIO()
    caught.value.dump(text)
    assert "y = undefined_name;" in text.getvalue()
    assert "Options: -DA=1" in text.getvalue()
    with pytest.raises(CompileException, match="other_name"):
        cp.ReductionKernel("T x", "T y", "other_name", "a + b", "y = a", "0")(cp.zeros(3))
    assert usable()


def test_a_name_that_is_missing() -> None:
    wrong = cp.RawKernel('extern "C" __global__ void g() {}', "f")
    with pytest.raises(DriverError, match="CUDA_ERROR_NOT_FOUND: named symbol not found"):
        wrong((1,), (1,), ())
    assert usable()


@pytest.mark.parametrize("header", ["/etc/passwd", "../../secret.h", "/proc/self/environ"])
def test_the_servers_files_cannot_be_included(header: str) -> None:
    for line in (f'#include "{header}"', f"%:include <{header}>", f'#inc\\\nlude "{header}"'):
        wrong = cp.RawKernel(f'{line}\nextern "C" __global__ void f() {{}}', "f")
        with pytest.raises(ValueError, match="headers only"):
            wrong((1,), (1,), ())
    hidden = f'#define FILE "{header}"\n#include FILE\n'
    with pytest.raises(ValueError, match="headers only"):
        cp.RawModule(code=hidden).compile()


@pytest.mark.parametrize("option", ["--pre-include=/etc/hostname", "@/etc/hostname", "-o=/tmp/x"])
def test_options_that_name_files_are_refused(option: str) -> None:
    with pytest.raises(ValueError, match="not allowed"):
        kernel("", options=(option,))((1,), (1,), (cp.zeros(1),))


PTX = """.version 7.0
.target sm_52
.address_size 64
.visible .entry f(.param .u64 p) {{ .reg .u64 %a; .reg .f32 %x; {} ret; }}
"""


@pytest.mark.parametrize(
    "body",
    [
        "frobnicate.u32 %a, 1;",
        "ld.param.u64 %b, [p];",
        "ld.param.u64 %a, [q];",
        "bra NOWHERE;",
        "call system, (%a);",
        "mma.sync.aligned.m8n8k4.row.col.f32.f16.f16.f32 {%x}, {%a}, {%a}, {%x};",
    ],
)
def test_ptx_that_is_wrong(tmp_path: Path, body: str) -> None:
    file = tmp_path / "wrong.ptx"
    file.write_text(PTX.format(body))
    with pytest.raises((DriverError, cupool.errors.OperationNotSupported)) as caught:
        cp.RawModule(path=str(file)).get_function("f")
    assert getattr(caught.value, "status", 218) in (200, 218)
    file.write_text(PTX.format(""))
    cp.RawModule(path=str(file)).get_function("f")((1,), (1,), (cp.zeros(1),))
    cp.cuda.Device().synchronize()


def test_ptx_that_is_cut_off(tmp_path: Path) -> None:
    for text in (".version 7.0\n.target sm_52\n.visible .entry f(", "no ptx at all", ""):
        file = tmp_path / "cut.ptx"
        file.write_text(text)
        with pytest.raises(DriverError):
            cp.RawModule(path=str(file)).get_function("f")
    file.write_bytes(b"\x7fELF" + bytes(100))
    with pytest.raises(DriverError, match="NO_BINARY_FOR_GPU"):
        cp.RawModule(path=str(file)).get_function("f")
    assert usable()


# ------------------------------------------------------------------- at a launch, not sticky


def test_arguments_that_are_too_few() -> None:
    wrong = kernel("x[0] = n;", "double* x, int n")
    wrong((1,), (1,), (cp.zeros(1),))
    with pytest.raises(DriverError, match="takes 2 arguments, 1 were given"):
        cp.cuda.Device().synchronize()
    assert usable()


def test_a_structure_that_is_too_short() -> None:
    code = """struct Many { double values[5]; };
    extern "C" __global__ void f(double* x, Many many) { x[0] = many.values[4]; }"""
    x = cp.zeros(1)
    cp.RawKernel(code, "f")((1,), (1,), (x, np.float64(1)))
    with pytest.raises(DriverError, match="CUDA_ERROR_INVALID_VALUE"):
        cp.cuda.Device().synchronize()
    assert usable()


@pytest.mark.parametrize("value", ["text", [1], np.zeros(3), object()])
def test_arguments_that_no_kernel_takes(value: object) -> None:
    with pytest.raises(TypeError):
        kernel("", "int n")((1,), (1,), (value,))


def test_arguments_that_are_too_many_are_not_looked_at() -> None:
    x = cp.zeros(1)
    kernel("x[0] = 5;")((1,), (1,), (x, 1, 2, 3))
    assert x.get()[0] == 5


@pytest.mark.parametrize(
    ("grid", "block", "shared", "status"),
    [
        ((1,), (2048,), 0, 1),
        ((1,), (64, 64), 0, 1),
        ((1, 70000), (1,), 0, 1),
        ((1,), (1,), 1 << 20, 1),
    ],
)
def test_more_than_a_gpu_has(
    grid: tuple[int, ...], block: tuple[int, ...], shared: int, status: int
) -> None:
    kernel("x[0] = 1;")(grid, block, (cp.zeros(1),), shared_mem=shared)
    with pytest.raises(DriverError, match="CUDA_ERROR_INVALID_VALUE") as caught:
        cp.cuda.Device().synchronize()
    assert caught.value.status == status
    assert usable()


# ------------------------------------------------------------------- sticky

WILD = {
    "a null pointer": ("*(double*)(unsigned long long)x[0] = 1;", 700, "cudaErrorIllegalAddress"),
    "an address that is nobody's": ("*(double*)0xdead0000ull = 1;", 700, "cudaErrorIllegalAddress"),
    "far outside": ("x[1ll << 40] = 1;", 700, "cudaErrorIllegalAddress"),
    "a misaligned address": ("*(double*)((char*)x + 1) = 1;", 716, "cudaErrorMisalignedAddress"),
    "a trap": ("__trap();", 719, "cudaErrorLaunchFailure"),
    "endless recursion": ("x[0] = deep(x, 1);", 0, ""),
}
DEEP = """
__device__ __noinline__ double deep(volatile double* x, int n) {
    volatile double kept[64]; kept[n % 64] = x[0];
    return n < 0 ? 0 : deep(x, n + 1) + kept[n % 64];
}
"""


@pytest.mark.parametrize("case", WILD)
@pytest.mark.usefixtures("fresh")
def test_a_sticky_error_stays_until_the_session_is_reset(case: str, neighbour: Neighbour) -> None:
    """It is the session's own: another one keeps its arrays."""
    body, status, name = WILD[case]
    before = cp.arange(4.0)
    code = f'{DEEP}extern "C" __global__ void f(double* x) {{ {body} }}'
    broken = cp.RawKernel(code, "f")
    broken((1,), (1,), (before,))
    with pytest.raises(RuntimeError_) as caught:
        cp.cuda.Device().synchronize()
    first = caught.value.status
    assert status in (0, first)
    assert name in str(caught.value)
    for again in (before.get, lambda: cp.zeros(3).get(), cp.cuda.Device().synchronize):
        with pytest.raises(RuntimeError_) as caught:
            again()
        assert caught.value.status == first
    assert neighbour.is_well()
    cupool.reset()
    assert usable()
    with pytest.raises((SessionClosed, RuntimeError_)):
        before.get()


@pytest.mark.usefixtures("fresh")
def test_an_assertion_names_itself() -> None:
    code = 'extern "C" __global__ void f(int x) { assert(x == 3); }'
    cp.RawKernel(code, "f")((1,), (1,), (3,))
    cp.cuda.Device().synchronize()
    cp.RawKernel(code, "f")((1,), (1,), (4,))
    with pytest.raises(RuntimeError_, match="device-side assert triggered"):
        cp.cuda.Device().synchronize()


def test_a_kernel_that_prints_without_end(
    capsys: pytest.CaptureFixture[str], neighbour: Neighbour
) -> None:
    """Of 100 MB some text arrives, as much as a GPU's buffer holds."""
    loud = kernel('for (int i = 0; i < 1000000; ++i) printf("%099d\\n", i);')
    loud((1,), (1,), (cp.zeros(1),))
    cp.cuda.Device().synchronize()
    assert 1000 < len(capsys.readouterr().out) < 16 << 20
    assert usable() and neighbour.is_well()


def test_poisoned_outputs_do_not_hide_the_first_error() -> None:
    kernel("", "double* x, int n")((1,), (1,), (cp.zeros(1),))
    with pytest.raises(DriverError, match="takes 2 arguments"):
        (cp.arange(3.0) + 1).get()
    np.testing.assert_array_equal((cp.arange(3.0) + 1).get(), [1, 2, 3])

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
    """Let a test break its session: the next test gets a new one."""
    cupool.reset()
    yield
    cupool.reset()


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
    wrong = cp.ElementwiseKernel("T x", "T y", "y = undefined_name")
    with pytest.raises(CompileException, match="undefined_name"):
        wrong(cp.zeros(3))
    with pytest.raises(CompileException, match="other_name"):
        cp.ReductionKernel("T x", "T y", "other_name", "a + b", "y = a", "0")(cp.zeros(3))
    assert usable()


def test_a_name_that_is_missing() -> None:
    wrong = cp.RawKernel('extern "C" __global__ void g() {}', "f")
    with pytest.raises(DriverError, match="CUDA_ERROR_NOT_FOUND: named symbol not found"):
        wrong((1,), (1,), ())
    assert usable()


@pytest.mark.parametrize("header", ["/etc/hostname", "../../secret.h", "/proc/self/environ"])
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
def test_a_sticky_error_stays_until_the_session_is_reset(case: str) -> None:
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


ELSEWHERE = """
import cupool.auto, cupy as cp
a = cp.arange(5.0)
print("ready", flush=True)
input()
print(float((a + 1).sum()), flush=True)
"""


@pytest.mark.usefixtures("fresh")
def test_other_sessions_do_not_notice() -> None:
    """Another process of the same job, on the same server, keeps its arrays."""
    cp.zeros(1)
    other = subprocess.Popen(
        [sys.executable, "-c", ELSEWHERE],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env=dict(os.environ),
    )
    try:
        assert other.stdout is not None and other.stdin is not None
        assert other.stdout.readline() == "ready\n"
        kernel("*(double*)8 = 1;")((1,), (1,), (cp.zeros(1),))
        with pytest.raises(RuntimeError_):
            cp.cuda.Device().synchronize()
        out, _ = other.communicate("\n", timeout=60)
        assert out == "15.0\n"
    finally:
        other.kill()
        other.wait()


def test_a_kernel_that_prints_without_end(capsys: pytest.CaptureFixture[str]) -> None:
    """Of 100 MB some text arrives, as much as a GPU's buffer holds."""
    loud = kernel('for (int i = 0; i < 1000000; ++i) printf("%099d\\n", i);')
    loud((1,), (1,), (cp.zeros(1),))
    cp.cuda.Device().synchronize()
    assert 1000 < len(capsys.readouterr().out) < 16 << 20
    assert usable()


def test_poisoned_outputs_do_not_hide_the_first_error() -> None:
    kernel("", "double* x, int n")((1,), (1,), (cp.zeros(1),))
    with pytest.raises(DriverError, match="takes 2 arguments"):
        (cp.arange(3.0) + 1).get()
    np.testing.assert_array_equal((cp.arange(3.0) + 1).get(), [1, 2, 3])

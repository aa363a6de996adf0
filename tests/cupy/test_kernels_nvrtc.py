"""`cupy.cuda.nvrtc` and `compile_using_nvrtc`: the compiler without a kernel object."""

from __future__ import annotations

import io
import pickle
from pathlib import Path

import numpy as np
import pytest

from tests.cupy import kernel_packages

import cupy as cp  # isort: skip
from cupy.cuda import compiler, function, nvrtc  # isort: skip

kernel_packages.needed()

CODE = """
template <typename T> __global__ void scale(T* x, T by) { x[threadIdx.x] *= by; }
"""


@pytest.fixture
def program() -> int:
    return int(nvrtc.createProgram(CODE, "scale.cu", (), ()))


def test_a_program_from_source_to_launch(program: int) -> None:
    nvrtc.addNameExpression(program, "scale<float>")
    with pytest.raises(nvrtc.NVRTCError, match="NO_LOWERED_NAMES_BEFORE_COMPILATION"):
        nvrtc.getLoweredName(program, "scale<float>")
    nvrtc.compileProgram(program, ("--gpu-architecture=compute_80", "-std=c++17"))
    ptx = nvrtc.getPTX(program)
    name = nvrtc.getLoweredName(program, "scale<float>")
    assert ptx.endswith(b"\0") and f".entry {name}".encode() in ptx
    assert nvrtc.getProgramLog(program) == ""
    module = function.Module()
    module.load(ptx)
    x = cp.arange(4, dtype=cp.float32)
    module.get_function(name)((1,), (4,), (x, np.float32(3)))
    assert x.get().tolist() == [0, 3, 6, 9]
    nvrtc.destroyProgram(program)
    with pytest.raises(nvrtc.NVRTCError, match="INVALID_PROGRAM"):
        nvrtc.getPTX(program)


def test_what_goes_wrong_has_nvrtcs_codes(program: int) -> None:
    nvrtc.addNameExpression(program, "missing<int>")
    with pytest.raises(nvrtc.NVRTCError) as caught:
        nvrtc.compileProgram(program, ())
    assert caught.value.status in (6, 10)
    with pytest.raises(nvrtc.NVRTCError, match="NO_NAME_EXPRESSIONS_AFTER_COMPILATION"):
        nvrtc.addNameExpression(program, "scale<int>")
    wrong = nvrtc.createProgram("nonsense;", "wrong.cu", (), ())
    with pytest.raises(nvrtc.NVRTCError, match=r"NVRTC_ERROR_COMPILATION \(6\)"):
        nvrtc.compileProgram(wrong, ())
    assert "wrong.cu(1): error" in nvrtc.getProgramLog(wrong)
    copy = pickle.loads(pickle.dumps(caught.value))
    assert (copy.status, str(copy)) == (caught.value.status, str(caught.value))


def test_headers_are_given_by_name_and_by_folder(tmp_path: Path) -> None:
    (tmp_path / "three.h").write_text("#define THREE 3\n")
    source = '#include "two.h"\n#include <three.h>\n__global__ void f(int* x) { *x = TWO + THREE; }'
    program = nvrtc.createProgram(source, "f.cu", (b"#pragma once\n#define TWO 2\n",), (b"two.h",))
    nvrtc.compileProgram(program, (f"-I{tmp_path}",))
    assert b"_Z1fPi" in nvrtc.getPTX(program)


@pytest.mark.parametrize("option", ["--pre-include=/etc/hostname", "-o=/tmp/x"])
def test_the_servers_files_are_not_to_be_had(program: int, option: str) -> None:
    with pytest.raises(ValueError, match="not allowed"):
        nvrtc.compileProgram(program, (option,))


def test_compile_using_nvrtc() -> None:
    log = io.StringIO()
    code, names = compiler.compile_using_nvrtc(
        CODE + "void g() { int unused; }", name_expressions=["scale<double>"], log_stream=log
    )
    assert names is not None
    module = function.Module()
    module.load(code)
    x = cp.ones(2)
    module.get_function(names["scale<double>"])((1,), (2,), (x, 2.5))
    assert x.get().tolist() == [2.5, 2.5]
    assert "unused" in log.getvalue()
    with pytest.raises(compiler.CompileException, match="nonsense"):
        compiler.compile_using_nvrtc("nonsense;")
    with pytest.raises(RuntimeError, match="real arch"):
        compiler.compile_using_nvrtc(CODE, method="cubin")


def test_an_architecture_that_there_is_not() -> None:
    compiler.compile_using_nvrtc("", arch="70")
    with pytest.raises(compiler.CompileException, match="compute_73"):
        compiler.compile_using_nvrtc("", arch="73")


def test_versions() -> None:
    assert nvrtc.getVersion() == (12, 9)
    assert 80 in nvrtc.getSupportedArchs()

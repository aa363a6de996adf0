"""The engine around kernels: caches, what may be included, variables, random kernels."""

from __future__ import annotations

import ctypes
import hashlib
import os
import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.unit.ptx_harness import Bench, closing, needs_nvrtc

from cupool.pool_server.devices.errors import CompileException, CUDADriverError
from cupool.pool_server.devices.ptx import compiler_process, includes, syntax
from cupool.pool_server.devices.ptx.cache import DiskCache
from cupool.pool_server.devices.ptx.compiler import _OWN_HEADERS, CompilerProcess
from cupool.pool_server.devices.ptx.errors import PtxError

NATIVE = Path(syntax.__file__).parent / "native"


@pytest.fixture(scope="module")
def bench() -> Iterator[Bench]:
    yield from closing(Bench)


@pytest.mark.parametrize("name", ["runtime", "printing", "helpers"])
def test_generated_code_is_current(name):
    sources = (NATIVE / "abi.h").read_bytes() + (NATIVE / f"{name}.c").read_bytes()
    mark = (NATIVE / f"{name}.ll").read_text().split()[1]
    assert mark == hashlib.sha256(sources).hexdigest()[:16], "run scripts/generate_ptx_runtime.py"


@pytest.mark.parametrize(
    "source",
    [
        '#include "/etc/passwd"', "#include </etc/passwd>", '#include "../../etc/passwd"', '%:include "/etc/passwd"',
        '#inc\\\nlude "/etc/passwd"', '/**/ # /* a\n b */ include /**/ "/etc/passwd"', '#define X "/etc/passwd"\n#include X',
        '#include_next "/etc/passwd"', '#if __has_include("/etc/passwd")\n#endif', '#\vinclude "/etc/passwd"',
        "#include <cstddef/../../../../etc/passwd>", '#embed "/etc/passwd"', "#define H __has_include\n#if H(</etc/passwd>)\n#endif",
    ],
)  # fmt: skip
def test_files_of_the_server_cannot_be_included(source):
    assert includes.forbidden(source)


@pytest.mark.parametrize(
    "source",
    [
        "#include <cupy/complex.cuh>",
        '#include "cuda_fp16.h" // half',
        "#ifdef __has_include\n#endif",
        'x = "# in"; int include;',
    ],
)
def test_headers_can_be_included(source):
    assert includes.forbidden(source) is None


@needs_nvrtc
def test_a_relative_name_finds_no_file_of_the_working_folder(bench, tmp_path, monkeypatch):
    (tmp_path / "secret.h").write_text("the secret\n")
    monkeypatch.chdir(tmp_path)
    for name in ("kernel.cu", str(tmp_path / "kernel.cu")):
        with pytest.raises(CompileException) as caught:
            bench.engine.compile('#include "secret.h"', name=name)
        assert "the secret" not in str(caught.value)


TRICKS = [
    '#include "{}"', "#include <{}>", '#define X "{}"\n#include X', '#inc\\\nlude "{}"', '%:include "{}"',
    '??=include "{}"', '#embed "{}"', '#include_next "{}"', '#import "{}"', "#define H __has_include\n#if H(<{}>)\n#error found\n#endif",
    '#if __has_include("{}")\n#error found\n#endif', 'asm(".include \\"{}\\"");',
    "#define S(x) #x\n#define T(x) S(x)\n#define P {}\n#include T(P)",
]  # fmt: skip


@needs_nvrtc
def test_the_compiler_itself_can_open_no_file_of_the_server(tmp_path):
    """Past the scan of the source, which is the first lock on this door."""
    secret = tmp_path / "secret.h"
    secret.write_text("int the_secret = 1 2;\n")
    process = CompilerProcess(8 << 30)

    def ask(source: str, *options: str) -> str:
        request = {"source": source, "name": "k.cu", "options": options, "expressions": []}
        answer = process.ask(request, 60)
        assert answer is not None
        return str(answer["log"] + answer.get("ptx", ""))

    try:
        assert "error" not in ask('extern "C" __global__ void k() {}')
        if process.exposed:
            pytest.skip(process.exposed)
        relative = os.path.relpath(secret, _OWN_HEADERS)
        logs = [ask(t.format(p)) for t in TRICKS for p in (secret, relative)]
        logs += [ask("", f"--pre-include={secret}"), ask('#include "secret.h"', f"-I{tmp_path}")]
        for log in logs:
            assert "the_secret" not in log and "directive: found" not in log
        # Nor can it be told whether a file is there.
        gone = ask(f'#include "{secret}.gone"').replace(f"{secret}.gone", "X").replace(" ", "")
        assert gone == ask(f'#include "{secret}"').replace(str(secret), "X").replace(" ", "")
    finally:
        process.close()


@needs_nvrtc
def test_a_compiler_that_could_read_files_is_warned_of(monkeypatch, tmp_path, caplog):
    text = Path(compiler_process.__file__).read_text()
    other = tmp_path / "process.py"
    other.write_text(
        text.replace("_VERSION, _PATH_BENEATH = 1, 1", "_VERSION, _PATH_BENEATH = 77, 1")
    )
    monkeypatch.setattr(compiler_process, "__file__", str(other))
    process = CompilerProcess(8 << 30)
    request = {"source": "", "name": "k.cu", "options": [], "expressions": []}
    try:
        assert (process.ask(request, 60) or {})["status"] == 0
    finally:
        process.close()
    assert "Landlock: Invalid argument" in process.exposed
    assert "can read this server's files" in caplog.text


@pytest.mark.parametrize(
    "option",
    ["-I/etc", "--include-path=/etc", "-include=/etc/passwd", "--time=x", "-o", "--create-pch=x"],
)
@needs_nvrtc
def test_options_that_reach_files_are_refused(bench, option):
    with pytest.raises(CompileException, match="not allowed"):
        bench.engine.compile("", (option,))


@needs_nvrtc
def test_a_compiler_that_takes_too_long_is_ended():
    bench = Bench(compile_timeout_s=0.3)
    defines = (f"#define A{i} A{i - 1} A{i - 1} A{i - 1} A{i - 1}\n" for i in range(1, 14))
    source = "#define A0 int;\n" + "".join(defines)
    with pytest.raises(CompileException, match="gave up"):
        bench.engine.compile(source + "A13")
    bench.engine.close()


@needs_nvrtc
def test_compiled_code_is_found_again(tmp_path):
    folder = tmp_path / "kernels"
    source = 'extern "C" __global__ void k(int* o) { o[0] = 42; }'
    for round_ in range(3):
        bench, out = Bench(cache_folder=folder), np.zeros(1, np.int32)
        bench.run(source, 1, 1, out)
        bench.engine.close()
        assert out[0] == 42
        files = sorted(p for p in folder.iterdir() if not p.name.startswith("runtime"))
        assert sorted(p.suffix for p in files) == [".o", ".ptx"]
        if round_ == 1:  # a file that was cut short is the same as none
            for path in files:
                path.write_bytes(path.read_bytes()[:-7])
    assert folder.stat().st_mode & 0o777 == 0o700


def test_the_disk_cache_is_bounded_and_private(tmp_path):
    cache = DiskCache(tmp_path / "c", 10_000)
    for index in range(40):
        cache.put(f"f{index}", bytes(1000))
    assert sum(p.stat().st_size for p in (tmp_path / "c").iterdir()) <= 12_000
    assert cache.get("f39") == bytes(1000) and cache.get("f0") is None
    cache.put("large", bytes(9000))
    assert cache.get("large") is None
    os.chmod(tmp_path / "c", 0o777)
    assert DiskCache(tmp_path / "c", 10_000).folder is None


@needs_nvrtc
def test_modules_of_the_same_code_have_variables_of_their_own(bench):
    source = '__device__ int n = 3; extern "C" __global__ void k() { n++; }'
    ptx = bench.engine.compile(source).ptx
    first, second = bench.engine.load(ptx), bench.engine.load(ptx)
    assert first.binary is second.binary
    first.function("k").launch((1, 1, 1), (1, 1, 1), [])
    values = [ctypes.c_int.from_address(m.global_("n")[0]).value for m in (first, second)]
    assert values == [4, 3]


EXPRESSIONS = st.recursive(
    st.sampled_from(["a", "b", "1", "7", "-3", "1000003"]),
    lambda inner: (
        st.builds(
            "({} {} {})".format, inner, st.sampled_from(["+", "-", "*", "&", "|", "^"]), inner
        )
        | st.builds("({} {} ({} & 31))".format, inner, st.sampled_from(["<<", ">>"]), inner)
        | st.builds("({0} < {1} ? {1} : {0})".format, inner, inner)
    ),
    max_leaves=12,
)


def _evaluate(text: str, a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Evaluate C's expression by NumPy: int32 wraps, ?: becomes where."""
    node = text
    if node in ("a", "b"):
        return a if node == "a" else b
    if not node.startswith("("):
        return np.full_like(a, int(node))
    depth, parts, start = 0, [], 1
    for index, char in enumerate(node):
        depth += {"(": 1, ")": -1}.get(char, 0)
        if (char == " " and depth == 1) or index == len(node) - 1:
            parts.append(node[start:index])
            start = index + 1
    values = [_evaluate(p, a, b) if p[0] in "(ab-0123456789" and p != "-" else p for p in parts]
    if len(values) == 7:
        x, y = values[0], values[2]
        return np.where(x < y, values[4], values[6])
    x, operation, y = values
    table = {
        "+": np.add, "-": np.subtract, "*": np.multiply, "&": np.bitwise_and, "|": np.bitwise_or,
        "^": np.bitwise_xor, "<<": np.left_shift, ">>": np.right_shift,
    }  # fmt: skip
    return table[operation](x, y)


@needs_nvrtc
@settings(
    max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(expression=EXPRESSIONS, seed=st.integers(0, 2**31))
def test_random_expressions_agree_with_numpy(bench, expression, seed):
    rng = np.random.default_rng(seed)
    a, b = (rng.integers(-(2**31), 2**31, 256).astype(np.int32) for _ in range(2))
    out = np.zeros(256, np.int32)
    source = f"""extern "C" __global__ void k(const int* x, const int* y, int* o, int n) {{
        int i = blockIdx.x * blockDim.x + threadIdx.x; if (i >= n) return; int a = x[i], b = y[i]; o[i] = {expression}; }}"""
    bench.run(source, 3, 96, a, b, out, 256)
    with np.errstate(all="ignore"):
        assert np.array_equal(out, _evaluate(expression, a, b).astype(np.int32)), expression


WHOLE = """.version 7.0
.target sm_52
.address_size 64
.global .align 4 .u32 table[3] = {1, 2, 3};
.visible .entry k(.param .u64 p, .param .f32 q)
{
    .reg .pred %p<2>; .reg .f32 %f<3>; .reg .b64 %r<5>; .reg .b32 %t<4>;
    .shared .align 4 .b8 room[128];
    ld.param.u64 %r1, [p]; ld.param.f32 %f2, [q]; cvta.to.global.u64 %r1, %r1;
    mov.u32 %t1, %tid.x; mul.wide.u32 %r2, %t1, 4; add.s64 %r3, %r1, %r2;
    setp.lt.u32 %p1, %t1, 8; @%p1 bra DONE;
    mov.u64 %r4, table; ld.global.u32 %t2, [%r4+4]; st.shared.u32 [room+4], %t2;
    bar.sync 0; atom.global.add.u32 %t3, [%r3], 1; shfl.sync.bfly.b32 %t3, %t3, 1, 31, -1;
LOOP: fma.rn.f32 %f1, %f2, %f2, 0f3F800000; st.global.f32 [%r3], %f1; @!%p1 bra LOOP;
DONE: ret;
}
"""
TOKENS = re.split(r"([\w.$%@!]+|[\[\]{}();,+])", WHOLE)
"""Every second one is a token, the others are what lies between."""


@settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    end=st.one_of(st.just(len(TOKENS)), st.integers(1, len(TOKENS))),
    changes=st.lists(
        st.tuples(
            st.integers(0, len(TOKENS) // 2 - 1),
            st.sampled_from(["", ";", "{", "}", "9" * 5000, "-1", ".f64", *TOKENS]),
        ),
        max_size=3,
    ),
)
def test_ptx_that_was_cut_or_changed_is_compiled_or_refused(bench, end, changes):
    tokens = list(TOKENS)
    for place, token in changes:
        tokens[2 * place + 1] = token
    bench.engine.load(WHOLE.encode())
    try:
        bench.engine.load("".join(tokens[:end]).encode())
    except CUDADriverError as error:
        assert error.status in (200, 218)


@settings(max_examples=200, deadline=None)
@given(
    text=st.text(
        alphabet=".{}()[];,%$_ \n0123456789abcdefghijklmnopqrstuvwxyz@!|<>\"'", max_size=200
    )
)
def test_garbage_is_refused_and_nothing_else(text):
    for whole in (text, f".version 8.0\n.target sm_80\n.visible .entry k() {{ {text} }}"):
        try:
            parsed = syntax.parse(whole)
        except PtxError as error:
            assert str(error)
        else:
            assert isinstance(parsed, syntax.Program)

"""The listing of CuPy's names: complete, readable, and equal to what the wheel says."""

import ast
import importlib.metadata
import importlib.util
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

from cupool.proto.operations import TABLE
from cupool.proto.operations.api import Ufunc, listing

SCRIPT = Path(__file__).resolve().parents[2] / "scripts/generate_api.py"


@pytest.fixture(scope="module")
def script() -> ModuleType:
    spec = importlib.util.spec_from_file_location("generate_api", SCRIPT)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_kind_signature_and_page_of_a_function() -> None:
    api = listing()
    assert api.kind("cupy.sum") == "function"
    assert api.signature("cupy.sum") == "(a, axis=None, dtype=None, out=None, keepdims=False)"
    assert api.page("cupy.sum") == (
        f"https://docs.cupy.dev/en/v{api.cupy}/reference/generated/cupy.sum.html"
    )


def test_a_member_is_documented_on_the_page_of_its_class() -> None:
    page = listing().page("cupy.ndarray.sum")
    assert page is not None and page.endswith("/generated/cupy.ndarray.html#cupy.ndarray.sum")


def test_a_name_that_cupy_lacks_has_nothing() -> None:
    api = listing()
    assert api.kind("cupy.no_such_name") is None
    assert api.signature("cupy.no_such_name") is None
    assert api.page("cupy.no_such_name") is None
    assert api.ufunc("cupy.sum") is None
    assert api.members("cupy.no_such_name") == ()


def test_ufuncs_have_their_loops() -> None:
    add = listing().ufunc("cupy.add")
    assert isinstance(add, Ufunc)
    assert (add.nin, add.nout) == (2, 1)
    assert add.types[0] == "??->?" and "dd->d" in add.types
    assert listing().ufunc("cupyx.scipy.special.gamma") is not None


def test_every_ufunc_has_a_row_and_a_signature() -> None:
    api = listing()
    named = {name for name, entry in api.names.items() if entry.kind == "ufunc"}
    assert named == set(api.ufuncs)
    assert all(api.signature(name) for name in named)


def test_members_are_the_direct_ones() -> None:
    api = listing()
    assert {"add", "ndarray", "linalg"} <= set(api.members("cupy"))
    assert "norm" not in api.members("cupy")
    assert {"norm", "svd"} <= set(api.members("cupy.linalg"))
    assert {"T", "sum", "__add__"} <= set(api.members("cupy.ndarray"))


def test_constants_and_reexports() -> None:
    api = listing()
    assert api.constants["cupy.pi"] == pytest.approx(3.141592653589793)
    assert api.constants["cupy.cuda.runtime.memcpyHostToDevice"] == 1
    assert api.reexports["cupy.float32"] == "numpy.float32"
    assert "cupy.ndarray" not in api.reexports


def test_every_signature_is_python() -> None:
    for entry in listing().names.values():
        if entry.signature is not None:
            (function,) = ast.parse(f"def f{entry.signature}: ...").body
            assert isinstance(function, ast.FunctionDef)


def test_the_documented_api_is_there() -> None:
    api = listing()
    documented = [
        name
        for name, entry in api.names.items()
        if entry.page and entry.kind not in ("method", "property")
    ]
    assert len(documented) > 1200
    for name in ("cupy.einsum", "cupy.RawKernel", "cupy.cuda.Stream", "cupyx.scipy.fft.dct"):
        assert name in documented


def test_every_row_of_the_operation_table_names_something_cupy_has() -> None:
    api = listing()

    def is_there(name: str) -> bool:
        owner, _, method = name.rpartition(".")
        if owner in api.ufuncs:  # such as cupy.add.reduceat
            name = f"cupy.ufunc.{method}"
        return name in api.names

    assert [row.cupy for row in TABLE.values() if row.cupy and not is_there(row.cupy)] == []


def test_loading_is_quick() -> None:
    code = (
        "import time, msgspec; from cupool.proto.operations.api import listing;"
        "t = time.process_time(); listing(); print(time.process_time() - t)"
    )
    seconds = [
        float(subprocess.run([sys.executable, "-c", code], capture_output=True, check=True).stdout)
        for _ in range(3)
    ]
    assert min(seconds) < 0.05  # 7 ms where it was written


CHAPTER = """
.. module:: cupy.fft

.. autosummary::
   :toctree: generated/

   fft
   cupy.fft.config::get_plan_cache

Prose that is no name.

.. currentmodule:: cupyx.jit
.. autofunction:: rawkernel
"""


def test_the_documentation_names_pages(script: ModuleType, tmp_path: Path) -> None:
    (tmp_path / "fft.rst").write_text(CHAPTER)
    assert script.read_docs(tmp_path) == {
        "cupy.fft.fft": "reference/generated/cupy.fft.fft.html",
        "cupy.fft.config.get_plan_cache": (
            "reference/generated/cupy.fft.config.get_plan_cache.html"
        ),
        "cupyx.jit.rawkernel": "reference/fft.html#cupyx.jit.rawkernel",
    }


@pytest.mark.parametrize(
    ("first_line", "signature"),
    [
        ("malloc(size_t size)", "(size)"),
        ("Plan.f(self, x, int n=0, bool b=False) -> (int, int)", "(self, x, n=0, b=False)"),
        (r"add(x1, x2, /, out=None, \*, dtype=None)", "(x1, x2, /, out=None, *, dtype=None)"),
        ("f(a: Optional[Tuple[int, int]] = None)", "(a=None)"),
        ("modf(x[, out1, out2], / [, out=(None, None)])", None),
        ("A sentence about it (with brackets).", None),
    ],
)
def test_signatures_from_cython(script: ModuleType, first_line: str, signature: str | None) -> None:
    class Thing:
        __doc__ = f"{first_line}\n\nMore text."

    assert script.documented_signature(Thing()) == signature


def test_signatures_from_python_lose_annotations_and_addresses(script: ModuleType) -> None:
    marker = object()

    def f(
        a: int, /, b: type = float, *, c: object = marker, d: object = ("x", 1), **rest: str
    ) -> None: ...

    assert script.signature(f) == "(a, /, b=float, *, c=..., d=('x', 1), **rest)"


def test_the_listing_is_what_the_installed_wheel_says() -> None:
    version = listing().cupy
    try:
        installed = importlib.metadata.version("cupy-cuda12x")
    except importlib.metadata.PackageNotFoundError:
        pytest.skip(f"needs the distribution cupy-cuda12x {version}")
    if installed != version:
        pytest.skip(f"needs cupy-cuda12x {version}; {installed} is installed")
    if subprocess.run([sys.executable, "-c", "import cupyx.scipy.signal"]).returncode:
        pytest.skip("needs the CUDA libraries: pip install 'cupy-cuda12x[ctk]'")
    command = [sys.executable, str(SCRIPT), "--check", "--python", sys.executable]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr

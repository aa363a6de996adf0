"""Names, signatures and documentation: what CuPy has is there, works or says that it does not."""

from __future__ import annotations

import ast
import inspect
from types import FunctionType

import cupy
import pytest

from cupool.errors import OperationNotSupported
from cupool.proto.operations.api import listing

MODULES = ("cupy", "cupy.linalg", "cupy.fft", "cupy.random")
# CuPy hides these behind *args and **kwargs, or they take more here.
LOOSE = {"cupy.random"}


def _public(module: str) -> list[str]:
    return [f"{module}.{name}" for name in listing().members(module)]


def _find(dotted: str) -> object:
    value: object = cupy
    for part in dotted.split(".")[1:]:
        value = getattr(value, part)
    return value


def _parameters(signature: str) -> list[str]:
    node = ast.parse(f"def f{signature}: ...").body[0]
    assert isinstance(node, ast.FunctionDef)
    arguments = node.args
    star = [arguments.vararg] if arguments.vararg else []
    return [a.arg for a in (*arguments.posonlyargs, *arguments.args, *star, *arguments.kwonlyargs)]


@pytest.mark.parametrize("module", MODULES)
def test_every_public_name_is_there(module: str) -> None:
    missing = []
    for name in _public(module):
        try:
            _find(name)
        except AttributeError:
            missing.append(name)
    assert missing == []


@pytest.mark.parametrize("module", MODULES)
def test_our_functions_take_what_cupys_take(module: str) -> None:
    differ = []
    for name in _public(module):
        value = _find(name)
        signature = listing().signature(name)
        if not isinstance(value, FunctionType) or value.__name__ == "unsupported" or not signature:
            continue
        if "is not supported by cupool yet" in (value.__doc__ or ""):
            continue
        theirs = _parameters(signature)
        ours = inspect.signature(value)
        if any(p.kind is p.VAR_KEYWORD for p in ours.parameters.values()):
            continue
        if list(ours.parameters)[: len(theirs)] != theirs:
            differ.append(f"{name}{ours} instead of {signature}")
    assert differ == []


def test_help_names_the_page_of_cupy() -> None:
    assert "docs.cupy.dev" in (cupy.sum.__doc__ or "")
    assert "docs.cupy.dev" in (cupy.add.__doc__ or "")


def test_what_is_missing_says_so_and_feature_tests_see_it() -> None:
    with pytest.raises(OperationNotSupported, match=r"cuda\.thrust\.sort is"):
        cupy.cuda.thrust.sort()
    with pytest.raises(NotImplementedError):
        cupy.cuda.texture.TextureObject(None, None)


def test_star_import_gives_the_public_names() -> None:
    names: dict[str, object] = {}
    exec("from cupy import *", names)
    assert {"array", "float32", "linalg", "random", "ndarray", "pi"} <= set(names)


def test_public_functions_and_classes_say_that_they_are_cupys() -> None:
    """dask imports the package that an array's type says it belongs to."""
    for value in (cupy.sum, cupy.linalg.svd, cupy.random.Generator, cupy.random.default_rng):
        assert value.__module__.partition(".")[0] == "cupy"


def test_testing_is_among_the_eager_names() -> None:
    """array-api-compat does `from cupy import *`, and SciPy's tests use its `testing`."""
    space: dict[str, object] = {}
    exec("from cupy import *", space)
    assert callable(getattr(space["testing"], "assert_allclose"))  # noqa: B009


def test_no_module_of_ours_shows_as_a_name_of_cupys() -> None:
    shown = {name for name in dir(cupy) if not name.startswith("_")}
    modules = {name for name in shown if inspect.ismodule(getattr(cupy, name))}
    theirs = "cublas cuda exceptions fft lib linalg polynomial random testing typing"
    assert modules == set(theirs.split())
    assert shown == set(cupy.__all__)
    assert not hasattr(cupy, "insert")

"""`cupy.testing`: assertions, comparing and repeating decorators, data."""

from __future__ import annotations

import ast
import inspect
import os
import subprocess
import sys
import unittest
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import cupool.auto  # noqa: F401  (before `import cupy`)

import cupy  # isort: skip
from cupy import testing  # isort: skip

from cupool.proto.operations.api import listing

ONES = {"cupy": cupy.ones, "numpy": np.ones}


def test_names_and_parameters_are_those_of_cupy() -> None:
    for name in listing().members("cupy.testing"):
        signature = listing().signature(f"cupy.testing.{name}")
        value = getattr(testing, name)
        if signature is None or isinstance(value, type):
            continue
        theirs = inspect.signature(
            eval(f"lambda {signature[1:-1]}: 0", {"cupy": cupy, "numpy": np})
        )
        ours = inspect.signature(value)
        kinds = [(p.name, p.kind, p.default) for p in ours.parameters.values()]
        assert kinds == [(p.name, p.kind, p.default) for p in theirs.parameters.values()], name


def test_import_cupy_loads_neither_it_nor_pytest() -> None:
    code = (
        "import cupool.auto, cupy, sys; print('cupy.testing' in sys.modules);"
        "cupy.testing.assert_allclose; print('pytest' in sys.modules, 'testing' in dir(cupy))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert done.stdout.split() == ["False", "False", "True"], done.stderr


@pytest.mark.parametrize(
    "name",
    ["assert_allclose", "assert_array_equal", "assert_array_almost_equal", "assert_array_max_ulp"],
)
def test_assertions_take_arrays_of_either_side(name: str) -> None:
    check = getattr(testing, name)
    check(cupy.arange(3.0), np.arange(3.0))
    with pytest.raises(AssertionError):
        check(np.arange(3.0), cupy.arange(3.0) + 1)


def test_strides_are_compared_if_asked() -> None:
    a = cupy.ones((2, 3))
    testing.assert_array_equal(a, cupy.asfortranarray(a))
    with pytest.raises(AssertionError, match="Strides are not equal"):
        testing.assert_array_equal(a, cupy.asfortranarray(a), strides_check=True)


def compare(body: Any, **options: Any) -> None:
    """Run a body under `numpy_cupy_allclose`."""
    testing.numpy_cupy_allclose(**options)(body)()


def test_equal_results_pass() -> None:
    compare(lambda xp: (xp.ones(3), xp.float32(2), 4))


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (lambda xp: xp.zeros(2) if xp is np else xp.ones(2), "Not equal to tolerance"),
        (lambda xp: xp.ones(2, "f4" if xp is np else "f8"), "dtypes differ"),
        (lambda xp: xp.ones(2 if xp is np else 3), "shapes differ"),
        (lambda xp: xp.ones((2, 3), order="C" if xp is np else "F"), "c_contiguous"),
        (lambda xp: np.ones(2), "types differ"),
        (lambda xp: None, "returns None"),
        (lambda xp: xp.ones(2) if xp is np else int("x"), "only CuPy raises"),
        (lambda xp: int("x") if xp is np else xp.ones(2), "only NumPy raises"),
        (lambda xp: int("x") if xp is np else int([]), "of different classes"),  # type: ignore[call-overload]
        (lambda xp: int("x"), "both CuPy and NumPy raise"),
    ],
)
def test_differences_fail(body: Any, message: str) -> None:
    with pytest.raises(AssertionError, match=message):
        compare(body)


def test_like_errors_pass_where_they_are_accepted() -> None:
    compare(lambda xp: int("x"), accept_error=ValueError)
    with pytest.raises(AssertionError):
        compare(lambda xp: int("x"), accept_error=TypeError)


def test_tolerances_by_dtype() -> None:
    @testing.for_float_dtypes()
    @testing.numpy_cupy_allclose(rtol={np.float16: 1e-2, "default": 1e-5})
    def body(xp: Any, dtype: Any) -> Any:
        return xp.array(1 if xp is np else 1 + np.finfo(dtype).eps, dtype)

    body()
    with pytest.raises(TypeError):
        testing.numpy_cupy_allclose(rtol={"float16": 1})


def test_negative_numbers_made_unsigned_are_not_compared() -> None:
    @testing.numpy_cupy_array_equal()
    def body(xp: Any, a: Any, b: Any) -> Any:
        values = xp.array([-1, 3]) if xp is np else xp.array([-2, 3])
        return values.astype(b)

    body(a=np.int8, b=np.uint8)
    with pytest.raises(AssertionError):
        body(a=np.int8, b=np.int8)


def test_dtypes_and_orders_are_all_run_and_a_skip_skips_one() -> None:
    seen = []

    @testing.for_all_dtypes()
    @testing.for_CF_orders()
    def body(dtype: Any, order: Any) -> None:
        seen.append((dtype, order))

    body()
    assert len(seen) == 16 * 5

    @testing.for_dtypes("fd")
    def skipping(dtype: Any) -> None:
        if dtype is np.float32:
            pytest.skip("one")
        seen.clear()

    skipping()
    assert seen == []


def test_combinations_hold_every_dtype_for_every_name() -> None:
    seen = []
    testing.for_int_dtypes_combination(("a", "b"))(lambda a, b: seen.append((a, b)))()
    for column in zip(*seen, strict=True):
        assert len(set(column)) == len({np.dtype(c).type for c in "bhilqBHILQ?"})
    full: list[Any] = []
    testing.for_dtypes_combination("fd", ("a", "b"), full=True)(lambda a, b: full.append(a))()
    assert len(full) == 4


def test_contiguous_axes() -> None:
    seen: dict[str, list[Any]] = {"C": [], "F": []}

    @testing.for_contiguous_axes()
    def body(shape: Any, order: str, axis: Any) -> None:
        seen[order].append(axis)

    body(shape=(1, 2, 3), order="C")
    body(shape=(1, 2, 3), order="F")
    assert seen == {"C": [(0, 1, 2), (1, 2), (2,)], "F": [(0,), (0, 1), (0, 1, 2)]}


def test_samples_are_the_same_for_a_seed(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(
        "import cupool.auto\nfrom cupy import testing\nseen = []\n"
        "testing.for_all_dtypes()(lambda dtype: seen.append(dtype.__name__))()\nprint(seen)\n"
    )
    environ = {**os.environ, "CUPY_TEST_RANDOM_SUBSAMPLE": "1", "_CUPY_TEST_SUBSAMPLE_SEED": "0"}
    runs = [
        subprocess.run(
            [sys.executable, script], env=environ, capture_output=True, text=True, timeout=60
        ).stdout
        for _ in range(2)
    ]
    assert runs[0] == runs[1] and len(ast.literal_eval(runs[0])) == 2


@testing.parameterize(*testing.product({"a": [1, 2], "b": [3]}))
class TestParameterized:
    a: int
    b: int

    def test_has_its_attributes(self) -> None:
        assert (self.a, self.b) in [(1, 3), (2, 3)]


@testing.parameterize({"f": lambda x: x + 1})
class TestParameterizedCase(unittest.TestCase):
    f: Any

    def test_a_function_stays_one(self) -> None:
        assert self.f(1) == 2


def test_a_parameterized_case_is_replaced() -> None:
    assert TestParameterizedCase is None
    assert "TestParameterizedCase_param_0_{f=<lambda>}" in globals()


@pytest.mark.parametrize("xp", [np, cupy])
@pytest.mark.parametrize("dtype", "?bBfdD")
def test_data(xp: Any, dtype: str) -> None:
    for make in (testing.shaped_arange, testing.shaped_reverse_arange, testing.shaped_random):
        a = make((2, 3), xp, dtype)
        assert isinstance(a, xp.ndarray) and a.shape == (2, 3) and a.dtype == dtype
    testing.assert_array_equal(testing.shaped_arange((4,), xp, "?"), [False, True, False, True])


def test_generate_matrix_has_the_singular_values() -> None:
    a = testing.generate_matrix((4, 3), cupy, "d", singular_values=[1.0, 2.0, 3.0])
    values = np.linalg.svd(a.get(), compute_uv=False)
    np.testing.assert_allclose(values, [3, 2, 1])


def test_random_states_are_fixed_and_given_back() -> None:
    drawn = []

    @testing.fix_random()
    def test_body() -> None:
        drawn.append((testing.generate_seed(), float(cupy.random.rand())))

    before = np.random.get_state()
    test_body()
    test_body()
    assert drawn[0] == drawn[1]
    np.testing.assert_equal(np.random.get_state(), before)
    with pytest.raises(AssertionError):
        testing.generate_seed()


def test_versions() -> None:
    assert testing.installed("cupy>=14", "numpy>=2.1")
    assert not testing.installed("numpy>=99") and not testing.installed("no-such-distribution")
    assert testing.numpy_satisfies(">=2") and not testing.numpy_satisfies("<2")


def test_calls_are_counted() -> None:
    with testing.AssertFunctionIsCalled("cupy.add", times_called=2):
        cupy.add(1, 2)
        cupy.add(1, 2)
    with (
        pytest.raises(AssertionError, match="called 0 times"),
        testing.AssertFunctionIsCalled("cupy.add"),
    ):
        pass


def test_multi_gpu_is_skipped_where_there_are_fewer() -> None:
    code = (
        "import cupool.auto\nfrom cupy import testing\n"
        "@testing.multi_gpu(2)\ndef f(): ...\n"
        "print([m.args for m in f.pytestmark if m.name == 'skipif'])"
    )
    for limit, expected in (("1", "[(True,)]"), ("2", "[(False,)]"), ("-1", "[(False,)]")):
        environ = {**os.environ, "CUPY_TEST_GPU_LIMIT": limit}
        command = [sys.executable, "-c", code]
        done = subprocess.run(command, env=environ, capture_output=True, text=True, timeout=60)
        assert done.stdout.strip() == expected, done.stderr

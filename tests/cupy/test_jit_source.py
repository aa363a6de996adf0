"""What `cupyx.jit` makes of Python: types, constants, errors. No kernel is compiled or run here."""

from __future__ import annotations

import warnings

import cupy
import cupyx.scipy.special
import numpy as np
import pytest
from cupyx import jit

import cupool.auto  # noqa: F401
from cupool.client_shim.cupyx.jit import _cuda_types as types
from cupool.client_shim.cupyx.jit._compile import Result, transpile

LIMIT = 5
pytestmark = pytest.mark.filterwarnings("ignore:cupyx.jit.rawkernel is experimental:FutureWarning")


def compiled(func, chars="", mode="cuda", arrays=()) -> Result:
    given = [types.scalar(c) for c in chars]
    given += [types.CArray(np.dtype(c), ndim, True) for c, ndim in arrays]
    return transpile(func, mode, tuple(given), kernel=bool(arrays))


def add(x, y):
    return x + y


def divide(x, y):
    return x / y


def less(x, y):
    return x < y


def largest(x, y):
    return max(x, y, x)


def first_if(x, y):
    return x if y else 0


def incremented(x):
    return x + 1


def converted(x):
    return np.float32(x)


@pytest.mark.parametrize(
    ("func", "chars", "cuda", "numpy"),
    [
        (add, "iq", "q", "q"),
        (add, "if", "f", "d"),
        (add, "ef", "f", "f"),
        (add, "iI", "I", "q"),
        (add, "FD", "D", "D"),
        (divide, "ii", "d", "d"),
        (divide, "ff", "f", "f"),
        (less, "Qq", "?", "?"),
        (largest, "bh", "h", "h"),
        (first_if, "d?", "d", "d"),
        (incremented, "b", "i", "q"),
        (incremented, "f", "f", "d"),
        (converted, "D", "f", "f"),
    ],
)
def test_types_of_results(func, chars, cuda, numpy) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", np.exceptions.ComplexWarning)
        for mode, expected in (("cuda", cuda), ("numpy", numpy)):
            assert compiled(func, chars, mode).return_type == types.scalar(expected)


def test_constants_decide_branches_before_anything_is_compiled() -> None:
    def function(x):
        if LIMIT > 3:
            kind = np.dtype("f").type
        else:
            return undefined_name  # noqa: F821
        return kind(x) * LIMIT

    result = compiled(function, "q")
    assert result.return_type == types.scalar("f")
    assert "5" in result.code


def test_ufuncs_of_cupy_and_of_cupyx() -> None:
    def function(x):
        return cupyx.scipy.special.erf(cupy.sqrt(x)) + cupy.add(x, 1, dtype="d")

    code = compiled(function, "f").code
    assert "erf(" in code
    assert "sqrt(" in code


def test_unrolling() -> None:
    def function(x):
        for _ in jit.range(4, unroll=2):
            x += 1
        return x

    assert "#pragma unroll(2)\n" in compiled(function, "i").code

    def dynamic(x):
        for _ in jit.range(x, unroll=True):
            x += 1
        return x

    with pytest.raises(TypeError, match="loop unrolling requires constant"):
        compiled(dynamic, "i")


def test_names_that_cpp_has_taken() -> None:
    def double(float, register):
        new = float + register
        return new

    result = compiled(double, "ii")
    assert result.func_name == "double_"
    assert "int new_ =" in result.code


def test_a_grid_that_synchronizes_is_launched_so() -> None:
    def function(x):
        group = jit.cg.this_grid()
        group.sync()

    def rank(x):
        x[0] = jit.cg.this_grid().thread_rank()

    assert compiled(function, arrays=[("i", 1)]).cooperative
    assert not compiled(rank, arrays=[("Q", 1)]).cooperative


def unbound(x):
    return x + no_such_name  # noqa: F821


def many_targets(x):
    a = b = x
    return a + b


def chained(x):
    return 0 < x < 3


def constant_in_branch(x):
    if x:
        kind = np.float32  # noqa: F841
    return x


def type_changes(x):
    y = (x, x)
    y = x
    return y


def two_types(x):
    if x:
        return x
    return x * 1.5


def too_many(x):
    a, b = x, x, x
    return a + b


def keyword(x):
    return cupy.add(x, x, where=True)


def no_kernel_function(x):
    return print(x)


def narrowing(x):
    x /= 2
    return x


def nested(x):
    def inner():
        pass

    return x


def attribute(x):
    return x.nothing


def generator(x):
    for _ in [1, 2]:
        x += 1
    return x


@pytest.mark.parametrize(
    ("func", "error", "text"),
    [
        (unbound, NameError, "Unbound name: no_such_name"),
        (many_targets, NotImplementedError, "Not implemented"),
        (chained, NotImplementedError, "3 or more values"),
        (constant_in_branch, TypeError, "not at top-level"),
        (type_changes, TypeError, "Data type mismatch of variable: `y`"),
        (two_types, ValueError, "Failed to infer the return type"),
        (too_many, ValueError, "too many values to unpack"),
        (keyword, TypeError, "'where' is an invalid keyword to ufunc cupy_add"),
        (no_kernel_function, TypeError, "Invalid function call 'print'"),
        (narrowing, TypeError, "Cannot cast from 'float64' to int32"),
        (nested, NotImplementedError, "Nested functions"),
        (attribute, AttributeError, "Unknown attribute: nothing"),
        (generator, ValueError, "Not supported"),
    ],
)
def test_errors_name_the_line(func, error, text) -> None:
    with pytest.raises(error, match=text) as caught:
        compiled(func, "i")
    marked = [line for line in str(caught.value).split("\n") if line.startswith(">")]
    assert marked, "the place that it is about is marked"


def test_an_error_of_the_users_own_class_comes_as_it_is() -> None:
    class Refusal(Exception):
        def __init__(self, code: int, text: str) -> None:
            super().__init__(text)
            self.code = code

    def constant():
        raise Refusal(3, "not today")

    def function(x):
        return x + constant()

    with pytest.raises(Refusal, match="not today") as caught:
        compiled(function, "i")
    assert caught.value.code == 3


def test_signatures() -> None:
    def defaults(x=1):
        return x

    def rest(*args):
        return 0

    for func, text in ((defaults, "Default values"), (rest, "`\\*args`")):
        with pytest.raises(NotImplementedError, match=text):
            compiled(func, "i")
    with pytest.raises(TypeError, match="takes 2 positional arguments but 1 were given"):
        compiled(add, "i")


def test_functions_that_call_themselves() -> None:
    @jit.rawkernel(device=True)
    def endless(x):
        return endless(x)

    def function(x):
        return endless(x)

    with pytest.raises(ValueError, match="Recursive function is not supported"):
        compiled(function, "i")

    def template(n):
        @jit.rawkernel(device=True)
        def step(x):
            return template(n + 1)(x)

        return step

    def growing(x):
        return template(0)(x)

    with pytest.raises((ValueError, RecursionError)):
        compiled(growing, "i")


def test_functions_of_kernels_are_not_called_from_python() -> None:
    for function in (jit.syncthreads, jit.grid, jit.cg.sync, jit.thrust.sort):
        with pytest.raises(RuntimeError, match="Cannot call this function from Python layer"):
            function()


def test_a_kernel_is_not_called_by_a_kernel() -> None:
    @jit.rawkernel()
    def kernel(x):
        pass

    def function(x):
        kernel(x)

    with pytest.raises(TypeError, match="Calling __global__ function kernel"):
        compiled(function, arrays=[("f", 1)])


@pytest.mark.parametrize(
    ("call", "error"),
    [
        (lambda x: jit.grid(4), ValueError),
        (lambda x: jit.grid("1"), TypeError),
        (lambda x: jit.shfl_sync(-1, x[0], 0), ValueError),
        (lambda x: jit.shfl_sync(0xFFFFFFFF, x[0], 0, width=3), ValueError),
        (lambda x: jit.atomic_sub(x, 0, 1.0), TypeError),
        (lambda x: jit.atomic_add(x, (0, 0), 1.0), IndexError),
        (lambda x: x[0.5], TypeError),
        (lambda x: len(x[0]), TypeError),
        (lambda x: jit.thrust.sort(jit.thrust.seq, x, x), TypeError),
        (lambda x: jit.thrust.sort(jit.thrust.seq, x.begin()), TypeError),
        (lambda x: jit.thrust.sort(jit.thrust.seq, x.begin(), x.end(), 1), NotImplementedError),
        (lambda x: jit.cub.WarpReduce[np.int32](x), TypeError),
        (lambda x: jit.cg.sync(x), ValueError),
    ],
)
def test_wrong_arguments(call, error) -> None:
    with pytest.raises(error):
        compiled(call, arrays=[("f", 1)])

"""Random calls for the fuzz test: names and arguments that work on NumPy and `cupy` alike."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from cupool.pool_server.devices.mock.casts import cast

DTYPES = "?bhilqBHILQefdFD"
UNARY = (
    "negative absolute conjugate sign square sqrt exp log sin cos tan arctan tanh floor ceil rint "
    "trunc isnan isinf isfinite signbit logical_not invert reciprocal exp2 log2 log10 expm1 log1p "
    "sinh cosh arcsin arcsinh arccos cbrt deg2rad rad2deg fabs real imag angle positive"
).split()
BINARY = (
    "add subtract multiply true_divide floor_divide remainder fmod power maximum minimum fmax fmin "
    "equal not_equal less less_equal greater greater_equal logical_and logical_or logical_xor "
    "bitwise_and bitwise_or bitwise_xor left_shift right_shift arctan2 hypot copysign heaviside "
    "logaddexp nextafter gcd lcm float_power"
).split()
REDUCTIONS = (
    "sum prod max min any all mean std var argmax argmin nansum nanprod nanmax nanmin nanmean "
    "count_nonzero ptp median"
).split()
SCANS = "cumsum cumprod nancumsum nancumprod sort flip diff unwrap".split()
JOINS = "concatenate stack hstack vstack dstack column_stack".split()


@dataclass(frozen=True)
class Call:
    """One call: its arrays are NumPy's, `run` gives the result with either module."""

    text: str
    run: Callable[[Any], Any]


_small = st.integers(-3, 3)
_axes = st.none() | st.integers(-4, 4) | st.lists(_small, max_size=3).map(tuple)
_shapes = hnp.array_shapes(min_dims=0, max_dims=4, min_side=0, max_side=5)


@st.composite
def arrays(draw: Any, shape: Any = None) -> np.ndarray[Any, Any]:
    """Draw an array: values cheap to draw, odd ones among them; some are views."""
    dtype = np.dtype(draw(st.sampled_from(DTYPES)))
    shape = draw(_shapes) if shape is None else shape
    seed = draw(st.integers(0, 2**16))
    rng = np.random.default_rng(seed)
    if dtype.kind == "b":
        values: Any = rng.integers(0, 2, shape)
    elif dtype.kind in "iu":
        values = rng.integers(-5 if dtype.kind == "i" else 0, 6, shape)
    else:
        values = rng.normal(0, 2, shape)
        odd = rng.random(shape)
        values = np.where(odd < 0.05, np.nan, np.where(odd > 0.97, np.inf, values))
        if dtype.kind == "c":
            values = values + 1j * rng.normal(0, 1, shape)
    array = np.asarray(values).astype(dtype)
    form = draw(st.integers(0, 5))
    if form == 1 and array.ndim > 1:
        array = np.asfortranarray(array)
    elif form == 2 and array.ndim:
        array = np.repeat(array, 2, axis=-1)[..., ::2]
    elif form == 3 and array.ndim:
        array = array[::-1]
    return array


def _sign(x: Any, **kwargs: Any) -> Any:
    """Return `numpy.sign`, but of complex infinities what x / |x| is, by which CuPy defines it."""
    signs = np.sign(x, **kwargs)
    computed_in = np.dtype(kwargs.get("dtype", x.dtype))  # whatever `out` is
    return np.where(np.isinf(x), np.nan, signs) if computed_in.kind == "c" else signs


_OF_NUMPY = {"sign": _sign}
"""What to compare with where CuPy defines a function in another way than NumPy."""


def _plain(name: str, *args: Any, **kwargs: Any) -> Call:
    def run(xp: Any) -> Any:
        function = _OF_NUMPY.get(name) if xp is np else None
        function = function or getattr(xp, name)
        return function(*_moved(args, xp), **_moved(kwargs, xp))

    text = ", ".join([*map(_say, args), *(f"{k}={_say(v)}" for k, v in kwargs.items())])
    return Call(f"{name}({text})", run)


def _moved(value: Any, xp: Any) -> Any:
    """Copy the arrays of arguments to a module's side, views as views."""
    if isinstance(value, np.ndarray):
        if xp is np:
            return value.copy(order="K")
        return xp.asarray(value)
    if isinstance(value, (tuple, list)):
        return type(value)(_moved(v, xp) for v in value)
    if isinstance(value, dict):
        return {k: _moved(v, xp) for k, v in value.items()}
    return value


def _say(value: Any) -> str:
    if isinstance(value, np.ndarray):
        return f"array({value.tolist()}, {value.dtype.str!r}, strides={value.strides})"
    return repr(value)


_scalar = st.integers(-3, 300) | st.floats(-3, 3) | st.booleans()


@st.composite
def ufuncs(draw: Any) -> Call:
    """Draw a call of a ufunc, at times with `dtype`, `where` or `out`."""
    if draw(st.booleans()):
        args: list[Any] = [draw(arrays())]
        name = draw(st.sampled_from(UNARY))
    else:
        first = draw(arrays())
        shapes = st.sampled_from([first.shape, first.shape[1:], (), (1, *first.shape[1:])])
        second = draw(_scalar | arrays(draw(shapes)) | arrays())
        args = [first, second] if draw(st.booleans()) else [second, first]
        name = draw(st.sampled_from(BINARY))
    kwargs: dict[str, Any] = {}
    extra = draw(st.integers(0, 9))
    if extra == 0:
        kwargs["dtype"] = draw(st.sampled_from(DTYPES))
    elif extra == 1:
        kwargs["out"] = draw(arrays())
    return _plain(name, *args, **kwargs)


@st.composite
def reductions(draw: Any) -> Call:
    """Draw a reduction, a scan or a sort along axes, valid or not."""
    array = draw(arrays())
    if draw(st.booleans()):
        kwargs: dict[str, Any] = {"axis": draw(_axes)}
        if draw(st.booleans()):
            kwargs["keepdims"] = draw(st.booleans())
        return _plain(draw(st.sampled_from(REDUCTIONS)), array, **kwargs)
    return _plain(draw(st.sampled_from(SCANS)), array, axis=draw(st.integers(-4, 4)))


@st.composite
def shapings(draw: Any) -> Call:
    """Draw a change of shape or a join, valid or not."""
    array = draw(arrays())
    sizes = st.integers(-1, 6)
    kind = draw(st.integers(0, 9))
    if kind == 0:
        order = draw(st.sampled_from("CFA"))
        return _plain("reshape", array, tuple(draw(st.lists(sizes, max_size=3))), order=order)
    if kind == 1:
        return _plain("transpose", array, draw(st.none() | st.permutations(range(array.ndim))))
    if kind == 2:
        return _plain("broadcast_to", array, tuple(draw(st.lists(sizes, max_size=4))))
    if kind == 3:
        return _plain("roll", array, draw(_small), axis=draw(st.none() | _small))
    if kind == 4:
        return _plain("squeeze", array, axis=draw(_axes))
    if kind == 5:
        return _plain("expand_dims", array, draw(_small | st.lists(_small, max_size=2).map(tuple)))
    if kind == 6:
        return _plain("tile", array, draw(st.lists(st.integers(0, 3), max_size=3)))
    if kind == 7:
        return _plain("repeat", array, draw(st.integers(-1, 3)), axis=draw(st.none() | _small))
    if kind == 8:
        return _plain("moveaxis", array, draw(_small), draw(_small))
    others = [array, *(draw(st.lists(arrays(array.shape), max_size=2)))]
    return _plain(draw(st.sampled_from(JOINS)), others)


@st.composite
def indexings(draw: Any) -> Call:
    """Draw a read or a write by slices, masks or integer arrays within the bounds."""
    array = draw(arrays())
    index = draw(_indices(array.shape))
    value = draw(st.none() | _scalar | arrays(()))

    def run(xp: Any) -> Any:
        mine = _moved(array, xp)
        where = _moved(index, xp)
        if value is None:
            return mine[where]
        mine[where] = _as_cuda(value, array.dtype) if xp is np else _moved(value, xp)
        return mine

    return Call(f"{_say(array)}[{_say(index)}] = {_say(value)}", run)


@st.composite
def _indices(draw: Any, shape: tuple[int, ...]) -> Any:
    kind = draw(st.integers(0, 3))
    if kind < 2 or 0 in shape or not shape:
        return draw(hnp.basic_indices(shape, allow_newaxis=True, allow_ellipsis=True))
    if kind == 2:
        mask = np.random.default_rng(draw(st.integers(0, 999))).random(shape) < 0.4
        return mask
    return draw(hnp.integer_array_indices(shape))


@st.composite
def products(draw: Any) -> Call:
    """Draw a product of two arrays, whose shapes may not fit."""
    n = st.integers(0, 4)
    first = draw(arrays(tuple(draw(st.lists(n, min_size=1, max_size=3)))))
    second = draw(arrays(tuple(draw(st.lists(n, min_size=1, max_size=3)))))
    return _plain(draw(st.sampled_from(["dot", "matmul", "inner", "outer", "kron"])), first, second)


def _as_cuda(value: Any, dtype: Any) -> Any:
    """Convert as CUDA does, which saturates where NumPy does as the CPU; see test_casts.py."""
    if not isinstance(value, np.ndarray):
        return value
    if value.dtype.kind in "fc" and np.dtype(dtype).kind in "iu":
        return cast(value, np.dtype(dtype))
    return value.astype(dtype)


@st.composite
def conversions(draw: Any) -> Call:
    """Draw a change of type, or a choice by condition."""
    array = draw(arrays())
    if draw(st.booleans()):
        dtype = draw(st.sampled_from([*DTYPES, "S3", "O", "U2", ">f8", ">i4"]))

        def run(xp: Any) -> Any:
            return _as_cuda(array, dtype) if xp is np else _moved(array, xp).astype(dtype)

        return Call(f"{_say(array)}.astype({dtype!r})", run)
    if draw(st.booleans()):
        return _plain("clip", array, draw(_scalar), draw(_scalar))
    return _plain("where", array, draw(arrays(array.shape) | _scalar), draw(_scalar))


CALLS = st.one_of(
    ufuncs(), ufuncs(), reductions(), shapings(), indexings(), products(), conversions()
)

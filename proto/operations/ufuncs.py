"""Universal functions: CuPy's, all of which NumPy has under the same name.

Keyword arguments: `out`, `dtype`, `casting`, and `_where`, which is CuPy's name for `where`.
"""

from cupool.proto.operations.operation import Operation

# Names that are aliases of another ufunc object (`cupy.abs is cupy.absolute`) are not rows.
_BINARY = (
    "add subtract multiply true_divide floor_divide power remainder fmod float_power "
    "bitwise_and bitwise_or bitwise_xor left_shift right_shift "
    "equal not_equal less less_equal greater greater_equal "
    "logical_and logical_or logical_xor maximum minimum fmax fmin "
    "arctan2 hypot copysign nextafter ldexp heaviside gcd lcm logaddexp logaddexp2"
).split()
_UNARY = (
    "absolute negative positive sign conjugate invert logical_not bitwise_count "
    "sqrt square cbrt reciprocal rint floor ceil trunc fabs signbit "
    "exp exp2 expm1 log log2 log10 log1p "
    "sin cos tan arcsin arccos arctan sinh cosh tanh arcsinh arccosh arctanh "
    "deg2rad rad2deg isfinite isinf isnan"
).split()
_TWO_RESULTS = ("divmod", "modf", "frexp")
_NOT_UFUNCS_IN_NUMPY = ("fix", "i0", "sinc")


def _row(name: str, outputs: int = 1, numpy: bool = True) -> Operation:
    like = f"numpy.{name}" if numpy else ""
    return Operation(name, "ufunc", f"cupy.{name}", like, "ufunc", outputs)


_AT = "add subtract maximum minimum bitwise_and bitwise_or bitwise_xor".split()

OPERATIONS = (
    *(_row(name) for name in (*_BINARY, *_UNARY)),
    *(_row(name, 2) for name in _TWO_RESULTS),
    *(_row(name, numpy=False) for name in _NOT_UFUNCS_IN_NUMPY),
    *(
        Operation(f"{name}.at", "function", f"cupy.{name}.at", rule="own", outputs=0)
        for name in _AT
    ),
    Operation("angle", "function", "cupy.angle", rule="own"),
    Operation("around", "function", "cupy.around", rule="own"),
    Operation("clip", "ufunc", "cupy.clip", rule="ufunc"),
    Operation("matmul", "function", "cupy.matmul", "numpy.matmul", "matmul"),
)

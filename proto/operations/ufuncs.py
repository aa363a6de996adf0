"""Universal functions: CuPy's, all of which NumPy has under the same name."""

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
    "deg2rad rad2deg degrees radians isfinite isinf isnan"
).split()
_TWO_RESULTS = ("divmod", "modf", "frexp")
_NOT_UFUNCS_IN_NUMPY = ("fix", "i0", "sinc")


def _row(name: str, outputs: int = 1, numpy: bool = True) -> Operation:
    return Operation(name, "ufunc", f"cupy.{name}", f"numpy.{name}" if numpy else "", "ufunc", outputs)


OPERATIONS = (
    *(_row(name) for name in (*_BINARY, *_UNARY)),
    *(_row(name, 2) for name in _TWO_RESULTS),
    *(_row(name, numpy=False) for name in _NOT_UFUNCS_IN_NUMPY),
    Operation("matmul", "function", "cupy.matmul", "numpy.matmul", "matmul"),
)

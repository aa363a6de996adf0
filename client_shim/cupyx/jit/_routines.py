"""Which C++ expression computes a ufunc, and by which of its loops.

An entry of the table maps kinds of loops to text: "?" bool, "i" integers, "u" unsigned ones, "f"
floating, "c" complex, "m" a signed with an unsigned one, "*" the others. `{0}`, `{1}` are the
operands in the loop's types, `{T}` is the first one's type; the result is cast to the loop's.
"""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from cupool.client_shim.cupy._core._loops import Loop, Loops
from cupool.client_shim.cupyx.jit import _cuda_types as types
from cupool.client_shim.cupyx.jit._internal_types import Constant, Data, Expr

if TYPE_CHECKING:
    from cupool.client_shim.cupyx.jit._compile import Environment

DType = np.dtype[Any]
_LADDER = "?bBhHiIlLqQefdFD"
"""In mode "cuda" a type converts to every later one, as C++ would do."""

_EXPRESSIONS: dict[str, dict[str, str]] = {
    "add": {"?": "{0} || {1}", "*": "{0} + {1}"},
    "subtract": {"*": "{0} - {1}"},
    "multiply": {"?": "{0} && {1}", "*": "{0} * {1}"},
    "true_divide": {"f": "{0} / {1}", "c": "{0} / {1}", "*": "(double){0} / (double){1}"},
    "floor_divide": {
        "f": "jit::floor_divide_float({0}, {1})",
        "*": "jit::floor_divide_int<{T}>({0}, {1})",
    },
    "remainder": {
        "f": "jit::remainder_float({0}, {1})",
        "*": "jit::remainder_int<{T}>({0}, {1})",
    },
    "fmod": {"f": "fmod({0}, {1})", "*": "{1} == 0 ? {T}(0) : {T}({0} % {1})"},
    "power": {
        "f": "pow({0}, {1})",
        "c": "pow({0}, {1})",
        "*": "jit::power_int<{T}>({0}, {1})",
    },
    "left_shift": {"*": "jit::left_shift<{T}>({0}, {1})"},
    "right_shift": {"*": "jit::right_shift<{T}>({0}, {1})"},
    "bitwise_and": {"*": "{0} & {1}"},
    "bitwise_or": {"*": "{0} | {1}"},
    "bitwise_xor": {"*": "{0} ^ {1}"},
    "invert": {"?": "!{0}", "*": "~{0}"},
    "logical_and": {"c": "({0} != {T}(0)) && ({1} != {T}(0))", "*": "{0} && {1}"},
    "logical_or": {"c": "({0} != {T}(0)) || ({1} != {T}(0))", "*": "{0} || {1}"},
    "logical_xor": {"*": "!{0} != !{1}"},
    "logical_not": {"c": "{0} == {T}(0)", "*": "!{0}"},
    "equal": {"m": "jit::order({0}, {1}) == 0", "*": "{0} == {1}"},
    "not_equal": {"m": "jit::order({0}, {1}) != 0", "*": "{0} != {1}"},
    "less": {"m": "jit::order({0}, {1}) < 0", "c": "jit::before({0}, {1})", "*": "{0} < {1}"},
    "less_equal": {
        "m": "jit::order({0}, {1}) <= 0",
        "c": "!jit::before({1}, {0})",
        "*": "{0} <= {1}",
    },
    "greater": {"m": "jit::order({0}, {1}) > 0", "c": "jit::before({1}, {0})", "*": "{0} > {1}"},
    "greater_equal": {
        "m": "jit::order({0}, {1}) >= 0",
        "c": "!jit::before({0}, {1})",
        "*": "{0} >= {1}",
    },
    "maximum": {
        "c": "jit::maximum_complex<{T}>({0}, {1})",
        "*": "jit::maximum<{T}>({0}, {1})",
    },
    "minimum": {
        "c": "jit::minimum_complex<{T}>({0}, {1})",
        "*": "jit::minimum<{T}>({0}, {1})",
    },
    "fmax": {"f": "fmax({0}, {1})", "*": "jit::maximum<{T}>({0}, {1})"},
    "fmin": {"f": "fmin({0}, {1})", "*": "jit::minimum<{T}>({0}, {1})"},
    "negative": {"*": "-{0}"},
    "positive": {"*": "{0}"},
    "absolute": {"?": "{0}", "u": "{0}", "*": "abs({0})"},
    "fabs": {"*": "abs({0})"},
    "sign": {"?": "{0}", "c": "{0} == {T}(0) ? {0} : {0} / abs({0})", "*": "jit::sign<{T}>({0})"},
    "square": {"*": "{0} * {0}"},
    "reciprocal": {"i": "{0} == 0 ? {T}(0) : {T}(1 / {0})", "*": "{T}(1) / {0}"},
    "conjugate": {"c": "conj({0})", "*": "{0}"},
    "isnan": {"f": "isnan({0})", "c": "jit::has_nan({0})", "*": "false"},
    "isinf": {"f": "isinf({0})", "c": "isinf({0}.real()) || isinf({0}.imag())", "*": "false"},
    "isfinite": {
        "f": "isfinite({0})",
        "c": "isfinite({0}.real()) && isfinite({0}.imag())",
        "*": "true",
    },
    "signbit": {"*": "signbit({0})"},
    "copysign": {"*": "copysign({0}, {1})"},
    "nextafter": {"*": "nextafter({0}, {1})"},
    "ldexp": {"*": "ldexp({0}, (int){1})"},
    "hypot": {"*": "hypot({0}, {1})"},
    "arctan2": {"*": "atan2({0}, {1})"},
    "heaviside": {"*": "jit::heaviside({0}, {1})"},
    "logaddexp": {"*": "jit::logaddexp({0}, {1})"},
    "logaddexp2": {"*": "jit::logaddexp({0} * {T}({ln2}), {1} * {T}({ln2})) / {T}({ln2})"},
    "gcd": {"*": "jit::gcd<{T}>({0}, {1})"},
    "lcm": {"*": "jit::lcm<{T}>({0}, {1})"},
    "deg2rad": {"*": "{0} * {T}(0.017453292519943295)"},
    "rad2deg": {"*": "{0} * {T}(57.29577951308232)"},
    "sqrt": {"*": "sqrt({0})"},
    "exp2": {"c": "exp({0} * {T}({ln2}))", "*": "exp2({0})"},
    "log2": {"c": "log({0}) / {T}({ln2})", "*": "log2({0})"},
    "expm1": {"c": "exp({0}) - {T}(1)", "*": "expm1({0})"},
    "log1p": {"c": "log({0} + {T}(1))", "*": "log1p({0})"},
    "rsqrt": {"*": "rsqrt({0})"},
    "rint": {"*": "rint({0})"},
    "floor": {"f": "floor({0})", "*": "{0}"},
    "ceil": {"f": "ceil({0})", "*": "{0}"},
    "trunc": {"f": "trunc({0})", "*": "{0}"},
    "i0": {"f": "cyl_bessel_i0({0})"},
    "sinc": {
        "c": "{0} == {T}(0) ? {T}(1) : sin({T}({pi}) * {0}) / ({T}({pi}) * {0})",
        "*": "{0} == 0 ? {T}(1) : sinpi({0}) / ({T}({pi}) * {0})",
    },
    "expit": {"*": "{T}(1) / ({T}(1) + exp(-{0}))"},
    "logit": {"*": "log({0} / ({T}(1) - {0}))"},
    "ndtr": {"*": "normcdf({0})"},
    "ndtri": {"*": "normcdfinv({0})"},
    "i1": {"*": "cyl_bessel_i1({0})"},
}
_SAME_NAME = (
    "exp log log10 sin cos tan sinh cosh tanh cbrt erf erfc erfcx erfinv erfcinv j0 j1 y0 y1"
)
_EXPRESSIONS |= {name: {"*": name + "({0})"} for name in _SAME_NAME.split()}
_EXPRESSIONS |= {
    f"arc{name}": {"*": f"a{name}({{0}})"} for name in "sin cos tan sinh cosh tanh".split()
}
_EXPRESSIONS |= {"gamma": {"f": "tgamma({0})"}, "gammaln": {"f": "lgamma({0})"}}
_CONSTANTS = {"{ln2}": "0.6931471805599453", "{pi}": "3.141592653589793"}

_INTEGERS = "bBhHiIlLqQ"
_NOT = Loops("logical_not", [f"{c}->?" for c in ("?" + _INTEGERS + "efdFD")])
_INVERT = Loops("invert", [f"{c}->{c}" for c in ("?" + _INTEGERS)])
_ORDER = [f"{pair}->?" for pair in "?? qq QQ qQ Qq ee ff dd".split()]

_CONSTANT_OPERATORS: Mapping[type[ast.AST], Callable[..., Any]] = {
    ast.And: lambda x, y: x and y,
    ast.Or: lambda x, y: x or y,
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Pow: operator.pow,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.LShift: operator.lshift,
    ast.RShift: operator.rshift,
    ast.BitOr: operator.or_,
    ast.BitAnd: operator.and_,
    ast.BitXor: operator.xor,
    ast.Invert: operator.invert,
    ast.Not: operator.not_,
    ast.USub: operator.neg,
    ast.UAdd: operator.pos,
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.Is: operator.is_,
    ast.IsNot: operator.is_not,
}
_OPERATORS: Mapping[type[ast.AST], str | Loops] = {
    ast.And: "logical_and",
    ast.Or: "logical_or",
    ast.Add: "add",
    ast.Sub: "subtract",
    ast.Mult: "multiply",
    ast.Pow: "power",
    ast.Div: "true_divide",
    ast.FloorDiv: "floor_divide",
    ast.Mod: "remainder",
    ast.LShift: "left_shift",
    ast.RShift: "right_shift",
    ast.BitOr: "bitwise_or",
    ast.BitAnd: "bitwise_and",
    ast.BitXor: "bitwise_xor",
    ast.Invert: _INVERT,
    ast.Not: _NOT,
    ast.USub: "negative",
    ast.UAdd: "positive",
    ast.Eq: "equal",
    ast.NotEq: "not_equal",
    ast.Lt: Loops("less", _ORDER),
    ast.LtE: Loops("less_equal", _ORDER),
    ast.Gt: Loops("greater", _ORDER),
    ast.GtE: Loops("greater_equal", _ORDER),
}


def apply_operator(op: ast.AST, args: Sequence[Expr], env: Environment) -> Expr:
    """Return what a Python operator between expressions becomes.

    Raises:
        TypeError: it is not defined for these types.
    """
    kind = type(op)
    if all(isinstance(x, Constant) for x in args):
        constants = [x.obj for x in args if isinstance(x, Constant)]
        return Constant(_CONSTANT_OPERATORS[kind](*constants))
    if kind in (ast.Add, ast.Sub):
        moved = _move_pointer(kind, *[Data.init(x, env) for x in args])
        if moved is not None:
            return moved
    found = _OPERATORS.get(kind)
    if found is None:
        raise NotImplementedError(f"Operator `{kind.__name__}` is not supported.")
    loops = named_ufunc(found)._loops if isinstance(found, str) else found
    return apply_loop(loops.name, _choose(loops, args, env), args, env)


def named_ufunc(name: str) -> Any:
    """Return CuPy's ufunc of a name."""
    from cupool.client_shim import cupy

    return getattr(cupy, name)


def _move_pointer(kind: type[ast.AST], x: Data, y: Data) -> Data | None:
    """Return pointer ± integer, integer + pointer, or the distance of two pointers."""
    sign = "+" if kind is ast.Add else "-"
    if isinstance(x.ctype, types.Pointer) and _is_integer(y):
        return Data(f"({x.code} {sign} {y.code})", x.ctype)
    if isinstance(y.ctype, types.Pointer) and _is_integer(x) and kind is ast.Add:
        return Data(f"({y.code} + {x.code})", y.ctype)
    if isinstance(x.ctype, types.Pointer) and x.ctype == y.ctype and kind is ast.Sub:
        return Data(f"({x.code} - {y.code})", types.int64)
    return None


def _is_integer(value: Data) -> bool:
    return isinstance(value.ctype, types.Scalar) and value.ctype.dtype.kind in "iu"


def apply_ufunc(ufunc: Any, args: Sequence[Expr], dtype: DType | None, env: Environment) -> Data:
    """Return what a call of a ufunc becomes.

    Raises:
        ValueError: another number of arguments.
        TypeError: no loop for these types.
        NotImplementedError: kernels do not have this ufunc.
    """
    if len(args) != ufunc.nin:
        raise ValueError("invalid number of arguments")
    if dtype is None:
        loop = _choose(ufunc._loops, args, env)
    else:
        loop = ufunc._loops_by_dtype.by_output(np.dtype(dtype))
        pairs = zip(args, loop.ins, strict=True)
        args = [cast(x, types.Scalar(wanted)) for x, wanted in pairs]
    return apply_loop(ufunc.__name__, loop, args, env)


def _choose(loops: Loops, args: Sequence[Expr], env: Environment) -> Loop:
    """Return the first loop that takes the arguments; constants count with their own type."""
    given = []
    for x in args:
        if isinstance(x, Constant):
            given.append(types.scalar_of(env.mode, x.obj).dtype)
        elif isinstance(x, Data) and isinstance(x.ctype, types.Scalar):
            given.append(x.ctype.dtype)
        else:
            found = getattr(x, "ctype", x)
            raise TypeError(f"cupy.ufunc: {found} is unsupported")
    can_cast = np.can_cast if env.mode == "numpy" else _can_cast
    for loop in loops.loops:
        if all(can_cast(dtype, wanted) for dtype, wanted in zip(given, loop.ins, strict=True)):
            if loop.refusal:
                raise TypeError(loop.refusal)
            return loop
    raise TypeError(f'"cupy_{loops.name}" does not support for the input types: {given}')


def _can_cast(given: DType, wanted: DType) -> bool:
    return _LADDER.find(given.char) <= _LADDER.find(wanted.char)


def apply_loop(name: str, loop: Loop, args: Sequence[Expr], env: Environment) -> Data:
    """Return the expression of a loop.

    Operands that the text needs more than once go through a function, to be computed once.
    """
    text = _text(name, loop)
    operands = []
    for x, wanted in zip(args, loop.ins, strict=True):
        # The loop was chosen because its types take these: no rule remains to be checked.
        operands.append(Data.init(cast(x, types.Scalar(wanted), "unsafe"), env))
    result = types.Scalar(loop.outs[0])
    first = str(operands[0].ctype)
    if any(text.count(f"{{{i}}}") > 1 for i in range(len(operands))):
        signature = "".join(d.char for d in (*loop.ins, *loop.outs)).replace("?", "b")
        function = f"{name}_{signature}"
        names = [f"in{i}" for i in range(len(operands))]
        parameters = ", ".join(f"{x.ctype} {n}" for x, n in zip(operands, names, strict=True))
        body = _fill(text, names, first)
        env.module.add(
            f"__device__ inline {result} {function}({parameters}) {{ return ({result})({body}); }}"
        )
        return Data(f"{function}({', '.join(x.code for x in operands)})", result)
    body = _fill(text, [x.code for x in operands], first)
    small = result.dtype.itemsize < 4 and result.dtype.kind in "iu"
    needs_cast = small or not _keeps_type(loop)
    return Data(f"({result})({body})" if needs_cast else f"({body})", result)


def _keeps_type(loop: Loop) -> bool:
    return loop.outs[0] == loop.ins[0] or loop.outs[0].kind == "b"


def _text(name: str, loop: Loop) -> str:
    if len(loop.outs) != 1 or name not in _EXPRESSIONS:
        raise NotImplementedError(f"ufunc `cupy_{name}` is not supported.")
    row = _EXPRESSIONS[name]
    kind = loop.ins[0].kind.replace("b", "?")
    mixed = {"i", "u"} <= {dtype.kind for dtype in loop.ins}
    for key in ("m" if mixed else "", kind, "i" if kind == "u" else "", "*"):
        if key in row:
            return row[key]
    raise NotImplementedError(f"ufunc `cupy_{name}` is not supported for {loop.ins[0]}.")


def _fill(text: str, operands: Sequence[str], first: str) -> str:
    """Put operands into a text of the table (they may hold braces themselves)."""
    text = text.replace("{T}(", f"({first})(").replace("{T}", first)
    for word, value in _CONSTANTS.items():
        text = text.replace(word, value)
    pieces = text.split("{")
    filled = pieces[0]
    for piece in pieces[1:]:
        index, _, rest = piece.partition("}")
        filled += operands[int(index)] + rest
    return filled


def cast(x: Expr, ctype: types.Scalar, casting: Any = "same_kind") -> Expr:
    """Return an expression as another number type.

    Raises:
        TypeError: not a number, or the casting rule forbids it.
    """
    if isinstance(x, Constant):
        return Constant(ctype.dtype.type(x.obj))
    if not isinstance(x, Data) or not isinstance(x.ctype, types.Scalar):
        raise TypeError(f"{getattr(x, 'code', x)} is not scalar type.")
    given, wanted = x.ctype.dtype, ctype.dtype
    if given == wanted:
        return x
    if not np.can_cast(given, wanted, casting):
        raise TypeError(f"Cannot cast from '{given}' to {wanted} with casting rule {casting}.")
    if given.kind == "c" and wanted.kind != "c":
        if wanted.kind == "b":
            return Data(f"({x.code} != {x.ctype}(0))", ctype)
        from cupool.client_shim.cupy._functions import warn_complex

        warn_complex()
        return Data(f"({ctype})({x.code}.real())", ctype)
    return Data(f"({ctype})({x.code})", ctype)

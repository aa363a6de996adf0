"""Expressions of a kernel: constants as long as they can be, else C++ text with a type."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Callable
from typing import Any

import numpy as np

from cupool.client_shim.cupy._core._kernel import ufunc as Ufunc
from cupool.client_shim.cupyx.jit import _cuda_types as types
from cupool.client_shim.cupyx.jit import _routines
from cupool.client_shim.cupyx.jit._compile import (
    CompileError,
    Environment,
    as_expr,
    compile_function,
)
from cupool.client_shim.cupyx.jit._internal_types import BuiltinFunc, Constant, Data, Expr


def compile_expr(node: ast.expr, env: Environment) -> Expr:
    """Return what an expression becomes.

    Raises:
        CompileError: with the error that CuPy raises, and the place.
    """
    try:
        handler = _HANDLERS.get(type(node))
        if handler is None:
            raise ValueError(f"Not supported: type {type(node)}")
        return handler(node, env)
    except CompileError:
        raise
    except Exception as e:
        raise CompileError(e, node) from e


def _constant(node: ast.Constant, env: Environment) -> Expr:
    return Constant(node.value)


def _name(node: ast.Name, env: Environment) -> Expr:
    value = env.find(node.id)
    if value is None:
        raise NameError(f"Unbound name: {node.id}")
    return as_expr(value.obj) if isinstance(value, Constant) else value


def _attribute(node: ast.Attribute, env: Environment) -> Expr:
    value = compile_expr(node.value, env)
    if isinstance(value, Constant):
        return as_expr(getattr(value.obj, node.attr))
    if isinstance(value, Data):
        found = value.ctype.attribute(value, node.attr)
        if found is not None:
            return found
    raise AttributeError(f"Unknown attribute: {node.attr}")


def _tuple(node: ast.Tuple, env: Environment) -> Expr:
    items = [compile_expr(item, env) for item in node.elts]
    if all(isinstance(item, Constant) for item in items):
        return Constant(tuple([item.obj for item in items if isinstance(item, Constant)]))
    return types.tuple_of([Data.init(item, env) for item in items])


def _bool_op(node: ast.BoolOp, env: Environment) -> Expr:
    result = compile_expr(node.values[0], env)
    for value in node.values[1:]:
        result = _routines.apply_operator(node.op, (result, compile_expr(value, env)), env)
    return result


def _bin_op(node: ast.BinOp, env: Environment) -> Expr:
    args = (compile_expr(node.left, env), compile_expr(node.right, env))
    return _routines.apply_operator(node.op, args, env)


def _unary_op(node: ast.UnaryOp, env: Environment) -> Expr:
    return _routines.apply_operator(node.op, (compile_expr(node.operand, env),), env)


def _compare(node: ast.Compare, env: Environment) -> Expr:
    if len(node.ops) != 1:
        raise NotImplementedError("Comparison of 3 or more values is not implemented.")
    args = (compile_expr(node.left, env), compile_expr(node.comparators[0], env))
    return _routines.apply_operator(node.ops[0], args, env)


def _if_exp(node: ast.IfExp, env: Environment) -> Expr:
    test = compile_expr(node.test, env)
    x, y = compile_expr(node.body, env), compile_expr(node.orelse, env)
    if isinstance(test, Constant):
        return x if test.obj else y
    test = Data.init(test, env)
    if not isinstance(test.ctype, types.Scalar) or test.ctype.dtype.kind == "c":
        raise TypeError("Complex type value cannot be boolean condition.")
    first, second = _like(x, y, env), _like(y, x, env)
    if first.ctype != second.ctype:
        raise TypeError(
            f"Type mismatch in conditional expression.: {first.ctype} != {second.ctype}"
        )
    condition = Data.init(_routines.cast(test, types.bool_, "unsafe"), env)
    return Data(f"({condition.code} ? {first.code} : {second.code})", first.ctype)


def _like(x: Expr, hint: Expr, env: Environment) -> Data:
    """Return an expression; a Python number takes the type of the other one."""
    if not isinstance(x, Constant) or isinstance(x.obj, np.generic):
        return Data.init(x, env)
    other = Data.init(hint, env)
    if not isinstance(other.ctype, types.Scalar):
        raise TypeError(f"{other.code} is not scalar type.")
    return Data.init(_routines.cast(x, other.ctype), env)


# ---------------------------------------------------------------- indices


def _subscript(node: ast.Subscript, env: Environment) -> Expr:
    value, index = compile_expr(node.value, env), compile_expr(node.slice, env)
    found = index_into(value, index, env)
    # An element of float16 is computed with as float.
    if isinstance(found, Data) and isinstance(value, Data) and _is_half_element(value, found):
        return Data(f"(float){found.code}", found.ctype)
    return found


def _is_half_element(array: Data, found: Data) -> bool:
    stored = getattr(array.ctype, "element", "")
    return stored == "__half" and isinstance(found.ctype, types.Scalar)


def element(node: ast.Subscript, env: Environment) -> Data:
    """Return the place that an index means, to be assigned to."""
    found = index_into(compile_expr(node.value, env), compile_expr(node.slice, env), env)
    if not isinstance(found, Data):
        raise TypeError("lvalue of assignment must not be constant value")
    return found


def index_into(array: Expr, index: Expr, env: Environment) -> Expr:
    """Return `array[index]`.

    Raises:
        TypeError: not integers, or nothing that has elements.
        IndexError: more indices than axes.
    """
    if isinstance(array, Constant):
        if isinstance(index, Constant):
            return as_expr(array.obj[index.obj])
        raise TypeError(f"{type(array.obj)} is not subscriptable with non-constants.")
    array = Data.init(array, env)
    if isinstance(array.ctype, types.Tuple):
        if not isinstance(index, Constant):
            raise TypeError("Tuple is not subscriptable with non-constants.")
        size = len(array.ctype.types)
        position = range(size)[index.obj]
        return Data(f"jit::get<{position}>({array.code})", array.ctype.types[position])
    if not isinstance(array.ctype, types.ArrayBase):
        raise TypeError(f"{array.code} is not subscriptable.")
    given = _indices(Data.init(index, env))
    ndim = array.ctype.ndim
    if len(given) > ndim:
        if ndim == 0:
            raise TypeError("Scalar indexing is not supported for 0-dim array.")
        raise IndexError(f"The number of indices is beyond array dim: {ndim}")
    text = ", ".join([i.code for i in given])
    if not isinstance(array.ctype, types.CArray):
        return Data(f"{array.code}[{text}]", array.ctype.child)
    if len(given) < ndim:
        rest = types.CArray(array.ctype.dtype, ndim - len(given), array.ctype.dense)
        return Data(f"{array.code}.part({text})", rest)
    return Data(f"{array.code}.at({text})", array.ctype.child)


def _indices(index: Data) -> list[Data]:
    if isinstance(index.ctype, types.CArray):
        raise TypeError("Advanced indexing is not supported.")
    parts = [index]
    if isinstance(index.ctype, types.Tuple):
        parts = [Data(f"jit::get<{i}>({index.code})", t) for i, t in enumerate(index.ctype.types)]
    for part in parts:
        if not isinstance(part.ctype, types.Scalar):
            raise TypeError("Array indices must be scalar.")
        if part.ctype.dtype.kind not in "iu":
            raise TypeError("Array indices must be integers.")
    return parts


# ---------------------------------------------------------------- calls


def _call(node: ast.Call, env: Environment) -> Expr:
    func = compile_expr(node.func, env)
    args = [compile_expr(a, env) for a in node.args]
    kwargs: dict[str, Expr] = {}
    for keyword in node.keywords:
        if keyword.arg is None:
            raise NotImplementedError("`**` in a call is not supported.")
        kwargs[keyword.arg] = compile_expr(keyword.value, env)
    return call(func, args, kwargs, env)


def call(func: Expr, args: list[Expr], kwargs: dict[str, Expr], env: Environment) -> Expr:
    """Return what a call becomes.

    Raises:
        TypeError: it cannot be called in a kernel.
    """
    from cupool.client_shim.cupyx.jit import _builtin_funcs, _interface
    from cupool.client_shim.cupyx.jit._statements import NUMBERS

    if isinstance(func, Constant):
        builtin = _builtin_funcs.of_python(func.obj)
        func = func if builtin is None else builtin
    if isinstance(func, BuiltinFunc):
        return func.call(env, *args, **kwargs)
    if not isinstance(func, Constant):
        raise TypeError(f"'{func!r}' is not callable.")
    target = func.obj
    if isinstance(target, types.TypeBase):
        made: Expr = target.instantiate(env, *args, **kwargs)  # type: ignore[attr-defined]
        return made
    if isinstance(target, _interface._JitRawKernel):
        return _call_device_function(target, args, env)
    if isinstance(target, Ufunc):
        return _call_ufunc(target, args, kwargs, env)
    if all(isinstance(a, Constant) for a in (*args, *kwargs.values())):
        return _call_now(target, args, kwargs)
    if inspect.isclass(target) and issubclass(target, NUMBERS):
        if len(args) != 1:
            raise TypeError(f"function takes {target} invalid number of argument")
        return _routines.cast(args[0], types.scalar(target), "unsafe")
    name = getattr(target, "__name__", repr(target))
    raise TypeError(f"Invalid function call '{name}'.")


def _call_now(target: Callable[..., Any], args: list[Expr], kwargs: dict[str, Expr]) -> Expr:
    """Call a Python function with constants: here, while the kernel is compiled."""
    given = [a.obj for a in args if isinstance(a, Constant)]
    named = {name: a.obj for name, a in kwargs.items() if isinstance(a, Constant)}
    return as_expr(target(*given, **named))


def _call_device_function(target: Any, args: list[Expr], env: Environment) -> Expr:
    if not target._device:
        raise TypeError(
            f"Calling __global__ function {target._func.__name__} from __global__ function is"
            " not allowed."
        )
    given = [Data.init(a, env) for a in args]
    in_types = tuple([a.ctype for a in given])
    name, returned = compile_function(target._func, env.mode, in_types, env.module)
    return Data(f"{name}({', '.join([a.code for a in given])})", returned)


def _call_ufunc(target: Any, args: list[Expr], kwargs: dict[str, Expr], env: Environment) -> Expr:
    dtype = kwargs.pop("dtype", Constant(None))
    if kwargs:
        raise TypeError(f"'{next(iter(kwargs))}' is an invalid keyword to ufunc {target.name}")
    if not isinstance(dtype, Constant):
        raise TypeError("dtype must be a constant")
    return _routines.apply_ufunc(target, args, dtype.obj, env)


_HANDLERS: dict[type[ast.expr], Callable[[Any, Environment], Expr]] = {
    ast.Constant: _constant,
    ast.Name: _name,
    ast.Attribute: _attribute,
    ast.Tuple: _tuple,
    ast.BoolOp: _bool_op,
    ast.BinOp: _bin_op,
    ast.UnaryOp: _unary_op,
    ast.Compare: _compare,
    ast.IfExp: _if_exp,
    ast.Subscript: _subscript,
    ast.Call: _call,
}

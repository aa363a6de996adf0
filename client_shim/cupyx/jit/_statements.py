"""Statements of a kernel: each becomes lines of C++."""

from __future__ import annotations

import ast
import numbers
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from cupool.client_shim.cupyx.jit import _cuda_types as types
from cupool.client_shim.cupyx.jit import _routines
from cupool.client_shim.cupyx.jit._compile import CompileError, Environment, cpp_name
from cupool.client_shim.cupyx.jit._expressions import compile_expr, element
from cupool.client_shim.cupyx.jit._internal_types import Constant, Data, Expr, Range

NUMBERS = (bool, np.bool_, numbers.Number)
Lines = list[str]


def indent(lines: Iterable[str]) -> str:
    """Return lines as text, shifted by one level."""
    return "\n".join(f"  {row}" for line in lines for row in line.split("\n"))


def _block(head: str, lines: Lines) -> Lines:
    return [head + " {", indent(lines), "}"] if lines else [head + " {", "}"]


def compile_block(statements: list[ast.stmt], top: bool, env: Environment) -> Lines:
    """Return the lines of statements; `top`: of the function itself, not of a loop or branch."""
    lines: Lines = []
    for statement in statements:
        try:
            lines += _statement(statement, top, env)
        except CompileError:
            raise
        except Exception as e:
            raise CompileError(e, statement) from e
    return lines


def _statement(node: ast.stmt, top: bool, env: Environment) -> Lines:
    handler = _HANDLERS.get(type(node))
    if handler is not None:
        return handler(node, top, env)
    error, words = _REFUSED.get(type(node), (ValueError, f"Not supported: {type(node)}"))
    raise error(words)


_REFUSED: dict[type[ast.stmt], tuple[type[Exception], str]] = {
    ast.ClassDef: (NotImplementedError, "class is not supported currently."),
    ast.FunctionDef: (NotImplementedError, "Nested functions are not supported currently."),
    ast.AsyncFunctionDef: (NotImplementedError, "Nested functions are not supported currently."),
    ast.Delete: (NotImplementedError, "`del` is not supported currently."),
    ast.AsyncFor: (ValueError, "`async for` is not allowed."),
    ast.With: (ValueError, "Switching contexts are not allowed."),
    ast.AsyncWith: (ValueError, "Switching contexts are not allowed."),
    ast.Raise: (ValueError, "throw/catch are not allowed."),
    ast.Try: (ValueError, "throw/catch are not allowed."),
    ast.Import: (ValueError, "Cannot import modules from the target functions."),
    ast.ImportFrom: (ValueError, "Cannot import modules from the target functions."),
    ast.Global: (ValueError, "Cannot use global/nonlocal in the target functions."),
    ast.Nonlocal: (ValueError, "Cannot use global/nonlocal in the target functions."),
}


def _return(node: ast.Return, top: bool, env: Environment) -> Lines:
    value = Constant(None) if node.value is None else compile_expr(node.value, env)
    if isinstance(value, Constant) and value.obj is None:
        return ["return;"]
    data = Data.init(value, env)
    if env.return_type is None:
        env.return_type = data.ctype
    elif env.return_type != data.ctype:
        raise ValueError(f"Failed to infer the return type: {env.return_type} or {data.ctype}")
    return [f"return {data.code};"]


# ---------------------------------------------------------------- assignments


def _assign(node: ast.Assign, top: bool, env: Environment) -> Lines:
    if len(node.targets) != 1:
        raise NotImplementedError("Not implemented.")
    target = node.targets[0]
    value = compile_expr(node.value, env)
    constant = isinstance(value, Constant) and not isinstance(value.obj, NUMBERS)
    if constant and isinstance(target, ast.Name):
        if not top:
            raise TypeError("Cannot assign constant value not at top-level.")
        if isinstance(env.find(target.id), Data):
            raise TypeError(f"Type mismatch of variable: `{target.id}`")
        assert isinstance(value, Constant)
        env.consts[target.id] = value
        return []
    return _store(target, Data.init(value, env), top, env, 0)


def _annotated(node: ast.AnnAssign, top: bool, env: Environment) -> Lines:
    if node.value is None:
        return []
    plain = ast.Assign([node.target], node.value)
    return _assign(ast.copy_location(plain, node), top, env)


def _store(target: ast.expr, value: Data, top: bool, env: Environment, depth: int) -> Lines:
    if isinstance(target, ast.Name):
        name = target.id
        found = env.find(name)
        if found is None:
            variable = Data(cpp_name(name), value.ctype)
            env.locals[name] = variable
            if top and depth == 0:
                return [value.ctype.declare(variable.code, value) + ";"]
            env.declared[name] = value.ctype
            found = variable
        return _assign_to(found, value)
    if isinstance(target, ast.Subscript):
        return _assign_to(element(target, env), value)
    if isinstance(target, (ast.Tuple, ast.List)):
        return _unpack(target, value, top, env, depth)
    raise NotImplementedError(f"Cannot assign to {type(target).__name__}.")


def _assign_to(target: Expr, value: Data) -> Lines:
    if not isinstance(target, Data):
        raise TypeError("lvalue of assignment must not be constant value")
    if isinstance(target.ctype, types.Scalar) and isinstance(value.ctype, types.Scalar):
        casted = _routines.cast(value, target.ctype)
        assert isinstance(casted, Data)
        value = casted
    elif target.ctype != value.ctype:
        raise TypeError(
            f"Data type mismatch of variable: `{target.code}`: {target.ctype} != {value.ctype}"
        )
    return [f"{target.code} = {value.code};"]


def _unpack(
    target: ast.Tuple | ast.List, value: Data, top: bool, env: Environment, depth: int
) -> Lines:
    if not isinstance(value.ctype, types.Tuple):
        raise ValueError(f"{value.ctype} cannot be unpack")
    size = len(target.elts)
    if len(value.ctype.types) > size:
        raise ValueError(f"too many values to unpack (expected {size})")
    if len(value.ctype.types) < size:
        raise ValueError(f"not enough values to unpack (expected {size})")
    whole = f"__items{depth}"
    lines = [value.ctype.declare(whole, value) + ";"]
    for i, (item, ctype) in enumerate(zip(target.elts, value.ctype.types, strict=True)):
        part = Data(f"jit::get<{i}>({whole})", ctype)
        lines += _store(item, part, top, env, depth + 1)
    return ["{", indent(lines), "}"]


def _augmented(node: ast.AugAssign, top: bool, env: Environment) -> Lines:
    value = Data.init(compile_expr(node.value, env), env)
    if isinstance(node.target, ast.Subscript):
        target: Expr = element(node.target, env)
    else:
        target = compile_expr(node.target, env)
    if not isinstance(target, Data):
        raise TypeError(f"Cannot augassign to {target!r}")
    if not isinstance(target.ctype, types.Scalar):
        moved = _routines.apply_operator(node.op, (target, value), env)
        return _assign_to(target, Data.init(moved, env))
    place = env.fresh("__place")  # what the index says is computed once
    old = Data(f"({target.ctype}){place}", target.ctype)
    made = _routines.apply_operator(node.op, (old, value), env)
    stored = _assign_to(Data(place, target.ctype), Data.init(made, env))
    return [f"{{ auto& {place} = {target.code}; {stored[0]} }}"]


# ---------------------------------------------------------------- control


def _for(node: ast.For, top: bool, env: Environment) -> Lines:
    if node.orelse:
        raise NotImplementedError("while-else is not supported.")
    if not isinstance(node.target, ast.Name):
        raise NotImplementedError("a loop has one variable.")
    counter = compile_expr(node.iter, env)
    if not isinstance(counter, Range):
        raise NotImplementedError("for-loop is supported only for range iterator.")
    name = node.target.id
    found = env.locals.get(name)
    if found is None:
        found = env.locals[name] = Data(cpp_name(name), counter.ctype)
        env.declared[name] = counter.ctype
    elif found.ctype != counter.ctype:
        raise TypeError(
            f"Data type mismatch of variable: `{name}`: {found.ctype} != {counter.ctype}"
        )
    body = compile_block(node.body, False, env)
    condition = {
        True: "__it < __stop",
        False: "__it > __stop",
        None: "__step >= 0 ? __it < __stop : __it > __stop",
    }[counter.ascending]
    head = (
        f"for ({counter.ctype} __it = {counter.start.code}, __stop = {counter.stop.code},"
        f" __step = {counter.step.code}; {condition}; __it += __step)"
    )
    lines = _block(head, [f"{found.code} = __it;", *body])
    if counter.unroll is True:
        return ["#pragma unroll", *lines]
    return lines if counter.unroll is None else [f"#pragma unroll({counter.unroll})", *lines]


def _while(node: ast.While, top: bool, env: Environment) -> Lines:
    if node.orelse:
        raise NotImplementedError("while-else is not supported.")
    condition = _condition(compile_expr(node.test, env), env)
    return _block(f"while ({condition})", compile_block(node.body, False, env))


def _if(node: ast.If, top: bool, env: Environment) -> Lines:
    test = compile_expr(node.test, env)
    if isinstance(test, Constant):  # decided now: the other branch need not even compile
        return compile_block(node.body if test.obj else node.orelse, top, env)
    lines = _block(f"if ({_condition(test, env)})", compile_block(node.body, False, env))
    if node.orelse:
        lines += _block("else", compile_block(node.orelse, False, env))
    return lines


def _condition(test: Expr, env: Environment) -> str:
    return Data.init(_routines.cast(test, types.bool_, "unsafe"), env).code


def _assert(node: ast.Assert, top: bool, env: Environment) -> Lines:
    test = compile_expr(node.test, env)
    if isinstance(test, Constant):
        assert test.obj
        return []
    return [f"assert({_condition(test, env)});"]


def _expression(node: ast.Expr, top: bool, env: Environment) -> Lines:
    value = compile_expr(node.value, env)
    return [f"{value.code};"] if isinstance(value, Data) else []


_HANDLERS: dict[type[ast.stmt], Callable[[Any, bool, Environment], Lines]] = {
    ast.Return: _return,
    ast.Assign: _assign,
    ast.AnnAssign: _annotated,
    ast.AugAssign: _augmented,
    ast.For: _for,
    ast.While: _while,
    ast.If: _if,
    ast.Assert: _assert,
    ast.Expr: _expression,
    ast.Pass: lambda node, top, env: [],
    ast.Break: lambda node, top, env: ["break;"],
    ast.Continue: lambda node, top, env: ["continue;"],
}

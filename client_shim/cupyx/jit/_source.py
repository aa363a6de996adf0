"""The syntax tree of a Python function: of its source text, which must be at hand."""

from __future__ import annotations

import ast
import inspect
import linecache
import textwrap
from collections.abc import Callable
from typing import Any


def parse(func: Callable[..., Any]) -> tuple[ast.FunctionDef, str]:
    """Return the definition of a function or lambda, and the text for error messages.

    Raises:
        ValueError: not callable; no source text; several lambdas in the same lines.
        RuntimeError: typed into the interactive interpreter.
    """
    if not callable(func):
        raise ValueError("`func` must be a callable object.")
    try:
        filename = inspect.getsourcefile(func)
    except TypeError:
        filename = None
    if filename == "<stdin>":
        raise RuntimeError(
            f"JIT needs access to the Python source code for {func} but it cannot be retrieved"
            " within the Python interactive interpreter. Consider using IPython instead."
        )
    if getattr(func, "__name__", "") == "<lambda>":
        return _parse_lambda(func, filename)
    lines, _ = inspect.getsourcelines(func)
    source = textwrap.dedent("".join(lines))
    definition = ast.parse(source).body[0]
    if not isinstance(definition, ast.FunctionDef):
        raise NotImplementedError(f"Not supported: {type(definition)}")
    return definition, source


def _parse_lambda(func: Callable[..., Any], filename: str | None) -> tuple[ast.FunctionDef, str]:
    """Find a lambda in its file: the lines of it alone may be no valid program."""
    if filename is None:
        raise ValueError(
            f"JIT needs access to Python source code for {func} but could not be located.\n"
            "(hint: it is likely you passed a built-in function or method)"
        )
    lines, start = inspect.getsourcelines(func)
    tree = ast.parse("".join(linecache.getlines(filename)))
    found = [
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.Lambda) and start <= node.lineno < start + len(lines)
    ]
    if len(found) != 1:
        raise ValueError(
            f"Multiple callables are found near the definition of {func}, and JIT could not"
            " identify the source code for it."
        )
    ast.increment_lineno(found[0], 1 - start)  # as in the text that is shown
    body = ast.Return(found[0].body, lineno=found[0].lineno, end_lineno=found[0].end_lineno)
    definition = ast.FunctionDef(
        name="_lambda_kernel", args=found[0].args, body=[body], decorator_list=[]
    )
    return definition, "".join(lines)

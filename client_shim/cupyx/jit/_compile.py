"""From a Python function and the types of its arguments to CUDA C++: functions and modules.

Each function is compiled once for each combination of argument types. Nothing of it runs anywhere
as Python; names that it takes from outside are constants.
"""

from __future__ import annotations

import ast
import inspect
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from cupool.client_shim.cupyx.jit import _cuda_types as types
from cupool.client_shim.cupyx.jit._internal_types import Constant, Data, Expr
from cupool.client_shim.cupyx.jit._source import parse
from cupool.errors import PoolError

_HERE = Path(__file__).parent
MAX_FUNCTIONS = 100
"""Of one kernel: templates that call themselves without end stop here."""

_KEYWORDS = frozenset(
    "alignas alignof and_eq asm auto bitand bitor bool case catch char class compl concept const"
    " constexpr decltype default delete do double dynamic_cast enum explicit export extern false"
    " float friend goto inline int jit long mutable namespace new noexcept not_eq nullptr operator"
    " private protected public register requires short signed sizeof static struct switch template"
    " this throw true typedef typeid typename union unsigned using virtual void volatile xor"
    " complex threadIdx blockIdx blockDim gridDim warpSize".split()
)


def cpp_name(name: str) -> str:
    """Return a Python name as one that C++ takes."""
    name = name if name.isascii() else name.encode("ascii", "backslashreplace").decode()
    return (name + "_" if name in _KEYWORDS else name).replace("\\", "_")


class Result(NamedTuple):
    """A compiled kernel or device function.

    Attributes:
        func_name: its name in C++.
        code: the whole module.
        return_type: what it returns.
        cooperative: the grid waits for itself, and must be launched so.
    """

    func_name: str
    code: str
    return_type: types.TypeBase
    cooperative: bool


class Module:
    """The text of one kernel: headers, helpers and device functions, each once."""

    def __init__(self) -> None:
        self.codes: list[str] = []
        self.headers: list[str] = []
        self.functions: dict[Any, tuple[str, types.TypeBase] | None] = {}
        self.cooperative = False

    def add(self, code: str) -> None:
        """Add a definition, if it is not there yet."""
        if code not in self.codes:
            if len(self.codes) >= MAX_FUNCTIONS:
                raise ValueError("Number of functions exceeds upper limit.")
            self.codes.append(code)

    def include(self, text: str) -> None:
        """Add a line at the top, or the text of a file of this folder by its name."""
        if text not in self.headers:
            self.headers.append(text)

    def text(self) -> str:
        """Return the module's source."""
        body = "\n\n".join(self.codes)
        top = []
        if "complex<" in body:
            top.append("#include <cupy/complex.cuh>")
        if "__half" in body:
            top.append("#include <cuda_fp16.h>")
        top += [h for h in self.headers if h.startswith("#")]
        files = ["core.cuh", *(h for h in self.headers if not h.startswith("#"))]
        texts = [(_HERE / name).read_text(encoding="utf-8") for name in files]
        return "\n".join([*top, *texts, body]) + "\n"


class Environment:
    """What names mean inside one function.

    Attributes:
        mode: "cuda" types numbers as C++ does, "numpy" as NumPy.
        consts, locals: names from outside; parameters and variables.
        declared: variables whose declaration goes to the top of the function.
        return_type: None until the first `return` says it.
    """

    def __init__(
        self,
        mode: str,
        consts: dict[str, Constant],
        params: dict[str, Data],
        return_type: types.TypeBase | None,
        module: Module,
    ) -> None:
        self.mode = mode
        self.consts = consts
        self.locals = params
        self.declared: dict[str, types.TypeBase] = {}
        self.return_type = return_type
        self.module = module
        self._count = 0

    def find(self, name: str) -> Constant | Data | None:
        """Return what a name means, None if nothing."""
        return self.locals.get(name) or self.consts.get(name)

    def fresh(self, prefix: str) -> str:
        """Return a name that is not used yet."""
        while True:
            self._count += 1
            name = f"{prefix}{self._count}"
            if self.find(name) is None:
                return name


class CompileError(Exception):
    """An error at a node of the syntax tree, on its way out."""

    def __init__(self, error: Exception, node: ast.AST) -> None:
        super().__init__(str(error))
        self.error = error
        self.node = node

    def with_source(self, source: str) -> Exception:
        """Return the error itself, its text followed by the source with the place marked."""
        start = getattr(self.node, "lineno", 0)
        end = getattr(self.node, "end_lineno", start) or start
        marked = [
            f"{'> ' if start <= number <= end else '  '}{line}".rstrip()
            for number, line in enumerate(source.split("\n"), 1)
        ]
        if isinstance(self.error, PoolError):
            return self.error
        try:
            return type(self.error)("\n".join([f"{self.error}\n", *marked]))
        except Exception:  # a class of the user's, which wants other arguments
            return self.error


def transpile(
    func: Callable[..., Any],
    mode: str,
    in_types: tuple[types.TypeBase, ...],
    *,
    kernel: bool,
) -> Result:
    """Compile a function.

    Args:
        mode: "cuda" or "numpy", the rules for types.
        in_types: of the arguments.
        kernel: a kernel, else a device function.

    Raises:
        Exception: of the class that CuPy raises; the text names the line.
    """
    module = Module()
    name, return_type = compile_function(func, mode, in_types, module, kernel=kernel)
    return Result(name, module.text(), return_type, module.cooperative)


def compile_function(
    func: Callable[..., Any],
    mode: str,
    in_types: tuple[types.TypeBase, ...],
    module: Module,
    *,
    kernel: bool = False,
) -> tuple[str, types.TypeBase]:
    """Add a function to a module unless it is there; return its name and what it returns.

    Raises:
        ValueError: the function calls itself.
    """
    key = (func, in_types)
    if key in module.functions:
        known = module.functions[key]
        if known is None:
            raise ValueError("Recursive function is not supported.")
        return known
    definition, source = parse(func)
    name = cpp_name(definition.name)
    if module.functions:
        name += f"_{len(module.functions)}"
    module.functions[key] = None
    outside = inspect.getclosurevars(func)
    consts: dict[str, Any] = {**outside.builtins, **outside.globals, **outside.nonlocals}
    for own in func.__code__.co_varnames:  # an attribute elsewhere may have a variable's name
        consts.pop(own, None)
    error: Exception | None = None
    try:
        code, made = _function(definition, name, mode, consts, in_types, module, kernel)
    except CompileError as e:
        error = e.with_source(source)
    if error is not None:  # out of the handler: a short traceback
        raise error
    module.functions[key] = (name, made)
    module.add(code)
    return name, made


def _function(
    definition: ast.FunctionDef,
    name: str,
    mode: str,
    consts: dict[str, Any],
    in_types: tuple[types.TypeBase, ...],
    module: Module,
    kernel: bool,
) -> tuple[str, types.TypeBase]:
    from cupool.client_shim.cupyx.jit import _statements

    names = _parameters(definition, name, len(in_types))
    params = {n: Data(cpp_name(n), t) for n, t in zip(names, in_types, strict=True)}
    env = Environment(
        mode,
        {key: Constant(value) for key, value in consts.items()},
        dict(params),
        types.void if kernel else None,
        module,
    )
    body = _statements.compile_block(definition.body, True, env)
    returned = env.return_type or types.void
    declarations = [f"{t.declare(cpp_name(n))};" for n, t in env.declared.items()]
    if kernel:
        signature, opening = _kernel_parameters(list(params.values()))
        head = f'extern "C" __global__ void {name}({", ".join(signature)})'
    else:
        opening = []
        signature = [p.ctype.declare(p.code) for p in params.values()]
        head = f"__device__ {returned} {name}({', '.join(signature)})"
    lines = [*opening, *declarations, *body]
    return "\n".join([head + " {", _statements.indent(lines), "}"]), returned


def _parameters(definition: ast.FunctionDef, name: str, given: int) -> list[str]:
    """Return the names of a function's parameters; refuse what kernels do not have."""
    for decorator in definition.decorator_list:
        text = ast.unparse(decorator)
        if not any(word in text for word in ("rawkernel", "vectorize")):
            warnings.warn(
                f"Decorator {text} may not supported in JIT.", RuntimeWarning, stacklevel=2
            )
    arguments = definition.args
    refused = {
        "`*args` is": arguments.vararg,
        "keyword only arguments are": arguments.kwonlyargs,
        "`**kwargs` is": arguments.kwarg,
        "Default values are": arguments.defaults,
    }
    for words, found in refused.items():
        if found:
            raise NotImplementedError(f"{words} not supported currently.")
    names = [a.arg for a in (*arguments.posonlyargs, *arguments.args)]
    if len(names) != given:
        raise TypeError(f"{name}() takes {len(names)} positional arguments but {given} were given.")
    return names


def _kernel_parameters(params: list[Data]) -> tuple[list[str], list[str]]:
    """Return a kernel's parameters, and the lines that make arrays of them.

    An array comes as its address, its lengths and its strides (see `launch_arguments`).
    """
    signature, opening = [], []
    for number, param in enumerate(params):
        if not isinstance(param.ctype, types.CArray):
            signature.append(param.ctype.declare(param.code))
            continue
        signature.append(f"{param.ctype.element}* __data{number}")
        opening.append(f"{param.ctype.declare(param.code)};")
        opening.append(f"{param.code}.data = __data{number};")
        for axis in range(param.ctype.ndim):
            for field in ("shape", "strides"):
                signature.append(f"long long __{field}{number}_{axis}")
                opening.append(f"{param.code}.{field}[{axis}] = __{field}{number}_{axis};")
    return signature, opening


def as_expr(value: Any) -> Expr:
    """Return a constant as an expression; what stands for an expression is one already."""
    return value if isinstance(value, Expr) else Constant(value)

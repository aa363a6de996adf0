"""Names of CuPy that cupool does not have yet: each is there, and says so when it is used.

Nothing ever falls back to local NumPy in silence.
"""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from types import ModuleType
from typing import Any, NoReturn

from cupool.errors import OperationNotSupported
from cupool.proto.operations.api import listing

_OURS = "cupool.client_shim."


def refuse(name: str) -> NoReturn:
    """Raise the error for a name that is not supported yet."""
    page = listing().page(name)
    remedy = "what is supported today:   docs/coverage.md, README 'Limits'"
    if page:
        remedy += f"\nwhat CuPy says of it:   {page}"
    raise OperationNotSupported(f"{name} is not supported by cupool yet", remedy=remedy)


def _function(name: str) -> Any:
    def unsupported(*args: Any, **kwargs: Any) -> NoReturn:
        refuse(name)

    unsupported.__name__ = name.rpartition(".")[2]
    unsupported.__qualname__ = unsupported.__name__
    unsupported.__doc__ = f"{name} is not supported by cupool yet: calling it raises."
    return unsupported


def _class(name: str) -> Any:
    def __new__(cls: type, *args: Any, **kwargs: Any) -> NoReturn:
        refuse(name)

    short = name.rpartition(".")[2]
    doc = f"{name} is not supported by cupool yet: making one raises."
    module = name.rpartition(".")[0]
    return type(short, (), {"__new__": __new__, "__doc__": doc, "__module__": module})


def fill(namespace: dict[str, Any], module: str) -> None:
    """Put CuPy's remaining names of `module` into a namespace: constants as they are, functions
    and classes that raise when used."""
    api = listing()
    for short in api.members(module):
        if short in namespace:
            continue
        name = f"{module}.{short}"
        kind = api.kind(name)
        if name in api.reexports:
            namespace[short] = _reexport(api.reexports[name])
        elif name in api.constants:
            namespace[short] = api.constants[name]
        elif kind in ("function", "ufunc", "method"):
            namespace[short] = _function(name)
        elif kind == "exception":
            namespace[short] = type(short, (Exception,), {"__module__": module})
        elif kind == "class":
            namespace[short] = _class(name)


def _reexport(dotted: str) -> Any:
    path, _, short = dotted.rpartition(".")
    return getattr(importlib.import_module(path), short)


def module(name: str) -> ModuleType:
    """Make the module `name` (CuPy's dotted name) out of names that raise when used."""
    ours = _OURS + name
    made = ModuleType(ours, f"{name} is not supported by cupool yet: what it holds raises.")
    made.__path__ = []
    fill(made.__dict__, name)
    sys.modules[ours] = made
    return made


def submodules(package: str) -> None:
    """Make every listed submodule of a package that has no file here, parents first."""
    for name in sorted(n for n, entry in listing().names.items() if entry.kind == "module"):
        if not name.startswith(f"{package}.") or _has_file(name):
            continue
        made = module(name)
        parent, _, short = name.rpartition(".")
        setattr(importlib.import_module(_OURS + parent), short, made)


def _has_file(name: str) -> bool:
    path = Path(__file__).parents[1].joinpath(*name.split("."))
    return path.is_dir() or path.with_suffix(".py").is_file()

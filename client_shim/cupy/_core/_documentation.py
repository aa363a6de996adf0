"""What `help(cupy.sum)` shows: our own words, and where CuPy documents the function."""

from __future__ import annotations

from types import FunctionType
from typing import Any

from cupool.proto.operations.api import listing

_OURS = ("cupool.client_shim.cupy", "cupy")


def describe(name: str, what: str = "") -> str:
    """Return a docstring for a name such as "cupy.add"."""
    page = listing().page(name)
    lines = [what] if what else []
    lines.append("Runs on the session's device.")
    if page:
        lines.append(f"CuPy documents it at {page}")
    return "\n\n".join(lines)


def finish(namespace: dict[str, Any], module: str) -> None:
    """Add to our functions' docstrings where CuPy documents them.

    Args:
        namespace: a module's names, e.g. those of `cupy.linalg`.
        module: CuPy's name of that module.
    """
    api = listing()
    for short in api.members(module):
        value = namespace.get(short)
        if not isinstance(value, FunctionType) or not value.__module__.startswith(_OURS):
            continue
        page = api.page(f"{module}.{short}")
        text = value.__doc__ or ""
        if page and "CuPy documents it at" not in text:
            value.__doc__ = f"{text.rstrip()}\n\nCuPy documents it at {page}\n"

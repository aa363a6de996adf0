"""cupool: GPUs that live anywhere, used as if they were here."""

from __future__ import annotations

__version__ = "0.1.0"

TYPE_CHECKING = False  # of `typing`, whose import every script would feel
if TYPE_CHECKING:
    from cupool.scripting import connect as connect
    from cupool.scripting import lease as lease
    from cupool.scripting import on_notice as on_notice
    from cupool.scripting import reset as reset

_SCRIPTING = ("connect", "lease", "on_notice", "reset")


def __getattr__(name: str) -> object:
    """Bring what a script may call from `cupool.scripting` when it is first used."""
    if name not in _SCRIPTING:
        raise AttributeError(f"module 'cupool' has no attribute {name!r}")
    import importlib

    return getattr(importlib.import_module("cupool.scripting"), name)

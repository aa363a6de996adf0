"""What `help(cupy.sum)` shows: our own words, and where CuPy documents the function."""

from __future__ import annotations

_MANUAL = "https://docs.cupy.dev/en/stable/reference/generated/"


def describe(name: str, what: str = "") -> str:
    """Return a docstring for a name such as "cupy.add"."""
    head = f"{what}\n\n" if what else ""
    return f"{head}Runs on the session's device. Arguments and results: {_MANUAL}{name}.html"

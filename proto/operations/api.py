"""CuPy's public names, kinds and signatures, from the listing api.json.

`scripts/generate_api.py` makes that file from CuPy's own wheel; nothing here needs CuPy.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache, cached_property
from importlib import resources
from typing import Literal, NamedTuple, TypeAlias

import msgspec

Kind: TypeAlias = Literal[
    "module", "class", "exception", "ufunc", "function", "method", "property", "constant"
]
Constant: TypeAlias = bool | int | float | str

_DOCUMENTATION = "https://docs.cupy.dev/en/v{version}/{page}"


class Entry(NamedTuple):
    """One name.

    Attributes:
        kind: what it is; the last two of a class's members are told apart by being callable.
        signature: as Python source, without annotations; None where it has or shows none.
        page: of CuPy's documentation, below its root; None where it is not documented.
    """

    kind: Kind
    signature: str | None
    page: str | None


class Ufunc(NamedTuple):
    """Arguments, results, and the loops as ``"dd->d"``, in the order in which they are tried."""

    nin: int
    nout: int
    types: tuple[str, ...]


class Api(msgspec.Struct, frozen=True, dict=True):
    """The listing. All names are dotted and whole: ``cupy.linalg.norm``.

    Attributes:
        cupy: the version that was listed.
        names: every public name.
        ufuncs: the rows of kind ``ufunc``; a generalized one lists no types.
        constants: the values of plain constants, of modules and of classes.
        reexports: names that are NumPy's or SciPy's own objects, and whose.
    """

    cupy: str
    names: Mapping[str, Entry]
    ufuncs: Mapping[str, Ufunc]
    constants: Mapping[str, Constant]
    reexports: Mapping[str, str]

    def kind(self, name: str) -> Kind | None:
        """None if there is no such name."""
        entry = self.names.get(name)
        return entry and entry.kind

    def signature(self, name: str) -> str | None:
        entry = self.names.get(name)
        return entry and entry.signature

    def page(self, name: str) -> str | None:
        """The address of the page where CuPy documents `name`, or None."""
        entry = self.names.get(name)
        if entry is None or entry.page is None:
            return None
        return _DOCUMENTATION.format(version=self.cupy, page=entry.page)

    def ufunc(self, name: str) -> Ufunc | None:
        return self.ufuncs.get(name)

    def members(self, prefix: str) -> tuple[str, ...]:
        """The short names directly in a module or class, in alphabetical order."""
        return self._members.get(prefix, ())

    @cached_property
    def _members(self) -> Mapping[str, tuple[str, ...]]:
        members: dict[str, list[str]] = {}
        for name in self.names:
            prefix, _, short = name.rpartition(".")
            members.setdefault(prefix, []).append(short)
        return {prefix: tuple(sorted(shorts)) for prefix, shorts in members.items()}


@cache
def listing() -> Api:
    """The listing, read once."""
    text = resources.files("cupool.proto.operations").joinpath("api.json").read_bytes()
    return msgspec.json.decode(text, type=Api)

"""docs/coverage.md: each documented name of CuPy, whether it works, and if not why."""

from __future__ import annotations

import dis
import importlib
import re
from collections import Counter
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from conformance_parts import expected, measured
from conformance_parts.suites import EXPECTED, ROOT
from cupool.proto.operations.api import listing

PAGE = ROOT / "docs" / "coverage.md"
STATES = ("works", "partly", "not")
_OURS = "cupool.client_shim."
_REFUSES = "not supported by cupool yet"
_NAME_IN_REASON = re.compile(r"`(cupyx?\.[\w.]+)`")
_HOLDERS = ("class", "exception", "ufunc")
_COMPILED_ONLY = ("__setstate__", "__del__")
"""Methods that CuPy's classes have because they are compiled."""
_MEASURED = (
    "Suites that others wrote, unmodified, against the mock device through a pool; the share is "
    "passed of passed, failed and expected to fail. `python scripts/conformance.py SUITE --record` "
    "writes a row. *sample*: CuPy's own subsampling, seed 0. *mismatches*: results of another "
    "shape or dtype than the shim promised."
)
_REASONS = {
    "cupyx.jit": "user kernels are to come",
    "cupy.cuda.texture": "CUDA arrays, textures and surfaces are refused on every device",
}
"""Of what is not there yet, by the beginning of the name."""


@dataclass(frozen=True)
class Row:
    """One name: its state, and why it is not "works"."""

    name: str
    state: str
    why: str


def rows() -> list[Row]:
    """Return a row for each documented name that is not a member of a class."""
    known = _reasons()
    api = listing()
    names = [name for name, entry in api.names.items() if entry.page]
    held = [n for n in names if api.kind(n.rpartition(".")[0]) in _HOLDERS]
    members: dict[str, list[str]] = {}
    for name in held:
        members.setdefault(name.rpartition(".")[0], []).append(name)
    return [_row(n, members.get(n, []), known) for n in sorted(set(names) - set(held))]


def totals(of: list[Row]) -> dict[str, Counter[str]]:
    """Return counts of the states by module."""
    counts: dict[str, Counter[str]] = {}
    for row in of:
        counts.setdefault(_module(row.name), Counter())[row.state] += 1
    return counts


def _row(name: str, members: list[str], known: dict[str, str]) -> Row:
    found = _find(name)
    if found is None:
        return Row(name, "not", f"{_why_not(name)}; the name is missing")
    if _refuses(found):
        return Row(name, "not", _why_not(name))
    if name in known:
        return Row(name, "partly", known[name])
    kind = listing().kind(name)
    if kind == "class" and members:
        lacking = [m.rpartition(".")[2] for m in members if not _member(found, m)]
        if lacking:
            shown = ", ".join(f"`{m}`" for m in lacking[:8])
            rest = f" and {len(lacking) - 8} more" if len(lacking) > 8 else ""
            return Row(name, "partly", f"without {shown}{rest}")
    return Row(name, "works", "")


def _find(name: str) -> Any:
    """Return the object of that name in the shim, or None."""
    parts = name.split(".")
    for cut in range(len(parts) - 1, 0, -1):
        try:
            found: Any = importlib.import_module(_OURS + ".".join(parts[:cut]))
            for part in parts[cut:]:
                found = getattr(found, part)
        except (ImportError, AttributeError):
            continue
        return found
    return None


def _member(cls: Any, name: str) -> bool:
    short = name.rpartition(".")[2]
    if short in _COMPILED_ONLY:
        return True
    if hasattr(cls, short):
        return not _refuses(getattr(cls, short))
    return any(short in _set_by(base) for base in getattr(cls, "__mro__", ()))


@cache
def _set_by(cls: Any) -> frozenset[str]:
    """Return the attributes that methods of a class set. Its source may not be found by its name:
    classes say that they are CuPy's."""
    codes = (getattr(found, "__code__", None) for found in vars(cls).values())
    steps = (step for code in codes if code for step in dis.get_instructions(code))
    return frozenset(str(step.argval) for step in steps if step.opname == "STORE_ATTR")


def _refuses(found: Any) -> bool:
    return _REFUSES in (getattr(found, "__doc__", None) or "")


def _why_not(name: str) -> str:
    return next((why for start, why in _REASONS.items() if name.startswith(start)), "to come")


def _reasons() -> dict[str, str]:
    """Return names that reasons of expected failures mention, each with its reason."""
    found: dict[str, str] = {}
    for path in sorted(EXPECTED.glob("*.txt")):
        for line in expected.read(path):
            if line.reason.startswith(expected.OWN_FAULT):
                continue
            for name in _NAME_IN_REASON.findall(line.reason):
                found.setdefault(name, line.reason)
    return found


def _module(name: str) -> str:
    """Return the public module of a name; documents name a few things by private modules."""
    parts = name.split(".")[:-1]
    private = next((i for i, part in enumerate(parts) if part.startswith("_")), len(parts))
    return ".".join(parts[:private])


def text() -> str:
    """Return the page."""
    found = rows()
    counts = totals(found)
    whole = Counter(row.state for row in found)
    lines = [
        "# Coverage",
        "",
        "Every name that the reference of CuPy "
        f"{listing().cupy} documents, without members of classes. Made by "
        "`python scripts/conformance.py --coverage` from the listing of CuPy's names, the shim, "
        "and the expected failures of CuPy's own tests on the mock device "
        "(`tests/conformance_expected/`).",
        "",
        "*works*: it is there, and no expected failure names it. *partly*: something of it is "
        "missing, as said. *not*: it is there, and raises `OperationNotSupported` when used.",
        "",
        f"**{len(found)} names: {whole['works']} work, {whole['partly']} in part, "
        f"{whole['not']} not.**",
        "",
        "| Module | Names | works | partly | not |",
        "|---|---|---|---|---|",
    ]
    for module, count in sorted(counts.items()):
        numbers = " | ".join(str(count[state]) for state in STATES)
        lines.append(f"| `{module}` | {count.total()} | {numbers} |")
    lines += ["", "## Measured", "", _MEASURED, "", *measured.page()]
    for module in sorted(counts):
        here = [row for row in found if _module(row.name) == module]
        lines += ["", f"## {module}", ""]
        works = [f"`{_short(r.name, module)}`" for r in here if r.state == "works"]
        if works:
            lines += [f"Works: {', '.join(works)}.", ""]
        rest = [row for row in here if row.state != "works"]
        if rest:
            lines += ["| Name | State | Why |", "|---|---|---|"]
            lines += [f"| `{_short(r.name, module)}` | {r.state} | {r.why} |" for r in rest]
            lines.append("")
        lines.pop()
    return "\n".join(lines) + "\n"


def _short(name: str, module: str) -> str:
    return name.removeprefix(f"{module}.")


def written_totals(page: Path = PAGE) -> dict[str, tuple[int, ...]]:
    """Return the table of totals that the page holds: by module, the counts of the states."""
    pattern = re.compile(r"^\| `([\w.]+)` \| \d+ \| (\d+) \| (\d+) \| (\d+) \|$", re.MULTILINE)
    found = pattern.findall(page.read_text(encoding="utf-8"))
    return {module: tuple(map(int, numbers)) for module, *numbers in found}


def write() -> None:
    """Write the page."""
    PAGE.write_text(text(), encoding="utf-8")
    print(f"{PAGE}: written")

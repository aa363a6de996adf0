"""The documents say what the code does: tables of `docs/protocol.md`, and links of all pages."""

from __future__ import annotations

import importlib
import re
from pathlib import Path

import msgspec
import pytest

from cupool.proto import failures, messages, values, versions
from cupool.proto.operations import TABLE
from cupool.proto.v1 import pool_pb2
from cupool.transport import frames
from cupool.transport.channel import CARRIERS

ROOT = Path(__file__).resolve().parents[2]
PROTOCOL = ROOT / "docs" / "protocol.md"
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])

STRUCTURES = {name: getattr(messages, name) for name in ("DeviceInfo", "Failure", "Notice")}


def table(first_column: str) -> list[list[str]]:
    """Return the rows of the table of the protocol page whose head begins with this column."""
    lines = iter(PROTOCOL.read_text(encoding="utf-8").splitlines())
    for line in lines:
        if line.startswith(f"| {first_column} |"):
            next(lines)
            rows = []
            for row in lines:
                if not row.startswith("|"):
                    return rows
                rows.append([cell.strip().strip("`") for cell in row.strip("|").split("|")])
    raise AssertionError(f"no table that begins with {first_column!r}")


def fields(cell: str) -> tuple[str, ...]:
    return tuple(name.strip() for name in cell.split(","))


def test_versions() -> None:
    documented = {int(number): (name, reason) for number, name, reason in table("Version")}
    assert documented == versions.VERSIONS
    assert {versions.MINIMUM, versions.CURRENT} <= documented.keys()


def test_messages_their_tags_and_fields() -> None:
    classes = messages.Message.__args__
    known = {c.__struct_config__.tag: (c.__name__, c.__struct_fields__) for c in classes}
    assert {int(tag): (name, fields(f)) for tag, name, _, f in table("Tag | Message")} == known


def test_structures_and_their_fields() -> None:
    known = {name: struct.__struct_fields__ for name, struct in STRUCTURES.items()}
    assert {name: fields(cell) for name, cell in table("Structure")} == known


def test_a_message_is_an_array_that_begins_with_its_tag() -> None:
    encoded = messages.encode(messages.Credit(7, 1))
    assert msgspec.msgpack.decode(encoded) == [9, 7, 1]


def test_value_tags() -> None:
    documented = {int(tag): name for tag, name, *_ in table("Tag | Name")}
    assert documented == {tag: name for name, tag in vars(values).items() if _is_tag(name, tag)}


def _is_tag(name: str, value: object) -> bool:
    return name.isupper() and not name.startswith("MAX_") and type(value) is int


def test_parts_of_the_carriers() -> None:
    documented = {name: int(byte) for byte, name, _ in table("Byte")}
    assert documented == {name: getattr(frames, name) for name in documented}
    assert sorted(documented.values()) == [0, 1, 2, 3, 4]


def test_carriers() -> None:
    assert {scheme: module for scheme, module, _ in table("Scheme")} == CARRIERS


def test_core_operations_and_requests() -> None:
    documented = {name: kind for name, kind, *_ in table("Operation")}
    assert documented == {r.name: r.kind for r in TABLE.values() if r.kind in ("core", "request")}


def test_names_of_failures() -> None:
    documented = {name for (cell,) in table("Names that cross") for name in fields(cell)}
    assert documented == {cls.__name__ for cls in failures._BUILTIN}


@pytest.mark.parametrize("row", table("Constant"), ids=lambda row: row[0])
def test_limits(row: list[str]) -> None:
    module, _, name = row[0].rpartition(".")
    assert getattr(importlib.import_module(f"cupool.{module}"), name) == float(row[1])


def test_services_and_methods() -> None:
    services = pool_pb2.DESCRIPTOR.services_by_name
    known = {(s.name, m.name) for s in services.values() for m in s.methods}
    assert {(service, method) for service, method, _ in table("Service")} == known


@pytest.mark.parametrize("page", PAGES, ids=lambda p: str(p.relative_to(ROOT)))
def test_links_lead_somewhere(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    for target in re.findall(r"\]\(([^)\s]+)\)", text):
        if "://" in target:
            continue
        file, _, anchor = target.partition("#")
        linked = (page.parent / file).resolve() if file else page
        assert linked.exists(), f"{page.name} links to {target}"
        if anchor:
            assert anchor in _anchors(linked), f"{page.name} links to {target}"


@pytest.mark.parametrize("page", PAGES, ids=lambda p: str(p.relative_to(ROOT)))
def test_files_that_pages_name_exist(page: Path) -> None:
    """A path in backticks that begins with one of our folders is a promise."""
    text = page.read_text(encoding="utf-8")
    folders = "client_shim|pool_server|proto|transport|src|tests|docs|examples|benchmarks|scripts"
    named = re.findall(rf"`((?:{folders}|deploy)/[\w./-]+)`", text)
    assert [name for name in named if not (ROOT / name).exists()] == []


def _anchors(page: Path) -> set[str]:
    headings = re.findall(r"^#+ (.+)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}

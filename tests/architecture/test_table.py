"""The operation table is whole: every row can be done, every call has a row."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from cupool.pool_server.devices.cuda_sparse import SparseOperations
from cupool.pool_server.devices.mock import adapters, calls
from cupool.proto.operations import TABLE
from cupool.proto.operations.api import listing

ROOT = Path(__file__).resolve().parents[2]
SENDERS = ("call", "call_one", "call_into", "call_unknown", "call_object")
OWN_KINDS = ("core", "request")


@pytest.mark.parametrize("row", [r for r in TABLE.values() if r.kind not in OWN_KINDS], ids=str)
def test_the_mock_can_do_every_row(row: object) -> None:
    adapters.load()
    assert callable(calls.resolve(row).function)  # type: ignore[arg-type]


def test_every_name_that_the_shim_sends_is_in_the_table() -> None:
    missing = []
    for path in sorted((ROOT / "client_shim").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if not isinstance(node, ast.Call) or not node.args:
                continue
            function = node.func
            name = function.attr if isinstance(function, ast.Attribute) else ""
            first = node.args[0]
            if name in SENDERS and isinstance(first, ast.Constant) and isinstance(first.value, str):
                if first.value not in TABLE:
                    missing.append(f"{path.name}: {first.value}")
    assert missing == []


def test_every_cupy_name_of_the_table_exists_in_cupy() -> None:
    known = listing()

    def exists(name: str) -> bool:
        parent, _, method = name.rpartition(".")
        if known.kind(parent) == "ufunc":  # a method of a ufunc object, as `cupy.add.reduceat`
            return known.kind(f"cupy.ufunc.{method}") is not None
        return known.kind(name) is not None

    assert [row.cupy for row in TABLE.values() if row.cupy and not exists(row.cupy)] == []


RULES = {"ufunc", "reduction", "scan", "matmul", "own", "data", ""}


def test_every_rule_is_one_that_the_shim_knows() -> None:
    assert {row.rule for row in TABLE.values()} <= RULES


def test_no_row_without_a_rule_has_results_to_predict() -> None:
    kinds = ("core", "request", "query", "kernel")
    assert [r.name for r in TABLE.values() if not r.rule and r.kind not in kinds] == []


def _constants_of(function: str) -> Iterator[tuple[str, str]]:
    """Yield where the shim calls a function, and the operation that it names."""
    for path in sorted((ROOT / "client_shim").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
                first = node.args[0] if node.args else None
                if node.func.attr == function and isinstance(first, ast.Constant):
                    yield path.name, str(first.value)


def test_only_rows_that_depend_on_data_are_asked_for() -> None:
    asked = list(_constants_of("call_unknown"))
    assert asked
    assert [(path, name) for path, name in asked if TABLE[name].rule != "data"] == []


def test_the_cuda_device_does_every_operation_on_sparse_matrices() -> None:
    known = {f"sparse.{n}" for n in vars(SparseOperations) if n[0] != "_" and n != "table"}
    assert known == {name for name in TABLE if name.startswith("sparse.")}

"""A cap on the tail: no file over 500 lines, no function over 60, no file without a docstring."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
OURS = (
    "client_shim",
    "pool_server",
    "proto",
    "transport",
    "src/cupool",
    "examples",
    "benchmarks",
    "scripts",
    "tests",
)
MAX_LINES, MAX_FUNCTION_LINES = 500, 60


def _sources() -> Iterator[Path]:
    for folder in OURS:
        for path in sorted((ROOT / folder).rglob("*.py")):
            if "_pb2" not in path.name and not any(p.is_symlink() for p in path.parents):
                yield path


@pytest.mark.parametrize("path", list(_sources()), ids=lambda p: str(p.relative_to(ROOT)))
def test_no_file_and_no_function_is_too_long(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert text.count("\n") <= MAX_LINES
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            length = (node.end_lineno or node.lineno) - node.lineno + 1
            assert length <= MAX_FUNCTION_LINES, f"{node.name} has {length} lines"


def test_every_module_says_what_it_is() -> None:
    silent = [
        str(path.relative_to(ROOT))
        for path in _sources()
        if path.name not in ("__main__.py",)
        and path.stat().st_size
        and ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) is None
    ]
    assert silent == []

"""The traps of living under four generic folder names."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from importlib.metadata import files
from pathlib import Path

import cupool

ROOT = Path(__file__).resolve().parents[2]
FOLDERS = ("client_shim", "pool_server", "proto", "transport")


def test_every_folder_is_a_link_to_a_package_not_a_text_file() -> None:
    """A checkout without symlink support leaves text files where the links should be."""
    for folder in FOLDERS:
        link = ROOT / "src" / "cupool" / folder
        assert link.is_symlink() and (link / "__init__.py").is_file(), folder


def test_no_folder_of_ours_is_importable_under_its_bare_name(tmp_path: Path) -> None:
    code = f"import importlib.util as u; print([u.find_spec(n) for n in {FOLDERS}])"
    found = subprocess.check_output([sys.executable, "-c", code], cwd=tmp_path, text=True)
    assert str(ROOT) not in found and "cupool" not in found


def test_the_distribution_installs_only_our_namespace() -> None:
    tops = {p.parts[0] for p in files("cupool") or () if p.suffix in {".py", ".pyi"}}
    assert tops <= {"cupool"}


def test_the_version_is_the_same_everywhere() -> None:
    from importlib.metadata import version

    assert version("cupool") == cupool.__version__


def test_every_file_that_is_no_python_is_installed() -> None:
    """A header that only the source tree has is missed by users alone."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())
    patterns = settings["tool"]["setuptools"]["package-data"]
    installed = {
        path.resolve()
        for package, each in patterns.items()
        for pattern in each
        for path in (ROOT / "src" / package.replace(".", "/")).glob(pattern)
    }
    sources = re.compile(r"\.(py|pyc|pyi)$|/ptx/native/\w+\.[ch]$")  # of what is installed
    found = {
        path
        for folder in ("client_shim", "deploy", "pool_server", "proto", "transport", "src/cupool")
        for path in (ROOT / folder).rglob("*")
        if path.is_file() and not sources.search(path.as_posix())
    }
    assert {path.resolve() for path in found} - installed == set()

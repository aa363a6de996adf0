"""Suites of packages that use CuPy, each run as it is, in an environment of their own.

The environment lies in the user's cache, made once for a set of versions. It holds the packages
and cupool's requirements; cupool itself comes from this tree, and CuPy is not in it.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import tarfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from conformance_parts.places import ROOT, Place, cache, pip

_REQUIREMENTS = (
    "array-api-compat==1.16.0",
    "array-api-extra==0.11.5",
    "array-api-strict==2.4.1",
    "dask[array]==2026.8.0",
    "einops==0.8.2",
    "opt_einsum==3.4.0",
    "pylops==2.8.0",
    "scikit-learn==1.9.1",
    "scipy==1.17.1",
    "tensorly==0.10.0",
    "hypothesis",
    "matplotlib",
    "pandas",
    "platformdirs",
    "pytest",
    "pytest-timeout",
    "sympy",
)


@dataclass(frozen=True)
class Downstream:
    """Tests of a package that takes CuPy arrays.

    Attributes:
        name: on the command line and of the files of expected failures.
        pieces: files and folders, below the installed packages or the unpacked source.
        source: "package==version" if its tests are only in the source distribution.
        select: pytest's -k.
        environment: what makes the suite use CuPy.
        options: more for pytest.
    """

    name: str
    pieces: tuple[str, ...]
    source: str = ""
    select: str = ""
    environment: Mapping[str, str] = field(default_factory=dict)
    options: tuple[str, ...] = ()

    sampled = False

    def place(self) -> Place:
        """Return where it runs, made if need be."""
        home = _environment()
        folder = _unpacked(self.source, home) if self.source else _packages(home)
        options = [*self.options, "--rootdir", "."]
        if self.select:
            options += ["-k", self.select]
        return Place(folder, str(home / "bin" / "python"), dict(self.environment), tuple(options))

    def units(self, tests: Path) -> list[str]:
        """Return what runs as one pytest process each."""
        found: list[str] = []
        for piece in self.pieces:
            found += sorted(p.relative_to(tests).as_posix() for p in tests.glob(piece))
        return found


_SCIPY = "_lib cluster constants differentiate fft integrate interpolate linalg ndimage optimize"
_SCIPY += " signal spatial special stats"
_SKLEARN = "utils metrics decomposition linear_model preprocessing model_selection mixture"

DOWNSTREAM = (
    Downstream(
        "scipy",
        tuple(f"scipy/{part}" for part in _SCIPY.split()),
        select="cupy",
        environment={"SCIPY_ARRAY_API": '["cupy"]'},
        options=("-m", "not slow"),
    ),
    Downstream(
        "scikit-learn",
        tuple(f"sklearn/{part}/tests" for part in _SKLEARN.split()),
        select="cupy",
        environment={"SCIPY_ARRAY_API": "1"},
    ),
    Downstream("dask", ("dask/array/tests/test_cupy_*.py",), options=("-c", "/dev/null")),
    Downstream(
        "pylops",
        ("pytests/test_*.py",),
        source="pylops==2.8.0",
        environment={"TEST_CUPY_PYLOPS": "1"},
    ),
    Downstream("tensorly", ("tensorly/**/tests",), environment={"TENSORLY_BACKEND": "cupy"}),
    Downstream("array-api-compat", ("tests",), source="array-api-compat==1.16.0", select="cupy"),
    Downstream("array-api-extra", ("tests/main",), source="array-api-extra==0.11.5", select="cupy"),
    Downstream("opt_einsum", ("opt_einsum/tests",), select="cupy"),
    Downstream("einops", ("einops/tests",), environment={"EINOPS_TEST_BACKENDS": "numpy,cupy"}),
)


def _environment() -> Path:
    """Return the virtual environment of these suites, made at the first use."""
    key = "\n".join((sys.version, *_REQUIREMENTS))
    home = cache() / f"environment-{hashlib.sha256(key.encode()).hexdigest()[:12]}"
    done = home / "complete"
    if done.is_file():
        return home
    subprocess.run([sys.executable, "-m", "venv", str(home)], check=True)
    # cupool is installed for its requirements only: PYTHONPATH puts this tree before it.
    arguments = ["install", f"{ROOT}[server]", *_REQUIREMENTS]
    pip(home / "bin" / "python", arguments, os.environ)
    done.touch()
    return home


def _packages(home: Path) -> Path:
    return next((home / "lib").glob("python3.*/site-packages"))


def _unpacked(source: str, home: Path) -> Path:
    """Return a source distribution's folder, without the package that is installed already."""
    package, _, version = source.partition("==")
    folder = cache() / "sources" / f"{package.replace('-', '_')}-{version}"
    if not (folder / "complete").is_file():
        into = folder.parent
        into.mkdir(parents=True, exist_ok=True)
        arguments = ["download", "--no-deps", "--no-binary", package, source, "--dest", str(into)]
        pip(home / "bin" / "python", arguments, os.environ)
        archive = next(into.glob(f"{package.replace('-', '_')}-{version}.tar.gz"))
        with tarfile.open(archive) as opened:
            opened.extractall(into, filter="data")
        (folder / "complete").touch()
    return folder

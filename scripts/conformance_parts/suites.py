"""The suites: where they come from, and in which pieces they run."""

from __future__ import annotations

import os
import subprocess
import sys
import tarfile
from dataclasses import dataclass
from pathlib import Path

import platformdirs

ROOT = Path(__file__).resolve().parents[2]
EXPECTED = ROOT / "tests" / "conformance_expected"
CORE = (
    "core creation fft indexing linalg logic manipulation math random sorting statistics"
).split()


@dataclass(frozen=True)
class Suite:
    """Tests that others wrote.

    Attributes:
        name: on the command line and of the files of expected failures.
        package, version: the source distribution that holds them.
        folder: where the tests are, below the distribution's `tests`.
        left_out: folders that are not run.
    """

    name: str
    package: str
    version: str
    folder: str
    left_out: tuple[str, ...] = ()

    def units(self, tests: Path) -> list[str]:
        """Return what runs as one pytest process each: folders, and files beside them.

        The pieces are fixed, so that sampling picks the same tests whatever else is run.
        """
        here = tests / self.folder
        folders = [p for p in sorted(here.iterdir()) if (p / "__init__.py").is_file()]
        files = sorted(here.glob("test_*.py"))
        found = [p.relative_to(tests).as_posix() for p in [*folders, *files]]
        return [unit for unit in found if Path(unit).name not in self.left_out]


SUITES = {
    suite.name: suite
    for suite in (
        Suite("cupy_tests", "cupy", "14.2.0", "cupy_tests", ("cuda_tests",)),
        Suite("cuda_tests", "cupy", "14.2.0", "cupy_tests/cuda_tests"),
        Suite("scipy_tests", "cupy", "14.2.0", "cupyx_tests/scipy_tests"),
    )
}


def fetch(suite: Suite) -> Path:
    """Return the folder `tests` of a suite's distribution, downloaded once into the user's cache.

    Only the tests are unpacked: the package itself must not be importable beside ours.
    """
    cache = Path(platformdirs.user_cache_dir("cupool")) / "conformance"
    home = cache / f"{suite.package}-{suite.version}"
    if (home / "complete").is_file():
        return home / "tests"
    cache.mkdir(parents=True, exist_ok=True)
    archive = cache / f"{suite.package}-{suite.version}.tar.gz"
    if not archive.is_file():
        _download(suite, cache)
    prefix = f"{suite.package}-{suite.version}/"
    with tarfile.open(archive) as opened:
        wanted = [
            member
            for member in opened.getmembers()
            if member.name.startswith(f"{prefix}tests/")
            or member.name in (f"{prefix}pyproject.toml", f"{prefix}setup.cfg")
        ]
        opened.extractall(cache, wanted, filter="data")
    (home / "complete").touch()
    return home / "tests"


def _download(suite: Suite, cache: Path) -> None:
    command = [sys.executable, "-m", "pip", "download", f"{suite.package}=={suite.version}"]
    command += ["--no-deps", "--no-binary", suite.package, "--quiet", "--dest", str(cache)]
    # CuPy's build looks for CUDA, even to tell its version, unless it builds for its documents.
    subprocess.run(command, check=True, env={**os.environ, "READTHEDOCS": "True"})

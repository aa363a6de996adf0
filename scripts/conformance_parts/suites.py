"""The suites: where they come from, and in which pieces they run.

Four folders of CuPy's tests are in no suite: examples and types need files that its distribution
lacks, `install_tests` is about building CuPy, and `import_tests` is a script without tests.
"""

from __future__ import annotations

import os
import sys
import tarfile
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from conformance_parts.downstream import DOWNSTREAM, Downstream
from conformance_parts.places import EXPECTED, ROOT, Place, cache, pip

__all__ = ["CORE", "EXPECTED", "ROOT", "SUITES", "Suite", "Upstream"]

CORE = (
    "core creation fft indexing linalg logic manipulation math random sorting statistics"
).split()


@dataclass(frozen=True)
class Upstream:
    """Tests of CuPy itself.

    Attributes:
        name: on the command line and of the files of expected failures.
        package, version: the source distribution that holds them.
        folder: where the tests are, below the distribution's `tests`.
        left_out: folders and files that are not run.
        gpus: of each process; with several, the tests that ask for several are run, and no others.
    """

    name: str
    package: str
    version: str
    folder: str
    left_out: tuple[str, ...] = ()
    gpus: int = 1

    @property
    def sampled(self) -> bool:
        """Whether a sample of it is run unless all is asked for."""
        return self.gpus == 1

    def place(self) -> Place:
        """Return where it runs, downloaded if need be."""
        marked = "not slow and not multi_gpu" if self.gpus == 1 else "not slow and multi_gpu"
        options = ("--continue-on-collection-errors", "-m", marked)
        environment = {"CUPY_SEED": "0", "CUPY_TEST_GPU_LIMIT": str(self.gpus)}
        if self.gpus > 1:
            environment["CUPOOL_MOCK"] = str(self.gpus)
        environment["CUPOOL_CONFORMANCE_PRIVATE"] = "1"
        return Place(_fetch(self), sys.executable, environment, options)

    def units(self, tests: Path) -> list[str]:
        """Return what runs as one pytest process each: folders, and files beside them.

        The pieces are fixed, so that sampling picks the same tests whatever else is run.
        """
        if self.gpus > 1:
            files = [p for name in _MARKED for p in sorted((tests / name).rglob("test_*.py"))]
            marked = [p for p in files if "multi_gpu(" in p.read_text(encoding="utf-8")]
            return [p.relative_to(tests).as_posix() for p in marked if p.name not in self.left_out]
        here = tests / self.folder
        folders = [p for p in sorted(here.iterdir()) if any(p.rglob("test_*.py"))]
        files = sorted(here.glob("test_*.py"))
        found = [p.relative_to(tests).as_posix() for p in [*folders, *files]]
        return [unit for unit in found if Path(unit).name not in self.left_out]


_MARKED = ("cupy_tests", "cupyx_tests")
"""Folders with tests for several GPUs."""

Suite: TypeAlias = Upstream | Downstream

SUITES: dict[str, Suite] = {
    suite.name: suite
    for suite in (
        Upstream("cupy_tests", "cupy", "14.2.0", "cupy_tests", ("cuda_tests",)),
        Upstream("cuda_tests", "cupy", "14.2.0", "cupy_tests/cuda_tests"),
        Upstream("scipy_tests", "cupy", "14.2.0", "cupyx_tests/scipy_tests"),
        Upstream("cupyx_tests", "cupy", "14.2.0", "cupyx_tests", ("scipy_tests",)),
        # test_comm.py is left out: all its groups meet at one fixed port, a process for each type.
        Upstream("multi_gpu", "cupy", "14.2.0", "", ("test_comm.py",), gpus=4),
        *DOWNSTREAM,
    )
}


def _fetch(suite: Upstream) -> Path:
    """Return the folder `tests` of a suite's distribution, downloaded once into the user's cache.

    Only the tests are unpacked: the package itself must not be importable beside ours.
    """
    into = cache()
    home = into / f"{suite.package}-{suite.version}"
    if (home / "complete").is_file():
        return home / "tests"
    archive = into / f"{suite.package}-{suite.version}.tar.gz"
    if not archive.is_file():
        _download(suite, into)
    prefix = f"{suite.package}-{suite.version}/"
    with tarfile.open(archive) as opened:
        wanted = [
            member
            for member in opened.getmembers()
            if member.name.startswith(f"{prefix}tests/")
            or member.name in (f"{prefix}pyproject.toml", f"{prefix}setup.cfg")
        ]
        opened.extractall(into, wanted, filter="data")
    (home / "complete").touch()
    return home / "tests"


def _download(suite: Upstream, into: Path) -> None:
    arguments = ["download", f"{suite.package}=={suite.version}"]
    arguments += ["--no-deps", "--no-binary", suite.package, "--dest", str(into)]
    # CuPy's build looks for CUDA, even to tell its version, unless it builds for its documents.
    pip(sys.executable, arguments, {**os.environ, "READTHEDOCS": "True"})

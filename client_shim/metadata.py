"""What `importlib.metadata` is told about CuPy: that it is installed, in our version of it."""

from __future__ import annotations

from importlib.metadata import Distribution
from os import PathLike
from pathlib import Path

from cupool.client_shim.hook import MIMICKED_VERSION


class CupyDistribution(Distribution):
    """The distribution "cupy"; it has no files of its own."""

    def read_text(self, filename: str) -> str | None:
        if filename != "METADATA":
            return None
        return (
            "Metadata-Version: 2.1\n"
            "Name: cupy\n"
            f"Version: {MIMICKED_VERSION}\n"
            "Summary: NumPy & SciPy for GPU (answered by cupool)\n"
        )

    def locate_file(self, path: str | PathLike[str]) -> Path:
        return Path(__file__).parent / path

"""`connected_components`."""

from __future__ import annotations

from typing import Any

__all__ = ["connected_components"]

pylibcugraph_available = False
"""CuPy does this by a library that is found where the script runs; there is no GPU there."""


def connected_components(
    csgraph: Any, directed: bool = True, connection: str = "weak", return_labels: bool = True
) -> Any:
    """Label connected components; needs pylibcugraph, as in CuPy.

    Raises:
        RuntimeError: always: the library is not there.
    """
    raise RuntimeError("pylibcugraph is not available")

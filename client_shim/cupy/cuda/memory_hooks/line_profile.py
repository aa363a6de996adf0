"""`LineProfileHook`: how much memory each line of a program allocates."""

from __future__ import annotations

import sys
import traceback
from typing import Any

from cupool.client_shim.cupy.cuda.memory_hook import MemoryHook

_OURS = ("cupool/client_shim/", "/client_shim/cupy/")


class _Frame:
    """A line of the program in the tree of calls."""

    def __init__(self, summary: traceback.FrameSummary | None = None) -> None:
        self.summary = summary
        self.children: dict[tuple[str, int | None, str], _Frame] = {}
        self.used_bytes = 0
        self.acquired_bytes = 0

    def child(self, summary: traceback.FrameSummary) -> _Frame:
        key = (summary.filename, summary.lineno, summary.name)
        return self.children.setdefault(key, _Frame(summary))

    @property
    def label(self) -> str:
        line = self.summary
        return "_root" if line is None else f"{line.filename}:{line.lineno}:{line.name}"


class LineProfileHook(MemoryHook):
    """Notes what is allocated within it, by lines.

    Args:
        max_depth: of the calls that are told apart; 0 = all.
    """

    __module__ = "cupy.cuda.memory_hooks"
    name = "LineProfileHook"

    def __init__(self, max_depth: int = 0) -> None:
        self._root = _Frame()
        self._max_depth = max_depth

    def malloc_preprocess(self, **kwargs: Any) -> None:
        """Count bytes that a line is given by a pool."""
        self._add(kwargs["mem_size"], 0)

    def alloc_preprocess(self, **kwargs: Any) -> None:
        """Count bytes for which a pool goes to the device."""
        self._add(0, kwargs["mem_size"])

    def _add(self, used_bytes: int, acquired_bytes: int) -> None:
        lines = [f for f in traceback.extract_stack() if not any(o in f.filename for o in _OURS)]
        frames = [self._root]
        for line in lines[: self._max_depth - 1 if self._max_depth else None]:
            frames.append(frames[-1].child(line))
        for frame in frames:
            frame.used_bytes += used_bytes
            frame.acquired_bytes += acquired_bytes

    def print_report(self, file: Any = None) -> None:
        """Print lines, indented as they call each other: (bytes given, bytes from the device)."""
        out = sys.stdout if file is None else file
        _print(self._root, 0, out)
        out.flush()


def _print(frame: _Frame, depth: int, out: Any) -> None:
    sizes = f"{_size(frame.used_bytes)}, {_size(frame.acquired_bytes)}"
    out.write(f"{'  ' * depth}{frame.label} ({sizes})\n")
    for child in frame.children.values():
        _print(child, depth + 1, out)


def _size(size_bytes: float) -> str:
    for unit in ("B", "KB", "MB", "GB"):
        if size_bytes < 1024:
            return f"{size_bytes:.2f}{unit}"
        size_bytes /= 1024
    return f"{size_bytes:.2f}TB"

"""Which addresses of the host are memory of the mock GPU."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np


class AllocationTable:
    """Live allocations, sorted by address, as checks of kernels read them.

    Args:
        spans: first address, and the one after the last; they do not overlap.
    """

    def __init__(self, spans: Iterable[tuple[int, int]] = ()) -> None:
        found = sorted(span for span in spans if span[1] > span[0])
        self.array: np.ndarray[Any, np.dtype[np.uint64]] = np.array(found, np.uint64).reshape(-1, 2)

    @classmethod
    def of_arrays(cls, arrays: Iterable[np.ndarray[Any, Any]]) -> AllocationTable:
        """Make a table of arrays that own their memory."""
        return cls((a.ctypes.data, a.ctypes.data + a.nbytes) for a in arrays)

    def __len__(self) -> int:
        return len(self.array)

    def joined(self, spans: Iterable[tuple[int, int]]) -> AllocationTable:
        """Return a table with more spans."""
        more = list(spans)
        if not more:
            return self
        result = AllocationTable()
        array = np.concatenate([self.array, np.array(more, np.uint64).reshape(-1, 2)])
        result.array = np.ascontiguousarray(array[np.argsort(array[:, 0])])
        return result

    def nearest(self, address: int) -> tuple[int, int] | None:
        """Return the allocation whose edge is nearest to an address, or None if there is none."""
        best: tuple[int, tuple[int, int]] | None = None
        for low, high in self.array.tolist():
            distance = max(low - address, address - high + 1, 0)
            if best is None or distance < best[0]:
                best = distance, (low, high)
        return best[1] if best else None

"""`ndarray.flat`."""

from __future__ import annotations

from typing import Any

import numpy as np

from cupool.client_shim.cupy._core import core, views
from cupool.client_shim.cupy._core.routines_indexing import take
from cupool.client_shim.cupy._creation.ranges import arange
from cupool.client_shim.cupy._indexing.insert import write_flat

__all__ = ["flatiter"]
ndarray = core.ndarray


class flatiter:
    """The elements of an array in C order: for iteration, ints and slices.

    Args:
        a: a device array.

    Raises:
        IndexError: another kind of index.
    """

    def __init__(self, a: ndarray) -> None:
        self._base = a
        self._index = 0

    @property
    def base(self) -> ndarray:
        """The array that is iterated over."""
        return self._base

    def copy(self) -> ndarray:
        """Return the elements as a new vector."""
        made: ndarray = self._base.flatten()
        return made

    def _element(self, index: Any) -> ndarray:
        """Return a 0-d view of one element.

        Raises:
            IndexError: out of range.
        """
        base = self._base
        position = int(index)
        if not -base.size <= position < base.size:
            raise IndexError(f"Index {position} is out of bounds for size {base.size}")
        key = np.unravel_index(position % base.size, base.shape) if base.ndim else ()
        return views.basic_index(base, tuple(int(i) for i in key))

    def __getitem__(self, ind: Any) -> Any:
        if ind is Ellipsis:
            ind = slice(None)
        if np.isscalar(ind) and not isinstance(ind, bool):
            return views.copy(self._element(ind))
        if not isinstance(ind, slice):
            raise IndexError("unsupported iterator index")
        base = self._base
        flat = views.reshape_view(base, (base.size,))
        if flat is not None:
            return views.copy(core.view_of(flat, flat._shadow[ind]))
        return take(base, arange(*ind.indices(base.size)))

    def __setitem__(self, ind: Any, value: Any) -> None:
        if ind is Ellipsis:
            ind = slice(None)
        if np.isscalar(ind) and not isinstance(ind, bool):
            self._element(ind)[...] = value
            return
        if not isinstance(ind, slice):
            raise IndexError("unsupported iterator index")
        write_flat(self._base, ind, value)

    def __iter__(self) -> flatiter:
        return self

    def __next__(self) -> Any:
        if self._index == len(self):
            raise StopIteration
        self._index += 1
        return self[self._index - 1]

    def __len__(self) -> int:
        return self._base.size

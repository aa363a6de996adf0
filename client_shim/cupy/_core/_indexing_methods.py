"""`a[key]`, `a[key] = value` and iteration: part of `cupy.ndarray`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

_BASIC = (int, np.integer, slice, type(None), type(Ellipsis))


def _is_basic(item: Any) -> bool:
    return isinstance(item, _BASIC) and not isinstance(item, (bool, np.bool_))


def _names_fields(key: Any) -> bool:
    """Whether a key is the name of a field, or a list of names."""
    if isinstance(key, list):
        return bool(key) and all(isinstance(k, str) for k in key)
    return isinstance(key, str)


class Indexing:
    """Indexing of `cupy.ndarray` (https://docs.cupy.dev/en/stable/user_guide/difference.html)."""

    __slots__ = ()
    ndim: Any

    def __getitem__(self, key: Any) -> Any:
        from cupool.client_shim.cupy._core import routines_indexing, views

        items = key if type(key) is tuple else (key,)
        if self._shadow.dtype.names is not None and _names_fields(key):  # type: ignore[attr-defined]
            return views.field(self, key)  # type: ignore[arg-type]
        if all(_is_basic(item) for item in items):
            return views.basic_index(self, items)  # type: ignore[arg-type]
        return routines_indexing.getitem(self, items)  # type: ignore[arg-type]

    def __setitem__(self, key: Any, value: Any) -> None:
        from cupool.client_shim.cupy._core import routines_indexing, views

        items = key if type(key) is tuple else (key,)
        if self._shadow.dtype.names is not None and _names_fields(key):  # type: ignore[attr-defined]
            routines_indexing.assign(views.field(self, key), value)  # type: ignore[arg-type]
            return
        if all(_is_basic(item) for item in items):
            target = views.basic_index(self, items)  # type: ignore[arg-type]
            routines_indexing.assign(target, value)
            return
        routines_indexing.setitem(self, items, value)  # type: ignore[arg-type]

    def __delitem__(self, key: Any) -> None:
        raise TypeError("'cupy.ndarray' object doesn't support item deletion")

    def __iter__(self) -> Iterator[Any]:
        if self.ndim == 0:
            raise TypeError("iteration over a 0-d array")
        return (self[i] for i in range(len(self)))  # type: ignore[arg-type]

    def __contains__(self, item: Any) -> bool:
        return bool((self == item).any())

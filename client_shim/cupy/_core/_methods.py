"""Methods of `cupy.ndarray` that are functions of the package with the array first."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from cupool.client_shim.cupy import _functions as f


def _limits(dtype: Any) -> tuple[Any, Any]:
    """Return the least and the greatest value of a dtype."""
    if dtype.kind == "f":
        return dtype.type("-inf"), dtype.type("inf")
    info = np.iinfo(dtype)
    return int(info.min), int(info.max)


def _old_scatter(old: str, new: str) -> None:
    warnings.warn(
        f"`ndarray.{old}` is deprecated. Please use `cupy.{new}.at` instead.",
        DeprecationWarning,
        stacklevel=3,
    )


class Methods:
    """Part of `cupy.ndarray`."""

    __slots__ = ()

    # ---------------------------------------------------------------- views and copies

    @property
    def T(self) -> Any:
        """The array with its axes reversed; with fewer than two, the array itself."""
        if self.ndim < 2:  # type: ignore[attr-defined]
            return self
        return f.views().transpose(self)

    @property
    def mT(self) -> Any:
        """The array with its last two axes exchanged."""
        if self.ndim < 2:  # type: ignore[attr-defined]
            raise ValueError("matrix transpose with ndim < 2 is undefined")
        return f.views().swapaxes(self, -1, -2)

    @property
    def real(self) -> Any:
        """The real part; assignable."""
        return f.views().real(self)

    @real.setter
    def real(self, value: Any) -> None:
        self.real[...] = value

    @property
    def imag(self) -> Any:
        """The imaginary part; assignable if the array is complex."""
        return f.views().imag(self)

    @imag.setter
    def imag(self, value: Any) -> None:
        if self.dtype.kind != "c":  # type: ignore[attr-defined]
            raise TypeError("cupy.ndarray does not have imaginary part to set")
        self.imag[...] = value

    @property
    def flat(self) -> Any:
        """A flat iterator over the elements."""
        return f.cupy().flatiter(self)

    def reshape(self, *shape: Any, order: str = "C", copy: Any = None) -> Any:
        """Return the elements in another shape.

        Args:
            copy: None for a view where possible, True for a copy, False to refuse one.

        Raises:
            ValueError: another number of elements; a copy is needed and refused.
        """
        if isinstance(copy, str):
            raise ValueError(
                "strings are not allowed for 'copy' keyword. Use True/False/None instead."
            )
        if len(shape) == 1 and isinstance(shape[0], (tuple, list, np.ndarray)):
            shape = tuple(shape[0])
        views = f.views()
        if copy is False or (copy is not None and not copy):
            char = f.core().order_char(order, allowed="CFA")
            if char == "A":
                char = "F" if self.flags.fnc else "C"  # type: ignore[attr-defined]
            made = views.reshape_view(self, shape, char)
            if made is None:
                raise ValueError("Unable to avoid creating a copy while reshaping.")
            return made
        made = views.reshape(self, shape, order)
        shares = made._owner is not None and copy
        return views.copy(made) if shares else made

    def ravel(self, order: str = "C") -> Any:
        return f.views().ravel(self, order)

    def flatten(self, order: str = "C") -> Any:
        char = f.core().order_char(order, allowed="CFAK")
        if char == "A":
            char = "F" if self.flags.fnc else "C"  # type: ignore[attr-defined]
        return f.views().ravel(f.views().copy(self, char), char)

    def transpose(self, *axes: Any) -> Any:
        if not axes or axes == (None,):
            return f.views().transpose(self)
        return f.views().transpose(self, axes)

    def swapaxes(self, axis1: int, axis2: int) -> Any:
        return f.views().swapaxes(self, axis1, axis2)

    def squeeze(self, axis: Any = None) -> Any:
        return f.views().squeeze(self, axis)

    def diagonal(self, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Any:
        return f.views().diagonal(self, offset, axis1, axis2)

    def view(self, dtype: Any = None, type: Any = None) -> Any:
        """Return the same memory with another dtype, or as another subclass.

        Raises:
            ValueError: the last axis does not fit the other element size; not a subclass.
        """
        return f.views().view(self, dtype, type)

    def reduced_view(self, dtype: Any = None) -> Any:
        return f.views().view(self, dtype)

    def copy(self, order: str = "C") -> Any:
        return f.views().copy(self, f.core().order_char(order, allowed="CFAK"))

    def astype(
        self,
        dtype: Any,
        order: str = "K",
        casting: Any = None,
        subok: Any = None,
        copy: bool = True,
    ) -> Any:
        """Return the array converted; itself if nothing changes and `copy` is false."""
        if casting is not None:
            raise TypeError("casting is not supported yet")
        if subok is not None:
            raise TypeError("subok is not supported yet")
        dtype = f.get_dtype(dtype)
        char = f.core().order_char(order or "K", allowed="CFAK")
        own = self.dtype  # type: ignore[attr-defined]
        flags = self.flags  # type: ignore[attr-defined]
        fits = char in "KA" or (flags.c_contiguous if char == "C" else flags.f_contiguous)
        if not copy and own == dtype and fits:
            return self
        if own.kind == "c" and dtype.kind not in "cb":
            f.warn_complex()
        return f.views().astype(self, dtype, char)

    def byteswap(self, inplace: bool = False) -> Any:
        result = f.calls().call_one("byteswap", (self,), None, self.shape, self.dtype)  # type: ignore[attr-defined]
        if inplace:
            self[...] = result  # type: ignore[index]
            return self
        return result

    def fill(self, value: Any) -> None:
        """Set every element to a scalar or 0-d array."""
        f.indexing().fill(self, value)

    # ---------------------------------------------------------------- indexing

    def take(self, indices: Any, axis: Any = None, out: Any = None) -> Any:
        return f.indexing().take(self, indices, axis, out)

    def put(self, indices: Any, values: Any, mode: str = "wrap") -> None:
        f.cupy().put(self, indices, values, mode)

    def choose(self, choices: Any, out: Any = None, mode: str = "raise") -> Any:
        return f.cupy().choose(self, choices, out, mode)

    def compress(self, condition: Any, axis: Any = None, out: Any = None) -> Any:
        return f.cupy().compress(condition, self, axis, out)

    def repeat(self, repeats: Any, axis: Any = None) -> Any:
        return f.cupy().repeat(self, repeats, axis)

    def nonzero(self) -> Any:
        return f.cupy().nonzero(self)

    def scatter_add(self, slices: Any, value: Any) -> None:
        """Old name of `cupy.add.at`."""
        _old_scatter("scatter_add", "add")
        f.indexing().scatter_add(self, slices, value)

    def scatter_max(self, slices: Any, value: Any) -> None:
        """Old name of `cupy.maximum.at`."""
        _old_scatter("scatter_max", "maximum")
        f.indexing().scatter_max(self, slices, value)

    def scatter_min(self, slices: Any, value: Any) -> None:
        """Old name of `cupy.minimum.at`."""
        _old_scatter("scatter_min", "minimum")
        f.indexing().scatter_min(self, slices, value)

    # ---------------------------------------------------------------- reductions and scans

    def sum(
        self, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: bool = False
    ) -> Any:
        return f.reduce("sum", self, axis, dtype, out, keepdims)

    def prod(
        self, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: Any = None
    ) -> Any:
        return f.reduce("prod", self, axis, dtype, out, bool(keepdims))

    def mean(
        self, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: bool = False
    ) -> Any:
        return f.reduce("mean", self, axis, dtype, out, keepdims)

    def var(
        self,
        axis: Any = None,
        dtype: Any = None,
        out: Any = None,
        ddof: int = 0,
        keepdims: bool = False,
    ) -> Any:
        return f.reduce("var", self, axis, dtype, out, keepdims, ddof=ddof)

    def std(
        self,
        axis: Any = None,
        dtype: Any = None,
        out: Any = None,
        ddof: int = 0,
        keepdims: bool = False,
    ) -> Any:
        return f.reduce("std", self, axis, dtype, out, keepdims, ddof=ddof)

    def max(self, axis: Any = None, out: Any = None, keepdims: bool = False) -> Any:
        return f.reduce("max", self, axis, None, out, keepdims)

    def min(self, axis: Any = None, out: Any = None, keepdims: bool = False) -> Any:
        return f.reduce("min", self, axis, None, out, keepdims)

    def ptp(self, axis: Any = None, out: Any = None, keepdims: bool = False) -> Any:
        result = f.reduce("max", self, axis, None, out, keepdims)
        result -= f.reduce("min", self, axis, None, None, keepdims)
        return result

    def all(self, axis: Any = None, out: Any = None, keepdims: bool = False) -> Any:
        return f.reduce("all", self, axis, None, out, keepdims)

    def any(self, axis: Any = None, out: Any = None, keepdims: bool = False) -> Any:
        return f.reduce("any", self, axis, None, out, keepdims)

    def argmax(
        self, axis: Any = None, out: Any = None, dtype: Any = None, keepdims: bool = False
    ) -> Any:
        return f.cupy().argmax(self, axis, dtype, out, keepdims)

    def argmin(
        self, axis: Any = None, out: Any = None, dtype: Any = None, keepdims: bool = False
    ) -> Any:
        return f.cupy().argmin(self, axis, dtype, out, keepdims)

    def cumsum(self, axis: Any = None, dtype: Any = None, out: Any = None) -> Any:
        return f.scan("cumsum", self, axis, dtype, out)

    def cumprod(self, axis: Any = None, dtype: Any = None, out: Any = None) -> Any:
        return f.scan("cumprod", self, axis, dtype, out)

    def trace(
        self, offset: int = 0, axis1: int = 0, axis2: int = 1, dtype: Any = None, out: Any = None
    ) -> Any:
        return f.reduce("sum", self.diagonal(offset, axis1, axis2), -1, dtype, out)

    # ---------------------------------------------------------------- the rest

    def conj(self) -> Any:
        return f.ufuncs().conjugate(self) if self.dtype.kind == "c" else self  # type: ignore[attr-defined]

    conjugate = conj

    def clip(self, min: Any = None, max: Any = None, out: Any = None) -> Any:
        kind = self.dtype.kind  # type: ignore[attr-defined]
        if min is None:
            min = _limits(self.dtype)[0] if kind in "iuf" else None  # type: ignore[attr-defined]
        if max is None:
            max = _limits(self.dtype)[1] if kind in "iuf" else None  # type: ignore[attr-defined]
        return f.ufuncs()._clip_ufunc(self, min, max, out=out)

    def round(self, decimals: int = 0, out: Any = None) -> Any:
        return f.rounding()(self, decimals, out)

    def dot(self, b: Any, out: Any = None) -> Any:
        return f.cupy().dot(self, b, out)

    def sort(self, axis: int = -1, kind: Any = None) -> None:
        f.sorting().sort_in_place(self, axis, kind)

    def argsort(self, axis: int = -1, kind: Any = None) -> Any:
        return f.cupy().argsort(self, axis, kind=kind)

    def partition(self, kth: Any, axis: int = -1) -> None:
        f.sorting().partition_in_place(self, kth, axis)

    def argpartition(self, kth: Any, axis: int = -1) -> Any:
        return f.cupy().argpartition(self, kth, axis)

    def searchsorted(self, v: Any, side: str = "left", sorter: Any = None) -> Any:
        return f.cupy().searchsorted(self, v, side, sorter)

"""Every view-maker: NumPy computes the view on the shadow, no message is sent.

A shadow must never be read: nothing here may let NumPy copy.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from cupool.client_shim import session as _session
from cupool.client_shim import shadow as _shadow
from cupool.client_shim.cupy._core import calls, core
from cupool.client_shim.cupy._core._dtype import get_dtype
from cupool.client_shim.cupy._core.foreign import from_cupy_like

ndarray = core.ndarray
MAX_DIMENSIONS = 64


def require(a: Any) -> ndarray:
    """Return `a` if it is a device array.

    Raises:
        TypeError: it is not; NumPy arrays are never converted silently.
    """
    if isinstance(a, ndarray):
        return a
    found = from_cupy_like(a)
    if found is not None:
        return found
    raise TypeError(f"Argument 'a' has incorrect type (expected cupy.ndarray, got {type(a)})")


def infer_shape(size: int, shape: Any) -> tuple[int, ...]:
    """Return the target shape of a reshape with a -1 filled in.

    Raises:
        ValueError: more than one -1, or the sizes differ.
    """
    lengths = (int(shape),) if np.ndim(shape) == 0 else tuple(int(n) for n in shape)
    if len(lengths) > MAX_DIMENSIONS:
        raise ValueError(
            f"maximum supported dimension for an ndarray is {MAX_DIMENSIONS}, found {len(lengths)}"
        )
    unknown = [i for i, n in enumerate(lengths) if n < 0]
    if len(unknown) > 1:
        raise ValueError("can only specify one unknown dimension")
    if unknown:
        known = prod(n for n in lengths if n >= 0)
        if known == 0 or size % known:
            raise ValueError(f"cannot reshape array of size {size} into shape {lengths}")
        lengths = tuple(size // known if n < 0 else n for n in lengths)
    if prod(lengths) != size:
        raise ValueError(f"cannot reshape array of size {size} into shape {lengths}")
    return lengths


def reshape_view(a: ndarray, shape: Any, order: str = "C") -> ndarray | None:
    """Return `a` in another shape over the same memory, or None if that takes a copy."""
    lengths = infer_shape(a.size, shape)
    try:
        return core.view_of(a, np.reshape(a._shadow, lengths, order=order, copy=False))  # type: ignore[call-overload]
    except ValueError:
        return None


def reshape(a: ndarray, shape: Any, order: str | None = "C", copied: Any = None) -> ndarray:
    """Return `a` in another shape: a view where possible, else a copy.

    Args:
        copied: True copies in any case, False raises ValueError where a copy is needed.
    """
    if isinstance(copied, str):
        raise ValueError("strings are not allowed for 'copy' keyword. Use True/False/None instead.")
    char = core.order_char(order, allowed="CFAK")
    if char == "K":
        raise ValueError("order 'K' is not permitted for reshaping")
    if char == "A":
        flags = a._shadow.flags
        char = "F" if flags.f_contiguous and not flags.c_contiguous else "C"
    view = reshape_view(a, shape, char)
    if view is None and copied is False:
        raise ValueError("Unable to avoid creating a copy while reshaping.")
    if view is not None and copied:
        return copy(view, char)
    if view is None:
        view = reshape_view(copy(a, char), shape, char)
        assert view is not None
    return view


def copy(a: ndarray, order: str = "C") -> ndarray:
    """Return a copy on the current device, in "C", "F", "A" or "K" layout.

    Raises:
        NotImplementedError: "K" of an array of another device that is not contiguous.
    """
    if core.session_of(a).ordinal != _session.current.device:
        return _copy_of_other_device(a, order)
    return astype(a, a.dtype, order)


def on_current_device(a: ndarray) -> ndarray:
    """Return `a`, or its copy on the current device if it is on another."""
    return a if core.session_of(a).ordinal == _session.current.device else core.brought(a)


def _copy_of_other_device(a: ndarray, order: str) -> ndarray:
    if order == "K" and not a._shadow.flags.forc:
        raise NotImplementedError("CuPy cannot copy non-contiguous array between devices.")
    made = core.brought(a)
    flags = made._shadow.flags
    fits = {"C": flags.c_contiguous, "F": flags.f_contiguous}.get(order, True)
    return made if fits else astype(made, made.dtype, order)


def astype(a: ndarray, dtype: np.dtype[Any], order: str = "K") -> ndarray:
    """Return a converted copy; the conversion is unsafe, layout as `order` says."""
    shadow = a._shadow
    layout: Any = order
    if order == "A":
        layout = "F" if shadow.flags.f_contiguous and not shadow.flags.c_contiguous else "C"
    elif order == "K":
        layout = _shadow.keep_order_strides(shadow)
        if isinstance(layout, tuple):
            packed = np.dtype(dtype).itemsize
            layout = tuple(s // shadow.itemsize * packed for s in layout)
    sent = layout if isinstance(layout, str) else "K"
    return calls.call_one("astype", (a, dtype, sent), None, a.shape, dtype, layout)


def ravel(a: ndarray, order: str | None = "C") -> ndarray:
    """Return `a` with one axis: a view where possible, else a copy."""
    char = core.order_char(order, allowed="CFAK")
    if char == "K":
        a, char = core.view_of(a, a._shadow.transpose(_memory_axes(a.strides))), "C"
    flat = reshape(a, (a.size,), char)
    return flat if flat._shadow.flags.c_contiguous else copy(flat)


def _memory_axes(strides: Sequence[int]) -> list[int]:
    """Return the axes from the slowest to the fastest, as NumPy's iterator orders them.

    Axes of stride 0 stay where they are relative to the others.
    """
    axes: list[int] = []
    for new in reversed(range(len(strides))):
        place = 0
        if strides[new]:
            for position, old in enumerate(axes):
                if not strides[old]:
                    continue
                if abs(strides[old]) <= abs(strides[new]):
                    break
                place = position + 1
        axes.insert(place, new)
    return axes


def transpose(a: ndarray, axes: Any = None) -> ndarray:
    """Return `a` with its axes permuted."""
    if axes is None:
        return core.view_of(a, a._shadow.T)
    if len(axes) == 1 and np.ndim(axes[0]) > 0:
        axes = axes[0]
    return core.view_of(a, np.transpose(a._shadow, tuple(int(x) for x in axes)))


def swapaxes(a: ndarray, axis1: int, axis2: int) -> ndarray:
    """Return `a` with two axes exchanged."""
    return core.view_of(a, a._shadow.swapaxes(axis1, axis2))


def squeeze(a: ndarray, axis: Any = None) -> ndarray:
    """Return `a` without axes of length one."""
    return core.view_of(a, np.squeeze(a._shadow, axis))


def diagonal(a: ndarray, offset: int = 0, axis1: int = 0, axis2: int = 1) -> ndarray:
    """Return the diagonal as a writable view."""
    shadow = a._shadow
    view = np.diagonal(shadow, offset, axis1, axis2)
    return core.view_of(a, _shadow.at(view.shape, view.dtype, _start(view), view.strides))


def _start(view: _shadow.Shadow) -> int:
    return _shadow.offset_bytes(view) if view.size else 0


def broadcast_to(a: ndarray, shape: Sequence[int]) -> ndarray:
    """Return `a` stretched to a shape, without copying."""
    if a.shape == tuple(shape):
        return a
    return core.view_of(a, np.broadcast_to(a._shadow, shape))


def as_strided(a: ndarray, shape: Sequence[int], strides: Sequence[int]) -> ndarray:
    """Return a view of `a`'s memory with any shape and strides; the device checks the bounds."""
    lengths, steps = tuple(int(n) for n in shape), tuple(int(s) for s in strides)
    return core.view_of(a, _shadow.at(lengths, a.dtype, _start(a._shadow), steps))


def basic_index(a: ndarray, key: tuple[Any, ...]) -> ndarray:
    """Return `a[key]` for ints, slices, None, Ellipsis; a 0-d view where NumPy gives a scalar."""
    if Ellipsis not in key:
        key = (*key, Ellipsis)
    return core.view_of(a, a._shadow[key])


def field(a: ndarray, key: Any) -> ndarray:
    """Return a view of one field of a structured array, or of several by a list of names.

    Raises:
        KeyError, ValueError: no such field.
        ValueError: a field that is itself an array, or whose elements the GPU could not read.
    """
    names = key if isinstance(key, list) else [key]
    fields: Any = a.dtype.fields or {}
    if any(name in fields and fields[name][0].subdtype is not None for name in names):
        raise ValueError(
            "CuPy does not yet support accessing nested subarrays, which would change the shape"
        )
    shadow = a._shadow[key]
    if isinstance(key, str) and shadow.size:
        alignment = shadow.dtype.alignment
        places = (_shadow.offset_bytes(shadow), *(s for s in shadow.strides))
        if any(place % alignment for place in places):
            raise ValueError(
                f"field {key!r}: the result array with dtype {shadow.dtype} is not sufficiently"
                " aligned for GPU access; see cupy.make_aligned_dtype"
            )
    return core.view_of(a, shadow)


def view(a: ndarray, dtype: Any = None, cls: type[ndarray] | None = None) -> ndarray:
    """Return a view with another dtype or class."""
    if isinstance(dtype, type) and issubclass(dtype, ndarray):
        if cls is not None:
            raise ValueError("Cannot specify output type twice.")
        dtype, cls = None, dtype
    if cls is not None and not (isinstance(cls, type) and issubclass(cls, ndarray)):
        raise ValueError("Type must be a sub-type of ndarray type")
    shadow = a._shadow if dtype is None else a._shadow.view(get_dtype(dtype))
    return core.view_of(a, shadow, cls)


def real(a: ndarray) -> ndarray:
    """Return the real part, a view; the array itself if it is not complex."""
    return core.view_of(a, a._shadow.real) if a.dtype.kind == "c" else a


def imag(a: ndarray) -> ndarray:
    """Return the imaginary part, a view; new zeros if the array is not complex."""
    if a.dtype.kind == "c":
        return core.view_of(a, a._shadow.imag)
    made = ndarray(a.shape, a.dtype)
    calls.call_into("fill", (made, 0))
    return made

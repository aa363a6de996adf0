"""`cupy.ndarray`: a shadow (shape, dtype, strides) and a handle; the data is on the device.

Views are made here by NumPy on the shadow, without a message; the device hears of a view
(`view` record) when it is first used.
"""

from __future__ import annotations

import operator
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from math import prod
from types import GenericAlias
from typing import Any

import numpy as np

from cupool.client_shim import exchange
from cupool.client_shim import session as _session
from cupool.client_shim import shadow as _shadow
from cupool.client_shim.cupy._core import _conversions, _indexing_methods, _methods, _operators
from cupool.client_shim.cupy._core._dtype import get_dtype
from cupool.client_shim.cupy._core.flags import Flags
from cupool.client_shim.handles import Handle
from cupool.client_shim.placement import emit_at

_materialize_lock = threading.RLock()


class ndarray(
    _operators.Operators,
    _methods.Methods,
    _indexing_methods.Indexing,
    _conversions.Conversions,
):
    """An N-dimensional array on a device of the pool.

    Args:
        shape: lengths of the axes.
        dtype: element type; float64 by default.
        memptr: memory to use instead of new memory (`MemoryPointer` of another array).
        strides: bytes between elements of each axis, with `memptr`.
        order: "C" or "F" layout of new memory.

    See https://docs.cupy.dev/en/stable/reference/generated/cupy.ndarray.html
    """

    __slots__ = ("__weakref__", "_handle", "_owner", "_shadow")
    __module__ = "cupy"
    __array_priority__ = 100

    _shadow: _shadow.Shadow
    _handle: Handle | None
    _owner: ndarray | None

    def __new__(
        cls,
        shape: Any,
        dtype: Any = float,
        memptr: Any = None,
        strides: Any = None,
        order: str | None = "C",
    ) -> ndarray:
        lengths = _lengths(shape)
        dtype = get_dtype(dtype)
        char = order_char(order)
        array: ndarray = _new(cls)
        if memptr is not None:
            array._owner = None
            array._shadow, array._handle = _at(memptr, lengths, dtype, strides, char)
        elif strides is not None and not _is_dense(lengths, dtype, strides):
            _check_strides(lengths, dtype, tuple(strides))
            array._shadow = _shadow.at(lengths, dtype, 0, tuple(strides))
            array._handle, array._owner = None, ndarray(lengths, dtype)
        else:
            layout = char if strides is None else tuple(strides)
            array._shadow = _shadow.make(lengths, dtype, layout)
            array._owner = None
            outs = ((lengths, dtype, layout),)
            array._handle = _session.session().emit("empty", (), None, outs)[0]
        if cls is not ndarray:
            array.__array_finalize__(None)
        return array

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        """Do nothing: `__new__` has; a subclass may take other arguments."""

    def __array_finalize__(self, obj: Any) -> None:
        """Hook for subclasses: called on every array that is made from another, or with None."""

    @classmethod
    def __class_getitem__(cls, item: Any) -> GenericAlias:
        shape, dtype = item
        return GenericAlias(ndarray, (shape, dtype))

    # ---------------------------------------------------------------- attributes

    @property
    def shape(self) -> tuple[int, ...]:
        """Lengths of the axes; assigning reshapes in place and never copies."""
        return self._shadow.shape  # type: ignore[no-any-return]

    @shape.setter
    def shape(self, shape: Any) -> None:
        from cupool.client_shim.cupy._core import views

        view = views.reshape_view(self, shape)
        if view is None:
            raise AttributeError("incompatible shape")
        if self._owner is None:
            self._owner = wrap(self._shadow, handle_of(self))
        self._shadow, self._handle = view._shadow, None

    @property
    def strides(self) -> tuple[int, ...]:
        """Bytes between neighbours of each axis."""
        return self._shadow.strides

    @property
    def dtype(self) -> np.dtype[Any]:
        """Element type, NumPy's own dtype object."""
        return self._shadow.dtype  # type: ignore[no-any-return]

    @property
    def ndim(self) -> int:
        """Number of axes."""
        return self._shadow.ndim

    @property
    def size(self) -> int:
        """Number of elements."""
        return self._shadow.size

    @property
    def itemsize(self) -> int:
        """Bytes of an element."""
        return self._shadow.itemsize

    @property
    def nbytes(self) -> int:
        """Bytes of all elements; strides are not looked at."""
        return self._shadow.nbytes

    @property
    def flags(self) -> Flags:
        """Layout flags: `c_contiguous`, `f_contiguous`, `owndata`."""
        flags = self._shadow.flags
        return Flags(flags.c_contiguous, flags.f_contiguous, self._owner is None)

    @property
    def base(self) -> ndarray | None:
        """The array that owns the memory, None if this one does."""
        return self._owner

    @property
    def device(self) -> Any:
        """The device on which the array lies."""
        from cupool.client_shim.cupy.cuda.device import Device

        return Device(session_of(self).ordinal)

    @property
    def data(self) -> Any:
        """Pointer to the first element, as an opaque address on the device."""
        from cupool.client_shim.cupy.cuda.memory import pointer_to

        return pointer_to(self)

    def __len__(self) -> int:
        return len(self._shadow)


def _at(
    memptr: Any, shape: tuple[int, ...], dtype: np.dtype[Any], strides: Any, order: str
) -> tuple[_shadow.Shadow, Handle]:
    """Lay an array over memory; elements before the pointer are those of negative strides."""
    if 0 in shape:
        made = _shadow.make(shape, dtype, order)
        return made, _session.session().emit_plain("empty", (), None, ((shape, dtype, order),))[0]
    if strides is None:
        made, before = _shadow.make(shape, dtype, order), 0
    else:
        steps = zip(strides, shape, strict=True)
        before = -sum(min(0, stride * (length - 1)) for stride, length in steps)
        made = _shadow.at(shape, dtype, before, tuple(strides))
    session = _session.sessions()[memptr.device_id]
    return made, emit_at(session, memptr, shape, dtype, made.strides, before)


def _is_dense(shape: tuple[int, ...], dtype: np.dtype[Any], strides: Any) -> bool:
    """Whether elements with these strides fill their memory without gaps or overlaps."""
    step = dtype.itemsize
    rows = zip(strides, shape, strict=True)
    for stride, length in sorted((s, n) for s, n in rows if n != 1):
        if stride != step:
            return False
        step *= length
    return 0 not in shape


_MAX_DIMENSIONS = 64


def _lengths(shape: Any) -> tuple[int, ...]:
    """Return a shape as a tuple of ints.

    Raises:
        TypeError: not ints.
        ValueError: negative lengths, or too many of them.
    """
    items = tuple(shape) if isinstance(shape, (tuple, list, np.ndarray)) else (shape,)
    lengths = tuple(operator.index(n) for n in items)
    if len(lengths) > _MAX_DIMENSIONS:
        raise ValueError(
            f"maximum supported dimension for an ndarray is {_MAX_DIMENSIONS}, found {len(lengths)}"
        )
    if any(n < 0 for n in lengths):
        raise ValueError("Negative dimensions are not allowed")
    return lengths


def _check_strides(shape: tuple[int, ...], dtype: np.dtype[Any], strides: tuple[int, ...]) -> None:
    """Check strides for new memory: they stay within what a contiguous array takes."""
    if any(s < 0 and n > 1 for s, n in zip(strides, shape, strict=True)):
        raise ValueError("ndarray() with strides currently does not allow negative strides")
    size_bytes = dtype.itemsize * prod(shape)
    reach = dtype.itemsize + sum((n - 1) * s for s, n in zip(strides, shape, strict=True) if n)
    if size_bytes and reach > size_bytes:
        raise ValueError(
            f"ndarray() with strides must stay withing a contiguous size of {size_bytes} but got"
            f" {reach}."
        )


def order_char(order: str | None, *, allowed: str = "CF") -> str:
    """Return the order as one of "C", "F", "A", "K".

    Raises:
        ValueError: no such order.
    """
    char = (order or "C").upper()[:1]
    if char not in allowed:
        raise ValueError(f"order {order!r} not understood (one of {', '.join(allowed)})")
    return char


def wrap(shadow: _shadow.Shadow, handle: Handle) -> ndarray:
    """Make an owner of a shadow and the handle of its memory."""
    array: ndarray = _new(ndarray)
    array._shadow = shadow
    array._handle = handle
    array._owner = None
    return array


def view_of(source: ndarray, shadow: _shadow.Shadow, cls: type[ndarray] | None = None) -> ndarray:
    """Make a view of `source`'s memory; the class of the source is kept, as CuPy does."""
    cls = cls or type(source)
    array: ndarray = _new(cls)
    array._shadow = shadow
    array._handle = None
    array._owner = source if source._owner is None else source._owner
    if cls is not ndarray:
        array.__array_finalize__(source)
    return array


def offset_of(array: ndarray) -> int:
    """Return where in its owner's memory an array begins, in bytes."""
    return _shadow.offset_bytes(array._shadow)


_new: Any = object.__new__


def shadow_of_type(source: _shadow.Shadow, dtype: np.dtype[Any]) -> _shadow.Shadow:
    """Return a shadow with the shape and axis order of another, packed, in another dtype."""
    order = _shadow.keep_order_strides(source)
    if isinstance(order, tuple):
        order = tuple(s // source.itemsize * dtype.itemsize for s in order)
    return _shadow.make(source.shape, dtype, order)


def handle_of(array: ndarray) -> Handle:
    """Return the array's handle, telling the device of the view if it does not know it yet."""
    handle = array._handle
    if handle is None:
        with _materialize_lock:
            handle = array._handle
            if handle is None:
                handle = array._handle = _tell(array)
    return handle


def _tell(array: ndarray) -> Handle:
    owner = array._owner
    assert owner is not None
    base = handle_of(owner)
    base.session.check()
    shadow = array._shadow
    offset = _shadow.offset_bytes(shadow) if shadow.size else 0
    return base.session.emit_view(base, offset, shadow.shape, shadow.dtype, shadow.strides)


def session_of(array: ndarray) -> _session.DeviceSession:
    """Return the session whose device the array lies on."""
    return handle_of(array if array._owner is None else array._owner).session


def brought(a: ndarray) -> ndarray:
    """Copy an array of another device to the current one; C order, or F if it is F and not C."""
    flags = a._shadow.flags
    order = "F" if flags.f_contiguous and not flags.c_contiguous else "C"
    made = _shadow.make(a.shape, a.dtype, order)
    layout = (a.shape, a.dtype, order)
    return wrap(made, exchange.copy(handle_of(a), layout, _session.session()))


@contextmanager
def on_device_of(array: ndarray) -> Iterator[None]:
    """Make an array's device the thread's current one within a block."""
    before, _session.current.device = _session.current.device, session_of(array).ordinal
    try:
        yield
    finally:
        _session.current.device = before

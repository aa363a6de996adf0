"""`DistributedArray`: one array in pieces on several devices."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import chain
from typing import Any, NoReturn

import numpy as np

from cupool.client_shim import cupy
from cupool.client_shim import shadow as _shadow
from cupool.client_shim.cupy._core import core
from cupool.client_shim.cupy._core._dtype import get_dtype
from cupool.client_shim.cupy.cuda import Device
from cupool.client_shim.cupyx.distributed.array import (
    _chunk,
    _elementwise,
    _index_arith,
    _linalg,
    _modes,
    _reduction,
)
from cupool.client_shim.cupyx.distributed.array._chunk import _Chunk
from cupool.client_shim.cupyx.distributed.array._index_arith import IndexMap

_METHODS = """
__getitem__ __setitem__ __len__ __iter__ __copy__ all any argmax argmin argpartition argsort astype
choose clip compress copy cumprod cumsum diagonal dot dump dumps fill flatten item mdspan mean
nonzero partition ptp put ravel reduced_view repeat reshape round scatter_add scatter_max
scatter_min searchsorted set sort squeeze std swapaxes take toDlpack tobytes tofile tolist trace
transpose var view
"""
_PROPERTIES = "T mT base cstruct data device flags flat imag real strides"


def _refuse(name: str) -> NoReturn:
    raise NotImplementedError(f"DistributedArray currently does not support {name}.")


def _method(name: str) -> Any:
    def method(self: Any, *args: Any, **kwargs: Any) -> NoReturn:
        _refuse(name)

    method.__name__ = method.__qualname__ = name
    method.__doc__ = "Not supported, as in CuPy."
    return method


def _property(name: str) -> Any:
    return property(lambda self: _refuse(name), doc="Not supported, as in CuPy.")


class _Whole:
    """What arrays of one device have and a distributed one does not, as CuPy documents it."""

    locals().update({name: _method(name) for name in _METHODS.split()})
    locals().update({name: _property(name) for name in _PROPERTIES.split()})


class DistributedArray(_Whole, core.ndarray):
    """An array whose pieces (chunks) lie on several devices.

    Ufuncs, `ElementwiseKernel`, `sum`, `prod`, `max`, `min` along an axis and `@` work on it; all
    operands must be distributed. Nothing waits: the pieces go from server to server. Make one by
    `distributed_array`.

    Args:
        shape: of the whole array.
        dtype: element type.
        chunks_map: device -> its chunks.
        mode: what the chunks mean where they overlap.
        comms: ignored: the pool's own links are used.

    See https://docs.cupy.dev/en/stable/reference/distributed.html
    """

    __module__ = "cupyx.distributed.array"
    _chunks_map: dict[int, list[_Chunk]]
    _mode: _modes.Mode
    _owner = None

    def __new__(
        cls,
        shape: tuple[int, ...],
        dtype: Any,
        chunks_map: dict[int, list[_Chunk]],
        mode: _modes.Mode = _modes.REPLICA,
        comms: Any = None,
    ) -> DistributedArray:
        made: DistributedArray = object.__new__(cls)
        made._shadow = _shadow.make(core._lengths(shape), get_dtype(dtype), "C")
        made._chunks_map = chunks_map
        made._mode = mode
        return made

    def __array_finalize__(self, obj: Any) -> None:
        """Refuse views and results in this class that are not made here."""
        if obj is not None:
            raise RuntimeError("a DistributedArray is made by its constructor only")

    @property
    def _handle(self) -> NoReturn:  # type: ignore[override]
        raise NotImplementedError(
            "DistributedArray currently does not support this function: it has no memory of its"
            " own. Work on all_chunks(), or on get()."
        )

    # ---------------------------------------------------------------- what it is

    @property
    def shape(self) -> tuple[int, ...]:
        """Lengths of the axes; cannot be assigned."""
        return self._shadow.shape  # type: ignore[no-any-return]

    @shape.setter
    def shape(self, shape: Any) -> None:
        _refuse("assignment to shape")

    @property
    def mode(self) -> _modes.Mode:
        """What the chunks mean where they overlap.

        `REPLICA`: they have equal values. `MIN`, `MAX`, `SUM`, `PROD`: the element is the least,
        the greatest, the sum, the product of theirs. Operations convert as they need.
        """
        return self._mode

    @property
    def devices(self) -> Iterable[int]:
        """The devices that hold chunks."""
        return self._chunks_map.keys()

    @property
    def index_map(self) -> IndexMap:
        """Device -> where its chunks lie in the array."""
        return {
            device: [chunk.index for chunk in chunks] for device, chunks in self._chunks_map.items()
        }

    def all_chunks(self) -> dict[int, list[core.ndarray]]:
        """Return the chunks' arrays by device; they are no copies."""
        return {
            device: [chunk.array for chunk in chunks] for device, chunks in self._chunks_map.items()
        }

    def _chunks(self) -> list[_Chunk]:
        return list(chain.from_iterable(self._chunks_map.values()))

    # ---------------------------------------------------------------- other forms of it

    def _to_op_mode(self, mode: _modes.Mode) -> DistributedArray:
        if mode is self._mode:
            return self
        if len(self._chunks()) == 1:
            return DistributedArray(self.shape, self.dtype, self._chunks_map, mode)
        copies = {d: [chunk.copy() for chunk in own] for d, own in self._chunks_map.items()}
        made = DistributedArray(self.shape, self.dtype, copies, mode)
        chunks = made._chunks()
        if self._mode is not None:
            _chunk.reconcile(chunks, self.shape, self._mode)
        if mode is not None:
            _chunk.keep_once(chunks, self.shape, mode)
        return made

    def change_mode(self, mode: _modes.Mode) -> DistributedArray:
        """Return the array in a mode: itself if it is, else chunks of its own.

        With one chunk in all the new array shares it.
        """
        return self._to_op_mode(_modes.mode_of(mode))

    def reshard(self, index_map: dict[int, Any]) -> DistributedArray:
        """Return the array in other chunks, itself if they are the same.

        Args:
            index_map: device -> an index, or a list of indices, of the chunks it is to hold:
                ints and slices with positive steps.

        Raises:
            IndexError, ValueError: not such an index, or an empty one.
        """
        wanted = _index_arith._normalize_index_map(self.shape, index_map)
        if wanted == self.index_map:
            return self
        chunks_map = {
            device: [
                _Chunk.blank(self.shape, self.dtype, device, index, self._mode) for index in indices
            ]
            for device, indices in wanted.items()
        }
        made = DistributedArray(self.shape, self.dtype, chunks_map, self._mode)
        sources = self._chunks()
        if self._mode is not None and not self._mode.idempotent:
            sources = [chunk.copy() for chunk in sources]  # they are used up
        _chunk.hand_over(sources, made._chunks(), self.shape, self._mode)
        return made

    def get(
        self, stream: Any = None, order: str = "C", out: Any = None, blocking: bool = True
    ) -> np.ndarray[Any, Any]:
        """Copy to the host.

        Raises:
            RuntimeError: another argument than `blocking` is given, which CuPy does not take.
        """
        for name, given in (("stream", stream), ("order", order != "C" or None), ("out", out)):
            if given is not None:
                raise RuntimeError(f"Argument `{name}` not supported")
        mode = self._mode
        if mode is None:
            host = np.empty(self.shape, self.dtype)
        else:
            host = np.full(self.shape, mode.identity_of(self.dtype), self.dtype)
        for chunk in self._chunks():
            with chunk.on_ready():
                piece = chunk.array.get()
            host[chunk.index] = piece if mode is None else mode.numpy_func(host[chunk.index], piece)
        return host

    # ---------------------------------------------------------------- operations

    def __cupy_override_elementwise_kernel__(self, kernel: Any, *args: Any, **kwargs: Any) -> Any:
        """Answer a ufunc or an `ElementwiseKernel`."""
        return _elementwise._execute(kernel, args, kwargs)

    def __cupy_override_reduction_kernel__(
        self, kernel: Any, axis: Any, dtype: Any, out: Any, keepdims: Any
    ) -> Any:
        """Answer a reduction.

        Raises:
            RuntimeError: no axis, an `out`, `keepdims`, or another reduction than the four.
        """
        if axis is None:
            raise RuntimeError("axis must be specified")
        if out is not None:
            raise RuntimeError("Argument `out` is not supported")
        if keepdims:
            raise RuntimeError("Argument `keepdims` is not supported")
        return _reduction._execute(self, kernel, axis, dtype)

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
        if ufunc.__name__ == "matmul" and method == "__call__":
            return _linalg.matmul(*inputs, **kwargs)
        return NotImplemented

    def __matmul__(self, y: Any) -> Any:
        return _linalg.matmul(self, y) if isinstance(y, DistributedArray) else NotImplemented

    def _reduce(self, name: str, axis: Any, dtype: Any, out: Any, keepdims: Any) -> Any:
        kernel = _reduction.Reduction(name)
        return self.__cupy_override_reduction_kernel__(kernel, axis, dtype, out, keepdims)

    def max(self, axis: Any = None, out: Any = None, keepdims: bool = False) -> Any:
        """Return the maximum along an axis, which must be given."""
        return self._reduce("max", axis, None, out, keepdims)

    def min(self, axis: Any = None, out: Any = None, keepdims: bool = False) -> Any:
        """Return the minimum along an axis, which must be given."""
        return self._reduce("min", axis, None, out, keepdims)

    def sum(
        self, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: bool = False
    ) -> Any:
        """Return the sum along an axis, which must be given."""
        return self._reduce("sum", axis, dtype, out, keepdims)

    def prod(
        self, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: Any = None
    ) -> Any:
        """Return the product along an axis, which must be given."""
        return self._reduce("prod", axis, dtype, out, keepdims)


def distributed_array(
    array: Any, index_map: dict[int, Any], mode: _modes.Mode = _modes.REPLICA
) -> DistributedArray:
    """Make a distributed array out of data.

    Args:
        array: distributed array, `cupy.ndarray`, or what `numpy.array` takes.
        index_map: device -> an index, or a list of indices, of the chunks it is to hold. Whether
            they cover the array is not checked.
        mode: what the chunks mean where they overlap.

    Raises:
        IndexError, ValueError: an index that is empty, out of bounds or of another kind.
    """
    mode = _modes.mode_of(mode)
    if isinstance(array, DistributedArray):
        made = array.change_mode(mode).reshard(index_map)
        return DistributedArray(made.shape, made.dtype, made._chunks_map, made._mode)
    if not isinstance(array, core.ndarray):
        array = np.asarray(array)
    chunks_map: dict[int, list[_Chunk]] = {}
    for device, indices in _index_arith._normalize_index_map(array.shape, index_map).items():
        with Device(device):
            chunks_map[device] = [_Chunk.of(cupy.array(array[index]), index) for index in indices]
    made = DistributedArray(array.shape, array.dtype, chunks_map, mode)
    if mode is not None and not mode.idempotent:
        _chunk.keep_once(made._chunks(), made.shape, mode)
    return made

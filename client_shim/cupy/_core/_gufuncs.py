"""Generalized ufuncs: a function of the user's on core dimensions, looped over the others."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from cupool.client_shim.cupy._core import calls, core, views
from cupool.client_shim.cupy._core._gufunc_signature import Dimension, Loops, check_cast, parse
from cupool.client_shim.cupy._core._kernel import broadcast_shapes
from cupool.client_shim.cupy._core.routines_indexing import normalize_axis

_parse_gufunc_signature = parse
_ABSENT = -1
"""Length of an optional dimension that no input has."""

Axes = tuple[int, ...]


class _Operand(NamedTuple):
    """An input, its core dimensions last."""

    array: Any
    outer: tuple[int, ...]


class _GUFunc:
    """A generalized universal function.

    Args:
        func: takes the inputs; returns an array or a tuple of them.
        signature: core dimensions, e.g. "(i,j),(j,k)->(i,k)"; "n?" may be missing, "n|1" stretches.
        name, doc: those of `func` by default.
        supports_batched: `func` takes arrays with the outer dimensions, too.
        supports_out: `func` takes `out=`.
        signatures: "dd->d" texts, or tuples of one and a function for these dtypes.
        try_fastcall_func: called first with all arguments; may return NotImplemented.
    """

    def __init__(
        self,
        func: Callable[..., Any],
        signature: str,
        *,
        name: str | None = None,
        doc: str | None = None,
        supports_batched: bool = False,
        supports_out: bool = False,
        signatures: Sequence[Any] | None = None,
        try_fastcall_func: Callable[..., Any] | None = None,
    ) -> None:
        self._func = func
        self._signature = signature
        self.__name__ = func.__name__ if name is None else name
        self.__doc__ = func.__doc__ if doc is None else doc
        self._batched = supports_batched
        self._takes_out = supports_out
        self._fast = try_fastcall_func
        self._ins, self._outs, self._names = parse(signature)
        self._nin, self._nout = len(self._ins), len(self._outs)
        self._loops = Loops(signatures or (), func, self._nin, self._nout, self.__name__)

    def __call__(
        self,
        *args: Any,
        axes: Any = None,
        axis: Any = None,
        keepdims: bool = False,
        casting: Any = "same_kind",
        dtype: Any = None,
        signature: Any = None,
        order: str = "K",
        out: Any = None,
    ) -> Any:
        """Apply the function; all keywords are as of NumPy's generalized ufuncs.

        Raises:
            ValueError, TypeError, AxisError: arguments that the signature does not allow.
        """
        if self._fast is not None:
            made = self._fast(
                *args,
                out=out,
                axes=axes,
                axis=axis,
                keepdims=keepdims,
                casting=casting,
                dtype=dtype,
                signature=signature,
                order=order,
            )
            if made is not NotImplemented:
                return made
        inputs, result_dtype, func = self._loops.choose(args, dtype, casting, signature)
        if len(inputs) != self._nin or len(args) != self._nin:
            raise ValueError(
                f"According to `signature`, `func` requires {self._nin} arguments, but"
                f" {len(args)} given"
            )
        given = self._given_outs(out)
        layout = _order_of(inputs, order)
        in_axes, out_axes, kept = self._axes(axes, axis, keepdims)
        lengths: dict[str, int] = {}
        operands = [
            self._operand(i, a, x, lengths)
            for i, (a, x) in enumerate(zip(inputs, in_axes, strict=True))
        ]
        outer = broadcast_shapes([o.outer for o in operands])
        stretched = [_stretch(o, outer) for o in operands]
        wanted = (result_dtype, layout, casting)
        results, targets = self._targets(given, out_axes, outer, lengths, kept, wanted)
        self._apply(func, outer, stretched, targets)
        return results[0] if len(results) == 1 else tuple(results)

    def _targets(
        self,
        given: list[Any],
        out_axes: list[Any],
        outer: tuple[int, ...],
        lengths: dict[str, int],
        kept: int,
        wanted: tuple[Any, str, Any],
    ) -> tuple[list[Any], list[Any]]:
        """Make or check the outputs; return them, and the views of them that the function fills.

        Args:
            wanted: dtype and order of a new output, casting of the result to a given one.
        """
        results, targets = [], []
        for index, one in enumerate(given):
            core_shape, missing = self._core_shape(index, lengths, kept)
            shape = outer + core_shape
            place = self._nin + index
            order = self._transpose(place, out_axes[index], len(shape), len(core_shape))
            if one is None:
                one = core.ndarray(_undone(shape, order), wanted[0], order=wanted[1])
            else:
                _check_out(index, one, shape, order)
                check_cast(wanted[0], one.dtype, wanted[2], "out dtype")
            results.append(one)
            targets.append(_target(one, order, missing, len(outer), kept))
        return results, targets

    def _given_outs(self, out: Any) -> list[Any]:
        if out is None:
            return [None] * self._nout
        if not isinstance(out, tuple):
            if not isinstance(out, core.ndarray):
                raise TypeError("`out` must be a tuple or `cupy.ndarray`")
            return [out]
        if not all(o is None or isinstance(o, core.ndarray) for o in out):
            raise TypeError("`out` tuple must contain `cupy.ndarray` or None")
        return list(out)

    # ---------------------------------------------------------------- axes

    def _axes(self, axes: Any, axis: Any, keepdims: bool) -> tuple[list[Any], list[Any], int]:
        """Return core axes of inputs and outputs (None: the last ones), and how many are kept."""
        if axes is not None and axis is not None:
            raise ValueError("Only one of `axis` or `axes` keyword arguments should be given")
        if axes and not isinstance(axes, list):
            raise ValueError("`axes` has to be of type list")
        kept = self._kept() if keepdims else 0
        if axis is not None:
            if not isinstance(axis, int):
                raise ValueError("`axis` argument has to be an integer value")
            if self._names != 1:
                raise ValueError(
                    "`axis` can be used only, if there is a single shared core dimension, but"
                    f" {self._names} are present in the signature {self._signature}"
                )
            outs: list[Any] = [(axis,) if kept or d else () for d in self._outs]
            return [(axis,) if d else () for d in self._ins], outs, kept
        if axes is None:
            return [None] * self._nin, [None] * self._nout, kept
        listed: list[Any] = [(a,) if isinstance(a, int) else a for a in axes]
        if len(listed) == self._nin:
            if any(self._outs):
                raise ValueError(
                    "`axes` entries for outputs can only be omitted if none of them has core axes."
                )
            listed += [None] * self._nout
        if len(listed) != self._nin + self._nout:
            raise ValueError(
                "The number of `axes` entries is not equal to the number of input and output"
                " arguments. Outputs may only be omitted if they are all scalar."
            )
        return listed[: self._nin], listed[self._nin :], kept

    def _kept(self) -> int:
        counts = {len(d) for d in self._ins}
        if len(counts) > 1:
            raise ValueError(
                "`keepdims` requires all inputs to have the same number of core dimensions"
            )
        if any(self._outs):
            raise ValueError("`keepdims` can only be used for scalar outputs")
        return counts.pop()

    def _transpose(self, index: int, axes: Any, ndim: int, count: int) -> Axes | None:
        """Return the axes with the core ones last, None if they are already."""
        if axes is None:
            if ndim < count:
                raise ValueError(f"Argument {index} has too few dimensions.")
            return None
        if len(axes) != count:
            raise np.exceptions.AxisError(
                f"Number of axes passed for argument {index} does not match the the number of core"
                " dimensions."
            )
        chosen = tuple(normalize_axis(a, ndim) for a in axes)
        if len(set(chosen)) != len(chosen):
            raise ValueError("duplicate value in 'axis'")
        if chosen == tuple(range(ndim - count, ndim)):
            return None
        return tuple(a for a in range(ndim) if a not in chosen) + chosen

    # ---------------------------------------------------------------- operands

    def _operand(self, index: int, array: Any, axes: Any, lengths: dict[str, int]) -> _Operand:
        """Bring an input's core axes to the end, and note their lengths."""
        dimensions = self._ins[index]
        needed = sum(not d.optional for d in dimensions)
        count = max(needed, min(array.ndim, len(dimensions)))
        order = self._transpose(index, axes, array.ndim, count)
        if order is not None:
            array = array.transpose(order)
        split = array.ndim - count
        sizes = list(array.shape[split:])
        skipped = len(dimensions) - count
        missing = []
        for position, dimension in enumerate(dimensions):
            if dimension.optional and skipped > 0:
                skipped -= 1
                missing.append(split + position)
                self._note(index, dimension, _ABSENT, lengths)
            else:
                self._note(index, dimension, sizes.pop(0), lengths)
        outer = array.shape[:split]
        return _Operand(_expanded(array, missing), outer)

    def _note(self, index: int, dimension: Dimension, length: int, lengths: dict[str, int]) -> None:
        if dimension.stretches and length == 1:
            return
        known = lengths.setdefault(dimension.name, length)
        if known == length:
            return
        if _ABSENT in (known, length):
            raise ValueError("An optional core-dimension must be skipped in all or no inputs.")
        raise ValueError(
            f"Input operand {index} has mismatch in its core dimension {dimension.name} with"
            f" signature {self._signature} ({known} != {length})."
        )

    def _core_shape(
        self, index: int, lengths: dict[str, int], kept: int
    ) -> tuple[tuple[int, ...], list[int]]:
        """Return an output's core shape, and the positions of the dimensions it lacks."""
        if kept:
            return (1,) * kept, []
        known = [lengths.get(d.name, 1) for d in self._outs[index]]
        missing = [i for i, n in enumerate(known) if n == _ABSENT]
        return tuple(n for n in known if n != _ABSENT), missing

    def _apply(
        self, func: Callable[..., Any], outer: tuple[int, ...], args: list[Any], outs: list[Any]
    ) -> None:
        if outer and not self._batched:
            for i in range(outer[0]):
                self._apply(func, outer[1:], [a[i] for a in args], [o[i] for o in outs])
            return
        if self._takes_out:
            func(*args, out=outs[0] if len(outs) == 1 else outs)
            return
        made = func(*args)
        made = made if isinstance(made, tuple) else (made,)
        for out, result in zip(outs, made, strict=False):
            calls.call_into("assign", (out, result))


def _expanded(array: Any, places: list[int]) -> Any:
    if not places:
        return array
    new = range(array.ndim + len(places))
    return array[tuple([None if axis in places else slice(None) for axis in new])]


def _stretch(operand: _Operand, outer: tuple[int, ...]) -> Any:
    if operand.outer == outer:
        return operand.array
    core_shape = operand.array.shape[len(operand.outer) :]
    return views.broadcast_to(operand.array, outer + core_shape)


def _undone(shape: tuple[int, ...], order: Axes | None) -> tuple[int, ...]:
    """Return the shape of the array whose transpose by `order` has `shape`."""
    if order is None:
        return shape
    return tuple(shape[order.index(axis)] for axis in range(len(order)))


def _check_out(index: int, out: Any, shape: tuple[int, ...], order: Axes | None) -> None:
    expected = _undone(shape, order)
    if out.shape != expected:
        raise ValueError(
            f"Output operand {index} has invalid shape {out.shape} expected {expected}"
        )


def _target(out: Any, order: Axes | None, missing: list[int], outer: int, kept: int) -> Any:
    """Return the view of an output that the function fills."""
    if order is not None:
        out = out.transpose(order)
    out = _expanded(out, [outer + place for place in missing])
    return out[(..., *(0,) * kept)] if kept else out


def _order_of(args: Sequence[Any], order: str) -> str:
    char = order.upper()
    if char in ("C", "K"):
        return "C"
    if char == "A":
        fortran = all(a.flags.f_contiguous and not a.flags.c_contiguous for a in args)
        return "F" if fortran else "C"
    if char == "F":
        return "F"
    raise RuntimeError(f"Unknown order {order}")

"""Elementwise and reduction kernels: a source for each kind of arguments, compiled, launched."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import prod
from typing import Any

import numpy as np

from cupool.errors import ProtocolViolation
from cupool.pool_server.devices.kernel_sources import check_options, check_source
from cupool.pool_server.devices.mock.kernels import packing, sources
from cupool.pool_server.devices.mock.kernels.packing import NpArray, Strided
from cupool.pool_server.devices.mock.kernels.sources import ArrayInfo
from cupool.proto import kernels
from cupool.proto.kernels import Types
from cupool.proto.values import DType, dtype_to_wire

Compile = Callable[[str, "tuple[str, ...]", str], Any]
"""Source, options and name of a kernel -> its function."""

MAX_THREADS = 1024
MAX_VARIANTS = 1024
"""Sources of one kernel, for different dtypes and dimensions."""


class Loop:
    """What both kinds of kernels have: parameters, and the functions compiled so far."""

    def __init__(
        self, compile: Compile, in_params: str, out_params: str, name: str, options: Any
    ) -> None:
        self.name = kernels.checked_text(name, "a kernel's name")
        if not kernels.is_valid_name(name):
            raise ValueError(f'Invalid kernel name: "{name}"')
        self.ins = kernels.parse(kernels.checked_text(in_params, "a parameter list"), True)
        self.outs = kernels.parse(kernels.checked_text(out_params, "a parameter list"), False)
        self.params = self.ins + self.outs
        self.options = check_options(options)
        self._compile = compile
        self._types: dict[Any, Types] = {}
        self._functions: dict[Any, Any] = {}
        self._codes: dict[tuple[DType, ...], str] = {}

    def types(self, values: Sequence[Any]) -> Types:
        """Work out the dtypes of a call's parameters and check its scalars' against them."""
        dtypes = tuple([v.dtype if isinstance(v, np.ndarray) else None for v in values])
        types = self._types.get(dtypes)
        if types is None:
            count = len(self.ins)
            types = kernels.decide_types(self.ins, self.outs, dtypes[:count], dtypes[count:])
            if len(self._types) >= MAX_VARIANTS:
                self._types.clear()
            self._types[dtypes] = types
        for value, dtype in zip(values, types.inputs + types.outputs, strict=True):
            if not isinstance(value, np.ndarray) and getattr(value, "dtype", None) != dtype:
                raise ProtocolViolation(f"a scalar of {dtype} is needed, not {value!r:.40}")
        return types

    def function(self, key: Any, dtypes: tuple[DType, ...], generate: Callable[[], str]) -> Any:
        """Return the function for arguments of one kind, compiled if they are new."""
        found = self._functions.get(key)
        if found is None:
            code = generate()
            found = self._compile(code, self.options, self.name)
            if len(self._functions) >= MAX_VARIANTS:
                self._functions.clear()
            self._functions[key] = found
            self._codes.setdefault(dtypes, code)
        return found

    def codes(self) -> list[list[Any]]:
        """Return [dtypes of the arrays, source] of what was generated, at most 64 of them."""
        rows = list(self._codes.items())[:64]
        return [[[dtype_to_wire(d) for d in dtypes], code] for dtypes, code in rows]


def _texts(options: Mapping[str, Any], *names: str) -> list[str]:
    return [check_source(options.get(name, "")) for name in names]


def _infos(values: Sequence[Any], seen: Mapping[int, Strided]) -> tuple[ArrayInfo, ...]:
    return tuple(
        [
            packing.info_of(seen[i]) if i in seen else ArrayInfo(value.dtype)
            for i, value in enumerate(values)
        ]
    )


def _packed(values: Sequence[Any], seen: Mapping[int, Strided]) -> list[bytes]:
    return [
        packing.carray(seen[i]) if i in seen else value.tobytes() for i, value in enumerate(values)
    ]


def _whole(array: NpArray) -> Strided:
    return Strided(array, array.shape, array.strides)


class Elementwise(Loop):
    """A kernel that runs a statement for each element."""

    def __init__(
        self,
        compile: Compile,
        in_params: str,
        out_params: str,
        operation: str,
        name: str,
        options: Mapping[str, Any],
    ) -> None:
        super().__init__(compile, in_params, out_params, name, options.get("options", ()))
        self._operation = check_source(operation)
        self._parts = _texts(options, "preamble", "loop_prep", "after_loop")
        self._reduce_dims = bool(options.get("reduce_dims", True))
        # Nothing tells one thread from another: there may be as many as suit this device.
        self._alike = not sources.uses_threads(self._operation, *self._parts)

    def run(self, values: list[Any], size: int | None, block_size: int) -> None:
        """Launch for inputs and outputs.

        Args:
            values: device arrays and scalars, one for each parameter.
            size: steps of the loop where all arrays are raw.
            block_size: threads of a block.
        """
        types = self.types(values)
        shape, seen = self._loop(values, size)
        if 0 in shape:
            return
        infos = _infos(values, seen)
        key = (infos, len(shape))
        dtypes = tuple([v.dtype for v in values if isinstance(v, np.ndarray)])
        preamble, loop_prep, after_loop = self._parts
        function = self.function(
            key,
            dtypes,
            lambda: sources.elementwise(
                self.name,
                self.params,
                infos,
                types,
                len(shape),
                self._operation,
                preamble,
                loop_prep,
                after_loop,
                self._alike,
            ),
        )
        if self._alike and block_size <= MAX_THREADS:
            block_size = MAX_THREADS
        grid, block = kernels.block_of(prod(shape), block_size)
        arguments = [*_packed(values, seen), packing.cindexer(shape)]
        function.launch((grid, 1, 1), (block, 1, 1), arguments)

    def _loop(
        self, values: Sequence[Any], size: int | None
    ) -> tuple[tuple[int, ...], dict[int, Strided]]:
        """Return the loop's shape, and each array as the kernel sees it."""
        seen: dict[int, Strided] = {}
        places: list[int] = []
        for index, (parameter, value) in enumerate(zip(self.params, values, strict=True)):
            if isinstance(value, np.ndarray):
                seen[index] = _whole(value)
                if not parameter.raw:
                    places.append(index)
        if not places:
            if size is None or size < 0:
                raise ValueError("Loop size is undecided.")
            return (size,), seen
        first: NpArray = values[places[0]]
        shape = first.shape
        same = all(values[i].shape == shape and values[i].flags.c_contiguous for i in places)
        if same and self._reduce_dims:
            flat = (first.size,)
            for i in places:
                seen[i] = Strided(values[i], flat, (values[i].itemsize,))
            return flat, seen
        shape = np.broadcast_shapes(*(values[i].shape for i in places))
        arrays = [packing.broadcast(values[i], shape) for i in places]
        for i, parameter in zip(places, (self.params[i] for i in places), strict=True):
            if not parameter.const and values[i].shape != shape:
                raise ValueError("Out shape is mismatched")
        if self._reduce_dims:
            shape, arrays = packing.joined(shape, arrays)
        seen.update(zip(places, arrays, strict=True))
        return shape, seen


class Reduction(Loop):
    """A kernel that reduces along axes."""

    def __init__(
        self,
        compile: Compile,
        in_params: str,
        out_params: str,
        expressions: Sequence[str],
        name: str,
        options: Mapping[str, Any],
    ) -> None:
        super().__init__(compile, in_params, out_params, name, options.get("options", ()))
        map_expr, reduce_expr, post_map_expr, identity = map(check_source, expressions)
        self._expressions = (map_expr, reduce_expr, post_map_expr, identity)
        self._reduce_type = check_source(options.get("reduce_type") or "")
        (self._preamble,) = _texts(options, "preamble")
        self._reduce_dims = bool(options.get("reduce_dims", True))

    def run(self, values: list[Any], axes: tuple[int, ...]) -> None:
        """Launch for inputs and outputs, reducing along `axes` (sorted) of the inputs' shape."""
        types = self.types(values)
        count = len(self.ins)
        plain = [
            i
            for i, v in enumerate(values[:count])
            if isinstance(v, np.ndarray) and not self.ins[i].raw
        ]
        if not plain:
            raise ValueError("Loop size is undecided.")
        shape = np.broadcast_shapes(*(values[i].shape for i in plain))
        if list(axes) != sorted({a for a in axes if type(a) is int and 0 <= a < len(shape)}):
            raise ProtocolViolation(f"not axes of {len(shape)} dimensions: {axes!r:.80}")
        order = self._order(values, plain, axes, shape)
        in_shape = tuple([shape[a] for a in order])
        arrays = [_permuted(packing.broadcast(values[i], shape), order) for i in plain]
        out_places = [i for i in range(count, len(values)) if not self.params[i].raw]
        out_shape, outs = _outputs([values[i] for i in out_places])
        reduced = prod([shape[a] for a in axes])
        if prod(out_shape) * reduced != prod(in_shape):
            raise ValueError("Out shape is mismatched")
        if not prod(out_shape):
            return
        stride = _block_stride(in_shape, out_shape, arrays)
        if self._reduce_dims:
            in_shape, arrays = packing.joined(in_shape, arrays)
            out_shape, outs = packing.joined(out_shape, outs)
        seen = {i: _whole(v) for i, v in enumerate(values) if isinstance(v, np.ndarray)}
        seen.update(zip(plain, arrays, strict=True))
        seen.update(zip(out_places, outs, strict=True))
        self._launch(values, seen, types, in_shape, out_shape, stride, reduced > 0x7FFFFFFF)

    def _launch(
        self,
        values: list[Any],
        seen: dict[int, Strided],
        types: Types,
        in_shape: tuple[int, ...],
        out_shape: tuple[int, ...],
        stride: int,
        large: bool,
    ) -> None:
        infos = _infos(values, seen)
        ndims = (len(in_shape), len(out_shape))
        dtypes = tuple([v.dtype for v in values if isinstance(v, np.ndarray)])
        function = self.function(
            (infos, ndims, large),
            dtypes,
            lambda: sources.reduction(
                self.name,
                self.params,
                infos,
                len(self.ins),
                types,
                ndims,
                self._expressions,
                self._reduce_type,
                self._preamble,
                large,
            ),
        )
        arguments = [
            *_packed(values, seen),
            packing.cindexer(in_shape),
            packing.cindexer(out_shape),
            stride.to_bytes(4, "little"),
        ]
        function.launch((1, 1, 1), (1, 1, 1), arguments)

    def _order(
        self, values: Sequence[Any], plain: list[int], axes: tuple[int, ...], shape: tuple[int, ...]
    ) -> tuple[int, ...]:
        """Return the axes as CuPy goes through them: reduced ones first.

        One array whose memory is not in C order is gone through in its own.
        """
        kept = tuple([a for a in range(len(shape)) if a not in axes])
        first = values[0]
        if len(plain) == len(self.ins) == 1 and len(kept) <= 1 and not first.flags.c_contiguous:
            axes = tuple(sorted(axes, key=lambda a: -abs(first.strides[a])))
        order = axes + kept
        if order != tuple(range(len(order))) and any(p.raw for p in self.ins):
            raise NotImplementedError("Illegal conditions")
        return order


def _permuted(one: Strided, order: tuple[int, ...]) -> Strided:
    return Strided(
        one.array, tuple([one.shape[a] for a in order]), tuple([one.strides[a] for a in order])
    )


def _outputs(arrays: list[NpArray]) -> tuple[tuple[int, ...], list[Strided]]:
    if not arrays:
        raise ValueError("Output array size is Undecided")
    shape = arrays[0].shape
    if any(a.shape != shape for a in arrays):
        raise ValueError("Out shape is mismatched")
    return shape, [_whole(a) for a in arrays]


def _block_stride(
    in_shape: tuple[int, ...], out_shape: tuple[int, ...], arrays: Sequence[Strided]
) -> int:
    """Return how many outputs a block of CuPy's works on side by side: a power of two."""
    out_lengths = [n for n in out_shape if n != 1]
    contiguous = 1
    for one in arrays:
        steps = [s for s, n in zip(one.strides, one.shape, strict=True) if n != 1]
        run = 1
        for length, step in zip(reversed(out_lengths), reversed(steps), strict=False):
            if step != run * one.array.itemsize:
                break
            run *= length
        contiguous = max(contiguous, run)
    reduced = max(1, prod(in_shape) // prod(out_shape))
    stride = max(min(contiguous, 32), sources.LANES // reduced)
    return 1 << (stride // 2).bit_length()

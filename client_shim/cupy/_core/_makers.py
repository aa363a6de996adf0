"""CuPy's private makers of ufuncs and reductions out of CUDA expressions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from cupool.client_shim.cupy._core import calls, core
from cupool.client_shim.cupy._core._elementwise_kernel import ElementwiseKernel
from cupool.client_shim.cupy._core._kernel import operand
from cupool.client_shim.cupy._core._loops import Loop, Loops, kind_of
from cupool.client_shim.cupy._core._reduction_kernel import ReductionKernel
from cupool.client_shim.cupy._core.foreign import from_cupy_like
from cupool.client_shim.cupy._functions import warn_complex
from cupool.proto.kernels import c_type


def elementwise_copy(source: Any, target: Any) -> None:
    """Copy elements with a cast; shapes broadcast."""
    calls.call_into("assign", (target, source))


def _texts(ops: Sequence[Any], routine: Any) -> dict[str, Any]:
    """Return each loop's routine by its types, as "dd->d"."""
    found: dict[str, Any] = {}
    for op in ops:
        types, own = op if isinstance(op, tuple) else (op, routine)
        ins, _, outs = types.partition("->")
        found.setdefault(f"{ins}->{outs or ins}", own)
    return found


class _Choice:
    """Chooses the first loop that inputs cast to, and keeps a kernel for each."""

    def __init__(self, name: str, ops: Sequence[Any], routine: Any) -> None:
        self.routines = _texts(ops, routine)
        self.loops = Loops(name, tuple(self.routines))
        self.kernels: dict[Any, Any] = {}

    def loop(self, inputs: Sequence[Any], dtype: Any) -> tuple[Loop, Any]:
        """Return the loop and its routine.

        Raises:
            TypeError: there is none.
        """
        if dtype is not None:
            loop = self.loops.by_output(np.dtype(dtype))
        else:
            kinds = [kind_of(x) for x in inputs]
            loop = self.loops.by_inputs(tuple(k[0] for k in kinds), tuple(k[1] for k in kinds))
        types = f"{''.join(d.char for d in loop.ins)}->{''.join(d.char for d in loop.outs)}"
        return loop, self.routines[types]


class _UserUfunc:
    """An element-wise function made by `create_ufunc`."""

    def __init__(
        self, name: str, ops: Sequence[Any], routine: Any, options: dict[str, Any]
    ) -> None:
        self.name = self.__name__ = name
        self._choice = _Choice(name, ops, routine)
        self._options = options
        first = self._choice.loops.loops[0]
        self.nin, self.nout = len(first.ins), len(first.outs)
        self.nargs = self.nin + self.nout

    def __repr__(self) -> str:
        return f"<ufunc '{self.name}'>"

    def __call__(self, *args: Any, out: Any = None, dtype: Any = None, **kwargs: Any) -> Any:
        if kwargs:
            raise TypeError(f"Wrong arguments {kwargs}")
        if len(args) not in (self.nin, self.nargs):
            raise TypeError(
                f"Wrong number of arguments for {self.name!r}. It must be either {self.nin} or"
                f" {self.nargs} (with outputs), but given {len(args)}."
            )
        inputs = [operand(x) for x in args[: self.nin]]
        outs = list(args[self.nin :])
        if out is not None:
            outs = list(out) if isinstance(out, tuple) else [out]
        loop, routine = self._choice.loop(inputs, dtype)
        cast = [_cast(x, wanted) for x, wanted in zip(inputs, loop.ins, strict=True)]
        kernel = self._kernel(loop, routine)
        if all(o is None or o.dtype == d for o, d in zip(outs, loop.outs, strict=False)):
            return kernel(*cast, *outs)
        made = kernel(*cast)
        for target, one in zip(outs, made if isinstance(made, tuple) else (made,), strict=True):
            elementwise_copy(one, target)
        return outs[0] if self.nout == 1 else tuple(outs)

    def _kernel(self, loop: Loop, routine: Any) -> ElementwiseKernel:
        kernel: ElementwiseKernel | None = self._choice.kernels.get(loop)
        if kernel is None:
            ins = [f"{d.name} in{i}" for i, d in enumerate(loop.ins)]
            outs = [f"{d.name} out{i}" for i, d in enumerate(loop.outs)]
            typed = [(f"in{i}_type", f"in{i}") for i in range(self.nin)]
            typed += [(f"out{i}_type", f"out{i}") for i in range(self.nout)]
            aliases = "".join(f"typedef cupy_decay<decltype({n})>::type {t};" for t, n in typed)
            options = dict(self._options)
            options["preamble"] = f"{_DECAY}{options.get('preamble', '')}"
            kernel = ElementwiseKernel(
                ", ".join(ins), ", ".join(outs), f"{aliases} {routine}", self.name, **options
            )
            self._choice.kernels[loop] = kernel
        return kernel


_DECAY = """
template <typename T> struct cupy_decay { typedef T type; };
template <typename T> struct cupy_decay<T&> { typedef T type; };
template <typename T> struct cupy_decay<const T> { typedef T type; };
template <typename T> struct cupy_decay<const T&> { typedef T type; };
"""


def _cast(value: Any, dtype: Any) -> Any:
    if isinstance(value, core.ndarray):
        return value if value.dtype == dtype else value.astype(dtype)
    return value


def create_ufunc(
    name: str,
    ops: Sequence[Any],
    routine: Any = None,
    preamble: str = "",
    doc: str = "",
    default_casting: Any = None,
    loop_prep: str = "",
    out_ops: Any = None,
    **ignored: Any,
) -> _UserUfunc:
    """Return an element-wise function.

    Args:
        ops: types as "dd->d", or tuples of types and a routine of their own.
        routine: CUDA C++ on `in0`, `in1`, ..., `out0`.
        preamble, loop_prep: as of `ElementwiseKernel`.
    """
    made = _UserUfunc(name, ops, routine, {"preamble": preamble, "loop_prep": loop_prep})
    made.__doc__ = doc
    return made


class _SimpleReductionKernel:
    """A reduction made by `create_reduction_func`."""

    def __init__(
        self, name: str, ops: Sequence[Any], routine: Any, identity: Any, preamble: str
    ) -> None:
        self.name = self.__name__ = name
        self.identity = identity
        self.preamble = preamble
        self._choice = _Choice(name, ops, routine)

    def __call__(
        self, a: Any, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: bool = False
    ) -> Any:
        override = getattr(a, "__cupy_override_reduction_kernel__", None)
        if override is not None:
            return override(self, axis, dtype, out, keepdims)
        array = from_cupy_like(a)
        if array is None:
            raise TypeError(
                f"Argument 'a' has incorrect type (expected cupy.ndarray, got {type(a).__name__})"
            )
        loop, routine = self._choice.loop([array], dtype)
        if array.dtype.kind == "c" and loop.ins[0].kind == "f":
            warn_complex()
            array = array.real
        kernel = self._kernel(
            loop, routine, array.dtype, loop.outs[0] if out is None else out.dtype
        )
        return kernel(array, out=out, axis=axis, keepdims=keepdims)

    def _kernel(self, loop: Loop, routine: Any, source: Any, result: Any) -> ReductionKernel:
        key = (loop, source, result)
        kernel: ReductionKernel | None = self._choice.kernels.get(key)
        if kernel is None:
            map_expr, reduce_expr, post_map_expr, reduce_type = routine
            # The elements are cast to the type that the loop computes in by the map's assignment.
            types = f"typedef {c_type(source)} type_in0_raw;"
            types += f"typedef {c_type(result)} type_out0_raw;"
            kernel = self._choice.kernels[key] = ReductionKernel(
                f"{source.name} in0",
                f"{result.name} out0",
                map_expr,
                reduce_expr,
                post_map_expr,
                self.identity,
                self.name,
                reduce_type or c_type(loop.outs[0]),
                preamble=types + self.preamble,
            )
        return kernel

    @property
    def _cached_codes(self) -> dict[Any, str]:
        found: dict[Any, str] = {}
        for kernel in self._choice.kernels.values():
            found.update(kernel._cached_codes)
        return found

    @property
    def cached_codes(self) -> dict[Any, str]:
        """The generated sources by the arrays' dtypes; asks the device."""
        return self._cached_codes


def create_reduction_func(
    name: str,
    ops: Sequence[Any],
    routine: Any = None,
    identity: Any = None,
    preamble: str = "",
    sort_reduce_axis: bool = True,
) -> _SimpleReductionKernel:
    """Return a reduction function.

    Args:
        ops: types as "d->d", or tuples of types and a routine of their own.
        routine: map, reduce and post-map expressions, and the C++ type to reduce in or None.
        identity: the value to begin with, None if there is none.
    """
    return _SimpleReductionKernel(name, ops, routine, identity, preamble)

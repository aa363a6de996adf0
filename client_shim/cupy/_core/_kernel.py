"""`cupy.ufunc`: result types from NumPy's own promotion, shapes by broadcasting, one record each.

A queued call on two arrays of equal shape costs a few microseconds: it looks its dtypes up in a
cache and appends one record.
"""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from cupool.client_shim import session as _session
from cupool.client_shim import shadow as _shadow
from cupool.client_shim.cupy._core import calls, core
from cupool.client_shim.cupy._core._dtype import check_comparable, get_dtype
from cupool.client_shim.cupy._core._loops import Loops, check_value, kind_of
from cupool.client_shim.cupy._core.foreign import from_cupy_like
from cupool.client_shim.cupy._functions import warn_complex
from cupool.client_shim.handles import Handle, crowded, settle
from cupool.proto import values
from cupool.proto.operations.api import listing

_ndarray = core.ndarray
_current = _session.current
_new = core._new
_make = _shadow.make
_WEAK = frozenset((bool, int, float, complex))
_WHOLE = frozenset("iIlLqQ")
_REALS = _WHOLE | frozenset("fd")
_AT = {
    "add": (_REALS | frozenset("e"), "int32, int64, float16, float32, float64, uint32, uint64"),
    "subtract": (frozenset("iI"), "int32, uint32,"),
    "maximum": (_REALS, "int32, int64, float32, float64, uint32, uint64"),
    "minimum": (_REALS, "int32, int64, float32, float64, uint32, uint64"),
    "bitwise_and": (_WHOLE, "int32, int64, uint32, uint64"),
    "bitwise_or": (_WHOLE, "int32, int64, uint32, uint64"),
    "bitwise_xor": (_WHOLE, "int32, int64, uint32, uint64"),
}
"""Ufuncs that have `at`, and the dtypes for which CUDA has the atomic operation."""


_EQUAL = ()
_MAX_BROADCASTS = 4096
_broadcasts: dict[tuple[Any, Any], tuple[tuple[int, ...], int]] = {}
"""Shapes of two operands -> shape and size of the result, as seen before."""


def _broadcast_error(shapes: list[tuple[int, ...]]) -> ValueError:
    text = " ".join(str(s) for s in shapes)
    return ValueError(f"operands could not be broadcast together with shapes {text}")


def broadcast_shapes(shapes: list[tuple[int, ...]]) -> tuple[int, ...]:
    """Return the common shape, or raise ValueError with CuPy's words."""
    first = shapes[0]
    if all(s == first for s in shapes):
        return first
    try:
        return np.broadcast_shapes(*shapes)
    except ValueError:
        raise _broadcast_error(shapes) from None


class ufunc:
    """An element-wise function with broadcasting.

    Attributes:
        name: CuPy's internal name, e.g. "cupy_add".
        nin, nout, nargs: numbers of inputs, outputs, both.

    See https://docs.cupy.dev/en/stable/reference/ufunc.html
    """

    __module__ = "cupy"

    def __init__(
        self,
        name: str,
        loops: Loops,
        doc: str = "",
        by_dtype: Any = None,
        *,
        op: str = "",
        module: str = "cupy",
    ) -> None:
        """Make one; `op` is the operation's name if it differs, `module` where CuPy has it."""
        self.__name__ = name
        self.__module__ = module
        self.name = f"{module.replace('.', '_')}_{name}"
        self.nin = len(loops.loops[0].ins)
        self.nout = len(loops.loops[0].outs)
        self.nargs = self.nin + self.nout
        self.__doc__ = doc
        self._op = op or name
        self._numpy = getattr(np, name, None)
        self._loops = loops
        self._loops_by_dtype: Loops = by_dtype or loops
        self._cache: dict[Any, Any] = {}

    def __repr__(self) -> str:
        return f"<ufunc '{self.name}'>"

    def __reduce__(self) -> str:
        return self.__name__

    @property
    def types(self) -> list[str]:
        """Type signatures, e.g. "dd->d"."""
        row = listing().ufunc(f"{self.__module__}.{self.__name__}")
        return list(row.types) if row is not None else []

    # ---------------------------------------------------------------- calls

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Apply to arrays and scalars.

        Args:
            args: inputs, then outputs if given by position.
            out: array or tuple of arrays to write into.
            where: boolean array or bool; elements where it is false are left as they are.
            dtype: computes and returns in this type.
            casting: what conversions are allowed, "same_kind" by default.

        Raises:
            TypeError: no loop for these types, a NumPy array or list as input, a forbidden cast.
            ValueError: shapes that do not broadcast, operands of another device.
        """
        if not kwargs and len(args) == self.nin:
            a = args[0]
            if type(a) is _ndarray:
                if self.nin == 1:
                    if self.nout == 1:
                        return self._fast(a, a._shadow.dtype.char, None, (a,))
                elif self.nin == 2 and self.nout == 1:
                    b = args[1]
                    if type(b) is _ndarray:
                        shapes = (a._shadow.shape, b._shadow.shape)
                        common = _EQUAL if shapes[0] == shapes[1] else _broadcasts.get(shapes)
                        if common is not None:
                            key = a._shadow.dtype.char + b._shadow.dtype.char
                            return self._fast(a, key, b, args, common)
                    elif type(b) is float or type(b) is complex:
                        return self._fast(a, (a._shadow.dtype.char, type(b)), b, args)
                    elif type(b) is int and 0 <= b <= 127:
                        return self._fast(a, (a._shadow.dtype.char, int), b, args)
            elif self.nin == 2 and self.nout == 1 and type(args[1]) is _ndarray:
                kind = type(a)
                if kind is float or kind is complex or (kind is int and 0 <= a <= 127):
                    b = args[1]
                    return self._fast(b, (kind, b._shadow.dtype.char), a, args)
        elif not kwargs and len(args) == 3 and args[0] is args[2] and self.nin == 2:
            return self._in_place(args)
        return self._general(args, kwargs)

    def _fast(self, a: Any, key: Any, b: Any, args: tuple[Any, ...], common: Any = None) -> Any:
        """The case that matters: one output, dtypes and shapes seen before.

        `a` is an array; `b` None, an array, or a scalar on either side. `common` is the shape and
        size of the result where they are not those of `a`.
        """
        cached = self._cache.get(key)
        if cached is None:
            return self._general(args, {}, key)
        dtype, wire, itemsize = cached
        handle_a = a._handle or core.handle_of(a)
        session = handle_a.session
        refs: tuple[Any, ...]
        if b is None:
            refs = (handle_a.ref,)
        elif type(b) is _ndarray:
            handle_b = b._handle or core.handle_of(b)
            if handle_b.session is not session:
                return self._general(args, {})
            refs = (handle_a.ref, handle_b.ref)
        else:
            wired: Any = b if type(b) is not complex else (values.COMPLEX, b.real, b.imag)
            refs = (wired, handle_a.ref) if args[0] is b else (handle_a.ref, wired)
        if session.ordinal != _current.device or not session.plain:
            return self._general(args, {})
        shape, size = common or (a._shadow.shape, a._shadow.size)
        handle = Handle(session, size * itemsize)
        full = session.used_bytes > session.collect_above_bytes and crowded(session)
        session.submit((self._op, ((handle.ref[1], wire, shape, "C"),), refs, None))
        if full or session.blocking:
            settle(session, (handle,))
        result = _new(_ndarray)
        result._shadow = _make(shape, dtype)
        result._handle = handle
        result._owner = None
        return result

    def _in_place(self, args: tuple[Any, ...]) -> Any:
        """Do `a op= b` where dtype and shape stay as they are, else the general case."""
        a, b = args[0], args[1]
        if type(a) is not _ndarray:
            return self._general(args, {})
        char = a._shadow.dtype.char
        kind = type(b)
        cached = None
        if kind is _ndarray:
            if a._shadow.shape == b._shadow.shape:
                cached = self._cache.get(char + b._shadow.dtype.char)
        elif kind is float or (kind is int and 0 <= b <= 127):
            cached = self._cache.get((char, kind))
        if cached is None or cached[0].char != char:
            return self._general(args, {})
        handle_a = a._handle or core.handle_of(a)
        session = handle_a.session
        wired = b
        if kind is _ndarray:
            handle_b = b._handle or core.handle_of(b)
            if handle_b.session is not session:
                return self._general(args, {})
            wired = handle_b.ref
        if session.ordinal != _current.device or not session.plain:
            return self._general(args, {})
        session.submit((self._op, (), (handle_a.ref, wired), {"out": handle_a.ref}))
        if session.blocking:
            session.synchronize()
        return a

    def _general(self, args: tuple[Any, ...], kwargs: dict[str, Any], key: Any = None) -> Any:
        for value in args:
            override = getattr(value, "__cupy_override_elementwise_kernel__", None)
            if override is not None:
                return override(self, *args, **kwargs)
        inputs, outs, where, dtype, casting = self._parse(args, kwargs)
        inputs = [operand(x) for x in inputs]
        given = [o for o in outs if o is not None]
        arrays = [x for x in inputs if isinstance(x, _ndarray)]
        shapes = [x.shape for x in arrays]
        if isinstance(where, _ndarray):
            shapes.append(where.shape)
        shape = broadcast_shapes(shapes + [o.shape for o in given] or [()])
        out_dtypes = self._resolve(inputs, dtype, 0 not in shape)
        for out, made in zip(outs, out_dtypes, strict=True):
            if out is not None:
                check_out(out, shape, made, casting)
        structured = any(x.dtype.kind == "V" for x in arrays)
        if key is not None and not given and not structured:
            made = out_dtypes[0]
            self._cache[key] = (made, values.dtype_to_wire(made), made.itemsize)
        if not given and len(shapes) == len(arrays) == 2 and len(_broadcasts) < _MAX_BROADCASTS:
            _broadcasts[shapes[0], shapes[1]] = (shape, prod(shape))
        options = self._options(where, dtype, casting, structured)
        if given:
            return self._into(inputs, outs, options, shape, out_dtypes)
        results: list[Any] = list(
            calls.call(self._op, inputs, options, *((shape, d, "C") for d in out_dtypes))
        )
        template = next((x for x in arrays if type(x) is not _ndarray), None)
        if template is not None:
            results = [_as_subclass(r, template) for r in results]
        return results[0] if self.nout == 1 else tuple(results)

    def _parse(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, ...]:
        kwargs = dict(kwargs)
        out = kwargs.pop("out", None)
        where = kwargs.pop("_where", None)
        where = kwargs.pop("where", where)
        dtype = kwargs.pop("dtype", None)
        casting = kwargs.pop("casting", "same_kind")
        if kwargs:
            raise TypeError(f"Wrong arguments {kwargs}")
        if not self.nin <= len(args) <= self.nargs:
            raise TypeError(
                f"Wrong number of arguments for {self.name!r}. It must be either {self.nin} or"
                f" {self.nargs} (with outputs), but given {len(args)}."
            )
        inputs, outs = list(args[: self.nin]), list(args[self.nin :])
        if out is not None:
            if outs:
                raise ValueError("Cannot specify 'out' as both a positional and keyword argument")
            outs = list(out) if isinstance(out, tuple) else [out]
            if len(outs) != self.nout:
                if isinstance(out, tuple):
                    raise ValueError("The 'out' tuple must have exactly one entry per ufunc output")
                raise ValueError("'out' must be a tuple of arrays")
        outs += [None] * (self.nout - len(outs))
        for value in outs:
            if value is not None and not isinstance(value, _ndarray):
                raise TypeError("Output arguments type must be cupy.ndarray")
        if where is not None and where is not True:
            where = operand(where)
            if isinstance(where, _ndarray):
                if where.dtype != np.bool_:
                    raise TypeError(
                        f"Cannot cast array data from {where.dtype!r} to {np.dtype(bool)!r} "
                        "according to the rule 'safe'"
                    )
            else:
                where = bool(where)
        return inputs, outs, where, None if dtype is None else get_dtype(dtype), casting

    def _options(self, where: Any, dtype: Any, casting: str, structured: bool) -> dict[str, Any]:
        options: dict[str, Any] = {}
        if where is not None and where is not True:
            options["_where"] = where
        if dtype is not None:
            options["dtype"] = dtype
        if casting != "same_kind":
            options["casting"] = casting
        elif structured and self.__name__ != "clip":  # which takes no `casting`, and is no ufunc
            # Off the mock's shortest path, which is for numbers of NumPy's.
            options["casting"] = "same_kind"
        return options

    def _into(
        self, inputs: list[Any], outs: list[Any], options: dict[str, Any], shape: Any, dtypes: Any
    ) -> Any:
        """Write into given outputs; those of several that were not given are made first."""
        outs = [_ndarray(shape, d) if o is None else o for o, d in zip(outs, dtypes, strict=True)]
        options["out"] = outs[0] if self.nout == 1 else tuple(outs)
        calls.call_into(self._op, inputs, options)
        return outs[0] if self.nout == 1 else tuple(outs)

    def _resolve(self, inputs: list[Any], dtype: Any, stores: bool) -> tuple[Any, ...]:
        """Return the output dtypes by CuPy's loops; `stores`: there are elements to compute."""
        if dtype is None:
            kinds = [kind_of(x) for x in inputs]
            dtypes = tuple([k[0] for k in kinds])
            weak = tuple([k[1] for k in kinds])
            if self.__name__ in ("equal", "not_equal") and all(d.kind == "V" for d in dtypes):
                check_comparable(np.result_type(*dtypes))
                return (np.dtype(np.bool_),)
            loop = self._loops.by_inputs(dtypes, weak)
        else:
            for x in inputs:
                kind_of(x)
            loop = self._loops_by_dtype.by_output(dtype)
        if stores:
            for value, used in zip(inputs, loop.ins, strict=True):
                kind = type(value)
                if kind is int:
                    if not -128 <= value <= 127 or used.kind == "u":
                        check_value(value, used)
                elif (kind is float or kind is complex) and used.kind in "biu":
                    check_value(value, used)
        return loop.outs

    # ---------------------------------------------------------------- methods

    def outer(self, A: Any, B: Any, /, **kwargs: Any) -> Any:
        """Apply to all pairs of an element of A and an element of B.

        Both may be what `array` takes.
        """
        from cupool.client_shim.cupy._creation.from_data import asarray

        A, B = asarray(A), asarray(B)
        left = A.reshape(A.shape + (1,) * B.ndim)
        return self(left, B.reshape((1,) * A.ndim + B.shape), **kwargs)

    def at(self, a: Any, indices: Any, b: Any = None) -> None:
        """Apply in place at indices, repeated ones included.

        Raises:
            NotImplementedError: CuPy has it for add, subtract, maximum, minimum and the bitwise
                ufuncs only.
            TypeError: for `a`'s dtype there is no atomic operation.
        """
        if self.__name__ not in _AT:
            raise NotImplementedError(f"`{self.name}.at` is not supported yet")
        from cupool.client_shim.cupy._core import routines_indexing

        chars, words = _AT[self.__name__]
        refusal = ""
        if a.dtype.char not in chars:
            refusal = f"cupy.{self.__name__}.at only supports {words} as data type"
        routines_indexing.ufunc_at(f"{self.__name__}.at", a, indices, b, refusal)

    def reduce(
        self, array: Any, axis: Any = 0, dtype: Any = None, out: Any = None, keepdims: bool = False
    ) -> Any:
        """Reduce along axes with this function (the first axis by default)."""
        from cupool.client_shim.cupy._core import _reduction

        return _reduction.ufunc_reduce(self, array, axis, dtype, out, keepdims)

    def accumulate(self, array: Any, axis: int = 0, dtype: Any = None, out: Any = None) -> Any:
        """Running result along an axis."""
        from cupool.client_shim.cupy._core import _reduction

        return _reduction.ufunc_accumulate(self, array, axis, dtype, out)

    def reduceat(
        self, array: Any, indices: Any, axis: int = 0, dtype: Any = None, out: Any = None
    ) -> Any:
        """Reduce over the slices that start at the indices."""
        from cupool.client_shim.cupy._core import _reduction

        return _reduction.ufunc_reduceat(self, array, indices, axis, dtype, out)


def operand(value: Any) -> Any:
    """Return an array or scalar that may enter a ufunc, or raise CuPy's TypeError."""
    if isinstance(value, _ndarray) or type(value) in _WEAK:
        return value
    if isinstance(value, np.generic) and value.dtype.kind in "biufcmMV":
        return value
    found = from_cupy_like(value)
    if found is not None:
        return found
    raise TypeError(f"Unsupported type {type(value)}")


def check_out(out: Any, shape: Any, made: np.dtype[Any], casting: str) -> None:
    """Check an output that was given: its shape, and that the result casts to it."""
    if out.shape != shape:
        raise ValueError("Out shape is mismatched")
    if not np.can_cast(made, out.dtype, casting):  # type: ignore[arg-type]
        raise TypeError(
            f"Cannot cast output operand from {made!r} to {out.dtype!r} according to the rule "
            f"'{casting}'"
        )
    if made.kind == "c" and out.dtype.kind in "biuf":
        warn_complex()


def _as_subclass(array: Any, template: Any) -> Any:
    view = core.view_of(array, array._shadow, type(template))
    view._handle, view._owner = array._handle, None
    view.__array_finalize__(template)
    return view

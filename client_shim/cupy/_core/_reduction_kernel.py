"""`cupy.ReductionKernel`: a map, a reduction and a last step, each an expression of CUDA C++."""

from __future__ import annotations

from math import prod
from typing import Any

from cupool.client_shim import session as _session
from cupool.client_shim.cupy._core import _kernel_arguments as arguments
from cupool.client_shim.cupy._core import core
from cupool.client_shim.cupy._core._kernel_codes import KernelCodes
from cupool.client_shim.cupy._core._reduction import reduced_shape
from cupool.client_shim.cupy._core.routines_indexing import normalize_axes
from cupool.proto import kernels, values


class ReductionKernel(KernelCodes):
    """A kernel that reduces along axes of its broadcast inputs.

    Args:
        in_params, out_params: parameter lists, e.g. "T x, T y" and "T z".
        map_expr: what of an element is reduced.
        reduce_expr: how `a` and `b` become one value.
        post_map_expr: what becomes of the reduced `a`, e.g. "z = sqrt(a)".
        identity: the value to begin with; "" or None if there is none.
        name: the kernel's name, for profilers.
        reduce_type: C++ type of `a` and `b`; that of the first output by default.
        reduce_dims: let contiguous dimensions be joined.
        preamble: code before the kernel.
        options: for the compiler.

    Raises:
        ValueError: a name that is none.

    See https://docs.cupy.dev/en/stable/reference/generated/cupy.ReductionKernel.html
    """

    _deferred = "the first function call or CUB is enabled"

    __module__ = "cupy"

    def __init__(
        self,
        in_params: str,
        out_params: str,
        map_expr: str,
        reduce_expr: str,
        post_map_expr: str,
        identity: Any,
        name: str = "reduce_kernel",
        reduce_type: str | None = None,
        reduce_dims: bool = True,
        preamble: str = "",
        options: tuple[str, ...] = (),
    ) -> None:
        if not kernels.is_valid_name(name):
            raise ValueError(f'Invalid kernel name: "{name}"')
        self.in_params = kernels.parse(in_params, True)
        self.out_params = kernels.parse(out_params, False)
        self.params = self.in_params + self.out_params
        self.nin = len(self.in_params)
        self.nout = len(self.out_params)
        self.nargs = self.nin + self.nout
        self.map_expr = map_expr
        self.reduce_expr = reduce_expr
        self.post_map_expr = post_map_expr
        self.identity = "" if identity is None else str(identity)
        self.name = self.__name__ = name
        self.reduce_type = reduce_type
        self.reduce_dims = bool(reduce_dims)
        self.preamble = preamble
        self.options = tuple(options)
        texts = (in_params, out_params, map_expr, reduce_expr, post_map_expr, self.identity, name)
        extra = {
            "reduce_type": reduce_type,
            "reduce_dims": self.reduce_dims,
            "preamble": preamble,
            "options": self.options,
        }
        self._definition = arguments.Definition("ReductionKernel", texts, extra)
        self._types = arguments.TypeMemo(self.in_params, self.out_params)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Queue a call; it is compiled at the first one with such dtypes.

        Args:
            args: inputs, and outputs if they are given.
            out: the output, if not among `args`.
            axis: axes to reduce along; all by default.
            keepdims: keep them with length one.
            stream: as the current stream.

        Returns:
            the first output.

        Raises:
            CompileException: with the compiler's log.
            TypeError, ValueError, AxisError: wrong arguments; no elements and no identity.
        """
        axis, keepdims, outs = self._options(args, kwargs)
        inputs = arguments.operands(args[: self.nin])
        outs = arguments.operands(outs)
        source_shape = arguments.loop_shape(inputs, self.in_params, False)
        if outs and not all(isinstance(out, core.ndarray) for out in outs):
            raise TypeError("Output arguments type must be cupy.ndarray")
        types = self._types(inputs, outs)
        axes = tuple(sorted(normalize_axes(axis, len(source_shape))))
        shape = reduced_shape(source_shape, axes, keepdims)
        arguments.check_outputs(outs, self.out_params, shape, False)
        if 0 in shape:
            return (outs or [core.ndarray(shape, types.outputs[0])])[0]
        if not self.identity and 0 in source_shape:
            raise ValueError(
                f"zero-size array to reduction operation {self.name} which has no identity"
            )
        if any(p.raw for p in self.in_params) and axes != tuple(range(len(axes))):
            raise NotImplementedError("Illegal conditions")
        session = _session.session()
        wire = arguments.encode(
            [*inputs, *outs], types.inputs + types.outputs[: len(outs)], session
        )
        made = [] if outs else [(shape, dtype) for dtype in types.outputs]
        large = prod(source_shape) // prod(shape) > 0x7FFFFFFF
        signature = (arguments.signature_of([*inputs, *outs]), large)
        options = ((values.TUPLE, axes), keepdims)
        new = self._definition.launch(session, signature, wire, options, made)
        return (outs or new)[0]

    def _options(
        self, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> tuple[Any, bool, list[Any]]:
        kwargs = dict(kwargs)
        out = kwargs.pop("out", None)
        axis = kwargs.pop("axis", None)
        keepdims = bool(kwargs.pop("keepdims", False))
        kwargs.pop("stream", None)
        if kwargs:
            raise TypeError(f"Wrong arguments {kwargs}")
        if len(args) not in (self.nin, self.nargs):
            raise TypeError(f"Wrong number of arguments for {self.name}")
        outs = list(args[self.nin :])
        if out is not None:
            if self.nout != 1:
                raise NotImplementedError("")
            if outs:
                raise ValueError("cannot specify 'out' as both a positional and keyword argument")
            outs = [out]
        return axis, keepdims, outs

    @property
    def _cached_codes(self) -> dict[tuple[Any, ...], str]:
        return self._definition.codes()

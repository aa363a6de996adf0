"""`cupy.ElementwiseKernel`: one statement of CUDA C++, run for every element."""

from __future__ import annotations

import operator
from typing import Any

from cupool.client_shim import session as _session
from cupool.client_shim.cupy._core import _kernel_arguments as arguments
from cupool.client_shim.cupy._core import core
from cupool.client_shim.cupy._core._kernel_codes import KernelCodes
from cupool.proto import kernels

_OPTIONS = {"loop_prep": "", "after_loop": "", "options": ()}


class ElementwiseKernel(KernelCodes):
    """A kernel that runs an operation for each element of its broadcast arguments.

    Args:
        in_params, out_params: parameter lists, e.g. "T x, raw float32 y".
        operation: the body of the loop, CUDA C++. `i` is the index, `_ind.size()` their number.
        name: the kernel's name, for profilers.
        reduce_dims: let contiguous dimensions be joined (faster, and `_ind` loses them).
        preamble: code before the kernel.
        no_return: calls return None.
        return_tuple: calls return a tuple also for one output.
        loop_prep, after_loop: code before and after the loop.
        options: for the compiler.

    Raises:
        ValueError: a name that is none, or a parameter named `i`.

    See https://docs.cupy.dev/en/stable/reference/generated/cupy.ElementwiseKernel.html
    """

    __module__ = "cupy"

    def __init__(
        self,
        in_params: str,
        out_params: str,
        operation: str,
        name: str = "kernel",
        reduce_dims: bool = True,
        preamble: str = "",
        no_return: bool = False,
        return_tuple: bool = False,
        **kwargs: Any,
    ) -> None:
        if not kernels.is_valid_name(name):
            raise ValueError(f'Invalid kernel name: "{name}"')
        unknown = kwargs.keys() - _OPTIONS.keys()
        if unknown:
            raise TypeError(f"Wrong arguments {sorted(unknown)}")
        self.in_params = kernels.parse(in_params, True)
        self.out_params = kernels.parse(out_params, False)
        self.params = self.in_params + self.out_params
        if any(p.name == "i" for p in self.params):
            raise ValueError("Can not use 'i' as a parameter name")
        self.nin = len(self.in_params)
        self.nout = len(self.out_params)
        self.nargs = self.nin + self.nout
        self.operation = operation
        self.name = self.__name__ = name
        self.reduce_dims = bool(reduce_dims)
        self.preamble = preamble
        self.no_return = bool(no_return)
        self.return_tuple = bool(return_tuple)
        self.kwargs = kwargs
        options = {"preamble": preamble, "reduce_dims": self.reduce_dims, **_OPTIONS, **kwargs}
        options["options"] = tuple(options["options"])
        texts = (in_params, out_params, operation, name)
        self._definition = arguments.Definition("ElementwiseKernel", texts, options)
        self._types = arguments.TypeMemo(self.in_params, self.out_params)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Queue a call; it is compiled at the first one with such dtypes.

        Args:
            args: inputs, and outputs if they are given.
            size: steps of the loop; exactly if no array tells, because all are raw.
            block_size: threads of a block, 128 by default.
            stream: as the current stream.

        Returns:
            the output, a tuple of several, or None, as the kernel was made.

        Raises:
            CompileException: with the compiler's log.
            TypeError, ValueError: arguments of wrong number, type or shape.
        """
        for arg in args:
            override = getattr(arg, "__cupy_override_elementwise_kernel__", None)
            if override is not None:
                return override(self, *args, **kwargs)
        size, block_size = self._options(kwargs)
        if len(args) not in (self.nin, self.nargs):
            raise TypeError(
                f"Wrong number of arguments for {self.name!r}. It must be either {self.nin} or"
                f" {self.nargs} (with outputs), but given {len(args)}."
            )
        given = arguments.operands(args)
        inputs, outs = given[: self.nin], given[self.nin :]
        shape = arguments.loop_shape(given, self.params, size is not None)
        if outs and not all(isinstance(out, core.ndarray) for out in outs):
            raise TypeError("Output arguments type must be cupy.ndarray")
        types = self._types(inputs, outs)
        if size is not None:
            shape = (size,)
        arguments.check_outputs(outs, self.out_params, shape, size is not None)
        if 0 in shape:
            return self._result(outs or [core.ndarray(shape, dtype) for dtype in types.outputs])
        session = _session.session()
        wire = arguments.encode(given, types.inputs + types.outputs[: len(outs)], session)
        made = [] if outs else [(shape, dtype) for dtype in types.outputs]
        signature = arguments.signature_of(given)
        new = self._definition.launch(session, signature, wire, (size, block_size), made)
        return self._result(outs or new)

    def _options(self, kwargs: dict[str, Any]) -> tuple[int | None, int]:
        kwargs = dict(kwargs)
        size = kwargs.pop("size", -1)
        kwargs.pop("stream", None)
        block_size = operator.index(kwargs.pop("block_size", 128))
        if kwargs:
            raise TypeError(f"Wrong arguments {kwargs}")
        if block_size <= 0:
            raise ValueError("block_size must be greater than zero")
        size = None if size is None else operator.index(size)
        return (None if size == -1 else size), block_size

    def _result(self, outs: list[Any]) -> Any:
        if self.no_return:
            return None
        return outs[0] if self.nout == 1 and not self.return_tuple else tuple(outs)

    @property
    def _cached_codes(self) -> dict[tuple[Any, ...], str]:
        return self._definition.codes()

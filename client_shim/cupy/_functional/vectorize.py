"""`cupy.vectorize`: a Python function of scalars becomes an element-wise kernel."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

__all__ = ["vectorize"]


class vectorize:
    """A function that is applied to every element, with broadcasting.

    Args:
        pyfunc: function of scalars, with its source text at hand. It is compiled for the dtypes of
            the arguments, by NumPy's rules for scalars, and never runs as Python.
        otypes: not supported when called, as in CuPy.
        doc: documentation; by default the function's.
        excluded, signature: not supported.
        cache: accepted.

    Raises:
        NotImplementedError: `excluded` or `signature`.

    See https://docs.cupy.dev/en/stable/reference/generated/cupy.vectorize.html
    """

    __module__ = "cupy"

    def __init__(
        self,
        pyfunc: Callable[..., Any],
        otypes: Any = None,
        doc: str | None = None,
        excluded: Any = None,
        cache: bool = False,
        signature: Any = None,
    ) -> None:
        for name, value in (("excluded", excluded), ("signature", signature)):
            if value is not None:
                raise NotImplementedError(
                    f"cupy.vectorize does not support `{name}` option currently."
                )
        self.pyfunc = pyfunc
        self.__doc__ = doc or pyfunc.__doc__
        self.excluded = excluded
        self.cache = cache
        self.signature = signature
        self.otypes = None if otypes is None else "".join(np.dtype(t).char for t in otypes)
        self._kernels: dict[str, Any] = {}

    def __call__(self, *args: Any) -> Any:
        """Apply to arrays and scalars; a function that returns a tuple gives a tuple of arrays.

        Raises:
            TypeError, ValueError, NotImplementedError: what a kernel cannot have; the text names
                the line.
        """
        if self.otypes is not None:
            raise NotImplementedError("cupy.vectorize does not support `otypes` option currently.")
        chars = "".join([_type_char(a) for a in args])
        kernel = self._kernels.get(chars)
        if kernel is None:
            kernel = self._kernels[chars] = _compile(self.pyfunc, chars)
        return kernel(*args)


def _type_char(value: Any) -> str:
    dtype = value.dtype if hasattr(value, "dtype") else np.dtype(type(value))
    return str(dtype.char)


def _compile(func: Callable[..., Any], chars: str) -> Any:
    """Return the element-wise kernel of a function for arguments of these types.

    Raises:
        TypeError: it returns something else than numbers.
    """
    from cupool.client_shim.cupy._core._elementwise_kernel import ElementwiseKernel
    from cupool.client_shim.cupyx.jit import _compile, _cuda_types, _interface

    types = tuple([_cuda_types.scalar(char) for char in chars])
    result = _compile.transpile(func, "numpy", types, kernel=False)
    returned = result.return_type
    is_tuple = isinstance(returned, _cuda_types.Tuple)
    parts = returned.types if isinstance(returned, _cuda_types.Tuple) else (returned,)
    outputs = []
    for i, part in enumerate(parts):
        if not isinstance(part, _cuda_types.Scalar):
            raise TypeError(f"Invalid return type: {returned}")
        outputs.append(f"{part.dtype} out{i}")
    inputs = [f"{t.dtype} in{i}" for i, t in enumerate(types)]
    call = f"{result.func_name}({', '.join([f'in{i}' for i in range(len(types))])})"
    lines = [f"out0 = {call};"]
    if is_tuple:
        lines = [f"auto result = {call};"]
        lines += [f"out{i} = jit::get<{i}>(result);" for i in range(len(parts))]
    return ElementwiseKernel(
        ", ".join(inputs),
        ", ".join(outputs),
        "\n".join(lines),
        "cupy_vectorize",
        preamble=result.code,
        options=_interface.OPTIONS,
    )

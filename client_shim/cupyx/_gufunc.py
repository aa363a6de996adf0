"""`cupyx.GeneralizedUFunc`."""

from __future__ import annotations

from cupool.client_shim.cupy._core._gufuncs import _GUFunc


class GeneralizedUFunc(_GUFunc):
    """A function of the user's on core dimensions, looped over the others.

    Args:
        func: takes the inputs; returns an array or a tuple of them.
        signature: core dimensions, e.g. "(i,j),(j,k)->(i,k)".
        name, doc: those of `func` by default.
        supports_batched: `func` takes arrays with the outer dimensions, too.
        supports_out: `func` takes `out=`.
        signatures: "dd->d" texts, or tuples of one and a function for these dtypes.

    See https://docs.cupy.dev/en/stable/reference/generated/cupyx.GeneralizedUFunc.html
    """

    __module__ = "cupyx"

"""A row of the operation table."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

Kind: TypeAlias = Literal[
    "core", "request", "ufunc", "function", "random", "object", "kernel", "query"
]
"""core: data movement that devices implement themselves (allocate, view, copy).
request: answered by a message (fetch, describe, synchronize).
ufunc: element by element with broadcasting, `out`, `where`, `dtype`, `casting`.
function: arrays in, arrays out.
random: draws from a generator object that lives on the device.
object: makes an object that lives on the device, or is a method of one.
kernel: makes a user's kernel, or launches it; arguments and results may be objects.
query: answered by a message as a request is, with what the device knows of its objects."""


@dataclass(frozen=True, slots=True)
class Operation:
    """One operation.

    Attributes:
        name: on the wire; CuPy's name without the leading ``cupy.``.
        kind: who implements it, see `Kind`.
        cupy: dotted name that the CUDA device calls; "" where the device has a method for it.
        numpy: dotted name that the mock calls; "" where the mock has an adapter of this name.
        rule: how the shim predicts dtype and shape: "ufunc" (`_core/_kernel.py`), "reduction" and
            "scan" (`_core/_reduction.py`), "matmul" (`_core/products.py`), "own" (the shim's
            function itself). "data" where the values on the device decide, always or in some
            calls: how much there is, or an error that CuPy raises at once, so that it waits too.
            The shim then asks the server, which costs a wait; no other row may. "" where there
            are no results to predict.
        outputs: arrays made; -1 where it depends on the arguments.
    """

    name: str
    kind: Kind
    cupy: str = ""
    numpy: str = ""
    rule: str = ""
    outputs: int = 1

    @property
    def has_objects(self) -> bool:
        """Whether arguments and results may be objects of the device that are no arrays."""
        return self.kind in ("random", "object", "kernel")

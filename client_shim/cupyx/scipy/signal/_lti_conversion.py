"""State spaces: which of the four matrices are missing, and whether shapes fit."""

from __future__ import annotations

from typing import Any

from cupool.client_shim.cupyx.scipy._declared import Spec
from cupool.client_shim.cupyx.scipy.signal._rules import FLOAT

__all__ = ["abcd_normalize", "state_space"]


def _matrix(given: Spec) -> Spec:
    """Return what `atleast_2d` makes of an array."""
    shape = given.shape if len(given.shape) > 1 else (1, *(given.shape or (1,)))
    return Spec(shape, given.dtype)


def state_space(*given: Spec | None) -> list[Spec]:
    """Return shapes and dtypes of A, B, C and D; those that are missing hold zeros.

    Raises:
        ValueError: shapes that do not fit, or of which too few are known.
    """
    matrices = [None if m is None else _matrix(m) for m in given]
    shapes = [(None, None) if m is None else m.shape[:2] for m in matrices]
    a, b, c, d = shapes
    states, inputs, outputs = (
        next((n for n in found if n is not None), None)
        for found in ((a[0], b[0], c[1]), (b[1], d[1]), (c[0], d[0]))
    )
    if states is None or inputs is None or outputs is None:
        raise ValueError("Not enough information on the system.")
    wanted = ((states, states), (states, inputs), (outputs, states), (outputs, inputs))
    made = []
    for matrix, shape in zip(matrices, wanted, strict=True):
        if matrix is None or matrix.shape == (0, 0):
            matrix = Spec(shape, FLOAT)
        if matrix.shape != shape:
            raise ValueError("The input arrays have incompatible shapes.")
        made.append(matrix)
    return made


def abcd_normalize(A: Any = None, B: Any = None, C: Any = None, D: Any = None) -> Any:
    """Complete a state space with zeros, and check that its shapes fit.

    Raises:
        ValueError: shapes that do not fit, or of which too few are known.
    """
    from cupool.client_shim import cupy

    given = [None if m is None else cupy.atleast_2d(cupy.asarray(m)) for m in (A, B, C, D)]
    wanted = state_space(*(None if m is None else Spec(m.shape, m.dtype) for m in given))
    return tuple(
        cupy.zeros(spec.shape) if m is None or m.shape != spec.shape else m
        for m, spec in zip(given, wanted, strict=True)
    )

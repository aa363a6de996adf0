"""What is known of a linear system without looking at its numbers on the device."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from cupool.client_shim.cupyx.scipy._declared import Spec
from cupool.client_shim.cupyx.scipy.signal._lti_conversion import state_space
from cupool.client_shim.cupyx.scipy.signal._rules import FLOAT, coefficients, described, on_device

__all__ = ["System", "described_system"]


class System(NamedTuple):
    """A system's lengths.

    Attributes:
        states: None if the device would have to look for leading zeros.
        exact: what it computes is float64.
    """

    states: int | None
    inputs: int
    outputs: int
    exact: bool


def _of_polynomials(num: Any, den: Any, trimmed: bool) -> System:
    numerators, denominator = described(num), coefficients(den)
    states: int | None = None
    if trimmed or not on_device(den):
        kept = denominator.shape[0]
        if not trimmed:
            kept = np.trim_zeros(np.atleast_1d(np.asarray(den)), "f").size
        states = max(kept - 1, 1)
    outputs = numerators.shape[0] if len(numerators.shape) == 2 else 1
    real = "c" not in (numerators.dtype.kind, denominator.dtype.kind)
    return System(states, 1, outputs, real)


def _of_roots(p: Any, k: Any) -> System:
    poles, gain = coefficients(p), described(k)
    return System(max(poles.shape[0], 1), 1, 1, gain.dtype.kind != "c")


def _of_matrices(*matrices: Any) -> System:
    found: list[Spec] = state_space(*(None if m is None else described(m) for m in matrices))
    a, b, c, _ = found
    exact = all(m.dtype == FLOAT for m in found)
    return System(a.shape[0], b.shape[1], c.shape[0], exact)


def described_system(parts: tuple[Any, ...], trimmed: bool = False) -> System:
    """Describe a system of 2 (polynomials), 3 (zeros, poles, gain) or 4 arrays (a state space).

    Args:
        trimmed: the polynomials are those of an object, without leading zeros.

    Raises:
        ValueError: another number of arrays, shapes that do not fit.
    """
    if len(parts) == 2:
        return _of_polynomials(*parts, trimmed)
    if len(parts) == 3:
        return _of_roots(*parts[1:])
    if len(parts) == 4:
        return _of_matrices(*parts)
    raise ValueError("a system has 2, 3 or 4 arrays")

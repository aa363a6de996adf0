"""Partial fractions. What roots coincide decides how many results there are: all are asked for."""

from __future__ import annotations

from typing import Any

from cupool.client_shim.cupyx.scipy._declared import declared

__all__ = ["invres", "invresz", "residue", "residuez", "unique_roots"]
_operation = declared("scipy.signal")


@_operation
def residue(b: Any, a: Any, tol: Any = 0.001, rtype: Any = "avg") -> Any:
    """Return residues, poles and direct terms of a ratio of polynomials."""
    return 3


@_operation
def residuez(b: Any, a: Any, tol: Any = 0.001, rtype: Any = "avg") -> Any:
    """Return residues, poles and direct terms, in powers of 1/z."""
    return 3


@_operation
def invres(r: Any, p: Any, k: Any, tol: Any = 0.001, rtype: Any = "avg") -> Any:
    """Return numerator and denominator of residues, poles and direct terms."""
    return 2


@_operation
def invresz(r: Any, p: Any, k: Any, tol: Any = 0.001, rtype: Any = "avg") -> Any:
    """Return numerator and denominator, in powers of 1/z."""
    return 2


@_operation
def unique_roots(p: Any, tol: Any = 0.001, rtype: Any = "min") -> Any:
    """Group roots that are close to each other; return them and how many each is."""
    return 2

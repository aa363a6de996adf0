"""Complex roots in conjugate pairs."""

from __future__ import annotations

from typing import Any

__all__: list[str] = []


def _cplxreal(z: Any, tol: float | None = None) -> tuple[Any, Any]:
    """Split roots into one of each conjugate pair and the real ones, both sorted.

    Raises:
        ValueError: a complex root without its conjugate.
    """
    from cupool.client_shim import cupy

    z = cupy.atleast_1d(cupy.asarray(z))
    if not z.size:
        return z, z
    if tol is None:
        tol = 100 * float(cupy.finfo((1.0 * z).dtype).eps)
    is_real = abs(z.imag) <= tol * abs(z)
    real = cupy.sort(z[is_real].real)
    rest = z[~is_real]
    if not rest.size:
        return cupy.array([]), real
    upper, lower = rest[rest.imag > 0], rest[rest.imag < 0].conj()
    if upper.size != lower.size:
        raise ValueError("Array contains complex value with no matching conjugate.")
    upper, lower = (_sorted(part, tol) for part in (upper, lower))
    if bool((abs(upper - lower) > tol * abs(lower)).any()):
        raise ValueError("Array contains complex value with no matching conjugate.")
    return (upper + lower) / 2, real


def _sorted(z: Any, tol: float) -> Any:
    """Sort by real parts, by imaginary parts where the real parts are the same up to `tol`."""
    from cupool.client_shim import cupy

    z = z[cupy.argsort(z.real)]
    step = cupy.diff(z.real) > tol * abs(z[:-1])
    group = cupy.concatenate((cupy.zeros(1, int), cupy.cumsum(step.astype(int))))
    return z[cupy.lexsort(cupy.stack((z.imag, group.astype(float))))]

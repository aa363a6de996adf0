"""`angle`, `real`, `imag`; the arithmetic ufuncs are in `_core._ufuncs`."""

from __future__ import annotations

from typing import Any

from cupool.client_shim.cupy._core import _kernel, _loops, _ufuncs, calls, core
from cupool.client_shim.cupy._creation.from_data import array

__all__ = ["angle", "imag", "real"]
ndarray = core.ndarray


def angle(z: Any, deg: bool = False) -> ndarray:
    """Return the argument of complex numbers in radians, or degrees with `deg`.

    Raises:
        TypeError: not a device array or scalar.
    """
    z = _kernel.operand(z)
    dtype, weak = _loops.kind_of(z)
    loop = _ufuncs.angle_loops.by_inputs((dtype,), (weak,))
    shape = z.shape if isinstance(z, ndarray) else ()
    return calls.call_one("angle", (z, bool(deg)), None, shape, loop.outs[0])


def real(val: Any) -> ndarray:
    """Return the real part: a view of a complex array, a real array itself."""
    made = val if isinstance(val, ndarray) else array(val)
    return made.real  # type: ignore[no-any-return]


def imag(val: Any) -> ndarray:
    """Return the imaginary part: a view of a complex array, zeros for a real one."""
    made = val if isinstance(val, ndarray) else array(val)
    return made.imag  # type: ignore[no-any-return]

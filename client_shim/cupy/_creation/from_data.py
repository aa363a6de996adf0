"""Arrays from host data and from other arrays; files are read on the client's disk."""

from __future__ import annotations

from typing import Any

import numpy as np

from cupool.client_shim import session as _session
from cupool.client_shim import shadow as _shadow
from cupool.client_shim.cupy._core import core, views
from cupool.client_shim.cupy._core._dtype import check_supported, get_dtype
from cupool.client_shim.cupy._core.foreign import from_interface

__all__ = [
    "array",
    "asanyarray",
    "asarray",
    "ascontiguousarray",
    "asfortranarray",
    "asnumpy",
    "copy",
    "frombuffer",
    "fromfile",
    "fromfunction",
    "fromiter",
    "fromstring",
    "genfromtxt",
    "loadtxt",
]
ndarray = core.ndarray


def upload(host: np.ndarray[Any, Any], wanted: str = "C") -> ndarray:
    """Copy a host array to the current device; layout C, or F if it is F contiguous only.

    Args:
        wanted: the layout to prefer, "C" or "F", where the array has both.
    """
    if not host.dtype.isnative:
        host = host.astype(host.dtype.newbyteorder("="))
    check_supported(host.dtype)
    flags = host.flags
    if not (flags.c_contiguous or flags.f_contiguous):
        host = np.ascontiguousarray(host)
    order = "C" if host.flags.c_contiguous else "F"
    if wanted == "F" and host.flags.f_contiguous:
        order = "F"
    made = _shadow.make(host.shape, host.dtype, order)
    out = (host.shape, host.dtype, order)
    return core.wrap(made, _session.session().upload("upload", (), host, out)[0])


def array(
    obj: Any,
    dtype: Any = None,
    copy: bool | None = True,
    order: str | None = "K",
    subok: bool = False,
    ndmin: int = 0,
    *,
    blocking: bool = False,
) -> ndarray:
    """Return an array on the current device from anything array-like.

    Nested lists that hold device arrays are stacked on the device.

    Args:
        copy: None copies a device array only if something has to change, False refuses to.
        order: "C", "F", "A" or "K".
        ndmin: pad with axes of length one in front.
        blocking: accepted; the host data is read before this returns in any case.

    Raises:
        ValueError: the dtype does not exist on the device; a copy is needed and refused.
        NotImplementedError: `subok` is true.
    """
    if subok:
        raise NotImplementedError("subok is not supported")
    char = core.order_char(order or "K", allowed="CFAK")
    wanted = None if dtype is None else get_dtype(np.dtype(dtype))  # fields may be a list here
    source = from_cupy_like(obj)
    if source is not None:
        made = _from_array(source, wanted, copy, char)
    elif _holds_device_arrays(obj):
        made = _stack(obj, wanted, char)
    else:
        if copy is False:
            raise ValueError(
                "Unable to avoid copy while creating an array from host data as requested."
            )
        host = np.array(obj, dtype=wanted, order=char, copy=None, ndmin=ndmin)  # type: ignore[call-overload]
        made = upload(host, char)
    if made.ndim < ndmin:
        made = views.reshape(made, (1,) * (ndmin - made.ndim) + made.shape)
    return made


def from_cupy_like(obj: Any) -> ndarray | None:
    """Return a device array, or what its owner says is one; None for anything else."""
    if isinstance(obj, ndarray):
        session = core.session_of(obj)
        if session.ordinal != _session.current.device or not session.open:
            session.check()
            return core.brought(obj)
        return obj
    convert = getattr(obj, "__cupy_get_ndarray__", None)
    if convert is not None:
        made: ndarray = convert()
        return made
    if isinstance(obj, (np.ndarray, np.generic, list, tuple, int, float, complex)):
        return None
    interface = getattr(obj, "__cuda_array_interface__", None)
    return None if interface is None else from_interface(interface)


def _from_array(a: ndarray, dtype: Any, copy: Any, order: str) -> ndarray:
    same = dtype is None or dtype == a.dtype
    flags = a.flags
    fits = {"C": flags.c_contiguous, "F": flags.f_contiguous}.get(order, True)
    if not copy and same and fits:
        return a
    if copy is False:
        raise ValueError("Unable to avoid copy while creating an array as requested.")
    return a.astype(a.dtype if dtype is None else dtype, order=order)  # type: ignore[no-any-return]


def _is_device_array(obj: Any) -> bool:
    return isinstance(obj, ndarray) or any(
        hasattr(obj, name) for name in ("__cupy_get_ndarray__", "__cuda_array_interface__")
    )


def _holds_device_arrays(obj: Any) -> bool:
    while isinstance(obj, (list, tuple)) and obj:
        if any(_is_device_array(x) for x in obj):
            return True
        obj = obj[0]
    return False


def _stack(obj: Any, dtype: Any, order: str) -> ndarray:
    """Stack nested sequences of device arrays (and host scalars) of one shape."""
    from cupool.client_shim.cupy._manipulation.join import stack

    made = stack([array(x, copy=None) for x in obj])
    wanted = made.dtype if dtype is None else dtype
    return made.astype(wanted, order="F" if order == "F" else "C", copy=False)  # type: ignore[no-any-return]


def asarray(
    a: Any,
    dtype: Any = None,
    order: str | None = None,
    *,
    copy: bool | None = None,
    blocking: bool = False,
) -> ndarray:
    """Return an array on the current device, without copying a device array that fits."""
    return array(a, dtype, copy, order, blocking=blocking)


def asanyarray(
    a: Any,
    dtype: Any = None,
    order: str | None = None,
    *,
    copy: bool | None = None,
    blocking: bool = False,
) -> ndarray:
    """Return an array on the current device; subclasses pass through."""
    return array(a, dtype, copy, order, blocking=blocking)


def ascontiguousarray(a: Any, dtype: Any = None) -> ndarray:
    """Return a C-contiguous array of at least one axis."""
    return array(a, dtype, None, "C", ndmin=1)


def asfortranarray(a: Any, dtype: Any = None) -> ndarray:
    """Return an F-contiguous array of at least one axis."""
    return array(a, dtype, None, "F", ndmin=1)


def copy(a: Any, order: str = "K") -> ndarray:
    """Return a copy on the current device."""
    made: ndarray = views.require(a).copy(order=order)
    return made


def frombuffer(*args: Any, **kwargs: Any) -> ndarray:
    """Return `numpy.frombuffer(...)` on the device."""
    return upload(np.frombuffer(*args, **kwargs))


def fromfile(*args: Any, **kwargs: Any) -> ndarray:
    """Read a file of this machine, as `numpy.fromfile`."""
    return upload(np.fromfile(*args, **kwargs))


def fromfunction(*args: Any, **kwargs: Any) -> ndarray:
    """Call a function on host coordinates and return the result on the device."""
    return upload(np.asarray(np.fromfunction(*args, **kwargs)))


def fromiter(*args: Any, **kwargs: Any) -> ndarray:
    """Return `numpy.fromiter(...)` on the device."""
    return upload(np.fromiter(*args, **kwargs))


def fromstring(*args: Any, **kwargs: Any) -> ndarray:
    """Return `numpy.fromstring(...)` on the device."""
    return upload(np.fromstring(*args, **kwargs))


def loadtxt(*args: Any, **kwargs: Any) -> ndarray:
    """Read a text file of this machine, as `numpy.loadtxt`."""
    return upload(np.loadtxt(*args, **kwargs))


def genfromtxt(*args: Any, **kwargs: Any) -> ndarray:
    """Read a text file of this machine, as `numpy.genfromtxt`."""
    return upload(np.asarray(np.genfromtxt(*args, **kwargs)))


def asnumpy(
    a: Any, stream: Any = None, order: str = "C", out: Any = None, *, blocking: bool = True
) -> Any:
    """Return a NumPy array with the data of a device array; waits for it.

    Anything else goes through `numpy.asarray`.
    """
    if isinstance(a, ndarray):
        return a.get(stream=stream, order=order, out=out, blocking=blocking)
    source = from_cupy_like(a)
    if source is not None:
        return source.get(stream=stream, order=order, out=out, blocking=blocking)
    host = np.asarray(a, order=order)  # type: ignore[call-overload]
    if out is not None:
        out[...] = host
        return out
    return host

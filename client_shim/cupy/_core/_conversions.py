"""Where data leaves or enters the device: `get`, `set`, `item`, printing, pickling.

Everything here that returns a value waits for the device.
"""

from __future__ import annotations

import pickle
import warnings
from typing import Any

import numpy as np

from cupool.client_shim.cupy._core._fusion_thread_local import check_no_conversion
from cupool.errors import OperationNotSupported


def fetch(array: Any, destination: Any = None) -> Any:
    """Wait for the data; return a new host array in the array's own order."""
    from cupool.client_shim.cupy._core import core

    handle = core.handle_of(array)
    host = handle.session.fetch(handle, destination)
    if destination is None and host.dtype.char != array.dtype.char:
        host = host.view(array.dtype)  # long long, which NumPy tells from long of the same size
    return host


class Conversions:
    """Part of `cupy.ndarray`: between device and host."""

    __slots__ = ()
    shape: Any
    dtype: Any

    def get(
        self, stream: Any = None, order: str = "C", out: Any = None, blocking: bool = True
    ) -> Any:
        """Copy to the host.

        Args:
            stream: whose work is waited for; the thread's current one by default.
            order: "C", "F" or "A" layout of the result.
            out: NumPy array of the same shape and dtype to fill, C or F contiguous.
            blocking: accepted; the data is there on return.

        Returns:
            a NumPy array (`out` if given).

        Raises:
            TypeError, ValueError: `out` does not fit.
            the error of an operation that this array came from.
        """
        if stream is not None:
            from cupool.client_shim.cupy.cuda._runtime_streams import on_stream

            with on_stream(stream):
                return self.get(None, order, out, blocking)
        if out is None:
            host = fetch(self)
            char = (order or "C").upper()
            if char == "C":
                return host if host.flags.c_contiguous else np.ascontiguousarray(host)
            if char == "F":
                return host if host.flags.f_contiguous else np.asfortranarray(host)
            if char not in ("A", "K"):
                raise ValueError(f"unsupported order: {order}")
            return host
        if not isinstance(out, np.ndarray):
            raise TypeError("Only numpy.ndarray can be obtained fromcupy.ndarray")
        if out.dtype != self.dtype:
            raise TypeError(f"{out.dtype} array cannot be obtained from {self.dtype} array")
        if out.shape != self.shape:
            raise ValueError(
                f"Shape mismatch. Expected shape: {self.shape}, actual shape: {out.shape}"
            )
        if not (out.flags.c_contiguous or out.flags.f_contiguous):
            raise RuntimeError("`out` cannot be specified when copying to non-contiguous ndarray")
        host = fetch(self, out)
        if host is not out:
            out[...] = host
        return out

    def set(self, arr: Any, stream: Any = None) -> None:
        """Copy from a NumPy array of the same shape and dtype, in a stream.

        Raises:
            TypeError: not a NumPy array, or another dtype.
            ValueError: another shape.
        """
        from cupool.client_shim.cupy._core import core

        if stream is not None:
            from cupool.client_shim.cupy.cuda._runtime_streams import on_stream

            with on_stream(stream):
                return self.set(arr)
        if not isinstance(arr, np.ndarray):
            raise TypeError("Only numpy.ndarray can be set to cupy.ndarray")
        if self.dtype != arr.dtype:
            raise TypeError(f"{arr.dtype} array cannot be set to {self.dtype} array")
        if self.shape != arr.shape:
            raise ValueError(f"Shape mismatch. Old shape: {self.shape}, new shape: {arr.shape}")
        if not (arr.flags.c_contiguous or arr.flags.f_contiguous):
            arr = np.ascontiguousarray(arr)
        handle = core.handle_of(self)  # type: ignore[arg-type]
        handle.session.upload("write", (handle.ref,), arr, None)

    def item(self) -> Any:
        """Return the only element as a Python scalar.

        Raises:
            ValueError: there are more or fewer.
        """
        if self.size != 1:  # type: ignore[attr-defined]
            raise ValueError("can only convert an array of size 1 to a Python scalar")
        return self.get().item()

    def tolist(self) -> Any:
        """Return the elements as nested lists of Python scalars."""
        return self.get().tolist()

    def tobytes(self, order: str = "C") -> bytes:
        """Return the bytes of the elements in an order."""
        return bytes(self.get().tobytes(order))

    def tofile(self, fid: Any, sep: str = "", format: str = "%s") -> None:
        """Write to a file of this machine, as `numpy.ndarray.tofile`."""
        self.get().tofile(fid, sep, format)

    def dump(self, file: Any) -> None:
        """Pickle into a file of this machine."""
        if isinstance(file, str):
            with open(file, "wb") as opened:
                pickle.dump(self, opened)
        else:
            pickle.dump(self, file)

    def dumps(self) -> bytes:
        """Pickle into bytes."""
        return pickle.dumps(self)

    def __reduce__(self) -> Any:
        from cupool.client_shim import cupy

        return cupy.array, (self.get(order="A"),)

    def __copy__(self) -> Any:
        return self.copy()  # type: ignore[attr-defined]

    def __deepcopy__(self, memo: Any) -> Any:
        from cupool.client_shim.cupy._core import core
        from cupool.client_shim.cupy.cuda.device import Device

        with Device(core.session_of(self).ordinal):  # type: ignore[arg-type]
            return self.copy()  # type: ignore[attr-defined]

    def __bool__(self) -> bool:
        check_no_conversion()
        if self.size == 0:  # type: ignore[attr-defined]
            warnings.warn(
                "The truth value of an empty array is ambiguous. Returning False, but in future"
                " this will result in an error. Use `array.size > 0` to check that an array is"
                " not empty.",
                DeprecationWarning,
                stacklevel=2,
            )
            return False
        if self.size > 1:  # type: ignore[attr-defined]
            raise ValueError(
                "The truth value of an array with more than one element is ambiguous."
                " Use a.any() or a.all()"
            )
        return bool(self.get())

    def __int__(self) -> int:
        check_no_conversion()
        return int(self.get())

    def __float__(self) -> float:
        check_no_conversion()
        return float(self.get())

    def __complex__(self) -> complex:
        check_no_conversion()
        return complex(self.get())

    def __index__(self) -> int:
        return self.get().__index__()  # type: ignore[no-any-return]

    def __bytes__(self) -> bytes:
        return bytes(self.get())

    def __oct__(self) -> str:
        return oct(int(self))

    def __hex__(self) -> str:
        return hex(int(self))

    def __repr__(self) -> str:
        return repr(self.get())

    def __str__(self) -> str:
        return str(self.get())

    def __format__(self, spec: str) -> str:
        return format(self.get(), spec)

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        """The array for other libraries' wrappers; the address in it is opaque.

        Raises:
            BufferError: asked for by a library that would use it on this machine.
        """
        from cupool.client_shim.cupy import _util
        from cupool.client_shim.cupy._core import foreign

        foreign.refuse_library()
        return foreign.export(self, _util.CUDA_ARRAY_INTERFACE_EXPORT_VERSION)  # type: ignore[arg-type]

    def __dlpack__(
        self,
        *,
        stream: Any = None,
        max_version: Any = None,
        dl_device: Any = None,
        copy: bool | None = None,
    ) -> Any:
        """Return a capsule for `cupy.from_dlpack`, or with ``dl_device=(1, 0)`` of a host copy.

        Raises:
            BufferError: another device; or asked for its memory by a library of this machine.
            ValueError: the host without a copy.
        """
        from cupool.client_shim.cupy._core import dlpack, foreign

        if dl_device is None:
            foreign.refuse_library()
        return dlpack.export(self, stream, max_version, dl_device, copy)  # type: ignore[arg-type]

    def __dlpack_device__(self) -> tuple[int, int]:
        """Return DLPack's numbers of the array's device.

        Raises:
            BufferError: asked for by a library that would use it on this machine.
        """
        from cupool.client_shim.cupy._core import dlpack, foreign

        foreign.refuse_library()
        return dlpack.device_of(self)  # type: ignore[arg-type]

    def toDlpack(self) -> Any:
        """Deprecated: use `__dlpack__`."""
        from cupool.client_shim.cupy._core import dlpack

        return dlpack.toDlpack(self)  # type: ignore[arg-type]

    @property
    def cstruct(self) -> Any:
        """What a kernel takes for the array: not supported, the server makes it itself."""
        raise OperationNotSupported("cupy.ndarray.cstruct is not supported by cupool")

    def mdspan(self, *, index_type: Any, allow_unsafe: bool = False) -> Any:
        """Return the array as an argument for a kernel that takes a `cuda::std::mdspan`.

        Args:
            index_type: int32 or int64; of extents and strides.
            allow_unsafe: allow extents of 0 and strides that are not positive.

        Raises:
            ValueError, RuntimeError: the array cannot be one.
        """
        from cupool.client_shim.cupy._core._mdspan import mdspan

        return mdspan(self, index_type, allow_unsafe)

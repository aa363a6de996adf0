"""`cupy.cuda.Module` and `Function`: compiled kernels on the device, and their launch.

Making a module or a function costs one wait, so that the compiler's error and a missing name come
at the user's line; a launch is queued and costs none.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from cupool.client_shim import session as _session
from cupool.client_shim.cupy import _unsupported
from cupool.client_shim.cupy._core import calls, core
from cupool.client_shim.cupy._core._mdspan import mdspan
from cupool.client_shim.cupy.cuda import driver, memory
from cupool.client_shim.cupy.cuda._runtime_streams import on_stream
from cupool.errors import OperationNotSupported
from cupool.proto import values

_INT64 = np.dtype(np.int64)
_MAX_THREADS = 1 << 31
_LINK_PTX, _LINK_LIBRARY = 1, 4


class CPointer:
    """A value that a kernel takes as it is.

    Attributes:
        ptr: what is passed, 64 bits.
    """

    def __init__(self, p: int = 0) -> None:
        self.ptr = p


class CIntptr(CPointer):
    """A pointer-sized integer."""


class CUIntMax(CPointer):
    """An unsigned integer of 64 bits."""


class Module:
    """Compiled code on one device.

    Attributes:
        mapping: lowered names by the C++ name expressions that the module was compiled for.
    """

    __module__ = "cupy.cuda"

    def __init__(self) -> None:
        self._make: Callable[[], calls.DeviceObject] | None = None
        self._object: calls.DeviceObject | None = None
        self._description: dict[str, Any] | None = None
        self._variables: dict[str, memory.MemoryPointer] = {}  # whose addresses were told

    @classmethod
    def _of(cls, make: Callable[[], calls.DeviceObject]) -> Module:
        """Return a module whose device object is made at its first use."""
        module = cls()
        module._make = make
        return module

    def _device_object(self) -> calls.DeviceObject:
        if self._object is None:
            if self._make is None:
                raise driver.CUDADriverError(400)
            self._object = self._make()
        return self._object

    def _describe(self) -> dict[str, Any]:
        if self._description is None:
            handle = self._device_object()._handle
            self._description = handle.session.ask("RawModule.describe", [handle.ref])
        return self._description

    @property
    def mapping(self) -> dict[str, str] | None:
        """Lowered names by name expression, None if there are no such expressions."""
        return self._describe()["names"] or None

    @property
    def ptr(self) -> int:
        """A number that is the module's own; it means nothing elsewhere."""
        return int(self._device_object()._handle.ref[1])

    def load(self, cubin: bytes) -> None:
        """Load PTX or a cubin.

        Raises:
            CUDADriverError: it is neither, or not for this device.
        """
        code = np.frombuffer(cubin, np.uint8)

        def make() -> calls.DeviceObject:
            from cupool.client_shim.cupy._creation.from_data import array

            return calls.call_object("RawModule.load", (array(code),))

        self._make, self._object, self._description = make, None, None
        self._variables.clear()
        self._describe()

    def load_file(self, filename: str | bytes) -> None:
        """Load PTX or a cubin from a file on this machine.

        Raises:
            CUDADriverError: there is no such file (301), or as `load`.
        """
        try:
            data = Path(filename.decode() if isinstance(filename, bytes) else filename).read_bytes()
        except OSError:
            raise driver.CUDADriverError(301) from None
        self.load(data)

    def get_function(self, name: str | bytes) -> Function:
        """Return a kernel of the module.

        Raises:
            CUDADriverError: there is none of this name.
        """
        return Function(self, name.decode() if isinstance(name, bytes) else name)

    def get_global_var(self, name: str | bytes) -> int:
        """Return the device address of a global variable, good as long as the module."""
        text = name.decode() if isinstance(name, bytes) else name
        if text not in self._variables:
            self._variables[text] = self._global(text)
        return int(self._variables[text].ptr)

    def _global(self, name: str) -> memory.MemoryPointer:
        """Return a pointer to a global variable, which is memory of the module's.

        Raises:
            CUDADriverError: there is none of this name.
        """
        made = self._device_object()
        session = made._handle.session
        size_bytes = int(session.ask("RawModule.global_size", [made._handle.ref, name]))
        shape, dtype = (size_bytes,), np.dtype(np.uint8)
        owner = calls.call_one("RawModule.global_array", (made, name), None, shape, dtype)
        pointer = memory.pointer_to(owner)
        pointer.mem.size = size_bytes  # a variable is no block of a pool, whose size is rounded up
        return pointer


class Function:
    """A kernel on one device.

    Args:
        module: where it is.
        funcname: its name.

    Raises:
        CompileException: the module does not compile.
        CUDADriverError: it has no such kernel.
    """

    __module__ = "cupy.cuda"

    def __init__(self, module: Module, funcname: str) -> None:
        self.module = module
        self.name = funcname
        made = calls.call_object("RawModule.get_function", (module._device_object(), funcname))
        self._handle = made._handle
        self.attributes: dict[str, int] = self._ask_attributes()
        self._places: list[tuple[int, int]] | None = None
        driver.remember(self, self._handle.session.ordinal)

    def parameter_places(self) -> list[tuple[int, int]]:
        """Return offset and size of each parameter in bytes; the first call waits.

        Raises:
            OperationNotSupported: the GPU's driver does not tell.
        """
        if self._places is None:
            answer = self._handle.session.ask("RawKernel.parameters", [self._handle.ref])
            if "places" not in answer:
                raise OperationNotSupported(
                    "the driver of this GPU (before CUDA 12.4) does not tell which parameters a"
                    " kernel has, so that their values cannot be read at an address",
                    remedy="launch it by cupy.cuda.Function or cupy.RawKernel, with the arguments",
                )
            self._places = [(int(offset), int(size)) for offset, size in answer["places"]]
        return self._places

    def _ask_attributes(self) -> dict[str, int]:
        answer: dict[str, int] = self._handle.session.ask(
            "RawKernel.attributes", [self._handle.ref]
        )
        return answer

    @property
    def ptr(self) -> int:
        """A number that is the kernel's own; it means nothing elsewhere."""
        return int(self._handle.ref[1])

    def set_attribute(self, name: str, value: int) -> None:
        """Set one of the two attributes that CUDA lets be set, and wait for the device's word.

        Raises:
            CUDADriverError: the device does not take the value.
        """
        session = self._handle.session
        session.emit("RawKernel.set", (self._handle.ref, name, int(value)), None, ())
        self.attributes = self._ask_attributes()

    def __call__(
        self,
        grid: tuple[int, ...],
        block: tuple[int, ...],
        args: Sequence[Any],
        shared_mem: int = 0,
        stream: Any = None,
        enable_cooperative_groups: bool = False,
    ) -> None:
        """Queue a launch.

        Args:
            grid: blocks, 1 to 3 numbers.
            block: threads of a block, 1 to 3 numbers.
            args: arrays, scalars, pointers, NumPy arrays of one element (structures by value).
            shared_mem: bytes of dynamic shared memory for each block.
            stream: instead of the thread's current one.

        Raises:
            TypeError: an argument that no kernel can take.
        """
        if type(grid) is not tuple or type(block) is not tuple:
            wrong = grid if type(grid) is not tuple else block
            raise TypeError(f"Expected tuple, got {type(wrong).__name__}")
        session = self._handle.session
        if not session.open:
            session.check()
        if session.ordinal != _session.current.device:
            calls.raise_other_device(session.ordinal)
        args = tuple(args)  # an array gives new ones, which must live until they are queued
        record = (
            self._handle.ref,
            (values.TUPLE, _extent(grid)),
            (values.TUPLE, _extent(block)),
            (values.LIST, [argument(a, session) for a in args]),
            operator.index(shared_mem),
            bool(enable_cooperative_groups),
        )
        with on_stream(stream):
            session.submit(("RawKernel", (), record, None))
        if session.blocking:
            session.synchronize()

    def linear_launch(
        self,
        size: int,
        args: Sequence[Any],
        shared_mem: int = 0,
        block_max_size: int = 128,
        stream: Any = None,
        enable_cooperative_groups: bool = False,
    ) -> None:
        """Queue a launch of at least `size` threads in blocks of at most `block_max_size`."""
        grid = min(0x7FFFFFFF, -(-size // block_max_size))
        block = (min(block_max_size, size),)
        self((grid,), block, args, shared_mem, stream, enable_cooperative_groups)


def _extent(given: tuple[int, ...]) -> list[int]:
    """Return three numbers of blocks or threads; the device says whether it can do as many."""
    numbers = [max(1, operator.index(n)) for n in (*given, 1, 1)[:3]]
    if any(n >= _MAX_THREADS for n in numbers):
        raise OverflowError("value too large to convert to int")
    return numbers


def argument(value: Any, session: _session.DeviceSession) -> Any:
    """Write an argument of a launch in the grammar of the wire.

    Raises:
        TypeError: no kernel can take it.
        OverflowError: an int beyond 64 bits.
        ValueError: an array of another device.
    """
    kind = type(value)
    if isinstance(value, core.ndarray):
        return _ref(value, session)
    if kind is int:
        if not -(1 << 63) <= value < (1 << 64):
            raise OverflowError("Python int too large to convert to C long")
        return value
    if kind is float or kind is bool or value is None:
        return value
    if kind is complex:
        return (values.COMPLEX, value.real, value.imag)
    if isinstance(value, memory.MemoryPointer):
        return _pointer(value, session)
    if isinstance(value, CPointer):
        return int(value.ptr)
    if isinstance(value, mdspan):
        return (values.LIST, [_ref(value.array, session), value.index_bytes])
    if isinstance(value, np.ndarray):
        if value.size != 1:
            raise TypeError(
                f"You are trying to pass a numpy.ndarray of shape {value.shape} as a kernel "
                "parameter. Only numpy.ndarrays of size one can be passed by value: what lies in "
                "__global__ memory has to be a cupy.ndarray."
            )
        return _by_value(value)
    if isinstance(value, np.generic):
        return _by_value(np.asarray(value))
    raise TypeError(f"Unsupported type {kind}")


def _ref(array: core.ndarray, session: _session.DeviceSession) -> Any:
    handle = array._handle or core.handle_of(array)
    if handle.session is not session:
        handle.session.check()
        calls.raise_other_device(handle.session.ordinal)
    return handle.ref


def _pointer(pointer: memory.MemoryPointer, session: _session.DeviceSession) -> Any:
    """Write a pointer as an allocation and an offset in it, which asks nobody for an address."""
    try:
        root, begin = pointer.mem._place()
    except memory.CUDARuntimeError:
        return int(pointer.ptr)  # no memory that we know of: the kernel may not need it
    if root.session is not session:
        root.session.check()
        calls.raise_other_device(root.session.ordinal)
    return (values.TUPLE, [root.ref, begin + pointer._offset])


def _by_value(value: np.ndarray[Any, Any]) -> Any:
    """Write a host value by its bytes; a structure as a void of its size."""
    dtype = value.dtype
    if dtype.hasobject:
        raise TypeError(f"Unsupported dtype {dtype}")
    wire = dtype.str if dtype.kind in "biufc" else f"|V{dtype.itemsize}"
    return (values.SCALAR, wire, value.tobytes())


class LinkState:
    """Links PTX of several sources to one module.

    Attributes:
        ptr: its number in `cupy.cuda.driver`.
    """

    __module__ = "cupy.cuda.function"

    def __init__(self) -> None:
        self.ptr = driver.linkCreate()

    def __del__(self) -> None:
        try:
            driver.linkDestroy(self.ptr)
        except (AttributeError, TypeError):
            return  # never made, or the interpreter goes down

    def add_ptr_data(self, data: bytes, name: str) -> None:
        """Add PTX; `name` is for error texts."""
        driver.linkAddData(self.ptr, _LINK_PTX, data, name)

    def add_ptr_file(self, path: str) -> None:
        """Add a library: refused, as a file's code would have to be linked where the GPU is."""
        driver.linkAddFile(self.ptr, _LINK_LIBRARY, path)

    def complete(self) -> bytes:
        """Return an image that `Module.load` takes."""
        return driver.linkComplete(self.ptr)


_unsupported.fill(globals(), "cupy.cuda.function")

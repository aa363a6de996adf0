"""The CUDA device: CuPy on a GPU, by its public names only.

Thin on purpose: an operation of the table is CuPy's function of the name in its row. It runs on
whatever `import cupy` gives, so that it can be tested with cupool's own shim on a second pool.
"""

from __future__ import annotations

import contextlib
import importlib
import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any

import numpy as np

from cupool.errors import ConfigurationError
from cupool.pool_server.devices import classes
from cupool.pool_server.devices.base import (
    Device,
    Layout,
    MemoryUse,
    check_bounds,
    memory_order,
    strides_of,
)
from cupool.pool_server.devices.cuda_kernels import CudaKernels
from cupool.pool_server.devices.cuda_libraries import LibraryOperations
from cupool.pool_server.devices.cuda_queues import CudaQueues
from cupool.pool_server.devices.cuda_sparse import SparseOperations
from cupool.pool_server.devices.errors import (
    DEAD_CONTEXT,
    OUT_OF_MEMORY,
    CUDADriverError,
    CUDARuntimeError,
    DeviceLost,
    OutOfMemoryError,
)
from cupool.proto.messages import DeviceInfo
from cupool.proto.operations import Operation

_PROPERTIES = (
    "multiProcessorCount",
    "warpSize",
    "maxThreadsPerBlock",
    "sharedMemPerBlock",
    "totalGlobalMem",
    "clockRate",
    "memoryClockRate",
    "memoryBusWidth",
    "l2CacheSize",
    "major",
    "minor",
)


class CudaDevice(Device):
    """One GPU.

    Args:
        server: name of the server, for `info`.
        ordinal: number of the device on its server.
        memory_bytes: what the session was granted, a hard limit of the pool; 0 = all of it.
        cupy: the module to use; imported if not given.

    Raises:
        ConfigurationError: there is no CuPy, or no such GPU.
    """

    def __init__(
        self, server: str = "local", ordinal: int = 0, memory_bytes: int = 0, cupy: Any = None
    ) -> None:
        self._cupy = cupy or _import_cupy()
        self._errors = _error_classes(self._cupy)
        self._functions: dict[str, Callable[..., Any]] = {}
        self._kernels = CudaKernels(self, self._cupy)
        self._own_operations: dict[str, Callable[..., Any]] | None = None
        try:
            self._device = self._cupy.cuda.Device(ordinal)
            self._device.use()
            properties = self._cupy.cuda.runtime.getDeviceProperties(ordinal)
            total_bytes = int(self._device.mem_info[1])
        except self._errors.cuda as exc:
            raise ConfigurationError(
                f"GPU {ordinal} cannot be used: {exc}", remedy="see the driver's list:   nvidia-smi"
            ) from exc
        self.queues = CudaQueues(self._cupy, self._mapped)
        self._granted_bytes = min(memory_bytes or total_bytes, total_bytes)
        self._limit_bytes = 0
        self._outside: dict[int, Any] = {}  # arrays beside the pool, by id
        self._pool = self._cupy.get_default_memory_pool()
        self._pool.set_limit(size=self._granted_bytes)
        self.info = DeviceInfo(
            _text(properties.get("name", "GPU")),
            "cuda",
            self._granted_bytes,
            _dotted(self._device.compute_capability),
            server,
            ordinal,
            {key: int(properties[key]) for key in _PROPERTIES if key in properties},
        )

    # Memory

    def empty(self, layout: Layout) -> Any:
        with self._mapped():
            if isinstance(layout.order, str):
                return self._cupy.empty(layout.shape, layout.dtype, order=layout.order)
            memory_order(layout)
            memory = self._cupy.cuda.alloc(layout.size_bytes)
            return self._cupy.ndarray(
                layout.shape, layout.dtype, memptr=memory, strides=layout.order
            )

    def upload(self, layout: Layout, data: memoryview) -> Any:
        array = self.empty(layout)
        with self._mapped():
            array.set(_host(layout, data))
        return array

    def write(self, target: Any, layout: Layout, data: memoryview) -> None:
        with self._mapped():
            host = _host(layout, data)
            if _same_order(target, host):
                target.set(host)
            else:
                target[...] = self._cupy.asarray(host)

    def view(self, owner: Any, offset_bytes: int, layout: Layout) -> Any:
        memory = owner.data.mem
        check_bounds(offset_bytes, layout, memory.size)
        pointer = self._cupy.cuda.MemoryPointer(memory, offset_bytes)
        with self._mapped():
            return self._cupy.ndarray(
                layout.shape, layout.dtype, memptr=pointer, strides=strides_of(layout)
            )

    def fetch(self, source: Any) -> tuple[Layout, memoryview]:
        flags = source.flags
        order = "F" if flags.f_contiguous and not flags.c_contiguous else "C"
        with self._mapped():
            host = self._cupy.asnumpy(source, order=order)
        flat = host.reshape(-1, order=order).view(np.uint8) if host.nbytes else b""
        return Layout(host.shape, host.dtype, order), memoryview(flat)

    def fill(self, target: Any, value: Any) -> None:
        with self._mapped():
            target.fill(value)

    def assign(self, target: Any, source: Any) -> None:
        with self._mapped():
            if isinstance(source, np.ndarray):
                source = self._cupy.asarray(source)
            self._cupy.copyto(target, source, casting="unsafe")

    def allocate(self, size_bytes: int, kind: str) -> Any:
        memory = self._cupy.cuda.memory
        allocators = {
            "device": lambda size: memory.MemoryPointer(memory.Memory(size), 0),
            "managed": memory.malloc_managed,
            "async": memory.malloc_async,
        }
        if self._outside_bytes() + size_bytes > self._granted_bytes:
            raise CUDARuntimeError(OUT_OF_MEMORY)
        with self._mapped():
            pointer = allocators[kind](size_bytes)
            array = self._cupy.ndarray((size_bytes,), np.uint8, memptr=pointer)
        self._outside[id(array)] = weakref.ref(array)
        weakref.finalize(array, self._outside.pop, id(array), None)
        return array

    def address(self, array: Any) -> int:
        return int(array.data.ptr)

    def attributes(self) -> dict[str, dict[str, Any]]:
        runtime = self._cupy.cuda.runtime
        with self._mapped():
            names = self._device.attributes
            properties = runtime.getDeviceProperties(self._device.id)
        found = {str(getattr(runtime, f"cudaDevAttr{n}")): int(v) for n, v in names.items()}
        major, _, minor = self.info.compute_capability.partition(".")
        found |= {"75": int(major), "76": int(minor)}
        return {"attributes": found, "properties": _sendable(properties)}

    def _outside_bytes(self) -> int:
        arrays = [reference() for reference in list(self._outside.values())]
        held = sum(int(array.nbytes) for array in arrays if array is not None)
        return held + int(self._pool.total_bytes())

    # Operations

    def call(
        self,
        operation: Operation,
        args: Sequence[Any],
        kwargs: Mapping[str, Any],
        outs: Sequence[Layout | None],
    ) -> list[Any]:
        if operation.kind in ("kernel", "query"):
            with self._mapped():
                return self._kernels.run(operation.name, args, kwargs, outs)
        function = self._functions.get(operation.name)
        if function is None:
            function = self._functions[operation.name] = self._resolve(operation)
        with self._mapped():
            result = function(*args, **kwargs)
            if not outs:
                return []
            results = _flat(result)
            if operation.has_objects:
                return results
            return [self._own(result, args, kwargs) for result in results]

    def _resolve(self, operation: Operation) -> Callable[..., Any]:
        """Find CuPy's function by the row's dotted name; nothing of it comes from the wire."""
        if operation.kind == "random" and operation.name.count(".") == 2:
            return _method(operation.name.rpartition(".")[2])
        built = classes.find(operation.name, "cupyx")
        if built is not None:
            return built
        if not operation.cupy:
            own = self._own_table().get(operation.name)
            if own is None:
                raise NotImplementedError(f"the CUDA device cannot do '{operation.name}' yet")
            return own
        package, *attributes = operation.cupy.split(".")
        value: Any = self._cupy if package == "cupy" else importlib.import_module(package)
        path = package
        for attribute in attributes:
            path = f"{path}.{attribute}"
            if not hasattr(value, attribute) and package != "cupy":
                importlib.import_module(path)
            value = getattr(value, attribute)
        function: Callable[..., Any] = value
        return function

    def _own_table(self) -> dict[str, Callable[..., Any]]:
        if self._own_operations is None:
            sparse, libraries = SparseOperations(self._cupy), LibraryOperations(self._cupy)
            self._own_operations = sparse.table() | libraries.table()
        return self._own_operations

    def _own(self, result: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        """Give a result memory of its own: views are made by the operation `view` alone."""
        ndarray = self._cupy.ndarray
        if not isinstance(result, ndarray):
            return self._cupy.asarray(result)
        if result.base is None and not any(result is one for one in (*args, *kwargs.values())):
            return result
        return result.copy(order="K")

    def layout(self, array: Any) -> Layout:
        flags = array.flags
        order = "C" if flags.c_contiguous else "F" if flags.f_contiguous else array.strides
        return Layout(array.shape, array.dtype, order)

    def relay(self, array: Any, layout: Layout) -> Any:
        result = self.empty(layout)
        with self._mapped():
            result[...] = array
        return result

    def free(self, array: Any) -> None:
        """Nothing to do: CuPy's pool takes the memory with the last reference."""

    # State

    def context(self) -> AbstractContextManager[Any]:
        return contextlib.nullcontext()

    def synchronize(self) -> None:
        with self._mapped():
            self._device.synchronize()

    def memory(self) -> MemoryUse:
        pool = self._pool
        return MemoryUse(
            int(pool.used_bytes()),
            int(pool.free_bytes()),
            int(pool.total_bytes()),
            self._limit_bytes,
            self._outside_bytes() - int(pool.total_bytes()),
            int(pool.n_free_blocks()),
        )

    def release_blocks(self) -> None:
        with self._mapped():
            self._pool.free_all_blocks()

    def set_limit(self, size_bytes: int) -> None:
        self._limit_bytes = size_bytes
        self._pool.set_limit(size=min(size_bytes or self._granted_bytes, self._granted_bytes))

    def limit_plans(self, count: int, size_bytes: int, *, clear: bool) -> None:
        cache = self._cupy.fft.config.get_plan_cache()
        if clear:
            cache.clear()
        cache.set_size(count)
        cache.set_memsize(size_bytes)

    def take_printed(self) -> str:
        return self._kernels.take_printed()

    def close(self) -> None:
        self._kernels.close()
        # The process ends with the session, and its context with it: nothing to give back.
        self._functions.clear()

    @contextlib.contextmanager
    def _mapped(self) -> Iterator[None]:
        """Turn CuPy's own errors into ours, which cross the wire."""
        try:
            yield
        except self._errors.memory as exc:
            raise OutOfMemoryError(*exc.__reduce__()[1]) from None
        except (self._errors.cuda, self._errors.driver) as exc:
            status = int(exc.status)
            if status in DEAD_CONTEXT:
                raise DeviceLost(status, str(exc)) from None
            if isinstance(exc, self._errors.cuda):
                raise CUDARuntimeError(status, str(exc)) from None
            # CuPy's own text has one line; what a pool behind this one says follows in others.
            raise CUDADriverError(status, str(exc).partition("\n")[2]) from None


class _ErrorClasses:
    def __init__(self, memory: type[Any], cuda: type[Any], driver: type[Any]) -> None:
        self.memory = memory
        self.cuda = cuda
        self.driver = driver


def _flat(result: Any) -> list[Any]:
    """Return the results as one list, also those of a tuple or a dictionary in a tuple."""
    if isinstance(result, dict):  # of `find_peaks`, in the order of its documentation
        result = list(result.values())
    if not isinstance(result, (tuple, list)):
        return [result]
    return [one for part in result for one in _flat(part)]


def _error_classes(cupy: Any) -> _ErrorClasses:
    cuda = cupy.cuda
    return _ErrorClasses(
        cuda.memory.OutOfMemoryError, cuda.runtime.CUDARuntimeError, cuda.driver.CUDADriverError
    )


def _import_cupy() -> Any:
    try:
        return importlib.import_module("cupy")
    except ImportError as exc:
        raise ConfigurationError(
            f"a CUDA device needs CuPy: {exc}", remedy="pip install 'cupool[cuda12]'"
        ) from exc


def _method(name: str) -> Callable[..., Any]:
    """Return a call of a generator's method; the name is the table's."""
    if name == "set_seed":
        name = "seed"

    def call(generator: Any, *args: Any, **kwargs: Any) -> Any:
        return getattr(generator, name)(*args, **kwargs)

    return call


def _host(layout: Layout, data: memoryview) -> np.ndarray[Any, Any]:
    return np.ndarray(layout.shape, layout.dtype, data, order="F" if layout.order == "F" else "C")


def _same_order(target: Any, host: np.ndarray[Any, Any]) -> bool:
    if host.flags.c_contiguous:
        return bool(target.flags.c_contiguous)
    return bool(target.flags.f_contiguous)


def _sendable(properties: dict[str, Any]) -> dict[str, Any]:
    """Return what of the properties can be sent: numbers, tuples of them, bytes as latin-1."""
    return {
        key: value.decode("latin-1") if isinstance(value, bytes) else value
        for key, value in properties.items()
        if isinstance(value, (int, float, str, bytes, tuple))
    }


def _text(name: Any) -> str:
    return name.decode(errors="replace") if isinstance(name, bytes) else str(name)


def _dotted(capability: Any) -> str:
    text = str(capability)
    return f"{text[:-1]}.{text[-1]}" if text.isdecimal() and len(text) > 1 else text

"""The user kernels of one session on the mock: the engine, its modules, launches."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from cupool.errors import OperationNotSupported, ProtocolViolation
from cupool.pool_server.devices.base import Device, Layout
from cupool.pool_server.devices.errors import (
    DEAD_CONTEXT,
    CompileException,
    CUDADriverError,
    CUDARuntimeError,
    DeviceLost,
)
from cupool.pool_server.devices.kernel_sources import (
    MAX_LOG_CHARS,
    NVRTC_COMPILATION,
    check_names,
    check_options,
    check_source,
    plain_name,
    program_answer,
)
from cupool.pool_server.devices.mock.kernels import cucomplex, packing
from cupool.pool_server.devices.mock.kernels.loops import Elementwise, Reduction
from cupool.proto.kernels import MAX_ARGUMENTS, SETTABLE_ATTRIBUTES, checked_text

NpArray = np.ndarray[Any, Any]
Outs = Sequence["Layout | None"]

_CUBINS = (b"\x7fELF", b"\x50\xed\x55\xba")
"""How an ELF file (a cubin) and a fat binary begin."""
_MAX_MODULES = 256


class UserModule:
    """A loaded module.

    Attributes:
        names: lowered names by name expression.
        log: what the compiler said.
        grids: whether its kernels may wait for other blocks.
    """

    def __init__(self, loaded: Any, ptx: bytes, names: Mapping[str, str], log: str) -> None:
        self.loaded = loaded
        self.names = dict(names)
        self.log = log
        # Where the barrier of a grid is, a kernel learns from these registers alone.
        self.grids = b"%envreg" in ptx


class UserFunction:
    """A kernel, with the attributes that this session has set."""

    def __init__(self, function: Any, grids: bool) -> None:
        self.function = function
        self.grids = grids
        self.attributes = dict(function.attributes)


class Kernels:
    """Compiles and launches what a session sends. Its methods are the adapters of the table.

    Args:
        device: where outputs are allocated.
        engine: compiles CUDA C++ to PTX and runs PTX on the CPU.
    """

    def __init__(self, device: Device, engine: Any) -> None:
        self._device = device
        self._engine = engine
        self._modules: dict[Any, UserModule] = {}

    def take_printed(self) -> str:
        """Return what kernels have printed since the last call."""
        text: str = self._engine.take_output()
        return text

    def close(self) -> None:
        """End the compiler's process."""
        self._engine.close()

    # Modules

    def compile(
        self,
        source: Any,
        options: Any = (),
        names: Any = (),
        backend: Any = "nvrtc",
        translate_cucomplex: Any = False,
        cooperative: Any = False,
    ) -> UserModule:
        """Compile a source and load it; the same one is compiled once."""
        source, options, names = check_source(source), check_options(options), check_names(names)
        if translate_cucomplex:
            source = cucomplex.translate(source)
        key = (source, options, names)
        found = self._modules.get(key)
        if found is None:
            with _told():
                compiled = self._engine.compile(source, options, names)
                loaded = self._engine.load(compiled.ptx)
            log = str(getattr(compiled, "log", ""))[:MAX_LOG_CHARS]
            if len(self._modules) >= _MAX_MODULES:
                del self._modules[next(iter(self._modules))]
            found = self._modules[key] = UserModule(loaded, compiled.ptx, compiled.lowered, log)
        return found

    def compile_program(self, source: Any, options: Any, names: Any, name: Any) -> dict[str, Any]:
        """Answer what the compiler makes of a source, which is not loaded."""
        source, options, names = check_source(source), check_options(options), check_names(names)
        try:
            with _told():
                compiled = self._engine.compile(source, options, names, plain_name(name))
        except CompileException as exc:
            return program_answer(exc.log, status=NVRTC_COMPILATION)
        ptx = compiled.ptx.rstrip(b"\0") + b"\0"
        return program_answer(compiled.log, ptx, names=compiled.lowered)

    def load(self, code: Any) -> UserModule:
        """Load PTX."""
        if not isinstance(code, np.ndarray) or code.dtype != np.uint8 or code.ndim != 1:
            raise ProtocolViolation("a module is an array of bytes")
        data = code.tobytes()
        if data.startswith(_CUBINS):
            raise CUDADriverError(
                209, "a cubin is machine code of a GPU: the mock runs PTX and CUDA C++ only"
            )
        with _told():
            return UserModule(self._engine.load(data), data, {}, "")

    def function(self, module: Any, name: Any) -> UserFunction:
        """Return a kernel of a module, by its name or name expression."""
        module, name = _instance(module, UserModule), checked_text(name, "a kernel's name")
        with _told():
            found = module.loaded.function(module.names.get(name, name))
        return UserFunction(found, module.grids)

    def describe(self, module: Any) -> dict[str, Any]:
        """Answer a module's lowered names and the compiler's log."""
        module = _instance(module, UserModule)
        return {"names": module.names, "log": module.log}

    def global_size(self, module: Any, name: Any) -> int:
        """Answer the size of a global variable in bytes."""
        return self._global(module, name)[1]

    def global_array(self, module: Any, name: Any) -> NpArray:
        """Return a global variable's own memory as an array."""
        address, size_bytes = self._global(module, name)
        return _memory(address, size_bytes, module)

    def _global(self, module: Any, name: Any) -> tuple[int, int]:
        module, name = _instance(module, UserModule), checked_text(name, "a variable's name")
        with _told():
            address, size_bytes = module.loaded.global_(module.names.get(name, name))
            return int(address), int(size_bytes)

    # Functions

    def attributes(self, function: Any) -> dict[str, int]:
        """Answer a kernel's attributes."""
        return dict(_instance(function, UserFunction).attributes)

    def parameters(self, function: Any) -> dict[str, list[list[int]]]:
        """Answer where a kernel's parameters lie, and their sizes, in bytes."""
        known = _instance(function, UserFunction).function.parameters
        return {"places": [[each.offset, each.size_bytes] for each in known]}

    def set_attribute(self, function: Any, name: Any, value: Any) -> None:
        """Set an attribute of a kernel."""
        function = _instance(function, UserFunction)
        if name not in SETTABLE_ATTRIBUTES or type(value) is not int:
            raise CUDADriverError(1)
        with _told():
            function.function.set_attribute(name, value)
        function.attributes = dict(function.function.attributes)

    def launch(
        self,
        function: Any,
        grid: Any,
        block: Any,
        arguments: Any,
        shared_bytes: Any,
        cooperative: Any,
    ) -> None:
        """Launch a kernel and run it to its end."""
        user = _instance(function, UserFunction)
        kernel = user.function
        if not isinstance(arguments, list) or len(arguments) > MAX_ARGUMENTS:
            raise ProtocolViolation(f"not a list of arguments: {arguments!r:.80}")
        given = [packing.launch_argument(a, isinstance(a, np.ndarray)) for a in arguments]
        with _told():
            kernel.launch(
                _extent(grid),
                _extent(block),
                packing.fit(given, kernel.parameters),
                _shared(shared_bytes),
                # Blocks that never wait for each other may run one after the other.
                bool(cooperative) and user.grids,
            )

    # Elementwise and reduction kernels

    def elementwise(
        self, in_params: Any, out_params: Any, operation: Any, name: Any, **options: Any
    ) -> Elementwise:
        """Keep the definition of an elementwise kernel."""
        return Elementwise(self._loop_function, in_params, out_params, operation, name, options)

    def call_elementwise(
        self, kernel: Any, arguments: Any, size: Any, block_size: Any, outs: Outs = ()
    ) -> list[NpArray]:
        """Run an elementwise kernel; return the outputs that were not among its arguments."""
        kernel = _instance(kernel, Elementwise)
        if type(block_size) is not int or block_size <= 0:
            raise ProtocolViolation(f"not a block size: {block_size!r:.40}")
        if size is not None and (type(size) is not int or not 0 <= size < 1 << 62):
            raise ProtocolViolation(f"not a size: {size!r:.40}")
        values, made = self._values(kernel.params, arguments, outs)
        with _told():
            kernel.run(values, size, block_size)
        return made

    def reduction(
        self,
        in_params: Any,
        out_params: Any,
        map_expr: Any,
        reduce_expr: Any,
        post_map_expr: Any,
        identity: Any,
        name: Any,
        **options: Any,
    ) -> Reduction:
        """Keep the definition of a reduction kernel."""
        expressions = (map_expr, reduce_expr, post_map_expr, identity)
        return Reduction(self._loop_function, in_params, out_params, expressions, name, options)

    def call_reduction(
        self, kernel: Any, arguments: Any, axes: Any, keepdims: Any, outs: Outs = ()
    ) -> list[NpArray]:
        """Run a reduction kernel; return the outputs that were not among its arguments."""
        kernel = _instance(kernel, Reduction)
        if not isinstance(axes, tuple):
            raise ProtocolViolation(f"not axes: {axes!r:.80}")
        values, made = self._values(kernel.params, arguments, outs)
        with _told():
            kernel.run(values, axes)
        return made

    def codes(self, kernel: Any) -> list[list[Any]]:
        """Answer the sources that were generated for a kernel."""
        if not isinstance(kernel, (Elementwise, Reduction)):
            raise ProtocolViolation("that object is no kernel")
        return kernel.codes()

    def _loop_function(self, source: str, options: tuple[str, ...], name: str) -> Any:
        with _told(source):
            return self._engine.load(self._engine.compile(source, options).ptx).function(name)

    def _values(
        self, params: Sequence[Any], arguments: Any, outs: Outs
    ) -> tuple[list[Any], list[NpArray]]:
        if not isinstance(arguments, list) or len(arguments) + len(outs) != len(params):
            raise ProtocolViolation(f"{len(params)} arguments are needed, not {arguments!r:.80}")
        if any(out is None for out in outs):
            raise ProtocolViolation("the layout of a kernel's output must be promised")
        made: list[NpArray] = [self._device.empty(out) for out in outs if out is not None]
        values = [*arguments, *made]
        for value in values:
            if not isinstance(value, (np.ndarray, np.generic)):
                raise ProtocolViolation(f"neither an array nor a typed scalar: {value!r:.40}")
        return values, made


def open_kernels(device: Device, engine: Any) -> Kernels:
    """Return the kernels of a session; `engine` makes the engine.

    Raises:
        OperationNotSupported: its packages are not installed; says which.
    """
    try:
        return Kernels(device, engine())
    except ImportError as exc:
        raise OperationNotSupported(
            f"the mock GPU runs kernels with NVRTC and LLVM, and they are not all installed: {exc}."
            "  On the pool server:   pip install 'cupool[mock-kernels]'"
        ) from exc


@contextlib.contextmanager
def _told(generated: str = "") -> Iterator[None]:
    """End the session at a sticky error of the engine, and bound the compiler's log."""
    try:
        yield
    except CompileException as exc:
        raise CompileException(exc.log[:MAX_LOG_CHARS], generated or exc.source) from None
    except CUDARuntimeError as exc:
        if exc.status in DEAD_CONTEXT:
            raise DeviceLost(exc.status, str(exc)) from None
        raise


def _instance(value: Any, cls: Any) -> Any:
    if not isinstance(value, cls):
        raise ProtocolViolation(f"an object of kind {cls.__name__} is needed, not {value!r:.40}")
    return value


def _extent(value: Any) -> tuple[int, int, int]:
    if not isinstance(value, tuple) or len(value) != 3:
        raise ProtocolViolation(f"not blocks or threads: {value!r:.80}")
    for number in value:
        if type(number) is not int or not 0 < number < 1 << 31:
            raise CUDADriverError(1)
    return value


def _shared(value: Any) -> int:
    if type(value) is not int or not 0 <= value < 1 << 31:
        raise CUDADriverError(1)
    return value


class _Global:
    """Memory of a module's, as NumPy asks for it; keeps the module."""

    def __init__(self, address: int, size_bytes: int, module: UserModule) -> None:
        self.module = module
        self.__array_interface__ = {
            "shape": (size_bytes,),
            "typestr": "|u1",
            "data": (address, False),
            "version": 3,
        }


def _memory(address: int, size_bytes: int, module: UserModule) -> NpArray:
    return np.asarray(_Global(address, size_bytes, module))

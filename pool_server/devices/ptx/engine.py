"""The kernel engine: CUDA C++ or PTX in, launches on the CPU out.

    engine = Engine(lambda: AllocationTable.of_arrays(arrays))
    compiled = engine.compile(source, ("-DN=4",), ("f<float>",))
    function = engine.load(compiled.ptx).function(compiled.lowered["f<float>"])
    function.launch((blocks, 1, 1), (threads, 1, 1), [pointer_bytes, count_bytes])

A device pointer is the address of the mock's memory. A launch returns when the kernel has ended.
Refused launches raise CUDADriverError and leave no trace; a kernel that fails raises KernelFault,
and so does everything after it, as on a GPU.
"""

from __future__ import annotations

import hashlib
import threading
import weakref
from collections import OrderedDict, deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import platformdirs

from cupool.pool_server.devices.errors import CUDADriverError
from cupool.pool_server.devices.ptx import jit
from cupool.pool_server.devices.ptx.allocations import AllocationTable
from cupool.pool_server.devices.ptx.cache import DiskCache
from cupool.pool_server.devices.ptx.compiler import CompiledPtx, Compiler
from cupool.pool_server.devices.ptx.errors import PtxError
from cupool.pool_server.devices.ptx.faults import KernelFault
from cupool.pool_server.devices.ptx.launching import Launcher
from cupool.pool_server.devices.ptx.modules import Binary, Function, Module, Parameter

__all__ = [
    "AllocationTable",
    "CompiledPtx",
    "Engine",
    "EngineOptions",
    "Function",
    "KernelFault",
    "Module",
    "Parameter",
]

INVALID_IMAGE = 200
INVALID_PTX = 218
MAX_PTX_BYTES = 64 << 20
_MAX_BINARIES = 256


def _default_cache() -> Path:
    return Path(platformdirs.user_cache_dir("cupool")) / "kernels"


@dataclass(frozen=True, slots=True)
class EngineOptions:
    """How kernels are compiled and run.

    Attributes:
        checked: check each access to memory; without it a wild pointer hits the process.
        timeout_s: how long one kernel may run.
        architecture: compute capability without a dot; the PTX target.
        cache_folder: where compiled code is kept between processes; None keeps it in memory only.
        cache_bytes: how much that folder may hold.
        stack_bytes: of each thread, for calls.
        local_bytes: of each thread, for local memory.
        printf_bytes: how much text of printf is kept until somebody takes it.
        compile_timeout_s, compile_memory_bytes: bounds of one NVRTC compilation.
    """

    checked: bool = True
    timeout_s: float = 60.0
    architecture: str = "80"
    cache_folder: Path | None = None
    cache_bytes: int = 256 << 20
    stack_bytes: int = 64 << 10
    local_bytes: int = 64 << 10
    printf_bytes: int = 1 << 20
    compile_timeout_s: float = 120.0
    compile_memory_bytes: int = 8 << 30

    @classmethod
    def cached(cls, timeout_s: float, checked: bool) -> EngineOptions:
        """Return the defaults, with the user's cache folder."""
        return cls(checked, timeout_s, cache_folder=_default_cache())


class Engine:
    """Compiles, loads and launches kernels for one mock device.

    Args:
        memory: says, at each launch, what is allocated.
        options: see `EngineOptions`.

    Raises:
        OperationNotSupported: llvmlite is not installed; says how to install it.
    """

    def __init__(
        self, memory: Callable[[], AllocationTable], options: EngineOptions | None = None
    ) -> None:
        jit.require()
        self.options = options or EngineOptions()
        self._memory = memory
        self._disk = DiskCache(self.options.cache_folder, self.options.cache_bytes)
        self._compiler = Compiler(
            self._disk,
            self.options.architecture,
            self.options.compile_timeout_s,
            self.options.compile_memory_bytes,
        )
        self._binaries: OrderedDict[str, Binary] = OrderedDict()
        self._modules: weakref.WeakSet[Module] = weakref.WeakSet()
        self._lock = threading.Lock()
        self._output: deque[str] = deque()
        self._output_chars = 0
        self.launcher = Launcher(self._table, self._printed, self.options)

    def compile(
        self,
        source: str,
        options: Sequence[str] = (),
        name_expressions: Sequence[str] = (),
        name: str = "kernel.cu",
    ) -> CompiledPtx:
        """Compile CUDA C++ with NVRTC.

        Args:
            source: the text; it may include headers of CUDA and CuPy only.
            options: NVRTC's; -arch is the engine's own, folders and files are refused.
            name_expressions: C++ names of kernels or variables, to find them by their mangled ones.
            name: of the source, for messages.

        Raises:
            CompileException: with NVRTC's log.
            OperationNotSupported: NVRTC is not installed; says how to install it.
        """
        return self._compiler.compile(source, options, name_expressions, name)

    def load(self, ptx: bytes) -> Module:
        """Make a module: its own variables, shared machine code.

        Raises:
            CUDADriverError: CUDA_ERROR_INVALID_PTX, naming the line and what it cannot do; or
                CUDA_ERROR_INVALID_IMAGE for what is not PTX.
        """
        if len(ptx) > MAX_PTX_BYTES:
            raise CUDADriverError(
                INVALID_PTX, f"{len(ptx):,} bytes of PTX; {MAX_PTX_BYTES:,} are allowed"
            )
        if ptx[:4] in (b"\x7fELF", b"\x50\xed\x55\xba"):
            raise CUDADriverError(
                INVALID_IMAGE, "a cubin holds machine code of a real GPU; the mock runs PTX"
            )
        binary = self._binary(bytes(ptx))
        module = Module(binary, self.launcher)
        self._modules.add(module)
        return module

    def _binary(self, ptx: bytes) -> Binary:
        checked = self.options.checked
        key = hashlib.sha256(b"%d" % checked + jit.fingerprint().encode() + ptx).hexdigest()
        jit.runtime(self._disk)
        with self._lock:
            found = self._binaries.get(key)
            if found is not None:
                self._binaries.move_to_end(key)
                return found
            stored = self._disk.get(f"{key}.o")
            if stored is not None:
                found = Binary.unpack(stored)
            else:
                found = self._translate(ptx)
                self._disk.put(f"{key}.o", found.pack())
            self._binaries[key] = found
            if len(self._binaries) > _MAX_BINARIES:
                self._binaries.popitem(last=False)
            return found

    def _translate(self, ptx: bytes) -> Binary:
        try:
            text = ptx.rstrip(b"\0").decode("ascii")
        except UnicodeDecodeError:
            raise CUDADriverError(INVALID_IMAGE, "this is not PTX: it is not text") from None
        try:
            return Binary.translate(text, self.options.checked)
        except PtxError as exc:
            raise CUDADriverError(INVALID_PTX, str(exc)) from None
        except RuntimeError as exc:  # LLVM found what no rule of ours did
            raise CUDADriverError(INVALID_PTX, str(exc)[:1000]) from None

    def _table(self) -> AllocationTable:
        spans = [span for module in self._modules for span in module.spans]
        return self._memory().joined(spans)

    def _printed(self, text: str) -> None:
        self._output.append(text)
        self._output_chars += len(text)
        while self._output_chars > self.options.printf_bytes and len(self._output) > 1:
            self._output_chars -= len(self._output.popleft())

    def take_output(self) -> str:
        """Return what kernels printed since the last call, and forget it."""
        text = "".join(self._output)
        self._output.clear()
        self._output_chars = 0
        return text

    def close(self) -> None:
        """End the compiler's process and give memory back; modules can be used no more."""
        self._compiler.close()
        self.launcher.close()

"""LLVM text to machine code, through llvmlite: no compiler and no linker needed.

The runtime (`native/*.ll`) is compiled once in a process; kernels call it by address, and get the
helpers of instructions inlined.
"""

from __future__ import annotations

import ctypes
import hashlib
import platform
import re
import threading
from contextlib import closing
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any

from cupool.errors import OperationNotSupported
from cupool.pool_server.devices.ptx import abi
from cupool.pool_server.devices.ptx.cache import DiskCache

try:
    import llvmlite
    import llvmlite.binding as llvm
except ImportError:
    llvm = None

INSTALL = "pip install 'cupool[mock-kernels]'"
OLDEST_LLVM = (20, 0, 0)
"""What llvmlite 0.45 brings."""
CALLABLE = (
    "rt_launch", "rt_machine_new", "rt_machine_free", "rt_now", "rt_fault", "rt_check", "rt_row",
    "rt_tick", "rt_yield", "rt_exit", "rt_warp", "rt_activemask", "rt_barrier", "rt_arrive",
    "rt_vprintf", "rt_assertfail", "tanhf", "tanh",
)  # fmt: skip
MAX_OPTIMISED_CHARS = 80_000
"""Longer LLVM text gets `_BRIEF`: measured on kernels with the headers of cuRAND, CUB and complex
numbers, that takes a seventh of the time of LLVM's second level, and they run as fast."""
_BRIEF = (
    "always_inliner", "global_dead_code_eliminate", "sroa", "simplify_cfg", "instruction_combine",
    "simplify_cfg", "new_gvn", "simplify_cfg",
)  # fmt: skip
_lock = threading.Lock()


def require() -> None:
    """Check that kernels can be run here.

    Raises:
        OperationNotSupported: llvmlite is missing or too old, or the processor is of an unknown
            kind.
    """
    if llvm is None:
        raise OperationNotSupported("the mock GPU needs llvmlite to run kernels", remedy=INSTALL)
    if llvm.llvm_version_info < OLDEST_LLVM:  # pip leaves an old one where numba asked for it
        raise OperationNotSupported(
            f"the mock GPU needs a newer llvmlite than {llvmlite.__version__} to run kernels",
            remedy=INSTALL,
        )
    if platform.machine() not in ("x86_64", "aarch64"):
        raise OperationNotSupported(f"the mock GPU cannot run kernels on {platform.machine()}")


def _native(name: str) -> str:
    return (resources.files("cupool.pool_server.devices.ptx") / "native" / f"{name}.ll").read_text()


@cache
def helpers() -> frozenset[str]:
    """Return the names of the helpers of instructions."""
    return frozenset(re.findall(r"^define .*?@(px_\w+)\(", _native("helpers"), re.M))


@cache
def fingerprint() -> str:
    """Return what compiled code depends on beside its PTX: versions, processor, translator."""
    require()
    parts = [llvmlite.__version__, str(llvm.llvm_version_info), llvm.get_host_cpu_name()]
    parts += [_native("helpers").split()[1], _native("runtime").split()[1], platform.machine()]
    parts += [path.read_text() for path in sorted(Path(__file__).parent.glob("*.py"))]
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()


def _machine(optimise: int = 2) -> Any:
    target = llvm.Target.from_default_triple()
    features = llvm.get_host_cpu_features().flatten()
    return target.create_target_machine(
        cpu=llvm.get_host_cpu_name(), features=features, opt=optimise, jit=True
    )


def _optimise(module: Any, machine: Any, brief: bool) -> None:
    tuning = llvm.create_pipeline_tuning_options(speed_level=2)
    tuning.loop_vectorization = tuning.slp_vectorization = True
    builder = llvm.create_pass_builder(machine, tuning)
    passes = builder.getModulePassManager()
    if brief:
        passes = llvm.create_new_module_pass_manager()
        for name in _BRIEF:
            getattr(passes, f"add_{name}_pass")()
    passes.run(module, builder)


class Code:
    """Machine code in memory."""

    def __init__(self, data: bytes) -> None:
        _start()
        # In LLVM's global context: another one might be collected before the engine.
        self._engine = llvm.create_mcjit_compiler(llvm.parse_assembly(""), _machine())
        self._engine.add_object_file(llvm.ObjectFileRef.from_data(data))
        self._engine.finalize_object()

    def address(self, name: str) -> int:
        return int(self._engine.get_function_address(name))


def compile_text(text: str) -> bytes:
    """Compile LLVM text, together with the helpers of instructions, to an object file."""
    _start()
    # Whatever happens, the module goes before its context does.
    with closing(llvm.create_context()) as context:
        with closing(llvm.parse_assembly(text, context)) as module:
            helpers = llvm.parse_assembly(_native("helpers"), context)
            names = [f.name for f in helpers.functions if not f.is_declaration]
            module.link_in(helpers)
            for name in names:
                module.get_function(name).linkage = "internal"
            module.verify()
            machine = _machine()
            _optimise(module, machine, brief=len(text) > MAX_OPTIMISED_CHARS)
            return bytes(machine.emit_object(module))


class Runtime:
    """The compiled C runtime."""

    def __init__(self, disk: DiskCache | None) -> None:
        name = f"runtime-{fingerprint()}.o"
        data = disk.get(name) if disk is not None else None
        if data is None:
            data = self._compile()
            if disk is not None:
                disk.put(name, data)
        self._code = Code(data)
        for name in CALLABLE[:-2]:
            llvm.add_symbol(name, self._code.address(name))
        u64, pointer = ctypes.c_uint64, ctypes.c_void_p
        self.launch = ctypes.CFUNCTYPE(ctypes.c_int32, pointer, pointer)(
            self._code.address("rt_launch")
        )
        self.new_machine = ctypes.CFUNCTYPE(pointer, u64, u64, u64)(
            self._code.address("rt_machine_new")
        )
        self.free_machine = ctypes.CFUNCTYPE(None, pointer)(self._code.address("rt_machine_free"))

    @staticmethod
    def _compile() -> bytes:
        # The text comes from an optimising compiler: only code must be made of it.
        with closing(llvm.create_context()) as context:
            with closing(llvm.parse_assembly(_native("runtime"), context)) as module:
                module.link_in(llvm.parse_assembly(_native("printing"), context))
                module.link_in(llvm.parse_assembly(_switch(), context))
                return bytes(_machine(1).emit_object(module))


def _switch() -> str:
    source = abi.SWITCH_X86_64 if platform.machine() == "x86_64" else abi.SWITCH_AARCH64
    return "\n".join(f'module asm "{line}"' for line in source.strip().splitlines())


_runtime: Runtime | None = None


def runtime(disk: DiskCache | None = None) -> Runtime:
    """Return the runtime of this process, which the first call compiles or finds on disk."""
    global _runtime
    with _lock:
        if _runtime is None:
            _start()
            _runtime = Runtime(disk)
        return _runtime


@cache
def _start() -> None:
    require()
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    llvm.initialize_native_asmparser()

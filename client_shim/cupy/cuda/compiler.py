"""`cupy.cuda.compiler`: kernels are compiled on the pool server; here are their errors."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

from cupool.client_shim.cupy import _unsupported
from cupool.client_shim.cupy._core import calls
from cupool.client_shim.cupy.cuda import _includes, _std_headers, nvrtc
from cupool.client_shim.cupy.cuda.device import Device
from cupool.client_shim.cupy.cuda.function import Module
from cupool.proto import failures, kernels

CUPY_HEADERS = ("complex.cuh", "carray.cuh", "atomics.cuh", "math_constants.h")
"""What CuPy puts before the code of its own kernels."""


class CompileException(Exception):
    """A kernel's source does not compile.

    Args:
        msg: the compiler's log.
        source, name, options: what was compiled.
        backend: "nvrtc" or "nvcc", as the user said.
    """

    __module__ = "cupy.cuda.compiler"

    def __init__(
        self, msg: str, source: str, name: str, options: Sequence[str], backend: str = "nvrtc"
    ) -> None:
        self._msg = msg
        self.source = source
        self.name = name
        self.options = options
        self.backend = backend
        super().__init__()

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self._msg, self.source, self.name, self.options, self.backend)

    def __repr__(self) -> str:
        return str(self)

    def __str__(self) -> str:
        return self.get_message()

    def get_message(self) -> str:
        """Return the compiler's log."""
        return self._msg

    def dump(self, f: Any) -> None:
        """Write the log, and the source with numbered lines, to a text file."""
        lines = self.source.split("\n")
        digits = len(str(len(lines)))
        f.write(f"{self.backend.upper()} compilation error: {self}\n-----\n")
        f.write(f"Name: {self.name}\nOptions: {' '.join(self.options)}\nCUDA source:\n")
        for number, line in enumerate(lines, 1):
            f.write(f"{number:0{digits}d} {line.rstrip()}\n")
        f.write("-----\n")
        f.flush()


class JitifyException(Exception):
    """CuPy raises it where its jitify fails; here jitify is not needed."""

    __module__ = "cupy.cuda.compiler"


def _build(log: str, source: str = "") -> CompileException:
    return CompileException(log, source, "kern.cu", ())


failures.register("CompileException", CompileException, _build)


def is_valid_kernel_name(name: str) -> bool:
    """Return whether a kernel can have this name."""
    return kernels.is_valid_name(name)


def _jitify_deprecation_warning(jitify: bool) -> None:
    if jitify:
        text = "jitify=True is deprecated"
    else:
        text = "The jitify argument is deprecated"
    warnings.warn(f"{text} and may be removed in a future release.", DeprecationWarning, 3)


def make_module(
    source: str,
    options: tuple[str, ...] = (),
    backend: str = "nvrtc",
    translate_cucomplex: bool = False,
    enable_cooperative_groups: bool = False,
    name_expressions: tuple[str, ...] | None = None,
) -> Module:
    """Return a module that is compiled on the current device when it is first used.

    Raises:
        TypeError, ValueError: what cannot be compiled anywhere.
    """
    kernels.checked_text(source, "the source of a kernel")
    if backend not in ("nvrtc", "nvcc"):
        raise ValueError(f"Invalid backend: {backend!r}")
    for option in options:
        if not isinstance(option, str):
            raise TypeError(f"a compiler option must be a str, not {type(option).__name__}")
    source, options = _includes.resolve(source, options)
    source = _std_headers.provide(source)
    given = (
        source,
        tuple(options),
        tuple(name_expressions or ()),
        backend,
        bool(translate_cucomplex),
        bool(enable_cooperative_groups),
    )
    return Module._of(lambda: calls.call_object("RawModule", given))


def _compile_module_with_cache(
    source: str,
    options: tuple[str, ...] = (),
    arch: Any = None,
    cache_dir: Any = None,
    extra_source: Any = None,
    backend: str = "nvrtc",
    *,
    enable_cooperative_groups: bool = False,
    name_expressions: Any = None,
    log_stream: Any = None,
    jitify: bool = False,
) -> Module:
    """Compile a source on the current device and wait for it.

    Raises:
        CompileException: it does not compile.
    """
    names = tuple(name_expressions) if name_expressions else None
    module = make_module(source, options, backend, False, enable_cooperative_groups, names)
    compile_now(module, source, options, backend, log_stream)
    return module


def compile_now(
    module: Module, source: str, options: Sequence[str], backend: str, log_stream: Any = None
) -> None:
    """Wait until a module is compiled, and write the compiler's log.

    Raises:
        CompileException: with the user's own source.
    """
    with explained(source, options, backend, log_stream):
        log = module._describe()["log"]
    if log_stream is not None and log:
        log_stream.write(log)


def compile_using_nvrtc(
    source: str,
    options: tuple[str, ...] = (),
    arch: Any = None,
    filename: str = "kern.cu",
    name_expressions: Sequence[str] | None = None,
    log_stream: Any = None,
    cache_in_memory: bool = False,
    jitify: bool | None = None,
    method: str | None = None,
) -> tuple[bytes, dict[str, str] | None]:
    """Compile a source on the current device's server.

    Args:
        arch: compute capability without a dot, that of the device if None.
        method: "ptx" (also if None), or "cubin", which a mock GPU cannot make.

    Returns:
        the code, and the lowered names by name expression.

    Raises:
        CompileException: with the compiler's log.
    """
    if jitify is not None:
        _jitify_deprecation_warning(jitify)
    if method not in (None, "ptx", "cubin"):
        raise RuntimeError(f"{method!r} is no kind of code that is made here")
    kind = "sm" if method == "cubin" else "compute"
    arch = arch or Device().compute_capability
    given = (*options, f"--gpu-architecture={kind}_{arch}")
    program = nvrtc.createProgram(source, filename, (), ())
    try:
        for name in name_expressions or ():
            nvrtc.addNameExpression(program, name)
        nvrtc.compileProgram(program, (*given, "--device-as-default-execution-space"))
        mapping = {name: nvrtc.getLoweredName(program, name) for name in name_expressions or ()}
        if log_stream is not None:
            log_stream.write(nvrtc.getProgramLog(program))
        code = nvrtc.getCUBIN(program) if method == "cubin" else nvrtc.getPTX(program)
        return code, mapping if name_expressions else None
    except nvrtc.NVRTCError:
        log = nvrtc.getProgramLog(program)
        raise CompileException(log, source, filename, given) from None
    finally:
        nvrtc.destroyProgram(program)


class explained:
    """Gives compiler's errors that come back in its body their source and options.

    Without a source they keep what the device says, the beginning of what it has generated.
    """

    def __init__(
        self, source: str, options: Sequence[str], backend: str, log_stream: Any = None
    ) -> None:
        self._about = (source, "kern.cu", tuple(options), backend)
        self._log_stream = log_stream

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: Any, exc: BaseException | None, traceback: Any) -> None:
        if isinstance(exc, CompileException):
            source, exc.name, exc.options, exc.backend = self._about
            exc.source = source or exc.source
            if self._log_stream is not None:
                self._log_stream.write(exc.get_message())


_unsupported.fill(globals(), "cupy.cuda.compiler")

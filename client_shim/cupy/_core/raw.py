"""`cupy.RawKernel` and `cupy.RawModule`: kernels written in CUDA C++."""

from __future__ import annotations

import pickle
from collections.abc import Sequence
from typing import Any

from cupool.client_shim import session as _session
from cupool.client_shim.cupy._misc.memoization import memoize
from cupool.client_shim.cupy.cuda import compiler
from cupool.client_shim.cupy.cuda.function import Function, Module
from cupool.client_shim.cupy.cuda.memory import MemoryPointer
from cupool.proto.kernels import ATTRIBUTES, SETTABLE_ATTRIBUTES

_PICKLE_VERSION = 2


@memoize(for_each_device=True)
def _module(
    code: str | None,
    path: str | None,
    options: tuple[str, ...],
    backend: str,
    translate_cucomplex: bool,
    cooperative: bool,
    name_expressions: tuple[str, ...] | None,
) -> Module:
    if code is not None:
        return compiler.make_module(
            code, options, backend, translate_cucomplex, cooperative, name_expressions
        )
    assert path is not None
    module = Module()
    module.load_file(path)
    return module


def _check_texts(code: str | None, options: Any) -> None:
    if code is not None and not isinstance(code, str):
        raise TypeError(f"Expected unicode, got {type(code).__name__}")
    if not isinstance(options, tuple):
        raise TypeError(f"Expected tuple, got {type(options).__name__}")


class RawKernel:
    """A kernel written in CUDA C++.

    It is compiled on the pool server at its first launch, once for each device.

    Args:
        code: the source.
        name: the kernel's name in it.
        options: for the compiler, e.g. ("-DN=4", "--use_fast_math"). Header files in a folder
            named by "-I" are read here and sent along.
        backend: "nvrtc" or "nvcc"; the pool server compiles both with NVRTC unless it has nvcc.
        translate_cucomplex: the source uses cuComplex.h.
        enable_cooperative_groups: launch so that the whole grid can synchronize.
        jitify: accepted; deprecated by CuPy.

    Raises:
        CompileException, CUDADriverError: at the first launch, not here.

    See https://docs.cupy.dev/en/stable/reference/generated/cupy.RawKernel.html
    """

    __module__ = "cupy"

    def __init__(
        self,
        code: str,
        name: str,
        options: tuple[str, ...] = (),
        backend: str = "nvrtc",
        translate_cucomplex: bool = False,
        *,
        enable_cooperative_groups: bool = False,
        jitify: bool | None = None,
    ) -> None:
        _check_texts(code, options)
        if not isinstance(name, str):
            raise TypeError(f"Expected unicode, got {type(name).__name__}")
        if jitify is not None:
            compiler._jitify_deprecation_warning(jitify)
        self.code: str | None = code
        self.name = self.__name__ = name
        self.options = options
        self.backend = backend
        self.translate_cucomplex = bool(translate_cucomplex)
        self.enable_cooperative_groups = bool(enable_cooperative_groups)
        self.jitify = jitify
        self.file_path: str | None = None
        self.name_expressions: tuple[str, ...] | None = None
        self._functions: dict[int, Function] = {}

    def __call__(
        self, grid: tuple[int, ...], block: tuple[int, ...], args: Sequence[Any], **kwargs: Any
    ) -> None:
        """Queue a launch; the first one compiles.

        Args:
            grid: blocks, 1 to 3 numbers.
            block: threads of a block, 1 to 3 numbers.
            args: arrays, scalars and pointers. Arrays are passed as pointers to their first
                element, whatever their strides.
            shared_mem: bytes of dynamic shared memory for each block.

        Raises:
            CompileException, CUDADriverError: the source does not compile or lacks the kernel.
            TypeError: an argument that no kernel can take.
        """
        self.kernel(
            grid, block, args, enable_cooperative_groups=self.enable_cooperative_groups, **kwargs
        )

    @property
    def kernel(self) -> Function:
        """The compiled kernel on the current device."""
        device = _session.current.device
        function = self._functions.get(device)
        if function is None or not function._handle.session.open:
            function = self._functions[device] = self._compiled()
        return function

    def _compiled(self, log_stream: Any = None) -> Function:
        module = self._get_module()
        with compiler.explained(self.code or "", self.options, self.backend, log_stream):
            if log_stream is not None and self.code is not None:
                log = module._describe()["log"]
                log_stream.write(log)
            return module.get_function(self.name)

    def _get_module(self) -> Module:
        _session.session().check()
        module: Module = _module(
            self.code,
            self.file_path,
            self.options,
            self.backend,
            self.translate_cucomplex,
            self.enable_cooperative_groups,
            self.name_expressions,
        )
        return module

    def compile(self, log_stream: Any = None) -> None:
        """Compile now, and write what the compiler says to a text file.

        Raises:
            CompileException, CUDADriverError
        """
        self._functions.clear()
        self._functions[_session.current.device] = self._compiled(log_stream)

    @property
    def attributes(self) -> dict[str, int]:
        """What the compiled kernel takes and allows; compiles if need be."""
        known = self.kernel.attributes
        return {name: int(known.get(name, -1)) for name in ATTRIBUTES}

    def __getstate__(self) -> dict[str, Any]:
        names = (
            "code name options backend translate_cucomplex file_path name_expressions"
            " enable_cooperative_groups jitify"
        ).split()
        return {**{name: getattr(self, name) for name in names}, "raw_ver": _PICKLE_VERSION}

    def __setstate__(self, args: dict[str, Any]) -> None:
        args = dict(args)
        if args.pop("raw_ver", None) != _PICKLE_VERSION:
            raise pickle.UnpicklingError(
                "The pickled RawKernel object is not supported by the current CuPy version. It"
                " should not be used. Please recompile."
            )
        self.__dict__.update(args)
        self.__name__ = self.name
        self._functions = {}


def _attribute(name: str) -> property:
    def read(self: RawKernel) -> int:
        return self.attributes[name]

    def write(self: RawKernel, value: int) -> None:
        self.kernel.set_attribute(name, value)

    doc = f"The compiled kernel's {name}; compiles if need be."
    return property(read, write if name in SETTABLE_ATTRIBUTES else None, doc=doc)


for _name in ATTRIBUTES:
    setattr(RawKernel, _name, _attribute(_name))


class RawModule:
    """A module of kernels: CUDA C++ source, or a PTX or cubin file of this machine.

    It is compiled or loaded on the pool server when something of it is asked for.

    Args:
        code: the source; either it or `path` is given.
        path: a file, which is read here and sent.
        options: for the compiler, see `RawKernel`.
        backend: "nvrtc" or "nvcc".
        translate_cucomplex: the source uses cuComplex.h.
        enable_cooperative_groups: launch so that the whole grid can synchronize.
        name_expressions: C++ names of kernels, e.g. "scale<float>"; `get_function` takes them.
        jitify: accepted; deprecated by CuPy.

    Raises:
        TypeError: both or neither of `code` and `path`.
        ValueError: name expressions without source or for nvcc.

    See https://docs.cupy.dev/en/stable/reference/generated/cupy.RawModule.html
    """

    __module__ = "cupy"

    def __init__(
        self,
        code: str | None = None,
        *,
        path: str | None = None,
        options: tuple[str, ...] = (),
        backend: str = "nvrtc",
        translate_cucomplex: bool = False,
        enable_cooperative_groups: bool = False,
        name_expressions: Sequence[str] | None = None,
        jitify: bool | None = None,
    ) -> None:
        if (code is None) == (path is None):
            raise TypeError("Exactly one of `code` and `path` keyword arguments must be given.")
        _check_texts(code, options)
        if name_expressions is not None:
            if code is None:
                raise ValueError("need CUDA C++ code for the requested kernels")
            if backend != "nvrtc":
                raise ValueError(
                    "only nvrtc supports retrieving the mangled names for the given name"
                    " expressions"
                )
        if jitify and code is None:
            raise ValueError("Jitify does not support precompiled objects")
        if jitify and backend != "nvrtc":
            raise ValueError("Jitify only supports NVRTC")
        if jitify is not None:
            compiler._jitify_deprecation_warning(jitify)
        self.code = code
        self.file_path = path
        self.options = options if code is not None else ()
        self.backend = backend if code is not None else "nvcc"
        self.translate_cucomplex = bool(translate_cucomplex) and code is not None
        self.enable_cooperative_groups = bool(enable_cooperative_groups)
        self.name_expressions = None if name_expressions is None else tuple(name_expressions)
        self.jitify = jitify

    def _kernel(self, name: str) -> RawKernel:
        kernel = RawKernel(
            self.code or "",
            name,
            self.options,
            self.backend,
            self.translate_cucomplex,
            enable_cooperative_groups=self.enable_cooperative_groups,
        )
        kernel.code, kernel.file_path = self.code, self.file_path
        kernel.name_expressions = self.name_expressions
        return kernel

    @property
    def module(self) -> Module:
        """The module on the current device."""
        return self._kernel("")._get_module()

    def compile(self, log_stream: Any = None) -> None:
        """Compile now, and write what the compiler says to a text file.

        Raises:
            CompileException: with the compiler's log.
        """
        compiler.compile_now(self.module, self.code or "", self.options, self.backend, log_stream)

    def get_function(self, name: str) -> RawKernel:
        """Return a kernel, by its name or by one of the name expressions.

        Raises:
            CompileException: the source does not compile.
            CUDADriverError: there is no such kernel.
        """
        kernel = self._kernel(name)
        _ = kernel.kernel
        return kernel

    def get_global(self, name: str) -> MemoryPointer:
        """Return a pointer to a global variable, such as one in `__constant__` memory.

        Raises:
            CompileException, CUDADriverError: as `get_function`.
        """
        with compiler.explained(self.code or "", self.options, self.backend):
            return self.module._global(name)

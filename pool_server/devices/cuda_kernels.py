"""User kernels on the CUDA device: CuPy's own classes, made of what the session sent."""

from __future__ import annotations

import ctypes
import io
import os
import re
import tempfile
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from cupool.errors import ProtocolViolation
from cupool.pool_server.devices.base import Device, Layout
from cupool.pool_server.devices.cuda_output import KernelOutput
from cupool.pool_server.devices.errors import CompileException, CUDADriverError
from cupool.pool_server.devices.kernel_sources import (
    MAX_LOG_CHARS,
    SCALAR_BYTES,
    check_arguments,
    check_names,
    check_options,
    check_source,
    plain_name,
    program_answer,
)
from cupool.proto.kernels import ATTRIBUTES, MAX_ARGUMENTS, SETTABLE_ATTRIBUTES, checked_text
from cupool.proto.values import dtype_to_wire

_MAX_PARAMETER_BYTES = 32764
_SCALARS = (bool, int, float, complex, np.generic)


class _Function:
    """A kernel of a module; each has attributes of its own."""

    def __init__(self, kernel: Any, cooperative: bool) -> None:
        self.kernel = kernel
        self.cooperative = cooperative
        self._places: list[list[int]] | None = None
        self._asked = False

    def places(self) -> list[list[int]] | None:
        """Return offsets and sizes of its parameters, None if the driver does not tell."""
        if not self._asked:
            self._places, self._asked = _parameter_places(self.kernel.kernel.ptr), True
        return self._places


class CudaKernels:
    """The rows of user kernels.

    Args:
        device: where outputs are allocated.
        cupy: the module to use.
    """

    def __init__(self, device: Device, cupy: Any) -> None:
        self._device = device
        self._cupy = cupy
        self._output: KernelOutput | None = None
        self._rows: dict[str, Callable[..., Any]] = {
            "RawModule": self._module,
            "RawModule.load": self._load,
            "RawModule.get_function": self._function,
            "RawModule.global_array": self._global_array,
            "RawModule.describe": self._describe,
            "RawModule.global_size": self._global_size,
            "nvrtc.compileProgram": self._compile_program,
            "RawKernel": self._launch,
            "RawKernel.set": self._set,
            "RawKernel.attributes": self._attributes,
            "RawKernel.parameters": self._parameters,
            "ElementwiseKernel": self._elementwise,
            "ElementwiseKernel.call": self._call_elementwise,
            "ElementwiseKernel.codes": self._codes,
            "ReductionKernel": self._reduction,
            "ReductionKernel.call": self._call_reduction,
            "ReductionKernel.codes": self._codes,
        }

    def run(
        self,
        name: str,
        args: Sequence[Any],
        kwargs: Mapping[str, Any],
        outs: Sequence[Layout | None],
    ) -> list[Any]:
        """Do one row; return its new arrays or objects, or the answer of a query."""
        if self._output is None:
            self._output = KernelOutput()
        try:
            if name.endswith(".call"):
                made: list[Any] = self._rows[name](*args, outs=outs)
                return made
            result = self._rows[name](*args, **kwargs)
        except self._cupy.cuda.compiler.CompileException as exc:
            raise CompileException(exc.get_message()[:MAX_LOG_CHARS], exc.source) from None
        return [] if result is None else [result]

    def take_printed(self) -> str:
        """Return what kernels have printed since the last call."""
        return self._output.take() if self._output is not None else ""

    def close(self) -> None:
        """Give the process's standard output back."""
        if self._output is not None:
            self._output.close()
            self._output = None

    # Modules

    def _module(
        self,
        source: Any,
        options: Any = (),
        names: Any = (),
        backend: Any = "nvrtc",
        translate_cucomplex: Any = False,
        cooperative: Any = False,
    ) -> Any:
        # NVRTC whatever the backend: a server need not have nvcc.
        return self._cupy.RawModule(
            code=check_source(source),
            options=check_options(options),
            translate_cucomplex=bool(translate_cucomplex),
            enable_cooperative_groups=bool(cooperative),
            name_expressions=check_names(names) or None,
        )

    def _load(self, code: Any) -> Any:
        if not isinstance(code, self._cupy.ndarray) or code.dtype != np.uint8 or code.ndim != 1:
            raise ProtocolViolation("a module is an array of bytes")
        # CuPy takes a path; the name is the server's own.
        number, path = tempfile.mkstemp(prefix="cupool-module-")
        try:
            with os.fdopen(number, "wb") as file:
                file.write(code.get().tobytes())
            module = self._cupy.RawModule(path=path)
            module.compile()
            return module
        finally:
            os.unlink(path)

    def _function(self, module: Any, name: Any) -> _Function:
        module = self._checked(module, "RawModule")
        kernel = module.get_function(checked_text(name, "a kernel's name"))
        return _Function(kernel, bool(module.enable_cooperative_groups))

    def _describe(self, module: Any) -> dict[str, Any]:
        module = self._checked(module, "RawModule")
        log = io.StringIO()
        module.compile(log_stream=log)
        names = dict(module.module.mapping or {})
        return {"names": names, "log": log.getvalue()[:MAX_LOG_CHARS]}

    def _compile_program(self, source: Any, options: Any, names: Any, name: Any) -> dict[str, Any]:
        nvrtc = self._cupy.cuda.nvrtc
        options, names = check_options(options), check_names(names)
        program = nvrtc.createProgram(check_source(source), plain_name(name), (), ())
        try:
            for expression in names:
                nvrtc.addNameExpression(program, expression)
            try:
                nvrtc.compileProgram(program, options)
            except nvrtc.NVRTCError as exc:
                return program_answer(nvrtc.getProgramLog(program), status=int(exc.status))
            lowered = {each: nvrtc.getLoweredName(program, each) for each in names}
            real = any(re.match("--?(?:gpu-architecture|arch)[= ]sm_", o) for o in options)
            cubin = nvrtc.getCUBIN(program) if real else b""
            log = nvrtc.getProgramLog(program)
            return program_answer(log, nvrtc.getPTX(program), cubin, lowered)
        finally:
            nvrtc.destroyProgram(program)

    def _global_size(self, module: Any, name: Any) -> int:
        return int(self._global(module, name).mem.size)

    def _global_array(self, module: Any, name: Any) -> Any:
        pointer = self._global(module, name)
        return self._cupy.ndarray((pointer.mem.size,), np.uint8, memptr=pointer)

    def _global(self, module: Any, name: Any) -> Any:
        """Return a pointer to a variable, whose memory has the variable's size."""
        module, name = self._checked(module, "RawModule"), checked_text(name, "a variable's name")
        pointer = module.get_global(name)
        if pointer.mem.size:
            return pointer
        # CuPy does not ask for the size, so the driver is asked.
        address, size = ctypes.c_uint64(), ctypes.c_size_t()
        status = ctypes.CDLL("libcuda.so.1").cuModuleGetGlobal_v2(
            ctypes.byref(address),
            ctypes.byref(size),
            ctypes.c_void_p(module.module.ptr),
            name.encode(),
        )
        if status:
            raise CUDADriverError(status)
        memory = self._cupy.cuda.UnownedMemory(address.value, size.value, module)
        return self._cupy.cuda.MemoryPointer(memory, 0)

    # Functions

    def _attributes(self, function: Any) -> dict[str, int]:
        known = _function_of(function).kernel.attributes
        return {name: int(known.get(name, -1)) for name in ATTRIBUTES}

    def _parameters(self, function: Any) -> dict[str, list[list[int]]]:
        places = _function_of(function).places()
        return {} if places is None else {"places": places}

    def _set(self, function: Any, name: Any, value: Any) -> None:
        if name not in SETTABLE_ATTRIBUTES or type(value) is not int:
            raise CUDADriverError(1)
        setattr(_function_of(function).kernel, name, value)

    def _launch(
        self,
        function: Any,
        grid: Any,
        block: Any,
        arguments: Any,
        shared_bytes: Any,
        cooperative: Any,
    ) -> None:
        if not isinstance(arguments, list) or len(arguments) > MAX_ARGUMENTS:
            raise ProtocolViolation(f"not a list of arguments: {arguments!r:.80}")
        values = tuple([self._argument(value) for value in arguments])
        user = _function_of(function)
        sizes = [size for _, size in user.places() or ()]
        check_arguments([self._size_bytes(value) for value in values], sizes)
        user.kernel(_extent(grid), _extent(block), values, shared_mem=int(shared_bytes))

    def _size_bytes(self, value: Any) -> int:
        """Return how many bytes CuPy hands to the driver for an argument."""
        if isinstance(value, self._cupy.ndarray):
            return 16 + 16 * int(value.ndim)  # a CArray: data, size, shape, strides
        if isinstance(value, np.ndarray):
            return value.nbytes
        if isinstance(value, _SCALARS) or value is None:
            return SCALAR_BYTES
        return _MAX_PARAMETER_BYTES  # a pointer or an mdspan: CuPy makes it as the kernel's type is

    def _argument(self, value: Any) -> Any:
        if isinstance(value, tuple):
            owner, offset_bytes = value
            if not isinstance(owner, self._cupy.ndarray) or type(offset_bytes) is not int:
                raise ProtocolViolation("a pointer is an array and an offset in bytes")
            return owner.data + offset_bytes
        if isinstance(value, list):
            array, index_bytes = value
            if not isinstance(array, self._cupy.ndarray) or index_bytes not in (4, 8):
                raise ProtocolViolation("an mdspan is an array and the size of its indices")
            kind = self._cupy.int32 if index_bytes == 4 else self._cupy.int64
            return array.mdspan(index_type=kind, allow_unsafe=True)
        if isinstance(value, np.void):
            return np.frombuffer(value.tobytes(), f"V{value.nbytes}")
        return value

    # Elementwise and reduction kernels

    def _elementwise(
        self, in_params: Any, out_params: Any, operation: Any, name: Any, **options: Any
    ) -> Any:
        return self._cupy.ElementwiseKernel(
            checked_text(in_params, "a parameter list"),
            checked_text(out_params, "a parameter list"),
            check_source(operation),
            name,
            no_return=True,
            **_checked_options(
                options, "preamble", "loop_prep", "after_loop", "options", "reduce_dims"
            ),
        )

    def _call_elementwise(
        self, kernel: Any, arguments: Any, size: Any, block_size: Any, outs: Any
    ) -> list[Any]:
        kernel = self._checked(kernel, "ElementwiseKernel")
        values, made = self._values(kernel, arguments, outs)
        pairs = zip(kernel.params, values, strict=False)
        plain = any(isinstance(v, self._cupy.ndarray) and not p.raw for p, v in pairs)
        # Outputs are given, so they say the size unless all are raw.
        sized = {} if plain or size is None else {"size": int(size)}
        kernel(*values, block_size=int(block_size), **sized)
        return made

    def _reduction(
        self,
        in_params: Any,
        out_params: Any,
        map_expr: Any,
        reduce_expr: Any,
        post_map_expr: Any,
        identity: Any,
        name: Any,
        **options: Any,
    ) -> Any:
        expressions = map(check_source, (map_expr, reduce_expr, post_map_expr, identity))
        return self._cupy.ReductionKernel(
            checked_text(in_params, "a parameter list"),
            checked_text(out_params, "a parameter list"),
            *expressions,
            name,
            **_checked_options(options, "reduce_type", "preamble", "options", "reduce_dims"),
        )

    def _call_reduction(
        self, kernel: Any, arguments: Any, axes: Any, keepdims: Any, outs: Any
    ) -> list[Any]:
        kernel = self._checked(kernel, "ReductionKernel")
        values, made = self._values(kernel, arguments, outs)
        kernel(*values, axis=axes, keepdims=bool(keepdims))
        return made

    def _codes(self, kernel: Any) -> list[list[Any]]:
        rows = []
        for dtypes, code in list(kernel.cached_codes.items())[:64]:
            rows.append([[dtype_to_wire(np.dtype(d)) for d in dtypes], code])
        return rows

    def _values(self, kernel: Any, arguments: Any, outs: Any) -> tuple[list[Any], list[Any]]:
        if not isinstance(arguments, list) or len(arguments) + len(outs) != kernel.nargs:
            raise ProtocolViolation(f"{kernel.nargs} arguments are needed, not {arguments!r:.80}")
        if any(out is None for out in outs):
            raise ProtocolViolation("the layout of a kernel's output must be promised")
        made = [self._device.empty(out) for out in outs]
        return [*arguments, *made], made

    def _checked(self, value: Any, name: str) -> Any:
        if not isinstance(value, getattr(self._cupy, name)):
            raise ProtocolViolation(f"a {name} is needed, not {value!r:.40}")
        return value


def _parameter_places(function: int) -> list[list[int]] | None:
    """Return offsets and sizes of a kernel's parameters; None from a driver before CUDA 12.4."""
    try:
        info = ctypes.CDLL("libcuda.so.1").cuFuncGetParamInfo
    except (OSError, AttributeError):
        return None
    found: list[list[int]] = []
    offset, size = ctypes.c_size_t(), ctypes.c_size_t()
    places = ctypes.byref(offset), ctypes.byref(size)
    while len(found) < MAX_ARGUMENTS and not info(
        ctypes.c_void_p(function), ctypes.c_size_t(len(found)), *places
    ):
        found.append([offset.value, size.value])
    return found


def _function_of(value: Any) -> _Function:
    if not isinstance(value, _Function):
        raise ProtocolViolation(f"a function is needed, not {value!r:.40}")
    return value


def _checked_options(options: Mapping[str, Any], *known: str) -> dict[str, Any]:
    checked: dict[str, Any] = {}
    for name, value in options.items():
        if name not in known:
            raise ProtocolViolation(f"unknown option {name!r:.40} of a kernel")
        if name == "options":
            value = check_options(value)
        elif name == "reduce_dims":
            value = bool(value)
        elif value is not None:
            value = check_source(value)
        checked[name] = value
    return checked


def _extent(value: Any) -> tuple[int, ...]:
    if not isinstance(value, tuple) or len(value) != 3 or any(type(n) is not int for n in value):
        raise ProtocolViolation(f"not blocks or threads: {value!r:.80}")
    return value

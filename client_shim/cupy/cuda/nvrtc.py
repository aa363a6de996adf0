"""`cupy.cuda.nvrtc`: the runtime compiler's own functions. The compiler is the pool server's.

A program is kept here until `compileProgram` sends it to the current device's server.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from cupool.client_shim import session as _session
from cupool.client_shim.cupy.cuda import _includes, _std_headers
from cupool.proto import values
from cupool.proto.kernels import ARCHITECTURES

_ERRORS = (
    "SUCCESS OUT_OF_MEMORY PROGRAM_CREATION_FAILURE INVALID_INPUT INVALID_PROGRAM INVALID_OPTION"
    " COMPILATION BUILTIN_OPERATION_FAILURE NO_NAME_EXPRESSIONS_AFTER_COMPILATION"
    " NO_LOWERED_NAMES_BEFORE_COMPILATION NAME_EXPRESSION_NOT_VALID INTERNAL_ERROR"
).split()
_INVALID_PROGRAM, _NO_NAMES_AFTER, _NO_LOWERED_BEFORE, _NAME_NOT_VALID = 4, 8, 9, 10


class NVRTCError(RuntimeError):
    """The compiler's error; `status` is its code."""

    __module__ = "cupy_backends.cuda.libs.nvrtc"

    def __init__(self, status: int) -> None:
        self.status = status
        name = f"_{_ERRORS[status]}" if 0 <= status < len(_ERRORS) else " unknown"
        super().__init__(f"NVRTC_ERROR{name} ({status})")

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.status,)


@dataclass
class _Program:
    source: str
    name: str
    headers: Mapping[str, str]
    expressions: list[str] = field(default_factory=list)
    answer: dict[str, Any] | None = None


_programs: dict[int, _Program] = {}
_numbers = itertools.count(1)


def check_status(status: int) -> None:
    """Raise the error of a status, unless it is success."""
    if status:
        raise NVRTCError(status)


def getVersion() -> tuple[int, int]:
    """Return the CUDA version that the mimicked CuPy was built for."""
    return 12, 9


def getSupportedArchs() -> tuple[int, ...]:
    """Return the compute capabilities that CUDA 12.9's compiler knows, without dots."""
    return ARCHITECTURES


def createProgram(
    src: str, name: str, headers: Sequence[str | bytes], include_names: Sequence[str | bytes]
) -> int:
    """Return a number for a new program.

    Args:
        src: CUDA C++.
        name: its name in messages.
        headers, include_names: texts that it may include, and by which names.
    """
    if not isinstance(src, str) or not isinstance(name, str):
        raise TypeError("a program's source and name are str")
    assert len(headers) == len(include_names)
    texts = dict(zip(map(_text, include_names), map(_text, headers), strict=True))
    number = next(_numbers)
    _programs[number] = _Program(src, name, texts)
    return number


def destroyProgram(prog: int) -> None:
    """Forget a program.

    Raises:
        NVRTCError: there is none of this number; so do all that take a program.
    """
    _find(prog)
    del _programs[prog]


def addNameExpression(prog: int, name: str) -> None:
    """Ask for the lowered name of a kernel or variable, before the program is compiled."""
    program = _find(prog)
    if program.answer is not None:
        raise NVRTCError(_NO_NAMES_AFTER)
    program.expressions.append(name)


def compileProgram(prog: int, options: Sequence[str]) -> None:
    """Compile on the current device's server; folders of headers are read on this machine.

    Raises:
        NVRTCError: it does not compile; `getProgramLog` says why.
    """
    program = _find(prog)
    source, rest = _includes.resolve(program.source, options, program.headers)
    lists = ((values.TUPLE, rest), (values.TUPLE, tuple(program.expressions)))
    arguments = (_std_headers.provide(source), *lists, program.name or "default_program")
    answer: dict[str, Any] = _session.session().ask("nvrtc.compileProgram", arguments)
    program.answer = answer
    check_status(int(answer["status"]))


def getPTX(prog: int) -> bytes:
    """Return the assembly text, which ends with a null byte."""
    return _code(prog, "ptx")


def getCUBIN(prog: int) -> bytes:
    """Return machine code, of a program that was compiled for a real architecture (sm_XX).

    Raises:
        RuntimeError: it was not; on a mock GPU, always.
    """
    code = _code(prog, "cubin")
    if not code:
        raise RuntimeError(
            "cubin is requested, but the real arch (sm_XX) is not provided, or the GPU is a mock"
        )
    return code


def getLTOIR(prog: int) -> bytes:
    """Refused: code for the linker of a GPU is not made here.

    Raises:
        RuntimeError
    """
    _find(prog)
    raise RuntimeError("LTO-IR is not supported: link sources together instead")


def getProgramLog(prog: int) -> str:
    """Return what the compiler has said."""
    answer = _find(prog).answer
    return "" if answer is None else str(answer["log"])


def getLoweredName(prog: int, name: str) -> str:
    """Return the name in PTX of what `addNameExpression` asked for."""
    answer = _find(prog).answer
    if answer is None:
        raise NVRTCError(_NO_LOWERED_BEFORE)
    found = answer["names"].get(name)
    if found is None:
        raise NVRTCError(_NAME_NOT_VALID)
    return str(found)


def _find(prog: int) -> _Program:
    found = _programs.get(prog)
    if found is None:
        raise NVRTCError(_INVALID_PROGRAM)
    return found


def _code(prog: int, kind: str) -> bytes:
    answer = _find(prog).answer
    if answer is None or answer["status"]:
        raise NVRTCError(_INVALID_PROGRAM)
    return str(answer[kind]).encode("latin-1")


def _text(value: str | bytes) -> str:
    return value.decode() if isinstance(value, bytes) else str(value)

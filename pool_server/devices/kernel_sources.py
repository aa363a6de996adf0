"""What a session may have compiled: sources and options that cannot name the server's files.

A compiler error quotes what it has read, so an `#include` of any path would read it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

from cupool.pool_server.devices.errors import CUDADriverError
from cupool.proto.kernels import MAX_SOURCE_CHARS, checked_text

MAX_OPTIONS = 256
MAX_OPTION_CHARS = 4096
MAX_NAMES = 1024
MAX_CODE_BYTES = 3 << 20
MAX_LOG_CHARS = 64 << 10
NVRTC_COMPILATION = 6
SCALAR_BYTES = 16
"""CuPy's scalars lie in so many bytes, whatever their type."""

_DIRECTIVE = re.compile(r"(?:#|%:|\?\?=)\s*(?:include(?:_next)?|import|embed)\b([^\n]*)")
_HAS = re.compile(r"__has_(?:include(?:_next)?|embed)\s*\(([^\n)]*)")
_HEADER = re.compile(r'\s*(?:<([\w+./-]+)>|"([\w+./-]+)")')
_COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)
_SWITCHES = (
    "use_fast_math device-debug generate-line-info lineinfo restrict default-device"
    " device-as-default-execution-space extra-device-vectorization builtin-move-forward"
    " builtin-initializer-list disable-warnings display-error-number no-display-error-number"
    " dlink-time-opt extensible-whole-program relocatable-device-code device-c dc rdc ewp dlto"
    " err-no G w dopt ftz prec-sqrt prec-div fmad maxrregcount optimization-info Xptxas"
    " ptxas-options modify-stack-limit diag-error diag-suppress diag-warn split-compile minimal"
    " brief-diagnostics time O0 O1 O2 O3"
).split()
_ALLOWED = re.compile(
    rf"""
    (?:-D|--define-macro=?)\s*\w+(?:\(.*\))?(?:=.*)?
    | (?:-U|--undefine-macro=?)\s*\w+
    | --?(?:gpu-architecture|arch)[= ](?:compute|sm)_\d+[af]?
    | --?std=c\+\+\d\d
    | --?(?:{"|".join(_SWITCHES)})(?:[= ][\w.,:+-]+)?
    """,
    re.VERBOSE | re.DOTALL,
)


def check_source(source: Any) -> str:
    """Return a source that may be compiled.

    Raises:
        TypeError, ValueError: no text, too long, or it includes what is not the compiler's own.
    """
    text = checked_text(source, "the source of a kernel")
    joined = text.replace("\r\n", "\n").replace("\\\n", "").replace("??/\n", "")
    for form in (joined, _COMMENT.sub(" ", joined)):
        for directive in (*_DIRECTIVE.finditer(form), *_HAS.finditer(form)):
            header = _HEADER.match(directive[1])
            name = header[1] or header[2] if header is not None else ""
            if not name or name.startswith("/") or ".." in name.split("/"):
                raise ValueError(
                    f"a kernel may include the compiler's own headers only, not"
                    f" {directive[1].strip()[:80]!r}: put others into its source, or name their"
                    " folder with the option -I"
                )
    return text


def check_options(options: Any) -> tuple[str, ...]:
    """Return compiler options, all of which are known and name no file.

    Raises:
        TypeError, ValueError
    """
    texts = _texts(options, MAX_OPTIONS, MAX_OPTION_CHARS, "compiler option")
    for option in texts:
        if not _ALLOWED.fullmatch(option):
            raise ValueError(f"the compiler option {option[:80]!r} is not allowed on a pool server")
    return texts


def check_names(names: Any) -> tuple[str, ...]:
    """Return C++ name expressions.

    Raises:
        TypeError, ValueError
    """
    return _texts(names, MAX_NAMES, MAX_OPTION_CHARS, "name expression")


def plain_name(name: Any) -> str:
    """Return a source's name as one of no folder: the compiler looks for headers beside it."""
    return re.sub(r"[^\w.+-]", "_", checked_text(name, "the name of a source"))[-100:]


def check_arguments(given_bytes: Sequence[int], parameter_bytes: Sequence[int]) -> None:
    """Check a launch's arguments against the kernel's parameters: the driver does not.

    It reads as many bytes as each parameter has, whatever the argument is.

    Args:
        given_bytes: sizes of the arguments.
        parameter_bytes: sizes of the parameters.

    Raises:
        CUDADriverError: fewer than the kernel takes, or one that is shorter than its parameter.
    """
    if len(given_bytes) < len(parameter_bytes):
        raise CUDADriverError(
            1,
            f"the kernel takes {len(parameter_bytes)} arguments, {len(given_bytes)} were given",
        )
    for index, (given, taken) in enumerate(zip(given_bytes, parameter_bytes, strict=False)):
        if given < taken and taken > SCALAR_BYTES:
            raise CUDADriverError(1, f"parameter {index} has {taken} bytes, its argument {given}")


def program_answer(
    log: str,
    ptx: bytes = b"",
    cubin: bytes = b"",
    names: Mapping[str, str] = MappingProxyType({}),
    status: int = 0,
) -> dict[str, Any]:
    """Return what a compilation is answered with; code travels as latin-1.

    Raises:
        ValueError: there is more code than an answer can hold.
    """
    if len(ptx) + len(cubin) > MAX_CODE_BYTES:
        raise ValueError(
            f"{len(ptx) + len(cubin):,} bytes of code, the limit is {MAX_CODE_BYTES:,}"
        )
    return {
        "status": status,
        "log": log[:MAX_LOG_CHARS],
        "ptx": ptx.decode("latin-1"),
        "cubin": cubin.decode("latin-1"),
        "names": dict(names),
    }


def _texts(values: Any, count: int, length: int, what: str) -> tuple[str, ...]:
    if not isinstance(values, Sequence) or isinstance(values, str):
        raise TypeError(f"not a list of {what}s: {values!r:.80}")
    if len(values) > count:
        raise ValueError(f"{len(values)} {what}s, the limit is {count}")
    for value in values:
        if not isinstance(value, str):
            raise TypeError(f"a {what} must be a str, not {type(value).__name__}")
        if len(value) > length:
            raise ValueError(f"a {what} has {len(value)} characters, the limit is {length}")
    return tuple(values)


__all__ = [
    "MAX_LOG_CHARS",
    "MAX_SOURCE_CHARS",
    "NVRTC_COMPILATION",
    "SCALAR_BYTES",
    "check_arguments",
    "check_names",
    "check_options",
    "check_source",
    "plain_name",
    "program_answer",
]

"""A process that compiles CUDA C++ to PTX with NVRTC, one request after another.

It runs by itself (`python -I -S compiler_process.py LIBRARY BYTES FOLDER`), imports nothing of
cupool, and holds nothing but the compiler: NVRTC works on whatever a client sends, and can be made
to take much memory or time, or to crash. Requests and answers are JSON with a length before it.
"""

from __future__ import annotations

import ctypes
import json
import os
import resource
import signal
import struct
import sys
from typing import Any, BinaryIO

_PDEATHSIG = 1


def _protect(memory_bytes: int, folder: str) -> None:
    """Die with the parent, write no file, take no more memory than allowed.

    NVRTC looks for headers in the working folder, so that is one of headers.
    """
    ctypes.CDLL(None).prctl(_PDEATHSIG, int(signal.SIGKILL), 0, 0, 0)
    os.chdir(folder)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_AS, (memory_bytes, memory_bytes))
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))


def _text(library: Any, program: ctypes.c_void_p, kind: str) -> str:
    size = ctypes.c_size_t()
    if getattr(library, f"nvrtcGet{kind}Size")(program, ctypes.byref(size)):
        return ""
    data = ctypes.create_string_buffer(max(size.value, 1))
    getattr(library, f"nvrtcGet{kind}")(program, data)
    return data.value.decode("utf-8", "replace")


def compile_program(library: Any, request: dict[str, Any]) -> dict[str, Any]:
    """Compile one source; the answer has `status`, `log`, and if it is 0 `ptx` and `lowered`."""
    program = ctypes.c_void_p()
    source, name = request["source"].encode(), request["name"].encode()
    status = library.nvrtcCreateProgram(ctypes.byref(program), source, name, 0, None, None)
    if status:
        return {"status": status, "log": f"nvrtcCreateProgram: {status}"}
    try:
        for expression in request["expressions"]:
            status = library.nvrtcAddNameExpression(program, expression.encode())
            if status:
                return {"status": status, "log": f"name expression {expression!r}: {status}"}
        options = [o.encode() for o in request["options"]]
        array = (ctypes.c_char_p * len(options))(*options)
        status = library.nvrtcCompileProgram(program, len(options), array)
        log = _text(library, program, "ProgramLog")
        if status:
            return {"status": status, "log": log}
        lowered: dict[str, str] = {}
        for expression in request["expressions"]:
            found = ctypes.c_char_p()
            if library.nvrtcGetLoweredName(program, expression.encode(), ctypes.byref(found)) == 0:
                lowered[expression] = (found.value or b"").decode()
        return {"status": 0, "log": log, "ptx": _text(library, program, "PTX"), "lowered": lowered}
    finally:
        library.nvrtcDestroyProgram(ctypes.byref(program))


def _read(stream: BinaryIO) -> dict[str, Any] | None:
    head = stream.read(4)
    if len(head) < 4:
        return None
    return dict(json.loads(stream.read(struct.unpack("<I", head)[0])))


def main(path: str, memory_bytes: int, folder: str) -> None:
    requests = sys.stdin.buffer
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what NVRTC prints goes elsewhere
    library = ctypes.CDLL(path)
    major, minor = ctypes.c_int(), ctypes.c_int()
    library.nvrtcVersion(ctypes.byref(major), ctypes.byref(minor))
    _protect(memory_bytes, folder)
    answer: dict[str, Any] = {"version": [major.value, minor.value]}
    while True:
        data = json.dumps(answer).encode()
        answers.write(struct.pack("<I", len(data)) + data)
        answers.flush()
        request = _read(requests)
        if request is None:
            return
        answer = compile_program(library, request)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), sys.argv[3])

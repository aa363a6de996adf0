"""A process that compiles CUDA C++ to PTX with NVRTC, one request after another.

It runs by itself (`python -I -S compiler_process.py LIBRARY BYTES FOLDER...`), imports nothing of
cupool, and holds nothing but the compiler: NVRTC works on whatever a client sends, and can be made
to take much memory or time, or to crash. Where the kernel has Landlock, it can open no file but
those of its headers. Requests and answers are JSON with a length before it.
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

_PDEATHSIG, _NO_NEW_PRIVS = 1, 38
# Of <linux/landlock.h>; the numbers of its system calls are the same on every architecture.
_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446
_VERSION, _PATH_BENEATH = 1, 1
_READ = 1 << 2 | 1 << 3  # files, folders
_ACCESS_BITS = {1: 13, 2: 14, 3: 15, 4: 15, 5: 16}
"""How many kinds of access to files each version of Landlock knows."""


class _Ruleset(ctypes.Structure):
    _fields_ = (
        ("files", ctypes.c_uint64),
        ("ports", ctypes.c_uint64),
        ("scopes", ctypes.c_uint64),
    )


class _Rule(ctypes.Structure):
    _pack_ = 1
    _fields_ = (("access", ctypes.c_uint64), ("folder", ctypes.c_int32))


def _shut_files(folders: list[str]) -> str:
    """Give up every file outside of folders, and the network; return why not, or nothing.

    A landlocked thread has no way back. It binds only the thread that asks and those that it
    starts, so there must be no other one.
    """
    libc = ctypes.CDLL(None, use_errno=True)

    def system_call(number: int, *arguments: Any) -> int:
        result = int(libc.syscall(ctypes.c_long(number), *arguments))
        if result < 0:
            raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
        return result

    try:
        if len(os.listdir("/proc/self/task")) > 1:
            return "the compiler has threads already"
        version = system_call(_CREATE_RULESET, None, ctypes.c_size_t(0), _VERSION)
        rules = _Ruleset((1 << _ACCESS_BITS.get(version, 16)) - 1, 3, 3)
        size = 8 if version < 4 else 16 if version < 6 else 24
        number = system_call(_CREATE_RULESET, ctypes.byref(rules), ctypes.c_size_t(size), 0)
        for folder in folders:
            opened = os.open(folder, os.O_PATH | os.O_CLOEXEC)
            rule = _Rule(_READ, opened)
            system_call(_ADD_RULE, number, _PATH_BENEATH, ctypes.byref(rule), 0)
            os.close(opened)
        if libc.prctl(_NO_NEW_PRIVS, 1, 0, 0, 0):
            return "no_new_privs is refused"
        system_call(_RESTRICT_SELF, number, 0)
        os.close(number)
    except OSError as exc:
        return f"Landlock: {exc.strerror}"
    return ""


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
    text = data.value.decode("utf-8", "replace")
    # A file that may not be opened shall look like none.
    return text if kind == "PTX" else text.replace(": Permission denied\n", "\n")


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


def main(path: str, memory_bytes: int, folders: list[str]) -> None:
    requests = sys.stdin.buffer
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what NVRTC prints goes elsewhere
    library = ctypes.CDLL(path)
    folder = os.path.dirname(path)
    for name in os.listdir(folder):  # NVRTC would load it by name, when that is too late
        if name.startswith("libnvrtc-builtins.so") and "alt" not in name:
            ctypes.CDLL(os.path.join(folder, name))
    major, minor = ctypes.c_int(), ctypes.c_int()
    library.nvrtcVersion(ctypes.byref(major), ctypes.byref(minor))
    _protect(memory_bytes, folders[0])
    exposed = _shut_files(folders)
    answer: dict[str, Any] = {"version": [major.value, minor.value], "exposed": exposed}
    while True:
        data = json.dumps(answer).encode()
        answers.write(struct.pack("<I", len(data)) + data)
        answers.flush()
        request = _read(requests)
        if request is None:
            return
        answer = compile_program(library, request)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), sys.argv[3:])

"""CUDA C++ to PTX: finds NVRTC, runs it in a process of its own, keeps what it made."""

from __future__ import annotations

import hashlib
import json
import logging
import os
import re
import select
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

from cupool.errors import OperationNotSupported
from cupool.pool_server.devices.errors import CompileException
from cupool.pool_server.devices.ptx import compiler_process, includes
from cupool.pool_server.devices.ptx.cache import DiskCache

INSTALL = "pip install 'cupool[mock-kernels]'"
MAX_SOURCE_BYTES = 16 << 20
MAX_ANSWER_BYTES = 256 << 20
_log = logging.getLogger(__name__)
_FASTER = ("--define-macro=_CCCL_META_UNROLL_LIMIT=10",)
"""libcu++ writes 16 templates out where nvcc gets 10: NVRTC needs 0.5 s for these alone."""
_NO_HALF = tuple(
    f"--define-macro=CCCL_DISABLE_{kind}_SUPPORT" for kind in ("FP16", "BF16", "NVFP8")
)
"""For sources without a word of such numbers: libcu++ includes their headers to know them, too."""
_HALF = re.compile(r"half|fp16|bf16|bfloat|fp8|fp4|fp6", re.IGNORECASE)
_NO_CURAND = (
    'cannot open source file "curand',
    "\ncuRAND's headers are a package apart; on the server: pip install nvidia-curand-cu12\n",
)
_OWN_HEADERS = Path(__file__).resolve().parent / "include"


@dataclass(frozen=True, slots=True)
class CompiledPtx:
    """What NVRTC made: `lowered` maps name expressions to mangled names."""

    ptx: bytes
    lowered: dict[str, str] = field(default_factory=dict)
    log: str = ""


@dataclass(frozen=True, slots=True)
class Toolkit:
    """NVRTC and the folders of headers."""

    library: Path
    folders: tuple[Path, ...]
    key: str


def _nvidia_folders() -> list[Path]:
    try:
        found = [Path(p) for p in import_module("nvidia").__path__]
    except ImportError:
        found = []
    return [p for p in found if p.is_dir()]


@cache
def toolkit() -> Toolkit:
    """Find NVRTC among the installed wheels of NVIDIA.

    Raises:
        OperationNotSupported: it is not there; says what to install.
    """
    libraries: list[Path] = []
    folders = [_OWN_HEADERS]
    for root in _nvidia_folders():
        for pattern in ("cuda_nvrtc/lib/libnvrtc.so.[0-9]*", "cu[0-9]*/lib/libnvrtc.so.[0-9]*"):
            libraries += sorted(p for p in root.glob(pattern) if "alt" not in p.name)
        for name in ("cuda_runtime", "cuda_cccl", "curand"):
            folders.append(root / name / "include")
        for pattern in ("cu[0-9]*/include", "cu[0-9]*/include/cccl"):
            folders += sorted(root.glob(pattern))
    if not libraries:
        raise OperationNotSupported("the mock GPU needs NVRTC to compile CUDA C++", remedy=INSTALL)
    folders = [f for f in folders if f.is_dir()]
    stamp = [str(libraries[0]), str(libraries[0].stat().st_size)]
    for folder in folders:
        stamp.append(f"{folder}:{folder.stat().st_mtime_ns}")
    for header in sorted(_OWN_HEADERS.rglob("*.*h")):
        stamp.append(hashlib.sha256(header.read_bytes()).hexdigest())
    key = hashlib.sha256("\n".join(stamp).encode()).hexdigest()
    return Toolkit(libraries[0], tuple(folders), key)


class CompilerProcess:
    """The other side of `compiler_process.py`; it is started again after it was killed.

    Attributes:
        exposed: why the compiler could open any file that this process can; "" if it cannot.
    """

    def __init__(self, memory_bytes: int) -> None:
        self.memory_bytes = memory_bytes
        self.exposed = ""
        self._process: subprocess.Popen[bytes] | None = None
        self._lock = threading.Lock()

    def _start(self, deadline: float) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-I", "-S", compiler_process.__file__]
        command += [str(toolkit().library), str(self.memory_bytes)]
        command += [str(folder) for folder in toolkit().folders]
        environment = {"PATH": os.defpath, "LANG": "C.UTF-8"}
        process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=environment,
        )
        self._process = process
        self.exposed = str(self._receive(process, deadline)["exposed"])
        if self.exposed:
            _log.warning("the compiler of kernels can read this server's files: %s", self.exposed)
        return process

    def ask(self, request: dict[str, Any], timeout_s: float) -> dict[str, Any] | None:
        """Return the answer, or None if the compiler died or took too long."""
        deadline = time.monotonic() + timeout_s
        with self._lock:
            try:
                process = self._process
                if process is None or process.poll() is not None:
                    process = self._start(deadline)
                data = json.dumps(request).encode()
                assert process.stdin is not None
                process.stdin.write(struct.pack("<I", len(data)) + data)
                process.stdin.flush()
                return self._receive(process, deadline)
            except (OSError, EOFError, TimeoutError):
                self._stop()
                return None

    def _receive(self, process: subprocess.Popen[bytes], deadline: float) -> dict[str, Any]:
        size = struct.unpack("<I", self._read(process, 4, deadline))[0]
        if size > MAX_ANSWER_BYTES:
            raise EOFError
        return dict(json.loads(self._read(process, size, deadline)))

    def _read(self, process: subprocess.Popen[bytes], size: int, deadline: float) -> bytes:
        assert process.stdout is not None
        number, data = process.stdout.fileno(), bytearray()
        poll = select.poll()
        poll.register(number, select.POLLIN)
        while len(data) < size:
            left = deadline - time.monotonic()
            if left <= 0 or not poll.poll(left * 1000):
                raise TimeoutError
            part = os.read(number, min(size - len(data), 1 << 20))
            if not part:
                raise EOFError
            data += part
        return bytes(data)

    def _stop(self) -> None:
        process, self._process = self._process, None
        if process is not None:
            process.kill()
            process.wait()
            for stream in (process.stdin, process.stdout):
                if stream is not None:
                    stream.close()

    def close(self) -> None:
        with self._lock:
            self._stop()


class Compiler:
    """Compiles and remembers.

    Args:
        disk: where PTX is kept between processes.
        architecture: of the mock GPU, as in `compute_80`.
        timeout_s: how long one compilation may take.
        memory_bytes: how much memory the compiler's process may take.
    """

    def __init__(
        self, disk: DiskCache, architecture: str, timeout_s: float, memory_bytes: int
    ) -> None:
        self._disk = disk
        self._architecture = architecture
        self._timeout_s = timeout_s
        self._process = CompilerProcess(memory_bytes)
        self._known: dict[str, CompiledPtx] = {}

    def compile(
        self, source: str, options: Sequence[str], expressions: Sequence[str], name: str
    ) -> CompiledPtx:
        """Compile CUDA C++.

        Raises:
            CompileException: the source or an option is refused.
            OperationNotSupported: NVRTC is not installed.
        """
        kit = toolkit()
        key = hashlib.sha256(
            json.dumps(
                [source, list(options), list(expressions), self._architecture, kit.key]
            ).encode()
        ).hexdigest()
        found = self._known.get(key)
        if found is None:
            kept_options, refused = includes.checked_options(options)
            if refused is not None:
                why = f"option {refused!r} is not allowed on a mock GPU, or has a wrong value"
                raise CompileException(why, source, name, tuple(options))
            stored = self._disk.get(f"{key}.ptx")
            if stored is not None:
                found = CompiledPtx(
                    **{**json.loads(stored), "ptx": json.loads(stored)["ptx"].encode()}
                )
            else:
                given = tuple(options)
                found = self._compile(kit, source, given, kept_options, expressions, name)
                kept = {"ptx": found.ptx.decode(), "lowered": found.lowered, "log": found.log}
                self._disk.put(f"{key}.ptx", json.dumps(kept).encode())
            if len(self._known) > 1000:
                self._known.clear()
            self._known[key] = found
        return found

    def _compile(
        self,
        kit: Toolkit,
        source: str,
        options: tuple[str, ...],
        kept: list[str],
        expressions: Sequence[str],
        name: str,
    ) -> CompiledPtx:
        def refuse(log: str) -> CompileException:
            return CompileException(log, source, name, options)

        if len(source) > MAX_SOURCE_BYTES:
            raise refuse(
                f"the source has {len(source):,} characters; {MAX_SOURCE_BYTES:,} are allowed"
            )
        if "\0" in source:
            raise refuse("the source contains a null character")
        directive = includes.forbidden(source) or includes.forbidden("\n".join(kept))
        if directive is not None:
            raise refuse(
                f"{directive}: only headers of CUDA and CuPy can be included on a mock GPU"
            )
        if not any(o.lstrip("-").startswith("std=") for o in kept):
            kept.append("--std=c++17")
        if not any("default-device" in o or "default-execution-space" in o for o in kept):
            kept.append("--device-as-default-execution-space")
        kept += _FASTER
        if not any(_HALF.search(text) for text in (source, *expressions, *kept)):
            kept += _NO_HALF
        kept += [f"--gpu-architecture=compute_{self._architecture}"]
        kept += [f"--include-path={folder}" for folder in kit.folders]
        # NVRTC looks for headers in the folder of the source's name.
        safe_name = re.sub(r"[^\w.+-]", "_", name)[-100:] or "kernel.cu"
        request = {
            "source": source,
            "name": safe_name,
            "options": kept,
            "expressions": list(expressions),
        }
        answer = self._process.ask(request, self._timeout_s)
        if answer is None:
            raise refuse(
                f"the compiler gave up: it may take {self._timeout_s:g} s and "
                f"{self._process.memory_bytes >> 20:,} MiB"
            )
        if answer["status"]:
            hint = _NO_CURAND[1] if _NO_CURAND[0] in answer["log"] else ""
            raise refuse(answer["log"] + hint)
        return CompiledPtx(answer["ptx"].encode(), answer["lowered"], answer["log"])

    def close(self) -> None:
        self._process.close()

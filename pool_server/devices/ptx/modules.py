"""Loaded modules and their functions."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import msgspec
import numpy as np

from cupool.pool_server.devices.errors import CUDADriverError
from cupool.pool_server.devices.ptx import jit
from cupool.pool_server.devices.ptx.launching import Launcher
from cupool.pool_server.devices.ptx.layout import Layout
from cupool.pool_server.devices.ptx.translator import KernelFacts, translate

NOT_FOUND = 500
INVALID_VALUE = 1
MAX_DYNAMIC_SHARED_BYTES = 163 << 10
DEFAULT_SHARED_BYTES = 48 << 10


@dataclass(frozen=True, slots=True)
class Parameter:
    """A kernel's parameter; all numbers are bytes."""

    size_bytes: int
    alignment: int
    offset: int


class _Facts(msgspec.Struct):
    """What is stored beside machine code."""

    kernels: dict[str, KernelFacts]
    layout: Layout
    sites: list[tuple[int, str, int]]
    shared_bytes: int
    version: int
    symbols: list[str]


class Binary:
    """Machine code of a module, shared by all modules of the same PTX."""

    def __init__(self, facts: _Facts, code: bytes) -> None:
        self.facts = facts
        self._data = code
        self.code = jit.Code(code)
        self.addresses = {name: self.code.address(f"k.{name}") for name in facts.kernels}

    @classmethod
    def translate(cls, text: str, checked: bool) -> Binary:
        """Translate and compile PTX.

        Raises:
            PtxError: what cannot be run.
        """
        made = translate(text, checked)
        facts = _Facts(
            made.kernels, made.layout, made.sites, made.shared_bytes, made.version, made.symbols
        )
        return cls(facts, jit.compile_text(made.text))

    def pack(self) -> bytes:
        return msgspec.msgpack.encode((msgspec.msgpack.encode(self.facts), self._data))

    @classmethod
    def unpack(cls, data: bytes) -> Binary:
        facts, code = msgspec.msgpack.decode(data, type=tuple[bytes, bytes])
        return cls(msgspec.msgpack.decode(facts, type=_Facts), code)


class Module:
    """A loaded module with variables of its own."""

    def __init__(self, binary: Binary, launcher: Launcher) -> None:
        layout = binary.facts.layout
        self.binary = binary
        self.launcher = launcher
        self._storage = np.zeros(layout.size_bytes + 256, np.uint8)
        self.globals_address = (self._storage.ctypes.data + 255) & ~255
        self.spans = [
            (self.globals_address + offset, self.globals_address + offset + size)
            for offset, size in layout.globals.values()
            if size
        ]
        ctypes.memmove(self.globals_address, bytes(layout.image), len(layout.image))
        self._relocate(layout)
        self._functions: dict[str, Function] = {}

    def _relocate(self, layout: Layout) -> None:
        for entry in layout.relocations:
            if entry.symbol in layout.globals:
                value = self.globals_address + layout.globals[entry.symbol][0]
            elif entry.symbol in self.binary.facts.symbols:
                value = self.binary.code.address(f"f.{entry.symbol}")
            else:
                raise CUDADriverError(NOT_FOUND, f"{entry.symbol} is not defined")
            value = (value + entry.addend) >> entry.shift & ((1 << (8 * entry.size)) - 1)
            data = value.to_bytes(entry.size, "little")
            ctypes.memmove(self.globals_address + entry.offset, data, entry.size)

    def function(self, name: str) -> Function:
        """Return a kernel.

        Raises:
            CUDADriverError: CUDA_ERROR_NOT_FOUND.
        """
        found = self._functions.get(name)
        if found is None:
            if name not in self.binary.facts.kernels:
                raise CUDADriverError(NOT_FOUND)
            found = self._functions[name] = Function(self, name)
        return found

    def global_(self, name: str) -> tuple[int, int]:
        """Return the address and the size in bytes of a __device__ or __constant__ variable.

        Raises:
            CUDADriverError: CUDA_ERROR_NOT_FOUND.
        """
        found = self.binary.facts.layout.globals.get(name)
        if found is None:
            raise CUDADriverError(NOT_FOUND)
        return self.globals_address + found[0], found[1]


class Function:
    """A kernel of a module.

    Attributes:
        parameters: what it takes.
        attributes: CuPy's names; sizes in bytes.
    """

    def __init__(self, module: Module, name: str) -> None:
        self.module = module
        self.name = name
        facts = module.binary.facts
        self.facts = facts.kernels[name]
        self.parameters = tuple(Parameter(*p) for p in self.facts.parameters)
        constants = facts.layout.constants
        self.attributes: dict[str, int] = {
            "max_threads_per_block": self.facts.max_threads,
            "shared_size_bytes": self.facts.shared_bytes,
            "const_size_bytes": sum(
                s for n, (_, s) in facts.layout.globals.items() if n in constants
            ),
            "local_size_bytes": self.facts.local_bytes,
            "num_regs": self.facts.registers,
            "ptx_version": facts.version,
            "binary_version": 80,
            "cache_mode_ca": 0,
            "max_dynamic_shared_size_bytes": DEFAULT_SHARED_BYTES - self.facts.shared_bytes,
            "preferred_shared_memory_carveout": -1,
        }
        last = self.facts.parameters[-1] if self.facts.parameters else (0, 1, 0)
        self.parameter_bytes = last[2] + last[0]
        self.address = module.binary.addresses[name]

    def set_attribute(self, name: str, value: int) -> None:
        """Change one of the two attributes that a program may change.

        Raises:
            CUDADriverError: CUDA_ERROR_INVALID_VALUE, for another name or a value out of range.
        """
        limits = {
            "max_dynamic_shared_size_bytes": (
                0,
                MAX_DYNAMIC_SHARED_BYTES - self.facts.shared_bytes,
            ),
            "preferred_shared_memory_carveout": (-1, 100),
        }
        low, high = limits.get(name, (1, 0))
        if not low <= value <= high:
            raise CUDADriverError(INVALID_VALUE)
        self.attributes[name] = value

    def launch(
        self,
        grid: tuple[int, int, int],
        block: tuple[int, int, int],
        args: Sequence[bytes],
        shared_bytes: int = 0,
        cooperative: bool = False,
    ) -> None:
        """Run the kernel to its end.

        Args:
            grid, block: blocks, and threads of a block.
            args: each parameter's bytes; what is longer than the parameter is cut, as a driver
                does, which reads no further.
            shared_bytes: of dynamic shared memory.
            cooperative: run all blocks at once, so that the grid can wait for itself.

        Raises:
            CUDADriverError: the launch is refused; nothing has happened.
            KernelFault: the kernel failed, or an earlier one had.
        """
        self.module.launcher.launch(self, grid, block, self.pack(args), shared_bytes, cooperative)

    def pack(self, args: Sequence[bytes]) -> Any:
        """Lay arguments out as the kernel reads them."""
        parameters = self.parameters
        if len(args) != len(parameters):
            raise CUDADriverError(
                INVALID_VALUE,
                f"{self.name} takes {len(parameters)} arguments, {len(args)} were given",
            )
        data = bytearray(self.parameter_bytes)
        for index, (parameter, value) in enumerate(zip(parameters, args, strict=True)):
            size = parameter.size_bytes
            if len(value) < size:
                raise CUDADriverError(
                    INVALID_VALUE,
                    f"argument {index} of {self.name} has {len(value)} bytes, {size} are read",
                )
            data[parameter.offset : parameter.offset + size] = value[:size]
        return data

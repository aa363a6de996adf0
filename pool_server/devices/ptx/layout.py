"""Where a module's variables lie: offsets in the block of globals and in shared memory, and their
first contents."""

from __future__ import annotations

import json
import re
import struct
from array import array
from dataclasses import dataclass, field

from cupool.pool_server.devices.ptx.errors import PtxError
from cupool.pool_server.devices.ptx.syntax import SIZES, Program, Variable, split_operands

MAX_GLOBAL_BYTES = 1 << 30
GAP_BYTES = 64
"""Between two variables, so that running over the end of one is found."""

_FLOAT = re.compile(r"0[fF]([0-9a-fA-F]{8})$|0[dD]([0-9a-fA-F]{16})$")
_DECIMALS = re.compile(r"[\d\s,-]*", re.ASCII)
_TABLE_CODES = {
    "u8": "B", "b8": "B", "s8": "b", "u16": "H", "b16": "H", "s16": "h", "u32": "I", "b32": "I",
    "s32": "i", "u64": "Q", "b64": "Q", "s64": "q",
}  # fmt: skip
_INTEGER = re.compile(r"([+-]?)(0[xX][0-9a-fA-F]+|0[bB][01]+|0[0-7]*|[1-9][0-9]*)U?$")


def align_up(value: int, alignment: int) -> int:
    return (value + alignment - 1) // alignment * alignment


def parse_integer(text: str) -> int | None:
    """Return the value of an integer literal, or None if it is none."""
    found = _INTEGER.match(text)
    if not found:
        return None
    digits = found.group(2)
    if len(digits) > 1 and digits[1] in "01234567" and digits[0] == "0":
        value = int(digits, 8)
    else:
        value = int(digits, 0)
    return -value if found.group(1) == "-" else value


def parse_bits(text: str, type_: str) -> int | None:
    """Return the bits of a literal of a type, or None if it is no literal."""
    found = _FLOAT.match(text)
    if found:
        if found.group(1):
            bits = int(found.group(1), 16)
            if type_ == "f64":
                widened = struct.unpack("<f", struct.pack("<I", bits))[0]
                bits = struct.unpack("<Q", struct.pack("<d", widened))[0]
            return bits
        bits = int(found.group(2), 16)
        if type_ == "f32":
            narrowed = struct.unpack("<d", struct.pack("<Q", bits))[0]
            return int(struct.unpack("<I", struct.pack("<f", narrowed))[0])
        return bits
    integer = parse_integer(text)
    if type_ in ("f32", "f64") and (
        integer is not None or re.match(r"[+-]?(\d+\.\d*|\.\d+|\d)([eE][+-]?\d+)?$", text)
    ):
        number = float(text.rstrip("U"))
        if type_ == "f32":
            return int(struct.unpack("<I", struct.pack("<f", number))[0])
        return int(struct.unpack("<Q", struct.pack("<d", number))[0])
    return None if integer is None else integer & ((1 << (8 * SIZES[type_])) - 1)


def _decimal_table(text: str, type_: str) -> bytes | None:
    """Return the bytes of plain decimal integers, or None: tables may have 100,000 of them."""
    code = _TABLE_CODES.get(type_)
    if code is None or not _DECIMALS.fullmatch(text):
        return None
    try:
        return array(code, json.loads(f"[{text}]")).tobytes()
    except (ValueError, OverflowError):  # octal, or out of range: to be read one by one
        return None


@dataclass(slots=True)
class Relocation:
    """`size` bytes at `offset` hold (address of `symbol` + addend) >> shift."""

    offset: int
    size: int
    symbol: str
    addend: int
    shift: int
    generic: bool


@dataclass(slots=True)
class Layout:
    """Offsets in bytes; `image` is what the block of globals holds at first."""

    globals: dict[str, tuple[int, int]] = field(default_factory=dict)
    constants: set[str] = field(default_factory=set)
    shared: dict[str, int] = field(default_factory=dict)
    dynamic: set[str] = field(default_factory=set)
    image: bytearray = field(default_factory=bytearray)
    relocations: list[Relocation] = field(default_factory=list)
    size_bytes: int = 0

    def place(self, variable: Variable) -> None:
        if variable.space == "shared":
            self.place_shared(variable)
            return
        if variable.count is None:
            raise PtxError(f"{variable.name} has no size", variable.line)
        offset = align_up(self.size_bytes, max(variable.alignment, 16))
        self.globals[variable.name] = offset, variable.size_bytes
        if variable.space == "const":
            self.constants.add(variable.name)
        self.size_bytes = align_up(offset + variable.size_bytes + GAP_BYTES, 16)
        if self.size_bytes > MAX_GLOBAL_BYTES:
            raise PtxError("the module's variables are larger than 1 GiB", variable.line)
        if variable.init:
            self._initialise(variable, offset)

    def place_shared(self, variable: Variable) -> None:
        """Offsets of shared memory are given per kernel; see `shared_frame`."""
        if variable.count is None:
            self.dynamic.add(variable.name)
        else:
            self.shared[variable.name] = 0

    def _initialise(self, variable: Variable, offset: int) -> None:
        size = SIZES[variable.type]
        text = variable.init.strip()
        if text[0] == "{":
            text = text.replace("{", "").replace("}", "")
        data = bytearray()
        table = _decimal_table(text, variable.type)
        if table is not None:
            data, text = bytearray(table), ""
        for value in split_operands(text):
            bits = parse_bits(value, variable.type)
            if bits is None:
                self.relocations.append(_relocation(value, offset + len(data), size, variable))
                bits = 0
            data += (bits & ((1 << (8 * size)) - 1)).to_bytes(size, "little")
        if len(data) > variable.size_bytes:
            raise PtxError(f"too many values for {variable.name}", variable.line)
        if len(self.image) < offset:
            self.image += bytes(offset - len(self.image))
        self.image[offset : offset + len(data)] = data


_SYMBOL = re.compile(
    r"(?:(0[xX][0-9a-fA-F]+)\s*\(\s*)?(generic\s*\(\s*)?([A-Za-z_$%][\w$]*)\s*\)*\s*(?:([+-])\s*(\w+))?\s*\)*$"
)


def _relocation(text: str, offset: int, size: int, variable: Variable) -> Relocation:
    found = _SYMBOL.match(text)
    if not found:
        raise PtxError(
            f"initial value {text[:60]!r} of {variable.name} not understood", variable.line
        )
    mask, generic, symbol, sign, addend = found.groups()
    value = parse_integer(addend) or 0 if addend else 0
    # mask() operators pick one byte of an address: 0xFF00(symbol).
    shift = (int(mask, 16) & -int(mask, 16)).bit_length() - 1 if mask else 0
    return Relocation(offset, size, symbol, -value if sign == "-" else value, shift, bool(generic))


def lay_out(program: Program) -> Layout:
    layout = Layout()
    for variable in program.variables.values():
        layout.place(variable)
    for function in program.functions.values():
        for variable in function.variables.values():
            if variable.space in ("global", "const", "shared"):
                layout.place(variable)
    return layout

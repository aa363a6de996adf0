"""One function's translation: registers, operands, addresses, checks; instructions register here.

Registers are stack slots of their width, which LLVM turns into values. A value is the text of an
LLVM operand; integers and bits are `iN`, predicates `i1`, and floating point is made of its bits
where it is needed.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING

from cupool.pool_server.devices.ptx import abi
from cupool.pool_server.devices.ptx.errors import PtxError
from cupool.pool_server.devices.ptx.layout import align_up, parse_bits, parse_integer
from cupool.pool_server.devices.ptx.syntax import (
    SIZES,
    Function,
    Instruction,
    Label,
    Variable,
    split_operands,
)

if TYPE_CHECKING:
    from cupool.pool_server.devices.ptx.translator import Translator

Handler = Callable[["Emitter", Instruction], None]
HANDLERS: dict[str, Handler] = {}

FLOATS = {"f32": "float", "f64": "double"}
_AXES = {"x": 0, "y": 1, "z": 2}
_ADDRESS = re.compile(r"\[\s*([\w$%.]+)\s*(?:\+?\s*([+-]?\s*\w+))?\s*\]$")
_CONSTANT_REGISTERS = {
    "%nwarpid": 32, "%smid": 0, "%nsmid": 1, "%gridid": 1, "WARP_SZ": 32, "%clusterid.x": 0,
    "%total_smem_size": 49152, "%aggr_smem_size": 49152, "%reserved_smem_offset_0": 0,
}  # fmt: skip


def instruction(*opcodes: str) -> Callable[[Handler], Handler]:
    """Register the translation of opcodes."""

    def register(handler: Handler) -> Handler:
        for opcode in opcodes:
            HANDLERS[opcode] = handler
        return handler

    return register


def bits_of(type_: str) -> int:
    return 1 if type_ == "pred" else 8 * SIZES[type_]


def int_type(type_: str) -> str:
    return f"i{bits_of(type_)}"


class Emitter:
    """Writes the LLVM text of one function.

    Args:
        module: what is known of the whole module.
        function: what to translate.
        fibers: may threads wait for each other? Otherwise the text runs a whole block.
    """

    def __init__(self, module: Translator, function: Function, fibers: bool) -> None:
        self.module = module
        self.function = function
        self.fibers = fibers
        self.plain = function.is_entry and not fibers
        self.lines: list[str] = []
        self.slots: list[str] = []
        self.count = 0
        self.prefix = "L."
        self.seen: set[str] = set()
        # Accesses that need no check: the pointer of thread 0 of the row, and the step in bytes.
        self.trusted: dict[int, tuple[str, int]] = {}
        # Loops at whose end the next thread runs: the label, and where to go.
        self.suspend: dict[str, str] = {}
        self.row_x = "%tid.x"
        # What stands for special registers, where it is not their own value.
        self.geometry: dict[str, str] = {}
        self.locals: dict[str, int] = {}
        self.local_bytes = 0
        self.buffers: dict[str, str] = {}
        self.offsets: dict[str, int] = {}
        self.leave = "leave"
        self.labels = {i.name for i in function.body or () if isinstance(i, Label)}

    # Text

    def out(self, text: str) -> None:
        self.lines.append("  " + text)

    def let(self, expression: str) -> str:
        self.count += 1
        name = f"%t{self.count}"
        self.lines.append(f"  {name} = {expression}")
        return name

    def label(self, name: str) -> None:
        self.lines.append(f"{name}:")

    def fresh(self, hint: str = "b") -> str:
        self.count += 1
        return f"{hint}{self.count}"

    def call(self, name: str, result: str, *arguments: tuple[str, str], tail: str = "") -> str:
        """Call a helper, an intrinsic or the runtime; arguments are (type, value)."""
        self.module.declare(name, result, [t for t, _ in arguments])
        text = f"call {result} @{name}(" + ", ".join(f"{t} {v}" for t, v in arguments) + f"){tail}"
        if result == "void":
            self.out(text)
            return ""
        return self.let(text)

    def error(self, ins: Instruction, message: str = "") -> PtxError:
        return PtxError(message or f"instruction not emulated: {ins.text}", ins.line)

    # Registers and operands

    def slot(self, register: str) -> str:
        return f'%"{register}"'

    def declare_slots(self) -> None:
        for name, type_ in self.function.registers.items():
            self.slots.append(f"  {self.slot(name)} = alloca {int_type(type_)}")

    def scratch(self, name: str, type_: str) -> str:
        """Return a register that the translation itself needs."""
        self.function.registers[name] = type_
        return name

    def clear_registers(self) -> None:
        for name, type_ in self.function.registers.items():
            self.out(f"store {int_type(type_)} 0, ptr {self.slot(name)}")

    def resize(self, value: str, have: int, want: int, signed: bool = False) -> str:
        if have == want:
            return value
        if have > want:
            return self.let(f"trunc i{have} {value} to i{want}")
        return self.let(f"{'sext' if signed else 'zext'} i{have} {value} to i{want}")

    def value(self, operand: str, type_: str) -> str:
        """Return an operand's bits as an LLVM integer of the type's width."""
        operand = operand.strip()
        want = bits_of(type_)
        if operand.startswith("!"):
            return self.let(f"xor i{want} {self.value(operand[1:], type_)}, -1")
        if operand.startswith("-") and operand[1:] in self.function.registers:
            return self.let(f"sub i{want} 0, {self.value(operand[1:], type_)}")
        register = self.function.registers.get(operand)
        if register is not None:
            have = bits_of(register)
            loaded = self.let(f"load i{have}, ptr {self.slot(operand)}")
            return self.resize(loaded, have, want)
        bits = parse_bits(operand, type_) if operand[:1] in "0123456789-+." else None
        if bits is not None:
            return str(bits if bits < 1 << (want - 1) or want == 1 else bits - (1 << want))
        special = self.special(operand)
        if special is not None:
            return self.resize(special[0], special[1], want)
        return self.resize(self.symbol(operand), 64, want)

    def real(self, operand: str, type_: str) -> str:
        """Return an f32 or f64 operand as an LLVM float or double."""
        return self.let(
            f"bitcast {int_type(type_)} {self.value(operand, type_)} to {FLOATS[type_]}"
        )

    def set(self, operand: str, value: str, type_: str) -> None:
        """Write bits to a register; a wider one is extended as the type says."""
        operand = operand.strip()
        if operand == "_":
            return
        register = self.function.registers.get(operand)
        if register is None:
            raise PtxError(f"{operand!r} is no register", 0)
        have = bits_of(register)
        value = self.resize(value, bits_of(type_), have, type_.startswith("s"))
        self.out(f"store i{have} {value}, ptr {self.slot(operand)}")

    def set_real(self, operand: str, value: str, type_: str) -> None:
        self.set(operand, self.let(f"bitcast {FLOATS[type_]} {value} to {int_type(type_)}"), type_)

    def field(self, base: str, offset: int, type_: str = "i32", suffix: str = "") -> str:
        pointer = self.let(f"getelementptr i8, ptr {base}, i64 {offset}")
        return self.let(f"load {type_}, ptr {pointer}{suffix}")

    def special(self, name: str) -> tuple[str, int] | None:
        """Return a special register's value and width, or None if it is none."""
        found = re.match(r"%(tid|ntid|ctaid|nctaid)\.([xyz])$", name)
        if found:
            return self.index(found.group(1), _AXES[found.group(2)]), 32
        if name in _CONSTANT_REGISTERS:
            return str(_CONSTANT_REGISTERS[name]), 32
        if name.startswith("%lanemask_"):
            return self._lanemask(name[10:]), 32
        if name == "%laneid":
            return self.let(f"and i32 {self.linear()}, 31"), 32
        if name == "%warpid":
            return self.let(f"lshr i32 {self.linear()}, 5"), 32
        if name == "%dynamic_smem_size":
            return self.field("%launch", abi.LAUNCH_DYNAMIC_SHARED_BYTES), 32
        if name in (
            "%clock",
            "%clock_hi",
            "%clock64",
            "%globaltimer",
            "%globaltimer_lo",
            "%globaltimer_hi",
        ):
            now = self.call("rt_now", "i64")
            if name.endswith("_hi"):
                now = self.let(f"lshr i64 {now}, 32")
            return (
                (now, 64)
                if name in ("%clock64", "%globaltimer")
                else (self.resize(now, 64, 32), 32)
            )
        if name in ("%envreg1", "%envreg2"):  # the workspace of a cooperative launch, high and low
            return self.field("%launch", abi.LAUNCH_WORKSPACE + 4 * (name == "%envreg1")), 32
        if re.match(r"%(envreg\d+|pm\d+(_64)?)$", name):
            return "0", 32
        if name.startswith(("%cluster", "%is_explicit_cluster", "%nclusterid")):
            raise PtxError(f"thread-block clusters are not emulated: {name}", 0)
        return None

    def index(self, register: str, axis: int) -> str:
        if self.plain:
            name = f"%{register}.{'xyz'[axis]}"
            return self.row_x if name == "%tid.x" else self.geometry.get(name, name)
        if register in ("tid", "ctaid"):
            return self.field(
                "%t", {"tid": abi.THREAD_TID, "ctaid": abi.THREAD_CTAID}[register] + 4 * axis
            )
        base = {"ntid": abi.LAUNCH_BLOCK, "nctaid": abi.LAUNCH_GRID}[register]
        return self.field("%launch", base + 4 * axis)

    def store_tid(self) -> None:
        """Say which thread of a plain row runs, for the runtime."""
        for axis, value in enumerate(self.index("tid", axis) for axis in range(3)):
            pointer = self.let(f"getelementptr i8, ptr %t, i64 {abi.THREAD_TID + 4 * axis}")
            self.out(f"store i32 {value}, ptr {pointer}")

    def linear(self) -> str:
        if not self.plain:
            return self.field("%t", abi.THREAD_LINEAR)
        rows = self.let("mul i32 %ntid.y, %tid.z")
        row = self.let(f"add i32 {rows}, %tid.y")
        return self.let(f"add i32 {self.let(f'mul i32 {row}, %ntid.x')}, {self.row_x}")

    def _lanemask(self, kind: str) -> str:
        lane = self.let(f"and i32 {self.linear()}, 31")
        one = self.let(f"shl i32 1, {lane}")
        below = self.let(f"sub i32 {one}, 1")
        if kind == "lt":
            return below
        if kind == "eq":
            return one
        through = self.let(f"or i32 {below}, {one}")
        if kind == "le":
            return through
        return self.let(f"xor i32 {through if kind == 'gt' else below}, -1")

    def symbol(self, name: str) -> str:
        """Return the address of a variable or function, with its offset, as an i64."""
        found = re.match(r"([\w$%.]+?)\s*([+-])\s*(\w+)$", name)
        if found and parse_integer(found.group(3)) is not None:
            base = self.value(found.group(1), "b64")
            offset = parse_integer(found.group(2) + found.group(3))
            return self.let(f"add i64 {base}, {offset}")
        module = self.module
        if name in self.locals:
            return self.let(f"add i64 %frame, {self.locals[name]}")
        if name in module.shared_offsets or name in module.layout.dynamic:
            return str(module.shared_offset(name))
        if name in module.layout.globals:
            return self.let(f"add i64 %globals, {module.layout.globals[name][0]}")
        if name in self.buffers:
            return self.let(f"ptrtoint ptr {self.buffers[name]} to i64")
        if name in self.offsets:
            return self.let(f"add i64 %params, {self.offsets[name]}")
        if name in module.program.functions:
            return module.function_address(name)
        raise PtxError(f"unknown operand {name!r}", 0)

    # Memory

    def address(self, operand: str) -> tuple[str, int]:
        """Split `[base+offset]`."""
        found = _ADDRESS.match(operand)
        if not found:
            raise PtxError(f"address {operand!r} not understood", 0)
        offset = parse_integer((found.group(2) or "0").replace(" ", ""))
        if offset is None:
            raise PtxError(f"address {operand!r} not understood", 0)
        return found.group(1), offset

    def pointer(self, ins: Instruction, operand: str, space: str, size: int, align: int) -> str:
        """Return an LLVM pointer for an access, checked unless it is known to be good."""
        base, offset = self.address(operand)
        if space == "param":
            return self._parameter(ins, base, offset, size)
        trusted = self.trusted.get(id(ins))
        if trusted is not None:
            along = self.let(f"mul i64 {self.let(f'zext i32 {self.row_x} to i64')}, {trusted[1]}")
            return self.let(f"getelementptr i8, ptr {trusted[0]}, i64 {along}")
        value = self.value(base, "b64") if base not in self.function.registers else self._base(base)
        address = self.let(f"add i64 {value}, {offset}") if offset else value
        if space == "shared":
            return self._shared(ins, address, size, align, base)
        if space == "local":
            return self._local(ins, address, size, align)
        known = self.module.layout.globals.get(base)
        if known and 0 <= offset <= known[1] - size and offset % align == 0:
            return self.let(f"inttoptr i64 {address} to ptr")
        if self.module.checked:
            self.check(ins, address, size, align)
        return self.let(f"inttoptr i64 {address} to ptr")

    def _base(self, register: str) -> str:
        return self.value(register, "b64")

    def _parameter(self, ins: Instruction, base: str, offset: int, size: int) -> str:
        if base in self.buffers:
            return self.let(f"getelementptr i8, ptr {self.buffers[base]}, i64 {offset}")
        if base in self.offsets:
            pointer = self.let("inttoptr i64 %params to ptr")
            return self.let(f"getelementptr i8, ptr {pointer}, i64 {self.offsets[base] + offset}")
        address = self.let(f"add i64 {self.value(base, 'b64')}, {offset}")
        if self.function.is_entry and self.module.checked:
            self.check(ins, address, size, 1)
        return self.let(f"inttoptr i64 {address} to ptr")

    def site(self, ins: Instruction) -> int:
        return self.module.site(ins)

    def fault(self, ins: Instruction, status: int, address: str = "0", size: int = 0) -> None:
        self.call(
            "rt_fault", "void", ("ptr", "%t"), ("i32", str(status)), ("i64", address),
            ("i64", str(size)), ("i32", str(self.site(ins))),
        )  # fmt: skip

    def guarded(self, condition: str, action: Callable[[], None], returns: bool = False) -> None:
        """Do something unlikely if a condition does not hold."""
        good, bad = self.fresh("ok"), self.fresh("bad")
        self.out(f"br i1 {condition}, label %{good}, label %{bad}, !prof !0")
        self.label(bad)
        action()
        self.out(f"br label %{good}" if returns else "unreachable")
        self.label(good)

    def check(self, ins: Instruction, address: str, size: int, align: int) -> None:
        """Leave the kernel unless `size` bytes at a generic address are valid and aligned."""
        site = self.site(ins)
        cache = self.let(f"getelementptr i8, ptr %sites, i64 {site * abi.SITE_BYTES}")
        low = self.let(f"load i64, ptr {cache}")
        width = self.field(cache, 8, "i64")
        good = self.let(f"icmp ult i64 {self.let(f'sub i64 {address}, {low}')}, {width}")
        if align > 1:
            rest = self.let(f"and i64 {address}, {align - 1}")
            aligned = self.let(f"icmp eq i64 {rest}, 0")
            good = self.let(f"and i1 {good}, {aligned}")
        arguments = (
            ("ptr", "%t"),
            ("i64", address),
            ("i64", str(size)),
            ("i64", str(align)),
            ("i32", str(site)),
        )
        self.guarded(good, lambda: void(self.call("rt_check", "void", *arguments)), returns=True)

    def _shared(self, ins: Instruction, address: str, size: int, align: int, base: str) -> str:
        offset = self.let(f"and i64 {address}, 4294967295")
        total = self.field("%launch", abi.LAUNCH_SHARED_BYTES, "i64")
        end = self.let(f"add i64 {offset}, {size}")
        good = self.let(f"icmp ule i64 {end}, {total}")
        shared = self.field("%launch", abi.LAUNCH_SHARED, "i64")
        full = self.let(f"add i64 {shared}, {offset}")
        self.guarded(good, lambda: self.fault(ins, abi.ILLEGAL_ADDRESS, offset, size))
        self._aligned(ins, offset, size, align)
        return self.let(f"inttoptr i64 {full} to ptr")

    def _local(self, ins: Instruction, address: str, size: int, align: int) -> str:
        low = self.field("%t", abi.THREAD_LOCAL_LOW, "i64")
        high = self.field("%t", abi.THREAD_LOCAL_HIGH, "i64")
        width = self.let(f"sub i64 {self.let(f'sub i64 {high}, {low}')}, {size - 1}")
        good = self.let(f"icmp ult i64 {self.let(f'sub i64 {address}, {low}')}, {width}")
        self.guarded(good, lambda: self.fault(ins, abi.ILLEGAL_ADDRESS, address, size))
        self._aligned(ins, address, size, align)
        return self.let(f"inttoptr i64 {address} to ptr")

    def _aligned(self, ins: Instruction, address: str, size: int, align: int) -> None:
        if align > 1:
            rest = self.let(f"and i64 {address}, {align - 1}")
            good = self.let(f"icmp eq i64 {rest}, 0")
            self.guarded(good, lambda: self.fault(ins, abi.MISALIGNED, address, size))

    # Statements

    def emit(self, ins: Instruction) -> None:
        handler = HANDLERS.get(ins.opcode)
        if handler is None:
            raise self.error(ins)
        end = ""
        if ins.guard and ins.opcode not in ("bra",):
            end = self.fresh("skip")
            then = self.fresh("then")
            condition = self.value(("!" if ins.negated else "") + ins.guard, "pred")
            self.out(f"br i1 {condition}, label %{then}, label %{end}")
            self.label(then)
        try:
            handler(self, ins)
        except PtxError as exc:
            raise (
                exc if exc.line else PtxError(f"{exc.message} in {ins.text}", ins.line)
            ) from None
        except (KeyError, IndexError, ValueError, StopIteration) as exc:
            raise self.error(ins) from exc
        if end:
            self.out(f"br label %{end}")
            self.label(end)

    def block_of(self, label: str) -> str:
        if label not in self.labels:
            raise PtxError(f"unknown label {label!r}", 0)
        return f'"{self.prefix}{label}"'

    def tick(self) -> None:
        """Count a step of a loop; now and then look at the time and let others run."""
        fuel = self.let("load i32, ptr %fuel")
        left = self.let(f"sub i32 {fuel}, 1")
        self.out(f"store i32 {left}, ptr %fuel")

        def refill() -> None:
            self.out(f"store i32 {self.call('rt_tick', 'i32', ('ptr', '%t'))}, ptr %fuel")

        self.guarded(self.let(f"icmp sgt i32 {left}, 0"), refill, returns=True)

    # Frames

    def place_variables(self) -> None:
        """Give local variables offsets in the frame, and parameters of calls buffers."""
        for variable in self.function.variables.values():
            if variable.space == "local":
                self.local_bytes = align_up(self.local_bytes, max(variable.alignment, 1))
                self.locals[variable.name] = self.local_bytes
                self.local_bytes += variable.size_bytes
            elif variable.space == "param":
                self.buffers[variable.name] = self._buffer(variable)
        self.local_bytes = align_up(self.local_bytes, 16)

    def _buffer(self, variable: Variable) -> str:
        name = f'%"b.{variable.name}"'
        size = max(variable.size_bytes, 1)
        self.slots.append(f"  {name} = alloca [{size} x i8], align {max(variable.alignment, 16)}")
        return name


def void(_: str) -> None:
    """Drop the result of a call whose text matters only."""


def vector(operand: str) -> list[str]:
    """Split `{a, b}`; a plain operand is one of one."""
    operand = operand.strip()
    return split_operands(operand[1:-1]) if operand.startswith("{") else [operand]

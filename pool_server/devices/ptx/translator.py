"""PTX to LLVM text: a module's kernels, functions and what must be known to launch them.

A kernel whose threads never wait for each other becomes a function that runs a whole block in
plain loops; any other becomes a function that runs one thread, on a fiber of its own.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from cupool.pool_server.devices.ptx import abi, arithmetic, control, conversion, jit, memory
from cupool.pool_server.devices.ptx.emitter import Emitter
from cupool.pool_server.devices.ptx.errors import PtxError
from cupool.pool_server.devices.ptx.layout import Layout, align_up, lay_out
from cupool.pool_server.devices.ptx.rows import Rows
from cupool.pool_server.devices.ptx.slices import Slices, SliceText
from cupool.pool_server.devices.ptx.strides import find_stride, write_stride
from cupool.pool_server.devices.ptx.syntax import (
    Function,
    Instruction,
    Label,
    Program,
    Variable,
    parse,
)

__all__ = ["KernelFacts", "Translation", "arithmetic", "conversion", "memory", "translate"]

MAX_STATIC_SHARED_BYTES = 48 << 10
_INTRINSICS = re.compile(
    r"llvm\.(?:[su](?:min|max)\.(?:i16|i32|i64|v2i16)|s(?:add|sub)\.sat\.i32|abs\.i(?:16|32|64)|"
    r"(?:ctlz|ctpop|bitreverse)\.i(?:32|64)|fsh[lr]\.i32|memset\.p0\.i64|is\.fpclass\.f(?:32|64)|"
    r"(?:fma|fabs|sqrt|exp2|log2|sin|cos|copysign|roundeven|trunc|floor|ceil)\.f(?:32|64)|"
    r"fpto[su]i\.sat\.i(?:8|16|32|64)\.f(?:32|64))$"
)
_WAITING_LOADS = frozenset({"volatile", "acquire", "relaxed"})


@dataclass(slots=True)
class KernelFacts:
    """What a launch needs to know of a kernel.

    Attributes:
        parameters: size, alignment and offset of each, in bytes.
        fibers: may its threads wait for each other?
        context_bytes: for registers of threads that take turns.
        overtakes: without fibers: may one loop until a later one has done something?
        local_bytes: of a thread's own frame.
        shared_bytes: of static shared memory.
        strides: in a grid of one dimension it runs as `strides` says.
        max_threads: per block, by .maxntid or .reqntid.
        required: the block that .reqntid demands, or ().
    """

    parameters: list[tuple[int, int, int]]
    fibers: bool
    local_bytes: int
    shared_bytes: int
    max_threads: int
    required: tuple[int, ...] = ()
    registers: int = 0
    overtakes: bool = False
    context_bytes: int = 0
    strides: bool = False


@dataclass(slots=True)
class Translation:
    """A module in LLVM text, with its facts.

    Attributes:
        sites: PTX line, source file and source line of each place that may fault.
        shared_bytes: of all static shared variables together; dynamic memory follows.
    """

    text: str
    kernels: dict[str, KernelFacts]
    layout: Layout
    sites: list[tuple[int, str, int]]
    shared_bytes: int
    version: int
    symbols: list[str] = field(default_factory=list)


class Translator:
    """Translates one module.

    Args:
        program: the module.
        checked: check every access to global memory?
    """

    def __init__(self, program: Program, checked: bool) -> None:
        self.program = program
        self.checked = checked
        self.layout = lay_out(program)
        self.sites: list[tuple[int, str, int]] = []
        self._declared: dict[str, str] = {}
        self.shared_offsets: dict[str, int] = {}
        self.shared_bytes = 0
        self._sizes: dict[str, int] = {}
        self._place_shared()
        self._addressable = self._find_addressable()

    def _variables(self, space: str) -> list[Variable]:
        found = [v for v in self.program.variables.values() if v.space == space]
        for function in self.program.functions.values():
            found += [v for v in function.variables.values() if v.space == space]
        return found

    def _place_shared(self) -> None:
        alignment = 16
        for variable in self._variables("shared"):
            if variable.count is None:
                alignment = max(alignment, variable.alignment)
                continue
            start = align_up(self.shared_bytes, max(variable.alignment, 1))
            self.shared_offsets[variable.name] = start
            self._sizes[variable.name] = variable.size_bytes
            self.shared_bytes = start + variable.size_bytes
        self.shared_bytes = align_up(self.shared_bytes, alignment)

    def shared_offset(self, name: str) -> int:
        return self.shared_offsets.get(name, self.shared_bytes)

    # What emitters ask for

    def declare(self, name: str, result: str, types: list[str]) -> None:
        """Note a function that the text calls; only known ones exist to be called."""
        if not (_INTRINSICS.match(name) or name in jit.helpers() or name in jit.CALLABLE):
            raise PtxError("instruction not emulated", 0)
        self._declared[name] = f"declare {result} @{name}({', '.join(types)}) nounwind"

    def site(self, ins: Instruction) -> int:
        number, line = ins.place
        self.sites.append((ins.line, self.program.files.get(number, ""), line))
        return len(self.sites) - 1

    def function_name(self, name: str) -> str:
        return f'@"f.{name}"'

    def function_address(self, name: str) -> str:
        return f"ptrtoint (ptr {self.function_name(name)} to i64)"

    def addressable(self) -> list[Function]:
        """Functions whose address is taken: those an indirect call may reach."""
        return [self.program.functions[n] for n in self._addressable]

    def _find_addressable(self) -> list[str]:
        names = {
            f.name for f in self.program.functions.values() if f.body is not None and not f.is_entry
        }
        found = {r.symbol for r in self.layout.relocations} & names
        for function in self.program.functions.values():
            for ins in function.body or ():
                if isinstance(ins, Instruction) and ins.opcode != "call":
                    found.update(names.intersection(ins.operands))
        return sorted(found)

    # Which functions a kernel reaches

    def _calls(self, function: Function) -> set[str]:
        found: set[str] = set()
        for ins in function.body or ():
            if isinstance(ins, Instruction) and ins.opcode == "call":
                names = {o for o in ins.operands if o in self.program.functions}
                found |= names or (
                    set(self._addressable) if self._is_indirect(function, ins) else set()
                )
        return found

    def _is_indirect(self, function: Function, ins: Instruction) -> bool:
        return any(o in function.registers for o in ins.operands)

    def reach(self, function: Function) -> list[Function]:
        found, waiting = {function.name}, [function]
        while waiting:
            for name in self._calls(waiting.pop()) - found:
                found.add(name)
                waiting.append(self.program.functions[name])
        return [self.program.functions[n] for n in found]

    def waits(self, entry: Function) -> bool:
        """May a thread of this kernel wait for another one?"""
        for function in self.reach(entry):
            seen: set[str] = set()
            loops = polls = False
            for item in function.body or ():
                if isinstance(item, Label):
                    seen.add(item.name)
                    continue
                if item.opcode in control.SYNCHRONISING or (
                    item.opcode == "exit" and not function.is_entry
                ):
                    return True
                loops |= item.opcode in ("bra", "brx") and bool(seen.intersection(item.operands))
                polls |= item.opcode == "ld" and bool(_WAITING_LOADS.intersection(item.modifiers))
            if loops and polls:
                return True
        return False

    def overtakes(self, entry: Function) -> bool:
        """May a thread of this kernel, which does not wait, loop until a later one writes?"""
        return any(
            i.opcode in ("atom", "nanosleep") for f in self.reach(entry) for i in instructions(f)
        )

    # Text

    def translate(self) -> Translation:
        kernels: dict[str, KernelFacts] = {}
        texts = []
        referenced = {r.symbol for r in self.layout.relocations}
        for function in self.program.functions.values():
            if function.body is None:
                continue
            if not function.is_entry:
                texts.append(FunctionText(self, function, function.name in referenced).text())
                continue
            entry = EntryText(self, function, self.waits(function))
            texts.append(entry.text())
            kernels[function.name] = self._facts(function, entry)
        declared = "\n".join(sorted(self._declared.values()))
        weights = '!0 = !{!"branch_weights", i32 2000, i32 1}\n!1 = !{}\n'
        version = self.program.version[0] * 10 + self.program.version[1]
        return Translation(
            "\n".join([declared, *texts, weights]), kernels, self.layout, self.sites,
            self.shared_bytes, version, [n for n in self._addressable if n in referenced],
        )  # fmt: skip

    def _facts(self, function: Function, entry: EntryText) -> KernelFacts:
        text_names = {v for f in self.reach(function) for v in self._shared_names(f)}
        shared = 0
        for name in text_names:
            shared = align_up(shared, 16) + self._sizes[name]
        if shared > MAX_STATIC_SHARED_BYTES:
            raise PtxError(
                f"{function.name} uses too much shared data "
                f"({shared} bytes, {MAX_STATIC_SHARED_BYTES} max)",
                function.line,
            )
        required = function.bounds.get("reqntid", ())
        limit = required or function.bounds.get("maxntid", ())
        threads = 1
        for extent in limit:
            threads *= extent
        parameters = []
        for parameter in function.parameters:
            offset = entry.emitter.offsets[parameter.name]
            parameters.append((parameter.size_bytes, parameter.alignment, offset))
        return KernelFacts(
            parameters, entry.emitter.fibers, entry.emitter.local_bytes, shared,
            min(threads, 1024) if limit else 1024, required,
            min(255, max(8, len(function.registers) // 4)), entry.overtakes,
            entry.context_bytes, entry.stride is not None,
        )  # fmt: skip

    def _shared_names(self, function: Function) -> set[str]:
        names: set[str] = set()
        for ins in function.body or ():
            if isinstance(ins, Instruction):
                for operand in ins.operands:
                    names.update(
                        n for n in re.findall(r"[\w$%.]+", operand) if n in self.shared_offsets
                    )
        return names


class FunctionText:
    """The text of a .func: it takes its thread, and buffers for results and arguments."""

    def __init__(self, module: Translator, function: Function, exported: bool) -> None:
        self.module = module
        self.exported = exported
        self.emitter = Emitter(module, function, True)

    def text(self) -> str:
        e = self.emitter
        function = e.function
        names = [*function.returns, *function.parameters]
        for index, variable in enumerate(names):
            if variable.space != "param":
                raise PtxError(
                    f"{function.name} passes arguments in registers: not emulated", function.line
                )
            e.buffers[variable.name] = f"%a{index}"
        e.place_variables()
        self._prologue()
        emit_body(e, e.function)
        e.out("br label %leave")
        e.label("leave")
        e.out("store i64 %top, ptr %top.slot")
        e.out("ret void")
        e.declare_slots()
        arguments = ", ".join(["ptr %t", *(f"ptr %a{i}" for i in range(len(names)))])
        linkage = "" if self.exported else "internal "
        name = self.module.function_name(function.name)
        head = f"define {linkage}void {name}({arguments}) nounwind {{"
        return "\n".join([head, "entry:", *e.slots, *e.lines, "}"])

    def _prologue(self) -> None:
        e = self.emitter
        begin(e)
        first = next((i for i in e.function.body or () if isinstance(i, Instruction)), None)
        if first is None:
            first = Instruction("ret", (), [], e.function.line)
        e.slots.append("  %here.slot = alloca i8")
        here = e.let("ptrtoint ptr %here.slot to i64")
        limit = e.field("%t", abi.THREAD_STACK_LIMIT, "i64")
        place = first
        e.guarded(
            e.let(f"icmp ugt i64 {here}, {limit}"), lambda: e.fault(place, abi.STACK_OVERFLOW)
        )
        e.out(f"%top.slot = getelementptr i8, ptr %t, i64 {abi.THREAD_LOCAL_TOP}")
        e.out("%top = load i64, ptr %top.slot")
        e.out("%rounded = add i64 %top, 15")
        e.out("%frame = and i64 %rounded, -16")
        end = e.let(f"add i64 %frame, {e.local_bytes}")
        high = e.field("%t", abi.THREAD_LOCAL_HIGH, "i64")
        e.guarded(e.let(f"icmp ule i64 {end}, {high}"), lambda: e.fault(place, abi.STACK_OVERFLOW))
        e.out(f"store i64 {end}, ptr %top.slot")
        e.out(f"%fuel = getelementptr i8, ptr %t, i64 {abi.THREAD_FUEL}")
        e.tick()
        e.clear_registers()


class EntryText:
    """The text of a kernel: a block in plain loops, or one thread."""

    def __init__(self, module: Translator, function: Function, fibers: bool) -> None:
        self.module = module
        self.emitter = Emitter(module, function, fibers)
        self.overtakes = not fibers and module.overtakes(function)
        self.context_bytes = 0
        self.stride = None if fibers or self.overtakes else find_stride(function)

    def text(self) -> str:
        e = self.emitter
        offset = 0
        for parameter in e.function.parameters:
            offset = align_up(offset, parameter.alignment)
            e.offsets[parameter.name] = offset
            offset += parameter.size_bytes
        e.place_variables()
        begin(e)
        e.out(f"%fuel.slot = getelementptr i8, ptr %t, i64 {abi.THREAD_FUEL}")
        e.slots.append("  %fuel = alloca i32")
        e.out("store i32 " + e.let("load i32, ptr %fuel.slot") + ", ptr %fuel")
        low = e.let(f"getelementptr i8, ptr %t, i64 {abi.THREAD_LOCAL_LOW}")
        e.out(f"%frame = load i64, ptr {low}")
        if e.fibers:
            e.clear_registers()
            emit_body(e, e.function)
            e.out("br label %leave")
        else:
            self._loops()
        e.label("leave")
        e.out("store i32 " + e.let("load i32, ptr %fuel") + ", ptr %fuel.slot")
        e.out("ret void")
        e.declare_slots()
        head = f'define void @"k.{e.function.name}"(ptr %t) nounwind {{'
        return "\n".join([head, "entry:", *e.slots, *e.lines, "}"])

    def _loops(self) -> None:
        e = self.emitter
        for register, base, offset in (
            ("ntid", "%launch", abi.LAUNCH_BLOCK),
            ("nctaid", "%launch", abi.LAUNCH_GRID),
            ("ctaid", "%t", abi.THREAD_CTAID),
        ):
            for axis in range(3):
                pointer = e.let(f"getelementptr i8, ptr {base}, i64 {offset + 4 * axis}")
                e.out(f"%{register}.{'xyz'[axis]} = load i32, ptr {pointer}")
        if self.stride is not None:
            write_stride(e, self.stride, self._rows)
        e.out("br label %plain")
        e.label("plain")
        first_z = self._first(2)
        e.out("br label %for.z")
        e.label("for.z")
        e.out(f"%tid.z = phi i32 [ {first_z}, %plain ], [ %z.next, %next.z ]")
        first_y = self._first(1)
        e.out("br label %for.y")
        e.label("for.y")
        e.out(f"%tid.y = phi i32 [ {first_y}, %for.z ], [ %y.next, %next.y ]")
        slices = Slices(e.function)
        if slices.saved:
            self._turns(slices)
        else:
            self._rows(e.function, "", "next.y")
        for letter, outer in (("y", "next.z"), ("z", "leave")):
            e.label(f"next.{letter}")
            e.out(f"%{letter}.next = add i32 %tid.{letter}, 1")
            again = e.let(f"icmp ult i32 %{letter}.next, %ntid.{letter}")
            e.out(f"br i1 {again}, label %for.{letter}, label %{outer}")

    def _first(self, axis: int) -> str:
        """Return where the loop over an axis begins: at 0, but once elsewhere after overtaking."""
        e = self.emitter
        if not self.overtakes:
            return "0"
        pointer = e.let(f"getelementptr i8, ptr %t, i64 {abi.THREAD_FIRST + 4 * axis}")
        first = e.let(f"load i32, ptr {pointer}")
        e.out(f"store i32 0, ptr {pointer}")
        return first

    def _turns(self, slices: Slices) -> None:
        """Write the loop over x for threads that take turns."""
        e = self.emitter
        e.row_x, e.prefix, e.leave = "%slice.tid.x", "slice.", "slice.done"
        e.seen.clear()
        self.context_bytes = slices.size_bytes
        e.out("br label %slice.head")
        e.label("slice.head")
        text = SliceText(slices, e)
        text.open()
        emit_body(e, e.function)
        text.close()

    def _rows(self, function: Function, prefix: str, after: str) -> None:
        e, rows = self.emitter, Rows(function)
        if rows.sites:
            heads = f"label %{prefix}fast.x.head, label %{prefix}for.x.head"
            e.out(f"br i1 {rows.precheck(e)}, {heads}")
            self._row(function, f"{prefix}fast", rows.is_quiet, after)
            e.trusted.clear()
        else:
            e.out(f"br label %{prefix}for.x.head")
        self._row(function, f"{prefix}for", False, after)

    def _row(self, function: Function, name: str, quiet: bool, after: str) -> None:
        """Write the loop over x; a quiet body neither faults nor calls, so nobody asks for tid."""
        e = self.emitter
        x = e.row_x = f"%{name}.tid.x"
        e.prefix, e.leave = f"{name}.", f"{name}.next.x"
        e.seen.clear()
        e.label(f"{name}.x.head")
        first, last = self._first(0), e.leave
        if self.overtakes:
            last = f"{name}.stay.x"
        e.out(f"br label %{name}.x")
        e.label(f"{name}.x")
        e.out(f"{x} = phi i32 [ {first}, %{name}.x.head ], [ %{name}.x.next, %{last} ]")
        if not quiet:
            e.store_tid()
            top = e.let(f"getelementptr i8, ptr %t, i64 {abi.THREAD_LOCAL_TOP}")
            e.out(f"store i64 {e.let(f'add i64 %frame, {e.local_bytes}')}, ptr {top}")
        e.clear_registers()
        emit_body(e, function)
        e.out(f"br label %{e.leave}")
        e.label(e.leave)
        if self.overtakes:
            overtaken = e.field("%t", abi.THREAD_OVERTAKEN)
            e.out(f"br i1 {e.let(f'icmp eq i32 {overtaken}, 0')}, label %{last}, label %leave")
            e.label(last)
        e.out(f"%{name}.x.next = add nuw i32 {x}, 1")
        again = e.let(f"icmp ult i32 %{name}.x.next, {e.index('ntid', 0)}")
        e.out(f"br i1 {again}, label %{name}.x, label %{after}")


def begin(e: Emitter) -> None:
    """Load what every function needs of its launch."""
    e.out("%launch = load ptr, ptr %t")
    for name, offset, type_ in (
        ("params", abi.LAUNCH_PARAMS, "i64"),
        ("globals", abi.LAUNCH_GLOBALS, "i64"),
        ("sites", abi.LAUNCH_SITES, "ptr"),
    ):
        pointer = e.let(f"getelementptr i8, ptr %launch, i64 {offset}")
        e.out(f"%{name} = load {type_}, ptr {pointer}")
    if any(
        i.opcode in ("addc", "subc", "madc") or "cc" in i.modifiers
        for i in instructions(e.function)
    ):
        e.slots.append("  %carry = alloca i1")
        e.out("store i1 0, ptr %carry")


def instructions(function: Function) -> list[Instruction]:
    return [i for i in function.body or () if isinstance(i, Instruction)]


def emit_body(e: Emitter, function: Function) -> None:
    for item in function.body or ():
        if isinstance(item, Label):
            e.out(f"br label %{e.block_of(item.name)}")
            e.label(e.block_of(item.name))
            e.seen.add(item.name)
        else:
            e.emit(item)


def translate(ptx: str, checked: bool = True) -> Translation:
    """Translate a PTX module.

    Raises:
        PtxError: what cannot be run, with the PTX line.
    """
    return Translator(parse(ptx), checked).translate()

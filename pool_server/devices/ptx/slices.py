"""Grid-stride loops: the threads of a row take turns, one iteration each.

A thread that strides over an array by the size of the grid suits a GPU, whose threads run side by
side and touch neighbours; thread by thread it takes a new page of memory with every iteration. So
such a loop is cut at its head: a thread that comes back there keeps the registers that it still
needs in the launch's context, and the next thread runs. Every interleaving of threads is one that
a GPU may choose, so this needs no proof about the loop; where it is not recognised, or where
threads have more state than registers, nothing is cut.
"""

from __future__ import annotations

import re

from cupool.pool_server.devices.ptx import abi
from cupool.pool_server.devices.ptx.emitter import Emitter, bits_of, int_type
from cupool.pool_server.devices.ptx.rows import WRITES_NOTHING, Rows
from cupool.pool_server.devices.ptx.syntax import Function, Instruction, Label

CHUNK = 256
"""Threads that take turns; a power of two."""
MAX_ITEMS = 2000
MAX_SAVED = 48
_NAME = re.compile(r"[\w$%.]+")
_STATEFUL = frozenset(
    {"call", "alloca", "stacksave", "stackrestore", "atom", "brx", "exit", "nanosleep"}
)


class Slices:
    """Where the loops of a kernel without waiting threads are cut.

    Attributes:
        saved: by the label of each loop, the registers that its threads keep.
        uniform: registers that are the same for all threads of a row, which nobody keeps.
        size_bytes: of the context.
    """

    def __init__(self, function: Function) -> None:
        self.function = function
        self.items = function.body or []
        self.saved: dict[str, list[str]] = {}
        self.uniform: set[str] = set()
        self.offsets: dict[str, int] = {}
        self.size_bytes = 0
        if self._may_be_cut():
            self._rows = Rows(function)
            self._cut()

    def _may_be_cut(self) -> bool:
        if len(self.items) > MAX_ITEMS:
            return False
        if any(v.space == "local" for v in self.function.variables.values()):
            return False
        found = [i for i in self.items if isinstance(i, Instruction)]
        if any(i.opcode in _STATEFUL or "cc" in i.modifiers for i in found):
            return False
        return any("%nctaid." in operand for i in found for operand in i.operands)

    def _cut(self) -> None:
        labels = self._find_loops()
        if not labels:
            return
        self.uniform = {r for r in self.function.registers if self._rows.step(r) == 0}
        live = self._live()
        for label in labels:
            self.saved[label] = sorted(live[label] - self.uniform)
        kept = {r for registers in self.saved.values() for r in registers}
        if len(kept) > MAX_SAVED:
            self.saved.clear()
            return
        for register in sorted(kept, key=lambda r: -bits_of(self.function.registers[r])):
            self.offsets[register] = self.size_bytes
            self.size_bytes += CHUNK * max(1, bits_of(self.function.registers[register]) // 8)
        self.size_bytes += CHUNK  # which loop each thread is in

    def _find_loops(self) -> list[str]:
        """Return the labels of loops in which something grows by the size of the grid."""
        places = {item.name: n for n, item in enumerate(self.items) if isinstance(item, Label)}
        found = []
        for end, item in enumerate(self.items):
            if not isinstance(item, Instruction) or item.opcode != "bra":
                continue
            start = places.get(item.operands[0], end)
            if start < end and any(self._strides(i) for i in self.items[start:end]):
                found.append(item.operands[0])
        return list(dict.fromkeys(found))

    def _strides(self, item: Instruction | Label) -> bool:
        return (
            isinstance(item, Instruction)
            and item.opcode in ("add", "mad")
            and self._rows.step(item.operands[0]) is None
            and any(self._of_grid(o) for o in item.operands[1:])
        )

    def _of_grid(self, operand: str) -> bool:
        """Is this a value made of the number of blocks, the same for all threads?"""
        if self._rows.step(operand) != 0:
            return False
        ins = self._rows.definition(operand)
        if ins is None:
            return operand.startswith("%nctaid.")
        return any(self._of_grid(o) for o in ins.operands[1:])

    # Which registers a thread still needs

    def _live(self) -> dict[str, set[str]]:
        """Return the registers that are read, at each label, before they are written."""
        places = {item.name: n for n, item in enumerate(self.items) if isinstance(item, Label)}
        after = [self._successors(n, item, places) for n, item in enumerate(self.items)]
        effects = [self._effects(item) for item in self.items]
        live: list[set[str]] = [set() for _ in range(len(self.items) + 1)]
        changed = True
        while changed:
            changed = False
            for n in range(len(self.items) - 1, -1, -1):
                read, written = effects[n]
                new = set().union(*(live[s] for s in after[n])) - written | read
                if new != live[n]:
                    live[n], changed = new, True
        return {name: live[n] for name, n in places.items()}

    @staticmethod
    def _successors(n: int, item: Instruction | Label, places: dict[str, int]) -> list[int]:
        if isinstance(item, Label):
            return [n + 1]
        jump = [places[item.operands[0]]] if item.opcode == "bra" else []
        ends = item.opcode in ("bra", "ret", "trap") and not item.guard
        return jump if ends else [*jump, n + 1]

    def _effects(self, item: Instruction | Label) -> tuple[set[str], set[str]]:
        """Return what an instruction reads, and what it surely writes."""
        if isinstance(item, Label):
            return set(), set()
        registers = self.function.registers
        targets = item.operands[:1]
        if item.opcode in WRITES_NOTHING or (targets and targets[0].startswith("[")):
            targets = []
        read = {item.guard} if item.guard else set()
        for operand in item.operands[len(targets) :]:
            read.update(_NAME.findall(operand))
        written = {name for t in targets for name in _NAME.findall(t)}
        return read & registers.keys(), set() if item.guard else written & registers.keys()


class SliceText:
    """Writes the loop over a row whose threads take turns."""

    def __init__(self, slices: Slices, e: Emitter) -> None:
        self.slices = slices
        self.e = e
        self.context = ""

    def open(self) -> None:
        """Write what comes before the body; the thread's number is in `e.row_x`."""
        e, registers = self.e, self.e.function.registers
        e.slots.append("  %slice.alive = alloca i1")
        self.context = e.field("%launch", abi.LAUNCH_CONTEXT, "ptr")
        for name in sorted(self.slices.uniform):
            e.out(f"store {int_type(registers[name])} 0, ptr {e.slot(name)}")
        e.out("br label %slice.chunk")
        e.label("slice.chunk")
        e.out("%chunk = phi i32 [ 0, %slice.head ], [ %chunk.next, %slice.chunk.end ]")
        e.out(f"%chunk.next = add i32 %chunk, {CHUNK}")
        e.out("%chunk.less = icmp ult i32 %chunk.next, %ntid.x")
        e.out("%chunk.end = select i1 %chunk.less, i32 %chunk.next, i32 %ntid.x")
        e.out("br label %slice.round")
        e.label("slice.round")
        e.out("%fresh = phi i1 [ true, %slice.chunk ], [ false, %slice.round.end ]")
        e.out("store i1 false, ptr %slice.alive")
        e.out("br label %slice.x")
        e.label("slice.x")
        e.out(f"{e.row_x} = phi i32 [ %chunk, %slice.round ], [ %slice.x.next, %slice.next.x ]")
        e.out(f"%slice.index = and i32 {e.row_x}, {CHUNK - 1}")
        e.out("%slice.at = zext i32 %slice.index to i64")
        e.store_tid()
        state = self._place(self.slices.size_bytes - CHUNK, 1)
        e.out(f"%slice.state = getelementptr i8, ptr {state}, i64 0")
        for name, type_ in registers.items():
            if name not in self.slices.uniform:
                e.out(f"store {int_type(type_)} 0, ptr {e.slot(name)}")
        e.out("br i1 %fresh, label %slice.begin, label %slice.resume")
        self._resume()
        e.label("slice.begin")

    def _place(self, offset: int, size: int) -> str:
        base = self.e.let(f"getelementptr i8, ptr {self.context}, i64 {offset}")
        return self.e.let(f"getelementptr i{8 * size}, ptr {base}, i64 %slice.at")

    def _saved(self, label: str) -> list[tuple[str, str, str]]:
        """Return type, slot and place in the context of what the threads of a loop keep."""
        found = []
        for name in self.slices.saved[label]:
            type_ = self.e.function.registers[name]
            place = self._place(self.slices.offsets[name], max(1, bits_of(type_) // 8))
            found.append((int_type(type_), self.e.slot(name), place))
        return found

    def _resume(self) -> None:
        e = self.e
        e.label("slice.resume")
        cases = [f"i8 {n}, label %slice.from.{n}" for n in range(1, len(self.slices.saved) + 1)]
        state = e.let("load i8, ptr %slice.state")
        e.out(f"switch i8 {state}, label %slice.next.x [ {' '.join(cases)} ]")
        for n, label in enumerate(self.slices.saved, 1):
            e.label(f"slice.from.{n}")
            for type_, slot, place in self._saved(label):
                e.out(f"store {type_} {e.let(f'load {type_}, ptr {place}')}, ptr {slot}")
            e.out(f"br label %{e.block_of(label)}")
            e.suspend[label] = f"slice.to.{n}"

    def close(self) -> None:
        """Write what comes after the body."""
        e = self.e
        e.out("br label %slice.done")
        for n, label in enumerate(self.slices.saved, 1):
            e.label(f"slice.to.{n}")
            for type_, slot, place in self._saved(label):
                e.out(f"store {type_} {e.let(f'load {type_}, ptr {slot}')}, ptr {place}")
            e.out(f"store i8 {n}, ptr %slice.state")
            e.out("store i1 true, ptr %slice.alive")
            e.out("br label %slice.next.x")
        e.label("slice.done")
        e.out("store i8 0, ptr %slice.state")
        e.out("br label %slice.next.x")
        e.label("slice.next.x")
        e.out(f"%slice.x.next = add i32 {e.row_x}, 1")
        again = e.let("icmp ult i32 %slice.x.next, %chunk.end")
        e.out(f"br i1 {again}, label %slice.x, label %slice.round.end")
        e.label("slice.round.end")
        alive = e.let("load i1, ptr %slice.alive")
        e.out(f"br i1 {alive}, label %slice.round, label %slice.chunk.end")
        e.label("slice.chunk.end")
        e.out("br i1 %chunk.less, label %slice.chunk, label %next.y")
        e.suspend.clear()

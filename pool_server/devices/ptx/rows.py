"""Checking a row of threads at once, so that the row itself can be vectorised.

In most kernels thread x touches address base + step * x. For such accesses the whole row of a
block, x = 0 .. n-1, is checked before it runs; if all is well a second copy of the body runs
without checks, in a loop that LLVM can vectorise. Otherwise (also for the last block, whose row
reaches over the end although its threads do not) the checked copy runs.

An address qualifies if every register in it is written once, unconditionally, by an instruction
that keeps it linear in %tid.x with a step known at translation.
"""

from __future__ import annotations

from dataclasses import dataclass

from cupool.pool_server.devices.ptx.emitter import Emitter
from cupool.pool_server.devices.ptx.layout import parse_integer
from cupool.pool_server.devices.ptx.memory import shape_of, space_of
from cupool.pool_server.devices.ptx.syntax import SIZES, Function, Instruction, Label

MIN_THREADS = 64
"""Shorter rows cost more to check than to run."""
MAX_INSTRUCTIONS = 400
MAX_SITES = 12
WRITES_NOTHING = frozenset(
    {"st", "red", "bra", "brx", "ret", "exit", "bar", "call", "membar", "trap"}
)
_INVARIANT = frozenset({"and", "or", "xor", "shr", "not", "div", "rem", "min", "max", "neg"})


@dataclass(frozen=True, slots=True)
class Site:
    """An access whose address is linear in %tid.x: its base register and step in bytes."""

    instruction: Instruction
    operand: str
    step: int
    size: int


class Rows:
    """What can be checked row by row in a kernel without waiting threads."""

    def __init__(self, function: Function) -> None:
        self.function = function
        self._definitions: dict[str, Instruction | None] = {}
        self._steps: dict[str, int | None] = {}
        items = function.body or []
        self.instructions = [i for i in items if isinstance(i, Instruction)]
        for ins in self.instructions:
            self._define(ins)
        small = len(self.instructions) <= MAX_INSTRUCTIONS
        self.sites = self._find_sites()[:MAX_SITES] if small else []
        trusted = {id(s.instruction) for s in self.sites}
        self.is_quiet = (
            all(self._is_quiet(i, trusted) for i in self.instructions) and self._is_straight()
        )

    def _define(self, ins: Instruction) -> None:
        if ins.opcode in WRITES_NOTHING or not ins.operands:
            return
        for name in ins.operands[0].replace("{", "").replace("}", "").replace("|", ",").split(","):
            once = name.strip() not in self._definitions and not ins.guard
            self._definitions[name.strip()] = ins if once else None

    def _find_sites(self) -> list[Site]:
        found = []
        for ins in self.instructions:
            if ins.opcode not in ("ld", "st", "atom", "red") or len(ins.operands) < 2:
                continue
            try:
                if space_of(ins) not in ("global", "generic", "const"):
                    continue
            except ValueError:
                continue
            operand = ins.operands[0 if ins.opcode in ("st", "red") else 1]
            base = operand.strip("[] ").split("+")[0].strip()
            step = self.step(base) if base in self.function.registers else None
            if step is not None and ins.types:
                type_, count = shape_of(ins)
                found.append(Site(ins, operand, step, SIZES[type_] * count))
        return found

    def step(self, operand: str) -> int | None:
        """Return by how much a value grows from one thread to the next, or None: unknown."""
        if operand not in self.function.registers:
            if operand == "%tid.x":
                return 1
            special = operand.startswith(("%ctaid.", "%ntid.", "%nctaid.", "%tid."))
            return 0 if special or parse_integer(operand) is not None else None
        if operand not in self._steps:
            self._steps[operand] = None  # a cycle is no linear value
            ins = self._definitions.get(operand)
            self._steps[operand] = self._step_of(ins) if ins is not None else None
        return self._steps[operand]

    def definition(self, register: str) -> Instruction | None:
        """Return the only instruction that writes a register, if it always does."""
        return self._definitions.get(register)

    def _step_of(self, ins: Instruction) -> int | None:
        opcode, operands = ins.opcode, ins.operands
        if opcode == "ld":
            named = operands[1].strip("[] ").split("+")[0].strip() not in self.function.registers
            return (
                0
                if "param" in ins.modifiers and named and not operands[0].startswith("{")
                else None
            )
        if (ins.types and ins.types[0].startswith(("f", "bf", "pred"))) or "cc" in ins.modifiers:
            return None
        steps = [self.step(o) for o in operands[1:]]
        if any(s is None for s in steps):
            return None
        known = [s for s in steps if s is not None]
        if opcode in ("mov", "cvta") or (opcode == "cvt" and "sat" not in ins.modifiers):
            return known[0]
        if opcode in ("add", "sub"):
            return known[0] + known[1] if opcode == "add" else known[0] - known[1]
        if opcode in ("mul", "mad") and "hi" not in ins.modifiers:
            scaled = self._scaled(operands[1], operands[2], known)
            return None if scaled is None else scaled + (known[2] if opcode == "mad" else 0)
        if opcode == "shl":
            amount = parse_integer(operands[2])
            return None if amount is None or not 0 <= amount < 32 else known[0] << amount
        return 0 if opcode in _INVARIANT and not any(known) else None

    def _scaled(self, a: str, b: str, steps: list[int]) -> int | None:
        if not steps[0] and not steps[1]:
            return 0
        for step, other in ((steps[0], b), (steps[1], a)):
            factor = parse_integer(other)
            if factor is not None:
                return step * factor
        return None

    def _is_quiet(self, ins: Instruction, trusted: set[int]) -> bool:
        """Can this instruction neither fault nor ask the runtime for anything?"""
        if ins.opcode in ("ld", "st", "atom", "red"):
            return id(ins) in trusted or (ins.opcode == "ld" and "param" in ins.modifiers)
        return ins.opcode not in ("call", "trap", "brx", "cp", "nanosleep", "alloca", "exit")

    def _is_straight(self) -> bool:
        seen: set[str] = set()
        for item in self.function.body or []:
            if isinstance(item, Label):
                seen.add(item.name)
            elif item.opcode == "bra" and item.operands[0] in seen:
                return False
        return True

    def slice(self) -> list[Instruction]:
        """Return the instructions that compute the addresses, in order."""
        needed: set[int] = set()
        waiting = [s.operand.strip("[] ").split("+")[0].strip() for s in self.sites]
        while waiting:
            ins = self._definitions.get(waiting.pop())
            if ins is not None and id(ins) not in needed:
                needed.add(id(ins))
                waiting += ins.operands[1:]
        return [i for i in self.instructions if id(i) in needed]

    def precheck(self, e: Emitter) -> str:
        """Write the check of a row; return an i1, and note the accesses' pointers in `e`."""
        threads = e.index("ntid", 0)
        last = e.let(f"sub i32 {threads}, 1")
        wide = e.let(f"zext i32 {last} to i64")
        code = self.slice()
        ends: list[list[str]] = []
        for x in ("0", "1", last):
            e.row_x = x
            for ins in code:
                e.emit(ins)
            ends.append([self._address(e, s) for s in self.sites])
        good = e.let(f"icmp uge i32 {threads}, {MIN_THREADS}")
        for site, first, second, final in zip(self.sites, *ends, strict=True):
            grown, total = e.let(f"sub i64 {second}, {first}"), e.let(f"sub i64 {final}, {first}")
            steady = e.let(f"icmp eq i64 {grown}, {site.step}")
            linear = e.let(f"icmp eq i64 {total}, {e.let(f'mul i64 {wide}, {site.step}')}")
            numbers = (first, str(site.step), wide, str(site.size), str(site.size))
            valid = e.call("rt_row", "i32", ("ptr", "%t"), *[("i64", n) for n in numbers])
            for condition in (steady, linear, e.let(f"icmp ne i32 {valid}, 0")):
                good = e.let(f"and i1 {good}, {condition}")
            e.trusted[id(site.instruction)] = e.let(f"inttoptr i64 {first} to ptr"), site.step
        return good

    def _address(self, e: Emitter, site: Site) -> str:
        base, offset = e.address(site.operand)
        return e.let(f"add i64 {e.value(base, 'b64')}, {offset}")

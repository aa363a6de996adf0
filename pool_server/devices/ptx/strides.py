"""Grid-stride loops, turned so that neighbours in memory are neighbours in time.

    for (i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x) body(i);

Thread by thread, such a loop walks through memory in large steps, which suits no CPU's cache. If
nothing but `i` tells one step from another, the steps of all threads may run in any order that
keeps those of one thread ascending: the kernel then runs as if there were a thread for each step,
in blocks of `BLOCK`, and the loop is gone. Such rows of threads are checked and vectorised
(`rows`).

What must be so, and is looked for in the PTX: one loop with nothing before it but arithmetic and
the guard, and nothing after it; `i` begins at the thread's number in a grid of one dimension and
grows by the number of threads; the guard and the end of the loop compare it with the same value;
the body reads `i`, values that all threads share, and what the same step has written.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from cupool.pool_server.devices.ptx import abi
from cupool.pool_server.devices.ptx.emitter import Emitter
from cupool.pool_server.devices.ptx.layout import parse_bits, parse_integer
from cupool.pool_server.devices.ptx.syntax import Function, Instruction, Label

BLOCK = 1024
_SPECIAL = {"%tid.x": "thread", "%ctaid.x": "block", "%ntid.x": "threads", "%nctaid.x": "blocks"}
_PRODUCTS = {frozenset(("block", "threads")): "first", frozenset(("threads", "blocks")): "all*1"}
_NEGATED = {"lt": "ge", "le": "gt", "lo": "hs", "ls": "hi"}
_ORDERS = frozenset(_NEGATED) | frozenset(_NEGATED.values())
_UNFIT = frozenset(
    "call ret exit brx cp nanosleep alloca trap isspacep mapa getctarank stacksave".split()
)
_INTEGERS = frozenset(
    f"{letter}{bits}" for letter, widths in (("s", (32, 64)), ("u", (32, 64)), ("b", (32, 64)))
    for bits in widths
)  # fmt: skip
_PLACES = frozenset({"shared", "local", "volatile"})


@dataclass(frozen=True, slots=True)
class GridStride:
    """A kernel that is one grid-stride loop.

    Attributes:
        function: one step of it, for the thread of its number.
        guard: what is computed before the guard, for the value of `ended`.
        ended: predicate of the guard, with "!" before it where it is negated.
        blocks: of `BLOCK` threads, so many at most: then `i` is at the end of its type.
    """

    function: Function
    guard: list[Instruction]
    ended: str
    blocks: int


def find_stride(function: Function) -> GridStride | None:
    """Return what a kernel's loop is made of, None if it is no such kernel."""
    items = function.body or []
    if function.variables or not any(isinstance(i, Label) for i in items):
        return None
    return _Search(function, items).result()


def write_stride(e: Emitter, loop: GridStride, rows: Callable[[Function, str, str], None]) -> None:
    """Write the loop as blocks of a thread for each step, all of which block 0 runs.

    Grids of more dimensions go on behind what is written.

    Args:
        rows: writes the loop over a row's threads: function, prefix of labels, label behind it.
    """
    flat = "true"
    for name in ("%ntid.y", "%ntid.z", "%nctaid.y", "%nctaid.z"):
        flat = e.let(f"and i1 {flat}, {e.let(f'icmp eq i32 {name}, 1')}")
    e.out(f"br i1 {flat}, label %stride.flat, label %stride.none")
    e.label("stride.flat")
    block = e.let(f"getelementptr i8, ptr %t, i64 {abi.THREAD_CTAID}")
    e.out(f"br i1 {e.let('icmp eq i32 %ctaid.x, 0')}, label %stride.block, label %leave")
    e.label("stride.block")
    e.out("%stride.v = phi i32 [ 0, %stride.flat ], [ %stride.next, %stride.again ]")
    e.tick()
    e.out(f"store i32 %stride.v, ptr {block}")
    e.geometry = {"%ctaid.x": "%stride.v", "%ntid.x": str(BLOCK), "%tid.y": "0", "%tid.z": "0"}
    rows(loop.function, "stride.", "stride.end")
    e.label("stride.end")
    e.row_x = str(BLOCK - 1)  # where the last thread has no step, no later one has
    for ins in loop.guard:
        e.emit(ins)
    e.out("%stride.next = add i32 %stride.v, 1")
    last = e.let(f"icmp uge i32 %stride.next, {loop.blocks}")
    over = e.let(f"or i1 {last}, {e.value(loop.ended, 'pred')}")
    e.out(f"br i1 {over}, label %stride.over, label %stride.again")
    e.label("stride.again")
    e.out("br label %stride.block")
    e.label("stride.over")
    e.out(f"store i32 0, ptr {block}")
    e.out("br label %leave")
    e.label("stride.none")
    e.geometry = {}


def _names(operand: str) -> Iterator[str]:
    for part in operand.strip("{}").replace("|", ",").split(","):
        yield part.strip().lstrip("!-")


class _Search:
    def __init__(self, function: Function, items: list[Instruction | Label]) -> None:
        self.function, self.items = function, items
        self.registers = function.registers
        self.places = {x.name: i for i, x in enumerate(items) if isinstance(x, Label)}
        self.kinds: dict[str, str] = {}

    def result(self) -> GridStride | None:
        branches = [
            (i, self.places.get(x.operands[0], -1))
            for i, x in enumerate(self.items)
            if isinstance(x, Instruction) and x.opcode == "bra"
        ]
        back = [(i, target) for i, target in branches if target <= i]
        if len(back) != 1 or back[0][1] < 0 or any(t < 0 for _, t in branches):
            return None
        end, begin = back[0]
        leaves = [(i, t) for i, t in branches if i < begin]
        if len(leaves) != 1 or leaves[0][1] <= end or not self._is_empty(end + 1):
            return None
        if any(begin < i < end and t > end for i, t in branches):
            return None
        guard = leaves[0][0]
        if not self._read_prologue(begin, guard):
            return None
        return self._loop(guard, begin, end)

    def _is_empty(self, begin: int) -> bool:
        return all(
            isinstance(x, Label) or (x.opcode in ("ret", "exit") and not x.guard)
            for x in self.items[begin:]
        )

    def _read_prologue(self, begin: int, guard: int) -> bool:
        """Work out what each register holds before the loop."""
        for place, ins in enumerate(self.items[:begin]):
            if place == guard:
                continue
            if isinstance(ins, Label) or ins.opcode in _UNFIT or ins.guard:
                return False
            if ins.opcode in ("st", "atom", "red", "bra") or _PLACES.intersection(ins.modifiers):
                return False
            if ins.opcode == "ld" and "param" not in ins.modifiers:
                return False
            for name in _names(ins.operands[0]):
                if name in self.kinds:
                    return False
                self.kinds[name] = self._kind(ins)
        return True

    def _kind(self, ins: Instruction) -> str:
        if ins.opcode == "ld":
            return "shared by all"
        kinds = [self._operand_kind(o) for o in ins.operands[1:]]
        if all(k == "shared by all" for k in kinds):
            return "shared by all"
        if not ins.types or not _INTEGERS.issuperset(ins.types) or "hi" in ins.modifiers:
            return "else"
        if ins.opcode in ("mov", "cvt", "cvta") and "sat" not in ins.modifiers:
            return kinds[0]
        if ins.opcode in ("mul", "mad", "shl"):
            product = self._product(ins, kinds)
            if ins.opcode != "mad":
                return product
            kinds = [product, kinds[2]]
        return _sum(*kinds) if ins.opcode in ("add", "mad") else "else"

    def _product(self, ins: Instruction, kinds: list[str]) -> str:
        found = _PRODUCTS.get(frozenset(kinds[:2])) if ins.opcode != "shl" else None
        if found is not None:
            return found
        number = parse_integer(ins.operands[2])
        name, _, scale = kinds[0].partition("*")
        if name not in ("index", "all") or number is None or not 0 < number < 1 << 20:
            return "else"
        if ins.opcode == "shl" and number > 16:
            return "else"
        return f"{name}*{int(scale) * (1 << number if ins.opcode == 'shl' else number)}"

    def _operand_kind(self, operand: str) -> str:
        if operand in self.registers:
            return self.kinds.get(operand, "else")
        if operand in _SPECIAL:
            return _SPECIAL[operand]
        return "shared by all" if parse_bits(operand, "b64") is not None else "else"

    def _loop(self, guard: int, begin: int, end: int) -> GridStride | None:
        latch, leave = self.items[end], self.items[guard]
        assert isinstance(latch, Instruction) and isinstance(leave, Instruction)
        body = self.items[begin + 1 : end]
        written = [n for x in body if isinstance(x, Instruction) for n in self._written(x)]
        test = next((x for x in reversed(body) if latch.guard in self._written(x)), None)
        entry = next((x for x in self.items[:guard] if leave.guard in self._written(x)), None)
        if not latch.guard or latch.negated or not _same_test(entry, test, leave.negated):
            return None
        assert isinstance(test, Instruction)
        index = test.operands[1]
        bound = test.operands[2]
        if bound in written or self._operand_kind(bound) != "shared by all":
            return None
        steps = {
            x.operands[0]: x
            for x in body
            if isinstance(x, Instruction) and self._is_step(x) and written.count(x.operands[0]) == 1
        }
        if self.kinds.get(index) != "index*1" or index not in steps:
            return None
        if written.count(latch.guard) != 1 or not self._is_ordered(
            body, begin + 1, steps, test, set(written)
        ):
            return None
        dropped = [id(test), *map(id, steps.values())]
        kept = [x for x in body if id(x) not in dropped]
        once = [*self.items[: begin + 1], *kept, *self.items[end + 1 :]]
        before = [x for x in self.items[:guard] if isinstance(x, Instruction)]
        blocks = {"s32": 1 << 21, "u32": 1 << 22}.get(test.types[-1], 1 << 31)
        ended = ("!" if leave.negated else "") + leave.guard
        return GridStride(replace(self.function, body=once), before, ended, blocks)

    def _is_step(self, ins: Instruction) -> bool:
        """Does the index, or an address that grows with it, go on to the thread's next step?"""
        if ins.opcode != "add" or ins.guard or ins.operands[0] != ins.operands[1]:
            return False
        name, _, scale = self.kinds.get(ins.operands[0], "else").partition("*")
        grown = self._operand_kind(ins.operands[2])
        return name in ("index", "at") and grown == f"all*{scale}"

    def _written(self, ins: Instruction | Label) -> list[str]:
        if isinstance(ins, Label) or ins.opcode in ("st", "red", "bra") or not ins.operands:
            return []
        return [n for n in _names(ins.operands[0]) if n in self.registers]

    def _read(self, ins: Instruction) -> Iterator[str]:
        first = 0 if ins.opcode in ("st", "red") else 1
        if ins.guard:
            yield ins.guard
        for operand in ins.operands[first:]:
            for name in _names(operand):
                yield name.strip("[] ").split("+")[0].strip()

    def _is_ordered(
        self,
        body: list[Instruction | Label],
        offset: int,
        steps: dict[str, Instruction],
        test: Instruction,
        written: set[str],
    ) -> bool:
        """Does each step read only what is its own, or everybody's?"""
        until: dict[str, int] = {}  # where what a register holds may be of an earlier step again
        joins: list[int] = []
        gone: set[str] = set()
        for place, ins in enumerate(body, offset):
            if isinstance(ins, Label):
                continue
            if ins.opcode in _UNFIT or _PLACES.intersection(ins.modifiers):
                return False
            joins = [j for j in joins if j > place]
            if ins.opcode == "bra":
                if ins.guard and until.get(ins.guard, -1) < place:
                    return False
                joins.append(self.places[ins.operands[0]])
                continue
            if ins is test or (ins.operands and ins is steps.get(ins.operands[0])):
                if joins or (ins is test and ins.operands[1] not in gone):
                    return False
                gone.update(self._written(ins))
                continue
            for name in self._read(ins):
                if name in gone or not (name in steps or self._is_own(name, place, until, written)):
                    return False
            for name in self._written(ins):
                if ins.guard and until.get(name, -1) < place:
                    return False
                until[name] = max(until.get(name, -1), min(joins, default=len(self.items)))
        return True

    def _is_own(self, name: str, place: int, until: dict[str, int], written: set[str]) -> bool:
        if name in written:
            return until.get(name, -1) >= place
        if name in self.registers:
            return self.kinds.get(name) == "shared by all"
        if any(name == p.name for p in self.function.parameters) or name in ("_", ""):
            return True
        return parse_bits(name, "b64") is not None or name.startswith(("0f", "0d"))


def _sum(first: str, second: str) -> str:
    """Return what a sum is: the index, or an address that grows with it."""
    if {first, second} == {"first", "thread"}:
        return "index*1"
    for one, other in ((first, second), (second, first)):
        name, _, scale = one.partition("*")
        if other == "shared by all" and name in ("index", "at"):
            return f"at*{scale}"
    return "else"


def _same_test(
    entry: Instruction | Label | None, test: Instruction | Label | None, negated: bool
) -> bool:
    """Does the guard leave exactly where the loop's own test would end it?"""
    if not isinstance(entry, Instruction) or not isinstance(test, Instruction):
        return False
    if entry.opcode != "setp" or test.opcode != "setp" or test.guard or entry.guard:
        return False
    if len(test.operands) != 3 or test.operands[1:] != entry.operands[1:]:
        return False
    orders = [next((m for m in x.modifiers if m in _ORDERS), "") for x in (entry, test)]
    if test.types != entry.types or not _INTEGERS.issuperset(test.types):
        return False
    return orders[1] in _NEGATED and orders[0] == (orders[1] if negated else _NEGATED[orders[1]])

"""Loads, stores, atomics and addresses of PTX.

One operating-system thread runs a launch, and only it touches the device's memory meanwhile: an
atomic operation is a load and a store, and fences order nothing.
"""

from __future__ import annotations

from cupool.pool_server.devices.ptx import abi
from cupool.pool_server.devices.ptx.emitter import Emitter, bits_of, instruction, int_type, vector
from cupool.pool_server.devices.ptx.floating import is_float
from cupool.pool_server.devices.ptx.layout import parse_integer
from cupool.pool_server.devices.ptx.syntax import SIZES, Instruction

_SPACES = ("param", "global", "shared", "local", "const")
_ORDERED = ("volatile", "relaxed", "acquire", "release", "mmio")


def space_of(ins: Instruction) -> str:
    """Return the state space: `shared::cta` is shared, none is generic."""
    for modifier in ins.modifiers:
        name, _, part = modifier.partition("::")
        if name in _SPACES:
            if part == "cluster":
                raise ValueError
            return name
    return "generic"


def shape_of(ins: Instruction) -> tuple[str, int]:
    count = next((int(m[1]) for m in ins.modifiers if m in ("v2", "v4", "v8")), 1)
    return ins.types[-1], count


def _suffix(ins: Instruction) -> str:
    return " volatile" if any(m in _ORDERED for m in ins.modifiers) else ""


@instruction("ld", "ldu")
def load(e: Emitter, ins: Instruction) -> None:
    type_, count = shape_of(ins)
    size, space = SIZES[type_], space_of(ins)
    pointer = e.pointer(ins, ins.operands[1], space, size * count, size * count)
    i = int_type(type_)
    targets = vector(ins.operands[0])
    invariant = ", !invariant.load !1" if space == "param" and e.function.is_entry else ""
    if len(targets) != count or (invariant and e.address(ins.operands[1])[0] in e.buffers):
        invariant = ""
    volatile = _suffix(ins)
    values = []
    for index in range(len(targets)):
        at = e.let(f"getelementptr i8, ptr {pointer}, i64 {index * size}") if index else pointer
        values.append(e.let(f"load{volatile} {i}, ptr {at}, align {size}{invariant}"))
    for target, value in zip(targets, values, strict=True):
        e.set(target, value, type_)


@instruction("st")
def store(e: Emitter, ins: Instruction) -> None:
    type_, count = shape_of(ins)
    size = SIZES[type_]
    values = [e.value(v, type_) for v in vector(ins.operands[1])]
    pointer = e.pointer(ins, ins.operands[0], space_of(ins), size * count, size * count)
    for index, value in enumerate(values):
        at = e.let(f"getelementptr i8, ptr {pointer}, i64 {index * size}") if index else pointer
        e.out(f"store{_suffix(ins)} {int_type(type_)} {value}, ptr {at}, align {size}")


@instruction("cvta")
def cvta(e: Emitter, ins: Instruction) -> None:
    """Between a space's addresses and generic ones; only shared memory's differ."""
    type_ = ins.types[-1]
    value = e.value(ins.operands[1], "b64")
    if space_of(ins) == "shared":
        base = e.field("%launch", abi.LAUNCH_SHARED, "i64")
        value = e.let(f"{'sub' if 'to' in ins.modifiers else 'add'} i64 {value}, {base}")
    e.set(ins.operands[0], e.resize(value, 64, bits_of(type_)), type_)


@instruction("isspacep")
def isspacep(e: Emitter, ins: Instruction) -> None:
    address = e.value(ins.operands[1], "b64")
    space = space_of(ins)
    base = e.field("%launch", abi.LAUNCH_SHARED, "i64")
    size = e.field("%launch", abi.LAUNCH_SHARED_BYTES, "i64")
    shared = e.let(f"icmp ult i64 {e.let(f'sub i64 {address}, {base}')}, {size}")
    low = e.field("%t", abi.THREAD_LOCAL_LOW, "i64")
    high = e.field("%t", abi.THREAD_LOCAL_HIGH, "i64")
    width = e.let(f"sub i64 {high}, {low}")
    local = e.let(f"icmp ult i64 {e.let(f'sub i64 {address}, {low}')}, {width}")
    if space == "global":
        result = e.let(f"xor i1 {e.let(f'or i1 {shared}, {local}')}, true")
    elif space in ("shared", "local"):
        result = shared if space == "shared" else local
    else:
        result = "false"
    e.set(ins.operands[0], result, "pred")


@instruction("prefetch", "prefetchu", "discard", "applypriority", "createpolicy")
def nothing(e: Emitter, ins: Instruction) -> None:
    """Hints of the caches."""


@instruction("membar", "fence")
def fence(e: Emitter, ins: Instruction) -> None:
    if "cluster" in ins.modifiers:
        raise e.error(ins)
    e.out('call void asm sideeffect "", "~{memory}"()')


@instruction("cp")
def copy_async(e: Emitter, ins: Instruction) -> None:
    """cp.async copies at once; its groups have nothing left to wait for."""
    if "async" not in ins.modifiers or "bulk" in ins.modifiers or "mbarrier" in ins.modifiers:
        raise e.error(ins)
    if any(m in ("commit_group", "wait_group", "wait_all") for m in ins.modifiers):
        return
    operands = [o for o in ins.operands[2:]]
    size = parse_integer(operands[0])
    if size not in (4, 8, 16):
        raise e.error(ins)
    used = str(size)
    if len(operands) > 1 and "L2::cache_hint" not in ins.modifiers:
        source = operands[1]
        if e.function.registers.get(source) == "pred":
            used = e.let(f"select i1 {e.value(source, 'pred')}, i32 0, i32 {size}")
        else:
            used = e.value(source, "u32")
    to = e.pointer(ins, ins.operands[0], "shared", size, size)
    copy, end = e.fresh("copy"), e.fresh("copied")
    e.out(f"br i1 {e.let(f'icmp ne i32 {used}, 0')}, label %{copy}, label %{end}")
    e.label(copy)
    of = e.pointer(ins, ins.operands[1], "global", size, size)
    e.call("px_copy_async", "void", ("ptr", to), ("ptr", of), ("i32", str(size)), ("i32", used))
    e.out(f"br label %{end}.2")
    e.label(end)
    e.out(f"call void @llvm.memset.p0.i64(ptr {to}, i8 0, i64 {size}, i1 false)")
    e.module.declare("llvm.memset.p0.i64", "void", ["ptr", "i8", "i64", "i1"])
    e.out(f"br label %{end}.2")
    e.label(f"{end}.2")


# Atomics


def _combine(e: Emitter, ins: Instruction, name: str, type_: str, old: str, b: str) -> str:
    """Return what an atomic operation leaves in memory."""
    i = int_type(type_)
    if name == "exch":
        return b
    if is_float(type_):
        bits = f"b{bits_of(type_)}"
        new, first, second = (e.scratch(f"${part}.{type_}", bits) for part in ("new", "old", "b"))
        e.set(first, old, bits)
        e.set(second, b, bits)
        e.emit(Instruction(name, ("rn", type_), [new, first, second], ins.line))
        return e.value(new, bits)
    if name in ("min", "max"):
        return e.call(f"llvm.{type_[0]}{name}.{i}", i, (i, old), (i, b))
    if name == "inc":
        wraps = e.let(f"icmp uge {i} {old}, {b}")
        return e.let(f"select i1 {wraps}, {i} 0, {i} {e.let(f'add {i} {old}, 1')}")
    if name == "dec":
        zero, high = e.let(f"icmp eq {i} {old}, 0"), e.let(f"icmp ugt {i} {old}, {b}")
        wraps = e.let(f"or i1 {zero}, {high}")
        return e.let(f"select i1 {wraps}, {i} {b}, {i} {e.let(f'sub {i} {old}, 1')}")
    return e.let(f"{name} {i} {old}, {b}")


@instruction("atom", "red")
def atomic(e: Emitter, ins: Instruction) -> None:
    names = ("add", "min", "max", "exch", "cas", "inc", "dec", "and", "or", "xor")
    name = next(m for m in ins.modifiers if m in names)
    type_, count = shape_of(ins)
    operands = ins.operands if ins.opcode == "atom" else ["_", *ins.operands]
    size, i = SIZES[type_], int_type(type_)
    values = vector(operands[2])
    targets = vector(operands[0]) if operands[0] != "_" else ["_"] * count
    pointer = e.pointer(ins, operands[1], space_of(ins), size * count, size * count)
    for index in range(count):
        at = e.let(f"getelementptr i8, ptr {pointer}, i64 {index * size}") if index else pointer
        old = e.let(f"load {i}, ptr {at}, align {size}")
        b = e.value(values[index], type_)
        if name == "cas":
            c = e.value(operands[3], type_)
            same = e.let(f"icmp eq {i} {old}, {b}")
            new = e.let(f"select i1 {same}, {i} {c}, {i} {old}")
        else:
            new = _combine(e, ins, name, type_, old, b)
        e.out(f"store {i} {new}, ptr {at}, align {size}")
        e.set(targets[index], old, type_)

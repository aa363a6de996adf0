"""Branches, calls, barriers and warp operations of PTX."""

from __future__ import annotations

from cupool.pool_server.devices.ptx import abi
from cupool.pool_server.devices.ptx.emitter import Emitter, bits_of, instruction, void
from cupool.pool_server.devices.ptx.layout import parse_integer
from cupool.pool_server.devices.ptx.syntax import Instruction

SYNCHRONISING = frozenset(
    {"bar", "barrier", "shfl", "vote", "match", "redux", "activemask", "elect"}
)
_REDUCTIONS = {"popc": 1, "and": 2, "or": 3}
_SHUFFLES = {"up": 0, "down": 1, "bfly": 2, "idx": 3}


def _jump(e: Emitter, label: str) -> None:
    if label in e.seen:
        e.tick()
        if label in e.suspend:
            e.out(f"br label %{e.suspend[label]}")
            return
    e.out(f"br label %{e.block_of(label)}")


@instruction("bra")
def branch(e: Emitter, ins: Instruction) -> None:
    label = ins.operands[0]
    after = e.fresh("next")
    if ins.guard:
        taken = e.fresh("taken")
        condition = e.value(("!" if ins.negated else "") + ins.guard, "pred")
        e.out(f"br i1 {condition}, label %{taken}, label %{after}")
        e.label(taken)
    _jump(e, label)
    e.label(after)


@instruction("brx")
def branch_table(e: Emitter, ins: Instruction) -> None:
    index = e.value(ins.operands[0], "u32")
    labels = e.function.targets[ins.operands[1]]
    after, bad = e.fresh("next"), e.fresh("bad")
    cases = [(number, label, e.fresh("case")) for number, label in enumerate(labels)]
    e.out(
        f"switch i32 {index}, label %{bad} [ "
        + " ".join(f"i32 {n}, label %{c}" for n, _, c in cases)
        + " ]"
    )
    for _, label, case in cases:
        e.label(case)
        _jump(e, label)
    e.label(bad)
    e.fault(ins, abi.INVALID_PC)
    e.out("unreachable")
    e.label(after)


@instruction("ret")
def ret(e: Emitter, ins: Instruction) -> None:
    e.out(f"br label %{e.leave}")
    e.label(e.fresh("dead"))


@instruction("exit")
def exit_(e: Emitter, ins: Instruction) -> None:
    if e.function.is_entry:
        return ret(e, ins)
    e.call("rt_exit", "void", ("ptr", "%t"))
    e.out("unreachable")
    e.label(e.fresh("dead"))


@instruction("trap")
def trap(e: Emitter, ins: Instruction) -> None:
    e.fault(ins, abi.LAUNCH_FAILURE)
    e.out("unreachable")
    e.label(e.fresh("dead"))


@instruction("brkpt", "griddepcontrol", "setmaxnreg", "pmevent")
def nothing(e: Emitter, ins: Instruction) -> None:
    """Without meaning here."""


@instruction("nanosleep")
def nanosleep(e: Emitter, ins: Instruction) -> None:
    e.call("rt_yield", "void", ("ptr", "%t"))


# Calls


def _call_parts(ins: Instruction) -> tuple[list[str], str, list[str], str]:
    operands = list(ins.operands)
    # `(ret), name, (args), proto`: the parts are split at commas outside of brackets.
    returns: list[str] = []
    if operands[0].startswith("("):
        returns = [p.strip() for p in operands.pop(0)[1:-1].split(",") if p.strip()]
    name = operands.pop(0)
    arguments: list[str] = []
    if operands and operands[0].startswith("("):
        arguments = [p.strip() for p in operands.pop(0)[1:-1].split(",") if p.strip()]
    return returns, name, arguments, operands[0] if operands else ""


@instruction("call")
def call(e: Emitter, ins: Instruction) -> None:
    returns, name, arguments, prototype = _call_parts(ins)
    if name in BUILTINS and (
        name not in e.module.program.functions or e.module.program.functions[name].body is None
    ):
        return BUILTINS[name](e, ins, returns, arguments)
    buffers = [e.buffers[p] for p in (*returns, *arguments)]
    function = e.module.program.functions.get(name)
    if function is None:
        return _call_indirect(e, ins, name, buffers, len(returns), prototype)
    if function.body is None:
        raise e.error(
            ins, f"function {name} is declared but not defined: device code of another module"
        )
    text = ", ".join(["ptr %t", *(f"ptr {b}" for b in buffers)])
    e.out(f"call void {e.module.function_name(name)}({text})")


def _call_indirect(
    e: Emitter, ins: Instruction, register: str, buffers: list[str], returns: int, prototype: str
) -> None:
    """Compare with each function whose address may be known: no other can be called."""
    target = e.value(register, "b64")
    after = e.fresh("called")
    sizes = e.function.prototypes.get(prototype)
    for function in e.module.addressable():
        shape = (
            [v.size_bytes for v in function.returns],
            [v.size_bytes for v in function.parameters],
        )
        if (len(shape[0]), sum(map(len, shape))) != (returns, len(buffers)) or (
            sizes and shape != sizes
        ):
            continue
        match, other = e.fresh("match"), e.fresh("other")
        address = e.module.function_address(function.name)
        e.out(f"br i1 {e.let(f'icmp eq i64 {target}, {address}')}, label %{match}, label %{other}")
        e.label(match)
        text = ", ".join(["ptr %t", *(f"ptr {b}" for b in buffers)])
        e.out(f"call void {e.module.function_name(function.name)}({text})")
        e.out(f"br label %{after}")
        e.label(other)
    e.fault(ins, abi.INVALID_PC, target)
    e.out("unreachable")
    e.label(after)


def _argument(e: Emitter, name: str, type_: str = "i64") -> str:
    return e.let(f"load {type_}, ptr {e.buffers[name]}")


def _vprintf(e: Emitter, ins: Instruction, returns: list[str], arguments: list[str]) -> None:
    values = [("i64", _argument(e, a)) for a in arguments]
    result = e.call("rt_vprintf", "i32", ("ptr", "%t"), *values)
    for name in returns:
        e.out(f"store i32 {result}, ptr {e.buffers[name]}")


def _assertfail(e: Emitter, ins: Instruction, returns: list[str], arguments: list[str]) -> None:
    message, file, function = (("i64", _argument(e, arguments[i])) for i in (0, 1, 3))
    line = ("i32", _argument(e, arguments[2], "i32"))
    e.call(
        "rt_assertfail", "void", ("ptr", "%t"), message, file, line, function,
        ("i32", str(e.site(ins))),
    )  # fmt: skip


BUILTINS = {"vprintf": _vprintf, "__assertfail": _assertfail}


# Threads that wait for each other


@instruction("bar", "barrier")
def barrier(e: Emitter, ins: Instruction) -> None:
    modifiers = ins.modifiers
    if "cluster" in modifiers:
        raise e.error(ins, f"thread-block clusters are not emulated: {ins.text}")
    if "warp" in modifiers:
        void(warp(e, "sync", ins.operands[0], "0"))
        return
    if "red" in modifiers:
        kind = next(m for m in modifiers if m in _REDUCTIONS)
        target, *rest = ins.operands
        predicate = e.resize(e.value(rest[-1], "pred"), 1, 32)
        number, count = rest[0], rest[1] if len(rest) > 2 else "0"
        result = _wait(e, number, count, _REDUCTIONS[kind], predicate)
        if kind == "popc":
            e.set(target, result, "u32")
        else:
            e.set(target, e.let(f"icmp ne i32 {result}, 0"), "pred")
        return
    count = ins.operands[1] if len(ins.operands) > 1 else "0"
    if "arrive" in modifiers:
        number = e.value(ins.operands[0], "u32")
        e.call("rt_arrive", "void", ("ptr", "%t"), ("i32", number), ("i32", e.value(count, "u32")))
    else:
        _wait(e, ins.operands[0], count, 0, "0")


def _wait(e: Emitter, number: str, count: str, operation: int, predicate: str) -> str:
    values = (e.value(number, "u32"), e.value(count, "u32"), str(operation), predicate)
    return e.call("rt_barrier", "i32", ("ptr", "%t"), *[("i32", v) for v in values])


def warp(e: Emitter, operation: str, mask: str, value: str, source: str = "0") -> str:
    """Wait for the lanes of a mask, and return this lane's result as an i64."""
    number = abi.WARP_OPERATIONS[operation]
    return e.call(
        "rt_warp", "i64", ("ptr", "%t"), ("i32", e.value(mask, "b32")), ("i32", str(number)),
        ("i64", value), ("i32", source),
    )  # fmt: skip


@instruction("shfl")
def shuffle(e: Emitter, ins: Instruction) -> None:
    mode = next(_SHUFFLES[m] for m in ins.modifiers if m in _SHUFFLES)
    targets = [t.strip() for t in ins.operands[0].split("|")]
    a, b, c = (e.value(o, "b32") for o in ins.operands[1:4])
    mask = ins.operands[4] if len(ins.operands) > 4 else "-1"
    lane = e.let(f"and i32 {e.linear()}, 31")
    found = e.call(
        "px_shfl_source", "i64", ("i32", lane), ("i32", str(mode)), ("i32", b), ("i32", c)
    )
    source = e.resize(found, 64, 32)
    result = warp(e, "shfl", mask, e.resize(a, 32, 64), source)
    e.set(targets[0], e.resize(result, 64, 32), "b32")
    if len(targets) > 1:
        high = e.let(f"lshr i64 {found}, 32")
        e.set(targets[1], e.resize(high, 64, 1), "pred")


@instruction("vote")
def vote(e: Emitter, ins: Instruction) -> None:
    kind = next(m for m in ins.modifiers if m in ("all", "any", "uni", "ballot"))
    predicate = e.resize(e.value(ins.operands[1], "pred"), 1, 64)
    mask = ins.operands[2] if len(ins.operands) > 2 else "-1"
    result = warp(e, kind, mask, predicate)
    if kind == "ballot":
        e.set(ins.operands[0], e.resize(result, 64, 32), "b32")
    else:
        e.set(ins.operands[0], e.resize(result, 64, 1), "pred")


@instruction("match")
def match(e: Emitter, ins: Instruction) -> None:
    type_ = ins.types[0]
    kind = "match.any" if "any" in ins.modifiers else "match.all"
    value = e.resize(e.value(ins.operands[1], type_), bits_of(type_), 64)
    result = warp(e, kind, ins.operands[2], value)
    targets = [t.strip() for t in ins.operands[0].split("|")]
    e.set(targets[0], e.resize(result, 64, 32), "b32")
    if len(targets) > 1:
        e.set(targets[1], e.resize(e.let(f"lshr i64 {result}, 32"), 64, 1), "pred")


@instruction("redux")
def redux(e: Emitter, ins: Instruction) -> None:
    type_ = ins.types[0]
    if type_ == "f32":
        raise e.error(ins)
    kind = next(m for m in ins.modifiers if m in ("add", "min", "max", "and", "or", "xor"))
    if kind in ("min", "max"):
        kind += "." + type_[0]
    value = e.resize(e.value(ins.operands[1], type_), 32, 64)
    e.set(ins.operands[0], e.resize(warp(e, kind, ins.operands[2], value), 64, 32), "b32")


@instruction("activemask")
def activemask(e: Emitter, ins: Instruction) -> None:
    result = e.call("rt_activemask", "i32", ("ptr", "%t"), ("i32", str(e.site(ins))))
    e.set(ins.operands[0], result, "b32")


@instruction("alloca")
def alloca(e: Emitter, ins: Instruction) -> None:
    """Take memory from the thread's local window until the function returns."""
    size = e.value(ins.operands[1], "b64")
    alignment = max(parse_integer(ins.operands[2]) or 8 if len(ins.operands) > 2 else 8, 16)
    top = e.field("%t", abi.THREAD_LOCAL_TOP, "i64")
    start = e.let(f"and i64 {e.let(f'add i64 {top}, {alignment - 1}')}, {-alignment}")
    high = e.field("%t", abi.THREAD_LOCAL_HIGH, "i64")
    room = e.let(f"sub i64 {high}, {start}")
    fits = e.let(f"icmp ule i64 {size}, {room}")
    fits = e.let(f"and i1 {fits}, {e.let(f'icmp ule i64 {start}, {high}')}")
    e.guarded(fits, lambda: e.fault(ins, abi.STACK_OVERFLOW))
    pointer = e.let(f"getelementptr i8, ptr %t, i64 {abi.THREAD_LOCAL_TOP}")
    e.out(f"store i64 {e.let(f'add i64 {start}, {size}')}, ptr {pointer}")
    e.set(ins.operands[0], start, "b64")


@instruction("stacksave", "stackrestore")
def stack(e: Emitter, ins: Instruction) -> None:
    pointer = e.let(f"getelementptr i8, ptr %t, i64 {abi.THREAD_LOCAL_TOP}")
    if ins.opcode == "stacksave":
        e.set(ins.operands[0], e.let(f"load i64, ptr {pointer}"), "b64")
        return
    value = e.value(ins.operands[0], "b64")
    low = e.field("%t", abi.THREAD_LOCAL_LOW, "i64")
    high = e.field("%t", abi.THREAD_LOCAL_HIGH, "i64")
    inside = e.let(
        f"icmp ule i64 {e.let(f'sub i64 {value}, {low}')}, {e.let(f'sub i64 {high}, {low}')}"
    )
    e.guarded(inside, lambda: e.fault(ins, abi.STACK_OVERFLOW))
    e.out(f"store i64 {value}, ptr {pointer}")

"""Integer, bit and comparison instructions of PTX."""

from __future__ import annotations

from cupool.pool_server.devices.ptx import floating
from cupool.pool_server.devices.ptx.emitter import (
    FLOATS,
    Emitter,
    bits_of,
    instruction,
    int_type,
    vector,
)
from cupool.pool_server.devices.ptx.floating import as_double, is_float
from cupool.pool_server.devices.ptx.syntax import Instruction

_INTEGER_COMPARISONS = {
    "eq": "eq", "ne": "ne", "lt": "lt", "le": "le", "gt": "gt", "ge": "ge",
    "lo": "ult", "ls": "ule", "hi": "ugt", "hs": "uge",
}  # fmt: skip
_FLOAT_COMPARISONS = {
    "eq": "oeq", "ne": "one", "lt": "olt", "le": "ole", "gt": "ogt", "ge": "oge",
    "equ": "ueq", "neu": "une", "ltu": "ult", "leu": "ule", "gtu": "ugt", "geu": "uge",
    "num": "ord", "nan": "uno",
}  # fmt: skip


def extend(e: Emitter, value: str, type_: str, want: int) -> str:
    return e.resize(value, bits_of(type_), want, type_.startswith("s"))


def saturate(e: Emitter, operation: str, a: str, b: str) -> str:
    return e.call(f"llvm.s{operation}.sat.i32", "i32", ("i32", a), ("i32", b))


def add_sub(e: Emitter, ins: Instruction) -> None:
    type_ = ins.types[0]
    operation = ins.opcode[:3]
    if "cc" in ins.modifiers or ins.opcode in ("addc", "subc"):
        return _carry(
            e, ins, e.value(ins.operands[1], type_), e.value(ins.operands[2], type_), operation
        )
    a, b = e.value(ins.operands[1], type_), e.value(ins.operands[2], type_)
    if type_ in ("s16x2", "u16x2"):
        raise e.error(ins)
    if "sat" in ins.modifiers:
        result = saturate(e, operation, a, b)
    else:
        result = e.let(f"{operation} {int_type(type_)} {a}, {b}")
    e.set(ins.operands[0], result, type_)


def _carry(e: Emitter, ins: Instruction, a: str, b: str, operation: str) -> None:
    """Add or subtract with the carry flag, which is 1 also for a borrow."""
    type_ = ins.types[0]
    bits = bits_of(type_)
    wide = bits + 8
    total = e.let(f"{operation} i{wide} {e.resize(a, bits, wide)}, {e.resize(b, bits, wide)}")
    if ins.opcode.endswith("c"):
        carry = e.let("load i1, ptr %carry")
        total = e.let(f"{operation} i{wide} {total}, {e.resize(carry, 1, wide)}")
    e.set(ins.operands[0], e.resize(total, wide, bits), type_)
    if "cc" in ins.modifiers:
        high = e.resize(e.let(f"lshr i{wide} {total}, {bits}"), wide, 1)
        e.out(f"store i1 {high}, ptr %carry")


def product(e: Emitter, ins: Instruction) -> tuple[str, str]:
    """Return a multiplication's value and type for .lo, .hi and .wide."""
    type_ = ins.types[0]
    bits = bits_of(type_)
    a, b = e.value(ins.operands[1], type_), e.value(ins.operands[2], type_)
    if "wide" in ins.modifiers or "hi" in ins.modifiers:
        wide = 2 * bits
        result = e.let(f"mul i{wide} {extend(e, a, type_, wide)}, {extend(e, b, type_, wide)}")
        if "wide" in ins.modifiers:
            return result, f"{type_[0]}{wide}"
        return e.resize(e.let(f"lshr i{wide} {result}, {bits}"), wide, bits), type_
    return e.let(f"mul i{bits} {a}, {b}"), type_


@instruction("add", "sub")
def add(e: Emitter, ins: Instruction) -> None:
    if is_float(ins.types[0]):
        floating.binary(e, ins)
    else:
        add_sub(e, ins)


instruction("addc", "subc")(add_sub)


@instruction("mul")
def mul(e: Emitter, ins: Instruction) -> None:
    if is_float(ins.types[0]):
        return floating.binary(e, ins)
    e.set(ins.operands[0], *product(e, ins))


@instruction("mad", "fma", "madc")
def mad(e: Emitter, ins: Instruction) -> None:
    if is_float(ins.types[0]):
        return floating.fma(e, ins)
    value, type_ = product(e, ins)
    c = e.value(ins.operands[3], type_)
    if "cc" in ins.modifiers or ins.opcode == "madc":
        return _carry(e, ins, value, c, "add")
    if "sat" in ins.modifiers:
        result = saturate(e, "add", value, c)
    else:
        result = e.let(f"add {int_type(type_)} {value}, {c}")
    e.set(ins.operands[0], result, type_)


@instruction("mul24", "mad24")
def mul24(e: Emitter, ins: Instruction) -> None:
    type_ = ins.types[0]
    parts = []
    for operand in ins.operands[1:3]:
        wide = e.resize(e.value(operand, type_), 32, 64)
        shifted = e.let(f"shl i64 {wide}, 40")
        parts.append(e.let(f"{'ashr' if type_ == 's32' else 'lshr'} i64 {shifted}, 40"))
    full = e.let(f"mul i64 {parts[0]}, {parts[1]}")
    if "hi" in ins.modifiers:
        full = e.let(f"lshr i64 {full}, 16")
    result = e.resize(full, 64, 32)
    if ins.opcode == "mad24":
        c = e.value(ins.operands[3], type_)
        result = (
            saturate(e, "add", result, c)
            if "sat" in ins.modifiers
            else e.let(f"add i32 {result}, {c}")
        )
    e.set(ins.operands[0], result, type_)


@instruction("div", "rem")
def divide(e: Emitter, ins: Instruction) -> None:
    type_ = ins.types[0]
    if is_float(type_):
        return floating.divide(e, ins)
    i = int_type(type_)
    name = f"px_{ins.opcode}_{type_}"
    result = e.call(
        name, i, (i, e.value(ins.operands[1], type_)), (i, e.value(ins.operands[2], type_))
    )
    e.set(ins.operands[0], result, type_)


@instruction("sad")
def sad(e: Emitter, ins: Instruction) -> None:
    type_ = ins.types[0]
    i = int_type(type_)
    a, b = e.value(ins.operands[1], type_), e.value(ins.operands[2], type_)
    less = e.let(f"icmp {type_[0]}lt {i} {a}, {b}")
    forward, back = e.let(f"sub {i} {b}, {a}"), e.let(f"sub {i} {a}, {b}")
    distance = e.let(f"select i1 {less}, {i} {forward}, {i} {back}")
    e.set(ins.operands[0], e.let(f"add {i} {distance}, {e.value(ins.operands[3], type_)}"), type_)


@instruction("min", "max")
def min_max(e: Emitter, ins: Instruction) -> None:
    type_ = next(m for m in reversed(ins.modifiers) if m in ("s16x2", "u16x2") or m in ins.types)
    if is_float(type_):
        return floating.min_max(e, ins)
    if type_.endswith("x2"):
        a, b = (e.let(f"bitcast i32 {e.value(o, 'b32')} to <2 x i16>") for o in ins.operands[1:3])
        both = e.call(
            f"llvm.{type_[0]}{ins.opcode}.v2i16", "<2 x i16>", ("<2 x i16>", a), ("<2 x i16>", b)
        )
        result = e.let(f"bitcast <2 x i16> {both} to i32")
    else:
        i = int_type(type_)
        a, b = e.value(ins.operands[1], type_), e.value(ins.operands[2], type_)
        result = e.call(f"llvm.{type_[0]}{ins.opcode}.{i}", i, (i, a), (i, b))
    if "relu" in ins.modifiers:
        result = e.call("llvm.smax.i32", "i32", ("i32", result), ("i32", "0"))
    e.set(ins.operands[0], result, "b32" if type_.endswith("x2") else type_)


@instruction("abs", "neg")
def abs_neg(e: Emitter, ins: Instruction) -> None:
    type_ = ins.types[0]
    if is_float(type_):
        return floating.sign(e, ins)
    i, a = int_type(type_), e.value(ins.operands[1], type_)
    if ins.opcode == "neg":
        result = e.let(f"sub {i} 0, {a}")
    else:
        result = e.call(f"llvm.abs.{i}", i, (i, a), ("i1", "false"))
    e.set(ins.operands[0], result, type_)


# Bits


@instruction("and", "or", "xor")
def logic(e: Emitter, ins: Instruction) -> None:
    type_ = ins.types[0]
    a, b = e.value(ins.operands[1], type_), e.value(ins.operands[2], type_)
    e.set(ins.operands[0], e.let(f"{ins.opcode} {int_type(type_)} {a}, {b}"), type_)


@instruction("not", "cnot")
def invert(e: Emitter, ins: Instruction) -> None:
    type_ = ins.types[0]
    i, a = int_type(type_), e.value(ins.operands[1], type_)
    if ins.opcode == "not":
        result = e.let(f"xor {i} {a}, -1")
    else:
        result = e.let(f"zext i1 {e.let(f'icmp eq {i} {a}, 0')} to {i}")
    e.set(ins.operands[0], result, type_)


@instruction("lop3")
def lop3(e: Emitter, ins: Instruction) -> None:
    operands = ins.operands
    predicate = "BOOL" in ins.modifiers or "|" in operands[0]
    values = [e.value(o, "b32") for o in operands[1:4]]
    inverse = [e.let(f"xor i32 {v}, -1") for v in values]
    table = int(operands[4], 0)
    result = "0"
    for row in range(8):
        if table >> row & 1:
            bits = [(values if row >> (2 - k) & 1 else inverse)[k] for k in range(3)]
            term = e.let(f"and i32 {e.let(f'and i32 {bits[0]}, {bits[1]}')}, {bits[2]}")
            result = e.let(f"or i32 {result}, {term}")
    targets = operands[0].split("|")
    e.set(targets[0], result, "b32")
    if predicate and len(targets) > 1:
        operation = next(m for m in ins.modifiers if m in ("or", "and"))
        nonzero = e.let(f"icmp ne i32 {result}, 0")
        e.set(
            targets[1], e.let(f"{operation} i1 {nonzero}, {e.value(operands[5], 'pred')}"), "pred"
        )


@instruction("shl", "shr")
def shift(e: Emitter, ins: Instruction) -> None:
    """Shift; by the width or more gives 0, or copies of the sign."""
    type_ = ins.types[0]
    bits, i = bits_of(type_), int_type(type_)
    a, amount = e.value(ins.operands[1], type_), e.value(ins.operands[2], "u32")
    past = e.let(f"icmp uge i32 {amount}, {bits}")
    if ins.opcode == "shr" and type_[0] == "s":
        amount = e.let(f"select i1 {past}, i32 {bits - 1}, i32 {amount}")
        result = e.let(f"ashr {i} {a}, {e.resize(amount, 32, bits)}")
    else:
        safe = e.let(f"and i32 {amount}, {bits - 1}")
        moved = e.let(
            f"{'shl' if ins.opcode == 'shl' else 'lshr'} {i} {a}, {e.resize(safe, 32, bits)}"
        )
        result = e.let(f"select i1 {past}, {i} 0, {i} {moved}")
    e.set(ins.operands[0], result, type_)


@instruction("shf")
def funnel(e: Emitter, ins: Instruction) -> None:
    low, high = e.value(ins.operands[1], "b32"), e.value(ins.operands[2], "b32")
    amount = e.value(ins.operands[3], "u32")
    side = "l" if "l" in ins.modifiers else "r"
    result = e.call(f"llvm.fsh{side}.i32", "i32", ("i32", high), ("i32", low), ("i32", amount))
    if "clamp" in ins.modifiers:
        past = e.let(f"icmp uge i32 {amount}, 32")
        result = e.let(f"select i1 {past}, i32 {low if side == 'l' else high}, i32 {result}")
    e.set(ins.operands[0], result, "b32")


@instruction("popc", "clz", "brev")
def count_bits(e: Emitter, ins: Instruction) -> None:
    type_ = ins.types[0]
    i, a = int_type(type_), e.value(ins.operands[1], type_)
    if ins.opcode == "clz":
        result = e.call(f"llvm.ctlz.{i}", i, (i, a), ("i1", "false"))
    else:
        result = e.call(f"llvm.{'ctpop' if ins.opcode == 'popc' else 'bitreverse'}.{i}", i, (i, a))
    if ins.opcode == "brev":
        e.set(ins.operands[0], result, type_)
    else:
        e.set(ins.operands[0], e.resize(result, bits_of(type_), 32), "u32")


@instruction("bfind")
def bfind(e: Emitter, ins: Instruction) -> None:
    type_ = ins.types[0]
    bits, i = bits_of(type_), int_type(type_)
    a = e.value(ins.operands[1], type_)
    if type_[0] == "s":
        a = e.let(f"xor {i} {a}, {e.let(f'ashr {i} {a}, {bits - 1}')}")
    arguments = (
        ("i64", e.resize(a, bits, 64)),
        ("i32", str(bits)),
        ("i32", str(int("shiftamt" in ins.modifiers))),
    )
    e.set(ins.operands[0], e.call("px_bfind", "i32", *arguments), "u32")


@instruction("bfe")
def bfe(e: Emitter, ins: Instruction) -> None:
    type_ = ins.types[0]
    signed, bits = type_[0] == "s", bits_of(type_)
    a = e.resize(e.value(ins.operands[1], type_), bits, 64, signed)
    position, length = (e.value(o, "u32") for o in ins.operands[2:4])
    arguments = (("i64", a), ("i32", position), ("i32", length), ("i32", str(bits)))
    result = e.call(f"px_bfe_{'s' if signed else 'u'}", "i64", *arguments)
    e.set(ins.operands[0], e.resize(result, 64, bits), type_)


@instruction("bfi")
def bfi(e: Emitter, ins: Instruction) -> None:
    type_ = ins.types[0]
    bits = bits_of(type_)
    a, b = (e.resize(e.value(o, type_), bits, 64) for o in ins.operands[1:3])
    position, length = (e.value(o, "u32") for o in ins.operands[3:5])
    arguments = (("i64", a), ("i64", b), ("i32", position), ("i32", length), ("i32", str(bits)))
    e.set(ins.operands[0], e.resize(e.call("px_bfi", "i64", *arguments), 64, bits), type_)


@instruction("bmsk")
def bmsk(e: Emitter, ins: Instruction) -> None:
    a, b = e.value(ins.operands[1], "b32"), e.value(ins.operands[2], "b32")
    if "wrap" in ins.modifiers:
        a, b = e.let(f"and i32 {a}, 31"), e.let(f"and i32 {b}, 31")
    arguments = (("i64", "-1"), ("i64", "0"), ("i32", a), ("i32", b), ("i32", "32"))
    e.set(ins.operands[0], e.resize(e.call("px_bfi", "i64", *arguments), 64, 32), "b32")


@instruction("szext")
def szext(e: Emitter, ins: Instruction) -> None:
    type_ = ins.types[0]
    a, count = e.value(ins.operands[1], type_), e.value(ins.operands[2], "u32")
    if "wrap" in ins.modifiers:
        count = e.let(f"and i32 {count}, 31")
    signed = type_[0] == "s"
    arguments = (("i64", e.resize(a, 32, 64, signed)), ("i32", "0"), ("i32", count), ("i32", "32"))
    result = e.call(f"px_bfe_{'s' if signed else 'u'}", "i64", *arguments)
    e.set(ins.operands[0], e.resize(result, 64, 32), type_)


@instruction("fns")
def fns(e: Emitter, ins: Instruction) -> None:
    values = [("i32", e.value(o, "b32")) for o in ins.operands[1:4]]
    e.set(ins.operands[0], e.call("px_fns", "i32", *values), "b32")


@instruction("prmt")
def prmt(e: Emitter, ins: Instruction) -> None:
    modes = ("f4e", "b4e", "rc8", "ecl", "ecr", "rc16")
    values = [("i32", e.value(o, "b32")) for o in ins.operands[1:4]]
    mode = next((modes.index(m) for m in ins.modifiers if m in modes), None)
    if mode is None:
        result = e.call("px_prmt", "i32", *values)
    else:
        result = e.call("px_prmt_mode", "i32", *values, ("i32", str(mode)))
    e.set(ins.operands[0], result, "b32")


@instruction("dp4a", "dp2a")
def dot(e: Emitter, ins: Instruction) -> None:
    signed = [str(int(t[0] == "s")) for t in ins.types]
    values = [("i32", e.value(o, "b32")) for o in ins.operands[1:4]]
    values += [("i32", signed[0]), ("i32", signed[1])]
    if ins.opcode == "dp2a":
        values.append(("i32", str(int("hi" in ins.modifiers))))
    e.set(ins.operands[0], e.call(f"px_{ins.opcode}", "i32", *values), "b32")


# Comparison and selection


def compare(e: Emitter, comparison: str, type_: str, a: str, b: str) -> str:
    if is_float(type_):
        x, y = as_double(e, a, type_), as_double(e, b, type_)
        kind = FLOATS.get(type_, "double")
        return e.let(f"fcmp {_FLOAT_COMPARISONS[comparison]} {kind} {x}, {y}")
    word = _INTEGER_COMPARISONS[comparison]
    if len(word) == 2 and word not in ("eq", "ne"):
        word = ("s" if type_[0] == "s" else "u") + word
    return e.let(f"icmp {word} {int_type(type_)} {e.value(a, type_)}, {e.value(b, type_)}")


@instruction("setp", "set")
def setp(e: Emitter, ins: Instruction) -> None:
    type_ = ins.types[-1]
    if type_.endswith("x2"):
        return _set_pair(e, ins, type_[:-2])
    result = compare(e, ins.modifiers[0], type_, ins.operands[1], ins.operands[2])
    inverse = e.let(f"xor i1 {result}, true")
    combine = next((m for m in ins.modifiers[1:] if m in ("and", "or", "xor")), None)
    if combine:
        c = e.value(ins.operands[3], "pred")
        result, inverse = (
            e.let(f"{combine} i1 {result}, {c}"),
            e.let(f"{combine} i1 {inverse}, {c}"),
        )
    if ins.opcode == "setp":
        targets = ins.operands[0].split("|")
        e.set(targets[0], result, "pred")
        if len(targets) > 1:
            e.set(targets[1], inverse, "pred")
        return
    target = ins.types[0]
    ones = {"f32": "1065353216", "f16": "15360", "bf16": "16256"}.get(target, "-1")
    i = int_type(target)
    e.set(ins.operands[0], e.let(f"select i1 {result}, {i} {ones}, {i} 0"), target)


def _set_pair(e: Emitter, ins: Instruction, half: str) -> None:
    """Compare two packed numbers: predicates p|q, or a mask or pair of ones."""
    results = []
    for a, b in zip(
        *(floating.halves(e, e.value(o, "b32")) for o in ins.operands[1:3]), strict=True
    ):
        x, y = floating.widen(e, a, half), floating.widen(e, b, half)
        results.append(e.let(f"fcmp {_FLOAT_COMPARISONS[ins.modifiers[0]]} double {x}, {y}"))
    if ins.opcode == "setp":
        for target, result in zip(ins.operands[0].split("|"), results, strict=True):
            e.set(target, result, "pred")
        return
    ones = "-1" if ins.types[0] in ("u32", "s32") else {"f16": "15360", "bf16": "16256"}[half]
    parts = [e.let(f"select i1 {r}, i16 {ones}, i16 0") for r in results]
    e.set(ins.operands[0], floating.join(e, parts), "b32")


@instruction("selp")
def selp(e: Emitter, ins: Instruction) -> None:
    type_ = ins.types[0]
    i = int_type(type_)
    a, b = e.value(ins.operands[1], type_), e.value(ins.operands[2], type_)
    e.set(
        ins.operands[0],
        e.let(f"select i1 {e.value(ins.operands[3], 'pred')}, {i} {a}, {i} {b}"),
        type_,
    )


@instruction("slct")
def slct(e: Emitter, ins: Instruction) -> None:
    type_, tested = ins.types
    condition = compare(e, "ge", tested, ins.operands[3], "0f00000000" if tested == "f32" else "0")
    i = int_type(type_)
    a, b = e.value(ins.operands[1], type_), e.value(ins.operands[2], type_)
    e.set(ins.operands[0], e.let(f"select i1 {condition}, {i} {a}, {i} {b}"), type_)


@instruction("mov")
def mov(e: Emitter, ins: Instruction) -> None:
    type_ = ins.types[0]
    target, source = ins.operands
    if target.startswith("{"):
        parts = vector(target)
        bits = bits_of(type_)
        part = bits // len(parts)
        value = e.value(source, type_)
        for index, name in enumerate(parts):
            shifted = e.let(f"lshr i{bits} {value}, {index * part}")
            e.set(name, e.resize(shifted, bits, part), f"b{part}")
    elif source.startswith("{"):
        parts = vector(source)
        bits = bits_of(type_)
        part = bits // len(parts)
        result = "0"
        for index, name in enumerate(parts):
            wide = e.resize(e.value(name, f"b{part}"), part, bits)
            result = e.let(f"or i{bits} {result}, {e.let(f'shl i{bits} {wide}, {index * part}')}")
        e.set(target, result, type_)
    else:
        e.set(target, e.value(source, type_), type_)

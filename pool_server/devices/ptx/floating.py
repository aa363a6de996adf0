"""Floating-point instructions of PTX, in every rounding mode.

LLVM computes in round-to-nearest. Directed modes of f32 go through f64 and one exact rounding
(`helpers.c`), those of f64 through the C library's fesetround; f16 and bf16 are computed in f64
with round-to-odd before the one rounding that counts.
"""

from __future__ import annotations

import platform

from cupool.pool_server.devices.ptx.emitter import FLOATS, Emitter, bits_of, instruction, int_type
from cupool.pool_server.devices.ptx.syntax import Instruction

MODES = {"rn": 0, "rz": 1, "rm": 2, "rp": 3, "rna": 4}
_FESETROUND = {
    "x86_64": {"rz": 0xC00, "rm": 0x400, "rp": 0x800},
    "aarch64": {"rz": 0xC00000, "rm": 0x800000, "rp": 0x400000},
}
_HALVES = ("f16", "bf16", "f16x2", "bf16x2")
_NAN = {"f32": "2147483647", "f64": "9223372036854775807"}
# 1, -1 and -0 as the bits of each half type.
_ONE = {"f16": "15360", "bf16": "16256"}
_MINUS_ONE = {"f16": "48128", "bf16": "49024"}
_MINUS_ZERO = "32768"


def is_float(type_: str) -> bool:
    return type_ in FLOATS or type_ in _HALVES


def rounding(ins: Instruction) -> str:
    return next((m for m in ins.modifiers if m in MODES), "rn")


# Halves


def halves(e: Emitter, value: str) -> list[str]:
    """Split a packed pair: the low one first."""
    return [e.resize(value, 32, 16), e.resize(e.let(f"lshr i32 {value}, 16"), 32, 16)]


def join(e: Emitter, parts: list[str]) -> str:
    low, high = (e.resize(p, 16, 32) for p in parts)
    return e.let(f"or i32 {low}, {e.let(f'shl i32 {high}, 16')}")


def widen(e: Emitter, bits: str, type_: str) -> str:
    """Return the double of an f16 or bf16."""
    wide = e.resize(bits, 16, 32)
    if type_ == "f16":
        return e.call("px_f16_f64", "double", ("i32", wide))
    single = e.let(f"bitcast i32 {e.let(f'shl i32 {wide}, 16')} to float")
    return e.let(f"fpext float {single} to double")


def narrow(e: Emitter, double: str, type_: str, mode: str = "rn") -> str:
    """Return the bits of a double as f16, bf16 or f32."""
    result = e.call(f"px_f64_{type_}", "i32", ("double", double), ("i32", str(MODES[mode])))
    return result if type_ == "f32" else e.resize(result, 32, 16)


def as_double(e: Emitter, operand: str, type_: str) -> str:
    """Return an operand to compare: f32 as float, f64 and halves as double."""
    if type_ in FLOATS:
        return e.real(operand, type_)
    return widen(e, e.value(operand, "b16"), type_)


def _half_operation(e: Emitter, name: str, values: list[str], type_: str) -> str:
    """Compute one number: everything is a fused multiply-add."""
    first, second = values[:2]
    if name == "add":
        arguments = (first, _ONE[type_], second)
    elif name == "sub":
        arguments = (second, _MINUS_ONE[type_], first)
    elif name == "mul":
        arguments = (first, second, _MINUS_ZERO)
    else:
        arguments = (first, second, values[2])
    wide = [("i32", a if a.isdigit() else e.resize(a, 16, 32)) for a in arguments]
    return e.resize(e.call(f"px_fma_{type_}", "i32", *wide), 32, 16)


def _finish_half(e: Emitter, ins: Instruction, bits: str, type_: str) -> str:
    if "sat" in ins.modifiers:
        clamped = e.call("px_sat_f64", "double", ("double", widen(e, bits, type_)))
        bits = narrow(e, clamped, type_)
    if "relu" in ins.modifiers:
        negative = e.let(f"icmp slt i16 {bits}, 0")
        nan = e.let(f"fcmp uno double {widen(e, bits, type_)}, 0.0")
        kept = e.let(f"select i1 {negative}, i16 0, i16 {bits}")
        bits = e.let(f"select i1 {nan}, i16 32767, i16 {kept}")
    return bits


def _half(e: Emitter, ins: Instruction, name: str) -> None:
    type_ = ins.types[0]
    if not type_.endswith("x2"):
        values = [e.value(o, "b16") for o in ins.operands[1:]]
        result = _finish_half(e, ins, _half_operation(e, name, values, type_), type_)
        return e.set(ins.operands[0], result, "b16")
    columns = [halves(e, e.value(o, "b32")) for o in ins.operands[1:]]
    kind = type_[:-2]
    parts = [
        _finish_half(e, ins, _half_operation(e, name, [c[i] for c in columns], kind), kind)
        for i in range(2)
    ]
    e.set(ins.operands[0], join(e, parts), "b32")


# f32 and f64


def operand(e: Emitter, ins: Instruction, index: int, type_: str) -> str:
    value = e.real(ins.operands[index], type_)
    if "ftz" in ins.modifiers and type_ == "f32":
        value = e.call("px_ftz", "float", ("float", value))
    return value


def finish(e: Emitter, ins: Instruction, value: str, type_: str) -> None:
    """Flush, saturate and write a result."""
    if "ftz" in ins.modifiers and type_ == "f32":
        value = e.call("px_ftz", "float", ("float", value))
    if "sat" in ins.modifiers:
        value = e.call(f"px_sat_{type_}", FLOATS[type_], (FLOATS[type_], value))
    e.set_real(ins.operands[0], value, type_)


def directed(e: Emitter, name: str, type_: str, mode: str, values: list[str]) -> str:
    """Compute in a directed rounding mode."""
    kind = FLOATS[type_]
    if type_ == "f32":
        arguments = [(kind, v) for v in values] + [("i32", str(MODES[mode]))]
        return e.let(f"bitcast i32 {e.call(f'px_{name}_f32', 'i32', *arguments)} to float")
    number = _FESETROUND.get(platform.machine(), _FESETROUND["x86_64"])[mode]
    return e.call(f"px_{name}_f64", "double", *[(kind, v) for v in values], ("i32", str(number)))


def binary(e: Emitter, ins: Instruction) -> None:
    type_ = ins.types[0]
    if type_ in _HALVES:
        return _half(e, ins, ins.opcode)
    kind, mode = FLOATS[type_], rounding(ins)
    a, b = operand(e, ins, 1, type_), operand(e, ins, 2, type_)
    if mode == "rn":
        value = e.let(f"f{ins.opcode} {kind} {a}, {b}")
    elif ins.opcode == "sub":
        value = directed(e, "add", type_, mode, [a, e.let(f"fneg {kind} {b}")])
    else:
        value = directed(e, ins.opcode, type_, mode, [a, b])
    finish(e, ins, value, type_)


def fma(e: Emitter, ins: Instruction) -> None:
    type_ = ins.types[0]
    if type_ in _HALVES:
        return _half(e, ins, "fma")
    kind, mode = FLOATS[type_], rounding(ins)
    values = [operand(e, ins, i, type_) for i in (1, 2, 3)]
    if mode == "rn":
        value = e.call(f"llvm.fma.{type_}", kind, *[(kind, v) for v in values])
    else:
        value = directed(e, "fma", type_, mode, values)
    finish(e, ins, value, type_)


def divide(e: Emitter, ins: Instruction) -> None:
    type_, mode = ins.types[0], rounding(ins)
    a, b = operand(e, ins, 1, type_), operand(e, ins, 2, type_)
    if mode == "rn":
        value = e.let(f"fdiv {FLOATS[type_]} {a}, {b}")
    else:
        value = directed(e, "div", type_, mode, [a, b])
    finish(e, ins, value, type_)


def min_max(e: Emitter, ins: Instruction) -> None:
    type_ = ins.types[0]
    if type_ in _HALVES:
        return _half_extreme(e, ins)
    kind = FLOATS[type_]
    values = [operand(e, ins, i, type_) for i in range(1, len(ins.operands))]
    if "abs" in ins.modifiers:
        signs = [e.let(f"bitcast {kind} {v} to {int_type(type_)}") for v in values[:2]]
        sign = e.let(f"xor {int_type(type_)} {signs[0]}, {signs[1]}")
        values = [e.call(f"llvm.fabs.{type_}", kind, (kind, v)) for v in values]
    value = values[0]
    for other in values[1:]:
        value = _extreme(e, ins, type_, value, other)
    if "xorsign" in ins.modifiers:
        carrier = e.let(f"bitcast {int_type(type_)} {sign} to {kind}")
        value = e.call(f"llvm.copysign.{type_}", kind, (kind, value), (kind, carrier))
    finish(e, ins, value, type_)


def _extreme(e: Emitter, ins: Instruction, type_: str, a: str, b: str) -> str:
    kind = FLOATS[type_]
    value = e.call(f"px_{ins.opcode}_{type_}", kind, (kind, a), (kind, b))
    if "NaN" in ins.modifiers:
        unordered = e.let(f"fcmp uno {kind} {a}, {b}")
        nan = e.let(f"bitcast {int_type(type_)} {_NAN[type_]} to {kind}")
        value = e.let(f"select i1 {unordered}, {kind} {nan}, {kind} {value}")
    return value


def _half_extreme(e: Emitter, ins: Instruction) -> None:
    type_ = ins.types[0].removesuffix("x2")
    pair = ins.types[0].endswith("x2")
    sources = [e.value(o, "b32" if pair else "b16") for o in ins.operands[1:3]]
    columns = [halves(e, s) if pair else [s] for s in sources]
    parts = []
    for a, b in zip(*columns, strict=True):
        x, y = widen(e, a, type_), widen(e, b, type_)
        bits = narrow(e, _extreme(e, ins, "f64", x, y), type_)
        if "xorsign" in ins.modifiers:
            raise e.error(ins)
        parts.append(bits)
    e.set(ins.operands[0], join(e, parts) if pair else parts[0], "b32" if pair else "b16")


def sign(e: Emitter, ins: Instruction) -> None:
    """abs and neg: operations on the sign bit."""
    type_ = ins.types[0]
    bits = bits_of(type_)
    value = e.value(ins.operands[1], type_)
    if "ftz" in ins.modifiers and type_ == "f32":
        value = e.let(f"bitcast float {operand(e, ins, 1, type_)} to i32")
    mask = 1 << (bits - 1) | (1 << 15 if type_.endswith("x2") else 0)
    if ins.opcode == "neg":
        result = e.let(f"xor i{bits} {value}, {mask - (1 << bits)}")
    else:
        result = e.let(f"and i{bits} {value}, {(1 << bits) - 1 - mask}")
    e.set(ins.operands[0], result, f"b{bits}")


@instruction("sqrt", "rcp", "rsqrt", "ex2", "lg2", "sin", "cos", "tanh")
def unary(e: Emitter, ins: Instruction) -> None:
    type_ = ins.types[0]
    if type_ in _HALVES:
        return _half_unary(e, ins)
    mode = rounding(ins)
    value = operand(e, ins, 1, type_)
    if mode != "rn":
        one = ["1.0"] if ins.opcode == "rcp" else []
        name = "div" if ins.opcode == "rcp" else "sqrt"
        result = directed(e, name, type_, mode, [*one, value])
    else:
        result = _function(e, ins.opcode, type_, value)
    finish(e, ins, result, type_)


def _function(e: Emitter, name: str, type_: str, value: str) -> str:
    kind = FLOATS[type_]
    if name == "rcp":
        return e.let(f"fdiv {kind} 1.0, {value}")
    if name == "rsqrt":
        root = e.call(f"llvm.sqrt.{type_}", kind, (kind, value))
        return e.let(f"fdiv {kind} 1.0, {root}")
    if name == "tanh":
        return e.call(
            "tanhf" if type_ == "f32" else "tanh", kind, (kind, value), tail=" memory(none)"
        )
    word = {"ex2": "exp2", "lg2": "log2"}.get(name, name)
    return e.call(f"llvm.{word}.{type_}", kind, (kind, value))


def _half_unary(e: Emitter, ins: Instruction) -> None:
    type_ = ins.types[0].removesuffix("x2")
    pair = ins.types[0].endswith("x2")
    source = e.value(ins.operands[1], "b32" if pair else "b16")
    parts = []
    for half in halves(e, source) if pair else [source]:
        result = _function(e, ins.opcode, "f64", widen(e, half, type_))
        parts.append(narrow(e, result, type_))
    e.set(ins.operands[0], join(e, parts) if pair else parts[0], "b32" if pair else "b16")


@instruction("copysign")
def copysign(e: Emitter, ins: Instruction) -> None:
    """copysign d, a, b: the sign of a on the magnitude of b."""
    type_ = ins.types[0]
    kind = FLOATS[type_]
    a, b = e.real(ins.operands[1], type_), e.real(ins.operands[2], type_)
    e.set_real(ins.operands[0], e.call(f"llvm.copysign.{type_}", kind, (kind, b), (kind, a)), type_)


@instruction("testp")
def testp(e: Emitter, ins: Instruction) -> None:
    type_ = ins.types[0]
    masks = {  # of LLVM's is.fpclass
        "finite": 0x1F8, "infinite": 0x204, "number": 0x3FC, "notanumber": 0x003,
        "normal": 0x108, "subnormal": 0x090,
    }  # fmt: skip
    kind = FLOATS[type_]
    arguments = ((kind, e.real(ins.operands[1], type_)), ("i32", str(masks[ins.modifiers[0]])))
    e.set(ins.operands[0], e.call(f"llvm.is.fpclass.{type_}", "i1", *arguments), "pred")

"""The cvt instruction: every pair of types, rounding and saturation."""

from __future__ import annotations

from cupool.pool_server.devices.ptx.emitter import FLOATS, Emitter, bits_of, instruction, int_type
from cupool.pool_server.devices.ptx.floating import MODES, is_float, join, narrow, rounding, widen
from cupool.pool_server.devices.ptx.syntax import Instruction

_INTEGRAL = {"rni": "roundeven", "rzi": "trunc", "rmi": "floor", "rpi": "ceil"}


@instruction("cvt")
def cvt(e: Emitter, ins: Instruction) -> None:
    types = ins.types
    if len(types) < 2:
        raise e.error(ins)
    to, of = types[0], types[-1]
    if to.endswith("x2"):
        return _pack(e, ins, to, of)
    if to == "tf32":
        value = e.real(ins.operands[1], "f32")
        mode = MODES[rounding(ins)]
        result = e.call("px_f32_tf32", "i32", ("float", value), ("i32", str(mode)))
        return e.set(ins.operands[0], result, "b32")
    if is_float(of):
        value, kind = _source(e, ins, of)
        if is_float(to):
            _float_to_float(e, ins, value, kind, to, of)
        else:
            _float_to_integer(e, ins, value, kind, to)
    elif is_float(to):
        _integer_to_float(e, ins, to, of)
    else:
        _integer_to_integer(e, ins, to, of)


def _source(e: Emitter, ins: Instruction, of: str) -> tuple[str, str]:
    """Return the source as a float (f32) or double (all others) value, and which."""
    if of == "f32":
        value = e.real(ins.operands[1], "f32")
        if "ftz" in ins.modifiers:
            value = e.call("px_ftz", "float", ("float", value))
        return value, "f32"
    if of == "f64":
        return e.real(ins.operands[1], "f64"), "f64"
    return widen(e, e.value(ins.operands[1], "b16"), of), "f64"


def _integral(e: Emitter, ins: Instruction, value: str, kind: str, default: str = "") -> str:
    mode = next((m for m in ins.modifiers if m in _INTEGRAL), default)
    if not mode:
        return value
    return e.call(f"llvm.{_INTEGRAL[mode]}.{kind}", FLOATS[kind], (FLOATS[kind], value))


def _float_to_integer(e: Emitter, ins: Instruction, value: str, kind: str, to: str) -> None:
    """Out of range gives the nearest of the range, a NaN gives 0."""
    value = _integral(e, ins, value, kind, "rzi")
    i, sign = int_type(to), "s" if to[0] == "s" else "u"
    result = e.call(f"llvm.fpto{sign}i.sat.{i}.{kind}", i, (FLOATS[kind], value))
    e.set(ins.operands[0], result, to)


def _float_to_float(e: Emitter, ins: Instruction, value: str, kind: str, to: str, of: str) -> None:
    value = _integral(e, ins, value, kind)
    if "sat" in ins.modifiers:
        value = e.call(f"px_sat_{kind}", FLOATS[kind], (FLOATS[kind], value))
    if "relu" in ins.modifiers:
        value = _relu(e, value, kind)
    if to == kind:
        return e.set_real(ins.operands[0], value, to)
    if to == "f64":
        return e.set_real(ins.operands[0], e.let(f"fpext float {value} to double"), "f64")
    mode = rounding(ins)
    if kind == "f32":
        value = e.let(f"fpext float {value} to double")
    if to == "f32" and mode == "rn":
        single = e.let(f"fptrunc double {value} to float")
        if "ftz" in ins.modifiers:
            single = e.call("px_ftz", "float", ("float", single))
        return e.set_real(ins.operands[0], single, "f32")
    e.set(ins.operands[0], narrow(e, value, to, mode), "b32" if to == "f32" else "b16")


def _relu(e: Emitter, value: str, kind: str) -> str:
    """Negative numbers become +0; a NaN stays."""
    positive = e.let(f"fcmp ugt {FLOATS[kind]} {value}, 0.0")
    return e.let(f"select i1 {positive}, {FLOATS[kind]} {value}, {FLOATS[kind]} 0.0")


def _integer_to_float(e: Emitter, ins: Instruction, to: str, of: str) -> None:
    sign = "s" if of[0] == "s" else "u"
    value, mode = e.value(ins.operands[1], of), rounding(ins)
    i = int_type(of)
    if to in FLOATS and mode == "rn":
        result = e.let(f"{sign}itofp {i} {value} to {FLOATS[to]}")
        if "sat" in ins.modifiers:
            result = e.call(f"px_sat_{to}", FLOATS[to], (FLOATS[to], result))
        return e.set_real(ins.operands[0], result, to)
    if to in ("f16", "bf16"):
        # Exact in f64, or so large that f16 overflows anyway; to odd where bf16 could round twice.
        wide = e.resize(value, bits_of(of), 64, sign == "s")
        odd = e.call(f"px_{sign}64_f64_odd", "double", ("i64", wide))
        return e.set(ins.operands[0], narrow(e, odd, to, mode), "b16")
    wide = e.resize(value, bits_of(of), 64, sign == "s")
    arguments = (("i64", wide), ("i32", str(MODES[mode])))
    if to == "f32":
        e.set(ins.operands[0], e.call(f"px_{sign}64_f32", "i32", *arguments), "b32")
    else:
        e.set_real(ins.operands[0], e.call(f"px_{sign}64_f64", "double", *arguments), "f64")


def _integer_to_integer(e: Emitter, ins: Instruction, to: str, of: str) -> None:
    have, want = bits_of(of), bits_of(to)
    value = e.value(ins.operands[1], of)
    if "sat" in ins.modifiers:
        value = _clamp(e, value, of, to)
        return e.set(ins.operands[0], e.resize(value, have + 8, want, True), to)
    e.set(ins.operands[0], e.resize(value, have, want, of[0] == "s"), to)


def _clamp(e: Emitter, value: str, of: str, to: str) -> str:
    """Clamp to the target's range, in a type that is 8 bits wider than the source's."""
    bits = bits_of(of) + 8
    wide = e.resize(value, bits_of(of), bits, of[0] == "s")
    target = bits_of(to)
    low, high = (
        (-(1 << (target - 1)), (1 << (target - 1)) - 1) if to[0] == "s" else (0, (1 << target) - 1)
    )
    low, high = max(low, -(1 << (bits - 1))), min(high, (1 << (bits - 1)) - 1)
    for operation, limit in (("lt", low), ("gt", high)):
        outside = e.let(f"icmp s{operation} i{bits} {wide}, {limit}")
        wide = e.let(f"select i1 {outside}, i{bits} {limit}, i{bits} {wide}")
    return wide


def _pack(e: Emitter, ins: Instruction, to: str, of: str) -> None:
    """cvt.f16x2.f32 d, a, b: a goes to the upper half."""
    if of != "f32" or len(ins.operands) != 3:
        raise e.error(ins)
    kind, mode = to.removesuffix("x2"), rounding(ins)
    parts = []
    for operand in (ins.operands[2], ins.operands[1]):
        value = e.real(operand, "f32")
        if "relu" in ins.modifiers:
            value = _relu(e, value, "f32")
        parts.append(narrow(e, e.let(f"fpext float {value} to double"), kind, mode))
    e.set(ins.operands[0], join(e, parts), "b32")

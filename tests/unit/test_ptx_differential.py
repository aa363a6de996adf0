"""Instructions on random and extreme operands against exact arithmetic of integers and fractions.

Each test states the rule of NVIDIA's "PTX ISA" a second time, in Python's unbounded numbers.
"""

from __future__ import annotations

import random
import struct
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction

import numpy as np
import pytest
from tests.unit.ptx_harness import Bench, closing, needs_nvrtc

COUNT = 600
# Digits of the significand, smallest and largest exponent, width.
FORMATS = {"f16": (11, -14, 15, 16), "bf16": (8, -126, 127, 16), "f32": (24, -126, 127, 32)}
EXTREMES = [0, 1, 2, 7, 8, 15, 16, 31, 32, 33, 63, 64, 127, 128, 255, 256]


@pytest.fixture(scope="module")
def bench() -> Iterator[Bench]:
    yield from closing(Bench)


def apply(bench: Bench, text: str, widths: str, rows: Sequence[Sequence[int]]) -> list[int]:
    """Run `text`, in which d is the result of a, b, c, once for each row of operands."""
    names = ["d", "a", "b", "c"][: len(widths.split())]
    bits = [int(w) for w in widths.split()]
    opcode, operands = text.split(" ", 1)
    loads = "".join(
        f"ld.global.b{w} %{n}, [%in+{8 * k}];\n"
        for k, (n, w) in enumerate(zip(names[1:], bits[1:], strict=True))
    )
    registers = " ".join(f".reg .b{w} %{n};" for n, w in zip(names, bits, strict=True))
    named = ", ".join("%" + o if o in names else o for o in operands.split(", "))
    source = f""".version 8.0\n.target sm_90\n.address_size 64
        .visible .entry k(.param .u64 in, .param .u64 out) {{ .reg .b64 %in, %out, %w; .reg .b32 %r; {registers}
        ld.param.u64 %in, [in]; ld.param.u64 %out, [out]; mov.u32 %r, %tid.x;
        mul.wide.u32 %w, %r, 8; add.u64 %out, %out, %w; mul.wide.u32 %w, %r, {8 * (len(bits) - 1)};
        add.u64 %in, %in, %w; {loads} {opcode} {named}; st.global.b{bits[0]} [%out], %d; ret; }}"""
    out = np.zeros(len(rows), np.uint64)
    bench.run(bench.ptx(source), 1, len(rows), np.array(rows, np.uint64), out)
    return out.tolist()


def operands(*widths: int, seed: int = 0) -> list[tuple[int, ...]]:
    """Return random bits, of which every other is extreme."""
    draw = random.Random(seed)

    def one(width: int) -> int:
        edge = draw.choice(EXTREMES) * draw.choice((1, -1)) + draw.choice((0, 1 << (width - 1)))
        return (edge if draw.random() < 0.4 else draw.getrandbits(width)) & ((1 << width) - 1)

    return [tuple(one(w) for w in widths) for _ in range(COUNT)]


def signed(value: int, width: int) -> int:
    return value - (1 << width) if value >> (width - 1) else value


def clamp(value: int, low: int, high: int) -> int:
    return min(max(value, low), high)


def compare(got: list[int], want: list[int], rows: Sequence[Sequence[int]]) -> None:
    wrong = [
        f"{[hex(v) for v in row]}: {g:#x}, not {w:#x}"
        for row, g, w in zip(rows, got, want, strict=True)
        if g != w
    ]
    assert not wrong, wrong[:5]


# Integers


def integer(kind: str) -> tuple[int, Callable[[int], int]]:
    width = int(kind[1:])
    return width, (lambda v: signed(v, width)) if kind[0] == "s" else (lambda v: v)


@pytest.mark.parametrize("kind", ["s16", "u16", "s32", "u32", "s64", "u64"])
@pytest.mark.parametrize("name", ["min", "max", "sad", "mul.lo", "mul.hi", "sub"])
def test_integers(bench, name, kind):
    width, of = integer(kind)
    mask = (1 << width) - 1
    rules: dict[str, Callable[[int, int, int], int]] = {
        "min": lambda a, b, c: min(a, b),
        "max": lambda a, b, c: max(a, b),
        "sad": lambda a, b, c: c + abs(a - b),
        "mul.lo": lambda a, b, c: a * b,
        "mul.hi": lambda a, b, c: a * b >> width,
        "sub": lambda a, b, c: a - b,
    }
    rows = operands(width, width, width)
    text = f"{name}.{kind} d, a, b" + (", c" if name == "sad" else "")
    want = [rules[name](*map(of, row)) & mask for row in rows]
    compare(apply(bench, text, " ".join([str(width)] * 4), rows), want, rows)


@pytest.mark.parametrize("kind", ["s32", "u32"])
@pytest.mark.parametrize("name", ["mul24.lo", "mul24.hi", "mad24.lo", "mad24.hi"])
def test_multiplication_of_24_bits(bench, name, kind):
    rows = operands(32, 32, 32)
    low24 = (lambda v: signed(v & 0xFFFFFF, 24)) if kind == "s32" else (lambda v: v & 0xFFFFFF)
    shift = 16 if name.endswith("hi") else 0
    want = []
    for a, b, c in rows:
        value = low24(a) * low24(b) >> shift
        want.append((value + (c if name[:3] == "mad" else 0)) & 0xFFFFFFFF)
    text = f"{name}.{kind} d, a, b" + (", c" if name[:3] == "mad" else "")
    compare(apply(bench, text, "32 32 32 32", rows), want, rows)


@pytest.mark.parametrize("side", ["l", "r"])
@pytest.mark.parametrize("mode", ["wrap", "clamp"])
def test_funnel_shifts(bench, side, mode):
    rows = operands(32, 32, 32)
    want = []
    for a, b, c in rows:
        n, both = c & 31 if mode == "wrap" else min(c, 32), b << 32 | a
        want.append((both << n >> 32 if side == "l" else both >> n) & 0xFFFFFFFF)
    compare(apply(bench, f"shf.{side}.{mode}.b32 d, a, b, c", "32 32 32 32", rows), want, rows)


@pytest.mark.parametrize("of", ["s8", "u8", "s16", "u16", "s32", "u32", "s64", "u64"])
@pytest.mark.parametrize("to", ["s8", "u8", "s16", "u16", "s32", "u32", "s64", "u64"])
def test_saturating_conversions_of_integers(bench, to, of):
    width, value = integer(of)
    target = int(to[1:])
    low, high = (-(1 << (target - 1)), (1 << (target - 1)) - 1) if to[0] == "s" else (0, (1 << target) - 1)  # fmt: skip
    have, hold = max(width, 16), max(target, 16)
    rows = operands(width)
    want = [clamp(value(a), low, high) & ((1 << hold) - 1) for (a,) in rows]
    compare(apply(bench, f"cvt.sat.{to}.{of} d, a", f"{hold} {have}", rows), want, rows)


# Floating point


def exact(bits: int, kind: str) -> Fraction | None:
    """Return a number's value; None is a NaN or an infinity."""
    digits, low, _, width = FORMATS[kind]
    fraction, top = bits & ((1 << (digits - 1)) - 1), width - 1
    exponent = bits >> (digits - 1) & ((1 << (width - digits)) - 1)
    if exponent == (1 << (width - digits)) - 1:
        return None
    whole = fraction + ((1 << (digits - 1)) if exponent else 0)
    power = max(exponent, 1) - 1 + low - (digits - 1)
    return Fraction(whole) * Fraction(2) ** power * (-1 if bits >> top else 1)


def rounded(value: Fraction, kind: str, mode: str = "rn") -> int:
    """Return the bits of the number of a format next to a value, which is not 0."""
    digits, low, high, width = FORMATS[kind]
    sign, value = int(value < 0), abs(value)
    exponent = max(value.numerator.bit_length() - value.denominator.bit_length(), low)
    if Fraction(2) ** exponent > value and exponent > low:
        exponent -= 1
    scaled = value / Fraction(2) ** (exponent - digits + 1)
    whole, rest = int(scaled), scaled - int(scaled)
    up = {
        "rn": rest > Fraction(1, 2) or (rest == Fraction(1, 2) and whole % 2 == 1),
        "rz": False,
        "rp": rest > 0 and not sign,
        "rm": rest > 0 and bool(sign),
    }[mode]
    bits = ((exponent - low + 1) << (digits - 1)) + whole + up - (1 << (digits - 1))
    infinity = (high - low + 2) << (digits - 1)
    if bits >= infinity:
        stays = mode == "rz" or (mode == "rp" and sign) or (mode == "rm" and not sign)
        bits = infinity - 1 if stays else infinity
    return sign << (width - 1) | bits


def near(kind: str, count: int, seed: int) -> list[tuple[int, ...]]:
    """Return finite numbers with exponents close together, so that sums must be rounded."""
    digits, _, _, width = FORMATS[kind]
    draw, rows = random.Random(seed), []
    while len(rows) < COUNT:
        middle = draw.randrange(1 << (width - digits))
        row = tuple(
            draw.getrandbits(1) << (width - 1)
            | clamp(middle + draw.randint(-12, 12), 0, (1 << (width - digits)) - 2) << (digits - 1)
            | draw.getrandbits(digits - 1)
            for _ in range(count)
        )
        rows.append(row)
    return rows


@pytest.mark.parametrize("kind", ["f16", "bf16"])
@pytest.mark.parametrize("name", ["add", "sub", "mul", "fma.rn"])
def test_halves_are_rounded_once(bench, name, kind):
    rules: dict[str, Callable[..., Fraction]] = {
        "add": lambda a, b, c: a + b,
        "sub": lambda a, b, c: a - b,
        "mul": lambda a, b, c: a * b,
        "fma.rn": lambda a, b, c: a * b + c,
    }
    rows, want = [], []
    for row in near(kind, 3, 1):
        value = rules[name](*(exact(v, kind) for v in row))
        if value:  # the sign of an exact zero is another rule
            rows.append(row)
            want.append(rounded(value, kind))
    text = f"{name}.{kind} d, a, b" + (", c" if name == "fma.rn" else "")
    compare(apply(bench, text, "16 16 16 16", rows), want, rows)


@pytest.mark.parametrize(
    ("kind", "mode"),
    [(k, m) for k in FORMATS for m in ("rn", "rz", "rp", "rm") if k != "bf16" or m in ("rn", "rz")],
)
def test_narrowing_rounds_as_asked(bench, kind, mode):
    of, width = ("f64", 64) if kind == "f32" else ("f32", 32)
    draw, rows, want = random.Random(3), [], []
    span = (-160, 135) if kind != "f16" else (-28, 18)
    while len(rows) < COUNT:
        value = draw.choice((1, -1)) * draw.uniform(1, 2) * 2.0 ** draw.randint(*span)
        if draw.random() < 0.3:  # halfway between two, or a little beside
            digits = FORMATS[kind][0]
            value = draw.choice((1, -1)) * (draw.getrandbits(digits) * 2 + 1) * 2.0 ** draw.randint(*span) / 2**digits  # fmt: skip
        try:
            bits = struct.unpack("<Q", struct.pack("<d", value))[0] if width == 64 else struct.unpack("<I", struct.pack("<f", value))[0]  # fmt: skip
        except OverflowError:
            continue
        source = value if width == 64 else struct.unpack("<f", struct.pack("<f", value))[0]
        if source:
            rows.append((bits,))
            want.append(rounded(Fraction(source), kind, mode))
    text = f"cvt.{mode}.{kind}.{of} d, a"
    compare(apply(bench, text, f"{FORMATS[kind][3]} {width}", rows), want, rows)


@pytest.mark.parametrize("mode", ["rni", "rzi", "rmi", "rpi"])
@pytest.mark.parametrize("to", ["s16", "u16", "s32", "u32", "s64", "u64"])
@pytest.mark.parametrize("of", ["f32", "f16"])
def test_floats_to_integers_saturate(bench, to, of, mode):
    target = int(to[1:])
    low, high = (-(1 << (target - 1)), (1 << (target - 1)) - 1) if to[0] == "s" else (0, (1 << target) - 1)  # fmt: skip
    draw, rows, want = random.Random(4), [], []
    while len(rows) < COUNT:
        bits = draw.getrandbits(FORMATS[of][3])
        if draw.random() < 0.4:  # small numbers and a half
            number = draw.randint(-9, 9) / 2
            bits = rounded(Fraction(number), of) if number else 0
        value = exact(bits, of)
        if value is None:
            continue
        floor = value.numerator // value.denominator
        whole = {"rni": round(value), "rzi": int(value), "rmi": floor, "rpi": -(-value // 1)}[mode]
        rows.append((bits,))
        want.append(clamp(whole, low, high) & ((1 << target) - 1))
    compare(
        apply(bench, f"cvt.{mode}.{to}.{of} d, a", f"{target} {FORMATS[of][3]}", rows), want, rows
    )


# Warps and atomics


@needs_nvrtc
def test_votes_and_matches_of_some_lanes(bench):
    source = """extern "C" __global__ void k(const unsigned* masks, const int* v, unsigned* out) {
        int i = threadIdx.x, g = masks[32 + i]; unsigned m = masks[i], *o = out + 8 * i; int all;
        if (g < 0) return;
        o[0] = __ballot_sync(m, v[i] & 1); o[1] = __any_sync(m, v[i] > 4); o[2] = __all_sync(m, v[i] < 6);
        o[3] = __match_any_sync(m, v[i]); o[4] = __match_all_sync(m, v[i] & 4, &all); o[5] = all;
        o[6] = __shfl_xor_sync(m, v[i], 0); o[7] = __reduce_add_sync(m, v[i]); }"""
    draw = random.Random(5)
    for _ in range(8):
        groups = [draw.choice((-1, 0, 1, 2)) for _ in range(32)]
        values = [draw.randrange(8) for _ in range(32)]
        members = {g: [i for i in range(32) if groups[i] == g] for g in (0, 1, 2)}
        mask = {g: sum(1 << i for i in lanes) for g, lanes in members.items()}
        given = [mask.get(g, 0) for g in groups] + [g & 0xFFFFFFFF for g in groups]
        out = np.zeros((32, 8), np.uint32)
        function = bench.function(source)
        bench.run(function, 1, 32, np.array(given, np.uint32), np.array(values, np.int32), out)
        for g, lanes in members.items():
            odd = sum(1 << i for i in lanes if values[i] & 1)
            for i in lanes:
                same = sum(1 << k for k in lanes if values[k] == values[i])
                alike = all((values[k] & 4) == (values[i] & 4) for k in lanes)
                want = [
                    odd, any(values[k] > 4 for k in lanes), all(values[k] < 6 for k in lanes), same,
                    mask[g] if alike else 0, alike, values[i], sum(values[k] for k in lanes),
                ]  # fmt: skip
                assert out[i].tolist() == [int(w) for w in want]


@needs_nvrtc
@pytest.mark.parametrize(
    ("type_", "header", "unit"),
    [
        ("__half", "cuda_fp16.h", "__float2half(0.5f)"),
        ("__half2", "cuda_fp16.h", "__floats2half2_rn(0.5f, -1.0f)"),
        ("__nv_bfloat16", "cuda_bf16.h", "__float2bfloat16(0.5f)"),
        ("__nv_bfloat162", "cuda_bf16.h", "__floats2bfloat162_rn(0.5f, -1.0f)"),
    ],
)
@pytest.mark.parametrize("architecture", ["80", "90"])
def test_atomics_of_halves_add_each_once(type_, header, unit, architecture):
    bench = Bench(architecture=architecture)
    source = f"""#include <{header}>
        extern "C" __global__ void k({type_}* sum, int* seen) {{
            {type_} old = atomicAdd(sum, {unit}); atomicAdd(seen, 1); (void)old; }}"""
    sum_, seen = np.zeros(2, np.uint16), np.zeros(1, np.int32)
    bench.run(source, 2, 64, sum_, seen)
    bench.engine.close()
    is_half = "half" in type_
    as_real = [float(exact(int(v), "f16" if is_half else "bf16") or 0) for v in sum_]
    assert as_real == [64.0, -128.0 if type_[-1] == "2" else 0.0]
    assert seen[0] == 128

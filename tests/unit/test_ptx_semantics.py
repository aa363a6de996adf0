"""Single instructions against the values that NVIDIA's "PTX ISA" gives them.

Each case is an instruction, the bits of its operands, and the bits of its result. `d` is the
result and `a`, `b`, `c`, `e` are the operands, each in a register of the width of its type.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator

import numpy as np
import pytest
from tests.unit.ptx_harness import Bench, closing

M32, M64 = 0xFFFFFFFF, 0xFFFFFFFFFFFFFFFF


@pytest.fixture(scope="module")
def bench() -> Iterator[Bench]:
    yield from closing(Bench)


def f(x: float) -> int:
    return struct.unpack("<I", struct.pack("<f", x))[0]


def g(x: float) -> int:
    return struct.unpack("<Q", struct.pack("<d", x))[0]


def h(x: float) -> int:
    return struct.unpack("<H", struct.pack("<e", x))[0]


def pair(low: float, high: float) -> int:
    return h(high) << 16 | h(low)


INF, NAN = float("inf"), float("nan")
TINY = 1e-45  # the smallest f32, 1.4e-45

# (instruction with d, a, b, c, e; bits of the registers d a b c e; operands; result)
CASES = [
    # shifts by the width and more
    ("shl.b32 d, a, b", "32 32 32", (1, 31), 0x80000000),
    ("shl.b32 d, a, b", "32 32 32", (1, 32), 0),
    ("shl.b32 d, a, b", "32 32 32", (1, 255), 0),
    ("shl.b64 d, a, b", "64 64 32", (1, 63), 1 << 63),
    ("shl.b64 d, a, b", "64 64 32", (1, 64), 0),
    ("shl.b16 d, a, b", "16 16 32", (1, 16), 0),
    ("shr.u32 d, a, b", "32 32 32", (M32, 32), 0),
    ("shr.s32 d, a, b", "32 32 32", (0x80000000, 32), M32),
    ("shr.s32 d, a, b", "32 32 32", (0x80000000, 4), 0xF8000000),
    ("shr.s64 d, a, b", "64 64 32", (1 << 63, 200), M64),
    ("shr.u16 d, a, b", "16 16 32", (0x8000, 15), 1),
    ("shr.s16 d, a, b", "16 16 32", (0x8000, 15), 0xFFFF),
    ("shf.l.wrap.b32 d, a, b, c", "32 32 32 32", (0x12345678, 0x9ABCDEF0, 8), 0xBCDEF012),
    ("shf.l.wrap.b32 d, a, b, c", "32 32 32 32", (0x12345678, 0x9ABCDEF0, 40), 0xBCDEF012),
    ("shf.l.clamp.b32 d, a, b, c", "32 32 32 32", (0x12345678, 0x9ABCDEF0, 40), 0x12345678),
    ("shf.r.clamp.b32 d, a, b, c", "32 32 32 32", (0x12345678, 0x9ABCDEF0, 40), 0x9ABCDEF0),
    ("shf.r.wrap.b32 d, a, b, c", "32 32 32 32", (0x12345678, 0x9ABCDEF0, 8), 0xF0123456),
    # integers
    ("add.s32 d, a, b", "32 32 32", (0x7FFFFFFF, 1), 0x80000000),
    ("add.sat.s32 d, a, b", "32 32 32", (0x7FFFFFFF, 1), 0x7FFFFFFF),
    ("sub.sat.s32 d, a, b", "32 32 32", (0x80000000, 1), 0x80000000),
    ("sub.u16 d, a, b", "16 16 16", (0, 1), 0xFFFF),
    ("mul.lo.s32 d, a, b", "32 32 32", (0x10000, 0x10000), 0),
    ("mul.hi.s32 d, a, b", "32 32 32", (M32, 2), M32),
    ("mul.hi.u32 d, a, b", "32 32 32", (M32, 2), 1),
    ("mul.hi.u64 d, a, b", "64 64 64", (M64, M64), M64 - 1),
    ("mul.hi.s64 d, a, b", "64 64 64", (M64, M64), 0),
    ("mul.wide.s32 d, a, b", "64 32 32", (M32, 3), M64 - 2),
    ("mul.wide.u32 d, a, b", "64 32 32", (M32, 3), 3 * M32),
    ("mul.wide.s16 d, a, b", "32 16 16", (0x8000, 0x8000), 0x40000000),
    ("mad.lo.s32 d, a, b, c", "32 32 32 32", (3, 4, M32), 11),
    ("mad.hi.u32 d, a, b, c", "32 32 32 32", (M32, M32, 5), 3),
    ("mad.hi.sat.s32 d, a, b, c", "32 32 32 32", (0x7FFFFFFF, 0x7FFFFFFF, 0x7FFFFFFF), 0x7FFFFFFF),
    ("mad.wide.s32 d, a, b, c", "64 32 32 64", (M32, 5, 3), M64 - 1),
    ("mul24.lo.s32 d, a, b", "32 32 32", (0xFFFFFF, 3), M32 - 2),
    ("mul24.lo.u32 d, a, b", "32 32 32", (0xFFFFFFFF, 2), 0x1FFFFFE),
    ("mul24.hi.u32 d, a, b", "32 32 32", (0xFFFFFF, 0xFFFFFF), 0xFFFFFE00),
    ("div.s32 d, a, b", "32 32 32", (M32 - 6, 2), M32 - 2),
    ("div.s32 d, a, b", "32 32 32", (0x80000000, M32), 0x80000000),
    ("rem.s32 d, a, b", "32 32 32", (M32 - 6, 2), M32),
    ("rem.s32 d, a, b", "32 32 32", (0x80000000, M32), 0),
    ("div.u64 d, a, b", "64 64 64", (M64, 10), M64 // 10),
    ("div.u32 d, a, b", "32 32 32", (7, 0), M32),
    ("rem.u32 d, a, b", "32 32 32", (7, 0), 7),
    ("sad.s32 d, a, b, c", "32 32 32 32", (M32, 1, 10), 12),
    ("sad.u32 d, a, b, c", "32 32 32 32", (M32, 1, 10), 8),
    ("abs.s32 d, a", "32 32", (0x80000000,), 0x80000000),
    ("abs.s64 d, a", "64 64", (M64,), 1),
    ("neg.s16 d, a", "16 16", (1,), 0xFFFF),
    ("min.s32 d, a, b", "32 32 32", (M32, 1), M32),
    ("min.u32 d, a, b", "32 32 32", (M32, 1), 1),
    ("max.s64 d, a, b", "64 64 64", (M64, 1), 1),
    ("max.u16 d, a, b", "16 16 16", (0xFFFF, 1), 0xFFFF),
    # bits
    ("popc.b64 d, a", "32 64", (M64,), 64),
    ("clz.b32 d, a", "32 32", (0,), 32),
    ("clz.b64 d, a", "32 64", (1,), 63),
    ("brev.b32 d, a", "32 32", (1,), 0x80000000),
    ("bfind.u32 d, a", "32 32", (0,), M32),
    ("bfind.u32 d, a", "32 32", (0x00010000,), 16),
    ("bfind.s32 d, a", "32 32", (0xFFFFFF7F,), 7),
    ("bfind.s32 d, a", "32 32", (M32,), M32),
    ("bfind.shiftamt.u32 d, a", "32 32", (0x00010000,), 15),
    ("bfind.u64 d, a", "32 64", (1 << 40,), 40),
    ("bfe.u32 d, a, b, c", "32 32 32 32", (0xABCD1234, 8, 8), 0x12),
    ("bfe.s32 d, a, b, c", "32 32 32 32", (0x00008000, 8, 8), 0xFFFFFF80),
    ("bfe.u32 d, a, b, c", "32 32 32 32", (M32, 40, 8), 0),
    ("bfe.s32 d, a, b, c", "32 32 32 32", (0x80000000, 28, 8), 0xFFFFFFF8),
    ("bfe.s32 d, a, b, c", "32 32 32 32", (0x80000000, 40, 8), M32),
    ("bfe.u32 d, a, b, c", "32 32 32 32", (M32, 4, 0), 0),
    ("bfe.u64 d, a, b, c", "64 64 32 32", (0x123456789ABCDEF0, 4, 60), 0x123456789ABCDEF),
    ("bfi.b32 d, a, b, c, e", "32 32 32 32 32", (0xFF, 0, 8, 4), 0xF00),
    ("bfi.b32 d, a, b, c, e", "32 32 32 32 32", (0xFF, 0x11111111, 32, 4), 0x11111111),
    ("bfi.b32 d, a, b, c, e", "32 32 32 32 32", (0xFF, 0x11111111, 28, 8), 0xF1111111),
    ("bfi.b64 d, a, b, c, e", "64 64 64 32 32", (M64, 0, 0, 64), M64),
    ("prmt.b32 d, a, b, c", "32 32 32 32", (0x33221100, 0x77665544, 0x7531), 0x77553311),
    ("prmt.b32 d, a, b, c", "32 32 32 32", (0x8000007F, 0, 0xB8B0), 0xFF00FF7F),
    ("prmt.b32.f4e d, a, b, c", "32 32 32 32", (0x33221100, 0x77665544, 1), 0x44332211),
    ("prmt.b32.b4e d, a, b, c", "32 32 32 32", (0x33221100, 0x77665544, 1), 0x66770011),
    ("prmt.b32.rc8 d, a, b, c", "32 32 32 32", (0x33221100, 0, 2), 0x22222222),
    ("prmt.b32.ecl d, a, b, c", "32 32 32 32", (0x33221100, 0, 2), 0x33222222),
    ("prmt.b32.ecr d, a, b, c", "32 32 32 32", (0x33221100, 0, 2), 0x22221100),
    ("prmt.b32.rc16 d, a, b, c", "32 32 32 32", (0x33221100, 0, 1), 0x33223322),
    ("lop3.b32 d, a, b, c, 0x80", "32 32 32 32", (0xF0, 0xCC, 0xAA), 0x80),
    ("lop3.b32 d, a, b, c, 0x1a", "32 32 32 32", (0xF0, 0xCC, 0xAA), 0x1A),
    ("lop3.b32 d, a, b, c, 0xfe", "32 32 32 32", (0xF0, 0xCC, 0xAA), 0xFE),
    ("cnot.b32 d, a", "32 32", (0,), 1),
    ("cnot.b32 d, a", "32 32", (5,), 0),
    ("not.b16 d, a", "16 16", (0x00FF,), 0xFF00),
    ("fns.b32 d, a, b, c", "32 32 32 32", (0b101100, 0, 2), 3),
    ("fns.b32 d, a, b, c", "32 32 32 32", (0b101100, 5, M32), 5),
    ("bmsk.clamp.b32 d, a, b", "32 32 32", (4, 8), 0xFF0),
    ("szext.clamp.s32 d, a, b", "32 32 32", (0x80, 8), 0xFFFFFF80),
    ("dp4a.s32.s32 d, a, b, c", "32 32 32 32", (0xFF020304, 0x01010101, 100), 108),
    ("dp4a.u32.u32 d, a, b, c", "32 32 32 32", (0xFF020304, 0x01010101, 100), 364),
    ("dp2a.lo.s32.u32 d, a, b, c", "32 32 32 32", (0xFFFF0002, 0x00000503, 0), 1),
    # comparison
    ("set.lt.u32.f32 d, a, b", "32 32 32", (f(1), f(2)), M32),
    ("set.lt.f32.f32 d, a, b", "32 32 32", (f(1), f(2)), f(1)),
    ("set.eq.u32.f32 d, a, b", "32 32 32", (f(NAN), f(NAN)), 0),
    ("set.equ.u32.f32 d, a, b", "32 32 32", (f(NAN), f(1)), M32),
    ("set.ne.u32.f32 d, a, b", "32 32 32", (f(NAN), f(1)), 0),
    ("set.neu.u32.f32 d, a, b", "32 32 32", (f(NAN), f(1)), M32),
    ("set.num.u32.f32 d, a, b", "32 32 32", (f(3), f(1)), M32),
    ("set.nan.u32.f64 d, a, b", "32 64 64", (g(NAN), g(1)), M32),
    ("set.lo.u32.u32 d, a, b", "32 32 32", (1, M32), M32),
    ("set.lt.u32.s32 d, a, b", "32 32 32", (1, M32), 0),
    ("slct.u32.s32 d, a, b, c", "32 32 32 32", (7, 8, M32), 8),
    ("slct.u32.f32 d, a, b, c", "32 32 32 32", (7, 8, f(-0.0)), 7),
    ("slct.u32.f32 d, a, b, c", "32 32 32 32", (7, 8, f(NAN)), 8),
    # f32 and f64
    ("min.f32 d, a, b", "32 32 32", (f(NAN), f(2)), f(2)),
    ("max.f32 d, a, b", "32 32 32", (f(2), f(NAN)), f(2)),
    ("min.f32 d, a, b", "32 32 32", (f(0.0), f(-0.0)), f(-0.0)),
    ("max.f32 d, a, b", "32 32 32", (f(-0.0), f(0.0)), f(0.0)),
    ("min.NaN.f32 d, a, b", "32 32 32", (f(NAN), f(2)), 0x7FFFFFFF),
    ("max.f64 d, a, b", "64 64 64", (g(NAN), g(NAN)), 0x7FFFFFFFFFFFFFFF),
    ("min.xorsign.abs.f32 d, a, b", "32 32 32", (f(-3), f(2)), f(-2)),
    ("add.rn.f32 d, a, b", "32 32 32", (f(1), f(2**-24)), f(1)),
    ("add.rp.f32 d, a, b", "32 32 32", (f(1), f(2**-24)), f(1) + 1),
    ("add.rz.f32 d, a, b", "32 32 32", (f(1), f(-(2**-30))), f(1) - 1),
    ("add.rm.f32 d, a, b", "32 32 32", (f(-1), f(-(2**-60))), f(-1) + 1),
    ("sub.rm.f32 d, a, b", "32 32 32", (f(1), f(2**-60)), f(1) - 1),
    ("mul.rz.f32 d, a, b", "32 32 32", (f(3e38), f(3e38)), 0x7F7FFFFF),
    ("mul.rp.f32 d, a, b", "32 32 32", (f(3e38), f(3e38)), f(INF)),
    ("mul.rm.f32 d, a, b", "32 32 32", (f(-3e38), f(3e38)), f(-INF)),
    ("fma.rm.f32 d, a, b, c", "32 32 32 32", (f(1), f(1), f(-(2**-50))), f(1) - 1),
    ("fma.rn.f32 d, a, b, c", "32 32 32 32", (f(1 + 2**-12), f(1 + 2**-12), f(-1)), f(2**-11 + 2**-24)),
    ("div.rn.f32 d, a, b", "32 32 32", (f(1), f(3)), f(1 / 3)),
    ("div.rm.f32 d, a, b", "32 32 32", (f(1), f(3)), f(1 / 3) - 1),
    ("div.rp.f32 d, a, b", "32 32 32", (f(-1), f(3)), f(-1 / 3) - 1),
    ("div.rn.f32 d, a, b", "32 32 32", (f(1), f(0)), f(INF)),
    ("sqrt.rz.f32 d, a", "32 32", (f(2),), 0x3FB504F3),
    ("sqrt.rp.f32 d, a", "32 32", (f(2),), 0x3FB504F4),
    ("rcp.rm.f32 d, a", "32 32", (f(3),), f(1 / 3) - 1),
    ("add.rp.f64 d, a, b", "64 64 64", (g(1), g(2**-60)), g(1) + 1),
    ("add.rz.f64 d, a, b", "64 64 64", (g(1), g(-(2**-60))), g(1) - 1),
    ("mul.rm.f64 d, a, b", "64 64 64", (g(1e308), g(10)), 0x7FEFFFFFFFFFFFFF),
    ("fma.rp.f64 d, a, b, c", "64 64 64 64", (g(1), g(1), g(2**-70)), g(1) + 1),
    ("div.rz.f64 d, a, b", "64 64 64", (g(1), g(3)), g(1 / 3)),
    ("div.rp.f64 d, a, b", "64 64 64", (g(1), g(3)), g(1 / 3) + 1),
    ("sqrt.rm.f64 d, a", "64 64", (g(2),), g(2**0.5) - 1),
    ("add.ftz.f32 d, a, b", "32 32 32", (f(TINY), f(0)), 0),
    ("add.f32 d, a, b", "32 32 32", (f(TINY), f(0)), 1),
    ("mul.ftz.f32 d, a, b", "32 32 32", (f(1e-30), f(-1e-10)), 0x80000000),
    ("add.sat.f32 d, a, b", "32 32 32", (f(3), f(1)), f(1)),
    ("add.sat.f32 d, a, b", "32 32 32", (f(NAN), f(1)), 0),
    ("mul.sat.f32 d, a, b", "32 32 32", (f(-3), f(1)), 0),
    ("abs.f32 d, a", "32 32", (f(-INF),), f(INF)),
    ("neg.f64 d, a", "64 64", (g(0.0),), g(-0.0)),
    ("copysign.f32 d, a, b", "32 32 32", (f(-1), f(5)), f(-5)),
    ("rcp.approx.f32 d, a", "32 32", (f(-0.0),), f(-INF)),
    ("rsqrt.approx.f32 d, a", "32 32", (f(4),), f(0.5)),
    ("ex2.approx.f32 d, a", "32 32", (f(-INF),), 0),
    ("ex2.approx.f32 d, a", "32 32", (f(3),), f(8)),
    ("lg2.approx.f32 d, a", "32 32", (f(8),), f(3)),
    ("lg2.approx.f32 d, a", "32 32", (f(0),), f(-INF)),
    ("sin.approx.f32 d, a", "32 32", (f(0),), 0),
    ("cos.approx.f32 d, a", "32 32", (f(0),), f(1)),
    # conversions
    ("cvt.rzi.s32.f32 d, a", "32 32", (f(3e10),), 0x7FFFFFFF),
    ("cvt.rzi.s32.f32 d, a", "32 32", (f(-3e10),), 0x80000000),
    ("cvt.rzi.u32.f32 d, a", "32 32", (f(-1),), 0),
    ("cvt.rzi.s32.f32 d, a", "32 32", (f(NAN),), 0),
    ("cvt.rni.s32.f32 d, a", "32 32", (f(2.5),), 2),
    ("cvt.rni.s32.f32 d, a", "32 32", (f(3.5),), 4),
    ("cvt.rmi.s32.f32 d, a", "32 32", (f(-2.5),), M32 - 2),
    ("cvt.rpi.s32.f32 d, a", "32 32", (f(-2.5),), M32 - 1),
    ("cvt.rzi.u64.f64 d, a", "64 64", (g(1e30),), M64),
    ("cvt.rzi.s64.f64 d, a", "64 64", (g(-1e30),), 1 << 63),
    ("cvt.rzi.s8.f32 d, a", "32 32", (f(-300),), 0xFFFFFF80),
    ("cvt.rzi.u8.f32 d, a", "16 32", (f(300),), 255),
    ("cvt.rni.f32.f32 d, a", "32 32", (f(0.5),), 0),
    ("cvt.rmi.f64.f64 d, a", "64 64", (g(-0.5),), g(-1)),
    ("cvt.sat.f32.f32 d, a", "32 32", (f(1.5),), f(1)),
    ("cvt.sat.f32.f32 d, a", "32 32", (f(NAN),), 0),
    ("cvt.rn.f32.f64 d, a", "32 64", (g(1 + 2**-25),), f(1)),
    ("cvt.rp.f32.f64 d, a", "32 64", (g(1 + 2**-25),), f(1) + 1),
    ("cvt.rz.f32.f64 d, a", "32 64", (g(1e300),), 0x7F7FFFFF),
    ("cvt.rm.f32.f64 d, a", "32 64", (g(1e-60),), 0),
    ("cvt.rp.f32.f64 d, a", "32 64", (g(1e-60),), 1),
    ("cvt.f64.f32 d, a", "64 32", (f(TINY),), g(2**-149)),
    ("cvt.rn.f32.s32 d, a", "32 32", (16777217,), f(16777216)),
    ("cvt.rp.f32.s32 d, a", "32 32", (16777217,), f(16777218)),
    ("cvt.rz.f32.u64 d, a", "32 64", (M64,), 0x5F7FFFFF),
    ("cvt.rn.f32.u64 d, a", "32 64", (M64,), f(2**64)),
    ("cvt.rm.f64.s64 d, a", "64 64", (2**53 + 1,), g(2**53)),
    ("cvt.rp.f64.s64 d, a", "64 64", (2**53 + 1,), g(2**53 + 2)),
    ("cvt.rz.f64.s64 d, a", "64 64", (M64 - 2**53,), g(-(2.0**53))),
    ("cvt.s32.s8 d, a", "32 32", (0x80,), 0xFFFFFF80),
    ("cvt.u32.u8 d, a", "32 32", (0x1FF,), 0xFF),
    ("cvt.s64.s32 d, a", "64 32", (0x80000000,), 0xFFFFFFFF80000000),
    ("cvt.u64.u32 d, a", "64 32", (0x80000000,), 0x80000000),
    ("cvt.u16.u32 d, a", "16 32", (0x12345,), 0x2345),
    ("cvt.sat.s8.s32 d, a", "32 32", (300,), 127),
    ("cvt.sat.u8.s32 d, a", "32 32", (M32,), 0),
    ("cvt.sat.s32.u32 d, a", "32 32", (M32,), 0x7FFFFFFF),
    # f16 and bf16
    ("cvt.rn.f16.f32 d, a", "16 32", (f(65520),), h(INF)),
    ("cvt.rz.f16.f32 d, a", "16 32", (f(65520),), h(65504)),
    ("cvt.rn.f16.f32 d, a", "16 32", (f(2**-25),), 0),
    ("cvt.rn.f16.f32 d, a", "16 32", (f(2**-25 * 1.5),), 1),
    ("cvt.rp.f16.f32 d, a", "16 32", (f(2**-30),), 1),
    ("cvt.rn.f16.f32 d, a", "16 32", (f(NAN),), 0x7FFF),
    ("cvt.f32.f16 d, a", "32 16", (1,), f(2**-24)),
    ("cvt.f32.f16 d, a", "32 16", (h(-INF),), f(-INF)),
    ("cvt.rn.bf16.f32 d, a", "16 32", (0x3F808000,), 0x3F80),
    ("cvt.rn.bf16.f32 d, a", "16 32", (0x3F818000,), 0x3F82),
    ("cvt.rn.f16x2.f32 d, a, b", "32 32 32", (f(2), f(1)), pair(1, 2)),
    ("cvt.rn.relu.f16.f32 d, a", "16 32", (f(-2),), 0),
    ("cvt.rna.tf32.f32 d, a", "32 32", (0x3F801000,), 0x3F802000),
    ("cvt.rzi.s32.f16 d, a", "32 16", (h(-3.5),), M32 - 2),
    ("add.f16 d, a, b", "16 16 16", (h(2048), h(1)), h(2048)),
    ("add.f16 d, a, b", "16 16 16", (h(2048), h(3)), h(2052)),
    ("sub.f16 d, a, b", "16 16 16", (h(1), h(3)), h(-2)),
    ("mul.f16 d, a, b", "16 16 16", (h(300), h(300)), h(INF)),
    ("fma.rn.f16 d, a, b, c", "16 16 16 16", (h(3), h(5), h(0.25)), h(15.25)),
    ("fma.rn.f16x2 d, a, b, c", "32 32 32 32", (pair(1, 2), pair(3, 4), pair(5, 6)), pair(8, 14)),
    ("mul.f16x2 d, a, b", "32 32 32", (pair(1, -2), pair(3, 4)), pair(3, -8)),
    ("min.f16 d, a, b", "16 16 16", (h(NAN), h(1)), h(1)),
    ("max.f16x2 d, a, b", "32 32 32", (pair(1, 5), pair(3, 4)), pair(3, 5)),
    ("neg.f16x2 d, a", "32 32", (pair(1, -2),), pair(-1, 2)),
    ("abs.f16 d, a", "16 16", (h(-2),), h(2)),
    ("fma.rn.relu.f16 d, a, b, c", "16 16 16 16", (h(-3), h(5), h(1)), 0),
    ("fma.rn.bf16 d, a, b, c", "16 16 16 16", (0x3F80, 0x4000, 0x4040), 0x40A0),
    ("set.lt.u32.f16 d, a, b", "32 16 16", (h(1), h(2)), M32),
    ("ex2.approx.f16 d, a", "16 16", (h(3),), h(8)),
    ("tanh.approx.f32 d, a", "32 32", (f(0),), 0),
]  # fmt: skip


def _program(text: str, widths: list[int]) -> str:
    names = ["d", "a", "b", "c", "e"][: len(widths)]
    registers = " ".join(f".reg .b{w} %{n};" for n, w in zip(names, widths, strict=True))
    loads = "".join(
        f"ld.global.b{w} %{n}, [%in+{8 * i}];\n"
        for i, (n, w) in enumerate(zip(names[1:], widths[1:], strict=True))
    )
    opcode, operands = text.split(" ", 1)
    for name in names:
        operands = ", ".join(f"%{o}" if o == name else o for o in operands.split(", "))
    return f""".version 8.0\n.target sm_90\n.address_size 64
        .visible .entry k(.param .u64 in, .param .u64 out) {{ .reg .b64 %in, %out; {registers}
        ld.param.u64 %in, [in]; ld.param.u64 %out, [out];
        {loads} {opcode} {operands}; st.global.b{widths[0]} [%out], %d; ret; }}"""


@pytest.mark.parametrize(
    ("text", "widths", "operands", "want"), CASES, ids=[f"{i}-{c[0]}" for i, c in enumerate(CASES)]
)
def test_instruction(bench, text, widths, operands, want):
    source = np.array(operands, np.uint64)
    out = np.zeros(1, np.uint64)
    bench.run(bench.ptx(_program(text, [int(w) for w in widths.split()])), 1, 1, source, out)
    assert f"{int(out[0]):#x}" == f"{want:#x}"


def test_carry_chain(bench):
    text = """.version 8.0\n.target sm_80\n.address_size 64
        .visible .entry k(.param .u64 out) { .reg .b64 %o; .reg .b32 %r<9>; ld.param.u64 %o, [out];
        mov.u32 %r1, 0xffffffff; add.cc.u32 %r2, %r1, 1; addc.cc.u32 %r3, %r1, 0; addc.u32 %r4, 5, 6;
        sub.cc.u32 %r5, 0, 1; subc.u32 %r6, 10, 3; mad.lo.cc.u32 %r7, %r1, %r1, %r1; madc.hi.u32 %r8, %r1, %r1, 0;
        st.global.v4.u32 [%o], {%r2, %r3, %r4, %r5}; st.global.v2.u32 [%o+16], {%r6, %r7}; st.global.u32 [%o+24], %r8; ret; }"""
    out = np.zeros(7, np.uint32)
    out = np.zeros(8, np.uint32)
    bench.run(bench.ptx(text), 1, 1, out)
    product = M32 * M32
    low = (product & M32) + M32
    assert out.tolist() == [0, 0, 12, M32, 6, low & M32, (product >> 32) + (low >> 32), 0]


def test_predicates_and_branches(bench):
    text = """.version 8.0\n.target sm_80\n.address_size 64
        .visible .entry k(.param .u64 out) { .reg .b64 %o; .reg .b32 %r<9>; .reg .pred %p<9>; ld.param.u64 %o, [out];
        mov.u32 %r1, 0; mov.u32 %r2, 0;
        LOOP: add.u32 %r1, %r1, 1; setp.lt.u32 %p1|%p2, %r1, 10; @%p1 add.u32 %r2, %r2, %r1; @!%p1 add.u32 %r2, %r2, 1000;
        setp.eq.and.u32 %p3, %r1, 12, %p2; @!%p3 bra LOOP;
        { .reg .b32 %r2; mov.u32 %r2, 77; st.global.u32 [%o+4], %r2; }
        mov.u32 %r3, 2; ts: .branchtargets A, B, C; @%p3 brx.idx %r3, ts;
        A: mov.u32 %r4, 1; bra.uni END; B: mov.u32 %r4, 2; bra.uni END; C: mov.u32 %r4, 3;
        END: st.global.u32 [%o], %r2; st.global.u32 [%o+8], %r4; ret; }"""
    out = np.zeros(3, np.uint32)
    bench.run(bench.ptx(text.replace("@%p3 brx", "brx")), 1, 1, out)
    assert out.tolist() == [45 + 3000, 77, 3]


@pytest.mark.parametrize(
    ("name", "type_", "start", "operand", "want"),
    [
        ("add", "u32", M32, 2, 1), ("add", "f32", f(1), f(2), f(3)), ("add", "f64", g(1), g(2), g(3)),
        ("add.noftz", "f16", h(1), h(2), h(3)), ("add.noftz", "f16x2", pair(1, 2), pair(3, 4), pair(4, 6)),
        ("add.noftz", "bf16", 0x3F80, 0x3F80, 0x4000), ("min", "s32", M32, 1, M32), ("min", "u32", M32, 1, 1),
        ("max", "s64", M64, 1, 1), ("max", "u64", M64, 1, M64), ("inc", "u32", 5, 5, 0), ("inc", "u32", 4, 5, 5),
        ("dec", "u32", 0, 5, 5), ("dec", "u32", 6, 5, 5), ("dec", "u32", 3, 5, 2), ("exch", "b64", 7, 9, 9),
        ("and", "b32", 6, 3, 2), ("or", "b64", 6, 1, 7), ("xor", "b32", 6, 3, 5), ("exch", "b32", 1, 2, 2),
    ],
)  # fmt: skip
def test_atomic(bench, name, type_, start, operand, want):
    width = {"x2": 32}.get(type_[-2:]) or int(type_.strip("usbf"))
    text = f""".version 8.0\n.target sm_90\n.address_size 64
        .visible .entry k(.param .u64 p, .param .u64 v) {{ .reg .b64 %p, %v; .reg .b{width} %a<2>;
        ld.param.u64 %p, [p]; ld.param.u64 %v, [v]; ld.global.b{width} %a0, [%v];
        atom.global.{name}.{type_} %a1, [%p], %a0; st.global.b{width} [%v], %a1; ret; }}"""
    memory, value = np.array([start], np.uint64), np.array([operand], np.uint64)
    bench.run(bench.ptx(text), 1, 1, memory, value)
    assert int(memory[0]) == want and int(value[0]) == start


@pytest.mark.parametrize(("compare", "want"), [(5, 9), (6, 5)])
@pytest.mark.parametrize("width", [16, 32, 64])
def test_compare_and_swap(bench, width, compare, want):
    text = f""".version 8.0\n.target sm_80\n.address_size 64
        .visible .entry k(.param .u64 p, .param .u64 c) {{ .reg .b64 %p, %c<2>; .reg .b{width} %a<3>;
        ld.param.u64 %p, [p]; ld.param.u64 %c1, [c]; cvt.u{width}.u64 %a0, %c1;
        atom.global.cas.b{width} %a1, [%p], %a0, 9; ret; }}"""
    memory = np.array([5], np.uint64)
    bench.run(bench.ptx(text), 1, 1, memory, np.uint64(compare))
    assert int(memory[0]) == want


def test_testp_and_special_registers(bench):
    kinds = ["finite", "infinite", "number", "notanumber", "normal", "subnormal"]
    values = np.array([1.0, INF, -INF, NAN, 1e-40, 0.0], np.float32)
    body = "".join(
        f"testp.{k}.f32 %p, %f; selp.u32 %r, 1, 0, %p; st.global.u32 [%o+{4 * i}], %r;\n"
        for i, k in enumerate(kinds)
    )
    text = f""".version 8.0\n.target sm_80\n.address_size 64
        .visible .entry k(.param .u64 v, .param .u64 out) {{ .reg .b64 %v, %o, %w; .reg .b32 %f, %r; .reg .pred %p;
        ld.param.u64 %v, [v]; ld.param.u64 %o, [out]; mov.u32 %r, %ctaid.x; mul.wide.u32 %w, %r, 4; add.u64 %v, %v, %w;
        mul.wide.u32 %w, %r, 24; add.u64 %o, %o, %w; ld.global.b32 %f, [%v]; {body} ret; }}"""
    out = np.zeros((6, 6), np.uint32)
    bench.run(bench.ptx(text), 6, 1, values, out)
    want = [
        [1, 0, 1, 0, 1, 0],
        [0, 1, 1, 0, 0, 0],
        [0, 1, 1, 0, 0, 0],
        [0, 0, 0, 1, 0, 0],
        [1, 0, 1, 0, 0, 1],
        [1, 0, 1, 0, 0, 0],
    ]
    assert out.tolist() == want

/* Instructions of PTX that LLVM has no word for. Linked into each kernel's module and inlined.
 *
 * Values are passed as bits. Rounding modes: 0 nearest even, 1 to zero, 2 down, 3 up.
 */
#include "abi.h"

#define INLINE __attribute__((always_inline))
enum { RN, RZ, RM, RP, RNA };
enum { CANONICAL_NAN32 = 0x7fffffff };

static inline u64 bits64(double x) { return __builtin_bit_cast(u64, x); }
static inline double real64(u64 x) { return __builtin_bit_cast(double, x); }
static inline u32 bits32(float x) { return __builtin_bit_cast(u32, x); }
static inline float real32(u32 x) { return __builtin_bit_cast(float, x); }

/* Bits */

INLINE u64 px_bfe_u(u64 a, u32 position, u32 length, u32 width) {
  position &= 255, length &= 255;
  if (!length || position >= width) return 0;
  u64 value = a >> position;
  return length >= 64 ? value : value & ((1ull << length) - 1);
}

/* `a` is sign-extended to 64 bits. Bits past the end are copies of the field's sign. */
INLINE u64 px_bfe_s(u64 a, u32 position, u32 length, u32 width) {
  position &= 255, length &= 255;
  if (!length) return 0;
  u32 last = position + length - 1 < width - 1 ? position + length - 1 : width - 1;
  u64 sign = a >> last & 1 ? ~0ull : 0;
  u64 field = position >= width ? sign : (u64)((i64)a >> position);
  return length >= 64 ? field : (field & ((1ull << length) - 1)) | sign << length;
}

INLINE u64 px_bfi(u64 a, u64 b, u32 position, u32 length, u32 width) {
  position &= 255, length &= 255;
  if (!length || position >= width) return b;
  u64 mask = (length >= 64 ? ~0ull : (1ull << length) - 1) << position;
  return (b & ~mask) | (a << position & mask);
}

INLINE u32 px_bfind(u64 a, u32 width, u32 shift_amount) {
  if (!a) return ~0u;
  u32 top = 63 - (u32)__builtin_clzll(a);
  return shift_amount ? width - 1 - top : top;
}

INLINE u32 px_fns(u32 mask, u32 base, i32 offset) {
  base &= 31;
  i32 step = offset < 0 ? -1 : 1, left = offset < 0 ? -offset : offset;
  if (!left) return mask >> base & 1 ? base : ~0u;
  for (i32 i = (i32)base; i >= 0 && i < 32; i += step)
    if (mask >> i & 1 && !--left) return (u32)i;
  return ~0u;
}

static inline u32 pick(u64 bytes, u32 selector) {
  u32 byte = (u32)(bytes >> (8 * (selector & 7))) & 255;
  return selector & 8 ? (byte & 128 ? 255 : 0) : byte;
}

INLINE u32 px_prmt(u32 a, u32 b, u32 c) {
  u64 bytes = (u64)b << 32 | a;
  return pick(bytes, c) | pick(bytes, c >> 4) << 8 | pick(bytes, c >> 8) << 16 | pick(bytes, c >> 12) << 24;
}

/* The special modes: f4e, b4e, rc8, ecl, ecr, rc16. */
INLINE u32 px_prmt_mode(u32 a, u32 b, u32 c, u32 mode) {
  static const u16 table[6][4] = {
      {0x3210, 0x4321, 0x5432, 0x6543}, {0x5670, 0x6701, 0x7012, 0x0123}, {0x0000, 0x1111, 0x2222, 0x3333},
      {0x3210, 0x3211, 0x3222, 0x3333}, {0x0000, 0x1110, 0x2210, 0x3210}, {0x1010, 0x3232, 0x1010, 0x3232}};
  return px_prmt(a, b, table[mode][c & 3]);
}

static inline i64 byte_of(u32 a, u32 index, u32 is_signed) {
  u32 byte = a >> (8 * index) & 255;
  return is_signed ? (i8)byte : (i64)byte;
}

INLINE u32 px_dp4a(u32 a, u32 b, u32 c, u32 a_signed, u32 b_signed) {
  i64 total = 0;
  for (u32 i = 0; i < 4; i++) total += byte_of(a, i, a_signed) * byte_of(b, i, b_signed);
  return c + (u32)total;
}

INLINE u32 px_dp2a(u32 a, u32 b, u32 c, u32 a_signed, u32 b_signed, u32 high) {
  i64 total = 0;
  for (u32 i = 0; i < 2; i++) {
    i64 half = a_signed ? (i16)(a >> (16 * i)) : (i64)(a >> (16 * i) & 65535);
    total += half * byte_of(b, i + 2 * high, b_signed);
  }
  return c + (u32)total;
}

/* Lane arithmetic of shfl: the source lane, and bit 32 if it is in range. Modes: up, down, bfly, idx. */
INLINE u64 px_shfl_source(u32 lane, u32 mode, u32 b, u32 c) {
  u32 segment = c >> 8 & 31, clamp = c & 31, low = lane & segment, high = low | (clamp & ~segment);
  i32 source;
  u32 good;
  b &= 31;
  switch (mode) {
    case 0: source = (i32)lane - (i32)b, good = source >= (i32)high; break;
    case 1: source = (i32)(lane + b), good = source <= (i32)high; break;
    case 2: source = (i32)(lane ^ b), good = source <= (i32)high; break;
    default: source = (i32)(low | (b & ~segment)), good = source <= (i32)high;
  }
  return (u64)good << 32 | (good ? (u32)source : lane);
}

/* Rounding */

/* Encode a double with `digits` binary digits and exponents emin..emax. */
static inline u32 narrow(double x, u32 digits, i32 emin, i32 emax, u32 mode) {
  u64 bits = bits64(x), m = bits & ((1ull << 52) - 1);
  u32 negative = (u32)(bits >> 63), bias = (u32)(emax - emin + 2);
  i32 e = (i32)(bits >> 52 & 2047);
  u32 top = digits - 1, infinity = bias << top;
  u32 sign = negative << (top + (u32)(32 - __builtin_clz(bias)));
  if (e == 2047) return m ? (digits == 24 ? 0x7fffffff : 0x7fff) : sign | infinity;
  if (e) m |= 1ull << 52;
  else e = 1;
  e -= 1023;
  i32 floor = e > emin ? e : emin;
  i32 shift = floor - (i32)top - (e - 52);
  if (shift > 60) shift = 60;
  u64 kept = m >> shift, rest = m & ((1ull << shift) - 1), half = 1ull << (shift - 1);
  u32 up = mode == RN ? rest > half || (rest == half && kept & 1)
           : mode == RNA ? rest >= half
           : mode == RM ? rest && negative
           : mode == RP ? rest && !negative : 0;
  u64 result = ((u64)(u32)(floor - emin + 1) << top) + kept + up - (1ull << top);
  if (result >= infinity) {
    u32 stays = mode == RZ || (mode == RM && !negative) || (mode == RP && negative);
    result = stays ? infinity - 1 : infinity;
  }
  return sign | (u32)result;
}

/* Round a sum, known as its nearest double and the sign of what is missing, to odd. */
static inline double odd(double nearest, double missing) {
  u64 bits = bits64(nearest);
  if (missing == 0 || missing != missing || (bits >> 52 & 2047) == 2047) return nearest;
  if ((missing < 0) != (nearest < 0)) bits--;
  return real64(bits | 1);
}

static inline double two_sum(double a, double b) {
  double s = a + b, t = s - a;
  return odd(s, (a - (s - t)) + (b - t));
}

INLINE u32 px_f64_f32(double x, u32 mode) { return narrow(x, 24, -126, 127, mode); }
INLINE u32 px_f64_f16(double x, u32 mode) { return narrow(x, 11, -14, 15, mode); }
INLINE u32 px_f64_bf16(double x, u32 mode) { return narrow(x, 8, -126, 127, mode); }
INLINE u32 px_add_f32(float a, float b, u32 mode) { return px_f64_f32(two_sum(a, b), mode); }
INLINE u32 px_mul_f32(float a, float b, u32 mode) { return px_f64_f32((double)a * b, mode); }
INLINE u32 px_fma_f32(float a, float b, float c, u32 mode) { return px_f64_f32(two_sum((double)a * b, c), mode); }
INLINE u32 px_div_f32(float a, float b, u32 mode) {
  double q = (double)a / b, rest = __builtin_fma(-q, b, a);
  return px_f64_f32(odd(q, b < 0 ? -rest : rest), mode);
}
INLINE u32 px_sqrt_f32(float a, u32 mode) {
  double q = __builtin_sqrt(a);
  return px_f64_f32(odd(q, __builtin_fma(-q, q, a)), mode);
}

INLINE double px_f16_f64(u32 h) {
  u32 e = h >> 10 & 31, m = h & 1023;
  u64 sign = (u64)(h >> 15 & 1) << 63;
  if (e == 31) return real64(sign | 0x7ff0000000000000ull | (u64)m << 42);
  double magnitude = e ? real64((u64)(e + 1008) << 52 | (u64)m << 42) : m * 0x1p-24;
  return real64(bits64(magnitude) | sign);
}

INLINE u32 px_fma_f16(u32 a, u32 b, u32 c) {
  return px_f64_f16(two_sum(px_f16_f64(a) * px_f16_f64(b), px_f16_f64(c)), RN);
}

static inline double bf16(u32 x) { return real32(x << 16); }

INLINE u32 px_fma_bf16(u32 a, u32 b, u32 c) { return px_f64_bf16(two_sum(bf16(a) * bf16(b), bf16(c)), RN); }

/* float -> tf32: ten digits after the point, the rest zero. */
INLINE u32 px_f32_tf32(float x, u32 mode) {
  u32 bits = bits32(x), low = bits & 0x1fff;
  if ((bits >> 23 & 255) == 255) return bits & 0x7fffff ? CANONICAL_NAN32 : bits;
  u32 up = mode == RN ? low > 0x1000 || (low == 0x1000 && bits >> 13 & 1) : mode == RNA ? low >= 0x1000 : 0;
  return (bits & ~0x1fffu) + (up << 13);
}

/* Integers of 64 bits to floating point: as an odd double, which rounds once more to f32 or
 * less, or in a directed mode. No 128-bit integers: their conversions are library calls. */
static inline double integer(u64 magnitude, u32 negative, u32 mode, u32 to_odd) {
  i32 shift = magnitude ? 11 - __builtin_clzll(magnitude) : 0;
  double value;
  if (shift <= 0) value = (double)magnitude;
  else {
    u64 kept = magnitude >> shift, rest = magnitude & ((1ull << shift) - 1);
    if (to_odd) kept |= rest != 0;
    else if (rest && (mode == RP ? !negative : mode == RM ? negative : 0)) kept++;
    value = (double)kept * (double)(1ull << shift);
  }
  return negative ? -value : value;
}
static inline u64 magnitude(i64 x) { return x < 0 ? 0 - (u64)x : (u64)x; }

INLINE double px_s64_f64(i64 x, u32 mode) { return integer(magnitude(x), x < 0, mode, 0); }
INLINE double px_u64_f64(u64 x, u32 mode) { return integer(x, 0, mode, 0); }
INLINE double px_s64_f64_odd(i64 x) { return integer(magnitude(x), x < 0, RN, 1); }
INLINE double px_u64_f64_odd(u64 x) { return integer(x, 0, RN, 1); }
INLINE u32 px_s64_f32(i64 x, u32 mode) { return px_f64_f32(px_s64_f64_odd(x), mode); }
INLINE u32 px_u64_f32(u64 x, u32 mode) { return px_f64_f32(px_u64_f64_odd(x), mode); }

/* f64 in a directed mode: by the C library, whose numbers for the modes come from Python. */
int fesetround(int);
#define DIRECTED(name, parameters, loads, expression)                         \
  __attribute__((noinline)) double name parameters {                          \
    loads fesetround(mode);                                                   \
    volatile double r = expression;                                           \
    fesetround(0);                                                            \
    return r;                                                                 \
  }
DIRECTED(px_add_f64, (double a, double b, int mode), volatile double x = a; volatile double y = b;, x + y)
DIRECTED(px_mul_f64, (double a, double b, int mode), volatile double x = a; volatile double y = b;, x * y)
DIRECTED(px_div_f64, (double a, double b, int mode), volatile double x = a; volatile double y = b;, x / y)
DIRECTED(px_sqrt_f64, (double a, int mode), volatile double x = a;, __builtin_sqrt(x))
DIRECTED(px_fma_f64, (double a, double b, double c, int mode),
         volatile double x = a; volatile double y = b; volatile double z = c;, __builtin_fma(x, y, z))

/* Minimum and maximum: the other operand of a NaN, and -0 below +0. */
#define EXTREME(name, type, to_bits, of_bits, nan, less, zero)               \
  INLINE type name(type a, type b) {                                          \
    if (a != a) return b != b ? of_bits(nan) : b;                             \
    if (b != b) return a;                                                     \
    if (a == b) return of_bits(to_bits(a) zero to_bits(b));                   \
    return a less b ? a : b;                                                  \
  }
EXTREME(px_min_f32, float, bits32, real32, CANONICAL_NAN32, <, |)
EXTREME(px_max_f32, float, bits32, real32, CANONICAL_NAN32, >, &)
EXTREME(px_min_f64, double, bits64, real64, 0x7fffffffffffffffull, <, |)
EXTREME(px_max_f64, double, bits64, real64, 0x7fffffffffffffffull, >, &)

INLINE float px_ftz(float x) { return __builtin_fabsf(x) < 0x1p-126f ? __builtin_copysignf(0.0f, x) : x; }
INLINE float px_sat_f32(float x) { return x > 0.0f ? (x < 1.0f ? x : 1.0f) : 0.0f; }
INLINE double px_sat_f64(double x) { return x > 0.0 ? (x < 1.0 ? x : 1.0) : 0.0; }

/* Integer division as a GPU does it: nothing traps. */
#define DIVISION(width, s, u)                                                  \
  INLINE u px_div_u##width(u a, u b) { return b ? a / b : (u)-1; }             \
  INLINE u px_rem_u##width(u a, u b) { return b ? a % b : a; }                 \
  INLINE u px_div_s##width(u a, u b) { return !b ? (u)-1 : b == (u)-1 ? 0 - a : (u)((s)a / (s)b); } \
  INLINE u px_rem_s##width(u a, u b) { return !b ? a : b == (u)-1 ? 0 : (u)((s)a % (s)b); }
DIVISION(16, i16, u16)
DIVISION(32, i32, u32)
DIVISION(64, i64, u64)

INLINE void px_copy_async(u8 *to, const u8 *from, u32 size, u32 used) {
  for (u32 i = 0; i < size; i++) to[i] = i < used ? from[i] : 0;
}

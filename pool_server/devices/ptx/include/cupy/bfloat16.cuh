/* CuPy's class of 16 bits with float's exponent: arithmetic happens in float. */
#pragma once

#include <cuda_bf16.h>
#include <cupy/float16.cuh>

class bfloat16 {
 private:
  __nv_bfloat16 data_;

 public:
  __device__ bfloat16() {}
  __device__ bfloat16(float v) : data_(__float2bfloat16_rn(v)) {}
  explicit __device__ bfloat16(bool v) : data_(__float2bfloat16_rn(v ? 1.0f : 0.0f)) {}
  explicit __device__ bfloat16(double v) : data_(__double2bfloat16(v)) {}
  explicit __device__ bfloat16(int v) : data_(__int2bfloat16_rn(v)) {}
  explicit __device__ bfloat16(unsigned int v) : data_(__uint2bfloat16_rn(v)) {}
  explicit __device__ bfloat16(long v) : data_(__ll2bfloat16_rn(v)) {}
  explicit __device__ bfloat16(unsigned long v) : data_(__ull2bfloat16_rn(v)) {}
  explicit __device__ bfloat16(long long v) : data_(__ll2bfloat16_rn(v)) {}
  explicit __device__ bfloat16(unsigned long long v) : data_(__ull2bfloat16_rn(v)) {}
  explicit __device__ bfloat16(float16 v) : data_(__float2bfloat16_rn(float(v))) {}
  __device__ bfloat16(const __nv_bfloat16& v) : data_(v) {}

  __device__ operator float() const { return __bfloat162float(data_); }

  __device__ unsigned short to_bits() const { return __bfloat16_as_ushort(data_); }
  static __device__ bfloat16 from_bits(unsigned short bits) { return bfloat16(__ushort_as_bfloat16(bits)); }

  __device__ int iszero() const { return (to_bits() & 0x7fff) == 0; }
  __device__ int isnan() const { return (to_bits() & 0x7fff) > 0x7f80; }
  __device__ int isinf() const { return (to_bits() & 0x7fff) == 0x7f80; }
  __device__ int isfinite() const { return (to_bits() & 0x7f80) != 0x7f80; }
  __device__ int signbit() const { return to_bits() >> 15; }

  template <typename T> __device__ bfloat16& operator=(const T& v) { data_ = __float2bfloat16_rn(static_cast<float>(v)); return *this; }
  template <typename T> __device__ bfloat16& operator+=(const T& v) { return *this = float(*this) + static_cast<float>(v); }
  template <typename T> __device__ bfloat16& operator-=(const T& v) { return *this = float(*this) - static_cast<float>(v); }
  template <typename T> __device__ bfloat16& operator*=(const T& v) { return *this = float(*this) * static_cast<float>(v); }
  template <typename T> __device__ bfloat16& operator/=(const T& v) { return *this = float(*this) / static_cast<float>(v); }

  friend __device__ bfloat16 copysign(bfloat16 x, bfloat16 y) {
    return from_bits((x.to_bits() & 0x7fff) | (y.to_bits() & 0x8000));
  }

  friend __device__ bfloat16 nextafter(bfloat16 x, bfloat16 y) {
    if (x.isnan() || y.isnan()) return from_bits(0x7fc0);
    if (float(x) == float(y)) return y;
    if (x.iszero()) return from_bits((y.to_bits() & 0x8000) | 1);
    const bool away = (float(x) < float(y)) != (x.signbit() != 0);
    return from_bits(static_cast<unsigned short>(x.to_bits() + (away ? 1 : -1)));
  }
};

__device__ inline bfloat16 min(bfloat16 x, bfloat16 y) { return bfloat16(min(float(x), float(y))); }
__device__ inline bfloat16 max(bfloat16 x, bfloat16 y) { return bfloat16(max(float(x), float(y))); }
__device__ inline bfloat16 fmin(bfloat16 x, bfloat16 y) { return bfloat16(fmin(float(x), float(y))); }
__device__ inline bfloat16 fmax(bfloat16 x, bfloat16 y) { return bfloat16(fmax(float(x), float(y))); }
__device__ inline int iszero(bfloat16 x) { return x.iszero(); }
__device__ inline int isnan(bfloat16 x) { return x.isnan(); }
__device__ inline int isinf(bfloat16 x) { return x.isinf(); }
__device__ inline int isfinite(bfloat16 x) { return x.isfinite(); }
__device__ inline int signbit(bfloat16 x) { return x.signbit(); }

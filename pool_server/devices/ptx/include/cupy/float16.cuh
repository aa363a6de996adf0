/* CuPy's 16-bit floating-point class: arithmetic happens in float. */
#pragma once

#include <cuda_fp16.h>

class float16 {
 private:
  half data_;

 public:
  __device__ float16() {}
  __device__ float16(float v) : data_(__float2half_rn(v)) {}
  explicit __device__ float16(bool v) : data_(__float2half_rn(v ? 1.0f : 0.0f)) {}
  explicit __device__ float16(double v) : data_(__double2half(v)) {}
  explicit __device__ float16(int v) : data_(__int2half_rn(v)) {}
  explicit __device__ float16(unsigned int v) : data_(__uint2half_rn(v)) {}
  explicit __device__ float16(long v) : data_(__ll2half_rn(v)) {}
  explicit __device__ float16(unsigned long v) : data_(__ull2half_rn(v)) {}
  explicit __device__ float16(long long v) : data_(__ll2half_rn(v)) {}
  explicit __device__ float16(unsigned long long v) : data_(__ull2half_rn(v)) {}
  explicit __device__ float16(const half& v) : data_(v) {}
  explicit __device__ float16(const __half_raw& v) : data_(v) {}

  __device__ operator float() const { return __half2float(data_); }

  __device__ unsigned short to_bits() const { return __half_as_ushort(data_); }
  static __device__ float16 from_bits(unsigned short bits) { return float16(__ushort_as_half(bits)); }

  __device__ int iszero() const { return (to_bits() & 0x7fff) == 0; }
  __device__ int isnan() const { return (to_bits() & 0x7fff) > 0x7c00; }
  __device__ int isinf() const { return (to_bits() & 0x7fff) == 0x7c00; }
  __device__ int isfinite() const { return (to_bits() & 0x7c00) != 0x7c00; }
  __device__ int signbit() const { return to_bits() >> 15; }

  template <typename T> __device__ float16& operator=(const T& v) { data_ = __float2half_rn(static_cast<float>(v)); return *this; }
  template <typename T> __device__ float16& operator+=(const T& v) { return *this = float(*this) + static_cast<float>(v); }
  template <typename T> __device__ float16& operator-=(const T& v) { return *this = float(*this) - static_cast<float>(v); }
  template <typename T> __device__ float16& operator*=(const T& v) { return *this = float(*this) * static_cast<float>(v); }
  template <typename T> __device__ float16& operator/=(const T& v) { return *this = float(*this) / static_cast<float>(v); }

  friend __device__ float16 copysign(float16 x, float16 y) {
    return from_bits((x.to_bits() & 0x7fff) | (y.to_bits() & 0x8000));
  }

  friend __device__ float16 nextafter(float16 x, float16 y) {
    if (x.isnan() || y.isnan()) return from_bits(0x7e00);
    if (float(x) == float(y)) return y;
    if (x.iszero()) return from_bits((y.to_bits() & 0x8000) | 1);
    const bool away = (float(x) < float(y)) != (x.signbit() != 0);
    return from_bits(static_cast<unsigned short>(x.to_bits() + (away ? 1 : -1)));
  }
};

__device__ inline float16 min(float16 x, float16 y) { return float16(min(float(x), float(y))); }
__device__ inline float16 max(float16 x, float16 y) { return float16(max(float(x), float(y))); }
__device__ inline float16 fmin(float16 x, float16 y) { return float16(fmin(float(x), float(y))); }
__device__ inline float16 fmax(float16 x, float16 y) { return float16(fmax(float(x), float(y))); }
__device__ inline int iszero(float16 x) { return x.iszero(); }
__device__ inline int isnan(float16 x) { return x.isnan(); }
__device__ inline int isinf(float16 x) { return x.isinf(); }
__device__ inline int isfinite(float16 x) { return x.isfinite(); }
__device__ inline int signbit(float16 x) { return x.signbit(); }

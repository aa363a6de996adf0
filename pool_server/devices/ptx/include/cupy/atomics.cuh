/* Atomic operations that CuPy adds to CUDA's: float16 and 64-bit sums, extremes of real numbers. */
#pragma once

#include <cupy/float16.cuh>

__device__ inline long long atomicAdd(long long* address, long long value) {
  return static_cast<long long>(
      atomicAdd(reinterpret_cast<unsigned long long*>(address), static_cast<unsigned long long>(value)));
}

__device__ inline float16 atomicAdd(float16* address, float16 value) {
  return float16(atomicAdd(reinterpret_cast<half*>(address), __float2half_rn(float(value))));
}

namespace cupy {
namespace atomics {

__device__ inline unsigned int bits(float v) { return __float_as_uint(v); }
__device__ inline unsigned long long bits(double v) { return static_cast<unsigned long long>(__double_as_longlong(v)); }
__device__ inline float real(unsigned int v) { return __uint_as_float(v); }
__device__ inline double real(unsigned long long v) { return __longlong_as_double(static_cast<long long>(v)); }

/* Replace *address by `value` while `better` says so; a NaN in memory stays. */
template <typename T, typename U, typename F>
__device__ T replace(T* address, T value, U*, F better) {
  U* word = reinterpret_cast<U*>(address);
  U old = *word;
  while (better(value, real(old))) {
    const U seen = old;
    old = atomicCAS(word, seen, bits(value));
    if (old == seen) break;
  }
  return real(old);
}

struct Greater { template <typename T> __device__ bool operator()(T a, T b) const { return a > b; } };
struct Less { template <typename T> __device__ bool operator()(T a, T b) const { return a < b; } };

}  // namespace atomics
}  // namespace cupy

__device__ inline float atomicMax(float* a, float v) { return cupy::atomics::replace(a, v, (unsigned int*)0, cupy::atomics::Greater()); }
__device__ inline float atomicMin(float* a, float v) { return cupy::atomics::replace(a, v, (unsigned int*)0, cupy::atomics::Less()); }
__device__ inline double atomicMax(double* a, double v) { return cupy::atomics::replace(a, v, (unsigned long long*)0, cupy::atomics::Greater()); }
__device__ inline double atomicMin(double* a, double v) { return cupy::atomics::replace(a, v, (unsigned long long*)0, cupy::atomics::Less()); }

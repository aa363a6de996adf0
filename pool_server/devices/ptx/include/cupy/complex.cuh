/* Complex numbers: thrust::complex's interface, also as plain `complex`. */
#pragma once

#include <cupy/complex/arithmetic.cuh>
#include <cupy/complex/functions.cuh>

using thrust::abs;
using thrust::acos;
using thrust::acosh;
using thrust::arg;
using thrust::asin;
using thrust::asinh;
using thrust::atan;
using thrust::atanh;
using thrust::complex;
using thrust::conj;
using thrust::cos;
using thrust::cosh;
using thrust::exp;
using thrust::imag;
using thrust::log;
using thrust::log10;
using thrust::norm;
using thrust::polar;
using thrust::pow;
using thrust::proj;
using thrust::real;
using thrust::sin;
using thrust::sinh;
using thrust::sqrt;
using thrust::tan;
using thrust::tanh;

template <typename T> __host__ __device__ bool isnan(complex<T> z) { return isnan(z.real()) || isnan(z.imag()); }
template <typename T> __host__ __device__ bool isinf(complex<T> z) { return isinf(z.real()) || isinf(z.imag()); }
template <typename T> __host__ __device__ bool isfinite(complex<T> z) { return isfinite(z.real()) && isfinite(z.imag()); }
template <typename T> __host__ __device__ complex<T> log1p(complex<T> z) { return log(z + T(1)); }
template <typename T> __host__ __device__ complex<T> log2(complex<T> z) { return log(z) / log(T(2)); }
template <typename T> __host__ __device__ complex<T> expm1(complex<T> z) { return exp(z) - T(1); }

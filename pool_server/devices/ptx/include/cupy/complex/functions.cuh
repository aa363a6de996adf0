/* Elementary functions. The inverse ones follow W. Kahan, "Branch Cuts for Complex Elementary
 * Functions" (1987): square roots of 1 - z and 1 + z keep the signs of zeros and the digits. */
#pragma once

#include <cupy/complex/arithmetic.cuh>

namespace thrust {

/* CUDA's own functions of real numbers stay visible beside those below. */
using ::abs;
using ::acos;
using ::acosh;
using ::asin;
using ::asinh;
using ::atan;
using ::atanh;
using ::cos;
using ::cosh;
using ::exp;
using ::log;
using ::log10;
using ::pow;
using ::sin;
using ::sinh;
using ::sqrt;
using ::tan;
using ::tanh;

#define CUPY_COMPLEX template <typename T> __host__ __device__

CUPY_COMPLEX T real(const complex<T>& z) { return z.real(); }
CUPY_COMPLEX T imag(const complex<T>& z) { return z.imag(); }
CUPY_COMPLEX T abs(const complex<T>& z) { return hypot(z.real(), z.imag()); }
CUPY_COMPLEX T arg(const complex<T>& z) { return atan2(z.imag(), z.real()); }
CUPY_COMPLEX T norm(const complex<T>& z) { return z.real() * z.real() + z.imag() * z.imag(); }
CUPY_COMPLEX complex<T> conj(const complex<T>& z) { return complex<T>(z.real(), -z.imag()); }
CUPY_COMPLEX complex<T> polar(const T& r, const T& theta = T()) { return complex<T>(r * cos(theta), r * sin(theta)); }
CUPY_COMPLEX complex<T> proj(const complex<T>& z) {
  if (!isinf(z.real()) && !isinf(z.imag())) return z;
  return complex<T>(T(1) / T(0), copysign(T(0), z.imag()));
}

CUPY_COMPLEX complex<T> exp(const complex<T>& z) {
  const T x = z.real(), y = z.imag();
  if (y == T(0)) return complex<T>(exp(x), y);
  if (isinf(x) && !isfinite(y)) return x < T(0) ? complex<T>(T(0), T(0)) : complex<T>(x, y - y);
  if (x > T(88) && isfinite(x)) { /* in two steps: e^x may overflow where e^x cos y does not */
    const T half = exp(x / T(2));
    return complex<T>(half * cos(y) * half, half * sin(y) * half);
  }
  const T m = exp(x);
  return complex<T>(m * cos(y), m * sin(y));
}

CUPY_COMPLEX complex<T> log(const complex<T>& z) {
  const T ax = fabs(z.real()), ay = fabs(z.imag()), large = ax > ay ? ax : ay, small = ax > ay ? ay : ax;
  T modulus;
  if (large > T(0.5) && large < T(2)) /* near 1: |z|^2 - 1 without losing digits */
    modulus = log1p((large - T(1)) * (large + T(1)) + small * small) / T(2);
  else
    modulus = log(hypot(ax, ay));
  return complex<T>(modulus, arg(z));
}

CUPY_COMPLEX complex<T> log10(const complex<T>& z) {
  const complex<T> l = log(z);
  const T scale = T(0.43429448190325182765);
  return complex<T>(l.real() * scale, l.imag() * scale);
}

CUPY_COMPLEX complex<T> sqrt(const complex<T>& z) {
  const T x = z.real(), y = z.imag();
  if (x == T(0) && y == T(0)) return complex<T>(T(0), y);
  if (isinf(y)) return complex<T>(fabs(y), y);
  if (isinf(x)) return x > T(0) ? complex<T>(x, isnan(y) ? y : copysign(T(0), y)) : complex<T>(isnan(y) ? y : T(0), copysign(x, y));
  const T ax = fabs(x) / T(8), ay = fabs(y) / T(8); /* so that the sum does not overflow */
  const T r = T(2) * sqrt(ax + hypot(ax, ay));
  if (x >= T(0)) return complex<T>(r, y / (T(2) * r));
  return complex<T>(fabs(y) / (T(2) * r), copysign(r, y));
}

CUPY_COMPLEX complex<T> sinh(const complex<T>& z) {
  const T x = z.real(), y = z.imag();
  if (y == T(0)) return complex<T>(sinh(x), y);
  return complex<T>(x == T(0) ? x : sinh(x) * cos(y), cosh(x) * sin(y));
}
CUPY_COMPLEX complex<T> cosh(const complex<T>& z) {
  const T x = z.real(), y = z.imag();
  if (y == T(0)) return complex<T>(cosh(x), x * y);
  return complex<T>(cosh(x) * cos(y), x == T(0) ? x * y : sinh(x) * sin(y));
}
CUPY_COMPLEX complex<T> tanh(const complex<T>& z) {
  const T x = z.real(), y = z.imag();
  if (fabs(x) > T(22)) {
    const T small = isinf(x) ? T(0) : exp(T(-2) * fabs(x));
    return complex<T>(copysign(T(1), x), isfinite(y) ? T(4) * sin(y) * cos(y) * small : copysign(T(0), y));
  }
  const T t = tan(y), beta = T(1) + t * t, s = sinh(x), rho = sqrt(T(1) + s * s);
  if (isinf(t)) return complex<T>(rho / s, T(1) / t);
  const T bottom = T(1) + beta * s * s;
  return complex<T>(beta * rho * s / bottom, t / bottom);
}

namespace complex_detail {
CUPY_COMPLEX complex<T> times_i(const complex<T>& z) { return complex<T>(-z.imag(), z.real()); }
CUPY_COMPLEX complex<T> over_i(const complex<T>& z) { return complex<T>(z.imag(), -z.real()); }
}  // namespace complex_detail

CUPY_COMPLEX complex<T> sin(const complex<T>& z) { return complex_detail::over_i(sinh(complex_detail::times_i(z))); }
CUPY_COMPLEX complex<T> cos(const complex<T>& z) { return cosh(complex_detail::times_i(z)); }
CUPY_COMPLEX complex<T> tan(const complex<T>& z) { return complex_detail::over_i(tanh(complex_detail::times_i(z))); }

CUPY_COMPLEX complex<T> asin(const complex<T>& z) {
  const complex<T> a = sqrt(complex<T>(T(1) - z.real(), -z.imag())), b = sqrt(complex<T>(T(1) + z.real(), z.imag()));
  return complex<T>(atan2(z.real(), a.real() * b.real() - a.imag() * b.imag()), asinh(a.real() * b.imag() - a.imag() * b.real()));
}
CUPY_COMPLEX complex<T> acos(const complex<T>& z) {
  const complex<T> a = sqrt(complex<T>(T(1) - z.real(), -z.imag())), b = sqrt(complex<T>(T(1) + z.real(), z.imag()));
  return complex<T>(T(2) * atan2(a.real(), b.real()), asinh(b.real() * a.imag() - b.imag() * a.real()));
}
CUPY_COMPLEX complex<T> acosh(const complex<T>& z) {
  const complex<T> a = sqrt(complex<T>(z.real() - T(1), z.imag())), b = sqrt(complex<T>(z.real() + T(1), z.imag()));
  return complex<T>(asinh(a.real() * b.real() + a.imag() * b.imag()), T(2) * atan2(a.imag(), b.real()));
}
CUPY_COMPLEX complex<T> asinh(const complex<T>& z) { return complex_detail::over_i(asin(complex_detail::times_i(z))); }
CUPY_COMPLEX complex<T> atanh(const complex<T>& z) {
  const T x = z.real(), y = z.imag();
  if (fabs(x) > T(1e8) || fabs(y) > T(1e8)) { /* 1/z, and a quarter turn */
    const complex<T> inverse = complex_detail::divide(complex<T>(T(1)), z);
    return complex<T>(inverse.real(), copysign(T(1.57079632679489661923), y));
  }
  const T a = fabs(x), below = T(1) - a;
  const T re = log1p(T(4) * a / (below * below + y * y)) / T(4);
  return complex<T>(copysign(re, x), atan2(T(2) * y, below * (T(1) + a) - y * y) / T(2));
}
CUPY_COMPLEX complex<T> atan(const complex<T>& z) { return complex_detail::over_i(atanh(complex_detail::times_i(z))); }

template <typename A, typename B>
__host__ __device__ complex<typename complex_detail::promote<A, B>::type> pow(const complex<A>& x, const complex<B>& y) {
  typedef typename complex_detail::promote<A, B>::type T;
  return exp(log(complex<T>(x)) * complex<T>(y));
}
template <typename A, typename B>
__host__ __device__ complex<typename complex_detail::mixed<A, B>::type> pow(const complex<A>& x, const B& y) {
  typedef typename complex_detail::mixed<A, B>::type T;
  return exp(log(complex<T>(x)) * static_cast<T>(y));
}
template <typename A, typename B>
__host__ __device__ complex<typename complex_detail::mixed<B, A>::type> pow(const A& x, const complex<B>& y) {
  typedef typename complex_detail::mixed<B, A>::type T;
  return exp(log(complex<T>(static_cast<T>(x))) * complex<T>(y));
}

#undef CUPY_COMPLEX

}  // namespace thrust

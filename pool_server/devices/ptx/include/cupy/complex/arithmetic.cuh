/* The class, its operators and comparisons. */
#pragma once

namespace thrust {

template <typename T> class complex;

namespace complex_detail {
/* The type that an operation on two real types gives. */
template <typename A, typename B> struct promote { typedef decltype(A() + B()) type; };
template <typename A> struct promote<A, A> { typedef A type; };
template <typename T> struct is_real { static const bool value = false; };
#define CUPY_COMPLEX_REAL(type) template <> struct is_real<type> { static const bool value = true; };
CUPY_COMPLEX_REAL(bool) CUPY_COMPLEX_REAL(char) CUPY_COMPLEX_REAL(signed char) CUPY_COMPLEX_REAL(unsigned char)
CUPY_COMPLEX_REAL(short) CUPY_COMPLEX_REAL(unsigned short) CUPY_COMPLEX_REAL(int) CUPY_COMPLEX_REAL(unsigned int)
CUPY_COMPLEX_REAL(long) CUPY_COMPLEX_REAL(unsigned long) CUPY_COMPLEX_REAL(long long)
CUPY_COMPLEX_REAL(unsigned long long) CUPY_COMPLEX_REAL(float) CUPY_COMPLEX_REAL(double)
#undef CUPY_COMPLEX_REAL
template <bool B, typename T> struct enable {};
template <typename T> struct enable<true, T> { typedef T type; };
/* complex<T> op scalar: an integer takes the complex number's own type. */
template <typename T, typename S, bool Real = is_real<S>::value> struct mixed {};
template <typename T, typename S> struct mixed<T, S, true> { typedef typename promote<T, S>::type type; };
}  // namespace complex_detail

template <typename T>
class alignas(2 * sizeof(T)) complex {
 public:
  typedef T value_type;

 private:
  T re_, im_;

 public:
  complex() = default;
  __host__ __device__ complex(const T& re) : re_(re), im_(T()) {}
  __host__ __device__ complex(const T& re, const T& im) : re_(re), im_(im) {}
  template <typename R, typename = typename complex_detail::enable<complex_detail::is_real<R>::value, int>::type>
  __host__ __device__ complex(const R& re) : re_(static_cast<T>(re)), im_(T()) {}
  template <typename R, typename I, typename = typename complex_detail::enable<complex_detail::is_real<R>::value && complex_detail::is_real<I>::value, int>::type>
  __host__ __device__ complex(const R& re, const I& im) : re_(static_cast<T>(re)), im_(static_cast<T>(im)) {}
  template <typename U> __host__ __device__ complex(const complex<U>& z) : re_(static_cast<T>(z.real())), im_(static_cast<T>(z.imag())) {}

  __host__ __device__ T real() const { return re_; }
  __host__ __device__ T imag() const { return im_; }
  __host__ __device__ T real() const volatile { return re_; }
  __host__ __device__ T imag() const volatile { return im_; }
  __host__ __device__ void real(T v) { re_ = v; }
  __host__ __device__ void imag(T v) { im_ = v; }

  __host__ __device__ complex& operator=(const T& v) { re_ = v; im_ = T(); return *this; }
  template <typename U> __host__ __device__ complex& operator=(const complex<U>& z) { re_ = static_cast<T>(z.real()); im_ = static_cast<T>(z.imag()); return *this; }
  template <typename U> __host__ __device__ complex& operator+=(const U& v) { return *this = complex(*this + v); }
  template <typename U> __host__ __device__ complex& operator-=(const U& v) { return *this = complex(*this - v); }
  template <typename U> __host__ __device__ complex& operator*=(const U& v) { return *this = complex(*this * v); }
  template <typename U> __host__ __device__ complex& operator/=(const U& v) { return *this = complex(*this / v); }
};

template <typename T> __host__ __device__ complex<T> operator+(const complex<T>& z) { return z; }
template <typename T> __host__ __device__ complex<T> operator-(const complex<T>& z) { return complex<T>(-z.real(), -z.imag()); }

namespace complex_detail {
template <typename T> __host__ __device__ complex<T> multiply(const complex<T>& a, const complex<T>& b) {
  return complex<T>(a.real() * b.real() - a.imag() * b.imag(), a.real() * b.imag() + a.imag() * b.real());
}
/* Scaled, so that large or small parts neither overflow nor vanish. */
template <typename T> __host__ __device__ complex<T> divide(const complex<T>& a, const complex<T>& b) {
  const T scale = T(1) / (fabs(b.real()) + fabs(b.imag()));
  const T ar = a.real() * scale, ai = a.imag() * scale, br = b.real() * scale, bi = b.imag() * scale;
  const T inverse = T(1) / (br * br + bi * bi);
  return complex<T>((ar * br + ai * bi) * inverse, (ai * br - ar * bi) * inverse);
}
}  // namespace complex_detail

#define CUPY_COMPLEX_OPERATOR(op, complex_complex, complex_real, real_complex)                                    \
  template <typename A, typename B>                                                                                \
  __host__ __device__ complex<typename complex_detail::promote<A, B>::type> operator op(const complex<A>& x, const complex<B>& y) { \
    typedef typename complex_detail::promote<A, B>::type T; const complex<T> a(x), b(y); return complex_complex; } \
  template <typename A, typename B>                                                                                \
  __host__ __device__ complex<typename complex_detail::mixed<A, B>::type> operator op(const complex<A>& x, const B& y) { \
    typedef typename complex_detail::mixed<A, B>::type T; const complex<T> a(x); const T b = static_cast<T>(y); return complex_real; } \
  template <typename A, typename B>                                                                                \
  __host__ __device__ complex<typename complex_detail::mixed<B, A>::type> operator op(const A& x, const complex<B>& y) { \
    typedef typename complex_detail::mixed<B, A>::type T; const T a = static_cast<T>(x); const complex<T> b(y); return real_complex; }
CUPY_COMPLEX_OPERATOR(+, complex<T>(a.real() + b.real(), a.imag() + b.imag()), complex<T>(a.real() + b, a.imag()), complex<T>(a + b.real(), b.imag()))
CUPY_COMPLEX_OPERATOR(-, complex<T>(a.real() - b.real(), a.imag() - b.imag()), complex<T>(a.real() - b, a.imag()), complex<T>(a - b.real(), -b.imag()))
CUPY_COMPLEX_OPERATOR(*, complex_detail::multiply(a, b), complex<T>(a.real() * b, a.imag() * b), complex<T>(a * b.real(), a * b.imag()))
CUPY_COMPLEX_OPERATOR(/, complex_detail::divide(a, b), complex<T>(a.real() / b, a.imag() / b), complex_detail::divide(complex<T>(a), b))
#undef CUPY_COMPLEX_OPERATOR

template <typename A, typename B> __host__ __device__ bool operator==(const complex<A>& a, const complex<B>& b) { return a.real() == b.real() && a.imag() == b.imag(); }
template <typename A, typename B> __host__ __device__ typename complex_detail::enable<complex_detail::is_real<B>::value, bool>::type operator==(const complex<A>& a, const B& b) { return a.real() == b && a.imag() == A(); }
template <typename A, typename B> __host__ __device__ typename complex_detail::enable<complex_detail::is_real<A>::value, bool>::type operator==(const A& a, const complex<B>& b) { return b == a; }
template <typename A, typename B> __host__ __device__ bool operator!=(const complex<A>& a, const complex<B>& b) { return !(a == b); }
template <typename A, typename B> __host__ __device__ typename complex_detail::enable<complex_detail::is_real<B>::value, bool>::type operator!=(const complex<A>& a, const B& b) { return !(a == b); }
template <typename A, typename B> __host__ __device__ typename complex_detail::enable<complex_detail::is_real<A>::value, bool>::type operator!=(const A& a, const complex<B>& b) { return !(b == a); }

namespace complex_detail {
/* NumPy's order: by the real part, then by the imaginary one. */
template <typename T> __host__ __device__ bool less(const complex<T>& a, const complex<T>& b) {
  return a.real() < b.real() || (a.real() == b.real() && a.imag() < b.imag());
}
}  // namespace complex_detail
template <typename T> __host__ __device__ bool operator<(const complex<T>& a, const complex<T>& b) { return complex_detail::less(a, b); }
template <typename T> __host__ __device__ bool operator>(const complex<T>& a, const complex<T>& b) { return complex_detail::less(b, a); }
template <typename T> __host__ __device__ bool operator<=(const complex<T>& a, const complex<T>& b) { return a == b || complex_detail::less(a, b); }
template <typename T> __host__ __device__ bool operator>=(const complex<T>& a, const complex<T>& b) { return a == b || complex_detail::less(b, a); }

}  // namespace thrust

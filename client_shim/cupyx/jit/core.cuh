// What every kernel of cupyx.jit begins with: arrays with shape and strides, tuples, arithmetic as
// NumPy defines it. Compiled by NVRTC; needs no other header.

namespace jit {

/* An array of N axes as a kernel sees it. Dense: elements are contiguous in C order. */
template <typename T, int N, bool Dense>
struct array {
  T* data;
  long long shape[N ? N : 1];
  long long strides[N ? N : 1];  // in bytes

  __device__ long long size() const {
    long long count = 1;
    for (int i = 0; i < N; ++i) count *= shape[i];
    return count;
  }

  template <typename... Index>
  __device__ T* address(Index... index) const {
    if constexpr (Dense && N == 1 && sizeof...(Index) == 1) {
      return data + (... + index);
    } else {
      const long long given[] = {static_cast<long long>(index)..., 0};
      long long bytes = 0;
      for (int i = 0; i < static_cast<int>(sizeof...(Index)); ++i) bytes += given[i] * strides[i];
      return reinterpret_cast<T*>(reinterpret_cast<char*>(data) + bytes);
    }
  }

  template <typename... Index>
  __device__ T& at(Index... index) const {
    return *address(index...);
  }

  /* The part of the array at the first indices: a view with fewer axes. */
  template <typename... Index>
  __device__ array<T, N - static_cast<int>(sizeof...(Index)), Dense> part(Index... index) const {
    constexpr int given = sizeof...(Index);
    array<T, N - given, Dense> view;
    view.data = address(index...);
    for (int i = given; i < N; ++i) {
      view.shape[i - given] = shape[i];
      view.strides[i - given] = strides[i];
    }
    return view;
  }
};

/* A place in an array of one axis that is not dense. */
template <typename T>
struct iterator {
  char* place;
  long long stride;  // in bytes

  __device__ T& operator*() const { return *reinterpret_cast<T*>(place); }
  __device__ T& operator[](long long i) const { return *reinterpret_cast<T*>(place + i * stride); }
  __device__ iterator operator+(long long n) const { return {place + n * stride, stride}; }
  __device__ iterator operator-(long long n) const { return {place - n * stride, stride}; }
  __device__ long long operator-(const iterator& o) const { return (place - o.place) / stride; }
  __device__ iterator& operator++() { place += stride; return *this; }
  __device__ iterator& operator--() { place -= stride; return *this; }
  __device__ bool operator==(const iterator& o) const { return place == o.place; }
  __device__ bool operator!=(const iterator& o) const { return place != o.place; }
};

template <typename T, bool Dense>
__device__ auto begin(const array<T, 1, Dense>& a) {
  if constexpr (Dense) return a.data;
  else return iterator<T>{reinterpret_cast<char*>(a.data), a.strides[0]};
}

template <typename T, bool Dense>
__device__ auto end(const array<T, 1, Dense>& a) {
  return begin(a) + a.shape[0];
}

template <typename... T>
struct tuple {};

template <typename First, typename... Others>
struct tuple<First, Others...> {
  First first;
  tuple<Others...> others;

  tuple() = default;
  __device__ tuple(First f, Others... o) : first(f), others(o...) {}
};

template <int I, typename First, typename... Others>
__device__ auto get(const tuple<First, Others...>& t) {
  if constexpr (I == 0) return t.first;
  else return get<I - 1>(t.others);
}

// ---------------------------------------------------------------- arithmetic

/* Integers: rounded down; 0 where the divisor is 0. */
template <typename T>
__device__ T floor_divide_int(T x, T y) {
  if (y == 0) return 0;
  T quotient = x / y;
  return quotient - (((x < 0) != (y < 0)) && quotient * y != x);
}

template <typename T>
__device__ T remainder_int(T x, T y) {
  return y == 0 ? T(0) : T(x - floor_divide_int(x, y) * y);
}

template <typename T>
__device__ T remainder_float(T x, T y) {
  T rest = fmod(x, y);
  if (rest != 0 && (rest < 0) != (y < 0)) rest += y;
  return rest == 0 ? copysign(T(0), y) : rest;
}

template <typename T>
__device__ T floor_divide_float(T x, T y) {
  if (y == 0) return x / y;
  T rest = fmod(x, y);
  T quotient = (x - rest) / y;
  if (rest != 0 && (rest < 0) != (y < 0)) quotient -= 1;
  if (quotient == 0) return copysign(T(0), x / y);
  T down = floor(quotient);
  return quotient - down > T(0.5) ? down + 1 : down;
}

template <typename T>
__device__ T power_int(T x, T y) {
  if (y < 0) {
    if (x == 1) return 1;
    if (x == T(-1)) return y & 1 ? T(-1) : T(1);
    return 0;
  }
  T result = 1;
  for (; y > 0; y >>= 1) {
    if (y & 1) result *= x;
    x *= x;
  }
  return result;
}

template <typename T>
__device__ T left_shift(T x, T y) {
  return y >= 0 && y < T(8 * sizeof(T)) ? T(x << y) : T(0);
}

template <typename T>
__device__ T right_shift(T x, T y) {
  return y >= 0 && y < T(8 * sizeof(T)) ? T(x >> y) : x < 0 ? T(-1) : T(0);
}

/* NaN where either operand is NaN, as NumPy's maximum and minimum. */
template <typename T>
__device__ T maximum(T x, T y) {
  return x != x ? x : y != y ? y : x > y ? x : y;
}

template <typename T>
__device__ T minimum(T x, T y) {
  return x != x ? x : y != y ? y : x < y ? x : y;
}

template <typename T>
__device__ T sign(T x) {
  return x != x ? x : T((x > T(0)) - (x < T(0)));
}

template <typename T>
__device__ T heaviside(T x, T y) {
  return x != x ? x : x == 0 ? y : x < 0 ? T(0) : T(1);
}

template <typename T>
__device__ T logaddexp(T x, T y) {
  if (x == y) return x + log(T(2));
  T high = maximum(x, y), low = minimum(x, y);
  return high != high ? high : high + log1p(exp(low - high));
}

template <typename T>
__device__ T gcd(T x, T y) {
  while (y != 0) {
    T rest = x % y;
    x = y;
    y = rest;
  }
  return x < 0 ? T(-x) : x;
}

template <typename T>
__device__ T lcm(T x, T y) {
  T divisor = gcd(x, y);
  if (divisor == 0) return 0;
  T result = x / divisor * y;
  return result < 0 ? T(-result) : result;
}

/* -1, 0 or 1: compares a signed with an unsigned number by their values. */
template <typename X, typename Y>
__device__ int order(X x, Y y) {
  if (x < X(0)) return -1;
  if (y < Y(0)) return 1;
  unsigned long long left = x, right = y;
  return (left > right) - (left < right);
}

/* Complex numbers are ordered by their real part, then by the imaginary one. */
template <typename C>
__device__ bool before(const C& x, const C& y) {
  return x.real() < y.real() || (x.real() == y.real() && x.imag() < y.imag());
}

template <typename C>
__device__ bool has_nan(const C& x) {
  return x.real() != x.real() || x.imag() != x.imag();
}

template <typename C>
__device__ C maximum_complex(const C& x, const C& y) {
  return has_nan(x) ? x : has_nan(y) ? y : before(x, y) ? y : x;
}

template <typename C>
__device__ C minimum_complex(const C& x, const C& y) {
  return has_nan(x) ? x : has_nan(y) ? y : before(y, x) ? y : x;
}

}  // namespace jit

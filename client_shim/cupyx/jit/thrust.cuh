// The algorithms of Thrust as one thread runs them: on iterators, in order. Sets are sorted ranges.

namespace jit {

template <typename T>
struct constant_iterator {
  T value;
  __device__ T operator*() const { return value; }
  __device__ T operator[](long long) const { return value; }
  __device__ constant_iterator operator+(long long) const { return *this; }
  __device__ constant_iterator& operator++() { return *this; }
};

template <typename T>
struct counting_iterator {
  T value;
  __device__ T operator*() const { return value; }
  __device__ T operator[](long long i) const { return value + i; }
  __device__ counting_iterator operator+(long long n) const { return {T(value + n)}; }
  __device__ counting_iterator operator-(long long n) const { return {T(value - n)}; }
  __device__ long long operator-(const counting_iterator& o) const { return value - o.value; }
  __device__ counting_iterator& operator++() { ++value; return *this; }
  __device__ bool operator==(const counting_iterator& o) const { return value == o.value; }
  __device__ bool operator!=(const counting_iterator& o) const { return value != o.value; }
};

namespace thrust {

// ---------------------------------------------------------------- copying

template <typename I, typename O>
__device__ O copy(I first, I last, O out) {
  for (; first != last; ++first, ++out) *out = *first;
  return out;
}

template <typename I, typename T>
__device__ void fill(I first, I last, T value) {
  for (; first != last; ++first) *first = value;
}

template <typename I, typename T = int>
__device__ void sequence(I first, I last, T value = 0, T step = 1) {
  for (; first != last; ++first, value += step) *first = value;
}

template <typename I, typename S, typename O>
__device__ O gather(I map, I map_end, S source, O out) {
  for (; map != map_end; ++map, ++out) *out = source[*map];
  return out;
}

template <typename I, typename M, typename O>
__device__ void scatter(I first, I last, M map, O out) {
  for (; first != last; ++first, ++map) out[*map] = *first;
}

template <typename I, typename T>
__device__ void replace(I first, I last, T old_value, T new_value) {
  for (; first != last; ++first) {
    if (*first == old_value) *first = new_value;
  }
}

template <typename I, typename O, typename T>
__device__ O replace_copy(I first, I last, O out, T old_value, T new_value) {
  for (; first != last; ++first, ++out) {
    if (*first == old_value) *out = new_value;
    else *out = *first;
  }
  return out;
}

template <typename I, typename O, typename T>
__device__ O remove_copy(I first, I last, O out, T value) {
  for (; first != last; ++first) {
    if (!(*first == value)) {
      *out = *first;
      ++out;
    }
  }
  return out;
}

template <typename I, typename T>
__device__ I remove(I first, I last, T value) {
  return remove_copy(first, last, first, value);
}

template <typename I, typename J>
__device__ J swap_ranges(I first, I last, J other) {
  for (; first != last; ++first, ++other) {
    auto kept = *first;
    *first = *other;
    *other = kept;
  }
  return other;
}

template <typename I>
__device__ void reverse(I first, I last) {
  for (long long low = 0, high = last - first - 1; low < high; ++low, --high) {
    auto kept = first[low];
    first[low] = first[high];
    first[high] = kept;
  }
}

template <typename I, typename O>
__device__ O reverse_copy(I first, I last, O out) {
  for (long long i = last - first - 1; i >= 0; --i, ++out) *out = first[i];
  return out;
}

template <typename K, typename V>
__device__ tuple<K, V> unique_by_key(K key, K key_end, V value) {
  if (key == key_end) return {key, value};
  K kept = key;
  V kept_value = value;
  for (++key, ++value; key != key_end; ++key, ++value) {
    if (*key == *kept) continue;
    *++kept = *key;
    *++kept_value = *value;
  }
  return {++kept, ++kept_value};
}

template <typename I>
__device__ I unique(I first, I last) {
  if (first == last) return last;
  I kept = first;
  for (++first; first != last; ++first) {
    if (!(*first == *kept)) *++kept = *first;
  }
  return ++kept;
}

// ---------------------------------------------------------------- searching

template <typename I, typename T>
__device__ int count(I first, I last, T value) {
  int found = 0;
  for (; first != last; ++first) found += *first == value;
  return found;
}

template <typename I, typename T>
__device__ I find(I first, I last, T value) {
  while (first != last && !(*first == value)) ++first;
  return first;
}

template <typename I, typename J>
__device__ tuple<I, J> mismatch(I first, I last, J other) {
  while (first != last && *first == *other) ++first, ++other;
  return {first, other};
}

template <typename I, typename J>
__device__ bool equal(I first, I last, J other) {
  return mismatch(first, last, other).first == last;
}

template <typename I>
__device__ I is_sorted_until(I first, I last) {
  if (first == last) return last;
  I before = first;
  for (++first; first != last; ++first, ++before) {
    if (*first < *before) return first;
  }
  return last;
}

template <typename I>
__device__ bool is_sorted(I first, I last) {
  return is_sorted_until(first, last) == last;
}

template <typename I, typename T>
__device__ I lower_bound(I first, I last, T value) {
  long long low = 0, high = last - first;
  while (low < high) {
    long long middle = (low + high) / 2;
    if (first[middle] < value) low = middle + 1;
    else high = middle;
  }
  return first + low;
}

template <typename I, typename T>
__device__ I upper_bound(I first, I last, T value) {
  long long low = 0, high = last - first;
  while (low < high) {
    long long middle = (low + high) / 2;
    if (value < first[middle]) high = middle;
    else low = middle + 1;
  }
  return first + low;
}

template <typename I, typename T>
__device__ tuple<I, I> equal_range(I first, I last, T value) {
  return {lower_bound(first, last, value), upper_bound(first, last, value)};
}

template <typename I, typename T>
__device__ bool binary_search(I first, I last, T value) {
  I place = lower_bound(first, last, value);
  return place != last && !(value < *place);
}

template <typename I, typename V, typename O>
__device__ O binary_search(I first, I last, V value, V value_end, O out) {
  for (; value != value_end; ++value, ++out) *out = binary_search(first, last, *value);
  return out;
}

template <typename I, typename V, typename O>
__device__ O lower_bound(I first, I last, V value, V value_end, O out) {
  for (; value != value_end; ++value, ++out) *out = lower_bound(first, last, *value) - first;
  return out;
}

template <typename I, typename V, typename O>
__device__ O upper_bound(I first, I last, V value, V value_end, O out) {
  for (; value != value_end; ++value, ++out) *out = upper_bound(first, last, *value) - first;
  return out;
}

// ---------------------------------------------------------------- sums

template <typename I, typename T>
__device__ T reduce(I first, I last, T sum) {
  for (; first != last; ++first) sum = sum + *first;
  return sum;
}

template <typename I>
__device__ auto reduce(I first, I last) {
  auto sum = *first;
  sum = 0;
  return reduce(first, last, sum);
}

template <typename I, typename J, typename T>
__device__ T inner_product(I first, I last, J other, T sum) {
  for (; first != last; ++first, ++other) sum = sum + *first * *other;
  return sum;
}

template <typename K, typename V, typename KO, typename VO>
__device__ tuple<KO, VO> reduce_by_key(K key, K key_end, V value, KO keys, VO values) {
  while (key != key_end) {
    auto group = *key;
    auto sum = *value;
    for (++key, ++value; key != key_end && *key == group; ++key, ++value) sum = sum + *value;
    *keys = group;
    *values = sum;
    ++keys, ++values;
  }
  return {keys, values};
}

template <typename I, typename O>
__device__ O adjacent_difference(I first, I last, O out) {
  if (first == last) return out;
  auto before = *first;
  *out = before;
  ++out;
  for (++first; first != last; ++first, ++out) {
    auto here = *first;
    *out = here - before;
    before = here;
  }
  return out;
}

template <typename I, typename O>
__device__ O inclusive_scan(I first, I last, O out) {
  if (first == last) return out;
  auto sum = *first;
  *out = sum;
  ++out;
  for (++first; first != last; ++first, ++out) *out = sum = sum + *first;
  return out;
}

template <typename I, typename O, typename T>
__device__ O exclusive_scan(I first, I last, O out, T sum) {
  for (; first != last; ++first, ++out) {
    auto next = sum + *first;  // read first: the output may be the input
    *out = sum;
    sum = next;
  }
  return out;
}

template <typename I, typename O>
__device__ O exclusive_scan(I first, I last, O out) {
  if (first == last) return out;
  auto zero = *first;
  zero = 0;
  return exclusive_scan(first, last, out, zero);
}

template <typename K, typename V, typename O>
__device__ O inclusive_scan_by_key(K key, K key_end, V value, O out) {
  while (key != key_end) {
    auto group = *key;
    auto sum = *value;
    *out = sum;
    ++key, ++value, ++out;
    for (; key != key_end && *key == group; ++key, ++value, ++out) *out = sum = sum + *value;
  }
  return out;
}

template <typename K, typename V, typename O, typename T = int>
__device__ O exclusive_scan_by_key(K key, K key_end, V value, O out, T init = 0) {
  while (key != key_end) {
    auto group = *key;
    auto sum = *value;
    for (sum = init; key != key_end && *key == group; ++key, ++value, ++out) {
      auto next = sum + *value;
      *out = sum;
      sum = next;
    }
  }
  return out;
}

// ---------------------------------------------------------------- sets

/* What is kept of two sorted ranges: elements of the first alone, of both, of the second alone.
   Values go with the keys; `no_values` stands for none. */
struct no_values {
  __device__ int operator*() const { return 0; }
  __device__ no_values& operator++() { return *this; }
};

struct no_output {
  struct place {
    __device__ void operator=(int) const {}
  };
  __device__ place operator*() const { return {}; }
  __device__ no_output& operator++() { return *this; }
};

template <bool First, bool Both, bool Second, typename A, typename B, typename U, typename V,
          typename K, typename O>
__device__ tuple<K, O> merge_sets(A a, A a_end, B b, B b_end, U u, V v, K keys, O values) {
  while (a != a_end || b != b_end) {
    const bool only_a = b == b_end || (a != a_end && *a < *b);
    const bool only_b = !only_a && (a == a_end || *b < *a);
    const bool kept = only_a ? First : only_b ? Second : Both;
    if (kept && only_b) {
      *keys = *b;
      if constexpr (Second) *values = *v;
    } else if (kept) {
      *keys = *a;
      *values = *u;
    }
    if (kept) ++keys, ++values;
    if (!only_b) ++a, ++u;
    if (!only_a) ++b, ++v;
  }
  return {keys, values};
}

template <bool First, bool Both, bool Second, typename A, typename B, typename K>
__device__ K merge_sets(A a, A a_end, B b, B b_end, K keys) {
  return merge_sets<First, Both, Second>(a, a_end, b, b_end, no_values(), no_values(), keys,
                                         no_output()).first;
}

template <typename... T>
__device__ auto set_difference(T... range) {
  return merge_sets<true, false, false>(range...);
}

template <typename... T>
__device__ auto set_difference_by_key(T... range) {
  return merge_sets<true, false, false>(range...);
}

template <typename... T>
__device__ auto set_symmetric_difference(T... range) {
  return merge_sets<true, false, true>(range...);
}

template <typename... T>
__device__ auto set_symmetric_difference_by_key(T... range) {
  return merge_sets<true, false, true>(range...);
}

template <typename... T>
__device__ auto set_union(T... range) {
  return merge_sets<true, true, true>(range...);
}

template <typename... T>
__device__ auto set_union_by_key(T... range) {
  return merge_sets<true, true, true>(range...);
}

template <typename... T>
__device__ auto set_intersection(T... range) {
  return merge_sets<false, true, false>(range...);
}

template <typename A, typename B, typename U, typename K, typename O>
__device__ auto set_intersection_by_key(A a, A a_end, B b, B b_end, U u, K keys, O values) {
  return merge_sets<false, true, false>(a, a_end, b, b_end, u, no_values(), keys, values);
}

}  // namespace thrust
}  // namespace jit

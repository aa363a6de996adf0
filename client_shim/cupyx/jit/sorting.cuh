// Sorting as one thread does it, for cupyx.jit.thrust.

namespace jit {
namespace thrust {

/* Sorting in place by comparing and swapping positions: stable, n log^2 n, no memory. */
template <typename Less, typename Swap>
struct sorter {
  Less less;
  Swap swap;

  __device__ void reverse(long long low, long long high) {
    for (--high; low < high; ++low, --high) swap(low, high);
  }

  __device__ void rotate(long long low, long long middle, long long high) {
    reverse(low, middle);
    reverse(middle, high);
    reverse(low, high);
  }

  /* Merge two sorted neighbours: find the parts to exchange by a symmetric search, rotate them
     and merge what remains on either side (Kim and Kutzner, "SymMerge", 2004). */
  __device__ void merge(long long low, long long middle, long long high) {
    if (low >= middle || middle >= high) return;
    if (high - low == 2) {
      if (less(middle, low)) swap(low, middle);
      return;
    }
    const long long center = (low + high) / 2, both = center + middle;
    long long start = middle > center ? both - high : low;
    long long stop = middle > center ? center : middle;
    while (start < stop) {
      const long long probe = (start + stop) / 2;
      if (less(both - 1 - probe, probe)) stop = probe;
      else start = probe + 1;
    }
    const long long end = both - start;
    if (start < middle && middle < end) rotate(start, middle, end);
    merge(low, start, center);
    merge(center, end, high);
  }

  __device__ void sort(long long size) {
    const long long run = 16;
    for (long long low = 0; low < size; low += run) {
      const long long high = low + run < size ? low + run : size;
      for (long long i = low + 1; i < high; ++i) {
        for (long long j = i; j > low && less(j, j - 1); --j) swap(j, j - 1);
      }
    }
    for (long long width = run; width < size; width *= 2) {
      for (long long low = 0; low + width < size; low += 2 * width) {
        merge(low, low + width, low + 2 * width < size ? low + 2 * width : size);
      }
    }
  }
};

template <typename Less, typename Swap>
__device__ void sort_positions(long long size, Less less, Swap swap) {
  sorter<Less, Swap>{less, swap}.sort(size);
}

template <typename I>
__device__ void swap_at(I first, long long i, long long j) {
  auto kept = first[i];
  first[i] = first[j];
  first[j] = kept;
}

template <typename I>
__device__ void stable_sort(I first, I last) {
  sort_positions(
      last - first, [=](long long i, long long j) { return first[i] < first[j]; },
      [=](long long i, long long j) { swap_at(first, i, j); });
}

template <typename K, typename V>
__device__ void stable_sort_by_key(K key, K key_end, V value) {
  sort_positions(
      key_end - key, [=](long long i, long long j) { return key[i] < key[j]; },
      [=](long long i, long long j) {
        swap_at(key, i, j);
        swap_at(value, i, j);
      });
}

template <typename I>
__device__ void sort(I first, I last) {
  stable_sort(first, last);
}

template <typename K, typename V>
__device__ void sort_by_key(K key, K key_end, V value) {
  stable_sort_by_key(key, key_end, value);
}

}  // namespace thrust
}  // namespace jit

// Reductions by a warp and by a block, with the interface of CUB: thread 0 (lane 0) has the result.

namespace jit {

template <typename T>
__device__ bool is_less(const T& x, const T& y) {
  return x < y;
}

/* The operators of the reductions; complex numbers are compared by `before`. */
struct plus {
  template <typename T>
  __device__ T operator()(const T& x, const T& y) const {
    return x + y;
  }
};

struct larger {
  template <typename T>
  __device__ T operator()(const T& x, const T& y) const {
    return is_less(x, y) ? y : x;
  }
};

struct smaller {
  template <typename T>
  __device__ T operator()(const T& x, const T& y) const {
    return is_less(y, x) ? y : x;
  }
};

template <typename T>
struct warp_reduce {
  struct storage {
    T items[32];
  };
  storage& shared;

  template <typename Op>
  __device__ T reduce(T value, Op op) {
    const int lane = threadIdx.x & 31;
    shared.items[lane] = value;
    __syncwarp();
    for (int step = 16; step; step >>= 1) {
      if (lane < step) shared.items[lane] = op(shared.items[lane], shared.items[lane + step]);
      __syncwarp();
    }
    return shared.items[0];
  }
};

template <typename T, int Threads>
struct block_reduce {
  struct storage {
    T items[Threads];
  };
  storage& shared;

  template <typename Op>
  __device__ T reduce(T value, Op op) {
    const int thread = threadIdx.x;
    shared.items[thread] = value;
    __syncthreads();
    for (int size = Threads; size > 1;) {
      const int half = (size + 1) / 2;
      if (thread + half < size) {
        shared.items[thread] = op(shared.items[thread], shared.items[thread + half]);
      }
      __syncthreads();
      size = half;
    }
    return shared.items[0];
  }
};

}  // namespace jit

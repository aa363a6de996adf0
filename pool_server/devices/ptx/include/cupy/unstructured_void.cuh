/* Elements of dtypes like "V10": bytes without a meaning. */
#pragma once

namespace cupy {

template <size_t Size>
class UnstructuredVoid {
 public:
  char data[Size];

  UnstructuredVoid() = default;
  template <typename T>
  explicit __device__ UnstructuredVoid(const T& other) { *this = other; }

  /* As many bytes as there are of the other value; zeros behind them. */
  template <typename T>
  __device__ UnstructuredVoid& operator=(const T& other) {
    const char* from = reinterpret_cast<const char*>(&other);
    for (size_t i = 0; i < Size; ++i) data[i] = i < sizeof(T) ? from[i] : 0;
    return *this;
  }

  __device__ bool operator==(const UnstructuredVoid& other) const {
    for (size_t i = 0; i < Size; ++i)
      if (data[i] != other.data[i]) return false;
    return true;
  }
  __device__ bool operator!=(const UnstructuredVoid& other) const { return !(*this == other); }
};

}  // namespace cupy

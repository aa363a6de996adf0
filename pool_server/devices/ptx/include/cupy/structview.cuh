/* Elements of structured dtypes: fields by number, at the offsets that NumPy gives them. */
#pragma once

#include <cupy/carray.cuh>
#include <cupy/unstructured_void.cuh>

namespace cupy {

template <size_t Size, size_t Align>
struct alignas(Align) raw_structview_storage {
  char _data[Size];
};

template <typename T, size_t Offset>
struct Field {
  typedef T type;
  static constexpr size_t offset = Offset;
};

template <size_t index, typename First, typename... Rest>
struct field_at : field_at<index - 1, Rest...> {};
template <typename First, typename... Rest>
struct field_at<0, First, Rest...> {
  typedef First type;
};

/* Copies go field by field, so what lies between the fields stays as it was. */
template <typename Storage, typename... Fields>
class StructView {
 public:
  typedef Storage storage_type;
  static constexpr size_t size = sizeof(Storage);
  static constexpr size_t alignment = alignof(Storage);
  static constexpr size_t field_count = sizeof...(Fields);

  __device__ StructView() {}
  __device__ StructView(const StructView& other) : data_{} { take(other); }
  template <typename S, typename... F>
  explicit __device__ StructView(const StructView<S, F...>& other) : data_{} { take(other); }
  template <typename T>
  explicit __device__ StructView(const T& value) : data_{} { *this = value; }

  template <size_t index>
  __device__ auto& at() { return field<typename field_at<index, Fields...>::type>(); }
  template <size_t index>
  __device__ const auto& at() const { return field<typename field_at<index, Fields...>::type>(); }

  __device__ StructView& operator=(const StructView& other) { return take(other); }
  template <typename S, typename... F>
  __device__ StructView& operator=(const StructView<S, F...>& other) { return take(other); }
  template <typename T>
  __device__ StructView& operator=(const T& value) {
    ((field<Fields>() = value), ...);
    return *this;
  }

  template <typename S, typename... F>
  __device__ bool operator==(const StructView<S, F...>& other) const {
    static_assert(sizeof...(Fields) == sizeof...(F), "the numbers of fields differ");
    return (true && ... && (field<Fields>() == other.template field<F>()));
  }
  template <typename S, typename... F>
  __device__ bool operator!=(const StructView<S, F...>& other) const { return !(*this == other); }

  template <typename F>
  __device__ typename F::type& field() {
    return *reinterpret_cast<typename F::type*>(reinterpret_cast<char*>(&data_) + F::offset);
  }
  template <typename F>
  __device__ const typename F::type& field() const {
    return *reinterpret_cast<const typename F::type*>(reinterpret_cast<const char*>(&data_) + F::offset);
  }

 private:
  Storage data_{};

  template <typename S, typename... F>
  __device__ StructView& take(const StructView<S, F...>& other) {
    static_assert(sizeof...(Fields) == sizeof...(F), "the numbers of fields differ");
    ((field<Fields>() = other.template field<F>()), ...);
    return *this;
  }
};

}  // namespace cupy

/* Arrays and indexers as kernels receive them: CuPy's interface and memory layout. */
#pragma once

#ifndef CUPY_CARRAY_CUH
#define CUPY_CARRAY_CUH

#ifndef M_PI
#define M_PI 3.1415926535897932384626433832795
#endif

/* A loop over i = 0 .. n-1, shared out among the grid's threads. */
#define CUPY_FOR(i, n)                                                                 \
  _Pragma("unroll 1") for (ptrdiff_t i = static_cast<ptrdiff_t>(blockIdx.x) * blockDim.x + threadIdx.x;    \
       i < (n); i += static_cast<ptrdiff_t>(blockDim.x) * gridDim.x)

#include <cupy/float16.cuh>
#ifdef CUPY_JIT_MODE
#include <cuda/std/tuple>
#include <cuda/std/utility>
#endif

/* The number of a dimension as a type, for CArray::_slicing. */
template <int dim> struct Dim {};

namespace cupy {
namespace type_traits {
template <bool B, class T, class F> struct conditional { typedef T type; };
template <class T, class F> struct conditional<false, T, F> { typedef F type; };
template <bool B, class T = void> struct enable_if {};
template <class T> struct enable_if<true, T> { typedef T type; };
template <class T, class U> struct is_same { static const bool value = false; };
template <class T> struct is_same<T, T> { static const bool value = true; };
}  // namespace type_traits
}  // namespace cupy

/* Walks along one dimension of an array in any memory layout. */
template <typename T, typename index_t>
class CArrayIterator {
 public:
  typedef ptrdiff_t difference_type;
  typedef T value_type;
  typedef T* pointer;
  typedef T& reference;

  T* head_;
  index_t step_;

  __host__ __device__ CArrayIterator(T* head, index_t step_bytes) : head_(head), step_(step_bytes) {}
  __host__ __device__ T& operator*() const { return *head_; }
  __host__ __device__ T* operator->() const { return head_; }
  __host__ __device__ T& operator[](ptrdiff_t n) const { return *(*this + n); }
  __host__ __device__ CArrayIterator& operator+=(ptrdiff_t n) {
    head_ = reinterpret_cast<T*>((char*)head_ + n * step_);
    return *this;
  }
  __host__ __device__ CArrayIterator& operator-=(ptrdiff_t n) { return *this += -n; }
  __host__ __device__ CArrayIterator& operator++() { return *this += 1; }
  __host__ __device__ CArrayIterator& operator--() { return *this += -1; }
  __host__ __device__ CArrayIterator operator++(int) { CArrayIterator old(*this); *this += 1; return old; }
  __host__ __device__ CArrayIterator operator--(int) { CArrayIterator old(*this); *this -= 1; return old; }
  __host__ __device__ CArrayIterator operator+(ptrdiff_t n) const { return CArrayIterator(*this) += n; }
  __host__ __device__ CArrayIterator operator-(ptrdiff_t n) const { return CArrayIterator(*this) -= n; }
  __host__ __device__ difference_type operator-(const CArrayIterator& other) const {
    return ((const char*)head_ - (const char*)other.head_) / step_;
  }
  __host__ __device__ bool operator==(const CArrayIterator& o) const { return head_ == o.head_; }
  __host__ __device__ bool operator!=(const CArrayIterator& o) const { return head_ != o.head_; }
  __host__ __device__ bool operator<(const CArrayIterator& o) const { return *this - o < 0; }
  __host__ __device__ bool operator>(const CArrayIterator& o) const { return o < *this; }
  __host__ __device__ bool operator<=(const CArrayIterator& o) const { return !(o < *this); }
  __host__ __device__ bool operator>=(const CArrayIterator& o) const { return !(*this < o); }
};

/* An array of a kernel's arguments: pointer, size, and for each dimension shape and strides. */
template <typename T, int _ndim, bool _c_contiguous = false, bool _use_32bit_indexing = false>
class CArray {
 public:
  static const int ndim = _ndim;
  static const bool c_contiguous = _c_contiguous;
  typedef typename cupy::type_traits::conditional<_use_32bit_indexing, int, ptrdiff_t>::type index_t;
  typedef typename cupy::type_traits::conditional<_c_contiguous, T*, CArrayIterator<T, index_t> >::type iterator;

 private:
  T* data_;
  ptrdiff_t size_;
  ptrdiff_t shape_[_ndim];
  ptrdiff_t strides_[_ndim]; /* in bytes */

  template <typename Int>
  __device__ ptrdiff_t offset(const Int* index) const {
    if (_ndim == 1 && _c_contiguous) return static_cast<ptrdiff_t>(index[0]) * static_cast<ptrdiff_t>(sizeof(T));
    index_t total = 0;
    for (int d = 0; d < _ndim; ++d) total += static_cast<index_t>(strides_[d]) * static_cast<index_t>(index[d]);
    return total;
  }

  __device__ ptrdiff_t linear_offset(ptrdiff_t i) const {
    if (_c_contiguous) return i * static_cast<ptrdiff_t>(sizeof(T));
    index_t total = 0, rest = static_cast<index_t>(i);
    for (int d = _ndim - 1; d > 0; --d) {
      const index_t extent = static_cast<index_t>(shape_[d]);
      total += static_cast<index_t>(strides_[d]) * (rest % extent);
      rest /= extent;
    }
    return total + static_cast<index_t>(strides_[0]) * rest;
  }

  __device__ T* at(ptrdiff_t offset_bytes) const { return reinterpret_cast<T*>((char*)data_ + offset_bytes); }

 public:
  __device__ CArray() : data_(0), size_(1) {
    for (int d = 0; d < _ndim; ++d) size_ = 0, shape_[d] = 0, strides_[d] = 0;
  }

  template <typename Int1, typename Int2>
  __device__ CArray(T* data, const Int1* shape, const Int2* strides) : data_(data), size_(1) {
    for (int d = 0; d < _ndim; ++d) {
      shape_[d] = shape[d];
      strides_[d] = strides[d];
      size_ *= shape[d];
    }
  }

  template <typename Int1, typename Int2>
  __device__ CArray(T* data, std::initializer_list<Int1> shape, std::initializer_list<Int2> strides)
      : CArray(data, shape.begin(), strides.begin()) {}

  template <typename Int, typename U = T>
  __device__ CArray(typename cupy::type_traits::enable_if<_c_contiguous, U>::type* data,
                    std::initializer_list<Int> shape)
      : CArray(data, shape.begin()) {}

  template <typename Int, typename U = T>
  __device__ CArray(typename cupy::type_traits::enable_if<_c_contiguous, U>::type* data, const Int* shape)
      : data_(data), size_(1) {
    for (int d = _ndim - 1; d >= 0; --d) {
      shape_[d] = shape[d];
      strides_[d] = static_cast<ptrdiff_t>(sizeof(T)) * size_;
      size_ *= shape[d];
    }
  }

  __device__ ptrdiff_t size() const { return size_; }
  __device__ const ptrdiff_t* shape() const { return shape_; }
  __device__ const ptrdiff_t* strides() const { return strides_; }

  template <typename Int>
  __device__ T& operator[](const Int (&index)[_ndim]) { return *at(offset(index)); }
  template <typename Int>
  __device__ const T& operator[](const Int (&index)[_ndim]) const { return *at(offset(index)); }
  __device__ T& operator[](ptrdiff_t i) { return *at(linear_offset(i)); }
  __device__ const T& operator[](ptrdiff_t i) const { return *at(linear_offset(i)); }

#ifdef CUPY_JIT_MODE
  __device__ auto get_shape() const { return as_tuple(shape_, cuda::std::make_index_sequence<_ndim>()); }
  __device__ auto get_strides() const { return as_tuple(strides_, cuda::std::make_index_sequence<_ndim>()); }

  /* The element at a tuple of indices, one for each dimension. */
  template <typename Tuple>
  __device__ T& _indexing(const Tuple& index) const {
    return *at(tuple_offset(index, cuda::std::make_index_sequence<_ndim>()));
  }

  /* What is left of an array whose first dimensions have an index. */
  template <typename Tuple, int fixed>
  __device__ CArray<T, _ndim - fixed, _c_contiguous, _use_32bit_indexing> _slicing(const Tuple& index, Dim<fixed>) const {
    return CArray<T, _ndim - fixed, _c_contiguous, _use_32bit_indexing>(
        at(tuple_offset(index, cuda::std::make_index_sequence<fixed>())), shape_ + fixed, strides_ + fixed);
  }
  __device__ CArray<T, _ndim - 1, _c_contiguous, _use_32bit_indexing> _slicing(int index) const {
    return _slicing(cuda::std::make_tuple(index), Dim<1>());
  }

 private:
  template <size_t... dims>
  __device__ auto as_tuple(const ptrdiff_t* values, cuda::std::index_sequence<dims...>) const {
    return cuda::std::make_tuple(values[dims]...);
  }
  template <typename Tuple, size_t... dims>
  __device__ ptrdiff_t tuple_offset(const Tuple& index, cuda::std::index_sequence<dims...>) const {
    return (ptrdiff_t(0) + ... + (strides_[dims] * static_cast<ptrdiff_t>(cuda::std::get<dims>(index))));
  }

 public:
#endif

  __device__ iterator begin_ptr() const { return make_iterator(data_, static_cast<iterator*>(0)); }
  __device__ iterator end_ptr() const { return begin_ptr() + (_ndim ? shape_[0] : 1); }
  __device__ iterator begin() const { return begin_ptr(); }
  __device__ iterator end() const { return end_ptr(); }

 private:
  __device__ T* make_iterator(T* head, T**) const { return head; }
  __device__ CArrayIterator<T, index_t> make_iterator(T* head, CArrayIterator<T, index_t>*) const {
    return CArrayIterator<T, index_t>(head, static_cast<index_t>(strides_[0]));
  }
};

/* An array of no dimension: one value. */
template <typename T, bool _c_contiguous, bool _use_32bit_indexing>
class CArray<T, 0, _c_contiguous, _use_32bit_indexing> {
 public:
  static const int ndim = 0;
  static const bool c_contiguous = true;
  typedef typename cupy::type_traits::conditional<_use_32bit_indexing, int, ptrdiff_t>::type index_t;

 private:
  T* data_;
  ptrdiff_t size_;

 public:
  __device__ CArray() : data_(0), size_(1) {}
  __device__ explicit CArray(T* data) : data_(data), size_(1) {}
  template <typename Int>
  __device__ CArray(T* data, Int size) : data_(data), size_(size) {}
  template <typename Int1, typename Int2>
  __device__ CArray(T* data, const Int1*, const Int2*) : data_(data), size_(1) {}

  __device__ ptrdiff_t size() const { return size_; }
  __device__ const ptrdiff_t* shape() const { return 0; }
  __device__ const ptrdiff_t* strides() const { return 0; }
  template <typename U> __device__ T& operator[](const U&) { return *data_; }
  template <typename U> __device__ T operator[](const U&) const { return *data_; }
};

/* Turns a position in C order into an index for each dimension. */
template <int _ndim, bool _use_32bit_indexing = false>
class CIndexer {
 public:
  static const int ndim = _ndim;

 private:
  ptrdiff_t size_;
  ptrdiff_t shape_[_ndim];
  ptrdiff_t index_[_ndim];

  typedef ptrdiff_t index_array[_ndim];

 public:
  __device__ CIndexer() : size_(1), shape_(), index_() {}

  template <typename Int>
  __device__ explicit CIndexer(const Int* shape) : size_(1), index_() {
    for (int d = 0; d < _ndim; ++d) {
      shape_[d] = shape[d];
      size_ *= shape[d];
    }
  }

  template <typename Int1, typename Int2>
  __device__ CIndexer(const Int1* shape, const Int2* index) : CIndexer(shape) {
    for (int d = 0; d < _ndim; ++d) index_[d] = index[d];
  }

  template <typename Int>
  __device__ CIndexer(std::initializer_list<Int> shape) : CIndexer(shape.begin()) {}

  template <typename Int1, typename Int2>
  __device__ CIndexer(std::initializer_list<Int1> shape, std::initializer_list<Int2> index)
      : CIndexer(shape.begin(), index.begin()) {}

  __device__ ptrdiff_t size() const { return size_; }

  __device__ void set(ptrdiff_t i) {
    typedef typename cupy::type_traits::conditional<_use_32bit_indexing, unsigned int, ptrdiff_t>::type work_t;
    work_t rest = static_cast<work_t>(i);
    for (int d = _ndim - 1; d > 0; --d) {
      const work_t extent = static_cast<work_t>(shape_[d]);
      index_[d] = static_cast<ptrdiff_t>(rest % extent);
      rest /= extent;
    }
    index_[0] = static_cast<ptrdiff_t>(rest);
  }

  __device__ const index_array& get() const { return index_; }
};

template <bool _use_32bit_indexing>
class CIndexer<0, _use_32bit_indexing> {
 private:
  ptrdiff_t size_;

 public:
  static const int ndim = 0;
  __device__ CIndexer() : size_(1) {}
  template <typename Int> __device__ explicit CIndexer(const Int*) : size_(1) {}
  __device__ ptrdiff_t size() const { return size_; }
  __device__ void set(ptrdiff_t) {}
  __device__ ptrdiff_t get() const { return 0; }
};


#endif

/* Calls a templated function object with the type that CuPy's number names. */
#pragma once

#include <cupy/complex.cuh>
#include <cuda_fp16.h>

#define CUPY_TYPE_INT8 0
#define CUPY_TYPE_UINT8 1
#define CUPY_TYPE_INT16 2
#define CUPY_TYPE_UINT16 3
#define CUPY_TYPE_INT32 4
#define CUPY_TYPE_UINT32 5
#define CUPY_TYPE_INT64 6
#define CUPY_TYPE_UINT64 7
#define CUPY_TYPE_FLOAT16 8
#define CUPY_TYPE_FLOAT32 9
#define CUPY_TYPE_FLOAT64 10
#define CUPY_TYPE_COMPLEX64 11
#define CUPY_TYPE_COMPLEX128 12
#define CUPY_TYPE_BOOL 13

template <class F, typename... Args>
__device__ void dtype_dispatcher(int dtype_id, F f, Args&&... args) {
  switch (dtype_id) {
    case CUPY_TYPE_INT8: return f.template operator()<signed char>(static_cast<Args&&>(args)...);
    case CUPY_TYPE_UINT8: return f.template operator()<unsigned char>(static_cast<Args&&>(args)...);
    case CUPY_TYPE_INT16: return f.template operator()<short>(static_cast<Args&&>(args)...);
    case CUPY_TYPE_UINT16: return f.template operator()<unsigned short>(static_cast<Args&&>(args)...);
    case CUPY_TYPE_INT32: return f.template operator()<int>(static_cast<Args&&>(args)...);
    case CUPY_TYPE_UINT32: return f.template operator()<unsigned int>(static_cast<Args&&>(args)...);
    case CUPY_TYPE_INT64: return f.template operator()<long long>(static_cast<Args&&>(args)...);
    case CUPY_TYPE_UINT64: return f.template operator()<unsigned long long>(static_cast<Args&&>(args)...);
    case CUPY_TYPE_FLOAT16: return f.template operator()<__half>(static_cast<Args&&>(args)...);
    case CUPY_TYPE_FLOAT32: return f.template operator()<float>(static_cast<Args&&>(args)...);
    case CUPY_TYPE_FLOAT64: return f.template operator()<double>(static_cast<Args&&>(args)...);
    case CUPY_TYPE_COMPLEX64: return f.template operator()<complex<float> >(static_cast<Args&&>(args)...);
    case CUPY_TYPE_COMPLEX128: return f.template operator()<complex<double> >(static_cast<Args&&>(args)...);
    case CUPY_TYPE_BOOL: return f.template operator()<bool>(static_cast<Args&&>(args)...);
  }
}

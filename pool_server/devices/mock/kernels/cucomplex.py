"""`translate_cucomplex`: cuComplex.h's names for `thrust::complex`, which has operators."""

from __future__ import annotations

import re

_INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*[<"]cuComplex\.h[">][^\n]*$', re.MULTILINE)
_HEADER = """#include <cupy/complex.cuh>
typedef thrust::complex<float> cuFloatComplex;
typedef thrust::complex<float> cuComplex;
typedef thrust::complex<double> cuDoubleComplex;
"""
_BOTH = """
__device__ inline {c} cuCadd{f}({c} x, {c} y) {{ return x + y; }}
__device__ inline {c} cuCsub{f}({c} x, {c} y) {{ return x - y; }}
__device__ inline {c} cuCmul{f}({c} x, {c} y) {{ return x * y; }}
__device__ inline {c} cuCdiv{f}({c} x, {c} y) {{ return x / y; }}
__device__ inline {c} cuCfma{f}({c} x, {c} y, {c} z) {{ return x * y + z; }}
__device__ inline {c} cuConj{f}({c} x) {{ return thrust::conj(x); }}
__device__ inline {r} cuCabs{f}({c} x) {{ return thrust::abs(x); }}
__device__ inline {r} cuCreal{f}({c} x) {{ return x.real(); }}
__device__ inline {r} cuCimag{f}({c} x) {{ return x.imag(); }}
"""
_MAKERS = """
__device__ inline cuFloatComplex make_cuFloatComplex(float x, float y) {
  return cuFloatComplex(x, y);
}
__device__ inline cuComplex make_cuComplex(float x, float y) { return cuComplex(x, y); }
__device__ inline cuDoubleComplex make_cuDoubleComplex(double x, double y) {
  return cuDoubleComplex(x, y);
}
__device__ inline cuDoubleComplex cuComplexFloatToDouble(cuFloatComplex x) {
  return cuDoubleComplex(x);
}
__device__ inline cuFloatComplex cuComplexDoubleToFloat(cuDoubleComplex x) {
  return cuFloatComplex((float)x.real(), (float)x.imag());
}
"""


def translate(source: str) -> str:
    """Return a source that finds the names of cuComplex.h without that header.

    As with CuPy, the names without "f" take single precision, too.
    """
    single = {"c": "cuFloatComplex", "r": "float"}
    names = _BOTH.format(f="f", **single) + _BOTH.format(f="", **single)
    names += _BOTH.format(f="", c="cuDoubleComplex", r="double")
    # The compiler's messages shall name the user's lines.
    return f'{_HEADER}{names}{_MAKERS}#line 1 "kernel.cu"\n{_INCLUDE.sub("", source)}'

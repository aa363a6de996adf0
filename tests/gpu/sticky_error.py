"""A kernel that writes where nothing is: the session's GPU is lost, and a new session is well."""

import cupy as cp
import numpy as np

import cupool

SOURCE = 'extern "C" __global__ void wild(float* x) { x[threadIdx.x + (1ll << 40)] = 1; }'


def raised() -> str:
    """Return the name of the error that a call of the lost session gives, "" for none."""
    try:
        cp.cuda.Device().synchronize()
        float(cp.arange(5).sum())
    except cp.cuda.runtime.CUDARuntimeError as exc:
        return str(exc).partition(":")[0]
    return ""


before = cp.ones(10, cp.float32)
cp.RawKernel(SOURCE, "wild")((1,), (32,), (before,))
first, again = raised(), raised()
assert first and first == again, (first, again)
cupool.reset()
after = cp.arange(1000.0)
np.testing.assert_array_equal((after * 2).get(), np.arange(1000.0) * 2)
print(f"{first} stayed; a new session computes")

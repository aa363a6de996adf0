"""CUDA's libraries under their old paths: the modules of `cupy.cuda`."""

import sys

from cupool.client_shim.cupy import cuda

for _name in ("cublas", "curand", "cusolver", "cusparse", "nccl", "nvrtc", "nvtx"):
    sys.modules[f"{__name__}.{_name}"] = globals()[_name] = getattr(cuda, _name)
del _name

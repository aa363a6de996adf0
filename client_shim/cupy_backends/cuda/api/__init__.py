"""CUDA runtime bindings: see `cupy.cuda.runtime`."""

"""`cupy_backends`: the import path of CUDA's error classes."""

"""Errors of `cupy.cuda`: their texts and codes, also after a way through pickle."""

from __future__ import annotations

import pickle
from typing import Any

import pytest
from cupy.cuda import (
    compiler,
    cublas,
    cufft,
    curand,
    cusolver,
    cusparse,
    driver,
    memory,
    nccl,
    nvrtc,
    runtime,
)

ERRORS: list[tuple[type[Exception], tuple[Any, ...], str]] = [
    (compiler.CompileException, ("no such name", "source", "k.cu", ("-O3",)), "no such name"),
    (cublas.CUBLASError, (1,), "CUBLAS_STATUS_NOT_INITIALIZED"),
    (cufft.CuFFTError, (8,), "CUFFT_INVALID_SIZE"),
    (curand.CURANDError, (100,), "CURAND_STATUS_VERSION_MISMATCH"),
    (cusolver.CUSOLVERError, (1,), "CUSOLVER_STATUS_NOT_INITIALIZED"),
    (cusparse.CuSparseError, (1,), "CUSPARSE_STATUS_NOT_INITIALIZED"),
    (driver.CUDADriverError, (1,), "CUDA_ERROR_INVALID_VALUE"),
    (memory.OutOfMemoryError, (10, 20, 30), "Out of memory allocating 10 bytes"),
    (nccl.NcclError, (4,), ""),
    (nvrtc.NVRTCError, (6,), "NVRTC_ERROR_COMPILATION"),
    (runtime.CUDARuntimeError, (2,), "cudaErrorMemoryAllocation"),
]


@pytest.mark.parametrize(("kind", "arguments", "said"), ERRORS)
def test_an_error_is_the_same_after_pickle(
    kind: type[Exception], arguments: tuple[Any, ...], said: str
) -> None:
    error = kind(*arguments)
    assert str(error).startswith(said)
    again = pickle.loads(pickle.dumps(error))
    assert type(again) is kind and again.args == error.args
    assert str(again) == str(error) and vars(again) == vars(error)

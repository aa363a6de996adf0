"""Stand-ins for what test files need at their top, so that the files can be read.

Private names of CuPy, and questions about the device. They do nothing, and what the product has is
left alone. Tests that use them fail, or are in the list of skips with the reason.
"""

from __future__ import annotations

import importlib
import sys
import types
from typing import Any, NoReturn


def _nothing(*args: Any, **kwargs: Any) -> Any:
    """Make a function that fails when a test calls it."""

    def stand_in(*args: Any, **kwargs: Any) -> NoReturn:
        raise NotImplementedError("a stand-in for a private name of CuPy")

    return stand_in


def _fft_type(dtype: Any, value_type: str) -> int:
    """Return cuFFT's code of a transform."""
    double = {"C2C": "Z2Z", "R2C": "D2Z", "C2R": "Z2D"}
    name = value_type if dtype.char in "efF" else double[value_type]
    return int(getattr(importlib.import_module("cupy.cuda.cufft"), f"CUFFT_{name}"))


class _CacheBackend:
    """In the place of CuPy's cache of compiled code, which is the pool server's here."""

    def __init__(self, path: str) -> None:
        self.path = path


_COMPUTE_TYPES = "TBD DEFAULT PEDANTIC FP16 FP32 FP64 BF16 TF32".split()
_compute_types: dict[str, int] = {}

_MODULES: dict[str, dict[str, Any]] = {
    "cupy._core": {
        "get_compute_type": lambda dtype: _compute_types.get(str(dtype), 0),
        "set_compute_type": lambda dtype, value: _compute_types.__setitem__(str(dtype), value),
    },
    "cupy._core._cub_reduction": {"_CUB_REDUCE_SIZE_THRESHOLD": 1024},
    "cupy._core._routines_linalg": {
        **{f"COMPUTE_TYPE_{name}": i for i, name in enumerate(_COMPUTE_TYPES)},
        "get_compute_type": lambda dtype: _compute_types.get(str(dtype), 0),
        "set_compute_type": lambda dtype, value: _compute_types.__setitem__(str(dtype), value),
    },
    "cupy._environment": {
        "get_cub_path": lambda: None,
        "get_hipcc_path": lambda: None,
        "get_nvcc_path": lambda: None,
    },
    "cupy.cuda._compiler_cache": {"DiskKernelCacheBackend": _CacheBackend},
    # What is compiled is kept by the pool server, and nvcc is not needed.
    "cupy.cuda.compiler": {
        "_empty_file_preprocess_cache": {},
        "_get_bool_env_variable": lambda name, default: default,
        "_get_nvrtc_version": lambda: (12, 9),
        "_kernel_cache_backend": None,
        "_run_cc": lambda command, folder, backend: "release 12.9",
    },
    "cupy.fft._fft": {"_convert_fft_type": _fft_type},
    "cupy_backends.cuda.api.driver": {},
    "cupy_backends.cuda.libs": {"__path__": []},
    "cupy.cuda.cusolver": {"_getVersion": lambda: (11, 7, 5)},
    "cupy_backends.cuda.libs.cusparse": {},
    "cupy_backends.cuda.libs.nvrtc": {},
    "cupy_backends.cuda.stream": {"get_default_stream_ptr": lambda: 1},
}
_QUESTIONS: dict[str, Any] = {
    "cupy.cuda.get_local_runtime_version": lambda: 12090,
    "cupy.cuda.get_nvcc_path": lambda: "no-nvcc",
    "cupy.cuda.runtime.deviceGetAttribute": lambda attribute, device: 0,
}


def install() -> None:
    """Add what is missing."""
    for name, members in _MODULES.items():
        try:
            module = importlib.import_module(name)
        except ImportError:
            module = types.ModuleType(name)
            sys.modules[name] = module
            parent, _, short = name.rpartition(".")
            setattr(importlib.import_module(parent), short, module)
        for short, value in members.items():
            if not hasattr(module, short):
                setattr(module, short, value)
    for name, answer in _QUESTIONS.items():
        parent, _, short = name.rpartition(".")
        asked = importlib.import_module(parent)
        if "not supported by cupool yet" in (getattr(asked, short, None).__doc__ or ""):
            setattr(asked, short, answer)
    for short in ("ElementwiseKernel", "ReductionKernel"):
        core: Any = importlib.import_module("cupy._core")
        if not hasattr(core, short):
            setattr(core, short, getattr(importlib.import_module("cupy"), short))
    _absent_libraries()


def _absent_libraries() -> None:
    """Tests of CUB and cuTENSOR ask whether they are there, and skip themselves if not."""
    import cupy

    for name in ("cub", "cutensor"):
        library: Any = getattr(cupy.cuda, name, None)
        if library is not None:
            library.available = False
            sys.modules.setdefault(f"cupy.cuda.{name}", library)

"""The CuPy look-alike: `import cupy` gives this package under `cupool run`.

Folders and files are named as CuPy names them. Modules are filled when they are imported (other
libraries do `from cupy import *`); names that are not supported yet raise when they are used.
"""

from __future__ import annotations

import builtins as _builtins
import sys as _sys
from typing import Any as _Any

from numpy.exceptions import VisibleDeprecationWarning

from cupool.client_shim.cupy import _unsupported, cuda
from cupool.client_shim.cupy._binary import *  # noqa: F403
from cupool.client_shim.cupy._core import (  # order matters: the array class comes first
    _documentation,
    _reduction,
    _rounding,
    _ufuncs,
    calls,
    core,
    fusion,
    products,
    routines_indexing,
    views,
)
from cupool.client_shim.cupy._core._elementwise_kernel import ElementwiseKernel
from cupool.client_shim.cupy._core._kernel import ufunc
from cupool.client_shim.cupy._core._reduction_kernel import ReductionKernel
from cupool.client_shim.cupy._core.core import ndarray
from cupool.client_shim.cupy._core.dlpack import from_dlpack, fromDlpack
from cupool.client_shim.cupy._core.fusion import fuse
from cupool.client_shim.cupy._core.raw import RawKernel, RawModule
from cupool.client_shim.cupy._creation import *  # noqa: F403
from cupool.client_shim.cupy._functional import *  # noqa: F403
from cupool.client_shim.cupy._indexing import *  # noqa: F403
from cupool.client_shim.cupy._io import *  # noqa: F403
from cupool.client_shim.cupy._logic import *  # noqa: F403
from cupool.client_shim.cupy._logic.truth import all as alltrue
from cupool.client_shim.cupy._logic.truth import any as sometrue
from cupool.client_shim.cupy._manipulation import *  # noqa: F403
from cupool.client_shim.cupy._math import *  # noqa: F403
from cupool.client_shim.cupy._misc import *  # noqa: F403
from cupool.client_shim.cupy._padding import *  # noqa: F403
from cupool.client_shim.cupy._products import *  # noqa: F403
from cupool.client_shim.cupy._sorting import *  # noqa: F403
from cupool.client_shim.cupy._statistics import *  # noqa: F403
from cupool.client_shim.cupy.lib._polynomial import *  # noqa: F403
from cupool.client_shim.cupy.lib._routines_poly import *  # noqa: F403
from cupool.client_shim.cupy.lib._shape_base import *  # noqa: F403

from cupool.client_shim.cupy import _util, cublas, exceptions, fft, lib  # isort: skip
from cupool.client_shim.cupy import linalg, polynomial, random  # isort: skip

__version__ = "14.2.0"
"""Of the CuPy that is mimicked."""

globals().update(_ufuncs.ALL)
# Constants that the listing cannot hold as JSON.
Inf = Infinity = PINF = infty = float("inf")
NINF = float("-inf")
NAN = NaN = float("nan")
is_available = cuda.is_available


def get_default_memory_pool() -> _Any:
    """Return the session's memory pool on the current device."""
    return cuda.memory._default_pool


def get_default_pinned_memory_pool() -> _Any:
    """Return the pool of page-locked host memory."""
    return cuda.pinned_memory._default_pool


def get_array_module(*args: _Any) -> _Any:
    """Return `cupy` if any argument is a device array or a sparse matrix, else `numpy`."""
    sparse = _sys.modules.get("cupool.client_shim.cupyx.scipy.sparse")
    kinds = (ndarray, *((sparse.spmatrix, sparse.sparray) if sparse else ()))
    if _builtins.any(isinstance(a, kinds) for a in args):  # `any` is CuPy's here
        return _sys.modules[__name__]
    import numpy

    return numpy


typing = _unsupported.module("cupy.typing")
_unsupported.fill(globals(), "cupy")
_documentation.finish(globals(), "cupy")
_documentation.finish(fft.__dict__, "cupy.fft")
_documentation.finish(linalg.__dict__, "cupy.linalg")
_documentation.finish(random.__dict__, "cupy.random")


class _Lazy(type(_sys)):  # type: ignore[misc]  # the type of modules
    """Stands for a module until somebody looks into it: `testing` costs 50 ms."""

    def __getattr__(self, name: str) -> _Any:
        if name.startswith("__"):
            raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")
        return getattr(self._load(), name)

    def __dir__(self) -> list[str]:
        return dir(self._load())

    def _load(self) -> _Any:
        from importlib import import_module

        return import_module(f"cupool.client_shim.{self.__name__}")  # replaces this one here


testing = _Lazy("cupy.testing")
_MODULES = "cublas cuda exceptions fft lib linalg polynomial random testing typing".split()
for _name in [n for n, found in globals().items() if isinstance(found, type(_sys))]:
    if not _name.startswith("_") and _name not in _MODULES:
        del globals()[_name]  # CuPy has no `cupy.insert`; programs ask before they use it
__all__ = [name for name in globals() if not name.startswith("_")]


def __getattr__(name: str) -> _Any:
    raise AttributeError(f"module 'cupy' has no attribute {name!r}")

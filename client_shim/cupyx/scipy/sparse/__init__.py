"""`cupyx.scipy.sparse`: sparse matrices whose arrays lie on a device.

Four formats, each as a matrix and as an array. Their arrays are ordinary device arrays; what
depends on data, such as how many elements a sum has, waits once.
"""

from __future__ import annotations

import importlib
from typing import Any

from cupool.client_shim.cupyx.scipy.sparse._base import (
    SparseEfficiencyWarning,
    SparseWarning,
    _spbase,
    issparse,
    isspmatrix,
    sparray,
    spmatrix,
)
from cupool.client_shim.cupyx.scipy.sparse._blocks import block_diag, bmat, hstack, vstack
from cupool.client_shim.cupyx.scipy.sparse._construct import (
    block_array,
    diags,
    diags_array,
    eye,
    eye_array,
    identity,
    kron,
    kronsum,
    matrix_transpose,
    permute_dims,
    rand,
    random,
    random_array,
    spdiags,
    swapaxes,
)
from cupool.client_shim.cupyx.scipy.sparse._coo import coo_array, coo_matrix, isspmatrix_coo
from cupool.client_shim.cupyx.scipy.sparse._csc import csc_array, csc_matrix, isspmatrix_csc
from cupool.client_shim.cupyx.scipy.sparse._csr import csr_array, csr_matrix, isspmatrix_csr
from cupool.client_shim.cupyx.scipy.sparse._dia import dia_array, dia_matrix, isspmatrix_dia
from cupool.client_shim.cupyx.scipy.sparse._extract import find, tril, triu
from cupool.client_shim.cupyx.scipy.sparse._sputils import (
    get_index_dtype,
    safely_cast_index_arrays,
)

__all__ = [
    "SparseEfficiencyWarning",
    "SparseWarning",
    "_spbase",
    "block_array",
    "block_diag",
    "bmat",
    "coo_array",
    "coo_matrix",
    "csc_array",
    "csc_matrix",
    "csr_array",
    "csr_matrix",
    "dia_array",
    "dia_matrix",
    "diags",
    "diags_array",
    "eye",
    "eye_array",
    "find",
    "get_index_dtype",
    "hstack",
    "identity",
    "issparse",
    "isspmatrix",
    "isspmatrix_coo",
    "isspmatrix_csc",
    "isspmatrix_csr",
    "isspmatrix_dia",
    "kron",
    "kronsum",
    "matrix_transpose",
    "permute_dims",
    "rand",
    "random",
    "random_array",
    "safely_cast_index_arrays",
    "sparray",
    "spdiags",
    "spmatrix",
    "swapaxes",
    "tril",
    "triu",
    "vstack",
]

_PARTS = ("csgraph", "linalg")


def __getattr__(name: str) -> Any:
    if name in _PARTS:
        return importlib.import_module(f"{__name__}.{name}")
    raise AttributeError(f"module 'cupyx.scipy.sparse' has no attribute {name!r}")

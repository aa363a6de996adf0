"""Matrices and vectors on the device, with descriptors of cuSPARSE, for its tests."""

from __future__ import annotations

from typing import Any

import cupy as cp
import numpy as np
import scipy.sparse
from cupy.cuda import cusparse

LETTERS = ["s", "d", "c", "z"]
DTYPES = dict(zip(LETTERS, "fdFD", strict=True))
CODES = {"s": 0, "d": 1, "c": 4, "z": 5}
INDEX = {"i": 2, "q": 3}
FORMATS = ["csr", "csc", "coo"]
COLUMNS, ROWS = 1, 2


def drawn(rng: np.random.Generator, shape: tuple[int, ...], letter: str) -> Any:
    made = rng.standard_normal(shape)
    if letter in "cz":
        made = made + 1j * rng.standard_normal(shape)
    return made.astype(DTYPES[letter])


def sparse(rng: np.random.Generator, m: int, n: int, letter: str) -> Any:
    """Return a matrix, a third of whose elements are not 0."""
    return drawn(rng, (m, n), letter) * (rng.random((m, n)) < 0.35).astype(DTYPES[letter])


def close(a: Any, b: Any) -> None:
    tolerance = 3e-4 if np.asarray(a).dtype.char in "fF" else 1e-10
    np.testing.assert_allclose(a, b, rtol=tolerance, atol=tolerance)


def turned(a: Any, operation: int) -> Any:
    return (a, a.T, a.conj().T)[operation]


class Matrix:
    """A sparse matrix on the device, and its descriptor.

    Attributes:
        arrays: offsets or rows, indices or columns, values.
    """

    def __init__(self, a: Any, letter: str, format: str = "csr", base: int = 0, index: str = "i"):
        made = getattr(scipy.sparse, f"{format}_array")(a)
        major, minor = (made.row, made.col) if format == "coo" else (made.indptr, made.indices)
        parts = [cp.asarray(one.astype(index) + base) for one in (major, minor)]
        self.arrays = [*parts, cp.asarray(made.data)]
        where = [one.data.ptr for one in self.arrays]
        create = getattr(cusparse, f"create{format.capitalize()}")
        kinds = [INDEX[index]] * (1 if format == "coo" else 2)
        self.desc = create(*a.shape, made.nnz, *where, *kinds, base, CODES[letter])


def dense(a: Any, letter: str, order: int = COLUMNS, gap: int = 1) -> tuple[Any, int]:
    """Return memory of a matrix with 7 between its columns or rows, and its descriptor."""
    short, long = a.shape if order == COLUMNS else a.shape[::-1]
    memory = np.full((long, short + gap), 7, a.dtype)
    memory[:, :short] = a.T if order == COLUMNS else a
    array = cp.asarray(memory)
    return array, cusparse.createDnMat(*a.shape, short + gap, array.data.ptr, CODES[letter], order)


def back(memory: Any, order: int, gap: int = 1) -> Any:
    host = memory.get()
    assert (host[:, host.shape[1] - gap :] == 7).all()
    inside = host[:, : host.shape[1] - gap]
    return inside.T if order == COLUMNS else inside


def vector(a: Any, letter: str) -> tuple[Any, int]:
    array = cp.asarray(a)
    return array, cusparse.createDnVec(a.size, array.data.ptr, CODES[letter])

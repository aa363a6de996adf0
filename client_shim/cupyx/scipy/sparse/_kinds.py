"""Arrays and matrices: what differs between the two, whatever the format."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

__all__ = ["sparray", "spmatrix"]


class sparray:
    """Marks sparse arrays: ``*`` is element by element, as for dense arrays."""


class spmatrix:
    """Marks sparse matrices: ``*`` is the matrix product, ``**`` the matrix power."""

    maxprint: int
    format: str

    def __init__(self, *args: Any, maxprint: int = 50, **kwargs: Any) -> None:
        self.maxprint = maxprint
        if type(self) is not spmatrix:
            super().__init__(*args, **kwargs)
        elif args or kwargs:
            raise TypeError(
                "cannot instantiate spmatrix directly; use a format subclass such as csr_matrix"
            )

    def __mul__(self: Any, other: Any) -> Any:
        return self._matmul_dispatch(other)

    def __rmul__(self: Any, other: Any) -> Any:
        return self._rmatmul_dispatch(other)

    def __pow__(self: Any, other: Any) -> Any:
        from cupool.client_shim.cupyx.scipy.sparse._construct import identity
        from cupool.client_shim.cupyx.scipy.sparse.linalg._matfuncs import power_by_squaring

        one = lambda: identity(self.shape[0], dtype=self.dtype, format="csr")  # noqa: E731
        return power_by_squaring(self, other, one)

    @property
    def A(self: Any) -> Any:
        """Deprecated: `toarray()`."""
        _deprecated("A", ".toarray()")
        return self.toarray()

    @property
    def H(self: Any) -> Any:
        """Deprecated: `T.conj()`."""
        _deprecated("H", ".T.conj()")
        return self.transpose().conj()

    def get_shape(self: Any) -> tuple[int, ...]:
        """Return the lengths of the axes."""
        return self._shape  # type: ignore[no-any-return]

    def set_shape(self: Any, shape: Any) -> None:
        """Reshape in place."""
        self.__dict__ = self.reshape(shape).asformat(self.format).__dict__

    shape = property(get_shape, set_shape, doc="Lengths of the axes.")

    def asfptype(self: Any) -> Any:
        """Return the matrix with a floating dtype."""
        if self.dtype.kind == "f":
            return self
        return self.astype(np.promote_types(self.dtype, np.float32))

    def getH(self: Any) -> Any:
        """Return the conjugate transpose."""
        return self.transpose().conj()

    def getrow(self: Any, i: int) -> Any:
        """Return a copy of row `i`."""
        return self._getrow(i)

    def getcol(self: Any, j: int) -> Any:
        """Return a copy of column `j`."""
        return self._getcol(j)

    def getformat(self) -> str:
        """Return the name of the format."""
        return self.format

    def getmaxprint(self) -> int:
        """Return how many elements are printed at most."""
        return self.maxprint

    def getnnz(self: Any, axis: Any = None) -> Any:
        """Return the number of stored elements."""
        return self._getnnz(axis=axis)


def _deprecated(name: str, instead: str) -> None:
    text = f"`spmatrix.{name}` is deprecated; use `{instead}` instead."
    warnings.warn(text, DeprecationWarning, stacklevel=3)

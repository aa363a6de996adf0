"""`cupy.polynomial`: power series as coefficient vectors, lowest power first."""

from cupool.client_shim.cupy.polynomial import polynomial, polyutils

__all__ = ["polynomial", "polyutils"]

"""CuPy's chapter "Binary operations"; the bitwise ufuncs are in `_core._ufuncs`."""

from cupool.client_shim.cupy._binary.packing import *  # noqa: F403

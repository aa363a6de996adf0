"""The mock GPU: NumPy computes, a model of CuPy's memory pool counts.

In: operations of the table. Out: NumPy arrays. Open `device.py` first; where CuPy and NumPy
differ, a function in `adapters/` says how.
"""

from cupool.pool_server.devices.mock.device import MockDevice
from cupool.pool_server.devices.mock.options import MockOptions

__all__ = ["MockDevice", "MockOptions"]

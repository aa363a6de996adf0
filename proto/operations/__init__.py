"""The closed table of operations: what the shim may send and a device may be asked to do.

Open `table.py` first. One file per chapter holds its rows; `TABLE` is all of them by name.
"""

from cupool.proto.operations.operation import Operation
from cupool.proto.operations.table import TABLE

__all__ = ["TABLE", "Operation"]

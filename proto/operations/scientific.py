"""What else SciPy has: `cupyx.scipy.linalg`, `fft`, `fftpack`, `stats`."""

from cupool.proto.operations.operation import Operation

OPERATIONS: tuple[Operation, ...] = ()

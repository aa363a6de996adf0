"""What else SciPy has: linear algebra, transforms, statistics (`cupyx.scipy.linalg`, `fft`, `fftpack`, `stats`)."""

from cupool.proto.operations.operation import Operation

OPERATIONS: tuple[Operation, ...] = ()

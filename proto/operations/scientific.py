"""What else SciPy has: `cupyx.scipy.linalg`, `fft`, `fftpack`, `stats`; and `cupyx.lapack`.

Operations are called as CuPy's functions without the leading ``cupyx.``. Fourier transforms of
these packages are sent as those of the chapter `fft`.
"""

from cupool.proto.operations.operation import Operation

_MATRICES = (
    "block_diag circulant companion convolution_matrix dft fiedler fiedler_companion hadamard "
    "hankel helmert hilbert leslie toeplitz"
).split()
_SOLVERS = "expm lu_solve solve_triangular".split()
_REAL_TRANSFORMS = "dct dst idct idst dctn dstn idctn idstn fht ifht".split()


def _row(name: str, outputs: int = 1) -> Operation:
    return Operation(name, "function", f"cupyx.{name}", "", "own", outputs)


OPERATIONS: tuple[Operation, ...] = (
    *(_row(f"scipy.linalg.{name}") for name in (*_MATRICES, *_SOLVERS)),
    _row("scipy.linalg.lu", -1),
    _row("scipy.linalg.lu_factor", 2),
    *(_row(f"scipy.fft.{name}") for name in _REAL_TRANSFORMS),
    *(_row(f"scipy.fftpack.{name}") for name in ("rfft", "irfft")),
    *(_row(f"scipy.stats.{name}") for name in ("boxcox_llf", "entropy", "trim_mean", "zmap")),
    *(_row(f"lapack.{name}") for name in ("gels", "posv", "potrs")),
    # writes x over b, and factors over a
    _row("lapack.gesv", 0),
)

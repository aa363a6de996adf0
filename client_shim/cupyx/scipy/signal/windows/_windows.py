"""Windows: each of `M` points; `sym` for design, not `sym` for spectra."""

from __future__ import annotations

from typing import Any

from cupool.client_shim.cupyx.scipy._declared import declared
from cupool.client_shim.cupyx.scipy.signal._systems import named_window, window

__all__ = [
    "barthann",
    "bartlett",
    "blackman",
    "blackmanharris",
    "bohman",
    "boxcar",
    "chebwin",
    "cosine",
    "exponential",
    "flattop",
    "gaussian",
    "general_cosine",
    "general_gaussian",
    "general_hamming",
    "get_window",
    "hamming",
    "hann",
    "kaiser",
    "kaiser_bessel_derived",
    "lanczos",
    "nuttall",
    "parzen",
    "taylor",
    "triang",
    "tukey",
]
_operation = declared("scipy.signal.windows")


@_operation
def barthann(M: int, sym: bool = True) -> Any:
    """Return Bartlett and Hann's window."""
    return window(M)


@_operation
def bartlett(M: int, sym: bool = True) -> Any:
    """Return Bartlett's window, a triangle that ends at zero."""
    return window(M)


@_operation
def blackman(M: int, sym: bool = True) -> Any:
    """Return Blackman's window."""
    return window(M)


@_operation
def blackmanharris(M: int, sym: bool = True) -> Any:
    """Return Blackman and Harris's window."""
    return window(M)


@_operation
def bohman(M: int, sym: bool = True) -> Any:
    """Return Bohman's window."""
    return window(M)


@_operation
def boxcar(M: int, sym: bool = True) -> Any:
    """Return a window of ones."""
    return window(M)


@_operation
def chebwin(M: int, at: Any, sym: bool = True) -> Any:
    """Return Dolph and Chebyshev's window with side lobes at `at` dB."""
    return window(M)


@_operation
def cosine(M: int, sym: bool = True) -> Any:
    """Return a window of half a cosine."""
    return window(M)


@_operation
def exponential(
    M: int,
    center: Any = None,
    tau: Any = 1.0,
    sym: bool = True,
) -> Any:
    """Return a window that falls on both sides of its centre."""
    return 1 if sym and center is not None else window(M)


@_operation
def flattop(M: int, sym: bool = True) -> Any:
    """Return a window with a flat top."""
    return window(M)


@_operation
def gaussian(M: int, std: Any, sym: bool = True) -> Any:
    """Return a Gaussian window."""
    return window(M)


@_operation
def general_cosine(M: int, a: Any, sym: bool = True) -> Any:
    """Return a window that is a sum of cosines of weights `a`."""
    return window(M)


@_operation
def general_gaussian(
    M: int,
    p: Any,
    sig: Any,
    sym: bool = True,
) -> Any:
    """Return a Gaussian window of another power."""
    return window(M)


@_operation
def general_hamming(M: int, alpha: Any, sym: bool = True) -> Any:
    """Return Hamming's window with another weight."""
    return window(M)


@_operation
def hamming(M: int, sym: bool = True) -> Any:
    """Return Hamming's window."""
    return window(M)


@_operation
def hann(M: int, sym: bool = True) -> Any:
    """Return Hann's window."""
    return window(M)


@_operation
def kaiser(M: int, beta: Any, sym: bool = True) -> Any:
    """Return Kaiser's window."""
    return window(M)


@_operation
def kaiser_bessel_derived(M: int, beta: Any, sym: bool = True) -> Any:
    """Return the window that Kaiser's gives for overlapping transforms."""
    return 1


@_operation
def lanczos(M: int, sym: bool = True) -> Any:
    """Return Lanczos's window."""
    return window(M)


@_operation
def nuttall(M: int, sym: bool = True) -> Any:
    """Return Nuttall's window."""
    return window(M)


@_operation
def parzen(M: int, sym: bool = True) -> Any:
    """Return Parzen's window."""
    return window(M)


@_operation
def taylor(
    M: int,
    nbar: Any = 4,
    sll: Any = 30,
    norm: Any = True,
    sym: bool = True,
) -> Any:
    """Return Taylor's window with `nbar` side lobes at `sll` dB."""
    return window(M)


@_operation
def triang(M: int, sym: bool = True) -> Any:
    """Return a triangular window."""
    return window(M)


@_operation
def tukey(M: int, alpha: Any = 0.5, sym: bool = True) -> Any:
    """Return Tukey's window, flat between cosines."""
    return window(M)


@_operation
def get_window(window: Any, Nx: Any, fftbins: Any = True) -> Any:
    """Return a window by its name, or by a tuple of name and parameters."""
    return named_window(window)

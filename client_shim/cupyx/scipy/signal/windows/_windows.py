"""Windows: each of `M` points; `sym` for design, not `sym` for spectra."""

from __future__ import annotations

from typing import Any

import numpy as np

from cupool.client_shim.cupy._core import core
from cupool.client_shim.cupyx.scipy._declared import Spec, declared

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
ndarray = core.ndarray
_operation = declared("scipy.signal.windows")


def window(M: Any) -> Spec:
    """Predict a window.

    Raises:
        ValueError: a length that is no whole number, or negative.
    """
    if int(M) != M or M < 0:
        raise ValueError("Window length M must be a non-negative integer")
    return Spec((int(M),), np.dtype(np.float64))


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
    """Return a window that falls on both sides of its centre.

    Raises:
        ValueError: a centre of a symmetric window.
    """
    if sym and center is not None:
        raise ValueError("If sym==True, center must be None.")
    return window(M)


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
    """Return the window that Kaiser's gives for overlapping transforms.

    Raises:
        ValueError: an odd length, a window that is not symmetric.
    """
    if not sym:
        raise ValueError("Kaiser-Bessel Derived windows are only defined for symmetric shapes")
    if M >= 1 and M % 2:
        raise ValueError("Kaiser-Bessel Derived windows are only defined for even number of points")
    return window(max(M, 0))


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


_NAMES = {
    barthann: "barthann brthan bth",
    bartlett: "bartlett bart brt",
    blackman: "blackman black blk",
    blackmanharris: "blackmanharris blackharr bkh",
    bohman: "bohman bman bmn",
    boxcar: "boxcar box ones rect rectangular",
    cosine: "cosine halfcosine",
    flattop: "flattop flat flt",
    hamming: "hamming hamm ham",
    hann: "hanning hann han",
    lanczos: "lanczos sinc",
    nuttall: "nuttall nutl nut",
    parzen: "parzen parz par",
    triang: "triangle triang tri",
}
_NAMES_WITH_PARAMETERS = {
    chebwin: ("chebwin", "cheb"),
    exponential: ("exponential", "poisson"),
    gaussian: ("gaussian", "gauss", "gss"),
    general_cosine: ("general cosine", "general_cosine"),
    general_gaussian: (
        "general gaussian",
        "general_gaussian",
        "general gauss",
        "general_gauss",
        "ggs",
    ),
    general_hamming: ("general hamming", "general_hamming"),
    kaiser: ("kaiser", "ksr"),
    kaiser_bessel_derived: ("kaiser bessel derived", "kbd"),
    tukey: ("tukey", "tuk"),
}
_PLAIN = {name: function for function, names in _NAMES.items() for name in names.split()}
_WITH_PARAMETERS = {
    name: function for function, names in _NAMES_WITH_PARAMETERS.items() for name in names
}


def check_window(window: Any) -> Any:
    """Return the function that a name of a window stands for.

    Args:
        window: a name, a tuple of a name and parameters, or the parameter of Kaiser's.

    Raises:
        ValueError: no such window, or one that needs parameters without any.
    """
    if isinstance(window, (int, float, np.number, ndarray)):
        return kaiser
    name = window[0] if isinstance(window, tuple) else window
    if not isinstance(name, str):
        raise ValueError(f"{type(window)} as window type is not supported.")
    if name in _WITH_PARAMETERS:
        if not isinstance(window, tuple):
            raise ValueError(f"The '{name}' window needs one or more parameters -- pass a tuple.")
        return _WITH_PARAMETERS[name]
    if name not in _PLAIN:
        raise ValueError("Unknown window type.")
    return _PLAIN[name]


def get_window(window: Any, Nx: Any, fftbins: bool = True) -> Any:
    """Return a window by its name, by a tuple of name and parameters, or by Kaiser's parameter.

    Args:
        fftbins: for spectra; otherwise it is symmetric.

    Raises:
        ValueError: no such window, parameters that are missing.
    """
    function = check_window(window)
    if isinstance(window, (str, tuple)):
        parameters = window[1:] if isinstance(window, tuple) else ()
        return function(Nx, *parameters, not fftbins)
    return function(Nx, float(window), not fftbins)

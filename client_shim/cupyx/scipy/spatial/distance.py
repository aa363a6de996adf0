"""`cupyx.scipy.spatial.distance`: distances between points.

On a real GPU CuPy leaves this to NVIDIA's cuVS, and raises RuntimeError where it is not installed.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from cupool.client_shim import cupy
from cupool.client_shim.cupy import _unsupported
from cupool.client_shim.cupy._core import calls, core

__all__ = [
    "canberra",
    "cdist",
    "chebyshev",
    "check_soft_dependencies",
    "cityblock",
    "correlation",
    "cosine",
    "distance_matrix",
    "euclidean",
    "hamming",
    "hellinger",
    "jensenshannon",
    "kl_divergence",
    "minkowski",
    "pdist",
    "russellrao",
    "sqeuclidean",
]
ndarray = core.ndarray

cuvs_available = True
pylibraft_available = False

_ALIASES = {
    "canberra": ("canberra",),
    "chebyshev": ("chebychev", "chebyshev", "cheby", "cheb", "ch"),
    "cityblock": ("cityblock", "cblock", "cb", "c"),
    "correlation": ("correlation", "co"),
    "cosine": ("cosine", "cos"),
    "hamming": ("matching", "hamming", "hamm", "ha", "h"),
    "euclidean": ("euclidean", "euclid", "eu", "e"),
    "jensenshannon": ("jensenshannon", "js"),
    "minkowski": ("minkowski", "mi", "m", "pnorm"),
    "russellrao": ("russellrao",),
    "sqeuclidean": ("sqeuclidean", "sqe", "sqeuclid"),
    "hellinger": ("hellinger",),
    "kl_divergence": ("kl_divergence", "kl_div", "kld"),
}
_METRICS = {alias: name for name, aliases in _ALIASES.items() for alias in aliases}


def check_soft_dependencies() -> None:
    """Do nothing: whether the server has cuVS shows when it computes."""


def _order(a: ndarray) -> str:
    return "F" if cupy.isfortran(a) else "C"


def cdist(XA: Any, XB: Any, metric: Any = "euclidean", out: Any = None, **kwargs: Any) -> Any:
    """Return the distances between all points of two arrays.

    Args:
        XA, XB: shapes (m, variables) and (n, variables), in the same memory order.
        metric: its name.
        out: where the result is written, shape (m, n).
        kwargs: `p`, for "minkowski".

    Returns:
        shape (m, n), of the dtype of `XA`; other dtypes than float32 and float64 become float32.

    Raises:
        ValueError: shapes or memory orders that do not fit, an unknown metric.
        TypeError: `metric` is no name.
    """
    XA, XB = (a if a.dtype.char in "fd" else cupy.asarray(a, dtype=np.float32) for a in (XA, XB))
    order = _order(XA)
    if order != _order(XB):
        raise ValueError(
            f"XA and XB must have the same layout (XA.order={order}, XB.order={_order(XB)}"
        )
    if XA.ndim != 2:
        raise ValueError("XA must be a 2-dimensional array.")
    if XB.ndim != 2:
        raise ValueError("XB must be a 2-dimensional array.")
    if XA.shape[1] != XB.shape[1]:
        raise ValueError("XA and XB must have the same number of columns (i.e. feature dimension.)")
    if not isinstance(metric, str):
        raise TypeError("2nd argument metric must be a string identifier")
    name = _METRICS.get(metric.lower())
    if name is None:
        raise ValueError(f"Unknown Distance Metric: {metric.lower()}")
    shape = (XA.shape[0], XB.shape[0])
    norm = {"p": float(kwargs.get("p", 2.0))}
    row = "scipy.spatial.distance.cdist"
    result = calls.call_one(row, (XA, XB, name), norm, shape, XA.dtype, order)
    return calls.with_out(result, out)


def _between(u: Any, v: Any, metric: str, p: float = 2.0) -> Any:
    """Return the distance between two points, as an array without axes."""
    u, v = cupy.asarray(u), cupy.asarray(v)
    if _order(u) != _order(v):
        raise ValueError(
            f"u and v must have the same layout (u.order={_order(u)}, v.order={_order(v)}"
        )
    return cdist(cupy.atleast_2d(u), cupy.atleast_2d(v), metric, p=p)[0, 0]


def minkowski(u: Any, v: Any, p: float) -> Any:
    """Return the p-norm of the difference."""
    return _between(u, v, "minkowski", p)


def canberra(u: Any, v: Any) -> Any:
    """Return the sum of differences relative to the sums of magnitudes."""
    return _between(u, v, "canberra")


def chebyshev(u: Any, v: Any) -> Any:
    """Return the greatest difference."""
    return _between(u, v, "chebyshev")


def cityblock(u: Any, v: Any) -> Any:
    """Return the sum of differences."""
    return _between(u, v, "cityblock")


def correlation(u: Any, v: Any) -> Any:
    """Return 1 minus the correlation."""
    return _between(u, v, "correlation")


def cosine(u: Any, v: Any) -> Any:
    """Return 1 minus the cosine of the angle."""
    return _between(u, v, "cosine")


def hamming(u: Any, v: Any) -> Any:
    """Return the share of elements that differ."""
    return _between(u, v, "hamming")


def euclidean(u: Any, v: Any) -> Any:
    """Return the Euclidean distance."""
    return _between(u, v, "euclidean")


def jensenshannon(u: Any, v: Any) -> Any:
    """Return the Jensen-Shannon distance of two distributions."""
    return _between(u, v, "jensenshannon")


def russellrao(u: Any, v: Any) -> Any:
    """Return the share of elements that are not both true."""
    return _between(u, v, "russellrao")


def sqeuclidean(u: Any, v: Any) -> Any:
    """Return the square of the Euclidean distance."""
    return _between(u, v, "sqeuclidean")


def hellinger(u: Any, v: Any) -> Any:
    """Return the Hellinger distance of two distributions."""
    return _between(u, v, "hellinger")


def kl_divergence(u: Any, v: Any) -> Any:
    """Return the Kullback-Leibler divergence of two distributions."""
    return _between(u, v, "kl_divergence")


def pdist(X: Any, metric: Any = "euclidean", *, out: Any = None, **kwargs: Any) -> Any:
    """Return the distances between all pairs of points, shape (m * (m - 1) / 2,); see `cdist`."""
    distances = cdist(X, X, metric=metric, out=out, **kwargs)
    return distances[np.triu_indices(distances.shape[0], 1)]


def distance_matrix(x: Any, y: Any, p: float = 2.0) -> Any:
    """Return the Minkowski distances between all points of two arrays; see `cdist`."""
    x, y = cupy.asarray(x), cupy.asarray(y)
    if x.shape[1] != y.shape[1]:
        raise ValueError(
            f"x contains {x.shape[1]}-dimensional vectors but y contains "
            f"{y.shape[1]}-dimensional vectors"
        )
    return cdist(x, y, metric="minkowski", p=p)


_unsupported.fill(globals(), "cupyx.scipy.spatial.distance")

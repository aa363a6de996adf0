"""Distances to the background."""

from __future__ import annotations

from typing import Any

import numpy as np

from cupool.client_shim.cupy._core import calls, core
from cupool.client_shim.cupyx.scipy.ndimage import _util

__all__ = ["distance_transform_edt"]
ndarray = core.ndarray


def _check_results(
    shape: tuple[int, ...], distances: Any, indices: Any, wanted: tuple[bool, bool], dtype: Any
) -> None:
    problems = []
    if not any(wanted):
        problems.append("at least one of return_distances/return_indices must be True")
    if distances is not None and not wanted[0]:
        problems.append("return_distances must be True if distances is supplied")
    if indices is not None and not wanted[1]:
        problems.append("return_indices must be True if indices is supplied")
    if problems:
        raise RuntimeError(", ".join(problems))
    if distances is not None:
        if distances.shape != shape:
            raise RuntimeError("distances array has wrong shape")
        if distances.dtype != dtype:
            raise RuntimeError(f"distances array must have dtype: {dtype}")
    if indices is not None:
        if indices.shape != (len(shape), *shape):
            raise RuntimeError("indices array has wrong shape")
        if indices.dtype.kind not in "iu":
            raise RuntimeError("indices array must have an integer dtype")
        if indices.dtype.itemsize < _itemsize(shape):
            raise RuntimeError(f"indices dtype must have itemsize > {_itemsize(shape)}")


def _itemsize(shape: tuple[int, ...]) -> int:
    """Return the bytes of an index: pictures of two axes have short ones."""
    return 2 if len(shape) == 2 and max(shape) <= 1 << 15 else 4


def _check_blocks(params: Any, ndim: int) -> None:
    if params is None:
        return
    if any(p < 1 for p in params):
        raise ValueError("(m1, m2, m3) in blockparams must be >= 1")
    if ndim == 2 and params[1] & (params[1] - 1):
        raise ValueError("m2 must be a power of 2")


def distance_transform_edt(
    image: Any,
    sampling: Any = None,
    return_distances: bool = True,
    return_indices: bool = False,
    distances: Any = None,
    indices: Any = None,
    *,
    block_params: Any = None,
    float64_distances: bool = True,
) -> Any:
    """Return the Euclidean distance of each element to the nearest zero, and where that is.

    Args:
        sampling: the distance between elements, one or one for each axis.
        distances, indices: arrays to write into.
        block_params: of the kernels; has no effect on the result.
        float64_distances: False gives float32.

    Raises:
        NotImplementedError: other than two or three axes.
        RuntimeError: arrays that do not fit or were not asked for.
    """
    shape = image.shape
    dtype = np.dtype(np.float64 if float64_distances else np.float32)
    if sampling is not None:
        sampling = _util.sequence(sampling, image.ndim, "sampling", float)
    if image.ndim not in (2, 3):
        raise NotImplementedError("Only 2D and 3D distance transforms are supported.")
    wanted = (bool(return_distances), bool(return_indices))
    _check_results(shape, distances, indices, wanted, dtype)
    _check_blocks(block_params, image.ndim)
    specs: list[Any] = [(shape, dtype, "C")] if wanted[0] else []
    if wanted[1]:
        kind = np.dtype(np.int16 if _itemsize(shape) == 2 else np.int32)
        specs.append(((image.ndim, *shape), kind, "C"))
    options: dict[str, Any] = {"sampling": sampling}
    options |= {"return_distances": wanted[0], "return_indices": wanted[1]}
    options |= {"block_params": block_params, "float64_distances": bool(float64_distances)}
    name = "scipy.ndimage.distance_transform_edt"
    results = calls.call(name, (image,), options, *specs)
    given = [array for array, asked in zip((distances, indices), wanted, strict=True) if asked]
    made = [calls.with_out(r, out) for r, out in zip(results, given, strict=True)]
    return made[0] if len(made) == 1 else tuple(made)

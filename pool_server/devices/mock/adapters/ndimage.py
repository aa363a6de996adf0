"""Where CuPy differs from SciPy in the chapter `proto.operations.ndimage`.

SciPy's filters know no float16; CuPy's brute-force and texture options change no result.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from cupool.pool_server.devices.base import Layout
from cupool.pool_server.devices.mock.calls import adapter, named
from cupool.proto.operations import ndimage

NpArray = np.ndarray[Any, Any]
Outs = Sequence[Layout | None]

_MEASURES = frozenset(
    "center_of_mass distance_transform_edt extrema generate_binary_structure iterate_structure "
    "label maximum maximum_position mean median minimum minimum_position standard_deviation "
    "sum_labels variance".split()
)
_HALF = np.dtype(np.float16)


def _widened(value: Any) -> Any:
    """Return float16 arrays as float32: SciPy's loops have none."""
    if isinstance(value, np.ndarray) and value.dtype == _HALF:
        return value.astype(np.float32)
    return value


def _filter(name: str) -> Callable[..., Any]:
    def run(*args: Any, outs: Outs, **kwargs: Any) -> Any:
        function = named(f"scipy.ndimage.{name}")
        promised = outs[0]
        assert promised is not None
        kwargs = {key: _widened(value) for key, value in kwargs.items()}
        if kwargs.get("output") is not None and np.dtype(kwargs["output"]) == _HALF:
            kwargs["output"] = np.float32
        kwargs.pop("texture_memory", None)
        if kwargs.get("mode") == "opencv":
            raise NotImplementedError("the mock GPU has no interpolation in the way of OpenCV")
        if name.startswith("binary"):
            kwargs.pop("output", None)
        result = function(*map(_widened, args), **kwargs)
        return np.asarray(result).astype(promised.dtype, copy=False)

    return run


for _name in ndimage._NAMES:
    if _name not in _MEASURES:
        adapter(f"scipy.ndimage.{_name}", wants_outs=True)(_filter(_name))


def _typed(name: str) -> Callable[..., Any]:
    """Measures: results in the promised dtypes, whatever SciPy makes of them."""

    def run(input: NpArray, labels: Any, index: Any, *, outs: Outs) -> Any:
        function = named(f"scipy.ndimage.{name}")
        if name in ("sum_labels", "mean", "variance", "standard_deviation"):
            if input.dtype.kind == "b" or input.dtype == _HALF:
                input = input.astype(np.float64)
        result = _flatten(function(input, labels, index))
        pairs = zip(result, outs, strict=True)
        return [np.asarray(r).astype(o.dtype) if o else r for r, o in pairs]

    return run


def _flatten(result: Any) -> list[Any]:
    if not isinstance(result, (tuple, list)):
        return [result]
    return [one for part in result for one in _flatten(part)]


for _name in (
    "extrema",
    "maximum",
    "maximum_position",
    "mean",
    "median",
    "minimum",
    "minimum_position",
    "standard_deviation",
    "sum_labels",
    "variance",
):
    adapter(f"scipy.ndimage.{_name}", wants_outs=True)(_typed(_name))


@adapter("scipy.ndimage.center_of_mass")
def center_of_mass(input: NpArray, labels: Any, index: Any) -> list[NpArray]:
    """A number for each axis, or an array for each label of several."""
    with np.errstate(all="ignore"):
        found = named("scipy.ndimage.center_of_mass")(input.astype(np.float64), labels, index)
    return [np.asarray(one, np.float64) for one in found]


@adapter("scipy.ndimage.label", casts=True)
def label(input: NpArray, structure: Any, dtype: Any) -> tuple[NpArray, int]:
    """Zero axes are labelled too; a count that the dtype cannot hold is refused."""
    function = named("scipy.ndimage.label")
    if not input.ndim:
        count = int(input != 0)
        return np.asarray(count), count
    labels, count = function(_widened(input), structure)
    if np.dtype(dtype).kind in "iu" and count > np.iinfo(dtype).max:
        raise ValueError("insufficient bit-depth in output type")
    return labels.astype(dtype), count


@adapter("scipy.ndimage.distance_transform_edt", casts=True)
def distance_transform_edt(
    image: NpArray,
    sampling: Any,
    return_distances: bool,
    return_indices: bool,
    block_params: Any = None,
    float64_distances: bool = True,
) -> Any:
    """The shape of the kernels' blocks means nothing to a CPU."""
    function = named("scipy.ndimage.distance_transform_edt")
    return function(image, sampling, return_distances, return_indices)

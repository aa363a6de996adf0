"""Interpolation (`cupyx.scipy.interpolate`).

Most of it are objects of the script that hold device arrays. What is here is what devices have
kernels for: evaluation and fitting of the classes, from the arrays that make an object. The CuPy
name of a row is the class (or function) that does it.
"""

from cupool.proto.operations.operation import Kind, Operation

_PATH = "scipy.interpolate"


def _row(name: str, outputs: int = 1, kind: Kind = "function", rule: str = "own") -> Operation:
    cupy = f"cupyx.{_PATH}.{name.partition('.')[0]}"
    return Operation(f"{_PATH}.{name}", kind, cupy, "", rule, outputs)


OPERATIONS: tuple[Operation, ...] = (
    *(_row(f"{name}.evaluate") for name in ("PPoly", "BPoly", "NdPPoly", "BSpline", "NdBSpline")),
    _row("BSpline.design_matrix", 2),
    _row("NdBSpline.design_matrix", 2),
    _row("make_interp_spline", 2),
    _row("make_lsq_spline"),
    # how many knots a smoothing spline needs depends on data
    _row("UnivariateSpline.fit", 2, rule="data"),
    _row("RegularGridInterpolator.evaluate"),
    _row("CloughTocher2DInterpolator.gradients"),
    # objects of the device, which hold a triangulation
    _row("LinearNDInterpolator", kind="object"),
    _row("CloughTocher2DInterpolator", kind="object"),
    _row("LinearNDInterpolator.evaluate", kind="object"),
    _row("CloughTocher2DInterpolator.evaluate", kind="object"),
)

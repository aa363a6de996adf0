"""Spatial data (`cupyx.scipy.spatial`): trees and triangulations that live on the device, and
distances. The CuPy name of a row is the class (or function) that does it.
"""

from cupool.proto.operations.operation import Kind, Operation

_PATH = "scipy.spatial"


def _row(name: str, outputs: int = 1, kind: Kind = "object", rule: str = "own") -> Operation:
    cupy = f"cupyx.{_PATH}.{name.partition('.')[0]}"
    return Operation(f"{_PATH}.{name}", kind, cupy, "", rule, outputs)


OPERATIONS: tuple[Operation, ...] = (
    _row("KDTree"),
    _row("KDTree.query", 2),
    _row("KDTree.count_in_ball"),
    _row("KDTree.query_ball", 2, rule="data"),
    _row("KDTree.query_pairs", rule="data"),
    _row("Delaunay"),
    _row("Delaunay.triangles", 2, rule="data"),
    _row("Delaunay.find_simplex"),
    _row("Delaunay.neighbors", 2, rule="data"),
    Operation(f"{_PATH}.distance.cdist", "function", f"cupyx.{_PATH}.distance.cdist", "", "own", 1),
)

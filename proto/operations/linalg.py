"""Products of arrays and linear algebra."""

from cupool.proto.operations.operation import Operation


def _product(name: str) -> Operation:
    return Operation(name, "function", f"cupy.{name}", f"numpy.{name}", "own")


def _linalg(name: str, outputs: int = 1, rule: str = "own") -> Operation:
    """A row of `cupy.linalg`; the mock has adapters, for CuPy does not raise for bad values."""
    return Operation(f"linalg.{name}", "function", f"cupy.linalg.{name}", "", rule, outputs)


OPERATIONS = (
    *(_product(name) for name in ("dot", "vdot", "inner", "tensordot", "kron", "cross")),
    Operation("einsum", "function", "cupy.einsum", "", "own"),
    # keyword linalg: "ignore" or "raise"; holds for the records that follow
    Operation("linalg.seterr", "function", "cupyx.seterr", "", "own", outputs=0),
    *(_linalg(name) for name in ("cholesky", "eigvals", "eigvalsh", "inv", "pinv", "solve")),
    *(_linalg(name) for name in ("cond", "det", "matrix_power", "matrix_rank", "norm")),
    *(_linalg(name, 2) for name in ("eig", "eigh", "slogdet")),
    *(_linalg(name, -1) for name in ("qr", "svd")),
    # predicted where M <= N, else asked: the residuals depend on the rank
    _linalg("lstsq", 4, "data"),
)

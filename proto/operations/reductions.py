"""Reductions and scans: `axis`, `keepdims`, `dtype` as keyword arguments."""

from cupool.proto.operations.operation import Operation

_REDUCTIONS = (
    "sum prod nansum nanprod mean nanmean var std nanvar nanstd median nanmedian "
    "max min nanmax nanmin all any argmax argmin nanargmax nanargmin count_nonzero"
).split()
_SCANS = "cumsum cumprod nancumsum nancumprod".split()

OPERATIONS = (
    *(
        Operation(name, "function", f"cupy.{name}", f"numpy.{name}", "reduction")
        for name in _REDUCTIONS
    ),
    *(Operation(name, "function", f"cupy.{name}", f"numpy.{name}", "scan") for name in _SCANS),
    Operation("add.reduceat", "function", "cupy.add.reduceat", "numpy.add.reduceat", "own"),
)

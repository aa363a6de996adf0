"""Statistics beyond plain reductions."""

from cupool.proto.operations.operation import Operation

OPERATIONS = (
    Operation("average", "function", "cupy.average", rule="own", outputs=2),
    Operation("bincount", "function", "cupy.bincount", rule="data"),
    Operation("corrcoef", "function", "cupy.corrcoef", rule="own"),
    Operation("correlate", "function", "cupy.correlate", rule="own"),
    Operation("cov", "function", "cupy.cov", rule="own"),
    Operation("digitize", "function", "cupy.digitize", rule="own"),
    Operation("histogram", "function", "cupy.histogram", rule="own", outputs=2),
    Operation("histogramdd", "function", "cupy.histogramdd", rule="own", outputs=-1),
    Operation("percentile", "function", "cupy.percentile", rule="own"),
    Operation("quantile", "function", "cupy.quantile", rule="own"),
)

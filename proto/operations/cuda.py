"""Memory by address, streams, events and graphs, which every device implements by itself; cuBLAS.

Arguments, in the notation of `proto.values` (`ref` is [ARRAY, handle]; a stream is the ref of one,
or nil for the null stream):

    malloc           kind                          bytes outside the memory pool, "device",
                                                   "managed" or "async"; size in the output
    stream_create    non_blocking, priority        -> object
    event_create     timing                        -> object
    event_record     event, stream
    stream_wait      stream, event                 what comes later waits for the event
    capture_begin    stream                        what comes later is kept instead of executed
    capture_end      stream                        -> object: the graph
    graph_launch     graph, stream

Requests:

    address           refs                         -> addresses of their first bytes
    attributes                                     -> {"attributes": {..}, "properties": {..}}
    stream_synchronize  stream                     -> None, once all before it is done
    stream_query      stream                       -> bool: is it all done?
    event_synchronize event                        -> None, once it is reached
    event_query       event                        -> bool: is it reached?
    event_elapsed     start, end                   -> milliseconds between two events
    graph_dot         graph, flags                 -> the graph in DOT's language
"""

from cupool.proto.operations.operation import Operation

_BLAS = {
    "iamax": 1,
    "iamin": 1,
    "asum": 1,
    "dot": 1,
    "dotu": 1,
    "dotc": 1,
    "nrm2": 1,
    "axpy": 0,
    "scal": 0,
    "gemv": 0,
    "ger": 0,
    "geru": 0,
    "gerc": 0,
    "sbmv": 0,
    "gemm": -1,
    "geam": -1,
    "dgmm": -1,
    "syrk": -1,
}
"""Functions of `cupy.cublas`, and the arrays that they make: -1 where `out` may be given."""

OPERATIONS = (
    Operation("malloc", "core"),
    Operation("stream_create", "core"),
    Operation("event_create", "core"),
    Operation("event_record", "core", outputs=0),
    Operation("stream_wait", "core", outputs=0),
    Operation("capture_begin", "core", outputs=0),
    Operation("capture_end", "core"),
    Operation("graph_launch", "core", outputs=0),
    Operation("address", "request", outputs=0),
    Operation("attributes", "request", outputs=0),
    Operation("stream_synchronize", "request", outputs=0),
    Operation("stream_query", "request", outputs=0),
    Operation("event_synchronize", "request", outputs=0),
    Operation("event_query", "request", outputs=0),
    Operation("event_elapsed", "request", outputs=0),
    Operation("graph_dot", "request", outputs=0),
    *(
        Operation(f"cublas.{name}", "function", f"cupy.cublas.{name}", rule="own", outputs=count)
        for name, count in _BLAS.items()
    ),
)

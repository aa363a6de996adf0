"""Data movement and requests: what every device implements by itself.

Arguments, in the notation of `proto.values` (`ref` is [ARRAY, handle]):

    empty        (shape and dtype are in the predicted output)
    upload       [PAYLOAD | TRANSFER]              host array -> new array
    write        ref, [PAYLOAD | TRANSFER]         host array -> existing array (same shape, dtype)
    view         ref of the owner, offset_bytes    layout is in the predicted output
    free         handles, as bare ints
    fill         ref, scalar
    assign       ref, ref | scalar                 broadcasting copy with cast: a[...] = b
    release_blocks                                 give cached memory back to the device
    set_limit    size_bytes                        0 = no limit
    plan_cache   count, size_bytes, clear?         limits of the kept cuFFT plans, -1 = none

Requests carry their request id in the place of the outputs:

    fetch        ref                               -> the array, [PAYLOAD | TRANSFER]
    describe     refs                              -> [[dtype, shape, strides], ...]
    synchronize                                    -> None, once all before it is done
    memory                                         -> {"used", "free", "total", "limit"}, bytes:
        held by arrays, kept for reuse, the sum of the two, and the limit that was set (0 = none)
"""

from cupool.proto.operations.operation import Operation

OPERATIONS = (
    Operation("empty", "core"),
    Operation("upload", "core"),
    Operation("write", "core", outputs=0),
    Operation("view", "core"),
    Operation("free", "core", outputs=0),
    Operation("fill", "core", outputs=0),
    Operation("assign", "core", outputs=0),
    Operation("release_blocks", "core", outputs=0),
    Operation("set_limit", "core", outputs=0),
    Operation("plan_cache", "core", outputs=0),
    Operation("fetch", "request", outputs=0),
    Operation("describe", "request", outputs=0),
    Operation("synchronize", "request", outputs=0),
    Operation("memory", "request", outputs=0),
)

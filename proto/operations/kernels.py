"""User kernels: objects that hold a compiled module, a function of it, or a kernel's definition.

    RawModule               source, options, name_expressions, backend, translate_cucomplex,
                            cooperative                          -> module
    RawModule.load          array of bytes (PTX or cubin)        -> module
    RawModule.get_function  module, name                         -> function
    RawModule.global_array  module, name                         -> array of its bytes (predicted)
    RawKernel               function, grid, block, arguments, shared_bytes, cooperative
    RawKernel.set           function, attribute, value
    ElementwiseKernel       in_params, out_params, operation, name, options   -> kernel
    ElementwiseKernel.call  kernel, arguments, size, block_size  -> the outputs that were not given
    ReductionKernel         in_params, out_params, map, reduce, post_map, identity, name,
                            options                              -> kernel
    ReductionKernel.call    kernel, arguments, axis, keepdims    -> the outputs that were not given

A launch's arguments are a list: arrays; scalars, which are passed by their bytes; a structure as a
scalar of a void dtype; None for a null pointer; (array, offset_bytes) for a pointer into the
memory that an array owns; [array, index_bytes] for an mdspan of the array.

Queries are answered as requests are, by the device:

    RawModule.describe      module         -> {name expression: lowered name}
    RawModule.global_size   module, name   -> bytes
    RawKernel.attributes    function       -> {attribute: int}
    RawKernel.parameters    function       -> {"places": [[offset_bytes, size_bytes], ...]}, empty
                                           where the driver does not tell
    nvrtc.compileProgram    source, options, name_expressions, name
                                           -> {status, log, ptx, cubin, names}: code as latin-1
    ElementwiseKernel.codes, ReductionKernel.codes   kernel -> [[dtypes, source], ...]

A query that touches an object whose making failed is answered by that failure: so a client that
wants a compiler's error at once asks for the module's description.
"""

from cupool.proto.operations.operation import Operation

OPERATIONS = (
    Operation("RawModule", "kernel", "cupy.RawModule", rule="own"),
    Operation("RawModule.load", "kernel", "cupy.RawModule", rule="own"),
    Operation("RawModule.get_function", "kernel", "cupy.RawModule.get_function", rule="own"),
    Operation("RawModule.global_array", "kernel", "cupy.RawModule.get_global", rule="own"),
    Operation("RawKernel", "kernel", "cupy.RawKernel", rule="own", outputs=0),
    Operation("RawKernel.set", "kernel", "cupy.RawKernel", rule="own", outputs=0),
    Operation("ElementwiseKernel", "kernel", "cupy.ElementwiseKernel", rule="own"),
    Operation("ElementwiseKernel.call", "kernel", "cupy.ElementwiseKernel", rule="own", outputs=-1),
    Operation("ReductionKernel", "kernel", "cupy.ReductionKernel", rule="own"),
    Operation("ReductionKernel.call", "kernel", "cupy.ReductionKernel", rule="own", outputs=-1),
    Operation("RawModule.describe", "query", "cupy.RawModule", outputs=0),
    Operation("RawModule.global_size", "query", "cupy.RawModule.get_global", outputs=0),
    Operation("nvrtc.compileProgram", "query", "cupy.RawModule", outputs=0),
    Operation("RawKernel.attributes", "query", "cupy.RawKernel.attributes", outputs=0),
    Operation("RawKernel.parameters", "query", "cupy.RawKernel", outputs=0),
    Operation("ElementwiseKernel.codes", "query", "cupy.ElementwiseKernel.cached_codes", outputs=0),
    Operation("ReductionKernel.codes", "query", "cupy.ReductionKernel.cached_codes", outputs=0),
)

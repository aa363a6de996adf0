"""User kernels: each row is a method of the session's `Kernels`, which the device passes first."""

from __future__ import annotations

from cupool.pool_server.devices.mock.calls import adapter
from cupool.pool_server.devices.mock.kernels.state import Kernels

adapter("RawModule")(Kernels.compile)
adapter("RawModule.load")(Kernels.load)
adapter("RawModule.get_function")(Kernels.function)
adapter("RawModule.global_array")(Kernels.global_array)
adapter("RawModule.describe")(Kernels.describe)
adapter("RawModule.global_size")(Kernels.global_size)
adapter("nvrtc.compileProgram")(Kernels.compile_program)
adapter("RawKernel")(Kernels.launch)
adapter("RawKernel.set")(Kernels.set_attribute)
adapter("RawKernel.attributes")(Kernels.attributes)
adapter("RawKernel.parameters")(Kernels.parameters)
adapter("ElementwiseKernel")(Kernels.elementwise)
adapter("ElementwiseKernel.call", wants_outs=True)(Kernels.call_elementwise)
adapter("ElementwiseKernel.codes")(Kernels.codes)
adapter("ReductionKernel")(Kernels.reduction)
adapter("ReductionKernel.call", wants_outs=True)(Kernels.call_reduction)
adapter("ReductionKernel.codes")(Kernels.codes)

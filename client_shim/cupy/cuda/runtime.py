"""`cupy.cuda.runtime`: the CUDA runtime's calls, on the devices of the session.

Addresses of memory are the device's own; those of streams, events and graphs are numbers that
stand for them. Devices, memory and streams have a file each beside this one.
"""

from __future__ import annotations

from cupool.client_shim.cupy import _unsupported
from cupool.client_shim.cupy.cuda import _runtime_devices
from cupool.client_shim.cupy.cuda._runtime_devices import *  # noqa: F403
from cupool.client_shim.cupy.cuda._runtime_errors import CUDARuntimeError as CUDARuntimeError
from cupool.client_shim.cupy.cuda._runtime_errors import check_status as check_status
from cupool.client_shim.cupy.cuda._runtime_errors import getLastError as getLastError
from cupool.client_shim.cupy.cuda._runtime_errors import peekAtLastError as peekAtLastError
from cupool.client_shim.cupy.cuda._runtime_graphs import *  # noqa: F403
from cupool.client_shim.cupy.cuda._runtime_memory import *  # noqa: F403
from cupool.client_shim.cupy.cuda._runtime_pools import *  # noqa: F403
from cupool.client_shim.cupy.cuda._runtime_streams import *  # noqa: F403

is_hip = False
_is_hip_environment = False

_getLocalRuntimeVersion = _runtime_devices._getLocalRuntimeVersion
_getCUDAMajorVersion = _runtime_devices._getCUDAMajorVersion
_ensure_context = _runtime_devices._ensure_context

for _name in (
    "ipcCloseMemHandle",
    "ipcGetEventHandle",
    "ipcGetMemHandle",
    "ipcOpenEventHandle",
    "ipcOpenMemHandle",
):
    globals()[_name] = _runtime_devices.refuse_ipc
for _name in (
    "createSurfaceObject",
    "createTextureObject",
    "destroySurfaceObject",
    "destroyTextureObject",
    "freeArray",
    "malloc3DArray",
    "mallocArray",
    "memcpy2DFromArray",
    "memcpy2DFromArrayAsync",
    "memcpy2DToArray",
    "memcpy2DToArrayAsync",
    "memcpy3D",
    "memcpy3DAsync",
):
    globals()[_name] = _runtime_devices.refuse_array
del _name

errorInvalidValue = 1
errorMemoryAllocation = 2
errorPeerAccessAlreadyEnabled = 704
errorContextIsDestroyed = 709
errorInvalidResourceHandle = 400

_unsupported.fill(globals(), "cupy.cuda.runtime")

"""`cupy_backends.cuda.stream`: which stream is current, by address."""

from cupool.client_shim.cupy.cuda._runtime_streams import current_pointer as get_current_stream_ptr
from cupool.client_shim.cupy.cuda.stream import get_default_stream_ptr, is_ptds_enabled

__all__ = ["get_current_stream_ptr", "get_default_stream_ptr", "is_ptds_enabled"]

"""`cupy.cuda.memory_hooks`: memory hooks that come with CuPy."""

from cupool.client_shim.cupy.cuda.memory_hooks.debug_print import DebugPrintHook
from cupool.client_shim.cupy.cuda.memory_hooks.line_profile import LineProfileHook

__all__ = ["DebugPrintHook", "LineProfileHook"]

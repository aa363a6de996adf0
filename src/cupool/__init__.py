"""cupool: GPUs that live anywhere, used as if they were here."""

from __future__ import annotations

TYPE_CHECKING = False  # of `typing`, whose import would be felt by every script
if TYPE_CHECKING:
    from collections.abc import Callable

    from cupool.client_shim.grants import Lease
    from cupool.client_shim.notices import Notice

__version__ = "0.1.0"


def connect(**settings: object) -> Lease:
    """Get GPUs now, as this asks for; before the first use of `cupy`. Returns `lease()`.

    Args:
        settings: names and values as of `cupool run`'s options, e.g. ``gpus=2``,
            ``memory="10GiB"``, ``share=0.5``, ``pool="grpc://host:7475"``, ``wait="30m"``. They
            hold for child processes, too.

    Raises:
        ConfigurationError: no such setting or value, or the GPUs are there already.
        NoDeviceAvailable, PoolUnreachable, AccessDenied: see `cupool.errors`.
    """
    from cupool import scripting

    return scripting.connect(settings)


def lease() -> Lease:
    """Return what this process was granted; asks for it if nothing was yet."""
    from cupool import scripting

    return scripting.lease()


def on_notice(function: Callable[[Notice], object]) -> Callable[[Notice], object]:
    """Call `function(notice)`, in a thread of its own, before a GPU is taken away."""
    from cupool.client_shim import notices

    return notices.on_notice(function)

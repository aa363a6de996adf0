"""What a script may say to the pool: `cupool.connect`, `lease`, `on_notice`, `reset`."""

from __future__ import annotations

import difflib
import importlib
import os
from dataclasses import fields

from cupool.client_shim.grants import Lease
from cupool.client_shim.notices import on_notice
from cupool.config import Settings, load
from cupool.errors import ConfigurationError, NoDeviceAvailable

__all__ = ["connect", "lease", "on_notice", "reset"]


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
    from cupool.client_shim import session

    envs = {setting.name: setting.metadata["env"] for setting in fields(Settings)}
    for name in settings:
        if name not in envs:
            near = difflib.get_close_matches(name, envs, 1)
            remedy = f"did you mean {near[0]}?" if near else "see them all:   cupool config"
            raise ConfigurationError(f"there is no setting {name!r}", remedy=remedy)
    if session.opened():
        raise ConfigurationError(
            "this process has its GPUs already",
            remedy="call cupool.connect before the first use of cupy",
        )
    words = {name: _text(value) for name, value in settings.items()}
    load(words)  # complain before anything is changed
    os.environ.update({envs[name]: value for name, value in words.items()})
    importlib.import_module("cupool.auto")
    return lease()


def _text(value: object) -> str:
    if isinstance(value, bool):
        return str(int(value))
    if isinstance(value, (list, tuple)):
        return ",".join(str(each) for each in value)
    return str(value)


def lease() -> Lease:
    """Return what this process was granted, taking it if nothing was yet."""
    from cupool.client_shim import lease as leases
    from cupool.client_shim import session

    session.sessions()
    if leases.current is None:
        raise NoDeviceAvailable("this process holds no lease")
    return leases.current


def reset() -> None:
    """Give up this process's sessions; the next use of a GPU begins new ones.

    What a new process would be with CUDA: the way on after a sticky error (an illegal address, a
    failed assertion, an endless kernel). Arrays made before can no longer be used; kernel objects
    can, and are compiled again.
    """
    from cupool.client_shim import session

    session.reset()
